"""The log of a replica: appending, rolling, reading, truncating, on both disks."""

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.eras import ERAS
from broker_core.errors import Errors, KafkaException, UnexpectedAppendOffsetException
from broker_core.log import LogConfig, UnifiedLog
from broker_core.records.compression import CompressionType
from broker_core.records.control_record import ControlRecordType, build_end_transaction_marker
from broker_core.records.record_batch import (
    build_batch,
    iterate,
    iterate_batches,
    parse_header,
)
from broker_core.sim.disk import Disk, MemoryArchive, RealDisk, SimulatedDisk

DIRECTORY = "broker-1/orders-0"
NOW_MS = 1_760_000_000_000


def open_log(disk: Disk, directory: str = DIRECTORY, **settings_: Any) -> UnifiedLog:
    clean = bool(settings_.pop("clean_shutdown", True))
    config = settings_.pop("config", None) or LogConfig(**settings_)
    return UnifiedLog.load(disk, directory, "orders", 0, config, now_ms=NOW_MS, clean_shutdown=clean)


def batch_of(count: int = 1, timestamp: int = NOW_MS, size: int = 20, **arguments: Any) -> bytes:
    return build_batch([(timestamp, b"key", b"v" * size, ())] * count, **arguments)


def offsets(data: bytes) -> list[int]:
    return [record.offset for record in iterate(data)]


@pytest.fixture(params=["simulated", "real"])
def disk(request, tmp_path) -> Disk:
    return SimulatedDisk() if request.param == "simulated" else RealDisk(tmp_path)


def test_leader_assigns_offsets_and_its_epoch(disk: Disk) -> None:
    log = open_log(disk)
    assert log.append_as_leader(batch_of(3), 5, NOW_MS).epoch_entries == ((5, 0),)
    info = log.append_as_leader(batch_of(2), 5, NOW_MS)
    assert (info.first_offset, info.last_offset, info.record_count, info.epoch_entries) == (3, 4, 2, ())
    assert (info.segment_base, info.position, info.byte_count) == (0, len(batch_of(3)), len(batch_of(2)))
    assert log.log_end_offset == 5
    header = parse_header(log.read(3, 1000).data)
    assert (header.base_offset, header.partition_leader_epoch) == (3, 5)
    assert log.leader_epoch_cache.entries == ((5, 0),)


def test_follower_holds_the_same_bytes(disk: Disk) -> None:
    leader, follower = open_log(disk, "broker-1/orders-0"), open_log(disk, "broker-2/orders-0")
    for epoch in (0, 0, 2, 2, 3):
        leader.append_as_leader(batch_of(2), epoch, NOW_MS)
    fetched = leader.read(0, 1 << 20)
    info = follower.append_as_follower(fetched.data, NOW_MS)
    assert info.epoch_entries == ((0, 0), (2, 4), (3, 8))
    assert [batch.base_offset for batch in info.batches] == [0, 2, 4, 6, 8]
    assert follower.read(0, 1 << 20).data == fetched.data
    assert follower.leader_epoch_cache.entries == leader.leader_epoch_cache.entries


def test_follower_refuses_batches_out_of_order() -> None:
    log = open_log(SimulatedDisk())
    log.append_as_follower(batch_of(5, base_offset=10), NOW_MS)
    assert log.log_end_offset == 15
    with pytest.raises(UnexpectedAppendOffsetException) as refusal:
        log.append_as_follower(batch_of(5, base_offset=14), NOW_MS)
    assert (refusal.value.first_offset, refusal.value.log_end_offset) == (14, 15)
    with pytest.raises(KafkaException, match="do not increase"):
        log.append_as_follower(batch_of(5, base_offset=15) + batch_of(1, base_offset=17), NOW_MS)
    damaged = bytearray(batch_of(1, base_offset=15))
    damaged[-1] ^= 1
    with pytest.raises(KafkaException) as corrupt:
        log.append_as_follower(bytes(damaged), NOW_MS)
    assert corrupt.value.error is Errors.CORRUPT_MESSAGE
    assert log.log_end_offset == 15
    assert offsets(log.read(10, 1 << 20).data) == [10, 11, 12, 13, 14]


def test_segments_roll_when_the_next_batch_does_not_fit(disk: Disk) -> None:
    size = len(batch_of())
    log = open_log(disk, segment_bytes=3 * size)
    for _ in range(3):
        assert log.append_as_leader(batch_of(), 0, NOW_MS).rolled == ()
    (roll,) = log.append_as_leader(batch_of(), 0, NOW_MS).rolled
    assert (roll.new_base_offset, roll.old_base_offset, roll.old_size) == (3, 0, 3 * size)
    assert [segment.base_offset for segment in log.segments] == [0, 3]
    assert dict(log.describe_files()) == {
        "00000000000000000000.index": 0,
        "00000000000000000000.log": 3 * size,
        "00000000000000000000.timeindex": 12,
        "00000000000000000003.index": 10485760,
        "00000000000000000003.log": size,
        "00000000000000000003.snapshot": 10,
        "00000000000000000003.timeindex": 10485756,
        "leader-epoch-checkpoint": 8,
    }
    with pytest.raises(KafkaException) as refusal:
        log.append_as_leader(batch_of(size=4 * size), 0, NOW_MS)
    assert refusal.value.error is Errors.RECORD_LIST_TOO_LARGE


def test_record_timestamps_roll_a_segment_not_the_clock() -> None:
    log = open_log(SimulatedDisk(), segment_ms=1000)
    for timestamp, clock in ((5000, 0), (6000, 10**9)):
        assert log.append_as_leader(batch_of(timestamp=timestamp), 0, clock).rolled == ()
    assert log.append_as_leader(batch_of(timestamp=6001), 0, 0).rolled != ()


def test_offset_that_does_not_fit_the_index_rolls() -> None:
    log = open_log(SimulatedDisk())
    log.append_as_follower(batch_of(base_offset=0), NOW_MS)
    assert log.append_as_follower(batch_of(base_offset=2**31 - 1), NOW_MS).rolled == ()
    (roll,) = log.append_as_follower(batch_of(base_offset=2**31 + 5), NOW_MS).rolled
    assert roll.new_base_offset == 2**31 + 5
    assert offsets(log.read(1, 1 << 20).data) == [2**31 - 1]
    assert offsets(log.read(2**31, 1 << 20).data) == [2**31 + 5]


def test_preallocated_segments_are_cut_when_they_roll(disk: Disk) -> None:
    size = len(batch_of())
    log = open_log(disk, segment_bytes=3 * size + 5, preallocate=True)
    for _ in range(5):
        log.append_as_leader(batch_of(), 0, NOW_MS)
    sizes = dict(log.describe_files())
    assert sizes["00000000000000000000.log"] == 3 * size
    assert sizes["00000000000000000003.log"] == 3 * size + 5
    assert offsets(log.read(3, 1 << 20).data) == [3, 4]
    log.close()
    assert dict(log.describe_files())["00000000000000000003.log"] == 2 * size
    assert open_log(disk, segment_bytes=3 * size + 5, preallocate=True).log_end_offset == 5


def test_read_returns_whole_batches_within_the_bounds(disk: Disk) -> None:
    log = open_log(disk, index_interval_bytes=200)
    for _ in range(10):
        log.append_as_leader(batch_of(3), 0, NOW_MS)
    size = len(batch_of(3))
    inside = log.read(13, 1 << 20)
    assert (inside.first_offset, inside.position, inside.next_offset) == (12, 4 * size, 30)
    assert offsets(inside.data) == list(range(12, 30))
    assert offsets(log.read(13, 2 * size + 5).data) == list(range(12, 18))
    assert offsets(log.read(13, 1).data) == [12, 13, 14]
    assert log.read(13, size - 1, min_one_message=False).data == b""
    assert offsets(log.read(3, 1 << 20, upper_bound=9).data) == [3, 4, 5, 6, 7, 8]
    assert log.read(9, 1 << 20, upper_bound=9).data == b""
    assert log.read(12, 1 << 20, upper_bound=9).data == b""
    end = log.read(30, 1 << 20)
    assert (end.data, end.position, end.next_offset) == (b"", 10 * size, 30)
    for outside in (-1, 31):
        with pytest.raises(KafkaException) as refusal:
            log.read(outside, 1)
        assert refusal.value.error is Errors.OFFSET_OUT_OF_RANGE


def test_read_ends_at_the_segment_and_the_next_read_continues() -> None:
    log = open_log(SimulatedDisk(), segment_bytes=300)
    for _ in range(10):
        log.append_as_leader(batch_of(), 0, NOW_MS)
    assert len(log.segments) > 2
    found: list[int] = []
    while len(found) < 10:
        found += offsets(log.read(len(found), 1 << 20).data)
    assert found == list(range(10))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 120), st.integers(0, 3)), min_size=1, max_size=60),
    st.integers(200, 2000),
    st.integers(0, 500),
    st.data(),
)
def test_every_offset_is_found_in_logs_with_gaps(
    appends: list[tuple[int, int, int]], segment_bytes: int, interval: int, data: st.DataObject
) -> None:
    """Followers of a compacted leader hold logs with gaps. A reader gets the next record that there is."""
    disk = SimulatedDisk()
    log = open_log(disk, segment_bytes=segment_bytes + 500, index_interval_bytes=interval)
    present: list[int] = []
    next_offset = 0
    for count, size, gap in appends:
        next_offset += gap
        log.append_as_follower(batch_of(count, size=size // count, base_offset=next_offset, leader_epoch=0), NOW_MS)
        present += range(next_offset, next_offset + count)
        next_offset += count
    reopened = data.draw(st.booleans(), label="reopened after a kill")
    if reopened:
        log = open_log(disk, segment_bytes=segment_bytes + 500, index_interval_bytes=interval, clean_shutdown=False)
    assert log.log_end_offset == next_offset
    for offset in range(next_offset):
        read = log.read(offset, data.draw(st.integers(1, 400), label="max_bytes"))
        got = offsets(read.data)
        expected = next(record for record in present if record >= offset)
        assert next(record for record in got if record >= offset) == expected
        assert read.first_offset == next(iterate_batches(read.data))[1].base_offset
        assert read.next_offset == got[-1] + 1
        available = log.bytes_available(offset)
        assert available is None or available >= len(read.data)


@pytest.mark.parametrize("is_clean", [True, False])
def test_reopened_log_is_read_from_its_start(disk: Disk, is_clean: bool) -> None:
    log = open_log(disk)
    for _ in range(5):
        log.append_as_leader(batch_of(2), 0, NOW_MS)
    log.close(clean=is_clean)
    log = open_log(disk, clean_shutdown=is_clean)
    log.append_as_leader(batch_of(3), 0, NOW_MS)
    assert offsets(log.read(0, 10**6).data) == list(range(13))
    assert log.read(4, 1).first_offset == 4


def test_available_bytes_are_counted_within_a_segment(disk: Disk) -> None:
    size = len(batch_of())
    log = open_log(disk, segment_bytes=4 * size)
    for _ in range(10):
        log.append_as_leader(batch_of(), 0, NOW_MS)
    assert [segment.base_offset for segment in log.segments] == [0, 4, 8]
    assert [log.bytes_available(offset) for offset in range(11)] == [None] * 8 + [2 * size, size, 0]
    assert log.bytes_available(1, upper_bound=3) == 2 * size
    assert log.bytes_available(1, upper_bound=4) is None
    assert log.bytes_available(8, upper_bound=8) == 0


@pytest.mark.parametrize("is_reopened", [False, True])
def test_reader_that_asks_for_it_gets_the_beginning_of_one_more_batch(disk: Disk, is_reopened: bool) -> None:
    log = open_log(disk)
    for _ in range(4):
        log.append_as_leader(batch_of(2), 0, NOW_MS)
    if is_reopened:
        log.close(clean=True)
        log = open_log(disk)
    size = len(batch_of(2))
    whole = log.read(0, 10 * size).data
    for requested in (size, size + 5, size + 30, 2 * size - 1, 2 * size, 9 * size):
        next_offset = 2 * min(requested // size, 4)
        found = log.read(0, requested, cuts_batches=True)
        assert (found.data, found.next_offset) == (whole[:requested], next_offset)
    assert log.read(0, size - 1, cuts_batches=True).data == whole[:size]
    assert log.read(0, size - 1, min_one_message=False, cuts_batches=True).data == b""
    assert log.read(2, 2 * size, 6, cuts_batches=True).data == whole[size : 3 * size]


@pytest.mark.parametrize("is_archived", [False, True])
def test_truncation_removes_batches_and_reports_them(disk: Disk, is_archived: bool) -> None:
    disk.archive = MemoryArchive() if is_archived else None
    log = open_log(disk, segment_bytes=500, index_interval_bytes=0)
    for epoch in range(10):
        log.append_as_leader(batch_of(2), epoch, NOW_MS + epoch)
    before = {name: disk.read_file(f"{DIRECTORY}/{name}") for name, _ in log.describe_files() if name.endswith(".log")}
    cuts = log.truncate_to(6)
    assert log.log_end_offset == 6
    assert log.leader_epoch_cache.entries == ((0, 0), (1, 2), (2, 4))
    waiting = {file.path.rpartition("/")[2] for file in log.take_deleted_files()}
    assert waiting and all(disk.exists(f"{DIRECTORY}/{name}.deleted") for name in waiting)
    before = {name: data for name, data in before.items() if name not in waiting}
    gone = {cut.file.rpartition("/")[2]: cut for cut in cuts if cut.file.endswith(".log")}
    for name, cut in gone.items():
        removed = before[name][cut.position : cut.position + cut.length]
        assert len(removed) == cut.length
        assert (disk.archive.get(cut.digest) if disk.archive and cut.digest else removed) == removed
        assert (cut.digest is not None) == is_archived
    kept = b"".join(data[: gone[name].position] if name in gone else data for name, data in sorted(before.items()))
    assert offsets(kept) == offsets(log.read(0, 1 << 20).data) == list(range(6))
    info = log.append_as_leader(batch_of(2), 12, NOW_MS)
    assert (info.first_offset, info.epoch_entries[-1]) == (6, (12, 6))
    assert offsets(log.read(5, 1 << 20).data) == [4, 5, 6, 7]


def test_truncating_at_the_end_only_drops_epochs() -> None:
    log = open_log(SimulatedDisk())
    log.append_as_leader(batch_of(4), 0, NOW_MS)
    log.leader_epoch_cache.assign(1, 4)
    assert log.truncate_to(4) == ()
    assert (log.log_end_offset, log.leader_epoch_cache.entries) == (4, ((0, 0),))


def test_truncate_fully_and_start_at_an_offset(disk: Disk) -> None:
    log = open_log(disk, segment_bytes=200)
    for _ in range(5):
        log.append_as_leader(batch_of(), 0, NOW_MS)
    log.flush()
    log.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, log.recovery_point, log.size_bytes) == (100, 100, 5, 0)
    assert log.leader_epoch_cache.entries == ()
    assert [segment.base_offset for segment in log.segments] == [100]
    log.append_as_follower(batch_of(base_offset=100, leader_epoch=7), NOW_MS)
    log.close()
    assert (open_log(disk).log_start_offset, open_log(disk).log_end_offset) == (100, 101)


def test_records_are_found_by_timestamp(disk: Disk) -> None:
    log = open_log(disk, segment_bytes=2000, index_interval_bytes=100)
    for base in range(0, 200, 4):
        records = [(10 * offset, None, b"v", ()) for offset in range(base, base + 4)]
        log.append_as_follower(build_batch(records, base_offset=base, leader_epoch=0), NOW_MS)
    assert len(log.segments) > 2
    for timestamp in range(-5, 1995, 5):
        found = log.offset_for_timestamp(timestamp)
        assert found is not None
        assert (found.offset, found.timestamp) == ((max(timestamp, 0) + 9) // 10, (max(timestamp, 0) + 9) // 10 * 10)
    assert log.offset_for_timestamp(1991) is None
    log.increment_log_start_offset(57)
    found = log.offset_for_timestamp(0)
    assert found is not None and found.offset == 57


def test_start_of_the_log_only_rises() -> None:
    log = open_log(SimulatedDisk())
    log.append_as_leader(batch_of(10), 3, NOW_MS)
    assert log.increment_log_start_offset(4)
    assert not log.increment_log_start_offset(3)
    assert (log.log_start_offset, log.leader_epoch_cache.entries) == (4, ((3, 4),))
    with pytest.raises(KafkaException):
        log.read(3, 1)
    with pytest.raises(KafkaException):
        log.increment_log_start_offset(11)


def test_flushing_moves_the_recovery_point_and_survives_the_power_cut() -> None:
    disk = SimulatedDisk()
    log = open_log(disk, segment_bytes=300)
    for _ in range(7):
        log.append_as_leader(batch_of(), 0, NOW_MS)
    assert log.flush(4) == 4
    log.append_as_leader(batch_of(), 0, NOW_MS)
    lost = disk.power_loss()
    assert [cut.file for cut in lost if cut.file.endswith(".log")]
    reopened = open_log(disk, segment_bytes=300, clean_shutdown=False)
    assert 4 <= reopened.log_end_offset < 8
    assert offsets(b"".join(reopened.read(o, 1).data for o in range(4))) == [0, 1, 2, 3]


def test_log_is_pickled_with_its_disk() -> None:
    disk = SimulatedDisk()
    log = open_log(disk, segment_bytes=300)
    for _ in range(7):
        log.append_as_leader(batch_of(), 0, NOW_MS)
    copy = pickle.loads(pickle.dumps((disk, log)))[1]
    copy.append_as_leader(batch_of(), 0, NOW_MS)
    assert (log.log_end_offset, copy.log_end_offset) == (7, 8)
    assert copy.read(0, 1).data == log.read(0, 1).data


def test_idempotent_producers_are_checked() -> None:
    log = open_log(SimulatedDisk())

    def send(sequence: int, count: int = 2, epoch: int = 0, producer_id: int = 9):
        return log.append_as_leader(
            batch_of(count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence), 0, NOW_MS
        )

    first = send(0)
    assert send(2).first_offset == 2
    again = send(0)
    assert again.is_duplicate
    assert (again.first_offset, again.last_offset, again.byte_count) == (first.first_offset, first.last_offset, 0)
    assert log.log_end_offset == 4
    for sequence, epoch, error in (
        (6, 0, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (1, 1, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ):
        with pytest.raises(KafkaException) as refusal:
            send(sequence, epoch=epoch)
        assert refusal.value.error is error
    assert send(0, epoch=1).first_offset == 4
    with pytest.raises(KafkaException) as refusal:
        send(4)
    assert refusal.value.error is Errors.INVALID_PRODUCER_EPOCH
    assert send(77, producer_id=10).first_offset == 6
    for epoch in (-2, -32768):
        with pytest.raises(KafkaException) as refusal:
            send(0, epoch=epoch, producer_id=11)
        assert refusal.value.error is Errors.INVALID_PRODUCER_EPOCH
    assert log.producer_state.entry(11) is None


@pytest.mark.parametrize(
    ("era", "unknown", "after_marker"),
    [
        ("1.1", Errors.UNKNOWN_PRODUCER_ID, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ("2.4", Errors.UNKNOWN_PRODUCER_ID, Errors.UNKNOWN_PRODUCER_ID),
        ("3.9", None, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ],
)
def test_first_sequence_of_unknown_producers_depends_on_the_era(
    era: str, unknown: Errors | None, after_marker: Errors
) -> None:
    log = open_log(SimulatedDisk(), behaviour=ERAS[era].log)

    def send(producer_id: int, sequence: int, epoch: int = 0) -> Errors | None:
        sent = batch_of(1, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
        try:
            log.append_as_leader(sent, 0, NOW_MS)
        except KafkaException as refusal:
            return refusal.error
        return None

    assert send(9, 3) is unknown
    assert send(10, 0) is None
    assert send(10, 2) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(10, 2, epoch=1) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    marker = build_end_transaction_marker(
        ControlRecordType.ABORT, timestamp=NOW_MS, producer_id=11, producer_epoch=0, coordinator_epoch=0
    )
    log.append_as_leader(marker, 0, NOW_MS, is_client=False)
    assert send(11, 3) is after_marker
    assert send(11, 3, epoch=1) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(11, 0) is None


def test_follower_rebuilds_producer_state(disk: Disk) -> None:
    leader, follower = open_log(disk, "broker-1/orders-0"), open_log(disk, "broker-2/orders-0")
    sent = batch_of(2, producer_id=9, producer_epoch=0, base_sequence=0)
    leader.append_as_leader(sent, 0, NOW_MS)
    follower.append_as_follower(leader.read(0, 1000).data, NOW_MS)
    assert follower.append_as_leader(sent, 1, NOW_MS).is_duplicate
    follower.close()
    reopened = open_log(disk, "broker-2/orders-0")
    assert reopened.append_as_leader(sent, 1, NOW_MS).is_duplicate


def test_marker_ends_a_transaction() -> None:
    log = open_log(SimulatedDisk())
    sent = batch_of(2, producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.append_as_leader(sent, 0, NOW_MS)
    assert log.producer_state.transactions.first_undecided_offset == 0

    def mark(coordinator_epoch: int) -> None:
        marker = build_end_transaction_marker(
            ControlRecordType.COMMIT,
            timestamp=NOW_MS,
            producer_id=9,
            producer_epoch=0,
            coordinator_epoch=coordinator_epoch,
        )
        log.append_as_leader(marker, 0, NOW_MS, is_client=False)

    mark(4)
    assert log.producer_state.transactions.first_undecided_offset is None
    with pytest.raises(KafkaException) as refusal:
        mark(3)
    assert refusal.value.error is Errors.TRANSACTION_COORDINATOR_FENCED


@pytest.mark.parametrize("codec", [codec for codec in CompressionType if codec])
def test_broker_recompresses_to_the_topics_codec(codec: CompressionType) -> None:
    log = open_log(SimulatedDisk(), compression_type=codec.name.lower())
    records = [(NOW_MS + i, b"k", b"some text " * 20, (("h", b"x"),)) for i in range(20)]
    log.append_as_leader(build_batch(records, compression=CompressionType.GZIP), 0, NOW_MS)
    stored = log.read(0, 1 << 20).data
    assert parse_header(stored).compression == codec
    assert [(r.timestamp, r.key, r.value, r.headers) for r in iterate(stored)] == records


def test_configurations_are_read_as_kafka_writes_them() -> None:
    config = LogConfig.of({"segment.bytes": "3000", "preallocate": "true", "cleanup.policy": ("compact", "delete")})
    assert (config.segment_bytes, config.preallocate, config.is_compacted) == (3000, True, True)
    assert config.index_interval_bytes == 4096
    with pytest.raises(KafkaException) as refusal:
        LogConfig.of({"segment.bytes": "many"})
    assert refusal.value.error is Errors.INVALID_CONFIG
