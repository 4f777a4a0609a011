"""Eras: named sets of documented behaviours. An era has one choice for each behaviour that Kafka has changed over time.

Only what the core does is listed here. Code asks the era of its cluster for the behaviour, never for a version. What
each release did was seen on its brokers: 0.8.2.2, 0.10.2.2, 1.1.1, 2.4.1 and 3.9.1.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from broker_core.era_apis import APIS_0_8, APIS_0_10, APIS_1_1, APIS_2_4, Apis
from broker_core.era_configs import CONFIG_CHANGES_1_1, CONFIG_CHANGES_2_4, ConfigBehaviour
from broker_core.era_defaults import DEFAULTS_0_8, DEFAULTS_0_10, DEFAULTS_1_1, DEFAULTS_2_4
from broker_core.era_requests import (
    CREATIONS_0_10,
    CREATIONS_1_1,
    CREATIONS_2_4,
    GROUPS_0_8,
    GROUPS_0_10,
    GROUPS_1_1,
    GROUPS_2_4,
    REQUESTS_0_8,
    REQUESTS_0_10,
    REQUESTS_1_1,
    REQUESTS_2_4,
    CreationBehaviour,
    GroupBehaviour,
    RequestBehaviour,
)

IsrChange = Literal["alter_partition", "zookeeper"]
Truncation = Literal["HW", "KIP101", "KIP279", "FETCH"]
LeaderEpochAssignedAt = Literal["become_leader", "first_append"]
IsrLag = Literal["fetches_and_messages", "caught_up_time", "end_or_caught_up_time"]
DeletedFolders = Literal["at once", "next round", "after delay"]
Beyond = Literal["halt", "hang", "exit", "truncate"]
IndexRule = Literal["batch", "append", "append start"]
UnknownSequences = Literal["taken", "unknown producer", "unknown producer before marker"]


class ReplicationBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """Leaders, followers and the high watermark.

    Attributes:
        truncation: where a new follower truncates its log. "HW": at its own high watermark, at once. "KIP101": at the
            end of the follower's last epoch according to the leader (0.11). "KIP279": the same, repeated until both
            have the same epoch (2.0). "FETCH": at the diverging epoch in the response to its fetch (2.7).
        knows_epochs_before_first: whether an epoch before the first one of the log ends where that begins (2.0), or is
            unknown.
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
        caught_up_replicas_hold_high_watermark: whether a replica outside of the ISR that is caught up also holds back
            the high watermark (0.10.2).
        high_watermark_needs_min_isr: whether the high watermark does not advance while the ISR is smaller than
            min.insync.replicas, limited to the number of replicas (KAFKA-15583, 3.7).
        reelection_keeps_followers: whether a re-elected leader keeps the log end offsets of its followers (0.9).
        reads_from_followers: whether a leader may name the replica in a consumer's rack to read from (KIP-392, 2.4).
        preferred_replicas_are_in_sync: whether that replica must be in the ISR; it need not in 2.4.
        names_preferred_replicas_at_once: whether a fetch is answered at once when there is such a replica. In 2.4 it
            waits for fetch.min.bytes as if it were read at the leader.
        completes_stale_fetches: whether a follower's fetch completes at once when the leader's high watermark has
            advanced since the last response (KIP-392; 2.4 and 2.5).
        completes_fetches_beyond_end: whether a fetch above the end that its reader may read completes at once, as one
            of a truncated log does, whichever segments the two are in.
    """

    truncation: Truncation = "FETCH"
    knows_epochs_before_first: bool = True
    refetches_in_each_epoch: bool = True
    fetch_carries_epoch: bool = True
    beyond_leader_end: Beyond = "truncate"
    truncation_at_end_drops_epochs: bool = True
    truncation_lowers_high_watermark: bool = True
    leader_epoch_assigned_at: LeaderEpochAssignedAt = "become_leader"
    caught_up_replicas_hold_high_watermark: bool = True
    high_watermark_needs_min_isr: bool = True
    reelection_keeps_followers: bool = True
    reads_from_followers: bool = True
    preferred_replicas_are_in_sync: bool = True
    names_preferred_replicas_at_once: bool = True
    completes_stale_fetches: bool = False
    completes_fetches_beyond_end: bool = True


class IsrBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """The in-sync replicas of a partition.

    Attributes:
        lag: when a follower is out of sync. "fetches_and_messages": it has not fetched for replica.lag.time.max.ms, or
            lags by more than replica.lag.max.messages. "caught_up_time": it has not reached the log end within that
            time (KIP-16). "end_or_caught_up_time": the same, and it is not at the log end now.
        checks_per_lag_time: checks in each replica.lag.time.max.ms.
        joins_from_epoch_start: whether a follower must have reached the start of the leader's epoch to join (2.0.1).
        change: how a leader records a change. "alter_partition": a request to the controller (KIP-497, 2.7).
            "zookeeper": it writes the state znode itself.
        notifies_controller: whether leaders that write it notify the controller by /isr_change_notification.
    """

    lag: IsrLag = "end_or_caught_up_time"
    checks_per_lag_time: int = 2
    joins_from_epoch_start: bool = True
    change: IsrChange = "alter_partition"
    notifies_controller: bool = False


class LogBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """One log and its segments.

    Attributes:
        has_time_index: whether segments have a `.timeindex` (KIP-33, 0.10.1).
        has_producer_snapshots: whether the producer state is kept in `.snapshot` files (KIP-98, 0.11).
        ignores_lower_epochs: whether the epoch cache ignores an epoch below its latest, as before 2.0.
        followers_check_size: whether a follower refuses a batch larger than max.message.bytes that its leader accepted
            (before 2.6).
        refuses_append_time: whether a client's batch with the timestamp type LogAppendTime is refused, or only if its
            timestamps are not checked (KIP-937, 3.6).
        index_rule: what gets an entry in the `.index` when one is due: each batch, with its last offset (3.9.1); an
            append as a whole, with its last offset; or, before 2.0, with its first.
        knows_newest_at_once: whether the largest timestamp of a segment is read when it is opened; since 2.3 it is read
            from the time index on first use (KAFKA-7283), and a truncation may have removed the entry before.
        ends_empty_transactions: whether a marker without a batch before it ends a transaction, which is listed if it
            was aborted (2.4).
        checks_coordinators: whether the producer epoch of what a group's coordinator writes is checked (2.0).
        knows_delete_horizons: whether batches may have a delete horizon (KIP-534, 3.1): that attribute is kept when a
            leader sets the timestamps of a batch.
        checks_producers_before_roll: whether a leader checks a batch's sequence number before it rolls a segment for
            it; since 2.4 it rolls first, also for a batch that it then refuses.
        checks_cut_off_batches: whether the magic of a batch is checked also if the batch is incomplete (2.0).
        newest_magic: the newest message format: with batches (2, KIP-98, 0.11), with timestamps (1, 0.10), or without
            (0). A message of a newer one is read as if it were of this.
        mixes_batches: whether what a client sends for a partition may be of several formats, or several compressed
            batches (until 2.3).
        collects_record_errors: whether all records of a batch are checked, and an invalid timestamp counts most
            (KIP-467, 2.5), or checks end with the first error.
        checks_missing_timestamps: whether a record without a timestamp is too old for a limit of its difference to the
            broker's time (0.10).
        converts_in_pieces: whether records are converted for an old version of Fetch while they are sent, so that the
            size of what was read is kept (KIP-283, 2.0), or before.
        knows_zstd: whether zstd is a codec (KIP-110, 2.1), or an unknown one.
        unknown_sequences: the response to a sequence number above 0 of a producer without a last sequence number at the
            leader. "taken": it is accepted if the epoch is unknown, too (KIP-360, 2.5), and refused with
            OUT_OF_ORDER_SEQUENCE_NUMBER if the epoch is known from a marker. "unknown producer": UNKNOWN_PRODUCER_ID in
            both cases (2.0). "unknown producer before marker": only in the first case.
    """

    has_time_index: bool = True
    has_producer_snapshots: bool = True
    ignores_lower_epochs: bool = False
    followers_check_size: bool = False
    refuses_append_time: bool = False
    index_rule: IndexRule = "batch"
    reads_max_timestamp_on_open: bool = False
    ends_empty_transactions: bool = False
    knows_delete_horizons: bool = True
    checks_coordinators: bool = True
    checks_producers_before_roll: bool = False
    checks_cut_off_batches: bool = True
    newest_magic: Literal[0, 1, 2] = 2
    mixes_batches: bool = False
    collects_record_errors: bool = True
    checks_missing_timestamps: bool = False
    converts_in_pieces: bool = True
    knows_zstd: bool = True
    unknown_sequences: UnknownSequences = "taken"


class LogDirBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a log directory, and the folders of logs in it.

    Attributes:
        has_log_start_checkpoint: whether there is a `log-start-offset-checkpoint` (KIP-107, 0.11).
        checkpoints_without_logs: whether the checkpoints of recovery points and log start offsets are written when
            there is no log (2.7), or left unchanged.
        meta_properties: the lines of `meta.properties`, none without the file.
        clean_shutdown: the content of `.kafka_cleanshutdown`.
        keeps_lock_file_after_shutdown: whether `.lock` remains after a clean shutdown.
        deleted_folders: when the folder of a deleted replica is removed. "at once". "next round": its log is closed,
            the folder is renamed to `-delete` and removed by the next periodic task. "after delay": it is renamed and
            removed after file.delete.delay.ms (1.1).
    """

    has_log_start_checkpoint: bool = True
    checkpoints_without_logs: bool = True
    meta_properties: tuple[str, ...] = ("broker.id", "version", "cluster.id")
    clean_shutdown: bytes = b'{"version":0,"brokerEpoch":-1}'
    keeps_lock_file_after_shutdown: bool = False
    deleted_folders: DeletedFolders = "after delay"


class ControllerBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """The controller and its requests to brokers.

    Attributes:
        takeover_shrinks_isr: whether a new controller removes replicas on dead brokers from their ISRs.
        broker_epochs: whether requests carry the epoch of the destination broker, and the writes of a replaced
            controller are fenced (KIP-380, 2.2).
        leader_recovery_state: whether an unclean election leaves the partition marked as recovering (KIP-704, 3.2).
    """

    takeover_shrinks_isr: bool = True
    broker_epochs: bool = True
    leader_recovery_state: bool = True


class ZookeeperBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """What is in ZooKeeper, and who uses it.

    Attributes:
        paths: the empty znodes that a broker creates at start.
        cluster_id: whether a cluster has an id (KIP-78, 0.10.1).
        feature_znode: whether the controller writes /feature (KIP-584, 2.7).
        config_changes: the content of the znodes below /config/changes: "entity paths", or "topic names" (before 0.9),
            when only topics had configurations.
        broker_version, topic_version, controller_version: the version of the JSON in their znodes.
        used_by_tools: whether the admin tools accept the address of ZooKeeper (until 3.0).
    """

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
    feature_znode: bool = True
    config_changes: Literal["entity paths", "topic names"] = "entity paths"
    broker_version: Literal[1, 4, 5] = 5
    topic_version: Literal[1, 2, 3] = 3
    controller_version: Literal[1, 2] = 2
    used_by_tools: bool = False

    @property
    def topic_ids(self) -> bool:
        """Whether topics have ids (KIP-516, 2.8): in their znodes, in `partition.metadata` and in requests."""
        return self.topic_version >= 3


class TransactionBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """Producer ids and transactions.

    Attributes:
        are_supported: whether producers may be idempotent and transactional (KIP-98, 0.11).
        checks_partitions: whether AddPartitionsToTxn checks that a partition exists, or only its topic (1.1).
        checks_state_before_epoch: whether EndTxn with an epoch above that of the producer is refused for the state of
            the transaction first, and if that is ongoing, after the decision was stored (before KIP-360, 2.5).
        raises_failed_epochs: whether an epoch that was raised to fence a producer, but could not be written, is raised
            once more by the next attempt (2.4).
        hides_loading: whether a TxnOffsetCommit before version 2 gets COORDINATOR_NOT_AVAILABLE while its group is
            loading, because older producers fail on the other error (KAFKA-7296; 2.6).
        are_verified: whether leaders verify a transaction with its coordinator before its first batch (KIP-890, 3.6).
        producer_ids_at_start: whether each broker allocates a block of producer ids from ZooKeeper at start, and
            further ones when needed (since 3.0 the controller allocates them).
    """

    are_supported: bool = True
    are_verified: bool = True
    checks_partitions: bool = True
    checks_state_before_epoch: bool = False
    raises_failed_epochs: bool = False
    hides_loading: bool = True
    producer_ids_at_start: bool = False


class ProducerDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults of a producer.

    Attributes:
        acks, idempotent: as of KIP-679 (3.0), all acknowledgements, and batches are numbered.
        partitioner: what chooses the partition of records without a key (KIP-480 in 2.4, KIP-794 in 3.3).
        has_delivery_timeout: whether there is delivery.timeout.ms (KIP-91, 2.1).
        names_disconnected_nodes: whether it names the node that disconnected.
    """

    acks: str = "all"
    idempotent: bool = True
    partitioner: str = "built-in"
    has_delivery_timeout: bool = True
    names_disconnected_nodes: bool = True


class Era(msgspec.Struct, frozen=True, kw_only=True):
    """One choice for each behaviour, by subject; defaults are those of 3.9.

    Attributes:
        release: the release whose behaviour this is.
        defaults: the settings of brokers whose defaults are not those of 3.9.
        apis: the APIs and versions that brokers offer; None: all that 3.9 does.
        returns_known_versions: whether the response to ApiVersions in an unknown version contains the known ones
            (KIP-511, 2.4).
        coordinates_consumers: whether consumers of a group have a coordinator (0.9), or rebalance through ZooKeeper.
        admin_client_writes_internal_topics: whether a client with the id `__admin_client` may (0.9).
    """

    name: str
    release: str
    defaults: Mapping[str, str] = {}
    apis: Apis | None = None
    returns_known_versions: bool = True
    coordinates_consumers: bool = True
    admin_client_writes_internal_topics: bool = True

    replication: ReplicationBehaviour = ReplicationBehaviour()
    isr: IsrBehaviour = IsrBehaviour()
    log: LogBehaviour = LogBehaviour()
    log_dir: LogDirBehaviour = LogDirBehaviour()
    controller: ControllerBehaviour = ControllerBehaviour()
    zookeeper: ZookeeperBehaviour = ZookeeperBehaviour()
    transactions: TransactionBehaviour = TransactionBehaviour()
    groups: GroupBehaviour = GroupBehaviour()
    creations: CreationBehaviour = CreationBehaviour()
    requests: RequestBehaviour = RequestBehaviour()
    configs: ConfigBehaviour = ConfigBehaviour()
    producer: ProducerDefaults = ProducerDefaults()


DEFAULT_ERA = "3.9"

_3_9 = Era(name="3.9", release="3.9.1")
_2_4 = replace(
    _3_9,
    name="2.4",
    release="2.4.1",
    defaults=DEFAULTS_2_4,
    apis=APIS_2_4,
    replication=replace(
        _3_9.replication,
        truncation="KIP279",
        truncation_at_end_drops_epochs=False,
        high_watermark_needs_min_isr=False,
        preferred_replicas_are_in_sync=False,
        names_preferred_replicas_at_once=False,
        completes_stale_fetches=True,
        completes_fetches_beyond_end=False,
    ),
    isr=replace(_3_9.isr, change="zookeeper", notifies_controller=True),
    log=replace(
        _3_9.log,
        followers_check_size=True,
        refuses_append_time=True,
        index_rule="append",
        ends_empty_transactions=True,
        knows_delete_horizons=False,
        collects_record_errors=False,
        unknown_sequences="unknown producer",
    ),
    log_dir=replace(
        _3_9.log_dir,
        checkpoints_without_logs=False,
        clean_shutdown=b"",
        keeps_lock_file_after_shutdown=True,
    ),
    controller=replace(_3_9.controller, leader_recovery_state=False),
    zookeeper=replace(
        _3_9.zookeeper,
        paths=_3_9.zookeeper.paths[:-1],
        feature_znode=False,
        broker_version=4,
        topic_version=2,
        controller_version=1,
        used_by_tools=True,
    ),
    transactions=replace(
        _3_9.transactions,
        are_verified=False,
        producer_ids_at_start=True,
        checks_state_before_epoch=True,
        raises_failed_epochs=True,
        hides_loading=False,
    ),
    groups=GROUPS_2_4,
    creations=CREATIONS_2_4,
    requests=REQUESTS_2_4,
    configs=CONFIG_CHANGES_2_4,
    producer=ProducerDefaults(acks="1", idempotent=False, partitioner="sticky", names_disconnected_nodes=False),
)
_1_1 = replace(
    _2_4,
    name="1.1",
    release="1.1.1",
    defaults=DEFAULTS_1_1,
    apis=APIS_1_1,
    returns_known_versions=False,
    replication=replace(
        _2_4.replication,
        truncation="KIP101",
        knows_epochs_before_first=False,
        reads_from_followers=False,
        refetches_in_each_epoch=False,
        fetch_carries_epoch=False,
        beyond_leader_end="exit",
        truncation_lowers_high_watermark=False,
        leader_epoch_assigned_at="first_append",
        completes_stale_fetches=False,
    ),
    isr=replace(_2_4.isr, lag="caught_up_time", joins_from_epoch_start=False),
    log=replace(
        _2_4.log,
        ignores_lower_epochs=True,
        index_rule="append start",
        reads_max_timestamp_on_open=True,
        checks_producers_before_roll=True,
        checks_coordinators=False,
        checks_cut_off_batches=False,
        mixes_batches=True,
        converts_in_pieces=False,
        knows_zstd=False,
        unknown_sequences="unknown producer before marker",
    ),
    log_dir=replace(_2_4.log_dir, meta_properties=("broker.id", "version")),
    controller=replace(_2_4.controller, takeover_shrinks_isr=False, broker_epochs=False),
    zookeeper=replace(_2_4.zookeeper, topic_version=1),
    transactions=replace(_2_4.transactions, checks_partitions=False),
    groups=GROUPS_1_1,
    creations=CREATIONS_1_1,
    requests=REQUESTS_1_1,
    configs=CONFIG_CHANGES_1_1,
    producer=replace(_2_4.producer, partitioner="round-robin", has_delivery_timeout=False),
)
_0_10 = replace(
    _1_1,
    name="0.10",
    release="0.10.2.2",
    defaults=DEFAULTS_0_10,
    apis=APIS_0_10,
    replication=replace(_1_1.replication, truncation="HW", beyond_leader_end="hang"),
    log=replace(_1_1.log, has_producer_snapshots=False, newest_magic=1, checks_missing_timestamps=True),
    log_dir=replace(_1_1.log_dir, has_log_start_checkpoint=False, deleted_folders="next round"),
    zookeeper=replace(_1_1.zookeeper, paths=(*_1_1.zookeeper.paths[:7], "/config/topics", "/config/clients")),
    transactions=replace(_1_1.transactions, are_supported=False, producer_ids_at_start=False),
    groups=GROUPS_0_10,
    creations=CREATIONS_0_10,
    requests=REQUESTS_0_10,
)
_0_8 = replace(
    _0_10,
    name="0.8",
    release="0.8.2.2",
    defaults=DEFAULTS_0_8,
    apis=APIS_0_8,
    coordinates_consumers=False,
    admin_client_writes_internal_topics=False,
    replication=replace(
        _0_10.replication,
        beyond_leader_end="halt",
        caught_up_replicas_hold_high_watermark=False,
        reelection_keeps_followers=False,
    ),
    isr=replace(_0_10.isr, lag="fetches_and_messages", checks_per_lag_time=1, notifies_controller=False),
    log=replace(_0_10.log, has_time_index=False, newest_magic=0),
    log_dir=replace(_0_10.log_dir, meta_properties=(), deleted_folders="at once"),
    zookeeper=replace(
        _0_10.zookeeper,
        paths=(*_0_10.zookeeper.paths[:5], "/config/topics"),
        cluster_id=False,
        config_changes="topic names",
        broker_version=1,
    ),
    groups=GROUPS_0_8,
    requests=REQUESTS_0_8,
    producer=replace(_0_10.producer, partitioner="random"),
)

ERAS: dict[str, Era] = {era.name: era for era in (_0_8, _0_10, _1_1, _2_4, _3_9)}
"""The eras that the core implements, by name, oldest first."""
