"""What a log is after its broker died: nothing that was written whole is lost, and nothing else is believed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker_core.eras import LogBehaviour
from broker_core.log import LogConfig, UnifiedLog
from broker_core.log.files.storage_fault import StorageFault
from broker_core.records.record_batch import build_batch, iterate
from broker_core.sim.disk import Disk, RealDisk, SimulatedDisk
from tests.support.paths import ROOT

DIRECTORY = "broker-1/orders-0"
CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=100, segment_index_bytes=240)


def open_log(disk: Disk, clean_shutdown: bool = False, **arguments: Any) -> UnifiedLog:
    settings: dict = {"now_ms": 1000} | arguments
    return UnifiedLog.load(disk, DIRECTORY, "orders", 0, CONFIG, clean_shutdown=clean_shutdown, **settings)


def written_log(disk: Disk) -> UnifiedLog:
    """Twelve batches of two records over several segments, some with a producer id, three leader epochs."""
    log = open_log(disk)
    for i in range(12):
        records = [(1000 + 10 * i, b"k%d" % i, b"v" * (10 + 3 * i), ()), (1005 + 10 * i, None, b"w", ())]
        idempotent: dict[str, Any] = (
            {"producer_id": 4000, "producer_epoch": 0, "base_sequence": i} if i % 2 == 0 else {}
        )
        log.append_as_leader(build_batch(records, **idempotent), i // 4, 1000)
    return log


def log_files(disk: Disk) -> dict[str, bytes]:
    return {name: disk.read_file(f"{DIRECTORY}/{name}") for name in disk.list(DIRECTORY)}


def all_records(log: UnifiedLog) -> list[tuple[int, bytes | None]]:
    found: list[tuple[int, bytes | None]] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        read = log.read(offset, 1 << 20)
        found += [(record.offset, record.value) for record in iterate(read.data)]
        offset = read.next_offset
    return found


def copy_of(files: dict[str, bytes]) -> SimulatedDisk:
    disk = SimulatedDisk()
    for name, data in files.items():
        disk.replace_file(f"{DIRECTORY}/{name}", data)
    return disk


def test_killed_broker_loses_nothing_that_it_wrote() -> None:
    disk = SimulatedDisk()
    log = written_log(disk)
    records = all_records(log)
    log.close(clean=False)
    reopened = open_log(disk)
    assert reopened.repairs == ()
    assert all_records(reopened) == records
    assert reopened.leader_epoch_cache.entries == ((0, 0), (1, 8), (2, 16))


@pytest.mark.parametrize("recovery_point", [0, 16])
def test_tail_torn_at_any_byte_loses_only_the_torn_batch(recovery_point: int) -> None:
    disk = SimulatedDisk()
    log = written_log(disk)
    records = all_records(log)
    ends = [(batch.size + position, batch.last_offset + 1) for position, batch in log.active_segment.headers()]
    base_offset = log.active_segment.base_offset
    name = f"{base_offset:020d}.log"
    files = log_files(disk)
    assert len(ends) >= 3 and base_offset >= 16
    for length in range(len(files[name]) + 1):
        damaged = copy_of(files | {name: files[name][:length]})
        reopened = open_log(damaged, recovery_point=recovery_point)
        whole = max([(end, offset) for end, offset in ends if end <= length], default=(0, base_offset))
        assert reopened.log_end_offset == whole[1], length
        assert reopened.active_segment.size == whole[0]
        assert sum(cut.length for cut in reopened.repairs if cut.file.endswith(name)) == length - whole[0]
        assert all_records(reopened) == [record for record in records if record[0] < whole[1]]
        assert reopened.append_as_leader(build_batch([(0, b"k", b"v", ())]), 3, 1000).first_offset == whole[1]


def test_garbage_and_zeros_past_the_end_are_truncated() -> None:
    disk = SimulatedDisk()
    log = written_log(disk)
    name = f"{log.active_segment.base_offset:020d}.log"
    files = log_files(disk)
    for tail in (bytes(500), b"\x01\x02\x03" * 100, files[name][:80], b"\xff" * 61):
        reopened = open_log(copy_of(files | {name: files[name] + tail}))
        assert all_records(reopened) == all_records(log)
        assert reopened.active_segment.size == len(files[name])


def test_flipped_bit_ends_the_log_before_its_batch() -> None:
    disk = SimulatedDisk()
    log = written_log(disk)
    first, second = log.segments[0], log.segments[1]
    name = f"{second.base_offset:020d}.log"
    files = log_files(disk)
    damaged = bytearray(files[name])
    damaged[-1] ^= 1
    reopened = open_log(copy_of(files | {name: bytes(damaged)}))
    last_position, last = list(second.headers())[-1]
    assert reopened.log_end_offset == last.base_offset
    assert [segment.base_offset for segment in reopened.segments] == [first.base_offset, second.base_offset]
    assert reopened.active_segment.size == last_position
    assert {cut.file.rpartition("/")[2] for cut in reopened.repairs} > {name}
    believed = open_log(copy_of(files | {name: bytes(damaged)}), recovery_point=log.segments[2].base_offset)
    assert believed.log_end_offset == log.log_end_offset


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".snapshot"])
@pytest.mark.parametrize("how", ["missing", "rubbish"])
def test_derived_files_are_rebuilt_from_the_log(suffix: str, how: str) -> None:
    disk = SimulatedDisk()
    log = written_log(disk)
    records = all_records(log)
    expected = {(entry.producer_id, entry.last_sequence) for entry in log.producer_state.producers}
    files = log_files(disk)
    for name in [name for name in files if name.endswith(suffix)]:
        if how == "missing":
            del files[name]
        else:
            files[name] = b"\xee" * len(files[name])
    reopened = open_log(copy_of(files))
    assert all_records(reopened) == records
    assert {(entry.producer_id, entry.last_sequence) for entry in reopened.producer_state.producers} == expected
    for offset in range(24):
        assert reopened.offset_for_timestamp(1000 + 5 * offset) is not None
    for segment in reopened.segments:
        positions = {position: header.last_offset for position, header in segment.headers()}
        entries = zip(segment.offset_index.relative_offsets, segment.offset_index.positions, strict=True)
        assert all(positions[position] == segment.base_offset + relative for relative, position in entries)


def test_missing_epoch_file_is_rebuilt_from_the_batches() -> None:
    disk = SimulatedDisk()
    written_log(disk)
    files = log_files(disk)
    del files["leader-epoch-checkpoint"]
    assert open_log(copy_of(files)).leader_epoch_cache.entries == ((0, 0), (1, 8), (2, 16))


@pytest.mark.parametrize("has_time_index", [True, False])
def test_index_too_small_for_recovery_fails_the_start(has_time_index: bool) -> None:
    """As in Kafka, which dies of "Attempt to append to a full time index (size = 2)." then."""
    disk = SimulatedDisk()
    wide = LogConfig(segment_bytes=500, segment_index_bytes=240, behaviour=LogBehaviour(has_time_index=has_time_index))
    log = UnifiedLog.load(disk, DIRECTORY, "orders", 0, wide, clean_shutdown=False, now_ms=1000)
    for i in range(5):
        log.append_as_leader(build_batch([(1000 + i, None, b"v" * 20, ())]), 0, 1000)
    log.close(clean=False)
    # Room for two entries, and a slot for the time index's final one; the five batches need four.
    suffix, index_bytes = (".timeindex", 36) if has_time_index else (".index", 16)
    narrow = msgspec.structs.replace(wide, index_interval_bytes=1, segment_index_bytes=index_bytes)
    with pytest.raises(StorageFault, match="the index is full with 2 entries") as refused:
        UnifiedLog.load(disk, DIRECTORY, "orders", 0, narrow, clean_shutdown=False, now_ms=1000)
    assert refused.value.path == f"{DIRECTORY}/00000000000000000000{suffix}"
    assert not refused.value.is_io_error


def test_clean_shutdown_only_trims_files() -> None:
    disk = SimulatedDisk()
    log = written_log(disk)
    records, end = all_records(log), log.log_end_offset
    log.close()
    files = log_files(disk)
    assert all(len(data) < 240 for name, data in files.items() if name.endswith("index"))
    assert f"{end:020d}.snapshot" in files
    reopened = open_log(disk, clean_shutdown=True)
    assert (reopened.log_end_offset, reopened.recovery_point) == (end, end)
    assert all_records(reopened) == records
    assert reopened.active_segment.offset_index.file.open().size == 240
    reopened.close()
    assert {name: data for name, data in log_files(disk).items() if name in files} == files


def test_orphaned_files_are_removed() -> None:
    disk = SimulatedDisk()
    log = written_log(disk)
    log.close()
    for name in ("00000000000000000999.index", "00000000000000000000.log.cleaned", "00000000000000000003.log.deleted"):
        disk.replace_file(f"{DIRECTORY}/{name}", b"rest")
    reopened = open_log(disk, clean_shutdown=True)
    assert all_records(reopened) == all_records(log)
    assert not [name for name in disk.list(DIRECTORY) if "999" in name or name.endswith(("cleaned", "deleted"))]


def test_log_that_ends_below_its_start_offset_is_recreated_there() -> None:
    disk = SimulatedDisk()
    written_log(disk)
    reopened = open_log(disk, log_start_offset=500)
    assert (reopened.log_start_offset, reopened.log_end_offset, reopened.size_bytes) == (500, 500, 0)
    assert reopened.leader_epoch_cache.entries == ()


_WRITER = """
import sys
from broker_core.log import LogConfig, UnifiedLog
from broker_core.records.record_batch import build_batch
from broker_core.sim.disk import RealDisk

log = UnifiedLog.load(RealDisk(sys.argv[1]), "events-0", "events", 0, LogConfig(), now_ms=0, clean_shutdown=False)
base = 0
while True:
    log.append_as_follower(build_batch([(10 * o, None, b"e" * 80, ()) for o in range(base, base + 512)],
                                       base_offset=base, leader_epoch=0), 0)
    base += 512
    print(base, flush=True)
"""


def test_recording_survives_the_death_of_its_process(tmp_path: Path) -> None:
    """A process that writes batches of 512 records is killed: what it had reported is there, in order."""
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(tmp_path)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert writer.stdout is not None
    reported = 0
    while reported < 20 * 512:
        reported = int(json.loads(writer.stdout.readline()))
    writer.send_signal(signal.SIGKILL)
    reported = max([reported, *(int(line) for line in writer.stdout.read().split())])
    writer.wait()
    log = UnifiedLog.load(RealDisk(tmp_path), "events-0", "events", 0, LogConfig(), now_ms=0, clean_shutdown=False)
    assert log.log_end_offset >= reported
    assert log.log_end_offset % 512 == 0
    for offset in (0, 511, 512, reported - 1):
        found = log.offset_for_timestamp(10 * offset)
        assert found is not None and found.offset == offset
        assert offset in [record.offset for record in iterate(log.read(offset, 1).data)]
