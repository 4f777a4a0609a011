"""A broker dies, or its machine does, at each single byte that it writes to a log of three segments."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from broker_core.log import LogConfig, UnifiedLog
from broker_core.records.control_record import ControlRecordType, build_end_transaction_marker
from broker_core.records.record_batch import build_batch
from broker_core.sim.disk import SimulatedDisk, SimulatedFile

DIRECTORY = "broker-1/orders-0"
CONFIG = LogConfig(segment_bytes=2_100, index_interval_bytes=100, segment_index_bytes=240)
NOW_MS = 1_000
ROUNDS = 12


class Death(BaseException):
    """The process is killed in the middle of a write."""


class Write(NamedTuple):
    """One append: the batch as it is sent, by whom, in which leader epoch."""

    data: bytes
    is_client: bool
    epoch: int


def history() -> list[Write]:
    """Plain batches, transactions that commit, abort and overlap, three leader epochs."""
    writes = []
    for number in range(ROUNDS):
        epoch = number // 5
        transactional: dict[str, Any] = {"producer_epoch": 0, "is_transactional": True}
        writes.append(Write(build_batch([(NOW_MS + number, b"k", b"v" * 30, ())]), True, epoch))
        for producer_id in (1, 2):
            records = [(NOW_MS + number, b"t", b"w" * (10 * producer_id), ())] * 2
            batch = build_batch(records, producer_id=producer_id, base_sequence=2 * number, **transactional)
            writes.append(Write(batch, True, epoch))
        for producer_id, control_type in ((2, ControlRecordType.ABORT), (1, ControlRecordType(number % 2))):
            marker = build_end_transaction_marker(
                control_type, timestamp=NOW_MS + number, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0
            )
            writes.append(Write(marker, False, epoch))
    return writes


HISTORY = history()


def open_log(disk: SimulatedDisk, recovery_point: int = 0) -> UnifiedLog:
    return UnifiedLog.load(
        disk,
        DIRECTORY,
        "orders",
        0,
        CONFIG,
        now_ms=NOW_MS,
        clean_shutdown=False,
        recovery_point=recovery_point,
        topic_id="A" * 21 + "Q",
    )


def append(log: UnifiedLog, write: Write) -> None:
    info = log.append_as_leader(write.data, write.epoch, NOW_MS, write.is_client)
    for roll in info.rolled:
        log.flush(roll.new_base_offset)


def what_it_says(log: UnifiedLog) -> dict[str, object]:
    """Everything about a log that must not depend on how it was stopped."""
    return {
        "batches": b"".join(segment.log.read(0, segment.size) for segment in log.segments),
        "segments": [segment.base_offset for segment in log.segments if segment.size],
        "aborted": [entry for segment in log.segments for entry in segment.transaction_index.transactions],
        "open": log.producer_state.transactions.open,
        "producers": sorted((entry.producer_id, entry.last_sequence) for entry in log.producer_state.producers),
        "epochs": log.leader_epoch_cache.entries,
        "end": log.log_end_offset,
    }


def untouched() -> tuple[list[dict[str, Any]], int]:
    """The contents of the log after each number of appends, and how many bytes all of them write."""
    disk, states = SimulatedDisk(), []
    log = open_log(disk)
    states.append(what_it_says(log))
    for write in HISTORY:
        append(log, write)
        states.append(what_it_says(log))
    assert len(log.segments) == 3
    with pytest.MonkeyPatch.context() as patch:
        written = dies_after(patch, 10**9)
        log = open_log(SimulatedDisk())
        for write in HISTORY:
            append(log, write)
        return states, written()


def dies_after(patch: pytest.MonkeyPatch, budget: int) -> Callable[[], int]:
    """From now on only this many bytes reach the files: the write that exceeds them is torn. Returns how many did."""
    written = 0

    append_whole, write_whole = SimulatedFile.append, SimulatedFile.write_at

    def torn(write: Callable[[bytes], object], data: bytes) -> object:
        nonlocal written
        left = budget - written
        written += min(len(data), left)
        if len(data) > left:
            write(data[:left])
            raise Death
        return write(data)

    patch.setattr(
        SimulatedFile,
        "append",
        lambda file, *parts: torn(lambda data: append_whole(file, data), b"".join(parts)),
    )
    patch.setattr(
        SimulatedFile,
        "write_at",
        lambda file, position, data: torn(lambda data: write_whole(file, position, data), data),
    )
    return lambda: written


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("how", ["process", "machine"])
def test_recovery_keeps_valid_batches_and_nothing_else(how: str, rounds: Callable[[int], int]) -> None:
    states, total = untouched()
    assert total > 3_000
    count = rounds(total)
    for number in range(count):
        budget = number * total // count
        disk = SimulatedDisk()
        done = flushed = 0
        with pytest.MonkeyPatch.context() as patch:
            log = open_log(disk)
            dies_after(patch, budget)
            with pytest.raises(Death):
                for write in HISTORY:
                    append(log, write)
                    done += 1
                    flushed = log.recovery_point
        if how == "machine":
            if log.active_segment.base_offset > flushed:
                # A broker flushes a full segment in the same breath; in between, Kafka too would lose all of it but the
                # name of the next one.
                continue
            disk.power_loss()
        # The broker had written its recovery point down just before.
        log = open_log(disk, recovery_point=flushed)
        if how == "process":
            # The batch that was being written may have come through, if only its index entry was torn.
            assert log.log_end_offset in (states[done]["end"], states[min(done + 1, len(HISTORY))]["end"])
        else:
            assert flushed <= log.log_end_offset <= states[done + 1]["end"]
        came_through = max(n for n, state in enumerate(states) if state["end"] == log.log_end_offset)
        found, expected = what_it_says(log), states[came_through]
        assert found == expected, f"after {budget} of {total} bytes"
        for segment in log.segments:
            ends = {position: header.last_offset for position, header in segment.headers()}
            index = segment.offset_index
            entries = zip(index.relative_offsets, index.positions, strict=True)
            assert all(ends[position] == segment.base_offset + relative for relative, position in entries)
        for write in HISTORY[came_through:]:
            append(log, write)
        assert what_it_says(log)["end"] == states[-1]["end"]
        assert what_it_says(log)["aborted"] == states[-1]["aborted"]
