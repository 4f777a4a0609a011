"""What the log layer costs: one JSON object on standard output; CPU time, so that a busy machine changes little.

    python -m benchmarks.log_bench [--quick]

The simulated disk is measured, so that the figures are those of the code. `seek` is on real files: the time from a
timestamp or an offset to the bytes, in a log of records as a recording writes them.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable

from benchmarks.ending import run
from broker_core.log import LogConfig, UnifiedLog
from broker_core.log.append.append_check import analyze
from broker_core.log.append.validator import Append, LogValidator
from broker_core.log.cleaner import Fate, OffsetMap, clean, cleanable_offsets, log_to_clean
from broker_core.records.record_batch import build_batch, crc32c, iterate
from broker_core.sim.disk import Disk, RealDisk, SimulatedDisk

_BATCH_RECORDS = 512
_PRODUCED_RECORDS = 150
_NOW_MS = 1_700_000_000_000


def open_log(disk: Disk, directory: str, config: LogConfig | None = None) -> UnifiedLog:
    """A log as the core opens it."""
    return UnifiedLog.load(disk, directory, "bench", 0, config or LogConfig(), now_ms=0, clean_shutdown=True)


def median_us(measure: Callable[[], float], rounds: int) -> float:
    """The median of `rounds` measurements."""
    return round(statistics.median(measure() for _ in range(rounds)), 2)


def per_call_us(call: Callable[[int], object], count: int) -> float:
    """The mean CPU time of `count` calls."""
    start = time.process_time_ns()
    for i in range(count):
        call(i)
    return (time.process_time_ns() - start) / count / 1000


def small_batch() -> bytes:
    """One record of 100 bytes, as a producer without batching sends it."""
    return build_batch([(_NOW_MS, b"key-1", b"v" * 100, ())])


def measure_calls(count: int, rounds: int) -> dict[str, float]:
    """The calls on the hot path of replication, each on a log of `count` small batches."""
    batch = small_batch()

    def leader() -> float:
        log = open_log(SimulatedDisk(), "bench-0")
        return per_call_us(lambda i: log.append_as_leader(batch, 0, _NOW_MS), count)

    source = open_log(SimulatedDisk(), "bench-0")
    for _ in range(count):
        source.append_as_leader(batch, 0, _NOW_MS)
    stored = [source.read(offset, 1).data for offset in range(count)]

    def follower() -> float:
        log = open_log(SimulatedDisk(), "bench-0")
        return per_call_us(lambda i: log.append_as_follower(stored[i], _NOW_MS), count)

    end = source.log_end_offset
    return {
        "append_as_leader_us": median_us(leader, rounds),
        "append_as_follower_us": median_us(follower, rounds),
        "read_at_end_us": median_us(lambda: per_call_us(lambda i: source.read(end, 1 << 20), count), rounds),
        "read_last_batch_us": median_us(lambda: per_call_us(lambda i: source.read(end - 1, 1 << 20), count), rounds),
        "read_below_bound_us": median_us(
            lambda: per_call_us(lambda i: source.read(end - 3, 1 << 20, end - 2), count), rounds
        ),
        "read_next_batch_us": median_us(lambda: per_call_us(lambda i: source.read(i % (end // 2), 1), count), rounds),
        "read_any_batch_us": median_us(
            lambda: per_call_us(lambda i: source.read(i * 7919 % (end - 1), 1), count), rounds
        ),
        "bytes_available_us": median_us(lambda: per_call_us(lambda i: source.bytes_available(end - 1), count), rounds),
        "crc_of_the_batch_us": median_us(lambda: per_call_us(lambda i: crc32c(batch), count), rounds),
    }


def produced_batch(is_even: bool) -> bytes:
    """150 records of 100 bytes as a producer sends them; else of 60 to 140 bytes, their times in any order."""
    sizes = [100 if is_even else 60 + number * 37 % 81 for number in range(_PRODUCED_RECORDS)]
    times = [number // 3 if is_even else number * 53 % 97 for number in range(_PRODUCED_RECORDS)]
    return build_batch(
        [
            (_NOW_MS + time_ms, b"key-%04d" % number, bytes([number % 251]) * size, ())
            for number, (time_ms, size) in enumerate(zip(times, sizes, strict=True))
        ]
    )


def measure_records(count: int, rounds: int) -> dict[str, float]:
    """Records per second: parsed one by one into objects, and checked as a leader does before it appends them.

    The check is all of it: framing, size, CRC, header, keys, timestamps, stamping the offset.
    """
    validator = LogValidator(LogConfig(), "bench-0")
    found: dict[str, float] = {}
    for name, is_even in (("", True), ("_uneven", False)):
        batch = produced_batch(is_even)

        def parse(_: int, batch: bytes = batch) -> None:
            assert len(list(iterate(batch))) == _PRODUCED_RECORDS

        def validate(next_offset: int, batch: bytes = batch) -> None:
            sent = analyze(batch, 1 << 20, is_client=True)
            validator.validate(Append(batch, sent.batches, sent.codec, next_offset, 0, _NOW_MS, is_client=True))

        for kind, call in (("parsed", parse), ("validated", validate)):
            batch_us = median_us(lambda call=call: per_call_us(call, count), rounds)  # type: ignore[misc]
            found[f"{kind}{name}_per_s"] = round(_PRODUCED_RECORDS / batch_us * 1e6)
    return found


def measure_seeks(records: int, seeks: int) -> dict[str, float]:
    """Random seeks in a log of `records` records of 80 bytes in batches of 512; the cost of writing and opening it."""
    value = b"e" * 72
    config = LogConfig(max_message_bytes=1 << 24, segment_ms=2**62)
    with tempfile.TemporaryDirectory() as folder:
        log = open_log(RealDisk(folder), "events-0", config)
        start = time.process_time()
        for base in range(0, records, _BATCH_RECORDS):
            count = min(_BATCH_RECORDS, records - base)
            batch = build_batch(
                [(10 * offset, None, value, ()) for offset in range(base, base + count)],
                base_offset=base,
                leader_epoch=0,
            )
            log.append_as_follower(batch, 0)
        write_s = time.process_time() - start
        start = time.process_time()
        log = UnifiedLog.load(RealDisk(folder), "events-0", "bench", 0, config, now_ms=0, clean_shutdown=False)
        recover_s = time.process_time() - start
        assert log.log_end_offset == records
        by_time, by_offset = [], []
        for i in range(seeks):
            wanted = i * 2_654_435_761 % records
            start_ns = time.process_time_ns()
            found = log.offset_for_timestamp(10 * wanted)
            assert found is not None and found.offset == wanted
            middle_ns = time.process_time_ns()
            data = log.read(wanted, 1).data
            assert any(record.offset == wanted for record in iterate(data))
            by_time.append((middle_ns - start_ns) / 1000)
            by_offset.append((time.process_time_ns() - middle_ns) / 1000)
    return {
        "records": records,
        "write_records_per_s": round(records / write_s),
        "open_after_kill_ms": round(recover_s * 1000, 1),
        "seek_by_timestamp_p50_us": round(statistics.median(by_time), 1),
        "seek_by_timestamp_p99_us": round(sorted(by_time)[len(by_time) * 99 // 100], 1),
        "read_record_at_offset_p50_us": round(statistics.median(by_offset), 1),
        "read_record_at_offset_p99_us": round(sorted(by_offset)[len(by_offset) * 99 // 100], 1),
    }


def measure_compaction(records: int) -> dict[str, float]:
    """One pass over a log of `records` records of 100 bytes in batches of 150, of which about a third are the last of
    their key, in all batches; and one over what is left, where all stay.
    """
    config = LogConfig(cleanup_policy="compact", segment_bytes=1 << 22)
    log = open_log(SimulatedDisk(), "bench-0", config)
    # A linear congruential generator, whose high digits scatter.
    keys, state = [], 1
    for _ in range(records):
        state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        keys.append(b"key-%08d" % ((state >> 33) % (records // 3)))
    for base in range(0, records, 150):
        batch = [(_NOW_MS + place, key, b"v" * 80, ()) for place, key in enumerate(keys[base : base + 150])]
        log.append_as_leader(build_batch(batch), 0, _NOW_MS)
    log.roll(_NOW_MS)

    def records_per_s() -> tuple[int, float]:
        cleanable = log_to_clean(log, cleanable_offsets(log, None, log.log_end_offset, _NOW_MS), _NOW_MS)
        start = time.process_time()
        counts = dict(clean(cleanable, _NOW_MS, OffsetMap()).counts)
        cpu_s = time.process_time() - start
        assert counts[Fate.KEPT] == len(set(keys))
        return sum(counts.values()), round(sum(counts.values()) / cpu_s)

    read, first = records_per_s()
    kept, second = records_per_s()
    return {"records": read, "records_kept": kept, "records_per_s": first, "records_per_s_when_all_stay": second}


def measure(quick: bool) -> dict[str, object]:
    """All figures."""
    small, large = (20_000, 200_000) if quick else (20_000, 2_000_000)
    few, many = measure_seeks(small, 400), measure_seeks(large, 400)
    return {
        "calls": measure_calls(2_000 if quick else 20_000, 5),
        "records": measure_records(100 if quick else 1_000, 9),
        "seeks": [few, many],
        "compaction": measure_compaction(60_000 if quick else 600_000),
        "seek_p99_ratio": round(many["seek_by_timestamp_p99_us"] / few["seek_by_timestamp_p99_us"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the log layer.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the records")
    print(json.dumps(measure(parser.parse_args().quick), indent=2))


if __name__ == "__main__":
    run(main)
