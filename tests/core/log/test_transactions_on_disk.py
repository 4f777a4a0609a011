"""Transactions in a log: how far read_committed consumers may read, which transactions they must skip, who may end one,
and what survives a shutdown.
"""

from typing import Any

import pytest

from broker_core.clients.consumer.consumer import visible_records
from broker_core.errors import Errors, KafkaException
from broker_core.log import LogConfig, UnifiedLog
from broker_core.log.cleaner.record_filter import empty_batch
from broker_core.log.index.transaction_index import AbortedTransaction
from broker_core.records.control_record import ControlRecordType, build_end_transaction_marker
from broker_core.records.record_batch import build_batch, parse_header
from broker_core.sim.disk import Disk, SimulatedDisk

DIRECTORY = "broker-1/orders-0"
NOW_MS = 1_000


def open_log(disk: Disk, segment_bytes: int = 100_000, **arguments: Any) -> UnifiedLog:
    settings: dict = {"now_ms": NOW_MS, "clean_shutdown": False} | arguments
    config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=0, segment_index_bytes=240)
    return UnifiedLog.load(disk, DIRECTORY, "orders", 0, config, **settings)


class Producer:
    """Writes transactions into a log, as a producer and its coordinator do."""

    def __init__(self, log: UnifiedLog, producer_id: int, epoch: int = 0) -> None:
        self.log = log
        self.producer_id = producer_id
        self.epoch = epoch
        self.sequence = 0

    def send(self, count: int = 1) -> int:
        batch = build_batch(
            [(NOW_MS, b"k", b"v" * 20, ())] * count,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
            is_transactional=True,
        )
        self.sequence += count
        return self.log.append_as_leader(batch, 0, NOW_MS).first_offset

    def marker(self, control_type: ControlRecordType, coordinator_epoch: int = 0) -> bytes:
        return build_end_transaction_marker(
            control_type,
            timestamp=NOW_MS,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            coordinator_epoch=coordinator_epoch,
        )

    def end(self, control_type: ControlRecordType, coordinator_epoch: int = 0) -> tuple[AbortedTransaction, ...]:
        info = self.log.append_as_leader(self.marker(control_type, coordinator_epoch), 0, NOW_MS, is_client=False)
        return info.aborted_transactions


COMMIT, ABORT = ControlRecordType.COMMIT, ControlRecordType.ABORT


def last_stable_offset(log: UnifiedLog) -> int:
    return log.last_stable_offset(log.log_end_offset)


def all_aborted(log: UnifiedLog) -> list[AbortedTransaction]:
    return [transaction for segment in log.segments for transaction in segment.transaction_index.transactions]


def test_last_stable_offset_waits_for_the_oldest_open_transaction() -> None:
    log = open_log(SimulatedDisk())
    log.append_as_leader(build_batch([(NOW_MS, None, b"plain", ())]), 0, NOW_MS)
    first, second = Producer(log, 1), Producer(log, 2)
    first.send()
    second.send()
    assert last_stable_offset(log) == 1
    first.end(COMMIT)
    log.high_watermark_moved(log.log_end_offset)
    assert last_stable_offset(log) == 2
    second.end(ABORT)
    log.high_watermark_moved(log.log_end_offset)
    assert last_stable_offset(log) == log.log_end_offset == 5


def test_ended_transaction_is_stable_only_when_its_marker_is_replicated() -> None:
    log = open_log(SimulatedDisk())
    producer = Producer(log, 1)
    producer.send()
    producer.end(COMMIT)
    log.high_watermark_moved(1)
    assert log.last_stable_offset(1) == 0
    log.high_watermark_moved(2)
    assert log.last_stable_offset(2) == 2


def test_abort_is_indexed_with_the_last_stable_offset_at_that_time() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    older, aborting = Producer(log, 4000), Producer(log, 4001)
    older.send()
    aborting.send(2)
    assert not disk.exists(f"{DIRECTORY}/{0:020d}.txnindex")
    assert aborting.end(ABORT) == (AbortedTransaction(4001, 1, 3, 0),)
    assert older.end(COMMIT) == ()
    assert all_aborted(log) == [AbortedTransaction(4001, 1, 3, 0)]
    content = disk.read_file(f"{DIRECTORY}/{0:020d}.txnindex")
    assert content.hex() == "0000" + "0000000000000fa1" + f"{1:016x}" + f"{3:016x}" + f"{0:016x}"


def test_marker_without_a_transaction_is_written_and_changes_nothing() -> None:
    log = open_log(SimulatedDisk())
    assert Producer(log, 1).end(ABORT) == ()
    assert (log.log_end_offset, last_stable_offset(log)) == (1, 1)
    assert all_aborted(log) == []


def test_fetch_returns_the_aborted_transactions_of_its_range() -> None:
    log = open_log(SimulatedDisk(), segment_bytes=400)
    transactions = []
    for producer_id in range(6):
        producer = Producer(log, producer_id)
        first = producer.send(2)
        producer.end(ABORT)
        transactions.append((producer_id, first, first + 2))
    assert len(log.segments) > 2
    for offset in range(log.log_end_offset):
        read = log.read(offset, 1)
        heard = {transaction[:3] for transaction in log.aborted_transactions(offset, read)}
        needed = {entry for entry in transactions if entry[2] >= offset and entry[1] < read.next_offset}
        assert heard >= needed
        assert all(last >= offset for _, _, last in heard)
        assert len(heard) <= len(needed) + 1
    whole = log.read(0, 100_000)
    assert {entry[0] for entry in log.aborted_transactions(0, whole)} == {
        producer_id for producer_id, first, _ in transactions if first < log.segments[1].base_offset
    }


def test_zombie_coordinator_or_producer_cannot_end_a_transaction() -> None:
    log = open_log(SimulatedDisk())
    producer = Producer(log, 1, epoch=3)
    producer.send()
    producer.end(COMMIT, coordinator_epoch=5)
    producer.send()
    with pytest.raises(KafkaException) as fenced:
        producer.end(ABORT, coordinator_epoch=4)
    assert fenced.value.error is Errors.TRANSACTION_COORDINATOR_FENCED
    with pytest.raises(KafkaException) as stale:
        Producer(log, 1, epoch=2).end(ABORT, coordinator_epoch=6)
    assert stale.value.error is Errors.INVALID_PRODUCER_EPOCH
    assert last_stable_offset(log) == 0
    Producer(log, 1, epoch=4).end(ABORT, coordinator_epoch=6)
    assert all_aborted(log) == [AbortedTransaction(1, 2, 3, 4)]


def test_batch_outside_the_open_transaction_is_refused() -> None:
    log = open_log(SimulatedDisk())
    Producer(log, 1).send()
    plain = build_batch([(NOW_MS, None, b"v", ())], producer_id=1, producer_epoch=0, base_sequence=1)
    with pytest.raises(KafkaException) as refused:
        log.append_as_leader(plain, 0, NOW_MS)
    assert refused.value.error is Errors.INVALID_TXN_STATE


def test_follower_builds_the_same_index_and_state() -> None:
    leader, follower = open_log(SimulatedDisk(), segment_bytes=500), open_log(SimulatedDisk(), segment_bytes=500)
    for producer_id in range(8):
        producer = Producer(leader, producer_id)
        producer.send()
        if producer_id != 5:
            producer.end(ABORT if producer_id % 2 else COMMIT)
    while follower.log_end_offset < leader.log_end_offset:
        follower.append_as_follower(leader.read(follower.log_end_offset, 1).data, NOW_MS)
    assert all_aborted(follower) == all_aborted(leader) != []
    assert follower.first_unstable_offset == leader.first_unstable_offset
    follower.high_watermark_moved(follower.log_end_offset)
    assert last_stable_offset(follower) == 10


def test_marker_that_compaction_has_emptied_ends_nothing() -> None:
    marker = Producer(open_log(SimulatedDisk()), 7).marker(ABORT)
    emptied = empty_batch(parse_header(marker))
    follower = open_log(SimulatedDisk())
    assert follower.append_as_follower(emptied, NOW_MS).producers == ()
    assert follower.log_end_offset == 1
    assert follower.producer_state.is_empty
    assert visible_records(emptied, 0, ((7, 0),)) == ([], 1)


@pytest.mark.parametrize("how", ["clean", "kill", "power loss", "without snapshots", "without indexes"])
def test_open_and_aborted_transactions_survive_a_stop(how: str) -> None:
    disk = SimulatedDisk()
    log = open_log(disk, segment_bytes=400)
    open_since = Producer(log, 99)
    open_since.send()
    for producer_id in range(6):
        producer = Producer(log, producer_id)
        producer.send()
        producer.end(ABORT)
    log.flush()
    before, bases = all_aborted(log), [segment.base_offset for segment in log.segments]
    assert len(before) == 6 and len(bases) > 2
    if how == "clean":
        log.close()
    elif how == "power loss":
        disk.power_loss()
    for name in disk.list(DIRECTORY):
        if (how == "without snapshots" and name.endswith(".snapshot")) or (
            how == "without indexes" and name.endswith(("index", ".snapshot"))
        ):
            disk.delete(f"{DIRECTORY}/{name}")
    reopened = open_log(disk, segment_bytes=400, clean_shutdown=how == "clean")
    assert all_aborted(reopened) == before
    assert [segment.base_offset for segment in reopened.segments] == bases
    assert last_stable_offset(reopened) == reopened.first_unstable_offset == 0
    open_again = Producer(reopened, 99)
    assert open_again.end(ABORT) == (AbortedTransaction(99, 0, 13, 14),)


def test_truncation_removes_markers_and_their_effect() -> None:
    log = open_log(SimulatedDisk(), segment_bytes=400)
    for producer_id in range(6):
        producer = Producer(log, producer_id)
        producer.send()
        producer.end(ABORT)
    log.truncate_to(7)
    log.high_watermark_moved(7)
    assert [entry.last_offset for entry in all_aborted(log)] == [1, 3, 5]
    assert last_stable_offset(log) == log.first_unstable_offset == 6
    log.truncate_to(6)
    log.high_watermark_moved(6)
    assert last_stable_offset(log) == 6 and log.first_unstable_offset is None
    producer = Producer(log, 9)
    assert producer.send() == 6
    assert producer.end(ABORT) == (AbortedTransaction(9, 6, 7, 8),)


def test_transactions_below_the_log_start_do_not_hold_back_readers() -> None:
    log = open_log(SimulatedDisk())
    Producer(log, 1).send(3)
    log.append_as_leader(build_batch([(NOW_MS, None, b"v", ())]), 0, NOW_MS)
    log.increment_log_start_offset(2)
    assert last_stable_offset(log) == 2


@pytest.mark.parametrize(
    ("content", "position"),
    [(AbortedTransaction(1, 0, 1, 2), 0), (AbortedTransaction(1, 0, 1, 2), 34)],
)
def test_transaction_index_of_another_segment_is_rebuilt(content: AbortedTransaction, position: int) -> None:
    disk = SimulatedDisk()
    log = open_log(disk, segment_bytes=400)
    for producer_id in range(6):
        producer = Producer(log, producer_id)
        producer.send()
        producer.end(ABORT)
    log.close()
    right = all_aborted(log)
    second = log.segments[1]
    path = second.transaction_index.path
    disk.replace_file(path, disk.read_file(path)[:position] + content.encode())
    reopened = open_log(disk, segment_bytes=400, clean_shutdown=True)
    assert all_aborted(reopened) == right
    assert [(fact.file, fact.repair.value, fact.position) for fact in reopened.repairs if fact.file == path] == [
        (path, "rebuilt", position)
    ]
