"""The read side of a log: its offsets, segments and records (`ReadableLog`)."""

import struct

from broker_core.errors import Errors, KafkaException
from broker_core.log.append.append_info import ReadInfo
from broker_core.log.append.validator import LogValidator
from broker_core.log.config import LogConfig
from broker_core.log.index.transaction_index import AbortedTransaction
from broker_core.log.leader_epoch_cache import LeaderEpochCache
from broker_core.log.local_log import LocalLog, RollFact
from broker_core.log.producers.producer_state import ProducerStateManager
from broker_core.log.recovery.log_loader import LoadedLog, LogPlace
from broker_core.log.recovery.repairs import RepairFact
from broker_core.log.segment import LogSegment
from broker_core.log.segment_facts import TimestampAndOffset
from broker_core.partitions import TopicPartition, partition_name
from broker_core.records.record_batch import MAGIC_V2
from broker_core.texts import text

_BASE_OFFSET = struct.Struct(">q")


class ReadableLog:
    """The state of one replica's log, and its lookups by offset and timestamp."""

    def __init__(
        self,
        topic: str,
        partition: int,
        place: LogPlace,
        topic_id: str | None,
        epochs: LeaderEpochCache,
        loaded: LoadedLog,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.leader_epoch_cache = epochs
        self.log_start_offset = loaded.log_start_offset
        """The first offset that may be read."""
        self.producer_state: ProducerStateManager = loaded.producer_state
        self.repairs: tuple[RepairFact, ...] = loaded.repairs
        """The repairs made when the log was opened."""
        self.checked_segments: tuple[int, ...] = loaded.checked
        """The base offsets of the segments that were recovered batch by batch after an unclean shutdown."""
        self._local: LocalLog = loaded.local_log
        self._config = place.config
        self._validator = LogValidator(place.config, partition_name(topic, partition))
        self._rolls_of_refused: tuple[RollFact, ...] = ()
        self._written_by_refused: LogSegment | None = None
        self._now_ms = place.now_ms
        self.last_flushed_ms = place.now_ms
        """When the recovery point last moved, or the log was opened."""

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition of the log."""
        return TopicPartition(self.topic, self.partition)

    @property
    def directory(self) -> str:
        """The log's directory, a path of its disk."""
        return self._local.directory

    @property
    def config(self) -> LogConfig:
        """The configuration; a new one applies from the next append on, index settings from the next segment on."""
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._config = self._local.config = config
        self._validator = LogValidator(config, str(self.topic_partition))
        self.leader_epoch_cache.keep(config.magic >= MAGIC_V2)

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""
        return self._local.log_end_offset

    @property
    def recovery_point(self) -> int:
        """All records below it were fsynced; recovery begins here."""
        return self._local.recovery_point

    @property
    def segments(self) -> list[LogSegment]:
        """The segments in the order of base offsets."""
        return self._local.segments

    @property
    def active_segment(self) -> LogSegment:
        """The segment that takes appends."""
        return self._local.segments[-1]

    @property
    def size_bytes(self) -> int:
        """The size of all batches in bytes."""
        return sum(segment.size for segment in self._local.segments)

    def read(
        self,
        offset: int,
        max_bytes: int,
        upper_bound: int | None = None,
        min_one_message: bool = True,
        cuts_batches: bool = False,
        cuts_first: bool = False,
    ) -> ReadInfo:
        """Returns complete batches from the one that holds `offset`, below `upper_bound` (default: the log's end).

        At most `max_bytes`, but with `min_one_message` always the first batch; never past the end of a segment. With
        `cuts_batches` the beginning of one more batch fills the rest of `max_bytes`, with `cuts_first` also if that is
        the first one. The result is empty if `offset` is at or above the bound. Raises OFFSET_OUT_OF_RANGE outside of
        the log, and UNKNOWN_SERVER_ERROR for a negative size.
        """
        local = self._local
        end_offset = local.log_end_offset
        if offset == end_offset:
            active = local.segments[-1]
            return ReadInfo(b"", active.base_offset, active.end, offset, offset)
        self._check_range(offset)
        bound = end_offset if upper_bound is None or upper_bound > end_offset else upper_bound
        segment, position = local.locate(offset)
        if offset < bound:
            if max_bytes < 0:
                raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, text("refused.max_size", size=max_bytes))
            end = segment.end
            if bound < end_offset:
                bound_segment, bound_position = local.locate(bound)
                if bound_segment is segment:
                    end = bound_position
            data, next_offset = (
                segment.read(position, max_bytes, end, min_one_message, cuts_batches, cuts_first)
                if end > position
                else (b"", None)
            )
            if next_offset is None and cuts_first:
                return ReadInfo(data, segment.base_offset, position, offset, offset)
            if next_offset is not None:
                return ReadInfo(data, segment.base_offset, position, _BASE_OFFSET.unpack_from(data)[0], next_offset)
        return ReadInfo(b"", segment.base_offset, position, offset, offset)

    def bytes_available(self, offset: int, upper_bound: int | None = None) -> int | None:
        """The number of bytes from `offset` to `upper_bound` in one segment; None if `offset` is on an older segment.

        `LogOffsetMetadata.positionDiff` and `onOlderSegment`.
        """
        local = self._local
        end_offset = local.log_end_offset
        bound = end_offset if upper_bound is None or upper_bound > end_offset else upper_bound
        if offset >= bound:
            return 0
        if offset < self.log_start_offset:
            return None
        segment, position = local.locate(offset)
        bound_segment, bound_position = local.locate(bound)
        return bound_position - position if segment is bound_segment else None

    def offset_for_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        """The first record whose timestamp (ms) is at or above `timestamp`; None if there is none.

        Raises UNSUPPORTED_FOR_MESSAGE_FORMAT for a log of messages of magic 0, which have no timestamps.
        """
        self._check_timestamps()
        for segment in self._local.segments:
            if segment.largest_timestamp >= timestamp:
                # Kafka searches only that segment, even if the result is below the log start offset.
                return segment.find_by_timestamp(timestamp, self.log_start_offset)
        return None

    def offset_of_max_timestamp(self) -> TimestampAndOffset | None:
        """The first record that has the largest timestamp (ms) of the log; None in an empty log (KIP-734).

        It may be below the log start offset while its segment is not deleted yet.

        Raises as `offset_for_timestamp` does.
        """
        self._check_timestamps()
        newest = max(self._local.segments, key=lambda segment: segment.load_max_timestamp())
        found = newest.find_by_timestamp(newest.max_timestamp, newest.base_offset) if newest.size else None
        # After a truncation no record may have the segment's newest timestamp any more.
        return found if found is not None and found.timestamp == newest.max_timestamp else None

    def offsets_before(self, written_ms: int | None, at_most: int, now_ms: int) -> tuple[int, ...]:
        """The last `at_most` base offsets of segments last written at or before `written_ms`, descending.

        The log's end is included if `now_ms` is not later either. None: all of them
        (`UnifiedLog.legacyFetchOffsetsBefore`).
        """
        segments = self._local.segments
        start = self.log_start_offset
        found = [(max(each.base_offset, start), each.log.modified_ms or each.created_ms) for each in segments]
        if segments[-1].size:
            found.append((self._local.log_end_offset, now_ms))
        if written_ms is not None:
            while found and found[-1][1] > written_ms:
                found.pop()
        return tuple(sorted((offset for offset, _ in found[-at_most:] if at_most), reverse=True))

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of a transaction that is open or whose marker is not replicated yet."""
        first = self.producer_state.transactions.first_unstable_offset
        return None if first is None else max(first, self.log_start_offset)

    def high_watermark_moved(self, high_watermark: int) -> None:
        """Marks transactions stable whose marker is below the high watermark (`onHighWatermarkUpdated`)."""
        self.producer_state.transactions.replicated_up_to(high_watermark)

    def last_stable_offset(self, high_watermark: int) -> int:
        """The last stable offset, where read_committed readers stop (`fetchLastStableOffsetMetadata`)."""
        first = self.producer_state.transactions.first_unstable_offset
        return high_watermark if first is None else min(max(first, self.log_start_offset), high_watermark)

    def aborted_transactions(self, offset: int, read: ReadInfo) -> tuple[AbortedTransaction, ...]:
        """The aborted transactions in the range of `read`, a read at `offset`.

        As in Kafka, the end of the read is looked up in the sparse index, so transactions after it may be included
        (`UnifiedLog.addAbortedTransactions`).
        """
        segments = self._local.segments_from(read.segment_base)
        upper_bound = segments[0].offset_index.offset_from(read.position + len(read.data))
        if upper_bound is None:
            upper_bound = segments[1].base_offset if len(segments) > 1 else self._local.log_end_offset
        found: list[AbortedTransaction] = []
        for segment in segments:
            overlapping, is_complete = segment.transaction_index.collect(offset, upper_bound)
            found += overlapping
            if is_complete:
                break
        return tuple(found)

    def _check_range(self, offset: int) -> None:
        if not self.log_start_offset <= offset <= self._local.log_end_offset:
            raise self._out_of_range(offset)

    def _check_timestamps(self) -> None:
        if self._config.magic == 0:
            raise KafkaException(
                Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT,
                text(
                    "refused.no_timestamps",
                    partition=str(self.topic_partition),
                    version=self._config.message_format_version,
                ),
            )

    def _out_of_range(self, offset: int) -> KafkaException:
        return KafkaException(
            Errors.OFFSET_OUT_OF_RANGE,
            text(
                "refused.offset_range",
                offset=offset,
                partition=str(self.topic_partition),
                start=self.log_start_offset,
                end=self._local.log_end_offset,
            ),
        )
