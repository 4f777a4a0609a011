"""Both disks keep the same promises; what a power loss leaves is exactly what was fsynced."""

import contextlib
import os
import pickle
from pathlib import Path

import pytest

from broker_core.errors import Errors, KafkaException
from broker_core.sim import real_disk
from broker_core.sim.disk import DirectoryArchive, Disk, MemoryArchive, RealDisk, SimulatedDisk, digest_of


def open_descriptors(root: Path) -> int:
    """How many descriptors this process has to files below `root`; those of others come and go as they please."""
    held = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            held += descriptor.readlink().is_relative_to(root)
    return held


@pytest.fixture(params=["simulated", "real"])
def disk(request, tmp_path) -> Disk:
    return SimulatedDisk() if request.param == "simulated" else RealDisk(tmp_path / "root")


def test_file_is_written_read_and_truncated(disk: Disk) -> None:
    file = disk.open("broker-1/orders-0/0.log")
    assert (file.append(b"hello "), file.append(b"world")) == (0, 6)
    assert (file.size, file.read(0, 100), file.read(4, 4), file.read(11, 5)) == (11, b"hello world", b"o wo", b"")
    file.write_at(6, b"earth")
    file.write_at(13, b"!")
    assert file.read(0, 100) == b"hello earth\0\0!"
    file.truncate(5)
    assert (file.size, file.read(0, 100)) == (5, b"hello")
    file.close()
    file.append(b"?")
    assert disk.read_file("broker-1/orders-0/0.log") == b"hello?"
    assert disk.open("broker-1/orders-0/0.log") is file


def test_allocated_bytes_are_zero_and_part_of_the_size(disk: Disk) -> None:
    file = disk.open("a/0.index")
    file.allocate(1 << 20)
    assert (file.size, disk.size_of("a/0.index"), file.synced_size) == (1 << 20, 1 << 20, 0)
    file.write_at(8, b"entry")
    assert file.read(0, 20) == bytes(8) + b"entry" + bytes(7)
    assert file.size == 1 << 20
    file.truncate(16)
    assert disk.read_file("a/0.index") == bytes(8) + b"entry" + bytes(3)


def test_names_are_listed_renamed_and_deleted(disk: Disk) -> None:
    for path in ("a/x", "a/b/y", "a/b/c/z"):
        disk.open(path).append(path.encode())
    assert (disk.list("a"), disk.list("a/b"), disk.list("nowhere")) == (["b", "x"], ["c", "y"], [])
    moved = disk.open("a/b/y")
    disk.rename("a/b", "a/d")
    assert moved.path == "a/d/y"
    moved.append(b"!")
    assert (disk.read_file("a/d/y"), disk.read_file("a/d/c/z")) == (b"a/b/y!", b"a/b/c/z")
    disk.rename("a/x", "a/d/y")
    assert disk.read_file("a/d/y") == b"a/x"
    assert disk.exists("a/d/c") and not disk.exists("a/b") and not disk.exists("a/x")
    disk.delete("a/d/y")
    disk.delete("a/d/y")
    assert disk.list("a/d") == ["c"]
    disk.delete_tree("a")
    assert not disk.exists("a") and disk.list("a") == []
    with pytest.raises(FileNotFoundError):
        disk.open("a/x", create=False)
    with pytest.raises(FileNotFoundError):
        disk.read_file("a/x")


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "./a", "a\\b", "a\0b"])
def test_paths_stay_below_the_root(disk: Disk, path: str) -> None:
    for operation in (disk.open, disk.makedirs, lambda p: disk.replace_file(p, b"")):
        with pytest.raises(ValueError, match="no path of this disk"):
            operation(path)


def test_power_loss_keeps_fsynced_bytes(disk: Disk) -> None:
    disk.archive = MemoryArchive()
    kept, lost, never = disk.open("a/kept"), disk.open("a/lost"), disk.open("a/never")
    kept.append(b"safe")
    kept.fsync()
    lost.append(b"safe and ")
    lost.fsync()
    lost.append(b"unsafe")
    lost.write_at(0, b"SAFE")
    never.allocate(100)
    never.write_at(0, b"gone")
    cuts = disk.power_loss()
    assert kept.read(0, 100) == b"safe"
    assert lost.read(0, 100) == b"safe and "
    assert never.read(0, 100) == bytes(100)
    assert [(cut.file, cut.position, cut.length) for cut in cuts] == [
        ("a/lost", 0, 4),
        ("a/lost", 9, 6),
        ("a/never", 0, 4),
    ]
    assert [disk.archive.get(cut.digest or "") for cut in cuts] == [b"SAFE", b"unsafe", b"gone"]
    assert disk.power_loss() == ()


def test_truncation_survives_a_power_loss(disk: Disk) -> None:
    file = disk.open("a/x")
    file.append(b"0123456789")
    file.fsync()
    file.write_at(2, b"abcdef")
    file.truncate(5)
    file.append(b"new")
    disk.power_loss()
    assert file.read(0, 100) == b"01234"


@pytest.mark.parametrize("kind", ["memory", "directory"])
def test_removed_bytes_are_archived(disk: Disk, kind: str, tmp_path: Path) -> None:
    archive = disk.archive = MemoryArchive() if kind == "memory" else DirectoryArchive(tmp_path / "archive")
    file = disk.open("a/x")
    file.append(b"hello world")
    digest = file.truncate(5)
    assert digest == digest_of(b" world")
    assert archive.get(digest) == b" world"
    cut = disk.delete("a/x")
    assert cut is not None and cut.length == 5
    assert archive.get(cut.digest or "") == b"hello"
    with pytest.raises(KeyError):
        archive.get(digest_of(b"never seen"))


def test_replacing_a_file_is_all_or_nothing(disk: Disk) -> None:
    disk.replace_file("a/checkpoint", b"one")
    disk.replace_file("a/checkpoint", b"two")
    assert (disk.read_file("a/checkpoint"), disk.list("a")) == (b"two", ["checkpoint"])
    disk.power_loss()
    assert disk.read_file("a/checkpoint") == b"two"


def test_new_folder_is_like_any_other(disk: Disk) -> None:
    """A disk of real files answers for the folder that it has made last without asking the operating system."""
    disk.makedirs("a")
    assert not disk.exists("a/x")
    with pytest.raises(FileNotFoundError):
        disk.open("a/x", create=False)
    disk.open("a/x").append(b"x")
    disk.replace_file("a/empty", b"")
    disk.replace_file("a/checkpoint", b"")
    disk.replace_file("a/checkpoint", b"one")
    disk.replace_file("a/checkpoint", b"two")
    assert disk.list("a") == ["checkpoint", "empty", "x"]
    assert [disk.read_file(f"a/{name}") for name in disk.list("a")] == [b"two", b"", b"x"]
    disk.open("a/b/y")
    assert disk.list("a") == ["b", "checkpoint", "empty", "x"]
    disk.makedirs("c")
    disk.open("c/empty").append(b"x")
    disk.rename("c/empty", "c/full")
    assert (disk.list("c"), disk.exists("c/empty"), disk.read_file("c/full")) == (["full"], False, b"x")
    disk.makedirs("a")
    disk.delete("a/x")
    assert (disk.list("a"), disk.exists("a/x")) == (["b", "checkpoint", "empty"], False)
    disk.makedirs("d")
    disk.delete_tree("d")
    assert not disk.exists("d") and disk.list("d") == []


def test_disks_pickle_without_open_files(disk: Disk) -> None:
    file = disk.open("a/x")
    file.append(b"before")
    file.fsync()
    file.append(b"!")
    copy, copied_file = pickle.loads(pickle.dumps((disk, file)))
    assert copy.open("a/x") is copied_file
    assert copied_file.read(0, 100) == b"before!"
    assert (copied_file.size, copied_file.synced_size) == (7, 6)
    copy.power_loss()
    assert copied_file.read(0, 100) == b"before"


def test_open_descriptors_are_bounded_with_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_disk, "MAX_OPEN_FILES", 8)
    disk = RealDisk(tmp_path)
    files = [disk.open(f"a/{number}") for number in range(50)]
    for _ in range(3):
        for number, file in enumerate(files):
            file.append(b"%d " % number)
    assert 0 < open_descriptors(tmp_path) <= 8
    assert all(file.read(0, 100) == b"%d " % number * 3 for number, file in enumerate(files))
    disk.close()
    assert open_descriptors(tmp_path) == 0


@pytest.mark.parametrize("parts", [(b"123456",), (b"12", memoryview(b"345"), b"6")])
def test_full_disk_is_one_clear_error_without_a_partial_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: tuple[bytes, ...]
) -> None:
    disk = RealDisk(tmp_path)
    file = disk.open("a/0.log")
    file.append(b"whole")
    write = os.pwrite

    def half(descriptor: int, data: bytes, position: int) -> int:
        if len(data) > 3:
            return write(descriptor, data[:3], position)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", half)
    monkeypatch.setattr(os, "pwritev", lambda descriptor, buffers, at: half(descriptor, b"".join(buffers), at))
    with pytest.raises(KafkaException, match=r"a/0\.log failed: No space left on device; free some space") as refusal:
        file.append(*parts)
    assert refusal.value.error is Errors.KAFKA_STORAGE_ERROR
    monkeypatch.undo()
    assert (file.size, disk.read_file("a/0.log")) == (5, b"whole")
    assert file.append(*parts) == 5
    assert disk.read_file("a/0.log") == b"whole123456"
