"""What a log gives up: by its start, by size, by time; and that it keeps what is not replicated yet."""

from typing import Any

import pytest

from broker_core.errors import Errors, KafkaException
from broker_core.log import LogConfig, UnifiedLog
from broker_core.log.retention import Deletion, delete_old_segments
from broker_core.records.record_batch import build_batch
from broker_core.sim.disk import Disk, RealDisk, SimulatedDisk
from broker_core.texts import render

DIRECTORY = "broker-1/orders-0"
NOW_MS = 1_760_000_000_000
HOUR_MS = 3_600_000
BATCH = build_batch([(NOW_MS, b"key", b"v" * 40, ())])
SEGMENT_BYTES = 2 * len(BATCH)


@pytest.fixture(params=["simulated", "real"])
def disk(request, tmp_path) -> Disk:
    return SimulatedDisk() if request.param == "simulated" else RealDisk(tmp_path)


def open_log(disk: Disk, clean: bool = True, log_start_offset: int = 0, **settings: Any) -> UnifiedLog:
    config = LogConfig(**{"segment_bytes": SEGMENT_BYTES, "retention_ms": -1, **settings})
    return UnifiedLog.load(
        disk,
        DIRECTORY,
        "orders",
        0,
        config,
        now_ms=NOW_MS,
        clean_shutdown=clean,
        log_start_offset=log_start_offset,
    )


def append(log: UnifiedLog, *timestamps: int, now_ms: int = NOW_MS, epoch: int = 0) -> None:
    """A batch of one record for each; two fill a segment."""
    for timestamp in timestamps:
        log.append_as_leader(build_batch([(timestamp, b"key", b"v" * 40, ())]), epoch, now_ms)


def clean(log: UnifiedLog, high_watermark: int | None = None, now_ms: int = NOW_MS) -> list[Deletion]:
    return list(delete_old_segments(log, log.log_end_offset if high_watermark is None else high_watermark, now_ms))


def bases(log: UnifiedLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_size_retention_never_leaves_less_than_retention_bytes(disk: Disk) -> None:
    log = open_log(disk, retention_bytes=3 * SEGMENT_BYTES)
    append(log, *[NOW_MS] * 9)
    assert bases(log) == [0, 2, 4, 6, 8]
    # 4.5 segments: one is completely beyond the three, the next only with half of it
    (deletion,) = clean(log)
    assert deletion.segments == (0,)
    assert render(deletion.why) == (
        f"log retention size {3 * SEGMENT_BYTES} breach, log size after deletion will be {7 * len(BATCH)}"
    )
    assert (bases(log), log.log_start_offset, log.size_bytes) == ([2, 4, 6, 8], 2, 7 * len(BATCH))
    assert clean(log) == []


def test_segment_is_deleted_when_its_newest_record_exceeds_retention_ms(disk: Disk) -> None:
    log = open_log(disk, retention_ms=HOUR_MS)
    append(log, NOW_MS - 5 * HOUR_MS, NOW_MS - HOUR_MS, NOW_MS - 9 * HOUR_MS, NOW_MS - 8 * HOUR_MS)
    # exactly an hour old is not older, and later segments wait
    assert clean(log) == []
    (deletion,) = clean(log, now_ms=NOW_MS + 1)
    # everything is old: the log continues in a new segment
    assert deletion.segments == (0, 2) and deletion.rolled is not None
    assert render(deletion.why) == (
        f"log retention time {HOUR_MS}ms breach based on the largest record timestamp in the segment"
    )
    assert (bases(log), log.log_start_offset, log.log_end_offset, log.size_bytes) == ([4], 4, 4, 0)
    append(log, NOW_MS)
    assert log.log_end_offset == 5


def test_one_record_from_the_future_keeps_its_segment_and_all_after_it() -> None:
    log = open_log(SimulatedDisk(), retention_ms=HOUR_MS)
    append(log, NOW_MS - 9 * HOUR_MS, NOW_MS - 9 * HOUR_MS, NOW_MS + 99 * HOUR_MS, *[NOW_MS - 9 * HOUR_MS] * 3)
    assert [deletion.segments for deletion in clean(log)] == [(0,)]
    assert bases(log) == [2, 4]


def test_retention_without_timestamps_uses_the_file_modification_time(disk: Disk) -> None:
    log = open_log(disk, retention_ms=HOUR_MS)
    append(log, -1, -1, now_ms=NOW_MS - 2 * HOUR_MS)
    append(log, -1, -1, now_ms=NOW_MS)
    (deletion,) = clean(log)
    assert deletion.segments == (0,)
    assert render(deletion.why).endswith("based on the last modified time of the segment")
    log.close()
    assert clean(open_log(disk, retention_ms=HOUR_MS)) == []


def test_retention_keeps_segments_above_the_high_watermark() -> None:
    log = open_log(SimulatedDisk(), retention_bytes=0)
    append(log, *[NOW_MS] * 6)
    assert clean(log, high_watermark=3)[0].segments == (0,)
    assert bases(log) == [2, 4]
    assert clean(log, high_watermark=5)[0].segments == (2,)
    # the last one goes, too, once all of it is committed
    assert clean(log, high_watermark=6)[0].segments == (4,)
    assert (bases(log), log.log_start_offset) == ([6], 6)
    # an empty last segment is nothing to delete
    assert clean(log) == []


def test_segments_below_the_log_start_are_deleted_under_any_policy() -> None:
    for policy in ("delete", "compact", "compact,delete"):
        log = open_log(SimulatedDisk(), cleanup_policy=policy, retention_bytes=-1)
        append(log, *[NOW_MS] * 7)
        log.increment_log_start_offset(5)
        assert bases(log) == [0, 2, 4, 6]
        (deletion,) = clean(log)
        assert (deletion.segments, render(deletion.why)) == ((0, 2), "log start offset 5 breach")
        # the offset in the middle of a segment stays the start
        assert (bases(log), log.log_start_offset) == ([4, 6], 5)


def test_compacted_log_ignores_retention() -> None:
    log = open_log(SimulatedDisk(), cleanup_policy="compact", retention_bytes=0, retention_ms=0)
    append(log, *[NOW_MS - HOUR_MS] * 4)
    assert clean(log) == []


def test_retention_rules_are_applied_in_order() -> None:
    log = open_log(SimulatedDisk(), retention_bytes=2 * SEGMENT_BYTES, retention_ms=HOUR_MS)
    append(log, *[NOW_MS - 2 * HOUR_MS] * 6, *[NOW_MS] * 4)
    log.increment_log_start_offset(2)
    assert [deletion.segments for deletion in clean(log)] == [(0,), (2, 4)]
    log = open_log(SimulatedDisk(), retention_bytes=4 * SEGMENT_BYTES, retention_ms=HOUR_MS)
    append(log, *[NOW_MS - 2 * HOUR_MS] * 6, *[NOW_MS] * 4)
    log.increment_log_start_offset(2)
    assert [render(deletion.why).split(" breach")[0] for deletion in clean(log)] == [
        "log start offset 2",
        f"log retention time {HOUR_MS}ms",
    ]


def test_files_are_renamed_first_and_a_restart_removes_them(disk: Disk) -> None:
    log = open_log(disk, retention_bytes=0)
    log.append_as_leader(
        build_batch([(NOW_MS, b"k", b"v", ())], producer_id=7, producer_epoch=0, base_sequence=0), 0, 0
    )
    append(log, *[NOW_MS] * 4, epoch=3)
    data = disk.read_file(f"{DIRECTORY}/{0:020d}.log")
    (deletion,) = clean(log, high_watermark=4)
    names = [file.path.rpartition("/")[2] for file in log.take_deleted_files()]
    expected = {f"{base:020d}.{suffix}" for base in deletion.segments for suffix in ("log", "index", "timeindex")}
    # the first segment of a log has no snapshot of producers at its beginning
    expected |= {f"{base:020d}.snapshot" for base in deletion.segments if base}
    assert sorted(names) == sorted(expected)
    stem = f"{DIRECTORY}/{0:020d}"
    assert disk.read_file(f"{stem}.log.deleted") == data
    assert not disk.exists(f"{stem}.log")
    assert log.leader_epoch_cache.entries == ((3, log.log_start_offset),)
    log.close()
    again = open_log(disk)
    assert again.log_start_offset == log.log_start_offset
    assert not [name for name, _ in again.describe_files() if name.endswith(".deleted")]


def test_deleted_file_of_the_same_name_is_replaced() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    for _ in range(2):
        append(log, *[NOW_MS] * 3)
        log.truncate_to(log.segments[0].base_offset)
        log.truncate_fully_and_start_at(0)
    files = [file for file in log.take_deleted_files() if file.path.endswith(f"{2:020d}.log")]
    assert [file.replaced is not None for file in files] == [False, True]


def test_log_start_only_rises_and_raises_the_recovery_point() -> None:
    log = open_log(SimulatedDisk())
    append(log, *[NOW_MS] * 5)
    assert log.recovery_point == 0
    assert log.increment_log_start_offset(3)
    assert (log.log_start_offset, log.recovery_point) == (3, 3)
    assert not log.increment_log_start_offset(2)
    with pytest.raises(KafkaException) as refused:
        log.increment_log_start_offset(6)
    assert refused.value.error is Errors.OFFSET_OUT_OF_RANGE
    with pytest.raises(KafkaException):
        log.read(2, 100)


def test_preallocated_segment_has_its_full_size_until_it_is_closed_for_appends(disk: Disk) -> None:
    log = open_log(disk, preallocate=True, segment_bytes=1000)
    append(log, NOW_MS)
    path = f"{DIRECTORY}/{0:020d}.log"
    assert disk.size_of(path) == 1000
    log.roll(NOW_MS)
    assert disk.size_of(path) == len(BATCH)
    assert disk.size_of(f"{DIRECTORY}/{1:020d}.log") == 1000
    # only what is new is preallocated: not what is opened again, nor what was cut
    log.close()
    log = open_log(disk, preallocate=True, segment_bytes=1000)
    append(log, NOW_MS, NOW_MS)
    assert disk.size_of(f"{DIRECTORY}/{1:020d}.log") == 2 * len(BATCH)


def test_limit_of_deleted_segments_holds_for_all_rules_together() -> None:
    log = open_log(SimulatedDisk(), retention_bytes=SEGMENT_BYTES, retention_ms=1000)
    append(log, *[NOW_MS - 5000] * 10)
    assert bases(log) == [0, 2, 4, 6, 8]
    log.increment_log_start_offset(2)
    deletions = list(delete_old_segments(log, log.log_end_offset, NOW_MS, 3))
    assert [deletion.segments for deletion in deletions] == [(0,), (2, 4)]
    assert bases(log) == [6, 8]
    rest = list(delete_old_segments(log, log.log_end_offset, NOW_MS, 3))
    assert [segment for deletion in rest for segment in deletion.segments] == [6, 8]
    assert bases(log) == [10]


def test_flush_messages_determines_when_a_flush_is_due() -> None:
    log = open_log(SimulatedDisk(), flush_messages=3)
    append(log, NOW_MS, NOW_MS)
    assert not log.is_flush_due
    append(log, NOW_MS)
    assert log.is_flush_due
    log.flush()
    assert not log.is_flush_due and log.recovery_point == 3


def test_flush_ms_counts_from_the_last_flush() -> None:
    log = open_log(SimulatedDisk(), flush_ms=1000)
    append(log, NOW_MS)
    assert not log.flush_if_old(NOW_MS + 999)
    assert log.flush_if_old(NOW_MS + 1000) and log.recovery_point == 1
    # nothing new to flush
    assert not log.flush_if_old(NOW_MS + 9000)
    append(log, NOW_MS, now_ms=NOW_MS + 9001)
    assert log.flush_if_old(NOW_MS + 9001)
