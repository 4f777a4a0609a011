"""The log of one replica: what a broker appends to, reads from and truncates (`UnifiedLog`).

It is pure storage. It emits no events; each call returns the facts that the caller tells the world about. Times come in
as arguments.
"""

import struct
from collections.abc import Sequence

from broker_core.errors import KafkaError, KafkaException, UnexpectedAppendOffsetException
from broker_core.log.append_check import analyze
from broker_core.log.append_info import AppendInfo, ProducerFact, ReadInfo
from broker_core.log.checkpoints import LeaderEpochCheckpoint
from broker_core.log.config import LogConfig
from broker_core.log.deleted_files import DeletedFile
from broker_core.log.leader_epoch_cache import LeaderEpochCache
from broker_core.log.local_log import LocalLog, RollFact
from broker_core.log.partition_metadata import ensure_topic_id
from broker_core.log.producer_recovery import complete, producer_fact, rebuild_producer_state, update_producers
from broker_core.log.producer_state import ProducerStateManager
from broker_core.log.recovery import LoadedLog, LogPlace, load_log
from broker_core.log.repairs import RepairFact
from broker_core.log.segment import SEGMENT_SUFFIXES, BatchFact, LogSegment, TimestampAndOffset, segment_path
from broker_core.log.swap_files import CLEANED_SUFFIX
from broker_core.log.transaction_index import AbortedTransaction
from broker_core.log.validator import Append, LogValidator
from broker_core.records.control_record import read_end_transaction_marker
from broker_core.records.record_batch import (
    LENGTH_OVERHEAD,
    MAGIC_V2,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptRecord,
    ensure_valid,
    iterate_batches,
    iterate_records,
)
from broker_core.sim.disk import CutFact, Disk

_BASE_OFFSET = struct.Struct(">q")


class UnifiedLog:
    """One replica's log. Open it with `UnifiedLog.load`."""

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
        """What was found wrong when the log was opened, and what became of it."""
        self.checked_segments: tuple[int, ...] = loaded.checked
        """The base offsets of the segments that were checked batch by batch, because the last stop was not clean."""
        self._local: LocalLog = loaded.local_log
        self._config = place.config
        self._validator = LogValidator(place.config, f"{topic}-{partition}")
        self._now_ms = place.now_ms
        self.last_flushed_ms = place.now_ms
        """When the recovery point last moved, or the log was opened."""

    @staticmethod
    def load(
        disk: Disk,
        directory: str,
        topic: str,
        partition: int,
        config: LogConfig,
        *,
        now_ms: int,
        clean_shutdown: bool,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        topic_id: str | None = None,
    ) -> "UnifiedLog":
        """Opens the log in `directory` ("broker-1/orders-0"), or creates it.

        `clean_shutdown` says that the last owner closed it; otherwise everything from `recovery_point` on is checked
        and a torn end is cut off. Both offsets come from the log directory's checkpoints. Raises INCONSISTENT_TOPIC_ID
        when the directory belongs to another topic of the same name, KAFKA_STORAGE_ERROR for files that cannot be read.
        """
        disk.makedirs(directory)
        place = LogPlace(disk, directory, config, now_ms)
        topic_id = ensure_topic_id(disk, directory, topic_id)
        epochs = LeaderEpochCache(
            LeaderEpochCheckpoint(disk, directory),
            is_kept=config.magic >= MAGIC_V2,
            only_rises=config.epochs_only_rise,
        )
        loaded = load_log(
            place,
            epochs,
            clean_shutdown=clean_shutdown,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
        )
        return UnifiedLog(topic, partition, place, topic_id, epochs, loaded)

    def assign_topic_id(self, topic_id: str) -> None:
        """Ties the log to a topic, when it is of before topic ids or its partition.metadata is lost."""
        self.topic_id = ensure_topic_id(self._local.disk, self._local.directory, topic_id)

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
        self._validator = LogValidator(config, f"{self.topic}-{self.partition}")
        self.leader_epoch_cache.keep(config.magic >= MAGIC_V2)

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""
        return self._local.log_end_offset

    @property
    def recovery_point(self) -> int:
        """All below was fsynced; recovery begins here."""
        return self._local.recovery_point

    @property
    def segments(self) -> list[LogSegment]:
        """The segments by rising base offset."""
        return self._local.segments

    @property
    def active_segment(self) -> LogSegment:
        """The segment that takes appends."""
        return self._local.segments[-1]

    @property
    def size_bytes(self) -> int:
        """The bytes of all batches."""
        return sum(segment.size for segment in self._local.segments)

    def append_as_leader(self, data: bytes, leader_epoch: int, now_ms: int, is_client: bool = True) -> AppendInfo:
        """Validates what a producer sent, gives it the next offsets and this leader epoch, and writes it.

        That is one batch; of messages of magic 0 and 1, or nothing, it may be several. `is_client` is false for batches
        of the broker's own coordinators. Raises KafkaException; then nothing was written.
        """
        self._now_ms = now_ms
        sent, codec = analyze(data, self._config.max_message_bytes, is_client)
        if not sent:
            active = self._local.segments[-1]
            return AppendInfo(-1, -1, NO_TIMESTAMP, 0, 0, active.base_offset, active.size, ())
        next_offset = self._local.log_end_offset
        append = Append(data, sent, codec, next_offset, leader_epoch, now_ms, is_client)
        data, batches, record_count = self._validator.validate(append)
        epoch_entries = self._note_epochs(batches)
        last = batches[-1][1]
        max_timestamp = max([header.max_timestamp for _, header in batches])
        rolled = self._maybe_roll(len(data), max_timestamp, next_offset, last.last_offset, now_ms)
        if last.has_producer_id:
            duplicate = self._validate_producer(last, data, is_client)
            if duplicate is not None:
                return duplicate
        return self._write(data, batches, next_offset, max_timestamp, record_count, rolled, epoch_entries)

    def append_as_follower(self, data: bytes, now_ms: int) -> AppendInfo:
        """Writes batches as another log has them; offsets, epochs and CRCs stay, new leader epochs enter the cache.

        Raises UnexpectedAppendOffsetException for a batch below the log end offset, UNKNOWN_SERVER_ERROR for offsets
        that do not rise, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE; then nothing was written. A part of
        a batch at the end of `data` is left out.
        """
        self._now_ms = now_ms
        found = list(iterate_batches(data))
        if not found:
            raise KafkaException(KafkaError.INVALID_RECORD, "no complete batch to append")
        self._check_batches(data, found)
        last_position, last = found[-1]
        size = last_position + last.length + LENGTH_OVERHEAD
        if size < len(data):
            data = data[:size]
        max_timestamp = NO_TIMESTAMP
        record_count = 0
        for _, header in found:
            if header.max_timestamp > max_timestamp:
                max_timestamp = header.max_timestamp
            record_count += header.record_count
        epoch_entries = self._note_epochs(found)
        first = found[0][1]
        # How many messages a compressed one holds is not known, so its first offset is neither.
        first_offset = first.base_offset if first.magic >= MAGIC_V2 else self._local.log_end_offset
        rolled = self._maybe_roll(size, max_timestamp, first_offset, last.last_offset, now_ms)
        return self._write(data, found, first_offset, max_timestamp, record_count, rolled, epoch_entries)

    def read(
        self,
        offset: int,
        max_bytes: int,
        upper_bound: int | None = None,
        min_one_message: bool = True,
        cuts_batches: bool = False,
    ) -> ReadInfo:
        """Whole batches from the one that holds `offset` on, below `upper_bound` (default: the log's end).

        At most `max_bytes`, but with `min_one_message` always the first batch; never beyond one segment. With
        `cuts_batches` the beginning of one more batch fills up what is left of `max_bytes`. The answer is empty
        when `offset` is at or above the bound. Raises OFFSET_OUT_OF_RANGE outside of the log.
        """
        local = self._local
        end_offset = local.log_end_offset
        if offset == end_offset:
            active = local.segments[-1]
            return ReadInfo(b"", active.base_offset, active.size, offset, offset)
        self._check_range(offset)
        bound = end_offset if upper_bound is None or upper_bound > end_offset else upper_bound
        segment, position = local.locate(offset)
        if offset < bound:
            end = segment.size
            if bound < end_offset:
                bound_segment, bound_position = local.locate(bound)
                if bound_segment is segment:
                    end = bound_position
            data, next_offset = (
                segment.read(position, max_bytes, end, min_one_message) if end > position else (b"", None)
            )
            if next_offset is not None:
                left = min(max_bytes, end - position) - len(data)
                if cuts_batches and left > 0:
                    data += segment.log.read(position + len(data), left)
                return ReadInfo(data, segment.base_offset, position, _BASE_OFFSET.unpack_from(data)[0], next_offset)
        return ReadInfo(b"", segment.base_offset, position, offset, offset)

    def bytes_available(self, offset: int, upper_bound: int | None = None) -> int:
        """How many bytes a reader at `offset` could get below `upper_bound`, over all segments.

        Raises OFFSET_OUT_OF_RANGE as `read` does.
        """
        local = self._local
        end_offset = local.log_end_offset
        if offset == end_offset:
            return 0
        self._check_range(offset)
        bound = end_offset if upper_bound is None or upper_bound > end_offset else upper_bound
        if offset >= bound:
            return 0
        segment, position = local.locate(offset)
        bound_segment, bound_position = local.locate(bound)
        if segment is bound_segment:
            return bound_position - position
        between = sum(
            other.size
            for other in local.segments
            if segment.base_offset < other.base_offset < bound_segment.base_offset
        )
        return segment.size - position + between + bound_position

    def offset_for_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        """The first record whose timestamp (ms) is at or above `timestamp`; None when there is none.

        Raises UNSUPPORTED_FOR_MESSAGE_FORMAT for a log of messages of magic 0, which have no timestamps.
        """
        self._check_timestamps()
        for segment in self._local.segments_from(self.log_start_offset):
            if segment.max_timestamp >= timestamp:
                found = segment.find_by_timestamp(timestamp, self.log_start_offset)
                if found is not None:
                    return found
        return None

    def offset_of_max_timestamp(self) -> TimestampAndOffset | None:
        """The first record that has the largest timestamp (ms) of the log; None in an empty log (KIP-734).

        Raises as `offset_for_timestamp` does.
        """
        self._check_timestamps()
        segments = list(self._local.segments_from(self.log_start_offset))
        newest = max(segments, key=lambda segment: segment.max_timestamp)
        return newest.find_by_timestamp(newest.max_timestamp, self.log_start_offset) if newest.size else None

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset whose transaction is not decided, or decided by a marker that is not replicated yet."""
        first = self.producer_state.transactions.first_unstable_offset
        return None if first is None else max(first, self.log_start_offset)

    def high_watermark_moved(self, high_watermark: int) -> None:
        """Markers below the high watermark are replicated: their transactions are stable (`onHighWatermarkUpdated`)."""
        self.producer_state.transactions.replicated_up_to(high_watermark)

    def last_stable_offset(self, high_watermark: int) -> int:
        """Where a reader with isolation.level=read_committed stops (`fetchLastStableOffsetMetadata`)."""
        first = self.first_unstable_offset
        return high_watermark if first is None else min(first, high_watermark)

    def aborted_transactions(self, offset: int, read: ReadInfo) -> tuple[AbortedTransaction, ...]:
        """The aborted transactions that a reader of `read`, which it got for `offset`, has to know of.

        As in Kafka the end of what was read is looked up in the index, which is sparse: transactions behind it may be
        among them (`UnifiedLog.addAbortedTransactions`).
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

    def truncate_to(self, offset: int) -> tuple[CutFact, ...]:
        """Removes the batches at or above `offset`; returns what was cut from which file.

        Nothing but epoch entries goes when `offset` is not below the log's end.
        """
        if offset >= self._local.log_end_offset:
            self.leader_epoch_cache.truncate_from_end(offset)
            return ()
        if offset < self._local.segments[0].base_offset:
            return self.truncate_fully_and_start_at(offset)
        cuts, deleted = self._local.truncate_to(offset, self._now_ms)
        self._mark_snapshots_deleted(deleted)
        self.leader_epoch_cache.truncate_from_end(offset)
        self.log_start_offset = min(self.log_start_offset, offset)
        return cuts + self._rebuild_producers(offset)

    def truncate_fully_and_start_at(self, offset: int) -> tuple[CutFact, ...]:
        """Removes everything; the log is empty and starts at `offset`."""
        self._local.truncate_fully_and_start_at(offset, self._now_ms)
        self.leader_epoch_cache.clear()
        cuts = self.producer_state.truncate_fully_and_start_at(offset)
        self.log_start_offset = offset
        return cuts + self._rebuild_producers(offset)

    def increment_log_start_offset(self, offset: int) -> bool:
        """Makes `offset` the first that may be read, when it is above the present one; says whether it was.

        Raises OFFSET_OUT_OF_RANGE above the log's end.
        """
        if offset > self._local.log_end_offset:
            raise self._out_of_range(offset)
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        # What may no longer be read needs no recovery.
        self._local.recovery_point = max(self._local.recovery_point, offset)
        self.leader_epoch_cache.truncate_from_start(offset)
        self.producer_state.log_start_moved(offset)
        return True

    def delete_segments(self, segments: Sequence[LogSegment], now_ms: int) -> RollFact | None:
        """Takes the oldest segments out of the log, which then starts at the next one (`UnifiedLog.deleteSegments`).

        A log has at least one segment: when it shall lose them all it rolls first, which is returned.
        """
        rolled = self.roll(now_ms) if len(segments) == len(self._local.segments) else None
        self.increment_log_start_offset(self._local.segments[len(segments)].base_offset)
        self._local.remove_segments(segments)
        self._mark_snapshots_deleted([segment.base_offset for segment in segments])
        return rolled

    def new_cleaned_segment(self, base_offset: int, now_ms: int) -> LogSegment:
        """An empty segment with names ending in `.cleaned`; what an earlier attempt left is deleted first."""
        disk, directory = self._local.disk, self._local.directory
        for suffix in SEGMENT_SUFFIXES:
            disk.delete(segment_path(directory, base_offset, suffix + CLEANED_SUFFIX))
        return LogSegment(disk, directory, base_offset, self._config, now_ms, CLEANED_SUFFIX)

    def replace_segments(self, cleaned: LogSegment, replaced: Sequence[LogSegment]) -> None:
        """Puts a cleaned segment in the place of neighbours, of which it has the base offset of the first."""
        self._local.replace_segments(cleaned, replaced)
        self._mark_snapshots_deleted([segment.base_offset for segment in replaced[1:]])

    def take_deleted_files(self) -> tuple[DeletedFile, ...]:
        """The files that were renamed to `.deleted` since this was last asked; whoever asks has to unlink them."""
        files = tuple(self._local.deleted_files)
        self._local.deleted_files.clear()
        return files

    def roll(self, now_ms: int, new_base_offset: int | None = None) -> RollFact:
        """Begins a new segment at the log's end, or above it where the next batch begins there."""
        self._now_ms = now_ms
        base_offset = max(new_base_offset or 0, self._local.log_end_offset)
        fact = self._local.roll(base_offset, now_ms)
        self.producer_state.map_end_offset = base_offset
        self.producer_state.take_snapshot()
        return fact

    @property
    def is_flush_due(self) -> bool:
        """Whether as much was appended since the last flush as flush.messages allows."""
        return self._local.log_end_offset - self._local.recovery_point >= self._config.flush_messages

    def flush(self, up_to: int | None = None) -> int:
        """Makes everything below `up_to` (default: the log's end) survive a power loss; returns the recovery point."""
        before = self._local.recovery_point
        self._local.flush(self._local.log_end_offset if up_to is None else up_to)
        if self._local.recovery_point > before:
            self.last_flushed_ms = self._now_ms
        return self._local.recovery_point

    def segments_flushed_since(self, recovery_point: int) -> list[LogSegment]:
        """The segments that a flush fsynced which began at this recovery point."""
        return [
            segment
            for segment in self._local.segments_from(max(recovery_point - 1, 0))
            if segment.base_offset < self._local.recovery_point
        ]

    def flush_if_old(self, now_ms: int) -> bool:
        """Flushes when the last flush is flush.ms or longer ago; says whether there was something to flush."""
        if now_ms - self.last_flushed_ms < self._config.flush_ms:
            return False
        self._now_ms = now_ms
        before = self._local.recovery_point
        return self.flush() > before

    def close(self, clean: bool = True) -> None:
        """Ends the use of the log. A clean close flushes, trims the indexes and snapshots the producers' state.

        Without `clean` the files stay as a killed broker leaves them.
        """
        if not clean:
            return
        self.flush()
        self.producer_state.take_snapshot()
        for segment in self._local.segments:
            segment.close()

    def describe_files(self) -> list[tuple[str, int]]:
        """(name, size) of every file in the log's directory, by name."""
        disk, directory = self._local.disk, self._local.directory
        return [(name, disk.size_of(f"{directory}/{name}")) for name in disk.list(directory)]

    def tail_batches(self, count: int) -> tuple[tuple[int, int, int, int, int, int], ...]:
        """The last `count` batches: (base offset, last offset, leader epoch, segment, position, size), oldest first."""
        found: list[tuple[int, int, int, int, int, int]] = []
        for segment in reversed(self._local.segments):
            found[:0] = [
                (
                    header.base_offset,
                    header.last_offset,
                    header.partition_leader_epoch,
                    segment.base_offset,
                    at,
                    header.size,
                )
                for at, header in segment.last_headers(count - len(found))
            ]
            if len(found) >= count:
                break
        return tuple(found)

    def move_to(self, folder: str) -> tuple[tuple[str, int], ...]:
        """Renames the directory of a log that is used no longer; returns (name, size) of the files in it."""
        for segment in self._local.segments:
            segment.trim()
        self._local.disk.rename(self._local.directory, folder)
        self._local.directory = folder
        return tuple(self.describe_files())

    def _mark_snapshots_deleted(self, base_offsets: Sequence[int]) -> None:
        for base_offset in base_offsets:
            self._local.deleted_files += self.producer_state.mark_snapshot_deleted(base_offset)

    def _check_range(self, offset: int) -> None:
        if not self.log_start_offset <= offset <= self._local.log_end_offset:
            raise self._out_of_range(offset)

    def _check_timestamps(self) -> None:
        if self._config.magic == 0:
            raise KafkaException(
                KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
                f"Cannot search offsets based on timestamp because message format version for partition "
                f"{self.topic}-{self.partition} is {self._config.message_format_version} which is earlier than the "
                "minimum required version 0.10.0",
            )

    def _out_of_range(self, offset: int) -> KafkaException:
        return KafkaException(
            KafkaError.OFFSET_OUT_OF_RANGE,
            f"offset {offset} of {self.topic}-{self.partition} lies outside "
            f"{self.log_start_offset} to {self._local.log_end_offset}",
        )

    def _maybe_roll(
        self, size: int, max_timestamp: int, first_offset: int, last_offset: int, now_ms: int
    ) -> tuple[RollFact, ...]:
        config = self._config
        if size > config.segment_bytes:
            raise KafkaException(
                KafkaError.RECORD_LIST_TOO_LARGE,
                f"the append has {size} bytes, a segment may have {config.segment_bytes} (segment.bytes)",
            )
        if self._local.segments[-1].should_roll(config, size, max_timestamp, last_offset, now_ms):
            return (self.roll(now_ms, first_offset),)
        return ()

    def _note_epochs(self, batches: Sequence[tuple[int, BatchHeader]]) -> tuple[tuple[int, int], ...]:
        """Takes the leader epochs of batches into the cache; returns those that were news."""
        epochs = self.leader_epoch_cache
        entries: tuple[tuple[int, int], ...] = ()
        for _, header in batches:
            epoch = header.partition_leader_epoch
            if epoch != epochs.latest_epoch:
                if header.magic < MAGIC_V2:
                    # What lies before and behind a message without an epoch can no longer be told apart by epochs.
                    epochs.clear()
                elif epoch >= 0 and epochs.assign(epoch, header.base_offset):
                    entries += ((epoch, header.base_offset),)
        return entries

    def _write(
        self,
        data: bytes,
        batches: Sequence[tuple[int, BatchHeader]],
        first_offset: int,
        max_timestamp: int,
        record_count: int,
        rolled: tuple[RollFact, ...],
        epoch_entries: tuple[tuple[int, int], ...],
    ) -> AppendInfo:
        """Writes batches that were found right to the end of the active segment."""
        segment = self._local.segments[-1]
        start = segment.size
        facts = []
        next_offset = first_offset
        for position, header in batches:
            last_offset = header.base_offset + header.last_offset_delta
            facts.append(
                BatchFact(
                    header.base_offset if header.magic >= MAGIC_V2 else next_offset,
                    last_offset,
                    header.partition_leader_epoch,
                    start + position,
                    header.length + LENGTH_OVERHEAD,
                    header.max_timestamp,
                    header.crc,
                )
            )
            next_offset = last_offset + 1
        entries = self._local.append(data, facts)
        segment.log.modified_ms = self._now_ms
        aborted, producers = self._note_producers(data, batches)
        self.producer_state.map_end_offset = next_offset
        return AppendInfo(
            first_offset,
            next_offset - 1,
            max_timestamp,
            record_count,
            len(data),
            segment.base_offset,
            start,
            tuple(facts),
            rolled,
            entries.offsets,
            entries.timestamps,
            epoch_entries,
            aborted,
            producers=producers,
        )

    def _check_batches(self, data: bytes, found: list[tuple[int, BatchHeader]]) -> None:
        expected = self._local.log_end_offset
        first_offset = found[0][1].base_offset
        if first_offset < expected:
            raise UnexpectedAppendOffsetException(
                f"{self.topic}-{self.partition} ends at offset {expected}, the append begins at {first_offset}",
                first_offset,
                expected,
            )
        limit = self._config.max_message_bytes
        for position, header in found:
            if header.base_offset < expected:
                raise KafkaException(
                    KafkaError.UNKNOWN_SERVER_ERROR,
                    f"offsets do not rise: a batch at {header.base_offset} follows one that ends at {expected - 1}",
                )
            if header.length + LENGTH_OVERHEAD > limit:
                raise KafkaException(
                    KafkaError.MESSAGE_TOO_LARGE, f"a batch has {header.size} bytes, max.message.bytes is {limit}"
                )
            try:
                ensure_valid(data, header, position)
            except CorruptRecord as error:
                raise KafkaException(KafkaError.CORRUPT_MESSAGE, str(error)) from error
            expected = header.base_offset + header.last_offset_delta + 1

    def _note_producers(
        self, data: bytes, batches: Sequence[tuple[int, BatchHeader]]
    ) -> tuple[tuple[AbortedTransaction, ...], tuple[ProducerFact, ...]]:
        """Takes what was appended into the producers' state; returns the new entries of the transaction index, and what
        was noted.

        Transactions end only when all batches of the append are noted (`UnifiedLog.append`).
        """
        producers = self.producer_state
        ended = []
        facts: list[ProducerFact] = []
        for position, header in batches:
            if header.producer_id != NO_PRODUCER_ID:
                completed = update_producers(producers, header, data, position)
                facts.append(producer_fact(header, data, position, completed))
                if completed is not None:
                    ended.append(completed)
        if not ended:
            return (), tuple(facts)
        index = self._local.segments[-1].transaction_index
        entries = [complete(producers, completed, index) for completed in ended]
        return tuple(entry for entry in entries if entry is not None), tuple(facts)

    def _validate_producer(self, header: BatchHeader, data: bytes, is_client: bool) -> AppendInfo | None:
        """Checks the sequence of a batch; answers a repeated one with the offsets of the first time."""
        if header.is_control:
            marker = read_end_transaction_marker(next(iterate_records(data, header)))
            if marker is not None:
                self.producer_state.validate_marker(header, marker[1])
            return None
        duplicate = self.producer_state.validate(header, is_client)
        if duplicate is None:
            return None
        return AppendInfo(
            duplicate.first_offset,
            duplicate.last_offset,
            duplicate.timestamp,
            header.record_count,
            0,
            self._local.segments[-1].base_offset,
            self._local.segments[-1].size,
            (),
            is_duplicate=True,
        )

    def _rebuild_producers(self, end_offset: int) -> tuple[CutFact, ...]:
        return rebuild_producer_state(
            self.producer_state,
            self._local.segments,
            self.log_start_offset,
            end_offset,
            self._now_ms,
            clean_shutdown=False,
        )
