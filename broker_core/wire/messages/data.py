"""Produce, Fetch, ListOffsets, DeleteRecords."""

import msgspec

from broker_core.errors import Errors


class ProduceRequest(msgspec.Struct, frozen=True, gc=False):
    """`partitions`: (topic-partition, bytes of exactly one record batch; before version 3 of any number).

    The protocol allows None instead of bytes. `is_unanswered`: Kafka fails on such a request without a response.
    """

    acks: int
    timeout_ms: int
    partitions: tuple[tuple[str, bytes | None], ...]
    transactional_id: str | None = None
    version: int = 11
    is_from_admin_client: bool = False
    is_unanswered: bool = False


class ProducePartitionResponse(msgspec.Struct, frozen=True, gc=False):
    partition: str
    error: Errors = Errors.NONE
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    message: str | None = None
    #: (index of the record in the batch, why), KIP-467
    record_errors: tuple[tuple[int, str | None], ...] = ()
    is_malformed: bool = False
    """The request did not hold one batch of an allowed kind for the partition."""


class ProduceResponse(msgspec.Struct, frozen=True, gc=False):
    partitions: tuple[ProducePartitionResponse, ...]


FETCH_VERSION = 17
"""The newest version of Fetch."""


class FetchPartition(msgspec.Struct, frozen=True, gc=False):
    partition: str
    fetch_offset: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    log_start_offset: int = -1
    partition_max_bytes: int = 1_048_576


class FetchRequest(msgspec.Struct, frozen=True, gc=False):
    """`replica_id` -1 for a consumer. A follower also sends its broker epoch (KIP-903). A new `session_id` starts a new
    fetch session (KIP-227). `from_follower`: a consumer that reads from any replica (KIP-392). Readers of an old
    `version` get old messages (KIP-283). `cuts_batches`: the last batch may be incomplete, as in Kafka.
    `isolation_level` 1: read_committed. `rack_id`: the consumer's rack, empty without one.
    """

    replica_id: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partitions: tuple[FetchPartition, ...]
    replica_epoch: int = -1
    session_id: int = 0
    from_follower: bool = False
    version: int = FETCH_VERSION
    cuts_batches: bool = False
    isolation_level: int = 0
    rack_id: str = ""


class FetchPartitionResponse(msgspec.Struct, frozen=True, gc=False):
    """`diverging_epoch`: (epoch, end offset) where the follower's log diverges from the leader's (KIP-595), or None.

    `last_stable_offset`: for consumers. `aborted_transactions`: (producer id, first offset), for read_committed
    consumers. `preferred_read_replica`: the broker to read from instead, and nothing was read; -1 = this one.
    `unconverted`: what was read, if the error is that a reader of this version does not support it.
    """

    partition: str
    error: Errors = Errors.NONE
    high_watermark: int = -1
    log_start_offset: int = -1
    records: bytes = b""
    diverging_epoch: tuple[int, int] | None = None
    last_stable_offset: int = -1
    aborted_transactions: tuple[tuple[int, int], ...] | None = None
    preferred_read_replica: int = -1
    unconverted: "FetchPartitionResponse | None" = None


class FetchResponse(msgspec.Struct, frozen=True, gc=False):
    """As with an incremental fetch session (KIP-227) only changed partitions are listed."""

    partitions: tuple[FetchPartitionResponse, ...]


class ListOffsetsRequest(msgspec.Struct, frozen=True, gc=False):
    """`partitions`: (topic-partition, current leader epoch, timestamp; -1 latest, -2 earliest). `isolation_level` 1:
    read_committed. `max_num_offsets`: in version 0, the maximum number of offsets per partition.
    """

    replica_id: int
    partitions: tuple[tuple[str, int, int], ...]
    isolation_level: int = 0
    max_num_offsets: tuple[int, ...] = ()


class ListOffsetsResult(msgspec.Struct, frozen=True, gc=False):
    """`old_style_offsets`: the offsets of version 0, descending; `offset` is the first of them."""

    partition: str
    error: Errors = Errors.NONE
    offset: int = -1
    timestamp: int = -1
    leader_epoch: int = -1
    old_style_offsets: tuple[int, ...] = ()


class ListOffsetsResponse(msgspec.Struct, frozen=True, gc=False):
    partitions: tuple[ListOffsetsResult, ...]


class OffsetForLeaderEpochRequest(msgspec.Struct, frozen=True, gc=False):
    """`partitions`: (topic-partition, current leader epoch or -1, the requested epoch). KIP-101."""

    replica_id: int
    partitions: tuple[tuple[str, int, int], ...]


class OffsetForLeaderEpochResult(msgspec.Struct, frozen=True, gc=False):
    """`leader_epoch`: the newest epoch at or below the requested one (KIP-279), and its end offset; -1 = unknown."""

    partition: str
    error: Errors = Errors.NONE
    leader_epoch: int = -1
    end_offset: int = -1


class OffsetForLeaderEpochResponse(msgspec.Struct, frozen=True, gc=False):
    partitions: tuple[OffsetForLeaderEpochResult, ...]


class DeleteRecordsRequest(msgspec.Struct, frozen=True, gc=False):
    """`partitions`: (topic-partition, offset below which records are deleted; -1 = the high watermark)."""

    timeout_ms: int
    partitions: tuple[tuple[str, int], ...]


class DeleteRecordsResult(msgspec.Struct, frozen=True, gc=False):
    """`low_watermark`: the lowest log start offset of the live replicas; -1 = unknown."""

    partition: str
    low_watermark: int = -1
    error: Errors = Errors.NONE


class DeleteRecordsResponse(msgspec.Struct, frozen=True, gc=False):
    partitions: tuple[DeleteRecordsResult, ...]
