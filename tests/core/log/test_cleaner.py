"""Compaction of one log: what stays, where it stays, and what a crash in the middle leaves."""

import pytest

from broker_core.log.cleaner import (
    Fate,
    OffsetMap,
    Uncleanable,
    cleanable_offsets,
    log_to_clean,
)
from broker_core.records.compression import CompressionType
from broker_core.records.control_record import ControlRecordType, build_end_transaction_marker
from broker_core.records.record_batch import (
    TimestampType,
    build_batch,
    ensure_valid,
    iterate,
    iterate_batches,
)
from broker_core.sim.disk import MemoryArchive, SimulatedDisk
from tests.support.cleaned_log import DIRECTORY, NOW_MS, RETENTION_MS, CleanedLog

DAY_MS = 86_400_000


def test_last_value_of_each_key_stays_at_its_offset() -> None:
    log = CleanedLog()
    log.put_each("a:1 b:1 a:2 c:1 b:2 c:null a:3 d:1 e:1 f:1")
    facts = log.clean()
    assert log.pairs == "4=b:2 5=c:null 6=a:3 7=d:1 8=e:1 9=f:1"
    assert (facts.from_offset, facts.to_offset) == (0, 8)
    assert dict(facts.counts) == {Fate.KEPT: 4, Fate.SUPERSEDED: 4}
    assert facts.fates[0] == (0, Fate.SUPERSEDED, 6)
    assert log.log.log_end_offset == 10


def test_active_segment_is_never_touched() -> None:
    log = CleanedLog(segment_bytes=10_000)
    log.put_each("a:1 a:2 a:3")
    offsets = cleanable_offsets(log.log, None, 3, NOW_MS)
    assert not log_to_clean(log.log, offsets, NOW_MS).is_due
    log.roll()
    log.clean()
    assert log.pairs == "2=a:3"


def test_fetch_of_a_removed_offset_returns_the_next_one() -> None:
    log = CleanedLog()
    log.put_each("a:1 b:1 a:2 c:1 b:2 c:2 a:3 d:1 e:1")
    log.clean()
    read = log.log.read(1, 1 << 20)
    assert [record.offset for record in iterate(read.data)] == [4, 5, 6, 7]
    assert read.next_offset == 8


def test_adjacent_small_segments_are_merged_up_to_segment_bytes() -> None:
    log = CleanedLog()
    for number in range(40):
        log.put(f"k{number % 4}:{number}")
    before = len(log.log.segments)
    log.clean()
    facts = log.clean()
    assert len(log.log.segments) < before
    assert any(len(group.sources) > 1 for group in facts.groups)
    assert all(sum(size for _, size in group.sources) <= 300 for group in facts.groups if len(group.sources) > 1)
    assert [segment.base_offset for segment in log.log.segments] == [
        *(group.base_offset for group in facts.groups),
        log.log.active_segment.base_offset,
    ]
    assert log.disk.exists(f"{DIRECTORY}/{log.log.active_segment.base_offset:020d}.snapshot")


def test_batches_retained_whole_keep_their_bytes() -> None:
    log = CleanedLog(segment_bytes=1000)
    log.put("a:1", "b:1")
    log.put("c:1", "c:2")
    log.roll()
    first = log.log.read(0, 1).data
    log.clean()
    assert log.log.read(0, 1).data == first
    rest = log.log.read(2, 1).data
    _, header = next(iterate_batches(rest))
    ensure_valid(rest, header)
    assert (header.base_offset, header.last_offset, header.record_count) == (2, 3, 1)


@pytest.mark.parametrize("codec", list(CompressionType))
def test_batch_is_rebuilt_in_its_own_codec_with_its_timestamps_and_headers(codec: CompressionType) -> None:
    log = CleanedLog(segment_bytes=2000)
    headers = (("n", None), ("h", b"x"))
    sent = [(NOW_MS + 70 * number, b"k%d" % (number % 3), b"v%d" % number, headers) for number in range(6)]
    log.log.append_as_leader(build_batch(sent, compression=codec), 0, NOW_MS)
    log.roll()
    log.clean()
    (header,) = log.batches
    assert header.compression == codec
    assert (header.base_timestamp, header.max_timestamp) == (NOW_MS + 210, NOW_MS + 350)
    assert [(record.timestamp, record.key, record.value, record.headers) for record in log.records] == sent[3:]


def test_log_append_time_of_a_rebuilt_batch_is_retained() -> None:
    log = CleanedLog(segment_bytes=1000, message_timestamp_type="LogAppendTime")
    log.log.append_as_leader(build_batch([(7, b"a", b"1", ()), (9, b"a", b"2", ())]), 0, NOW_MS)
    log.roll()
    log.clean()
    (header,) = log.batches
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert (header.base_timestamp, header.max_timestamp) == (NOW_MS, NOW_MS)
    assert [record.timestamp for record in log.records] == [NOW_MS]


# tombstones


def test_tombstone_gets_a_delete_horizon_and_is_removed_after_it() -> None:
    log = CleanedLog()
    log.put_each("a:1 b:1 a:null")
    log.roll()
    facts = log.clean()
    assert log.pairs == "1=b:1 2=a:null"
    assert facts.delete_horizon_ms == NOW_MS + RETENTION_MS
    assert [header.delete_horizon_ms for header in log.batches] == [None, NOW_MS + RETENTION_MS]
    assert [record.timestamp for record in log.records] == [NOW_MS, NOW_MS]

    log.put("c:1")
    log.roll()
    log.clean(NOW_MS + RETENTION_MS - 1)
    assert log.pairs == "1=b:1 2=a:null 3=c:1"

    log.put("d:1")
    log.roll()
    facts = log.clean(NOW_MS + RETENTION_MS)
    assert log.pairs == "1=b:1 3=c:1 4=d:1"
    assert dict(facts.counts)[Fate.TOMBSTONE] == 1
    assert facts.delete_horizon_ms == -1


def test_superseded_tombstone_is_removed_at_once() -> None:
    log = CleanedLog()
    log.put_each("a:null a:1")
    log.roll()
    log.clean()
    assert log.pairs == "1=a:1"


# producers


def test_last_batch_of_a_producer_is_retained_empty() -> None:
    log = CleanedLog()
    log.put("a:1", producer_id=9, producer_epoch=0, base_sequence=0)
    log.put("a:2", "b:2", producer_id=9, producer_epoch=0, base_sequence=1)
    log.put_each("a:3 b:3")
    log.roll()
    facts = log.clean()
    assert facts.empty_batches == 1
    empty, *_ = log.batches
    assert (empty.record_count, empty.base_offset, empty.last_offset, empty.last_sequence) == (0, 1, 2, 2)
    assert log.pairs == "3=a:3 4=b:3"

    log.log = log.open(clean_shutdown=False)
    again = build_batch(
        [(NOW_MS, b"a", b"2", ()), (NOW_MS, b"b", b"2", ())], producer_id=9, producer_epoch=0, base_sequence=1
    )
    info = log.log.append_as_leader(again, 0, NOW_MS)
    assert info.is_duplicate
    assert (info.first_offset, info.last_offset) == (1, 2)


def test_empty_batch_is_removed_once_the_producer_has_a_later_batch() -> None:
    log = CleanedLog()
    log.put("a:1", producer_id=9, producer_epoch=0, base_sequence=0)
    log.put("a:2")
    log.roll()
    log.clean()
    assert [header.record_count for header in log.batches] == [0, 1]
    log.put("b:1", producer_id=9, producer_epoch=0, base_sequence=1)
    log.roll()
    log.clean()
    assert [header.record_count for header in log.batches] == [1, 1]


# transactions


def end(log: CleanedLog, kind: ControlRecordType, producer_id: int) -> None:
    marker = build_end_transaction_marker(
        kind, timestamp=NOW_MS, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0
    )
    log.log.append_as_leader(marker, 0, NOW_MS, is_client=False)
    log.log.high_watermark_moved(log.log.log_end_offset)


def test_aborted_records_are_removed_and_supersede_nothing() -> None:
    log = CleanedLog(segment_bytes=2000)
    log.put("a:1")
    log.put("a:2", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.put("b:2", producer_id=7, producer_epoch=0, base_sequence=1, is_transactional=True)
    end(log, ControlRecordType.ABORT, 7)
    log.put("c:1")
    log.roll()
    facts = log.clean()
    assert dict(facts.counts) == {Fate.KEPT: 3, Fate.ABORTED: 2}
    assert [(header.base_offset, header.record_count) for header in log.batches] == [(0, 1), (2, 0), (3, 1), (4, 1)]
    assert [
        (entry.first_offset, entry.last_offset) for entry in log.log.segments[0].transaction_index.transactions
    ] == [(1, 3)]


def test_marker_is_retained_until_its_records_are_removed_and_its_horizon_passed() -> None:
    log = CleanedLog(segment_bytes=2000)
    log.put("a:1", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    end(log, ControlRecordType.COMMIT, 7)
    log.put("a:2", producer_id=7, producer_epoch=0, base_sequence=1, is_transactional=True)
    end(log, ControlRecordType.COMMIT, 7)
    log.roll()
    log.clean()  # takes a:1; the marker at 1 has met its batch in this pass
    log.put("x:1")
    log.roll()
    log.clean()  # now there is nothing left of it
    assert [header.delete_horizon_ms for header in log.batches] == [NOW_MS + RETENTION_MS, None, None, None]
    log.put("y:1")
    log.roll()
    log.clean(NOW_MS + RETENTION_MS)
    assert [header.base_offset for header in log.batches] == [2, 3, 4, 5]


def test_nothing_beyond_an_open_transaction_is_cleaned() -> None:
    log = CleanedLog()
    log.put_each("a:1 a:2 a:3 a:4")
    log.put("b:1", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.put_each("c:1 c:2 c:3 c:4 c:5")
    assert log.clean().to_offset == 4


# which part, and when


def test_min_compaction_lag_retains_recent_records() -> None:
    log = CleanedLog(min_compaction_lag_ms=1000)
    log.put_each("a:1 a:2 a:3 a:4 a:5 a:6")
    assert cleanable_offsets(log.log, None, 6, NOW_MS + 999).first_uncleanable_offset == 0
    assert cleanable_offsets(log.log, None, 6, NOW_MS + 1000).first_uncleanable_offset == 4


def test_max_compaction_lag_makes_a_clean_enough_log_due() -> None:
    log = CleanedLog(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=1000)
    log.put_each("a:1 a:2 a:3 a:4 a:5 a:6")
    offsets = cleanable_offsets(log.log, None, 6, NOW_MS)
    assert not log_to_clean(log.log, offsets, NOW_MS + 1000).is_due
    assert log_to_clean(log.log, offsets, NOW_MS + 1001).is_due


def test_dirty_ratio_counts_whole_segments() -> None:
    log = CleanedLog(min_cleanable_dirty_ratio=0.5)
    log.put_each("a:1 b:1 c:1 d:1")
    log.roll()
    log.clean()
    log.put_each("e:1 f:1 g:1 h:1")
    log.roll()
    measured = log_to_clean(log.log, cleanable_offsets(log.log, log.checkpoint, 8, NOW_MS), NOW_MS)
    assert measured.clean_bytes == measured.cleanable_bytes
    assert not measured.is_due, "exactly half is not more than half"


@pytest.mark.parametrize("checkpoint", [-1, 11])
def test_cleaner_checkpoint_outside_of_the_log_is_reset(checkpoint: int) -> None:
    log = CleanedLog()
    log.put_each("a:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1 i:1 j:1")
    offsets = cleanable_offsets(log.log, checkpoint, 10, NOW_MS)
    assert offsets.is_reset
    assert offsets.first_dirty_offset == 0


def test_full_offset_map_ends_the_pass_and_the_next_pass_continues() -> None:
    log = CleanedLog()
    log.put_each(" ".join(f"k{number}:1" for number in range(8)) + " k0:2 k1:2 k2:2 k3:2")
    log.roll()
    small = 24 * 6
    facts = log.clean(offset_map=OffsetMap(small, load_factor=1.0))
    assert facts.to_offset == 6
    assert [record.offset for record in log.records] == list(range(12))
    while log.checkpoint != 12:
        log.clean(offset_map=OffsetMap(small, load_factor=1.0))
    assert [record.offset for record in log.records] == list(range(4, 12))


def test_long_keys_are_distinguished_and_records_without_a_key_removed() -> None:
    log = CleanedLog(segment_bytes=4000, cleanup_policy="delete")
    keys = [b"x" * 40, b"x" * 41, b"x" * 15, b"x" * 16, b"", None]
    for value in (b"1", b"2"):
        log.log.append_as_leader(build_batch([(NOW_MS, key, value, ()) for key in keys]), 0, NOW_MS)
    log.roll()
    facts = log.clean()
    assert [(record.key, record.value) for record in log.records] == [(key, b"2") for key in keys[:-1]]
    assert dict(facts.counts)[Fate.NO_KEY] == 2


def test_unreadable_log_is_left_unchanged() -> None:
    log = CleanedLog()
    log.put_each("a:1 a:2 a:3 a:4 a:5")
    log.log.segments[0].log.write_at(16, b"\x07")
    before = log.log.describe_files()
    with pytest.raises(
        Uncleanable, match=r"00000000000000000000\.log, byte 0: batch magic 7 is not supported, the highest is 2"
    ):
        log.clean()
    assert log.log.describe_files() == before


# files


def test_cleaned_segments_are_renamed_deleted_and_archived() -> None:
    disk = SimulatedDisk()
    disk.archive = MemoryArchive()
    log = CleanedLog(disk)
    log.put_each("a:1 b:1 a:2 c:1 b:2")
    old = log.disk.read_file(f"{DIRECTORY}/{0:020d}.log")
    facts = log.clean()
    assert log.disk.read_file(f"{DIRECTORY}/{0:020d}.log.deleted") == old
    (cut,) = [cut for cut in facts.cuts if cut.file.endswith(".log")]
    assert disk.archive.get(cut.digest or "") == old
    assert f"{DIRECTORY}/{0:020d}.log" in [file.path for file in log.log.take_deleted_files()]


def test_index_of_a_cleaned_segment_points_at_its_batches() -> None:
    log = CleanedLog(segment_bytes=4000, index_interval_bytes=200)
    for number in range(40):
        log.put(f"k{number % 25}:{number}")
    log.roll()
    log.clean()
    index = log.log.segments[0].offset_index
    last_offsets = {position: header.last_offset for position, header in log.log.segments[0].headers()}
    assert index.entries > 2
    assert list(index.relative_offsets) == [last_offsets[position] for position in index.positions]


class Crash(Exception):
    """The process dies."""


class FragileDisk(SimulatedDisk):
    """Dies at the n-th rename or deletion."""

    def __init__(self) -> None:
        super().__init__()
        self.steps_left: int | None = None

    def _step(self) -> None:
        if self.steps_left is not None:
            self.steps_left -= 1
            if self.steps_left < 0:
                raise Crash

    def rename(self, old: str, new: str) -> None:
        self._step()
        super().rename(old, new)

    def delete(self, path: str, archived: int = 0):
        self._step()
        return super().delete(path, archived)


def test_crash_at_any_step_of_a_pass_loses_no_value() -> None:
    wanted = {"a": "9", "b": "8", "c": None, "d": "4"}
    crashes = 0
    for steps in range(200):
        disk = FragileDisk()
        log = CleanedLog(disk)
        log.put_each("a:1 b:1 a:2 c:1 b:2 c:null a:3 d:4 a:5 b:6 a:7 b:8 a:9 e:1 e:2")
        log.clean()
        log.put_each("e:3 e:4 e:5 e:6 e:7 e:8")
        log.log.flush()
        disk.steps_left = steps
        try:
            log.clean()
        except Crash:
            crashes += 1
        else:
            assert crashes == steps
            break
        finally:
            disk.steps_left = None
        disk.power_loss()
        log.log = log.open(clean_shutdown=False)
        last = {record.key.decode(): record.value for record in log.records if record.key is not None}
        assert {key: None if (value := last[key]) is None else value.decode() for key in wanted} == wanted, steps
        assert last["e"] == b"8"
        offsets = [record.offset for record in log.records]
        assert offsets == sorted(set(offsets)), steps
        names = [name for name, _ in log.log.describe_files()]
        assert not [name for name in names if name.endswith((".cleaned", ".swap", ".deleted"))]
        log.clean()
    assert crashes > 20
