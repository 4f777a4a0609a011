"""The log cleaner of a replayed golden case.

The steps do not record when the real one ran, but its batches do: a delete horizon is the time of the pass plus
delete.retention.ms.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from broker_core.config_defs.java_text import hash_map_order, partition_code
from broker_core.log import UnifiedLog
from broker_core.log.cleaner import OffsetMap, Uncleanable, clean, cleanable_offsets, log_to_clean
from broker_core.partitions import TopicPartition
from broker_core.records.record_batch import iterate_batches

Offsets = dict[TopicPartition, int]


def pass_time_ms(log: UnifiedLog, expected: Path, otherwise_ms: int) -> int:
    """When the pass ran that turned `log` into the partition folder `expected`, if it left a delete horizon."""
    before = _horizons(segment.log.read(0, segment.size) for segment in log.segments)
    after = _horizons(path.read_bytes() for path in sorted(expected.glob("*.log")))
    times = (horizon - log.config.delete_retention_ms for horizon in after - before)
    return min(times, default=otherwise_ms)


def run_cleaner(
    logs: Mapping[TopicPartition, UnifiedLog],
    offsets: dict[TopicPartition, int],
    times_ms: Mapping[TopicPartition, int],
) -> Iterator[int]:
    """Cleans the dirtiest log that is due, then the next, each at its time; `offsets` are the checkpoint's.

    Yields the time after each log, and once more at the end, when Kafka's cleaner applies retention.
    """
    at_ms = 0
    uncleanable = set()
    while True:
        due = []
        for key, log in logs.items():
            if key in uncleanable:
                continue
            stable = log.last_stable_offset(log.log_end_offset)
            found = cleanable_offsets(log, offsets.get(key), stable, times_ms[key])
            if found.is_reset:
                offsets[key] = found.first_dirty_offset
            cleanable = log_to_clean(log, found, times_ms[key])
            if cleanable.is_due:
                due.append((cleanable.dirty_ratio, key, cleanable))
        if not due:
            break
        _, key, cleanable = max(due, key=lambda row: row[0])
        at_ms = times_ms[key]
        try:
            offsets[key] = clean(cleanable, at_ms, OffsetMap()).to_offset
        except Uncleanable:
            # The real cleaner skips such a log until the broker restarts, and continues with the others.
            uncleanable.add(key)
            continue
        yield at_ms
    yield max(times_ms.values(), default=at_ms)


def in_java_order(keys: Iterable[TopicPartition]) -> list[TopicPartition]:
    """In the order of a broker's table of logs: of equally dirty logs the first is cleaned first."""
    names = {str(key): key for key in keys}
    return [names[name] for name in hash_map_order(list(names), code=partition_code)]


def _horizons(logs: Iterable[bytes]) -> set[int]:
    found = (header.delete_horizon_ms for data in logs for _, header in iterate_batches(data))
    return {horizon for horizon in found if horizon is not None}
