"""I-INDEX and I-CKPT: the indexes and checkpoints of a log."""

from bisect import bisect_left

from broker_core.events import log
from broker_core.partitions import replica_name
from broker_core.sim.invariants.checker import Checker, watches
from broker_core.sim.invariants.shadow import KEPT_INDEX_ENTRIES, SegmentIndex, ShadowLog, ShadowReplica

_NOT_RISING = "violation.file_not_rising"
_NO_BATCH = "violation.file_no_batch"
_TIME_FALLS = "violation.file_time_falls"
_TOO_OLD = "violation.file_too_old"
_ENTRIES_LEFT = "violation.file_entries_left"
_CHECKPOINT_WATERMARK = "violation.file_checkpoint_watermark"
_CHECKPOINT_END = "violation.file_checkpoint_end"
_FLUSHED_BEYOND = "violation.file_flushed_beyond"


def _position_of(shadow_log: ShadowLog, segment: int, offset: int, is_last: bool) -> int | None:
    """The position of the batch with this offset, or if it `is_last` ending with it; None if the segment has none."""
    index = bisect_left(shadow_log.lasts, offset)
    if index == len(shadow_log.lasts) or (is_last and shadow_log.lasts[index] != offset):
        return None
    batch = shadow_log.batches[index]
    return batch.position if batch.segment == segment else None


def _begins_at(shadow_log: ShadowLog, segment: int, position: int) -> bool:
    """Whether a known batch of the segment begins at a byte."""
    batches = shadow_log.batches
    index = bisect_left(batches, (segment, position), key=lambda batch: (batch.segment, batch.position))
    if index == 0:
        return True
    return index < len(batches) and (batches[index].segment, batches[index].position) == (segment, position)


def _entries_of(shadow: ShadowReplica, segment: int) -> SegmentIndex:
    entries = shadow.indexes.get(segment)
    if entries is None:
        entries = shadow.indexes[segment] = SegmentIndex()
    return entries


@watches(log.OffsetIndexEntryAdded, only_for=("I-INDEX",))
def index_entry(checker: Checker, event: log.OffsetIndexEntryAdded) -> None:
    shadow = checker.replicas[event.replica]
    segment, offset, position = event.segment, event.offset, event.position
    entries = _entries_of(shadow, segment)
    if entries.offsets and not (offset > entries.offsets[-1] and position > entries.positions[-1]):
        checker.violated(
            "I-INDEX",
            event.replica,
            _NOT_RISING,
            segment=segment,
            offset=offset,
            position=position,
            before=entries.offsets[-1],
            before_position=entries.positions[-1],
        )
    is_last = checker.era.log.index_rule != "append start"
    begins = _position_of(shadow.log, segment, offset, is_last)
    if begins is None or begins < position or (begins != position and not _begins_at(shadow.log, segment, position)):
        checker.violated("I-INDEX", event.replica, _NO_BATCH, segment=segment, offset=offset, position=position)
    entries.offsets.append(offset)
    entries.positions.append(position)
    if len(entries.offsets) > 2 * KEPT_INDEX_ENTRIES:
        del entries.offsets[:KEPT_INDEX_ENTRIES], entries.positions[:KEPT_INDEX_ENTRIES]
        entries.is_complete = False


@watches(log.TimeIndexEntryAdded, only_for=("I-INDEX",))
def time_index_entry(checker: Checker, event: log.TimeIndexEntryAdded) -> None:
    shadow = checker.replicas[event.replica]
    segment, timestamp, offset = event.segment, event.timestamp, event.offset
    entries = _entries_of(shadow, segment)
    if timestamp < entries.last_timestamp or offset < entries.last_timestamp_offset:
        checker.violated(
            "I-INDEX",
            event.replica,
            _TIME_FALLS,
            segment=segment,
            timestamp=timestamp,
            offset=offset,
            before=entries.last_timestamp,
            before_offset=entries.last_timestamp_offset,
        )
    shadow_log = shadow.log
    index = bisect_left(shadow_log.lasts, offset + 1) - 1
    if index >= 0:
        batch = shadow_log.batches[index]
        if batch.segment == segment and batch.max_timestamp > timestamp and not entries.is_max_timestamp_unknown:
            checker.violated(
                "I-INDEX",
                event.replica,
                _TOO_OLD,
                segment=segment,
                timestamp=timestamp,
                offset=offset,
                newest=batch.max_timestamp,
            )
    entries.last_timestamp, entries.last_timestamp_offset = timestamp, offset


@watches(log.LogTruncated, only_for=("I-INDEX",))
def indexes_truncated(checker: Checker, event: log.LogTruncated) -> None:
    """Truncates the shadow of the index of the truncated segment."""
    shadow = checker.replicas[event.replica]
    segment, size, count, timestamps = event.segments[-1]
    entries = shadow.indexes.get(segment)
    # A segment that is truncated before its newest timestamp was read may not have one.
    is_asked_late = not checker.era.log.reads_max_timestamp_on_open and (entries is None or entries.last_timestamp < 0)
    is_forgotten = is_asked_late and size > 0 and not timestamps
    if entries is None or event.to_offset > event.from_offset:
        shadow.indexes = {segment: SegmentIndex(is_complete=not count, is_max_timestamp_unknown=is_forgotten)}
        return
    kept = bisect_left(entries.offsets, event.to_offset)
    if entries.is_complete and count != kept:
        checker.violated(
            "I-INDEX",
            event.replica,
            _ENTRIES_LEFT,
            segment=segment,
            to_offset=event.to_offset,
            count=count,
            expected=kept,
        )
    del entries.offsets[kept:], entries.positions[kept:]
    entries.last_timestamp = entries.last_timestamp_offset = -1
    entries.is_max_timestamp_unknown = is_forgotten
    shadow.indexes = {segment: entries}


@watches(log.CheckpointWritten, only_for=("I-CKPT",))
def checkpoint_written(checker: Checker, event: log.CheckpointWritten) -> None:
    """I-CKPT: a checkpoint's offsets are correct."""
    is_watermark = event.file == "replication-offset-checkpoint"
    for name, offset in event.entries:
        shadow = checker.replicas.get(replica_name(name, event.broker))
        if shadow is None:
            continue
        limit = shadow.high_watermark if is_watermark else shadow.log.end
        if offset > limit:
            checker.violated(
                "I-CKPT",
                shadow.key,
                _CHECKPOINT_WATERMARK if is_watermark else _CHECKPOINT_END,
                file=event.file,
                offset=offset,
                limit=limit,
            )


@watches(log.LogFlushed, only_for=("I-CKPT",))
def flushed(checker: Checker, event: log.LogFlushed) -> None:
    """I-CKPT: the recovery point, which a checkpoint will store, is in the log."""
    shadow = checker.replicas[event.replica]
    # A roll may leave a gap without records below the new segment.
    end = max(shadow.log.end, shadow.log.segment)
    if event.offset > end:
        checker.violated("I-CKPT", event.replica, _FLUSHED_BEYOND, offset=event.offset, end=end)
