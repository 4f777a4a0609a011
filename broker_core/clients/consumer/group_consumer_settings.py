"""Configuration of a group member, and the work of its application between two polls."""

import msgspec

from broker_core.eras import Era
from broker_core.groups.assignors import DEFAULT_ASSIGNORS


class GroupConsumerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The consumer configurations in use: Kafka's names with `_` for `.`, Kafka's defaults; ms and bytes.

    `topics` are names, or with `is_pattern` regular expressions of which one must match. `own_assignors`:
    (name, rules) of those of `assignors` that are not Kafka's. `processing_ms` is none of Kafka's: how long the
    application works on a record before it polls again; with 0 it polls without pause.
    """

    group_id: str
    topics: tuple[str, ...]
    is_pattern: bool = False
    assignors: tuple[str, ...] = DEFAULT_ASSIGNORS
    own_assignors: tuple[tuple[str, str], ...] = ()
    group_instance_id: str | None = None
    auto_offset_reset: str = "latest"
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    metadata_max_age_ms: int = 300_000
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    fetch_max_wait_ms: int = 500
    max_partition_fetch_bytes: int = 1_048_576
    isolation_level: str = "read_uncommitted"
    client_rack: str = ""
    request_timeout_ms: int = 30_000
    max_poll_records: int = 500
    processing_ms: int = 0
    exclude_internal_topics: bool = True
    allow_auto_create_topics: bool = True


def shown_settings(settings: GroupConsumerSettings, era: Era) -> tuple[tuple[str, str], ...]:
    """The member's settings for the page, by their names in the era."""
    auto_commit = str(settings.enable_auto_commit).lower()
    common = (("group.id", settings.group_id), ("topics", ", ".join(settings.topics)))
    interval = ("auto.commit.interval.ms", str(settings.auto_commit_interval_ms))
    if not era.coordinates_consumers:
        return (
            *common,
            ("partition.assignment.strategy", settings.assignors[0]),
            (
                "auto.offset.reset",
                {"earliest": "smallest", "latest": "largest"}.get(settings.auto_offset_reset, "none"),
            ),
            ("auto.commit.enable", auto_commit),
            interval,
            ("zookeeper.session.timeout.ms", str(settings.session_timeout_ms)),
        )
    return (
        *common,
        ("partition.assignment.strategy", ", ".join(settings.assignors)),
        ("group.instance.id", settings.group_instance_id or ""),
        ("isolation.level", settings.isolation_level),
        *((("client.rack", settings.client_rack),) if settings.client_rack else ()),
        ("auto.offset.reset", settings.auto_offset_reset),
        ("enable.auto.commit", auto_commit),
        interval,
        ("session.timeout.ms", str(settings.session_timeout_ms)),
        ("heartbeat.interval.ms", str(settings.heartbeat_interval_ms)),
        ("max.poll.records", str(settings.max_poll_records)),
        ("max.poll.interval.ms", str(settings.max_poll_interval_ms)),
        ("metadata.max.age.ms", str(settings.metadata_max_age_ms)),
    )


class Work(msgspec.Struct):
    """The application's work between two polls: `records` are being processed, and this is poll number `poll`. What has
    to be done in a poll waits for the next one.
    """

    poll: int = 0
    records: int = 0
    is_busy: bool = False
    commits: bool = False
    rejoins_for: str = ""
    lost_for: str = ""

    def begin(self) -> None:
        """The application starts processing the records."""
        self.poll += 1
        self.is_busy = True
