"""Retention: which old segments a log deletes (`UnifiedLog.deleteOldSegments`; KIP-107 for the log's start).

There are three rules, in Kafka's order: segments below the log start offset, segments beyond retention.bytes, segments
older than retention.ms. Each deletes whole segments from the oldest on and stops at the first that it does not match.
None deletes records above the high watermark.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from broker_core.config_defs import INT_MAX
from broker_core.log.local_log import RollFact
from broker_core.log.segment import LogSegment
from broker_core.log.unified_log import UnifiedLog

Breaks = Callable[[LogSegment, LogSegment | None], bool]
"""Whether a rule deletes a segment; the second argument is the next segment."""


class Deletion(NamedTuple):
    """Segments deleted by one rule. `why` is Kafka's log message.

    `rolled`: the new segment, if all segments were to be deleted and the log had to roll first.
    """

    segments: tuple[int, ...]
    why: str
    rolled: RollFact | None


def delete_old_segments(log: UnifiedLog, high_watermark: int, now_ms: int, limit: int = INT_MAX) -> Iterator[Deletion]:
    """Deletes up to `limit` segments by the log's cleanup policy; yields after each rule that deleted some.

    A log that is only compacted ignores age and size, but still deletes below its start offset.
    """
    rules = [_log_start_breach]
    if "delete" in log.config.cleanup_policy:
        rules += [_size_breach, _time_breach]
    for rule in rules:
        breaks, describe = rule(log, now_ms)
        segments = deletable_segments(log, breaks, high_watermark, limit)
        if segments:
            limit -= len(segments)
            why = describe(segments)
            yield Deletion(
                tuple(segment.base_offset for segment in segments), why, log.delete_segments(segments, now_ms)
            )


def deletable_segments(log: UnifiedLog, breaks: Breaks, high_watermark: int, limit: int) -> list[LogSegment]:
    """The oldest segments for which `breaks` holds, up to the first one that does not match, is not replicated yet, or
    is the last one and empty; not more than `limit`.
    """
    segments = log.segments
    found: list[LogSegment] = []
    for position, segment in enumerate(segments[:limit]):
        following = segments[position + 1] if position + 1 < len(segments) else None
        end_offset = log.log_end_offset if following is None else following.base_offset
        if high_watermark < end_offset or not breaks(segment, following):
            break
        if following is None and segment.size == 0:
            break
        found.append(segment)
    return found


Rule = tuple[Breaks, Callable[[list[LogSegment]], str]]


def _log_start_breach(log: UnifiedLog, now_ms: int) -> Rule:
    start = log.log_start_offset

    def breaks(segment: LogSegment, following: LogSegment | None) -> bool:
        return following is not None and following.base_offset <= start

    return breaks, lambda segments: f"reason.retention_start?offset={start}"


def _size_breach(log: UnifiedLog, now_ms: int) -> Rule:
    limit = log.config.retention_bytes
    size = log.size_bytes
    excess = size - limit if limit >= 0 else 0

    def breaks(segment: LogSegment, following: LogSegment | None) -> bool:
        # The log keeps at least retention.bytes: a segment is deleted only if all of it is beyond them.
        nonlocal excess
        if limit < 0 or size < limit or excess < segment.size:
            return False
        excess -= segment.size
        return True

    def describe(segments: list[LogSegment]) -> str:
        left = size - sum(segment.size for segment in segments)
        return f"reason.retention_size?left={left}&limit={limit}"

    return breaks, describe


def _time_breach(log: UnifiedLog, now_ms: int) -> Rule:
    limit = log.config.retention_ms

    def breaks(segment: LogSegment, following: LogSegment | None) -> bool:
        if limit < 0:
            return False
        # Reading the timestamp opens the time index: an empty segment gets its file here.
        segment.time_index.use()
        return now_ms - segment.largest_timestamp > limit

    def describe(segments: list[LogSegment]) -> str:
        has_timestamps = any(segment.max_timestamp >= 0 for segment in segments)
        if has_timestamps:
            return f"reason.retention_time_of_records?limit={limit}"
        return f"reason.retention_time_of_file?limit={limit}"

    return breaks, describe
