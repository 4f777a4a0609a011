"""Branches: what they share, that they go their own way, and cores that wake."""

import errno
import itertools
import os
import shutil
import socket
from pathlib import Path

import msgspec
import pytest

from broker_core.sim.disk import DirectoryArchive, RealDisk
from broker_core.zk.memory_store import MemoryStore
from lab.actions.fork_run import next_name
from lab.recordings.checkpoints import Checkpoints
from lab.recordings.disk import disk_image
from lab.recordings.fork import fork_recording
from lab.recordings.logs import RecordedLogs
from lab.recordings.process_copy import ProcessCopy
from lab.recordings.recording import Recording
from lab.runtime import engine
from lab.runtime.live_run import LiveRun
from lab.runtime.machine.descriptors import use_all_descriptors
from lab.runtime.pacer import Pacer
from lab.texts.refusal import Refusal
from tests.support.recorded_runs import busy_run, folder_of, open_again, open_files, run_lines, run_until_events


def contents(root: Path) -> dict[Path, bytes]:
    """Every file below a folder."""
    return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def fork(recording: Recording, seq: int, root: Path, branch: str = "main-2") -> tuple[Recording, LiveRun]:
    forked = fork_recording(recording, seq, folder_of(root, branch))
    live = engine.wake(forked, Pacer(), "")
    live.collect()
    return forked, live


@pytest.mark.parametrize("seq", [1, 60, 700, 1_000, 1_001, 2_345])
def test_fork_shares_the_past_and_continues_like_its_parent(tmp_path: Path, seq: int) -> None:
    parent, live = busy_run(tmp_path, 2_600)
    forked, live_fork = fork(parent, seq, tmp_path)
    assert forked.records(1, seq) == parent.records(1, seq)
    assert seq <= forked.last_seq < seq + 100
    # Nothing else is done: it makes the very same events, as long as the parent's next input is not due.
    following = min((place for place in _input_seqs(parent) if place >= seq), default=2_600)
    run_until_events(live_fork, following)
    shared = min(following, forked.last_seq)
    assert forked.records(1, shared) == parent.records(1, shared)
    live.abandon()
    live_fork.abandon()


def test_acting_in_a_fork_leaves_the_parent_unchanged(tmp_path: Path) -> None:
    parent, live = busy_run(tmp_path, 2_600)
    before = parent.records(1, parent.last_seq)
    forked, live_fork = fork(parent, 1_200, tmp_path)
    run_lines(live_fork, ["broker kill 2"])
    run_until_events(live_fork, 3_000)
    assert parent.records(1, parent.last_seq) == before
    assert forked.records(1_201, 2_600) != parent.records(1_201, 2_600)
    live.close()
    live_fork.close()
    parent.close()
    forked.close()
    again, live_again = open_again(tmp_path, "main-2")
    assert again.records(1, forked.last_seq) == forked.records(1, forked.last_seq)
    live_again.abandon()


def test_fork_of_a_fork(tmp_path: Path) -> None:
    parent, live = busy_run(tmp_path, 1_500)
    child, live_child = fork(parent, 1_200, tmp_path)
    run_until_events(live_child, 2_500)
    grandchild, live_grandchild = fork(child, 2_000, tmp_path, "main-3")
    assert grandchild.records(1, 2_000) == child.records(1, 2_000)
    for one in (live, live_child, live_grandchild):
        one.abandon()


def test_sealed_segments_are_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lab.recordings import logs

    monkeypatch.setitem(logs._SEGMENT_BYTES, logs.EVENTS, 20_000)
    parent, live = busy_run(tmp_path, 4_000)
    forked, live_fork = fork(parent, 3_500, tmp_path)
    ours, theirs = (recording.folder.recording / "events-0" for recording in (parent, forked))
    shared = [path.name for path in theirs.glob("*.log") if path.stat().st_ino == (ours / path.name).stat().st_ino]
    assert len(shared) == len(list(theirs.glob("*.log"))) - 1 > 1
    run_until_events(live_fork, 5_000)
    assert parent.records(1, 4_000)[:3_500] == forked.records(1, 3_500)
    live.abandon()
    live_fork.abandon()


def test_recovery_of_a_fork_that_was_not_synced_leaves_the_parent_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lab.recordings import logs

    monkeypatch.setitem(logs._SEGMENT_BYTES, logs.EVENTS, 20_000)
    parent, live = busy_run(tmp_path, 4_000)
    fork_recording(parent, 3_500, folder_of(tmp_path, "main-2")).logs.abandon()
    parent.flush()
    files = [path for path in (parent.folder.recording / "events-0").iterdir() if path.stat().st_nlink > 1]
    assert {".log", ".index", ".timeindex"} <= {path.suffix for path in files}
    before = [(path.read_bytes(), path.stat()) for path in files]
    forked = Recording(folder_of(tmp_path, "main-2"))
    after = [(path.read_bytes(), path.stat()) for path in files]
    assert [data for data, _ in after] == [data for data, _ in before]
    assert [found.st_mtime_ns for _, found in after] == [found.st_mtime_ns for _, found in before]
    assert forked.records(1, 3_500) == parent.records(1, 3_500)
    live.abandon()
    parent.close()
    forked.close()


@pytest.mark.parametrize("fails", [(RecordedLogs, "append_events"), (Recording, "append_inputs")])
def test_fork_that_fails_leaves_no_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: tuple[type, str]
) -> None:
    def fail(self: object, data: object) -> None:
        raise OSError(errno.ENOSPC, "planted")

    parent, live = busy_run(tmp_path, 600)
    folder = folder_of(tmp_path, "main-2")
    monkeypatch.setattr(*fails, fail)
    # What was raised refers to the files, so that only closing them closes them.
    with pytest.raises(OSError, match="planted") as raised:
        fork_recording(parent, 500, folder)
    assert raised.tb and open_files(folder.path) == []
    monkeypatch.undo()
    live.abandon()


# Checkpoints


def test_engine_restored_from_a_checkpoint_continues_unchanged(tmp_path: Path) -> None:
    recording, live = busy_run(tmp_path / "a", 2_000)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    live.close()
    assert Checkpoints(recording.folder).last_seq() == live.run.seq
    recording.close()
    slept, live_slept = open_again(tmp_path / "a")
    executed, live_executed = open_again(tmp_path / "b")
    for one in (live_slept, live_executed):
        run_lines(one, ["broker kill 2"])
        run_until_events(one, 4_000)
    assert slept.records(1, 4_000) == executed.records(1, 4_000)
    assert contents(slept.folder.cluster) == contents(executed.folder.cluster)
    live_slept.abandon()
    live_executed.abandon()


def save_aside(live: LiveRun, recording: Recording, checkpoints: Checkpoints, disk: RealDisk) -> None:
    live.collect()
    recording.flush()
    checkpoints.save_aside(live.run.seq, recording.logs.input_count, live.run.checkpoint, live._model, disk)


def test_checkpoint_saved_aside_is_the_engine_and_its_files_as_they_were(tmp_path: Path) -> None:
    recording, live = busy_run(tmp_path / "runs", 1_000)
    disk = live._disk
    checkpoints = Checkpoints(recording.folder)
    for until in (1_500, 2_000):
        kept, seq = contents(recording.folder.cluster), live.run.seq
        save_aside(live, recording, checkpoints, disk)
        assert checkpoints.settle() == seq
        run_until_events(live, until)
        found = Checkpoints(recording.folder).before(live.run.seq)
        assert found is not None and found.seq == seq
        found.restore_disk(tmp_path / f"restored-{until}")
        assert contents(tmp_path / f"restored-{until}") == kept
    live.abandon()
    recording.close()
    again, live_again = open_again(tmp_path / "runs")
    assert live_again.run.seq >= 2_000
    live_again.abandon()
    again.close()


def test_files_that_grow_while_they_are_copied_are_saved_as_they_were(tmp_path: Path) -> None:
    root, archive = tmp_path / "disk", DirectoryArchive(tmp_path / "archive")
    disk = RealDisk(root, physical_fsync=False)
    log, index = disk.open("b/orders-0/0.log"), disk.open("b/orders-0/0.index")
    index.allocate(1024 * 1024)
    log.append(b"a" * 150_000)
    index.write_at(0, b"12345678")
    first = disk_image.capture(root, archive, disk_image.Past(disk.sizes()))
    disk.rewritten.clear()
    log.append(b"b" * 10)
    index.write_at(8, b"abcdefgh")
    kept = contents(root)
    past = disk_image.Past(disk.sizes(), first, disk.rewritten)
    log.append(b"c" * 100_000)
    index.write_at(16, b"ABCDEFGH")
    second = disk_image.capture(root, archive, past)
    disk_image.restore(second, archive, tmp_path / "restored")
    assert contents(tmp_path / "restored") == kept
    log_image = next(file for file in second.files if file.path.endswith(".log"))
    assert log_image.pieces[:2] == next(file for file in first.files if file.path.endswith(".log")).pieces[:2]


def test_checkpoint_is_discarded_if_a_file_was_deleted_while_files_were_copied(tmp_path: Path) -> None:
    recording, live = busy_run(tmp_path, 1_000)
    disk = live._disk
    disk.open("broker-1/left-over").append(b"x")
    checkpoints = Checkpoints(recording.folder)
    began = disk.change_count
    asked: list[bool] = []

    def may_continue() -> bool:
        disk.delete("broker-1/left-over")
        asked.append(disk.change_count == began)
        return asked[-1]

    assert not ProcessCopy(lambda: 1, lambda _: None).attend(may_continue)
    assert asked == [False]
    save_aside(live, recording, checkpoints, disk)
    assert checkpoints.settle() == live.run.seq
    live.abandon()


def test_copy_of_the_process_keeps_no_socket_open() -> None:
    ours, theirs = socket.socketpair()
    copied = ProcessCopy(lambda: 1, lambda _: None)
    ours.close()
    theirs.settimeout(30)
    assert theirs.recv(1) == b"", "the other end is closed although the copy lives"
    assert copied.attend(lambda: True)
    theirs.close()


def test_copy_is_served_in_a_process_with_many_descriptors() -> None:
    use_all_descriptors()
    many = [os.open("/dev/null", os.O_RDONLY) for _ in range(1_100)]
    try:
        assert ProcessCopy(lambda: 1, lambda _: None).attend(lambda: True)
    finally:
        for descriptor in many:
            os.close(descriptor)


@pytest.mark.parametrize("is_awaited", [True, False])
def test_only_a_copy_that_nobody_waits_for_leaves_the_processor_to_others(tmp_path: Path, is_awaited: bool) -> None:
    noted = tmp_path / "niceness"
    ours = os.getpriority(os.PRIO_PROCESS, 0)

    def note(_: int) -> None:
        noted.write_text(str(os.getpriority(os.PRIO_PROCESS, 0)))

    assert ProcessCopy(lambda: 1, note, is_awaited=is_awaited).attend(lambda: True)
    # The most that the system knows is 19.
    assert int(noted.read_text()) == (ours if is_awaited else min(19, ours + 10))


def test_copy_without_anything_to_save_ends() -> None:
    assert not ProcessCopy(lambda: None, lambda _: None).attend(lambda: True)


def test_copy_that_fails_is_reported() -> None:
    with pytest.raises(OSError, match="was not saved"):
        ProcessCopy(lambda: 1 // 0, lambda _: None).attend(lambda: True)


def test_old_checkpoints_are_thinned_out(tmp_path: Path) -> None:
    checkpoints = Checkpoints(folder_of(tmp_path))
    for seq in range(1_000, 100_000, 1_000):
        checkpoints.save(seq, 0, b"", MemoryStore())
    kept = sorted(int(path.stem) for path in folder_of(tmp_path).checkpoints.glob("*.json"))
    assert len(kept) == 60 and kept[-1] == 99_000
    assert max(after - before for before, after in itertools.pairwise([0, *kept])) <= 4_000


def test_checkpoint_of_another_version_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording, live = busy_run(tmp_path, 1_200)
    live.close()
    recording.close()
    monkeypatch.setattr("lab.recordings.checkpoints.engine_version", lambda: "another")
    assert Checkpoints(folder_of(tmp_path)).before(10**9) is None
    again, live_again = open_again(tmp_path)
    assert live_again.run.seq == again.last_seq >= 1_200
    live_again.abandon()


@pytest.mark.parametrize("name", ["engine", "zookeeper", "json"])
def test_damaged_or_partial_checkpoint_is_ignored(tmp_path: Path, name: str) -> None:
    recording, live = busy_run(tmp_path, 1_200)
    live.close()
    recording.close()
    (damaged,) = folder_of(tmp_path).checkpoints.glob(f"*.{name}")
    damaged.write_bytes(damaged.read_bytes()[:50])
    again, live_again = open_again(tmp_path)
    assert live_again.run.seq == again.last_seq >= 1_200
    live_again.abandon()


def test_recording_that_diverges_is_refused(tmp_path: Path) -> None:
    recording, live = busy_run(tmp_path, 1_500)
    live.abandon()
    other = Recording(folder_of(tmp_path, "other"), recording.logs.header)
    events = recording.logs.events(1, 1_500)
    other.logs.append_events([(event.at_us, event.record.replace(b"orders-0", b"Orders-0")) for event in events])
    other.append_inputs([(0, data) for data in recording.inputs()])
    other.close()
    with pytest.raises(Refusal, match="can be watched but not acted on"):
        open_again(tmp_path, "other")


# Images of disks


def test_disk_image_restores_files_after_later_changes(tmp_path: Path) -> None:
    archive = DirectoryArchive(tmp_path / "archive")
    root = tmp_path / "disk"
    disk = RealDisk(root, physical_fsync=False)
    log = disk.open("broker-1/orders-0/0.log")
    log.append(b"a" * 200_000)
    index = disk.open("broker-1/orders-0/0.index")
    index.allocate(10 * 1024 * 1024)
    index.write_at(0, b"12345678")
    disk.replace_file("broker-1/meta.properties", b"version=0\n")
    disk.makedirs("broker-2")
    before = contents(root)
    image = disk_image.capture(root, archive)
    log.truncate(100_000)
    log.append(b"b" * 300_000)
    index.write_at(0, b"87654321")
    disk.delete("broker-1/meta.properties")
    disk.rename("broker-1/orders-0", "broker-1/orders-0-delete")
    second = disk_image.capture(root, archive, disk_image.Past(disk.sizes(), image, disk.rewritten))
    disk_image.restore(image, archive, tmp_path / "restored")
    restored = tmp_path / "restored"
    assert contents(restored) == before
    assert (restored / "broker-2").is_dir()
    assert (restored / "broker-1/orders-0/0.index").stat().st_blocks * 512 < 1024 * 1024
    disk_image.restore(second, archive, tmp_path / "second")
    assert (tmp_path / "second/broker-1/orders-0-delete/0.log").read_bytes() == b"a" * 100_000 + b"b" * 300_000


def test_archive_in_subdirectories_is_read_kept_and_swept(tmp_path: Path) -> None:
    archive = DirectoryArchive(tmp_path)
    kept, unused = archive.put(b"kept"), archive.put(b"unused")
    for digest in (kept, unused):
        (tmp_path / digest[:2]).mkdir(exist_ok=True)
        (tmp_path / digest).rename(tmp_path / digest[:2] / digest)
        os.utime(tmp_path / digest[:2] / digest, (1, 1))
    assert archive.get(kept) == b"kept"
    archive.sweep({kept}, older_than_s=2)
    with pytest.raises(KeyError):
        archive.get(unused)
    assert archive.put(b"kept") == kept
    archive.sweep((), older_than_s=2)
    assert archive.get(kept) == b"kept", "it was put again since"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [kept]


# Names


@pytest.mark.parametrize(
    ("name", "taken", "expected"),
    [
        ("main", {"main"}, "main-2"),
        ("main", {"main", "main-2"}, "main-3"),
        ("main-2", {"main", "main-2"}, "main-3"),
        ("main-3", {"main", "main-3"}, "main-2"),
    ],
)
def test_branches_are_numbered(name: str, taken: set[str], expected: str) -> None:
    assert next_name(name, taken) == expected


def _input_seqs(recording: Recording) -> list[int]:
    return [msgspec.json.decode(data)[1] for data in recording.inputs()]
