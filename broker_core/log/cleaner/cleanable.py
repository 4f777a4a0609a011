"""Which log is worth cleaning, and which part of it (`LogCleanerManager`, `LogToClean`; KIP-58, KIP-354)."""

from typing import NamedTuple

from broker_core.log.segment import LogSegment
from broker_core.log.unified_log import UnifiedLog
from broker_core.records.record_batch import NO_TIMESTAMP


class OffsetsToClean(NamedTuple):
    """The dirty section of a log: from its first offset up to the first that may not be cleaned.

    `is_reset`: the checkpoint was outside of the log, so the first dirty offset must be checkpointed again.
    """

    first_dirty_offset: int
    first_uncleanable_offset: int
    is_reset: bool


class LogToClean(NamedTuple):
    """A log and how much of it can be cleaned. Bytes count whole segments."""

    log: UnifiedLog
    first_dirty_offset: int
    first_uncleanable_offset: int
    """The base offset of a segment: a segment that cannot be cleaned completely is not cleaned."""
    clean_bytes: int
    cleanable_bytes: int
    must_clean: bool
    """Whether a dirty record is older than max.compaction.lag.ms."""

    @property
    def total_bytes(self) -> int:
        """The bytes that were cleaned before plus those that can be cleaned now."""
        return self.clean_bytes + self.cleanable_bytes

    @property
    def dirty_ratio(self) -> float:
        """The share of the bytes that can be cleaned; 0 for an empty log."""
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def is_due(self) -> bool:
        """Whether the cleaner selects the log: dirtier than min.cleanable.dirty.ratio, or too old."""
        if self.must_clean and self.cleanable_bytes > 0:
            return True
        return self.dirty_ratio > self.log.config.min_cleanable_dirty_ratio


def cleanable_offsets(log: UnifiedLog, checkpoint: int | None, last_stable_offset: int, now_ms: int) -> OffsetsToClean:
    """The dirty section. `checkpoint` is the end of the last pass, None before the first.

    It ends at the active segment, at the last stable offset (which is never above the high watermark) and at the first
    segment that holds a record younger than min.compaction.lag.ms.
    """
    first_dirty = log.log_start_offset if checkpoint is None else checkpoint
    is_reset = not log.log_start_offset <= first_dirty <= log.log_end_offset
    if is_reset:
        first_dirty = log.log_start_offset
    limit = min(last_stable_offset, log.active_segment.base_offset)
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        for segment in _closed_segments_from(log, first_dirty):
            if segment.largest_timestamp > now_ms - lag_ms:
                limit = min(limit, segment.base_offset)
                break
    return OffsetsToClean(first_dirty, max(first_dirty, limit), is_reset)


def log_to_clean(log: UnifiedLog, offsets: OffsetsToClean, now_ms: int) -> LogToClean:
    """Measures the log."""
    first_dirty = offsets.first_dirty_offset
    closed = _closed_segments_from(log, offsets.first_uncleanable_offset)
    first_uncleanable = (closed[0] if closed else log.active_segment).base_offset
    clean_bytes = sum(segment.size for segment in log.segments if segment.base_offset < first_dirty)
    cleanable = segments_between(log, min(first_dirty, first_uncleanable), first_uncleanable)
    return LogToClean(
        log,
        first_dirty,
        first_uncleanable,
        clean_bytes,
        sum(segment.size for segment in cleanable),
        _exceeds_max_lag(log, first_dirty, now_ms),
    )


def segments_between(log: UnifiedLog, start: int, end: int) -> list[LogSegment]:
    """The segments from the one that holds `start` up to the last that begins below `end` (`LogSegments.values`)."""
    if start == end:
        return []
    below = [segment for segment in log.segments if segment.base_offset < end]
    floor = max((segment.base_offset for segment in below if segment.base_offset <= start), default=start)
    return [segment for segment in below if segment.base_offset >= floor] if floor <= start else below


def _closed_segments_from(log: UnifiedLog, offset: int) -> list[LogSegment]:
    """The segments from the one that holds `offset`, without the active one (`nonActiveLogSegmentsFrom`)."""
    active = log.active_segment.base_offset
    return [] if offset > active else segments_between(log, offset, active)


def _exceeds_max_lag(log: UnifiedLog, first_dirty: int, now_ms: int) -> bool:
    """Whether the first batch of a dirty segment is older than max.compaction.lag.ms (`maxCompactionDelay`)."""
    until_ms = now_ms - log.config.max_compaction_lag_ms
    return any(0 < _first_batch_timestamp(segment) < until_ms for segment in _closed_segments_from(log, first_dirty))


def _first_batch_timestamp(segment: LogSegment) -> int:
    _, header = next(segment.headers(), (0, None))
    return NO_TIMESTAMP if header is None else header.max_timestamp
