"""Logs that were believed although they are damaged: what is asked of them is answered or refused in one sentence."""

import struct

import pytest

from broker_core.errors import Errors, KafkaException
from broker_core.log import LogConfig, UnifiedLog
from broker_core.log.cleaner import OffsetMap, Uncleanable, clean, cleanable_offsets, log_to_clean
from broker_core.records.record_batch import build_batch
from broker_core.sim.disk import SimulatedDisk
from tests.support.log_files import open_log

FOLDER = "broker-1/orders-0"
SMALL = LogConfig(segment_bytes=400, segment_index_bytes=400, index_interval_bytes=60, cleanup_policy="compact")


def stopped(disk: SimulatedDisk) -> None:
    log = open_log(disk, SMALL)
    for n in range(12):
        log.append_as_leader(build_batch([(1000 + n, b"k%d" % n, b"v", ())]), 0, 0)
    log.close()


def append(log: UnifiedLog) -> int:
    return log.append_as_leader(build_batch([(5000, b"k", b"v", ())]), 0, 0).last_offset


@pytest.mark.parametrize("left_bytes", [1, 11, 16, 17, 40, 60, 69])
def test_segment_with_a_partial_batch_accepts_appends(left_bytes: int) -> None:
    """With the clean-shutdown marker the log is not checked: the torn batch stays, and the next one is appended after
    it.
    """
    disk = SimulatedDisk()
    stopped(disk)
    (*_, newest) = [name for name in disk.list(FOLDER) if name.endswith(".log")]
    disk.replace_file(f"{FOLDER}/{newest}", disk.read_file(f"{FOLDER}/{newest}")[:left_bytes])
    log = open_log(disk, SMALL)
    assert append(log) == log.log_end_offset - 1
    log.close()


@pytest.mark.parametrize("name", [f"{2**63}.log", "9" * 25 + ".index", "9" * 250 + ".log"])
def test_segment_name_beyond_the_largest_offset_fails_the_load(name: str) -> None:
    disk = SimulatedDisk()
    stopped(disk)
    disk.replace_file(f"{FOLDER}/{name}", b"")
    with pytest.raises(KafkaException, match=f"{name[:20]}.*the file name must begin with an offset"):
        open_log(disk, SMALL)


def test_index_entry_out_of_range_is_refused_with_the_file_name() -> None:
    disk = SimulatedDisk()
    stopped(disk)
    log = open_log(disk, SMALL)
    log.active_segment.max_timestamp, log.active_segment.offset_of_max_timestamp = 10**12, log.log_end_offset + 2**31
    with pytest.raises(KafkaException, match=r"\.timeindex: offset \d+ is out of the range") as refused:
        log.roll(0)
    assert refused.value.error is Errors.UNKNOWN_SERVER_ERROR
    log.close()
    assert open_log(disk, SMALL).log_end_offset == 12


def test_cleaner_skips_a_log_with_an_invalid_segment() -> None:
    disk = SimulatedDisk()
    stopped(disk)
    log = open_log(disk, SMALL)
    log.roll(0)
    first = log.segments[0]
    # A CRC below the recovery point is not checked.
    position, _ = list(first.headers())[-1]
    first.log.write_at(position + 23, struct.pack(">i", 2**31 - 1))
    with pytest.raises(Uncleanable, match="out of the range"):
        clean(log_to_clean(log, cleanable_offsets(log, None, 12, 0), 0), 0, OffsetMap())
    assert not [name for name, _ in log.describe_files() if name.endswith(".cleaned")]
