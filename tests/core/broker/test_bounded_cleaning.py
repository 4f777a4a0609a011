"""Cleaning a large log: each step of the engine does a bounded part of the work, and the log is whole meanwhile."""

import copy
from collections import Counter
from typing import Any

import pytest

from broker_core.events.log import CheckpointWritten, LogCleaned, LogRepaired
from broker_core.log.cleaner import cleaner
from broker_core.log.cleaner.batch_cleaner import BatchCleaner
from broker_core.log.cleaner.map_filling import MapFilling
from broker_core.log.recovery import slices
from broker_core.records.record_batch import iterate
from broker_core.run import Run
from broker_core.sim.disk import MemoryArchive
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun

CREATE = "kafka-topics.sh --create --topic prices --replica-assignment 1"
SETTINGS = "--config cleanup.policy=compact --config segment.bytes=2000 --config min.cleanable.dirty.ratio=0.01"
FOLDER = "broker-1/prices-0"
BATCHES = 90
SLICE = 10
PIECE = 500


class Work:
    """What each step of the engine has done: batches read or rewritten, bytes archived."""

    def __init__(self) -> None:
        self.batches: Counter[int] = Counter()
        self.bytes: Counter[int] = Counter()


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SLICE_BATCHES", SLICE)
    monkeypatch.setattr(cleaner, "PIECE_BYTES", PIECE)
    monkeypatch.setattr(cleaner, "FILE_BATCHES", 1)


def dirty_log(**config: Any) -> ShellRun:
    """Ninety batches of nine keys in some segments; the cleaner has not seen them yet."""
    shell = ShellRun(log_cleaner_backoff_ms="5000", **config)
    shell.at(f"{CREATE} {SETTINGS}")
    shell.at("producer open p --acks all --idempotence false --batch-size 0")
    shell.at("producer send p prices-0 " + " ".join(f"k{number % 9}:{number:0100d}" for number in range(BATCHES)))
    shell.journal()
    return shell


def begin(shell: ShellRun) -> None:
    """Returns between two slices, when the first new segment is written and none replaced."""
    while not cleaned_files(shell):
        shell.after(0.001)
    assert shell.run.view["replicas"]["prices-0@b1"]["cleaned"] is None


def cleaned_files(shell: ShellRun) -> list[str]:
    return [name for name in shell.disk.list(FOLDER) if name.endswith(".cleaned")]


def stored(shell: ShellRun) -> dict[str, bytes]:
    """The files of the log, without those that will be unlinked."""
    names = [name for name in shell.disk.list(FOLDER) if not name.endswith(".deleted")]
    return {name: shell.disk.read_file(f"{FOLDER}/{name}") for name in names}


def records(shell: ShellRun) -> list[tuple[int, bytes | None]]:
    """(offset, value) of each record that a reader finds at this instant."""
    log = shell.run._cluster.brokers[1].partitions["prices-0"].log
    found: list[tuple[int, bytes | None]] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        read = log.read(offset, 100_000)
        found += [(record.offset, record.value) for record in iterate(read.data)]
        offset = read.next_offset
    return found


def test_sliced_pass_does_what_one_at_once_does(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = dirty_log()
    at_once.after(20)
    (whole,) = at_once.events(LogCleaned)
    monkeypatch.setattr(slices, "SLICE_BATCHES", SLICE)
    sliced = dirty_log()
    sliced.after(20)
    (event,) = sliced.events(LogCleaned)
    assert event == whole and len(event.groups) > 1
    assert stored(sliced) == stored(at_once)


@pytest.mark.usefixtures("small_slices")
def test_log_is_cleaned_in_bounded_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = dirty_log()
    work = Work()
    clean, take, put = BatchCleaner.clean, MapFilling._take, MemoryArchive.put

    def count(method: Any) -> Any:
        def counting(*given: Any) -> Any:
            work.batches[shell.run._kernel.steps] += 1
            return method(*given)

        return counting

    def count_bytes(archive: MemoryArchive, data: bytes) -> str:
        work.bytes[shell.run._kernel.steps] += len(data)
        return put(archive, data)

    monkeypatch.setattr(BatchCleaner, "clean", count(clean))
    monkeypatch.setattr(MapFilling, "_take", count(take))
    monkeypatch.setattr(MemoryArchive, "put", count_bytes)
    shell.disk.archive = archive = MemoryArchive()
    before = {name: data for name, data in stored(shell).items() if name.endswith(".log")}
    shell.after(20)
    assert sum(work.batches.values()) > BATCHES and max(work.batches.values()) <= SLICE
    assert len(work.bytes) > 2 and max(work.bytes.values()) <= SLICE * PIECE
    (event,) = shell.events(LogCleaned)
    archived: dict[str, bytes] = {}
    for path, position, length, digest in event.cuts:
        name = path.rpartition("/")[2]
        assert length <= PIECE and position == len(archived.get(name, b""))
        archived[name] = archived.get(name, b"") + archive.get(digest)
    closed = dict(sorted(before.items())[: len(event.groups)])
    assert {name: data for name, data in archived.items() if name.endswith(".log")} == closed
    assert differences(shell.run) == []


@pytest.mark.usefixtures("small_slices")
def test_log_is_read_and_written_between_two_slices() -> None:
    shell = dirty_log()
    before = records(shell)
    begin(shell)
    assert records(shell) == before
    assert shell.at("producer send p prices-0 k0:new")[-1].startswith("prices-0")
    assert cleaned_files(shell) and differences(shell.run) == []
    shell.after(20)
    assert len(records(shell)) < len(before) and not cleaned_files(shell)
    assert len(shell.events(LogCleaned)) == 1 and differences(shell.run) == []


@pytest.mark.usefixtures("small_slices")
def test_broker_killed_between_two_slices_has_the_whole_log_and_cleans_it_later() -> None:
    shell = dirty_log()
    before = records(shell)
    begin(shell)
    left = [f"{FOLDER}/{name}" for name in cleaned_files(shell)]
    shell.at("broker kill 1")
    shell.after(30)
    shell.at("broker start 1")
    repairs = [event.file for event in shell.events(LogRepaired)]
    assert set(left) <= set(repairs)
    assert not cleaned_files(shell) and records(shell) == before
    shell.after(30)
    assert shell.run.view["replicas"]["prices-0@b1"]["cleaned"] is not None
    assert len(records(shell)) < len(before) and differences(shell.run) == []


@pytest.mark.usefixtures("small_slices")
def test_cleaning_continues_after_a_restored_checkpoint_and_makes_the_same_events() -> None:
    shell = dirty_log()
    begin(shell)
    shell.journal()
    saved = shell.run.checkpoint()
    assert saved is not None
    disk, store = copy.deepcopy(shell.disk), copy.deepcopy(shell.run._cluster.zookeeper.store)
    again = Run.restore(saved, disk=disk, zk=store)
    for run in (shell.run, again):
        run.advance(run.now_us + 20_000_000)
    assert shell.run.view["replicas"]["prices-0@b1"]["cleaned"] is not None
    assert again.digest() == shell.run.digest()
    assert {name: disk.read_file(f"{FOLDER}/{name}") for name in disk.list(FOLDER)} == {
        name: shell.disk.read_file(f"{FOLDER}/{name}") for name in shell.disk.list(FOLDER)
    }


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize(
    "line",
    [
        "kafka-configs.sh --alter --entity-type topics --entity-name prices --add-config cleanup.policy=delete",
        "kafka-topics.sh --delete --topic prices",
    ],
)
def test_pass_ends_without_effect_when_its_log_is_not_compacted_any_more(line: str) -> None:
    shell = dirty_log()
    begin(shell)
    shell.at(line)
    shell.after(30)
    assert not shell.events(LogCleaned) and not cleaned_files(shell)
    assert differences(shell.run) == []


@pytest.mark.usefixtures("small_slices")
def test_truncation_below_the_cleaned_segments_ends_the_pass() -> None:
    shell = dirty_log()
    begin(shell)
    partition = shell.run._cluster.brokers[1].partitions["prices-0"]
    partition.truncate_to(20, "a test wants it")
    assert not cleaned_files(shell)
    shell.after(30)
    assert partition.log.log_end_offset == 20 and differences(shell.run) == []
    assert all(event.to_offset <= 20 for event in shell.events(LogCleaned))


@pytest.mark.usefixtures("small_slices")
def test_log_cleaned_on_demand_during_a_pass_is_cleaned_once() -> None:
    shell = dirty_log()
    begin(shell)
    shell.at("log clean prices-0")
    assert not cleaned_files(shell)
    shell.after(30)
    assert len(shell.events(LogCleaned)) == 1 and differences(shell.run) == []


def test_log_of_very_many_segments_is_replaced_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaner, "SEGMENTS_PER_SWAP", 2)
    shell = dirty_log()
    shell.after(20)
    parts = shell.events(LogCleaned, CheckpointWritten)
    cleaned = [event for event in parts if isinstance(event, LogCleaned)]
    assert len(cleaned) > 2 and all(sum(len(group[1]) for group in event.groups) <= 2 for event in cleaned)
    assert len({(event.from_offset, event.to_offset) for event in cleaned}) == 1
    assert sum(event.records_before for event in cleaned) == cleaned[0].to_offset
    offsets = [event for event in parts if isinstance(event, CheckpointWritten) and "cleaner" in event.file]
    assert [event.entries for event in offsets][-1] == (("prices-0", cleaned[0].to_offset),)
    assert parts.index(offsets[-1]) > parts.index(cleaned[-1])
    assert differences(shell.run) == []
