"""consumer: the lab's simple consumers, which follow one partition without joining a group."""

from collections.abc import Sequence

from broker_core.clients.consumer.consumer import ConsumerSettings
from broker_core.config_defs.java_text import parse_integer
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.completion_sources import partitions
from broker_core.shell.grammar.process import Process, Running, Until
from broker_core.shell.grammar.registry import Command, UsageError, not_understood, partition_of, refuse
from broker_core.shell.tools.lab.group_consumer import (
    API_TIMEOUT_US,
    CLOSE_US,
    GROUP_VERBS,
    complete_group_consumer,
    group_consumer,
)
from broker_core.shell.tools.lab.producer import client_name
from broker_core.texts import text

NUMBERS = ("--auto-commit-interval-ms", "--metadata-max-age-ms")
FOLLOW_OPTIONS = ("--from", "--rack", "--group", "--auto-commit", *NUMBERS)


def _consumer(process: Process, arguments: list[str]) -> Running:
    verb = arguments[0] if arguments else ""
    is_follower = verb == "commit" and len(arguments) == 2 and arguments[1] in process.cluster.clients.consumers
    if verb in GROUP_VERBS and not is_follower:
        return group_consumer(process, verb, arguments[1:])
    if verb not in ("follow", "unfollow", "commit") or len(arguments) < 2:
        raise not_understood("consumer", arguments)
    name, rest = client_name("consumer", arguments[1]), arguments[2:]
    if verb == "follow":
        if not rest or len(rest) % 2 == 0:
            raise not_understood("consumer", arguments)
        start, settings = _settings(rest[1:])
        return _follow(process, name, partition_of(rest[0]), start, settings)
    if rest:
        raise UsageError(text("shell.unexpected_arguments", words=" ".join(rest)))
    return _commit(process, name) if verb == "commit" else _unfollow(process, name)


def _settings(words: list[str]) -> tuple[str, ConsumerSettings]:
    """The start position and the settings. Raises ShellError."""
    given = dict(zip(words[::2], words[1::2], strict=True))
    unknown = [word for word in words[::2] if word not in FOLLOW_OPTIONS]
    if unknown:
        raise UsageError(text("shell.invalid_options", words=" ".join(unknown)))
    start = given.get("--from", "latest")
    if start not in ("earliest", "latest") and not start.isdigit():
        raise UsageError(text("shell.invalid_start", start=start))
    auto_commit = given.get("--auto-commit", "true")
    if auto_commit not in ("true", "false"):
        raise UsageError(text("shell.option_choice", option="--auto-commit", value=auto_commit, choices="true, false"))
    numbers = {option: parse_integer(given[option]) or 0 for option in NUMBERS if option in given}
    for option, number in numbers.items():
        if number <= 0:
            raise UsageError(text("shell.option_not_positive", option=option, value=given[option]))
    return start, ConsumerSettings(
        group_id=given.get("--group", ""),
        auto_offset_reset="earliest" if start == "earliest" else "latest",
        enable_auto_commit=auto_commit == "true",
        auto_commit_interval_ms=numbers.get("--auto-commit-interval-ms", 500),
        metadata_max_age_ms=numbers.get("--metadata-max-age-ms", 300_000),
        client_rack=given.get("--rack", ""),
    )


def _follow(process: Process, name: str, partition: str, start: str, settings: ConsumerSettings) -> Running:
    clients = process.cluster.clients
    if not clients.is_free(name):
        refuse(process, text("shell.name_taken", name=name, command="consumer unfollow"))
        return 1
    if settings.group_id and not clients.era.coordinates_consumers:
        refuse(process, text("shell.old_follow_group", era=clients.era.name))
        return 1
    if settings.client_rack and not clients.era.replication.reads_from_followers:
        refuse(process, text("shell.no_client_rack", era=clients.era.name))
        return 1
    clients.open_consumer(name, partition, start, settings, _shown(start, settings))
    yield from ()
    return 0


def _shown(start: str, settings: ConsumerSettings) -> tuple[tuple[str, str], ...]:
    """The settings that the page shows."""
    group = (
        ("group.id", settings.group_id),
        ("enable.auto.commit", str(settings.enable_auto_commit).lower()),
        ("auto.commit.interval.ms", str(settings.auto_commit_interval_ms)),
    )
    return (
        ("from", start),
        ("auto.offset.reset", settings.auto_offset_reset),
        ("fetch.max.wait.ms", "500"),
        ("metadata.max.age.ms", str(settings.metadata_max_age_ms)),
        *((("client.rack", settings.client_rack),) if settings.client_rack else ()),
        *(group if settings.group_id else ()),
    )


def _commit(process: Process, name: str) -> Running:
    """`commitSync` of a consumer with a group id that is not a member."""
    offsets = process.cluster.clients.consumers[name].commits
    if offsets is None:
        refuse(process, text("shell.follower_without_group", name=name))
        return 1
    offsets.commit()
    yield Until(lambda _: offsets.commit_answer is not None, process.now_us + API_TIMEOUT_US)
    if offsets.commit_answer:
        process.out(offsets.commit_answer)
    return 1 if offsets.commit_answer or offsets.commit_answer is None else 0


def _unfollow(process: Process, name: str) -> Running:
    clients = process.cluster.clients
    if name not in clients.consumers:
        refuse(process, text("shell.no_follower", name=name))
        return 1
    offsets = clients.consumers[name].commits
    if offsets is not None and clients.consumers[name].settings.enable_auto_commit:
        offsets.commit()
        yield Until(lambda _: offsets.commit_answer is not None, process.now_us + CLOSE_US)
    if name in clients.consumers:
        clients.close(name)
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return ["follow", "unfollow", *GROUP_VERBS]
    if words[0] == "commit" and len(words) == 2:
        return [*cluster.clients.group_consumers, *cluster.clients.consumers]
    if words[0] in GROUP_VERBS:
        return complete_group_consumer(cluster, words)
    if len(words) == 2:
        return list(cluster.clients.consumers) if words[0] == "unfollow" else []
    if words[0] != "follow":
        return []
    if len(words) == 3:
        return partitions(cluster)
    if len(words) % 2 == 0:
        return [option for option in FOLLOW_OPTIONS if option not in words]
    return {"--from": ["earliest", "latest"], "--auto-commit": ["true", "false"]}.get(words[-2], [])


COMMAND = Command(
    "consumer",
    text("help.consumer"),
    (
        ("consumer follow NAME T-P [--from OFFSET|earliest|latest]", text("help.consumer_follow")),
        (
            "... [--group G] [--auto-commit true|false] [--auto-commit-interval-ms MS] [--metadata-max-age-ms MS]",
            text("help.consumer_follow_group"),
        ),
        ("... [--rack RACK]", text("help.consumer_rack")),
        ("consumer unfollow NAME", text("help.consumer_unfollow")),
        (
            "consumer start NAME --group G --topic T[,T2] [--assignor A[,A2]] [--instance ID] [--isolation L]"
            " [--rack RACK]",
            text("help.consumer_start"),
        ),
        (
            "... [--from beginning|latest] [--reset earliest|latest|none] [--auto-commit true|false]"
            " [--auto-commit-interval-ms MS]",
            text("help.consumer_start_offsets"),
        ),
        (
            "... [--session-timeout-ms MS] [--heartbeat-interval-ms MS] [--metadata-max-age-ms MS]",
            text("help.consumer_start_session"),
        ),
        (
            "... --process-ms MS [--max-poll-records N] [--max-poll-interval-ms MS]",
            text("help.consumer_start_poll"),
        ),
        ("consumer stop NAME", text("help.consumer_stop")),
        ("consumer kill NAME", text("help.consumer_kill")),
        ("consumer freeze NAME / thaw NAME", text("help.consumer_freeze")),
        ("consumer commit NAME", text("help.consumer_commit")),
        (
            "consumer seek NAME T-P@OFFSET|T-P@beginning|T-P@end",
            text("help.consumer_seek"),
        ),
        ("consumer output NAME", text("help.consumer_output")),
    ),
    _consumer,
    complete=_complete,
)
