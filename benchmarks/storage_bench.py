"""What a log on real files costs beside the operating system's own calls: one JSON object on standard output.

Both sides of a ratio are measured in turns, so that a busy moment hits both. Medians. All but the opening of a log is
CPU time, that of the system's calls included: one thread works on files in the page cache and waits for nothing, so on
an idle machine it is the time that passes, and on a busy one it is the time that would have passed.
"""

import argparse
import json
import os
import statistics
import struct
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.ending import run
from broker_core.log import LogConfig, UnifiedLog
from broker_core.records.record_batch import build_batch, crc32c, stamp
from broker_core.sim.disk import RealDisk

GIB = 1 << 30
BATCH_BYTES = 16 << 10
NOW_MS = 1_700_000_000_000
#: fsync is not what is compared
NEVER_FLUSH = LogConfig(segment_ms=2**62)
DIRECTORY = "bench-0"


def batch_of(size: int) -> tuple[bytes, int]:
    """A batch of nearly `size` bytes in records of 100 bytes, and how many they are."""
    count = (size - 61) // 110
    return build_batch([(NOW_MS, b"key", b"v" * 100, ())] * count, leader_epoch=0), count


def open_log(folder: Path | str, config: LogConfig = NEVER_FLUSH) -> UnifiedLog:
    """The log in a folder, which was closed cleanly."""
    return UnifiedLog.load(
        RealDisk(folder, physical_fsync=False), DIRECTORY, "bench", 0, config, now_ms=NOW_MS, clean_shutdown=True
    )


def append_ratio(rounds: int, batches: int) -> dict[str, float]:
    """MB/s of ready batches through a log, and of the same bytes through `os.write` and a CRC, page cache warm."""
    batch, count = batch_of(BATCH_BYTES)
    ready = [stamp(batch, base, 0) for base in range(0, batches * count, count)]
    megabytes = batches * len(batch) / 1e6

    def through_the_log(folder: str) -> float:
        log = open_log(folder)
        start_ns = time.process_time_ns()
        for data in ready:
            log.append_as_follower(data, NOW_MS)
        return megabytes / ((time.process_time_ns() - start_ns) / 1e9)

    def bare(folder: str) -> float:
        descriptor = os.open(Path(folder) / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        start_ns = time.process_time_ns()
        for data in ready:
            crc32c(data)
            os.write(descriptor, data)
        found = megabytes / ((time.process_time_ns() - start_ns) / 1e9)
        os.close(descriptor)
        return found

    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        for measure, found in ((through_the_log, ours), (bare, theirs)):
            with tempfile.TemporaryDirectory() as folder:
                found.append(measure(folder))
    log, write = statistics.median(ours), statistics.median(theirs)
    return {"log_mb_per_s": round(log), "write_mb_per_s": round(write), "ratio": round(log / write, 2)}


def written_log(folder: Path, size: int, config: LogConfig = NEVER_FLUSH) -> UnifiedLog:
    """A log of this size in batches of 16 KiB."""
    log = open_log(folder, config)
    batch, count = batch_of(BATCH_BYTES)
    for number in range(size // len(batch)):
        log.append_as_follower(stamp(batch, number * count, 0), NOW_MS)
    return log


def lookups(size: int, count: int) -> dict[str, float]:
    """Microseconds from an offset to the position of its batch, in a log of one segment after the other."""
    with tempfile.TemporaryDirectory() as folder:
        log = written_log(Path(folder), size)
        end = log.log_end_offset
        wanted = [number * 2_654_435_761 % end for number in range(count)]

        def find(offset: int) -> None:
            assert log.read(offset, 1, min_one_message=False).data == b""

        for offset in wanted:
            find(offset)
        found = sorted(_us(partial(find, offset)) for offset in wanted)
        entries = sum(segment.offset_index.entries for segment in log.segments)
    return {
        "log_mb": round(size / 1e6),
        "index_entries": entries,
        "p50_us": round(found[len(found) // 2], 1),
        "p99_us": round(found[len(found) * 99 // 100], 1),
    }


def sparse_log(folder: Path, segments: int) -> int:
    """A closed log of 1 GiB a segment with full indexes. Only the ends of the .log files take room on the disk.

    Returns the log end offset.
    """
    log = open_log(folder)
    log.append_as_follower(build_batch([(NOW_MS, None, b"first", ())], leader_epoch=0), NOW_MS)
    log.close()
    directory = folder / DIRECTORY
    step, per_segment = 4096, GIB // 4096
    for number in range(segments):
        base = number * per_segment
        name = f"{base:020d}"
        last = base + per_segment - 1
        data = build_batch([(NOW_MS + last, None, b"last", ())], base_offset=last, leader_epoch=0)
        with (directory / f"{name}.log").open("r+b" if number == 0 else "w+b") as file:
            file.seek((per_segment - 1) * step)
            file.write(data)
        entries = range(1, per_segment)
        (directory / f"{name}.index").write_bytes(b"".join(struct.pack(">ii", n, n * step) for n in entries))
        (directory / f"{name}.timeindex").write_bytes(
            b"".join(struct.pack(">qi", NOW_MS + base + n, n) for n in entries)
        )
        if number:
            (directory / f"{name}.snapshot").write_bytes((directory / f"{1:020d}.snapshot").read_bytes())
    end = segments * per_segment
    (directory / f"{1:020d}.snapshot").rename(directory / f"{end:020d}.snapshot")
    return end


def opening(gigabytes: int, rounds: int) -> dict[str, float]:
    """Milliseconds to open a log that was closed cleanly."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        end = sparse_log(folder, gigabytes)
        found = []
        for _ in range(rounds):
            start_ns = time.perf_counter_ns()
            log = open_log(folder, LogConfig(segment_ms=2**62, segment_bytes=GIB))
            found.append((time.perf_counter_ns() - start_ns) / 1e6)
            assert log.log_end_offset == end, (log.log_end_offset, end)
            log.close()
    return {"gigabytes": gigabytes, "median_ms": round(statistics.median(found), 1), "worst_ms": round(max(found), 1)}


def curve(counts: tuple[int, ...], appends: int) -> list[dict[str, float]]:
    """The cost of an append and of a read at the tail in a log with this number of segments."""
    points = []
    for segments in counts:
        with tempfile.TemporaryDirectory() as folder:
            log = written_log(
                Path(folder), segments * 4 * BATCH_BYTES, LogConfig(segment_ms=2**62, segment_bytes=1 << 16)
            )
            log.config = NEVER_FLUSH
            batch, count = batch_of(BATCH_BYTES)
            append_us, read_us = [], []
            for _ in range(appends):
                data = stamp(batch, log.log_end_offset, 0)
                append_us.append(_us(partial(log.append_as_follower, data, NOW_MS)))
                read_us.append(_us(partial(log.read, log.log_end_offset - count, 1 << 20)))
            points.append(
                {
                    "segments": len(log.segments),
                    "append_us": round(statistics.median(append_us), 1),
                    "tail_read_us": round(statistics.median(read_us), 1),
                }
            )
    return points


def _us(call: Callable[[], Any]) -> float:
    start_ns = time.process_time_ns()
    call()
    return (time.process_time_ns() - start_ns) / 1000


def measure(quick: bool) -> dict[str, Any]:
    """All figures."""
    points = curve((10, 100, 1_000), 300)
    return {
        "append": append_ratio(5 if quick else 11, 2_000),
        "lookup": lookups(GIB // 8 if quick else GIB, 5_000),
        "opening": opening(2 if quick else 10, 5),
        "curve": points,
        "append_ratio_of_segments": round(points[-1]["append_us"] / points[0]["append_us"], 2),
        "tail_read_ratio_of_segments": round(points[-1]["tail_read_us"] / points[0]["tail_read_us"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures logs on real files.")
    parser.add_argument("--quick", action="store_true", help="smaller logs, fewer rounds")
    print(json.dumps(measure(parser.parse_args().quick), indent=1))


if __name__ == "__main__":
    run(main)
