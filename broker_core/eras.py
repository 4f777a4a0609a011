"""Eras: named sets of documented behaviours. An era has one choice for each behaviour that Kafka has changed over time.

Only what the core does is listed here. Code asks the era of its cluster for the behaviour, never for a version. What
each release did was seen on its brokers: 0.8.2.2, 0.10.2.2, 1.1.1, 2.4.1 and 3.9.1.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from broker_core.era_apis import APIS_0_8, APIS_0_10, APIS_1_1, APIS_2_4, Apis
from broker_core.era_defaults import DEFAULTS_0_8, DEFAULTS_0_10, DEFAULTS_1_1, DEFAULTS_2_4

IsrChange = Literal["alter_partition", "zookeeper"]
Truncation = Literal["HW", "KIP101", "KIP279", "FETCH"]
LeaderEpochAssignedAt = Literal["become_leader", "first_append"]
IsrLag = Literal["fetches_and_messages", "caught_up_time", "end_or_caught_up_time"]
DeletedFolders = Literal["go", "wait for the next round", "wait"]
Beyond = Literal["halt", "hang", "exit", "truncate"]
IndexRule = Literal["batch", "append", "append start"]
UnknownSequences = Literal["taken", "unknown producer", "unknown producer before marker"]


class ProducerDefaults(msgspec.Struct, frozen=True):
    """Defaults of a producer of an era."""

    acks: str = "all"
    idempotent: bool = True
    partitioner: str = "built-in"
    has_delivery_timeout: bool = True
    names_disconnected_nodes: bool = True


class Era(msgspec.Struct, frozen=True, kw_only=True):
    """One choice for each behaviour; defaults are those of 3.9.

    Attributes:
        release: the release whose behaviour this is.
        defaults: the settings of brokers whose defaults are not those of 3.9.
        apis: the APIs and versions that brokers offer; None: all that 3.9 does.
        unsupported_version_tells_range: whether the response to ApiVersions in an unknown version contains the range of
            known ones (KIP-511, 2.4).

        truncation: where a new follower truncates its log. "HW": at its own high watermark, at once. "KIP101": at the
            end of the follower's last epoch according to the leader (0.11). "KIP279": the same, repeated until both
            have the same epoch (2.0). "FETCH": at the diverging epoch in the response to its fetch (2.7).
        refetches_in_each_epoch: whether a follower starts over in each leader epoch (KIP-320, 2.1), or only when
            another broker leads.
        fetch_carries_epoch: whether a fetch carries the current leader epoch (KIP-320, 2.1).
        beyond_leader_end: what a follower does whose log ends past its leader's, where unclean elections are not
            allowed. "halt": its process ends at once; "hang": its shutdown never completes; "exit": it shuts down;
            "truncate".
        truncation_at_end_drops_epochs: whether a truncation at the log end, which removes no record, still removes
            epochs that begin there (3.0).
        truncation_lowers_high_watermark: whether a truncation below the high watermark lowers it at once, or with the
            next response of the leader.
        leader_epoch_assigned_at: when a leader assigns the start of its epoch in its epoch cache (KAFKA-7415: on
            becoming leader; before 2.0.1 with its first record).
        ignores_lower_epochs: whether the epoch cache ignores an epoch below its latest, as before 2.0.
        caught_up_replicas_hold_high_watermark: whether a replica outside of the ISR that is caught up also holds back
            the high watermark (0.10.2).
        followers_check_size: whether a follower refuses a batch larger than max.message.bytes that its leader accepted
            (before 2.6).
        index_rule: what gets an entry in the `.index` when one is due: each batch, with its last offset (3.9.1); an
            append as a whole, with its last offset; or, before 2.0, with its first.
        knows_newest_at_once: whether the largest timestamp of a segment is read when it is opened; since 2.3 it is read
            from the time index on first use (KAFKA-7283), and a truncation may have removed the entry before.
        checks_producers_before_roll: whether a leader checks a batch's sequence number before it rolls a segment for
            it; since 2.4 it rolls first, also for a batch that it then refuses.
        high_watermark_needs_min_isr: whether the high watermark does not advance while the ISR is smaller than
            min.insync.replicas, limited to the number of replicas (KAFKA-15583, 3.7).
        reelection_keeps_followers: whether a re-elected leader keeps the log end offsets of its followers (0.9).
        stale_high_watermark_is_news: whether a follower's fetch completes at once when the leader's high watermark has
            advanced since the last response (KIP-392; 2.4 and 2.5).

        isr_lag: when a follower is out of sync. "fetches_and_messages": it has not fetched for replica.lag.time.max.ms,
            or lags by more than replica.lag.max.messages. "caught_up_time": it has not reached the log end within
            that time (KIP-16). "end_or_caught_up_time": the same, and it is not at the log end now.
        isr_checks_per_lag_time: checks in each replica.lag.time.max.ms.
        joins_isr_from_epoch_start: whether a follower must have reached the start of the leader's epoch to join the ISR
            (2.0.1).
        isr_change: how a leader records a change of its ISR. "alter_partition": a request to the controller (KIP-497,
            2.7). "zookeeper": it writes the state znode itself.
        isr_change_notified: whether leaders that write it notify the controller by /isr_change_notification.
        leader_recovery_state: whether an unclean election leaves the partition marked as recovering (KIP-704, 3.2).

        takeover_shrinks_isr: whether a new controller removes replicas on dead brokers from their ISRs.
        broker_epochs: whether requests carry the epoch of the destination broker, and the writes of a replaced
            controller are fenced (KIP-380, 2.2).
        feature_znode: whether the controller writes /feature (KIP-584, 2.7).
        producer_ids_at_start: whether each broker allocates a block of producer ids from ZooKeeper at start, and
            further ones when needed (since 3.0 the controller allocates them).
        tools_take_zookeeper: whether the admin tools accept the address of ZooKeeper (until 3.0).
        transactions: whether producers may be idempotent and transactional (KIP-98, 0.11).
        coordinates_consumers: whether consumers of a group have a coordinator (0.9), or rebalance through ZooKeeper.
        producer: defaults of a producer of that release: acks, whether it numbers its batches (both
            KIP-679, 3.0), the partition of records without a key (KIP-480 in 2.4, KIP-794 in 3.3), whether it has
            delivery.timeout.ms (KIP-91, 2.1), and whether it names the node that disconnected.
        verifies_transactions: whether leaders verify a transaction with its coordinator before its first batch
            (KIP-890, 3.6).
        unknown_sequences: the response to a sequence number above 0 of a producer without a last sequence number at the
            leader. "taken": it is accepted if the epoch is unknown, too (KIP-360, 2.5), and refused with
            OUT_OF_ORDER_SEQUENCE_NUMBER if the epoch is known from a marker. "unknown producer": UNKNOWN_PRODUCER_ID in
            both cases (2.0). "unknown producer before marker": only in the first case.
        admin_client_writes_internal_topics: whether a client with the id `__admin_client` may (0.9).
        paths: the empty znodes that a broker creates at start.
        cluster_id: whether a cluster has an id (KIP-78, 0.10.1).
        config_changes: the content of the znodes below /config/changes: "entity paths", or "topic names" (before 0.9),
            when only topics had configurations.
        broker_znode, topic_znode, controller_znode: the version of their JSON.

        time_index: whether segments have a `.timeindex` (KIP-33, 0.10.1).
        producer_snapshots: whether logs have `.snapshot` files (KIP-98, 0.11).
        log_start_checkpoint: whether there is a `log-start-offset-checkpoint` (KIP-107, 0.11).
        checkpoints_without_logs: whether the checkpoints of recovery points and log start offsets are written when
            there is no log (2.7), or left unchanged.
        meta_properties: the lines of `meta.properties`, none without the file.
        clean_shutdown: the content of `.kafka_cleanshutdown`.
        keeps_lock_file_after_shutdown: whether `.lock` remains after a clean shutdown.
        deleted_folders: how the folder of a deleted replica is removed. "go": at once. "wait for the next round": its
            log is closed, the folder is renamed to `-delete` and removed by the next periodic task. "wait": it is
            renamed and removed after file.delete.delay.ms (1.1).
    """

    name: str
    release: str
    defaults: Mapping[str, str] = {}
    apis: Apis | None = None
    returns_known_versions: bool = True

    truncation: Truncation = "FETCH"
    refetches_in_each_epoch: bool = True
    fetch_carries_epoch: bool = True
    beyond_leader_end: Beyond = "truncate"
    truncation_at_end_drops_epochs: bool = True
    truncation_lowers_high_watermark: bool = True
    leader_epoch_assigned_at: LeaderEpochAssignedAt = "become_leader"
    ignores_lower_epochs: bool = False
    caught_up_replicas_hold_high_watermark: bool = True
    followers_check_size: bool = False
    index_rule: IndexRule = "batch"
    knows_newest_at_once: bool = False
    checks_producers_before_roll: bool = False
    high_watermark_needs_min_isr: bool = True
    reelection_keeps_followers: bool = True
    completes_stale_fetches: bool = False

    isr_lag: IsrLag = "end_or_caught_up_time"
    isr_checks_per_lag_time: int = 2
    joins_isr_from_epoch_start: bool = True
    isr_change: IsrChange = "alter_partition"
    isr_change_notified: bool = False
    leader_recovery_state: bool = True

    takeover_shrinks_isr: bool = True
    broker_epochs: bool = True
    feature_znode: bool = True
    producer_ids_at_start: bool = False
    tools_take_zookeeper: bool = False
    transactions: bool = True
    coordinates_consumers: bool = True
    producer: ProducerDefaults = ProducerDefaults()
    verifies_transactions: bool = True
    unknown_sequences: UnknownSequences = "taken"
    admin_client_writes_internal_topics: bool = True
    paths: tuple[str, ...] = (
        "/consumers",
        "/brokers/ids",
        "/brokers/topics",
        "/config/changes",
        "/admin/delete_topics",
        "/brokers/seqid",
        "/isr_change_notification",
        "/latest_producer_id_block",
        "/log_dir_event_notification",
        "/config/topics",
        "/config/clients",
        "/config/users",
        "/config/brokers",
        "/config/ips",
    )
    cluster_id: bool = True
    config_changes: Literal["entity paths", "topic names"] = "entity paths"
    broker_znode: Literal[1, 4, 5] = 5
    topic_znode: Literal[1, 2, 3] = 3
    controller_znode: Literal[1, 2] = 2

    time_index: bool = True
    producer_snapshots: bool = True
    log_start_checkpoint: bool = True
    checkpoints_without_logs: bool = True
    meta_properties: tuple[str, ...] = ("broker.id", "version", "cluster.id")
    clean_shutdown: bytes = b'{"version":0,"brokerEpoch":-1}'
    keeps_lock_file_after_shutdown: bool = False
    deleted_folders: DeletedFolders = "wait"

    @property
    def topic_ids(self) -> bool:
        """Whether topics have ids (KIP-516, 2.8): in their znodes, in `partition.metadata` and in requests."""
        return self.topic_znode >= 3


DEFAULT_ERA = "3.9"

_3_9 = Era(name="3.9", release="3.9.1")
_2_4 = msgspec.structs.replace(
    _3_9,
    name="2.4",
    release="2.4.1",
    defaults=DEFAULTS_2_4,
    apis=APIS_2_4,
    truncation="KIP279",
    truncation_at_end_drops_epochs=False,
    followers_check_size=True,
    index_rule="append",
    high_watermark_needs_min_isr=False,
    completes_stale_fetches=True,
    isr_change="zookeeper",
    isr_change_notified=True,
    leader_recovery_state=False,
    feature_znode=False,
    producer_ids_at_start=True,
    tools_take_zookeeper=True,
    producer=ProducerDefaults(acks="1", idempotent=False, partitioner="sticky", names_disconnected_nodes=False),
    verifies_transactions=False,
    unknown_sequences="unknown producer",
    checkpoints_without_logs=False,
    paths=_3_9.paths[:-1],
    broker_znode=4,
    topic_znode=2,
    controller_znode=1,
    clean_shutdown=b"",
    keeps_lock_file_after_shutdown=True,
)
_1_1 = msgspec.structs.replace(
    _2_4,
    name="1.1",
    release="1.1.1",
    defaults=DEFAULTS_1_1,
    apis=APIS_1_1,
    returns_known_versions=False,
    truncation="KIP101",
    refetches_in_each_epoch=False,
    fetch_carries_epoch=False,
    beyond_leader_end="exit",
    truncation_lowers_high_watermark=False,
    leader_epoch_assigned_at="first_append",
    ignores_lower_epochs=True,
    index_rule="append start",
    knows_newest_at_once=True,
    checks_producers_before_roll=True,
    unknown_sequences="unknown producer before marker",
    completes_stale_fetches=False,
    isr_lag="caught_up_time",
    joins_isr_from_epoch_start=False,
    takeover_shrinks_isr=False,
    broker_epochs=False,
    producer=ProducerDefaults(
        acks="1",
        idempotent=False,
        partitioner="round-robin",
        has_delivery_timeout=False,
        names_disconnected_nodes=False,
    ),
    topic_znode=1,
    meta_properties=("broker.id", "version"),
)
_0_10 = msgspec.structs.replace(
    _1_1,
    name="0.10",
    release="0.10.2.2",
    defaults=DEFAULTS_0_10,
    apis=APIS_0_10,
    truncation="HW",
    beyond_leader_end="hang",
    producer_ids_at_start=False,
    transactions=False,
    paths=(*_1_1.paths[:7], "/config/topics", "/config/clients"),
    producer_snapshots=False,
    log_start_checkpoint=False,
    deleted_folders="wait for the next round",
)
_0_8 = msgspec.structs.replace(
    _0_10,
    name="0.8",
    release="0.8.2.2",
    defaults=DEFAULTS_0_8,
    apis=APIS_0_8,
    beyond_leader_end="halt",
    caught_up_replicas_hold_high_watermark=False,
    reelection_keeps_followers=False,
    isr_lag="fetches_and_messages",
    isr_checks_per_lag_time=1,
    isr_change_notified=False,
    coordinates_consumers=False,
    admin_client_writes_internal_topics=False,
    producer=ProducerDefaults(
        acks="1", idempotent=False, partitioner="random", has_delivery_timeout=False, names_disconnected_nodes=False
    ),
    paths=(*_0_10.paths[:5], "/config/topics"),
    cluster_id=False,
    config_changes="topic names",
    broker_znode=1,
    time_index=False,
    meta_properties=(),
    deleted_folders="go",
)

ERAS: dict[str, Era] = {era.name: era for era in (_0_8, _0_10, _1_1, _2_4, _3_9)}
"""The eras that the core implements, by name, oldest first."""
