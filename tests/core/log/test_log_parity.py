"""Small rules of Kafka's log that show in the files alone; Kafka's own classes did the same with the same calls."""

import struct
from typing import Any

import pytest

from broker_core.errors import Errors, KafkaException
from broker_core.log import LogConfig, UnifiedLog
from broker_core.log.cleaner import OffsetMap, Uncleanable, clean, cleanable_offsets, log_to_clean
from broker_core.records.control_record import ControlRecordType, build_end_transaction_marker
from broker_core.records.record_batch import build_batch
from broker_core.sim.disk import SimulatedDisk

DIRECTORY = "broker-1/orders-0"
NOW_MS = 1_795_300_000_000
FIRST = "00000000000000000000"


def open_log(
    disk: SimulatedDisk, *, clean: bool = True, recovery_point: int = 0, start: int = 0, **settings: Any
) -> UnifiedLog:
    return UnifiedLog.load(
        disk,
        DIRECTORY,
        "orders",
        0,
        LogConfig(**settings),
        now_ms=NOW_MS,
        clean_shutdown=clean,
        recovery_point=recovery_point,
        log_start_offset=start,
    )


def put(log: UnifiedLog, *keys: str, timestamp: int = NOW_MS, **batch: Any) -> None:
    records = [(timestamp, key.encode(), b"v" * 20, ()) for key in keys]
    log.append_as_leader(build_batch(records, **batch), 0, NOW_MS)


def abort(log: UnifiedLog, producer_id: int) -> None:
    marker = build_end_transaction_marker(
        ControlRecordType.ABORT, timestamp=NOW_MS, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0
    )
    log.append_as_leader(marker, 0, NOW_MS, is_client=False)


@pytest.mark.parametrize("is_reopened", [False, True])
def test_unread_max_timestamp_is_lost_with_its_index_entry(is_reopened: bool) -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    put(log, "a")
    put(log, "b", timestamp=NOW_MS + 1)
    log.roll(NOW_MS)
    put(log, "c")
    if is_reopened:
        log.close()
        log = open_log(disk)
    log.truncate_to(1)
    log.roll(NOW_MS)
    # Of a segment that was only loaded, the time index is read after it was cut: the record at offset 0 is forgotten.
    assert disk.size_of(f"{DIRECTORY}/{FIRST}.timeindex") == (0 if is_reopened else 12)


def test_epoch_without_appends_is_dropped_by_a_truncation() -> None:
    log = open_log(SimulatedDisk())
    put(log, "a")
    log.leader_epoch_cache.assign(3, 1)
    log.truncate_to(5)
    assert log.leader_epoch_cache.entries == ((0, 0),)


def test_segments_below_the_log_start_are_not_recovered() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    for key in "abcd":
        put(log, key)
    log.close(clean=False)
    assert open_log(disk, clean=False, recovery_point=1, start=3).recovery_point == 3


def test_refused_append_creates_the_indexes_of_a_new_segment() -> None:
    disk = SimulatedDisk()
    log = open_log(disk, segment_index_bytes=96)
    put(log, "a", producer_id=7, producer_epoch=0, base_sequence=0)
    log.roll(NOW_MS)
    index = f"{DIRECTORY}/{1:020}.index"
    assert not disk.exists(index)
    with pytest.raises(KafkaException):
        put(log, "b", producer_id=7, producer_epoch=0, base_sequence=5)
    assert disk.size_of(index) == 96
    assert disk.size_of(f"{DIRECTORY}/{1:020}.timeindex") == 96


def test_recovered_producers_are_in_the_order_of_the_scala_map() -> None:
    log = open_log(SimulatedDisk())
    same_place = [2**40 + 3, 3 + 2 * 16, 3, 3 + 16]
    for producer_id in same_place:
        put(log, "a", producer_id=producer_id, producer_epoch=0, base_sequence=0)
    assert [entry.producer_id for entry in log.producer_state.producers] == same_place
    put(log, "b")
    log.truncate_to(4)
    assert [entry.producer_id for entry in log.producer_state.producers] == [3, 19, 35, 2**40 + 3]


def test_producers_of_one_fetch_are_in_the_order_of_the_scala_map() -> None:
    leader, follower = open_log(SimulatedDisk()), open_log(SimulatedDisk())
    for producer_id in (35, 3):
        put(leader, "a", producer_id=producer_id, producer_epoch=0, base_sequence=0)
    follower.append_as_follower(leader.read(0, 1 << 20).data, NOW_MS)
    assert [entry.producer_id for entry in follower.producer_state.producers] == [3, 35]


def test_offset_map_full_within_a_batch_ends_the_pass_there() -> None:
    log = open_log(SimulatedDisk(), cleanup_policy="compact")
    put(log, "a", "b", "c", "d")
    put(log, "e")
    log.roll(NOW_MS)
    put(log, "f")
    found = log_to_clean(log, cleanable_offsets(log, None, log.log_end_offset, NOW_MS), NOW_MS)
    assert clean(found, NOW_MS, OffsetMap(buffer_bytes=3 * 24, load_factor=0.9)).to_offset == 2


def test_cleaner_ignores_transactions_aborted_below_the_log_start() -> None:
    disk = SimulatedDisk()
    log = open_log(disk, cleanup_policy="compact")
    put(log, "a")
    put(log, "b", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    abort(log, 1)
    put(log, "c")
    put(log, "d", producer_id=2, producer_epoch=0, base_sequence=0, is_transactional=True)
    abort(log, 2)
    log.roll(NOW_MS)
    put(log, "e")
    log.high_watermark_moved(log.log_end_offset)
    log.increment_log_start_offset(3)
    clean(log_to_clean(log, cleanable_offsets(log, None, log.log_end_offset, NOW_MS), NOW_MS), NOW_MS, OffsetMap())
    aborted, _ = log.segments[0].transaction_index.collect(0, 100)
    assert [entry.producer_id for entry in aborted] == [2]


def stopped_with_index(disk: SimulatedDisk, relative_offset: int) -> None:
    """A log whose index claims more than there is, stopped in good order."""
    log = open_log(disk, index_interval_bytes=0)
    for key in "abc":
        put(log, key)
    log.close()
    path = f"{DIRECTORY}/{FIRST}.index"
    entries = disk.read_file(path)
    disk.replace_file(path, entries[:-8] + struct.pack(">ii", relative_offset, 0))


def test_append_rejected_by_the_index_is_in_the_log_file() -> None:
    disk = SimulatedDisk()
    stopped_with_index(disk, relative_offset=50)
    log = open_log(disk, index_interval_bytes=0)
    put(log, "d")
    size, end = log.segments[0].size, log.log_end_offset
    with pytest.raises(KafkaException) as refusal:
        put(log, "e")
    assert refusal.value.error is Errors.UNKNOWN_SERVER_ERROR
    assert "no larger than the last offset appended (50)" in str(refusal.value)
    assert log.log_end_offset == end
    assert log.segments[0].size > size


def test_segment_that_claims_offsets_of_its_time_index_cannot_be_rolled() -> None:
    disk = SimulatedDisk()
    log = open_log(disk, segment_bytes=200)
    put(log, "a")
    log.close()
    disk.replace_file(f"{DIRECTORY}/{FIRST}.timeindex", struct.pack(">qi", NOW_MS, 50))
    log = open_log(disk, segment_bytes=200)
    put(log, "b", timestamp=NOW_MS + 1)
    with pytest.raises(KafkaException, match=r"to slot 1 no larger than the last offset appended \(50\)"):
        put(log, "c")
    assert log.log_end_offset == 2


def test_segment_without_a_whole_batch_cannot_be_rolled() -> None:
    disk = SimulatedDisk()
    log = open_log(disk, segment_bytes=100)
    put(log, "a")
    put(log, "b")
    log.close()
    newest = f"{DIRECTORY}/{1:020}.log"
    disk.replace_file(newest, disk.read_file(newest)[:-1])
    log = open_log(disk, segment_bytes=100)
    with pytest.raises(KafkaException, match=r"start offset 1 .* while it already exists"):
        put(log, "c")


def test_swap_segment_gets_an_index_when_it_is_read() -> None:
    disk = SimulatedDisk()
    log = open_log(disk, segment_index_bytes=96)
    put(log, "a")
    log.close()
    disk.replace_file(f"{DIRECTORY}/{FIRST}.log.swap", disk.read_file(f"{DIRECTORY}/{FIRST}.log"))
    open_log(disk, segment_index_bytes=96).close()
    names = [name for name in disk.list(DIRECTORY) if name.startswith(FIRST)]
    assert names == [f"{FIRST}.{suffix}" for suffix in ("index", "log", "timeindex")]
    assert disk.read_file(f"{DIRECTORY}/{FIRST}.index") == bytes(96)


def test_batch_rejected_by_the_index_of_a_cleaned_segment_makes_the_log_uncleanable() -> None:
    # Two slots, of which the time index keeps one for its last entry; two segments become one.
    log = open_log(SimulatedDisk(), cleanup_policy="compact", segment_index_bytes=24, index_interval_bytes=0)
    for number, key in enumerate("abc"):
        put(log, key, timestamp=NOW_MS + number)
        if number:
            log.roll(NOW_MS)
    put(log, "d")
    found = log_to_clean(log, cleanable_offsets(log, None, log.log_end_offset, NOW_MS), NOW_MS)
    with pytest.raises(Uncleanable, match="full time index"):
        clean(found, NOW_MS, OffsetMap())


def test_snapshot_taken_by_recovery_outlives_its_segment() -> None:
    """With it a producer that has expired stays forgotten, which is only looked at when a snapshot is read."""
    disk = SimulatedDisk()
    log = open_log(disk)
    put(log, "a", producer_id=7, producer_epoch=0, base_sequence=0, timestamp=NOW_MS - 2 * 86_400_000)
    put(log, "b")
    log.roll(NOW_MS)
    put(log, "c")
    log.close(clean=False)
    disk.delete(f"{DIRECTORY}/{2:020}.snapshot")
    torn = disk.read_file(f"{DIRECTORY}/{FIRST}.log") + b"rubbish"
    disk.replace_file(f"{DIRECTORY}/{FIRST}.log", torn)
    log = open_log(disk, clean=False)
    assert [segment.base_offset for segment in log.segments] == [0]
    assert disk.exists(f"{DIRECTORY}/{2:020}.snapshot")
    assert log.producer_state.producers == ()


@pytest.mark.parametrize("is_asked", [False, True])
def test_reading_an_index_drops_its_partial_last_entry(is_asked: bool) -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    put(log, "a")
    log.roll(NOW_MS)
    put(log, "b")
    log.close()
    path = f"{DIRECTORY}/{FIRST}.index"
    disk.replace_file(path, b"123")
    log = open_log(disk)
    if is_asked:
        log.read(0, 100)
    log.close()
    assert disk.size_of(path) == (0 if is_asked else 3)


def test_log_that_ends_below_its_start_deletes_all_snapshots() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    put(log, "a")
    log.roll(NOW_MS)
    put(log, "b")
    log.close()
    open_log(disk, start=5)
    assert [name for name in disk.list(DIRECTORY) if "snapshot" in name] == [f"{5:020}.snapshot"]
    assert disk.read_file(f"{DIRECTORY}/leader-epoch-checkpoint") == b"0\n0\n"


def test_invalid_swap_segment_fails_the_load() -> None:
    disk = SimulatedDisk()
    open_log(disk).close()
    disk.replace_file(f"{DIRECTORY}/{FIRST}.log.swap", bytes(40))
    with pytest.raises(KafkaException, match="the length field of the batch is 0"):
        open_log(disk)


def test_log_that_starts_over_writes_its_epochs_even_where_there_were_none() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    assert disk.read_file(f"{DIRECTORY}/leader-epoch-checkpoint") == b""
    log.truncate_fully_and_start_at(7)
    assert disk.read_file(f"{DIRECTORY}/leader-epoch-checkpoint") == b"0\n0\n"


def test_timestamp_lookup_uses_the_first_segment_that_reaches_it() -> None:
    log = open_log(SimulatedDisk())
    put(log, "a", timestamp=NOW_MS + 5)
    log.roll(NOW_MS)
    put(log, "b", timestamp=NOW_MS + 1)
    log.increment_log_start_offset(1)
    # The first segment is still there, and nothing in it may be read; the second would have what was asked for.
    assert log.offset_for_timestamp(NOW_MS) is None
    newest = log.offset_of_max_timestamp()
    assert newest is not None
    assert (newest.timestamp, newest.offset) == (NOW_MS + 5, 0)


def test_lookup_of_a_lost_max_timestamp_finds_no_records() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    put(log, "a")
    put(log, "b", timestamp=NOW_MS + 1)
    log.close()
    log = open_log(disk)
    log.truncate_to(1)
    assert log.offset_of_max_timestamp() is None
