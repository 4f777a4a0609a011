"""How older releases respond to clients, where that differs from 3.9: groups, creations of topics, other requests."""

from typing import Literal

import msgspec
from msgspec.structs import replace

from broker_core.errors import Errors


class GroupBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """The coordinator of consumer groups.

    Attributes:
        heartbeats_continue_in_sync: whether a heartbeat is accepted while the group waits for its assignment
            (KAFKA-9752, 2.4.2 and 2.6), or told to rejoin.
        names_loading: whether requests to a coordinator that is loading get COORDINATOR_LOAD_IN_PROGRESS (2.0), or
            NOT_COORDINATOR.
        checks_generation_in_sync: whether the generation of such a heartbeat is also checked (2.3), and the member of
            a commit in that state.
        refuses_unknown_instances: whether a member with an instance id that the group does not have is unknown.
        checks_group_ids_of_members: whether an empty group id is invalid in requests of members (2.0), or in JoinGroup
            only.
        checks_first_protocols: whether the first member must name a protocol type and a protocol (1.0).
        counts_protocols_once: whether a protocol that a member names twice counts once, with its first metadata (1.1),
            or makes a new member's request fail.
        breaks_ties_in_mutable_map: whether of assignors with equally many votes the first one in a mutable map of Scala
            2.12 wins, or in an immutable one of 2.13, with which 3.9 is built.
        keeps_null_client_ids: whether a member's client id that is null remains null, so that the member's own id
            begins with "null" and Kafka fails to describe or store the group (2.4, until 3.1), or is empty.
        updates_timeouts: whether a member that rejoins with other timeouts gets those (KAFKA-14009, 3.3), or keeps
            those of its first join.
        counts_waiting_members: whether group.max.size limits the members that wait in a rebalance (2.6), or all.
        refuses_joins_of_removed: whether a pending join of a member that is removed is refused (KAFKA-7610, 2.2), or
            gets no response.
        expires_new_members: when a new member whose join waits is removed: never; five minutes after it joined, but no
            longer once it has sent a heartbeat or got its response, until it syncs (KAFKA-7610, 2.2); or in any case,
            and after a heartbeat when its session ends (2.5).
        commits_without_producer: whether a TxnOffsetCommit without a producer id commits the offsets at once (2.4), or
            fails.
        deletes_without_id: whether DeleteGroups looks for a group with an empty id (2.0), or refuses that.
        checks_commits: whether offsets may be committed only for partitions that the broker knows (0.9), or for
            anything.
        checks_members_of_commits: whether the member and the generation of a commit are checked (0.9).
        keeps_offsets_of_absent_topics: whether OffsetFetch returns offsets of any partition (0.9), or an error for
            those that the broker does not know.
        offset_errors_by_partition: whether OffsetFetch returns an error of the group for each partition in the versions
            that have no field for it.
        replaces_static_at_once: whether a static member that restarts gets the generation at once, whatever its
            protocols are and also while the group waits for its assignment (2.4).
        expires_with_group: whether offsets expire offsets.retention.minutes after their group has lost its members
            (KIP-211, 2.1), or after they were committed, each at a time of its own.
        expires_syncs: whether members that do not sync within the rebalance timeout are removed (KAFKA-13435, 3.1).
        repeats_deleted_offsets: whether OffsetDelete lists a topic once for each of its partitions (2.4).
        names_completing_rebalance: the name of the state in DescribeGroups.
        join_error_generation: the generation in a JoinGroup response with an error.
    """

    heartbeats_continue_in_sync: bool = True
    names_loading: bool = True
    checks_generation_in_sync: bool = True
    refuses_unknown_instances: bool = True
    checks_group_ids_of_members: bool = True
    checks_first_protocols: bool = True
    counts_protocols_once: bool = False
    breaks_ties_in_mutable_map: bool = False
    keeps_null_client_ids: bool = False
    updates_timeouts: bool = True
    counts_waiting_members: bool = True
    refuses_joins_of_removed: bool = True
    expires_new_members: Literal["never", "until heard of", "always"] = "always"
    commits_without_producer: bool = False
    deletes_without_id: bool = True
    checks_commits: bool = True
    checks_members_of_commits: bool = True
    keeps_offsets_of_absent_topics: bool = True
    offset_errors_by_partition: bool = False
    replaces_static_at_once: bool = False
    expires_with_group: bool = True
    expires_syncs: bool = True
    repeats_deleted_offsets: bool = False
    names_completing_rebalance: str = "CompletingRebalance"
    join_error_generation: int = -1


class RequestBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """The responses to other requests of clients.

    Attributes:
        absent_replica: the error for a partition that other brokers host: where only a leader may respond, and where a
            follower may, too.
        refuses_unknown_timestamps: whether ListOffsets refuses negative timestamps without a meaning, or looks them up.
        waits_for_high_watermark: whether ListOffsets finds no end, and no later record, until the high watermark has
            reached the start of the leader's epoch (KIP-207, 2.2).
        returns_stable_offset_to_all: whether Fetch returns the last stable offset to consumers of uncommitted records,
            too.
        unread_aborted: the aborted transactions in a Fetch response for an unknown partition.
        names_success: whether FindCoordinator returns the message NONE with success.
        unknown_key_type: what becomes of a FindCoordinator with an unknown key type.
        operations_not_requested: the authorized operations of a client that did not ask for them.
        reads_partition_maps: whether partitions of a request become a map first: topics without partitions are lost,
            and a partition that is named twice is there once.
        groups_in_maps: whether topics and their partitions are in the order of hash maps in a response: in that of no
            API; of Java in most, but only topics in those with offsets of groups (2.4); of Java in all (0.9); or of
            Scala in all.
        divides_java_maps: whether Produce divides the map of the request into others of Java (0.9), or into maps of
            Scala (0.11), before its response is put together.
        partition_map: the map that Metadata lists partitions from. "sorted": none, by index (3.9; in Kafka the order of
            a `LongMap`). "long": a `LongMap` of Scala (2.1). "hash": a mutable `HashMap`.
        looks_for_topics: whether Fetch refuses an unknown topic before it looks for a replica (0.10).
        limits_min_bytes: whether a Fetch waits for no more bytes than it may return (2.4).
        knows_future_replicas: whether the replica id -3 is that of a broker that reads its own log (KIP-113, 1.1), or
            that of any consumer.
        sessions_keep_epochs: whether a fetch session keeps the leader epochs of its partitions, and checks them (2.5).
        sessions_move_all: whether each partition in an incremental response moves to the end of its session, or only
            one with records.
        sessions_remain_in_use: whether a fetch session was last used by its last request (KAFKA-9137, 2.5), or when it
            was created.
        session_shards: how many parts the cache of fetch sessions has: one before 3.8.
        refuses_isolation_levels: whether an unknown isolation level is an error, or makes the request unreadable.
        explains_failures: whether the message of an unexpected exception is returned.
        no_authorizer: the message of CreateAcls and DeleteAcls.
        explains_reassignment: whether AlterPartitionReassignments says what is wrong with an assignment (2.5).
        election_not_needed: the message of ELECTION_NOT_NEEDED.
        sasl_mechanisms: the mechanisms that SaslHandshake names on a plaintext port.
        refuses_absent_names: whether Metadata refuses an invalid topic name even if it may not create the topic.
        orders_replicas: whether Metadata lists the replicas in the order of their assignment (0.11), or in that of a
            `HashSet`.
        deletion_disabled: what becomes of DeleteTopics if `delete.topic.enable` is false: it is refused, or it waits.
        repeats_deletions: whether DeleteTopics responds twice to a topic that is named twice (2.4), or once.
        looks_for_partitions: whether Produce, DeleteRecords and commits of offsets refuse an unknown partition before
            anything else (2.0), or only an unknown topic.
        checks_acks: whether acks must be -1, 0 or 1 (0.9), or may be any number of replicas.
        refuses_records: the error of a batch that breaks a rule (2.4: INVALID_RECORD).
        refused_without_start: other errors of a batch with which no log start offset is returned.
        lists_record_errors: whether all records that break a rule are listed (2.5), or the first one without a message.
        reads_batches: which records of a Produce are refused for their partition: any that are not one batch of magic 2
            (2.5), or only several batches (2.4); others make the request unreadable.
        looks_for_zstd: whether versions 3 to 6 of Produce look for zstd in all batches, and fail as a whole on a codec
            without a name (2.1).
        converts_errors: whether a fetch for an older message format that the topic does not convert is refused even if
            there are no records in it, and returns null for them; or only records are converted (2.4).
        checks_transactional_ids: whether a transactional batch needs the id in the request (2.0).
        reads_unknown_acls: whether a request with an unknown kind of ACL is answered.
        old_paths: whether messages about paths are those of ZooKeeper 3.4's client.
        repeats_failures: whether CreatePartitions, when it fails as a whole, responds twice to a topic named twice,
            or once (2.4).
        tags: the tagged fields that it reads: unknown ones in any order or in that of their tags (2.4), or none.
        creation_not_controller: the message of a CreateTopics that is not for the controller.
    """

    absent_replica: tuple[Errors, Errors] = (Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_LEADER_OR_FOLLOWER)
    refuses_unknown_timestamps: bool = True
    waits_for_high_watermark: bool = True
    returns_stable_offset_to_all: bool = True
    unread_aborted: tuple[()] | None = ()
    names_success: bool = True
    unknown_key_type: Literal["invalid request", "server error", "unparsable"] = "invalid request"
    operations_not_requested: int = -(2**31)
    reads_partition_maps: bool = False
    groups_in_maps: Literal["none", "most", "all", "scala"] = "none"
    divides_java_maps: bool = False
    partition_map: Literal["sorted", "long", "hash"] = "sorted"
    looks_for_topics: bool = True
    limits_min_bytes: bool = True
    knows_future_replicas: bool = True
    sessions_keep_epochs: bool = True
    sessions_move_all: bool = False
    sessions_remain_in_use: bool = True
    session_shards: int = 8
    refuses_isolation_levels: bool = True
    explains_failures: bool = False
    no_authorizer: str = "No Authorizer is configured."
    explains_reassignment: bool = True
    election_not_needed: str = "Leader election not needed for topic partition."
    sasl_mechanisms: tuple[str, ...] = ()
    refuses_absent_names: bool = True
    orders_replicas: bool = True
    deletion_disabled: Literal["refused", "waits"] = "refused"
    repeats_deletions: bool = True
    looks_for_partitions: bool = True
    checks_acks: bool = True
    refuses_records: Errors = Errors.INVALID_RECORD
    refused_without_start: tuple[Errors, ...] = ()
    lists_record_errors: bool = True
    reads_batches: Literal["any", "several", "one"] = "any"
    looks_for_zstd: bool = True
    converts_errors: bool = True
    checks_transactional_ids: bool = True
    reads_unknown_acls: bool = False
    old_paths: bool = False
    repeats_failures: bool = True
    tags: Literal["any order", "in order", "none"] = "any order"
    creation_not_controller: str | None = ""


class CreationBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """The creation of topics, by CreateTopics and by Metadata.

    Attributes:
        looks_for_topic_first: whether an existing topic is the first thing that is refused (2.4), or is refused with
            the name.
        refuses_null: whether the settings that are null are named, or the request fails.
        reads_null: whether a setting that is null is read (0.11), or makes the request unreadable.
        unknown_setting: the message for a setting that the release does not have.
        checks_settings_first: whether the settings are checked first, or last.
        has_default_counts: whether -1 partitions or replicas are the broker's default (KIP-464, 2.4).
        checks_sequence: whether the partitions of an assignment must be numbered from 0 on (2.0).
        names: the messages for invalid names, by the release that introduced them.
        names_repeated: whether topics that are named twice are refused once, in a message that lists them (1.1).
        counts: the messages for invalid counts, by the release that introduced them.
        map: the name of the map that is shown for a duplicate replica.
        reserves_cluster_metadata: whether no topic may have the name of KRaft's log (2.8).
        refuses_settings: whether a setting with an invalid value is INVALID_CONFIG (2.0), or UNKNOWN_SERVER_ERROR.
    """

    looks_for_topic_first: bool = True
    refuses_null: bool = True
    reads_null: bool = True
    unknown_setting: str = "Unknown topic config name: {}"
    checks_settings_first: bool = False
    has_default_counts: bool = True
    checks_sequence: bool = True
    names: Literal["3.0", "0.11", "0.9"] = "3.0"
    counts: Literal["0.11", "0.8"] = "0.11"
    names_repeated: bool = False
    map: str = "HashMap"
    refuses_settings: bool = True
    reserves_cluster_metadata: bool = True


GROUPS_2_4 = GroupBehaviour(
    heartbeats_continue_in_sync=False,
    refuses_unknown_instances=False,
    offset_errors_by_partition=True,
    replaces_static_at_once=True,
    commits_without_producer=True,
    expires_syncs=False,
    updates_timeouts=False,
    counts_waiting_members=False,
    keeps_null_client_ids=True,
    expires_new_members="until heard of",
    breaks_ties_in_mutable_map=True,
    repeats_deleted_offsets=True,
)
GROUPS_1_1 = replace(
    GROUPS_2_4,
    names_loading=False,
    expires_with_group=False,
    checks_generation_in_sync=False,
    counts_protocols_once=True,
    keeps_null_client_ids=False,
    refuses_joins_of_removed=False,
    expires_new_members="never",
    deletes_without_id=False,
    checks_group_ids_of_members=False,
    join_error_generation=0,
)
GROUPS_0_10 = replace(GROUPS_1_1, checks_first_protocols=False, names_completing_rebalance="AwaitingSync")
GROUPS_0_8 = replace(
    GROUPS_0_10,
    names_loading=True,
    checks_commits=False,
    checks_members_of_commits=False,
    keeps_offsets_of_absent_topics=False,
)

CREATIONS_2_4 = CreationBehaviour(
    refuses_null=False, checks_settings_first=True, names="0.11", map="Map", reserves_cluster_metadata=False
)
CREATIONS_1_1 = replace(
    CREATIONS_2_4,
    looks_for_topic_first=False,
    has_default_counts=False,
    checks_sequence=False,
    names_repeated=True,
    refuses_settings=False,
)
CREATIONS_0_10 = replace(
    CREATIONS_1_1, names="0.9", counts="0.8", reads_null=False, unknown_setting="Unknown Log configuration {}."
)

REQUESTS_2_4 = RequestBehaviour(
    absent_replica=(Errors.NOT_LEADER_OR_FOLLOWER, Errors.REPLICA_NOT_AVAILABLE),
    refuses_unknown_timestamps=False,
    unread_aborted=None,
    unknown_key_type="server error",
    operations_not_requested=0,
    reads_partition_maps=True,
    groups_in_maps="most",
    partition_map="long",
    sessions_keep_epochs=False,
    sessions_move_all=True,
    sessions_remain_in_use=False,
    session_shards=1,
    refuses_isolation_levels=False,
    explains_failures=True,
    no_authorizer="No Authorizer is configured on the broker.",
    explains_reassignment=False,
    election_not_needed="Leader election not needed for topic partition",
    refuses_absent_names=False,
    lists_record_errors=False,
    reads_batches="several",
    reads_unknown_acls=True,
    converts_errors=False,
    repeats_failures=False,
    tags="in order",
)
REQUESTS_1_1 = replace(
    REQUESTS_2_4,
    absent_replica=(Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.REPLICA_NOT_AVAILABLE),
    waits_for_high_watermark=False,
    returns_stable_offset_to_all=False,
    names_success=False,
    unknown_key_type="unparsable",
    groups_in_maps="all",
    partition_map="hash",
    refuses_records=Errors.CORRUPT_MESSAGE,
    reads_batches="one",
    repeats_deletions=False,
    refused_without_start=(Errors.INVALID_RECORD, Errors.INVALID_TIMESTAMP),
    checks_transactional_ids=False,
    looks_for_partitions=False,
    limits_min_bytes=False,
    creation_not_controller=None,
    looks_for_zstd=False,
    old_paths=True,
    tags="none",
)
REQUESTS_0_10 = replace(
    REQUESTS_1_1,
    sasl_mechanisms=("GSSAPI",),
    deletion_disabled="waits",
    orders_replicas=False,
    divides_java_maps=True,
    knows_future_replicas=False,
)
REQUESTS_0_8 = replace(
    REQUESTS_0_10, checks_acks=False, orders_replicas=True, groups_in_maps="scala", looks_for_topics=False
)
