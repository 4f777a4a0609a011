"""Branches: what they share, that they go their own way, and cores that wake."""

import shutil
from pathlib import Path

import msgspec
import pytest

from broker_core.zk.memory_store import MemoryStore
from lab.actions.fork_run import next_name
from lab.recordings import disk_image
from lab.recordings.checkpoints import Checkpoints
from lab.recordings.fork import fork_recording
from lab.recordings.recording import Recording
from lab.runtime import engine
from lab.runtime.live_run import LiveRun
from lab.runtime.pacer import Pacer
from lab.texts.refusal import Refusal
from tests.support.recorded_runs import busy_run, folder_of, open_again, run_lines, run_until_events


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

    small = msgspec.structs.replace(logs._CONFIG, segment_bytes=20_000)
    monkeypatch.setitem(logs._CONFIGS, logs.EVENTS, small)
    parent, live = busy_run(tmp_path, 4_000)
    forked, live_fork = fork(parent, 3_500, tmp_path)
    ours, theirs = (recording.folder.recording / "events-0" for recording in (parent, forked))
    shared = [path.name for path in theirs.glob("*.log") if path.stat().st_ino == (ours / path.name).stat().st_ino]
    assert len(shared) == len(list(theirs.glob("*.log"))) - 1 > 1
    run_until_events(live_fork, 5_000)
    assert parent.records(1, 4_000)[:3_500] == forked.records(1, 3_500)
    live.abandon()
    live_fork.abandon()


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


def test_files_archived_in_advance_are_saved_in_their_final_state(tmp_path: Path) -> None:
    recording, live = busy_run(tmp_path, 1_000)
    checkpoints = Checkpoints(recording.folder)
    checkpoints.prepare()
    run_lines(live, ["kafka-topics.sh --create --topic late --partitions 1 --replication-factor 1"])
    run_until_events(live, 1_500)
    engine = live.run.checkpoint()
    assert engine is not None
    checkpoints.save(live.run.seq, 0, engine, MemoryStore())
    checkpoints.settle()
    kept = contents(recording.folder.cluster)
    run_until_events(live, 2_000)
    found = Checkpoints(recording.folder).before(live.run.seq)
    assert found is not None
    found.restore_disk(tmp_path / "restored")
    assert contents(tmp_path / "restored") == kept
    assert any("late-0" in path.parts for path in kept)
    live.abandon()


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
    from broker_core.sim.disk import DirectoryArchive, RealDisk

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
    second = disk_image.capture(root, archive, image)
    disk_image.restore(image, archive, tmp_path / "restored")
    restored = tmp_path / "restored"
    assert contents(restored) == before
    assert (restored / "broker-2").is_dir()
    assert (restored / "broker-1/orders-0/0.index").stat().st_blocks * 512 < 1024 * 1024
    disk_image.restore(second, archive, tmp_path / "second")
    assert (tmp_path / "second/broker-1/orders-0-delete/0.log").read_bytes() == b"a" * 100_000 + b"b" * 300_000


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
