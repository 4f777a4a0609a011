"""Builds: recordings become tables, incrementally, without counting anything twice, whatever is damaged or dies."""

import contextlib
import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from lab.analytics.build import held, unit
from lab.analytics.build.events import EVENTS
from lab.analytics.build.run import CancelledError, Wanted, build
from lab.analytics.build.segments import appended
from lab.analytics.failures import explained
from lab.analytics.store.builds import Store
from lab.analytics.store.files import LocalFiles
from lab.analytics.store.reading import rows
from lab.analytics.tables import Check
from lab.analytics.tables.registry import checked
from lab.recordings.folder import branch_folder
from lab.recordings.fork import fork_recording
from tests.support.analytics.built import ADVANCES, Lab, batches_of, entry, expected


def test_build_reads_new_events_once(lab: Lab) -> None:
    assert lab.build().published == [1]
    assert lab.totals() == expected(lab.recording)
    asked = lab.asked
    assert lab.build().published == [] and lab.asked == asked  # no Spark for nothing
    lab.goes_on(700)
    assert lab.build().published == [2]
    assert lab.totals() == expected(lab.recording)
    newest = lab.store.newest()
    assert newest is not None
    events = rows(lab.store, newest, EVENTS.name)
    assert events is not None and sorted(events["seq"].to_pylist()) == list(range(1, lab.recording.last_seq + 1))
    assert sum(newest.ledger()["r1/main"].kinds().values()) == lab.recording.last_seq
    # a full build gives the same result
    before = lab.totals()
    assert lab.build(is_full=True).published == [3] and lab.totals() == before


def stored_events(lab: Lab) -> list[int]:
    newest = lab.store.newest()
    assert newest is not None
    found = rows(lab.store, newest, EVENTS.name)
    return [] if found is None else sorted(found["seq"].to_pylist())


@pytest.mark.parametrize("is_same_process", [True, False], ids=["goes on", "died"])
def test_tables_of_a_waiting_page_are_built_before_the_events(lab: Lab, *, is_same_process: bool) -> None:
    memory = held.Held()
    assert lab.build(tables=("gold.totals",), held=memory, is_first=True).published == [1]
    first = lab.store.newest()
    assert first is not None
    assert lab.totals() == expected(lab.recording) and stored_events(lab) == []
    lab.store = Store.at(str(lab.store.files.address))
    assert lab.build(held=memory if is_same_process else held.Held()).published == [2]
    newest = lab.store.newest()
    assert newest is not None
    assert lab.totals() == expected(lab.recording)
    assert stored_events(lab) == list(range(1, lab.recording.last_seq + 1))
    # what was made stays
    assert newest.files("gold.totals") == first.files("gold.totals")
    assert lab.build(is_first=True).published == []
    lab.goes_on(300)
    lab.build(tables=("gold.totals",), is_first=True)
    # of a branch whose events are there, new ones are added at once
    assert stored_events(lab) == list(range(1, lab.recording.last_seq + 1))
    assert lab.totals() == expected(lab.recording)


def test_events_between_the_first_tables_and_the_others_are_included(lab: Lab) -> None:
    memory = held.Held()
    lab.build(tables=("gold.totals",), held=memory, is_first=True)
    lab.goes_on(300)
    lab.build(held=memory)
    assert lab.totals() == expected(lab.recording)
    assert stored_events(lab) == list(range(1, lab.recording.last_seq + 1))


def test_fork_of_a_branch_without_stored_events_sees_its_past(lab: Lab) -> None:
    lab.build(tables=("gold.totals",), is_first=True)
    seq = lab.recording.last_seq // 2
    fork = fork_recording(lab.recording, seq, branch_folder("r1", "b2", runs=lab.root / "runs"))
    fork.flush()
    lab.build(entry(fork, "r1/main", seq))
    assert lab.totals("r1/b2") == expected(lab.recording, seq)
    assert stored_events(lab) == list(range(1, lab.recording.last_seq + 1))
    fork.close()


def test_events_that_another_build_reads_after_the_plan_are_not_read_twice(lab: Lab) -> None:
    def another_build(step: str) -> None:
        if step == "planned" and lab.asked == 0:
            lab.build()

    assert lab.build(at=another_build).published == []
    newest = lab.store.newest()
    assert newest is not None
    events = rows(lab.store, newest, EVENTS.name)
    assert events is not None and events.num_rows == lab.recording.last_seq
    assert lab.totals() == expected(lab.recording)


@pytest.mark.parametrize("most", [held.MAX_EVENTS, 0], ids=["in memory", "by files"])
def test_fork_shares_its_past_without_counting_it_twice(lab: Lab, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(held, "MAX_EVENTS", most)
    forked = fork_recording(lab.recording, 900, branch_folder("r1", "main-2", runs=lab.root / "runs"))
    forked.flush()
    child = entry(forked, "r1/main", 900)
    lab.build(entry(lab.recording), child)
    assert lab.totals("r1/main-2") == expected(lab.recording, 900)
    assert lab.totals() == expected(lab.recording)
    newest = lab.store.newest()
    assert newest is not None
    events = rows(lab.store, newest, EVENTS.name)
    assert events is not None and events.num_rows == lab.recording.last_seq
    # what a build of many events has in memory is freed with it
    context = lab.session.sparkContext._jsc
    assert context is not None and context.getPersistentRDDs().isEmpty()
    forked.close()


@pytest.mark.parametrize("most", [held.MAX_EVENTS, 0], ids=["in memory", "by files"])
@pytest.mark.parametrize("severity", ["warn", "stop"])
def test_broken_rule_of_a_table_is_reported(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, most: int, severity: Literal["warn", "stop"]
) -> None:
    monkeypatch.setattr(held, "MAX_EVENTS", most)
    # neither table has few rows
    monkeypatch.setattr(unit, "FEW_ROWS", 0)
    highest = max(offset for offset, _ in expected(lab.recording).values())
    holds, fails = Check("holds", "to_offset >= 0", severity), Check("fails", f"to_offset < {highest}", severity)
    registry = checked((replace(ADVANCES, checks=(holds, fails)),))
    wanted = Wanted((entry(lab.recording),), registry=registry)
    outcome = build(lab.spark, lab.store, wanted)
    # a unit with a row that violates a rule of severity `stop` is not published
    assert outcome.published == ([] if severity == "stop" else [1])
    found = outcome.held if outcome.build is None else outcome.build.file.checks
    assert [(one.rule, one.failed > 0) for one in found] == [("fails", True)]


def test_failed_or_cancelled_build_keeps_the_previous_one(lab: Lab) -> None:
    lab.build()
    before = lab.totals()
    lab.goes_on(300)

    class DiedError(Exception):
        """As by kill."""

    steps: list[str] = []
    assert lab.build(at=steps.append, is_full=True).published == [2]
    for step in steps:
        lab.goes_on(60)
        totals = lab.totals()

        def dies(at: str, step: str = step) -> None:
            if at == step:
                raise DiedError

        with pytest.raises(DiedError):
            lab.build(at=dies)
        newest = lab.store.newest()
        assert newest is not None
        if newest.number == 2:
            assert lab.totals() == totals
    with pytest.raises(CancelledError):
        lab.build(is_cancelled=lambda: True, is_full=True)
    lab.build()
    assert lab.totals() == expected(lab.recording) != before


class SmallDisk(LocalFiles):
    """A folder on a disk with limited space."""

    room = 0

    def create(self, name: str, data: bytes) -> None:
        self._take(len(data))
        super().create(name, data)

    def write(self, name: str, data: bytes) -> None:
        self._take(len(data))
        super().write(name, data)

    def _take(self, count: int) -> None:
        if count > self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= count


def test_full_disk_ends_a_build_and_its_files_are_deleted(lab: Lab) -> None:
    """Wherever it is full: with each step a build gets further before it is."""
    lab.build()
    lab.goes_on(300)
    held, before = lab.totals(), files_of(lab)
    disk = SmallDisk(Path(lab.store.files.address))
    lab.store = Store(disk)
    for room in (0, 400, 1_500, 3_000):
        disk.room = room
        with pytest.raises(OSError, match="No space left") as full:
            lab.build()
        assert explained(full.value, "", Path()).id == "refusal.analysis_disk_full"
        assert lab.totals() == held and files_of(lab) == before, room
    disk.room = 10_000_000
    lab.build()
    assert lab.totals() == expected(lab.recording) != held


def files_of(lab: Lab) -> set[str]:
    """The files of tables. Chunks are named by what they hold, so that one that is left is used by the next build."""
    return {name for name in lab.store.files.names("") if name.startswith(("bronze", "silver", "gold", "_attempts"))}


def test_two_builds_at_once_read_each_event_once(lab: Lab) -> None:
    both = threading.Barrier(2)

    def at(step: str) -> None:
        if step == "planned" and not both.broken:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(30)
            both.abort()

    with ThreadPoolExecutor(2) as pool:
        outcomes = [one.result() for one in [pool.submit(lab.build, at=at) for _ in range(2)]]
    assert sorted(number for one in outcomes for number in one.published) == [1]
    newest = lab.store.newest()
    assert newest is not None and lab.totals() == expected(lab.recording)
    events = rows(lab.store, newest, EVENTS.name)
    assert events is not None and sorted(events["seq"].to_pylist()) == list(range(1, lab.recording.last_seq + 1))
    assert not lab.store.files.names("_attempts")


@pytest.mark.parametrize("damage", ["digit", "length"])
def test_damaged_events_are_quarantined_and_intact_ones_are_read(lab: Lab, damage: str) -> None:
    path = lab.recording.folder.recording / "events-0" / f"{0:020d}.log"
    lab.goes_on(600)
    data = bytearray(path.read_bytes())
    batches = batches_of(bytes(data))
    start, end, first, last = batches[2]
    if damage == "length":
        data[start + 8 : start + 12] = (2**30).to_bytes(4, "big")
    else:
        data[(start + end) // 2] ^= 1
    path.write_bytes(data)
    lab.build()
    newest = lab.store.newest()
    assert newest is not None
    (lost,) = newest.ledger()["r1/main"].damage
    assert (lost.from_seq, lost.to_seq) == (first, last)
    assert lost.reason == ("length" if damage == "length" else "crc")
    events = rows(lab.store, newest, EVENTS.name)
    assert events is not None
    assert sorted(events["seq"].to_pylist()) == [
        seq for seq in range(1, lab.recording.last_seq + 1) if not first <= seq <= last
    ]
    copied = lab.store.files.read(lost.copy)
    assert copied == bytes(data[start:end])


def test_log_is_read_up_to_its_last_whole_batch_wherever_it_is_cut(lab: Lab) -> None:
    folder = lab.recording.folder.recording / "events-0"
    data = (folder / f"{0:020d}.log").read_bytes()
    *_, before, (start, end, first, _) = batches_of(data)
    cut = lab.root / "cut" / "events-0"
    cut.mkdir(parents=True)
    for length in range(start, end, 7):
        (cut / f"{0:020d}.log").write_bytes(data[:length])
        found = appended(cut, (), (), 0, 0)
        assert (found.last_seq, found.damage) == (first - 1, []), length
    assert before[3] == first - 1
