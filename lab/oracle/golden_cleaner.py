"""The log cleaner of a replayed golden case.

When the real one ran is not among the steps, but the batches that it wrote tell: a delete horizon is the clock at the
pass plus delete.retention.ms.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from broker_core.log import UnifiedLog
from broker_core.log.cleaner import OffsetMap, Uncleanable, clean, cleanable_offsets, log_to_clean
from broker_core.records.record_batch import iterate_batches


def pass_times_ms(log: UnifiedLog, expected: Path, otherwise_ms: int) -> list[int]:
    """When the passes were that led from `log` to the partition folder `expected`, as far as they left horizons."""
    before = _horizons(segment.log.read(0, segment.size) for segment in log.segments)
    after = _horizons(path.read_bytes() for path in sorted(expected.glob("*.log")))
    times = sorted(horizon - log.config.delete_retention_ms for horizon in after - before)
    return times or [otherwise_ms]


def run_cleaner(log: UnifiedLog, checkpoint: int | None, times_ms: Sequence[int]) -> int | None:
    """Cleans the log at each of these times if it is due then; returns the new checkpoint."""
    for now_ms in times_ms:
        offsets = cleanable_offsets(log, checkpoint, log.last_stable_offset(log.log_end_offset), now_ms)
        if offsets.is_reset:
            checkpoint = offsets.first_dirty_offset
        cleanable = log_to_clean(log, offsets, now_ms)
        if cleanable.is_due:
            try:
                checkpoint = clean(cleanable, now_ms, OffsetMap()).to_offset
            except Uncleanable:
                break
    return checkpoint


def _horizons(logs: Iterable[bytes]) -> set[int]:
    found = (header.delete_horizon_ms for data in logs for _, header in iterate_batches(data))
    return {horizon for horizon in found if horizon is not None}
