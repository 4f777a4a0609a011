"""Removing and recovering large logs: each step of the engine does a bounded part of the work."""

from collections import Counter
from typing import Any

import pytest

from broker_core.events.log import FilesUnlinked, LogOpened, LogRepaired
from broker_core.events.world import BrokerStarted
from broker_core.log.files import removal
from broker_core.log.recovery import segment_recovery, slices
from broker_core.records.record_batch import ensure_valid
from broker_core.run import Run
from broker_core.sim.disk import MemoryArchive
from broker_core.zk.memory_store import MemoryStore
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun

PIECE = 1_000
BATCHES = 40
SENT = " ".join(f"k{number}:{number:0100d}" for number in range(BATCHES))
FOLDER = "broker-1/orders-0"


class StepArchive(MemoryArchive):
    """Counts the bytes that it is given in each step of the engine."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run
        self.bytes: Counter[int] = Counter()
        self.largest = 0

    def put(self, data: bytes) -> str:
        self.bytes[self._run._kernel.steps] += len(data)
        self.largest = max(self.largest, len(data))
        return super().put(data)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> ShellRun:
    """Forty batches of 170 bytes in one segment at brokers 1 and 2, and an archive of removed bytes."""
    monkeypatch.setattr(removal, "SLICE_BYTES", PIECE)
    monkeypatch.setattr(removal, "OTHER_FILE_BYTES", 100)
    monkeypatch.setattr(slices, "SLICE_BATCHES", 10)
    monkeypatch.setattr(slices, "LOG_BATCHES", 1)
    shell = ShellRun(log_initial_task_delay_ms="30000", log_segment_delete_delay_ms="1000")
    shell.disk.archive = StepArchive(shell.run)
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2")
    shell.at("producer open p --acks all --idempotence false --batch-size 0")
    shell.at(f"producer send p orders-0 {SENT}")
    shell.after(1)
    shell.journal()
    return shell


def archive_of(shell: ShellRun) -> StepArchive:
    archive = shell.disk.archive
    assert isinstance(archive, StepArchive)
    return archive


def archived(shell: ShellRun, unlinked: list[FilesUnlinked], suffix: str) -> bytes:
    """The bytes of a file according to the events, piece by piece."""
    pieces = [cut for event in unlinked for cut in event.cuts if cut[0].endswith(suffix)]
    data = b""
    for _, position, length, digest in pieces:
        assert position == len(data)
        data += archive_of(shell).get(digest).ljust(length, b"\0")
    return data


def test_folder_of_a_deleted_log_is_archived_and_removed_in_bounded_steps(shell: ShellRun) -> None:
    log = shell.disk.read_file(f"{FOLDER}/{0:020}.log")
    assert len(log) > 5 * PIECE
    shell.at("kafka-topics.sh --delete --topic orders")
    shell.after(60)
    assert not [name for name in shell.disk.list("broker-1") if name.endswith("-delete")]
    assert shell.run.view["deleted_logs"] == {} and differences(shell.run) == []
    archive = archive_of(shell)
    assert max(archive.bytes.values()) <= PIECE + 10 * 100 and len(archive.bytes) > 5
    unlinked = [event for event in shell.events(FilesUnlinked) if event.broker == "b1"]
    assert archived(shell, unlinked, f"{0:020}.log") == log
    assert sum(event.count for event in unlinked) == len({cut[0] for event in unlinked for cut in event.cuts})


def roll_and_delete(shell: ShellRun) -> bytes:
    """Has retention delete the segment; returns its bytes."""
    log = shell.disk.read_file(f"{FOLDER}/{0:020}.log")
    shell.at("file del.json", '{"partitions":[{"topic":"orders","partition":0,"offset":-1}]}')
    shell.at("kafka-configs.sh --alter --entity-type topics --entity-name orders --add-config "
             "retention.ms=1,file.delete.delay.ms=1000")  # fmt: skip
    shell.at("task retention")
    assert shell.disk.exists(f"{FOLDER}/{0:020}.log.deleted")
    return log


def test_deleted_segment_is_unlinked_in_bounded_steps_and_stays_complete_until_the_last(shell: ShellRun) -> None:
    log = roll_and_delete(shell)
    name = f"{FOLDER}/{0:020}.log.deleted"
    archive = archive_of(shell)
    while not archive.bytes:
        shell.after(0.001)
    assert shell.disk.read_file(name) == log, "a part is archived, and the file is still whole"
    shell.after(10)
    assert not shell.disk.exists(name)
    assert max(archive.bytes.values()) <= PIECE + 10 * 100
    unlinked = [event for event in shell.events(FilesUnlinked) if event.broker == "b1"]
    assert archived(shell, unlinked, ".log.deleted") == log
    assert shell.run.view["replicas"]["orders-0@b1"]["deleted_files"] == {}


def test_removal_continues_after_a_restored_checkpoint_and_makes_the_same_events(shell: ShellRun) -> None:
    roll_and_delete(shell)
    archive = archive_of(shell)
    while not archive.bytes:
        shell.after(0.001)
    disk, zk = shell.disk, shell.run._cluster.zookeeper.store
    assert isinstance(zk, MemoryStore)
    saved = shell.run.checkpoint()
    assert saved is not None
    kept = {f"{FOLDER}/{name}": disk.read_file(f"{FOLDER}/{name}") for name in disk.list(FOLDER)}
    shell.after(5)
    first = shell.events(FilesUnlinked)
    for path, data in kept.items():
        if not disk.exists(path):
            disk.replace_file(path, data)
    again = Run.restore(saved, disk=disk, zk=zk)
    again.advance(shell.run.now_us)
    second = [envelope[4] for envelope, _, _ in again.take() if isinstance(envelope[4], FilesUnlinked)]
    of_broker = [event for event in second if event.broker == "b1"]
    assert of_broker and of_broker == [event for event in first if event.broker == "b1"]


def test_broker_killed_between_two_slices_removes_the_rest_at_its_next_start(shell: ShellRun) -> None:
    log = roll_and_delete(shell)
    archive = archive_of(shell)
    while not archive.bytes:
        shell.after(0.001)
    shell.at("broker kill 1")
    shell.after(30)
    assert shell.disk.read_file(f"{FOLDER}/{0:020}.log.deleted") == log
    archive.bytes.clear()
    shell.at("broker start 1")
    shell.after(30)
    assert not [name for name in shell.disk.list(FOLDER) if name.endswith(".deleted")]
    assert max(archive.bytes.values()) <= PIECE + 10 * 100
    repairs = [one for one in shell.events(LogRepaired) if one.file.endswith(f"{0:020}.log.deleted")]
    assert b"".join(archive.get(one.digest) for one in repairs) == log
    assert differences(shell.run) == []


@pytest.fixture
def checked(shell: ShellRun, monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How many batches recovery has checked, by step of the engine."""
    counts: Counter[int] = Counter()

    def ensure_and_count(*given: Any) -> Any:
        counts[shell.run._kernel.steps] += 1
        return ensure_valid(*given)

    monkeypatch.setattr(segment_recovery, "ensure_valid", ensure_and_count)
    return counts


def begin_recovery(shell: ShellRun, checked: Counter[int]) -> None:
    """Kills broker 1, starts it again and returns between two slices of its recovery."""
    shell.at("broker kill 1")
    shell.after(30)
    shell.journal()
    command = shell.run.submit("broker start 1")
    while not checked:
        shell.after(0.001)
    shell.run.interrupt(command)
    assert not shell.run.running_commands


def test_logs_are_recovered_in_bounded_steps(shell: ShellRun, checked: Counter[int]) -> None:
    begin_recovery(shell, checked)
    assert not shell.run.can_be_saved and shell.run.checkpoint() is None
    assert shell.run.view["nodes"]["b1"]["state"] == "starting"
    assert shell.at("producer send p orders-0 x:y")[-1].startswith("orders-0"), "the others serve meanwhile"
    shell.after(30)
    assert sum(checked.values()) >= BATCHES and max(checked.values()) <= 10
    assert shell.run.view["nodes"]["b1"]["state"] == "up" and differences(shell.run) == []
    opened = [event.replica for event in shell.events(LogOpened) if event.replica.endswith("@b1")]
    assert "orders-0@b1" in opened and len(opened) == len(set(opened))
    assert shell.run.checkpoint() is not None


def test_broker_killed_while_it_recovers_recovers_again(shell: ShellRun, checked: Counter[int]) -> None:
    begin_recovery(shell, checked)
    shell.at("broker kill 1")
    assert shell.run.can_be_saved
    checked.clear()
    shell.after(30)
    shell.at("broker start 1")
    shell.after(30)
    assert sum(checked.values()) >= BATCHES
    assert shell.at('wait "isr orders-0 == [1,2]" 30s') is not None
    assert shell.run.view["nodes"]["b1"]["state"] == "up" and differences(shell.run) == []


@pytest.mark.parametrize("cut", ["broker freeze 1", "link cut b1 zk"])
@pytest.mark.parametrize("seconds", [1, 60])
def test_broker_without_zookeeper_while_it_recovers_starts_later(
    shell: ShellRun, checked: Counter[int], cut: str, seconds: int
) -> None:
    # Another log is opened after the pause: its configuration is in ZooKeeper.
    shell.at("kafka-topics.sh --create --topic payments --replica-assignment 1:2")
    begin_recovery(shell, checked)
    shell.at(cut)
    assert shell.exit_code == 0
    shell.after(seconds)
    assert shell.events(BrokerStarted) == []
    shell.at(cut.replace("freeze", "thaw").replace("cut", "restore"))
    assert shell.exit_code == 0
    shell.after(30)
    assert shell.run.view["nodes"]["b1"]["state"] == "up" and differences(shell.run) == []
    shell.at('wait "isr orders-0 == [1,2]" 30s')
    assert shell.exit_code == 0


def test_broker_stopped_while_it_recovers_recovers_at_its_next_start(shell: ShellRun, checked: Counter[int]) -> None:
    begin_recovery(shell, checked)
    shell.at("broker stop 1")
    shell.after(5)
    assert shell.run.view["nodes"]["b1"]["state"] == "down"
    shell.at("broker start 1")
    shell.after(30)
    assert shell.run.view["nodes"]["b1"]["state"] == "up" and differences(shell.run) == []
