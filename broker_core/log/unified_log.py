"""The log of one replica: append, read, truncate, flush (`UnifiedLog`).

It is pure storage and emits no events; each call returns the facts for the caller's events. Times are arguments.
"""

from collections.abc import Sequence

from broker_core.log.appendable_log import AppendableLog
from broker_core.log.config import LogConfig
from broker_core.log.files.checkpoints import LeaderEpochCheckpoint
from broker_core.log.files.deleted_files import DeletedFile
from broker_core.log.files.partition_metadata import ensure_topic_id
from broker_core.log.leader_epoch_cache import LeaderEpochCache
from broker_core.log.local_log import RollFact
from broker_core.log.producers.producer_recovery import rebuild_producer_state
from broker_core.log.recovery.log_loader import LogPlace, load_log
from broker_core.log.recovery.slices import Slices, Work, at_once
from broker_core.log.segment import LogSegment
from broker_core.log.segment_facts import SEGMENT_SUFFIXES, segment_path
from broker_core.log.swap_files import CLEANED_SUFFIX
from broker_core.records.record_batch import MAGIC_V2
from broker_core.sim.disk import CutFact, Disk


class UnifiedLog(AppendableLog):
    """One replica's log. Open it with `UnifiedLog.load`."""

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

        `clean_shutdown` says that it was closed cleanly; otherwise everything from `recovery_point` on is checked and a
        torn end is truncated. Both offsets are from the log directory's checkpoints. Raises INCONSISTENT_TOPIC_ID when
        the directory belongs to another topic of the same name, KAFKA_STORAGE_ERROR for files that cannot be read.
        """
        return at_once(
            UnifiedLog.load_in_slices(
                disk,
                directory,
                topic,
                partition,
                config,
                Work(),
                now_ms=now_ms,
                clean_shutdown=clean_shutdown,
                recovery_point=recovery_point,
                log_start_offset=log_start_offset,
                topic_id=topic_id,
            )
        )

    @staticmethod
    def load_in_slices(
        disk: Disk,
        directory: str,
        topic: str,
        partition: int,
        config: LogConfig,
        work: Work,
        *,
        now_ms: int,
        clean_shutdown: bool,
        recovery_point: int,
        log_start_offset: int,
        topic_id: str | None,
    ) -> Slices["UnifiedLog"]:
        """As `load`. What it does counts as `work`, and it pauses when a slice is full."""
        disk.makedirs(directory)
        place = LogPlace(disk, directory, config, now_ms)
        topic_id = ensure_topic_id(disk, directory, topic_id)
        epochs = LeaderEpochCache(
            LeaderEpochCheckpoint(disk, directory),
            is_kept=config.magic >= MAGIC_V2,
            only_rises=config.behaviour.ignores_lower_epochs,
        )
        loaded = yield from load_log(
            place,
            epochs,
            work,
            clean_shutdown=clean_shutdown,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
        )
        return UnifiedLog(topic, partition, place, topic_id, epochs, loaded)

    def assign_topic_id(self, topic_id: str) -> None:
        """Writes the topic id of a log without one: from before topic ids, or with a lost partition.metadata."""
        self.topic_id = ensure_topic_id(self._local.disk, self._local.directory, topic_id)

    def truncate_to(self, offset: int) -> tuple[CutFact, ...]:
        """Removes the batches at or above `offset`; returns the bytes cut from each file.

        Only epoch entries are removed if `offset` is not below the log's end.
        """
        if offset >= self._local.log_end_offset:
            # An epoch may have started without an append.
            self.leader_epoch_cache.truncate_from_end(self._local.log_end_offset)
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
        """Sets the log start offset if `offset` is above the current one; returns whether it was.

        Raises OFFSET_OUT_OF_RANGE above the log's end.
        """
        if offset > self._local.log_end_offset:
            raise self._out_of_range(offset)
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        # Records below the log start offset need no recovery.
        self._local.recovery_point = max(self._local.recovery_point, offset)
        self.leader_epoch_cache.truncate_from_start(offset)
        self.producer_state.log_start_moved(offset)
        return True

    def delete_segments(self, segments: Sequence[LogSegment], now_ms: int) -> RollFact | None:
        """Deletes the oldest segments of the log, which then starts at the next one (`UnifiedLog.deleteSegments`).

        A log has at least one segment: if all are to be deleted it rolls first; the roll is returned.
        """
        rolled = self.roll(now_ms) if len(segments) == len(self._local.segments) else None
        self.increment_log_start_offset(self._local.segments[len(segments)].base_offset)
        self._local.remove_segments(segments)
        self._mark_snapshots_deleted([segment.base_offset for segment in segments])
        return rolled

    def new_cleaned_segment(self, base_offset: int, now_ms: int) -> LogSegment:
        """An empty segment with names ending in `.cleaned`; deletes the files of an earlier attempt first."""
        disk, directory = self._local.disk, self._local.directory
        for suffix in SEGMENT_SUFFIXES:
            disk.delete(segment_path(directory, base_offset, suffix + CLEANED_SUFFIX))
        return LogSegment(disk, directory, base_offset, self._config, now_ms, CLEANED_SUFFIX)

    def archive_piece(self, path: str, position: int, length: int) -> CutFact:
        """Archives a piece of a file of a segment that will be replaced."""
        return self._local.disk.archive_piece(path, position, length)

    def replace_segments(self, cleaned: LogSegment, replaced: Sequence[LogSegment]) -> None:
        """Replaces adjacent segments by a cleaned one with the base offset of the first."""
        self._local.replace_segments(cleaned, replaced)
        self._mark_snapshots_deleted([segment.base_offset for segment in replaced[1:]])

    def take_deleted_files(self) -> tuple[DeletedFile, ...]:
        """Returns and clears the files renamed to `.deleted`; the caller has to unlink them."""
        files = tuple(self._local.deleted_files)
        self._local.deleted_files.clear()
        return files

    @property
    def is_flush_due(self) -> bool:
        """Whether flush.messages records were appended since the last flush."""
        return self._local.log_end_offset - self._local.recovery_point >= self._config.flush_messages

    def flush(self, up_to: int | None = None) -> int:
        """Fsyncs everything below `up_to` (default: the log's end); returns the recovery point."""
        before = self._local.recovery_point
        self._local.flush(self._local.log_end_offset if up_to is None else up_to)
        if self._local.recovery_point > before:
            self.last_flushed_ms = self._now_ms
        return self._local.recovery_point

    def segments_flushed_since(self, recovery_point: int) -> list[LogSegment]:
        """The segments fsynced by a flush that began at this recovery point."""
        return [
            segment
            for segment in self._local.segments_from(max(recovery_point - 1, 0))
            if segment.base_offset < self._local.recovery_point
        ]

    def flush_if_old(self, now_ms: int) -> bool:
        """Flushes if the last flush was flush.ms or longer ago; returns whether there was something to flush."""
        if now_ms - self.last_flushed_ms < self._config.flush_ms:
            return False
        self._now_ms = now_ms
        before = self._local.recovery_point
        return self.flush() > before

    def close(self, clean: bool = True) -> None:
        """Closes the log. A clean close flushes, trims the indexes and snapshots the producer state.

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

    def tail_batches(self, count: int) -> tuple[tuple[int, ...], ...]:
        """The last `count` batches, oldest first: (base offset, last offset, leader epoch, segment, position, size,
        CRC).
        """
        found: list[tuple[int, ...]] = []
        end_offset = self._local.log_end_offset
        for segment in reversed(self._local.segments):
            found[:0] = [
                (
                    header.base_offset,
                    header.last_offset,
                    header.partition_leader_epoch,
                    segment.base_offset,
                    at,
                    header.size,
                    header.crc,
                )
                for at, header in segment.last_headers(count - len(found), end_offset)
            ]
            if len(found) >= count:
                break
            end_offset = segment.base_offset
        return tuple(found)

    def move_to(self, folder: str, *, closes: bool = False) -> tuple[tuple[str, int], ...]:
        """Renames the directory of a log that is no longer used; returns (name, size) of the files in it.

        The indexes of the newest segment stay preallocated, unless the log `closes` first.
        """
        if closes:
            for segment in self._local.segments:
                segment.close()
        self._local.disk.rename(self._local.directory, folder)
        self._local.directory = folder
        return tuple(self.describe_files())

    def _mark_snapshots_deleted(self, base_offsets: Sequence[int]) -> None:
        for base_offset in base_offsets:
            self._local.deleted_files += self.producer_state.mark_snapshot_deleted(base_offset)

    def _rebuild_producers(self, end_offset: int) -> tuple[CutFact, ...]:
        return rebuild_producer_state(
            self.producer_state,
            self._local.segments,
            self.log_start_offset,
            end_offset,
            self._now_ms,
        )
