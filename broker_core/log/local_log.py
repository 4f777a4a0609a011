"""The segments of a log (`LocalLog`): append, roll, read, truncate, flush."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from broker_core.errors import Errors, KafkaException
from broker_core.log.config import LogConfig
from broker_core.log.files.deleted_files import DeletedFile
from broker_core.log.segment import LogSegment
from broker_core.log.swap_files import CLEANED_SUFFIX, SWAP_SUFFIX
from broker_core.sim.disk import CutFact, Disk
from broker_core.texts import text


class RollFact(NamedTuple):
    """A segment was closed for appends and a new one created."""

    new_base_offset: int
    old_base_offset: int
    old_size: int
    time_index_entries: tuple[tuple[int, int], ...]
    """(timestamp, offset): the final entry of the old segment's time index, if it was added by the roll."""


class LocalLog:
    """Segments in the order of base offsets; the last is the active one, and there always is one."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        config: LogConfig,
        segments: list[LogSegment],
        recovery_point: int,
        log_end_offset: int,
    ) -> None:
        self.disk = disk
        self.directory = directory
        self.config = config
        self.segments = segments
        self.recovery_point = recovery_point
        """All records below it have been fsynced."""
        self.log_end_offset = log_end_offset
        self.deleted_files: list[DeletedFile] = []
        """Files renamed to `.deleted` and not returned by `take_deleted_files` yet."""
        self._base_offsets = [segment.base_offset for segment in segments]

    @property
    def active_segment(self) -> LogSegment:
        """The segment that takes appends."""
        return self.segments[-1]

    def roll(self, new_base_offset: int, now_ms: int) -> RollFact:
        """Closes the active segment and creates another one at `new_base_offset`."""
        old = self.segments[-1]
        if old.base_offset == new_base_offset and old.size == 0:
            # The time index was full before anything was appended: the segment is recreated.
            self.remove_segments([old])
            entries: tuple[tuple[int, int], ...] = ()
        elif old.base_offset >= new_base_offset:
            # This happens after a clean shutdown if the newest segment holds no complete batch, or an older one is
            # damaged.
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR,
                text(
                    "refused.segment_exists",
                    partition=self.directory.rpartition("/")[2],
                    offset=new_base_offset,
                    end=self.log_end_offset,
                ),
            )
        else:
            entries = old.become_inactive()
        self._add_segment(new_base_offset, now_ms)
        return RollFact(new_base_offset, old.base_offset, old.size, entries)

    def segments_from(self, offset: int) -> list[LogSegment]:
        """The segment that holds `offset`, and all above it."""
        if offset >= self._base_offsets[-1]:
            return self.segments[-1:]
        slot = bisect_right(self._base_offsets, offset)
        return self.segments[max(slot - 1, 0) :]

    def locate(self, offset: int) -> tuple[LogSegment, int]:
        """(segment, position) of the first batch whose last offset is at or above `offset`; the log's end if there is
        none.
        """
        if offset < self.log_end_offset:
            for segment in self.segments_from(offset):
                position = segment.find(offset)
                if position is not None:
                    return segment, position
        return self.segments[-1], self.segments[-1].end

    def truncate_to(self, offset: int, now_ms: int) -> tuple[tuple[CutFact, ...], list[int]]:
        """Removes all from `offset` on; returns the cuts, and the base offsets of deleted segments."""
        deleted = [segment for segment in self.segments if segment.base_offset > offset]
        self.remove_segments(deleted)
        cuts = self.segments[-1].truncate_to(offset, now_ms)
        self._end_at(offset)
        return cuts, [segment.base_offset for segment in deleted]

    def truncate_fully_and_start_at(self, offset: int, now_ms: int) -> list[int]:
        """Removes everything; the log is one empty segment at `offset`. Returns the deleted base offsets."""
        deleted = list(self.segments)
        self.remove_segments(deleted)
        self._add_segment(offset, now_ms)
        self._end_at(offset)
        return [segment.base_offset for segment in deleted]

    def remove_segments(self, segments: Sequence[LogSegment]) -> None:
        """Takes segments out of the log and marks their files as deleted (`removeAndDeleteSegments`)."""
        for segment in segments:
            slot = bisect_left(self._base_offsets, segment.base_offset)
            del self.segments[slot], self._base_offsets[slot]
            self.deleted_files += segment.mark_deleted()

    def replace_segments(self, cleaned: LogSegment, replaced: Sequence[LogSegment]) -> None:
        """Replaces adjacent segments by a `.cleaned` segment, which is complete and on disk (`replaceSegments`).

        A crash at any step leaves files from which the next start restores a complete log: see `swap_files`.
        """
        cleaned.change_suffix(CLEANED_SUFFIX, SWAP_SUFFIX)
        slot = bisect_left(self._base_offsets, replaced[0].base_offset)
        self.segments[slot : slot + len(replaced)] = [cleaned]
        self._base_offsets[slot : slot + len(replaced)] = [cleaned.base_offset]
        for segment in replaced:
            self.deleted_files += segment.mark_deleted()
        cleaned.change_suffix(SWAP_SUFFIX, "")

    def flush(self, offset: int) -> None:
        """Fsyncs everything below `offset`, and advances the recovery point."""
        if offset < self.recovery_point:
            return
        # A roll also writes to the index of a segment all of whose batches were flushed before.
        for segment in self.segments_from(max(self.recovery_point - 1, 0)):
            if segment.base_offset < offset:
                segment.flush()
        self.recovery_point = offset

    def _add_segment(self, base_offset: int, now_ms: int) -> None:
        segment = LogSegment(self.disk, self.directory, base_offset, self.config, now_ms)
        segment.preallocate()
        self.segments.append(segment)
        self._base_offsets.append(base_offset)

    def _end_at(self, offset: int) -> None:
        self.log_end_offset = offset
        self.recovery_point = min(self.recovery_point, offset)
