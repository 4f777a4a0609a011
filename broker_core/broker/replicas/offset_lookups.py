"""Offset lookups in the logs that a broker leads: by timestamp and by leader epoch (`ReplicaManager.fetchOffset`,
`lastOffsetForLeaderEpoch`).
"""

from broker_core.broker.replicas.replica_access import ReplicaAccess
from broker_core.errors import Errors, KafkaException
from broker_core.log.leader_epoch_cache import UNDEFINED_EPOCH_OFFSET
from broker_core.records.record_batch import NO_LEADER_EPOCH
from broker_core.wire.messages import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsResult,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderEpochResult,
)

CONSUMER = -1
DEBUGGING_CONSUMER = -2
"""The replica id of a reader that any replica serves."""
FUTURE_REPLICA = -3
"""The replica id with which a broker reads its own log, to move it to another directory (KIP-113)."""
LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5


class OffsetLookups:
    """The offset lookups of a replica manager, in its partitions: see the module."""

    def __init__(self, replicas: ReplicaAccess) -> None:
        self._replicas = replicas
        self._partitions = replicas.partitions

    def list(self, body: ListOffsetsRequest) -> ListOffsetsResponse:
        """Latest (-1: the high watermark for consumers, the log end for replicas), earliest (-2; -4 without remote
        storage), the record with the largest timestamp (-3), or by timestamp. There is no remote storage (-5).
        """
        if body.max_num_offsets:
            wanted = zip(body.partitions, body.max_num_offsets, strict=True)
            return ListOffsetsResponse(tuple(self._before(body, *requested, at_most) for requested, at_most in wanted))
        return ListOffsetsResponse(tuple(self._find(body, *requested) for requested in body.partitions))

    def _before(
        self, body: ListOffsetsRequest, name: str, leader_epoch: int, timestamp: int, at_most: int
    ) -> ListOffsetsResult:
        """Version 0: several offsets, by the last write of segments (`Partition.legacyFetchOffsetsForTimestamp`)."""
        partition = self._partitions.get(name)
        if partition is None:
            return ListOffsetsResult(name, self._replicas.not_leader(name, body.replica_id == DEBUGGING_CONSUMER))
        error = self._replicas.epoch_error(partition, leader_epoch, from_follower=body.replica_id == DEBUGGING_CONSUMER)
        if error is not None:
            return ListOffsetsResult(name, error)
        if at_most < 0:
            return ListOffsetsResult(name, Errors.UNKNOWN_SERVER_ERROR)
        now_ms = self._replicas.wall_ms
        if timestamp == EARLIEST_TIMESTAMP:
            found = (partition.log.log_start_offset,)[:at_most]
        else:
            written_ms = None if timestamp == LATEST_TIMESTAMP else timestamp
            found = partition.log.offsets_before(written_ms, at_most, now_ms)
        high_watermark = partition.high_watermark
        if body.replica_id == CONSUMER and found and found[0] > high_watermark:
            found = (high_watermark, *(offset for offset in found if offset <= high_watermark))
        return ListOffsetsResult(name, offset=found[0] if found else -1, old_style_offsets=found)

    def _find(self, body: ListOffsetsRequest, name: str, leader_epoch: int, timestamp: int) -> ListOffsetsResult:
        replica_id = body.replica_id
        partition = self._partitions.get(name)
        if partition is None:
            return ListOffsetsResult(name, self._replicas.not_leader(name, body.replica_id == DEBUGGING_CONSUMER))
        error = self._replicas.epoch_error(partition, leader_epoch, from_follower=replica_id == DEBUGGING_CONSUMER)
        if error is not None:
            return ListOffsetsResult(name, error)
        knows_special = self._replicas.era.requests.refuses_unknown_timestamps
        if timestamp < LATEST_TIERED_TIMESTAMP and knows_special:
            return ListOffsetsResult(name, Errors.UNSUPPORTED_VERSION)
        log = partition.log
        upper_bound = partition.readable_end(body.isolation_level) if replica_id == CONSUMER else log.log_end_offset
        if timestamp == EARLIEST_TIMESTAMP or (timestamp == EARLIEST_LOCAL_TIMESTAMP and knows_special):
            first_epoch = log.leader_epoch_cache.epoch_for(log.log_start_offset)
            return ListOffsetsResult(name, offset=log.log_start_offset, leader_epoch=first_epoch)
        # After an election the high watermark may be behind what the previous leader returned (KIP-207).
        is_lagging = partition.high_watermark < partition.leader_epoch_start_offset
        waits = is_lagging and replica_id == CONSUMER and self._replicas.era.requests.waits_for_high_watermark
        if timestamp == LATEST_TIMESTAMP:
            if waits:
                return ListOffsetsResult(name, Errors.OFFSET_NOT_AVAILABLE)
            return ListOffsetsResult(name, offset=upper_bound, leader_epoch=partition.leader_epoch)
        if timestamp == LATEST_TIERED_TIMESTAMP and knows_special:
            return ListOffsetsResult(name)
        wants_newest = timestamp == MAX_TIMESTAMP and knows_special
        try:
            found = log.offset_of_max_timestamp() if wants_newest else log.offset_for_timestamp(timestamp)
        except KafkaException as refused:
            return ListOffsetsResult(name, refused.error)
        if found is None or found[1] >= upper_bound:
            return ListOffsetsResult(name, Errors.OFFSET_NOT_AVAILABLE if waits else Errors.NONE)
        return ListOffsetsResult(name, offset=found[1], timestamp=found[0], leader_epoch=found[2])

    def for_leader_epochs(self, body: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        """The end offsets of leader epochs in the logs that this broker leads
        (`Partition.lastOffsetForLeaderEpoch`).
        """
        results = []
        for name, current_leader_epoch, epoch in body.partitions:
            partition = self._partitions.get(name)
            if partition is None:
                error: Errors | None = self._replicas.not_leader(name)
            else:
                error = self._replicas.epoch_error(partition, current_leader_epoch)
            if partition is None or error is not None:
                results.append(OffsetForLeaderEpochResult(name, error or Errors.UNKNOWN_SERVER_ERROR))
                continue
            cache = partition.log.leader_epoch_cache
            found = cache.end_offset_for(epoch, partition.log.log_end_offset)
            if not self._replicas.era.replication.knows_epochs_before_first and cache.is_before_first(epoch):
                found = NO_LEADER_EPOCH, UNDEFINED_EPOCH_OFFSET
            results.append(OffsetForLeaderEpochResult(name, Errors.NONE, *found))
        return OffsetForLeaderEpochResponse(tuple(results))
