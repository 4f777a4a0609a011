"""Handouts: an instant that is set aside once, and copies of it that cost links."""

import os
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from broker_core.log import LEADER_EPOCH_CHECKPOINT
from broker_core.log.producers import producer_recovery
from lab.recordings.checkpoints import Checkpoints
from lab.recordings.folder import BranchFolder
from lab.recordings.recording import Recording
from lab.recordings.summary import read_summary, write_summary
from lab.runtime import engine
from lab.runtime.classes.handouts import copy_handout, handout_folder, make_handout
from lab.runtime.pacer import Pacer
from lab.texts.refusal import Refusal
from tests.support.recorded_runs import busy_run, folder_of, run_for, run_lines

COPIES = 40
AT = 2_345


def contents(root: Path) -> dict[Path, bytes]:
    """Every file below a folder."""
    return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def disk_bytes(root: Path) -> int:
    """What a folder takes on the disk: each file once, however many names it has."""
    files = {status.st_ino: status.st_blocks * 512 for path in root.rglob("*") if (status := path.stat()).st_nlink}
    return sum(files.values())


@pytest.fixture
def handout(tmp_path: Path) -> BranchFolder:
    """The instant after event 2345 of a run of 2600, whose engine has ended."""
    recording, live = busy_run(tmp_path / "runs", 2_600)
    live.checkpoint()
    made = handout_folder("kite", 1, data=tmp_path)
    make_handout(recording, AT, made)
    live.abandon()
    recording.close()
    return made


def copy(root: Path, handout: BranchFolder, number: int) -> BranchFolder:
    target = folder_of(root / "runs", run=f"learner{number}")
    copy_handout(handout, target)
    return target


def test_copy_shows_the_instant_that_was_given(tmp_path: Path, handout: BranchFolder) -> None:
    parent = Recording(folder_of(tmp_path / "runs"))
    recording = Recording(copy(tmp_path, handout, 1))
    assert AT <= recording.last_seq < AT + 100
    assert recording.records(1, AT) == parent.records(1, AT)
    assert msgspec.json.encode(recording.view_at(AT)) == msgspec.json.encode(parent.view_at(AT))
    assert recording.segments()[0] == parent.segments()[0]
    assert recording.config == parent.config


def test_copies_are_hard_links_and_use_almost_no_disk(tmp_path: Path, handout: BranchFolder) -> None:
    one = copy(tmp_path, handout, 0)
    before = disk_bytes(tmp_path)
    copies = [copy(tmp_path, handout, number) for number in range(1, COPIES)]
    added = disk_bytes(tmp_path) - before
    sealed = [path for path in handout.recording.glob("*-0/*.log") if path.stat().st_size]
    assert len(sealed) >= 2
    for path in sealed:
        names = [path, *(each.recording / path.relative_to(handout.recording) for each in (one, *copies))]
        assert len({name.stat().st_ino for name in names}) == 1
        assert path.stat().st_nlink >= COPIES + 1
    logs = sum(path.stat().st_size for path in sealed)
    own = [path for path in one.recording.rglob("*") if path.is_file() and path.stat().st_nlink == 1]
    assert sum(path.stat().st_size for path in own) < logs / 4
    assert added < 20_000_000


def test_acts_in_a_copy_affect_nothing_else(tmp_path: Path, handout: BranchFolder) -> None:
    acting, other = copy(tmp_path, handout, 1), copy(tmp_path, handout, 2)
    before = contents(handout.path), contents(other.path)
    recording = Recording(acting)
    live = engine.wake(recording, Pacer(), "")
    assert live.run.seq >= AT
    run_lines(live, ["broker kill 2", "kafka-topics.sh --create --topic more --partitions 1 --replication-factor 1"])
    live.close()
    recording.close()
    assert recording.last_seq > AT
    assert (contents(handout.path), contents(other.path)) == before
    again = Recording(acting)
    assert again.last_seq == recording.last_seq
    assert AT <= Recording(other).last_seq < recording.last_seq


def test_copies_with_the_same_inputs_have_the_same_events(tmp_path: Path, handout: BranchFolder) -> None:
    made = []
    for number in (1, 2):
        recording = Recording(copy(tmp_path, handout, number))
        live = engine.wake(recording, Pacer(), "")
        run_lines(live, ["broker kill 2"])
        made.append(recording.records(1, recording.last_seq))
        live.abandon()
    assert made[0] == made[1] and len(made[0]) > AT


def test_engine_of_a_copy_begins_at_the_handouts_checkpoint(tmp_path: Path) -> None:
    """Acceptance statement 15: the engine of a copy executes nothing again."""
    recording, live = busy_run(tmp_path / "runs", 500)
    run_lines(live, ["broker kill 2"])  # no command runs now: an engine can be saved
    made = handout_folder("kite", 1, data=tmp_path)
    make_handout(recording, recording.last_seq, made)
    live.abandon()
    taken = copy(tmp_path, made, 1)
    assert Checkpoints(taken).last_seq() == Recording(taken).last_seq >= recording.last_seq


def test_state_of_a_running_engine_is_given_without_executing_its_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording, live = busy_run(tmp_path / "runs", 1_500)
    saving = live.save_for_handout()
    assert saving is not None and saving.result() == recording.last_seq
    given_seq = recording.last_seq
    made = handout_folder("kite", 1, data=tmp_path)
    with monkeypatch.context() as asleep:
        asleep.setattr(engine, "wake", lambda *given: pytest.fail("an engine was built"))
        make_handout(recording, given_seq, made)
    run_for(live, 3_000_000)
    recording.flush()
    taken = Recording(copy(tmp_path, made, 1))
    assert taken.last_seq == given_seq
    again = engine.wake(taken, Pacer(), "")
    run_for(again, 3_000_000)
    assert taken.last_seq > given_seq + 100
    last_seq = min(taken.last_seq, recording.last_seq)
    assert taken.records(1, last_seq) == recording.records(1, last_seq)
    live.abandon()
    again.abandon()


def test_copy_opens_without_looking_for_producers_in_its_logs(
    tmp_path: Path, handout: BranchFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty copies open at once, and a log may have a hundred thousand events."""
    taken = copy(tmp_path, handout, 1)
    with monkeypatch.context() as unread:
        unread.setattr(producer_recovery, "_replay", lambda *given: pytest.fail("the batches of a log were read"))
        recording = Recording(taken)
    assert recording.last_seq >= AT
    live = engine.wake(recording, Pacer(), "")
    run_for(live, 1_000_000)
    live.close()
    recording.close()
    again = Recording(taken)
    assert again.last_seq > AT + 100 and len(again.records(1, again.last_seq)) == again.last_seq


def test_page_of_a_copy_shows_it_without_reading_its_events(
    tmp_path: Path, handout: BranchFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Recording(copy(tmp_path, handout, 1))
    expected = msgspec.json.encode(taken.view_at(taken.last_seq))
    with monkeypatch.context() as unread:
        unread.setattr(Recording, "stored", lambda *given: pytest.fail("events were read"))
        assert taken.encoded_view() == expected
        before = read_summary(taken.folder)
        write_summary(taken, plays=True)
    assert before.last_seq == taken.last_seq and before.topics == ["orders"] and sum(before.density) == taken.last_seq
    assert read_summary(taken.folder) == msgspec.structs.replace(before, plays=True)


def test_handout_waits_for_the_hardware_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in it is made final at its end, so no file is synced earlier."""
    recording, live = busy_run(tmp_path / "runs", 500)
    run_lines(live, ["broker kill 2"])
    recording.roll()
    saving = live.save_for_handout()
    assert saving is not None and saving.result() == recording.last_seq
    synced: Counter[Path] = Counter()
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced[Path(f"/proc/self/fd/{descriptor}").readlink()] += 1
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    made = handout_folder("kite", 1, data=tmp_path)
    make_handout(recording, recording.last_seq, made)
    monkeypatch.undo()
    # An epoch that begins is stored at once.
    files = {path: n for path, n in synced.items() if not path.is_dir() and path.name != LEADER_EPOCH_CHECKPOINT}
    assert files and set(files.values()) == {1}, files
    assert (made.recording / ".kafka_cleanshutdown").exists(), "a copy needs no recovery"
    assert Recording(copy(tmp_path, made, 1)).last_seq == recording.last_seq
    live.abandon()


def test_copy_is_independent_of_the_run_and_the_handout(tmp_path: Path, handout: BranchFolder) -> None:
    taken = copy(tmp_path, handout, 1)
    expected = Recording(copy(tmp_path, handout, 2)).encoded_view()
    for root in (handout.path.parent, folder_of(tmp_path / "runs").path):
        for path in sorted(root.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    recording = Recording(taken)
    assert recording.encoded_view() == expected
    live = engine.wake(recording, Pacer(), "")
    run_lines(live, ["broker kill 2"])
    live.abandon()


def test_handout_that_cannot_be_made_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording, live = busy_run(tmp_path / "runs", 500)
    made = handout_folder("kite", 1, data=tmp_path)

    def broken(recording: Recording) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("lab.runtime.classes.handouts._seal", broken)
    with pytest.raises(OSError, match="full"):
        make_handout(recording, 400, made)
    assert not made.path.parent.exists()
    monkeypatch.undo()
    make_handout(recording, 400, made)
    before = contents(made.path)
    with pytest.raises(FileExistsError):
        make_handout(recording, 450, made)
    assert contents(made.path) == before
    live.abandon()


@pytest.mark.parametrize("classroom", ["", "..", "a/b", "A", "x" * 40])
def test_invalid_folder_name_of_a_class_is_refused(tmp_path: Path, classroom: str) -> None:
    with pytest.raises(Refusal):
        handout_folder(classroom, 1, data=tmp_path)
