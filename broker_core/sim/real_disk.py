"""Real files below a folder, with simulated power loss: they are truncated to the fsynced bytes."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakSet

from broker_core.errors import Errors, KafkaException
from broker_core.sim.disk_types import Archive, ArchivingDisk, CutFact, is_below, validate_path

MAX_OPEN_FILES = 512
"""The limit for all disks of the process, so that many labs fit into the usual limit of systems (1,024)."""
MIN_OPEN_FILES = 8
"""The limit per disk, independent of the number of disks."""
_CLOSED = -1


class RealFile:
    """A file of the operating system, opened through its disk's pool of descriptors."""

    __slots__ = (
        "_allocated_size",
        "_descriptor",
        "_disk",
        "_overwritten",
        "modified_ms",
        "path",
        "size",
        "synced_size",
        "written_size",
    )

    def __init__(self, disk: "RealDisk", path: str, size: int, modified_ms: int = 0) -> None:
        self._disk = disk
        self.path = path
        # Bytes written by an earlier process are in the page cache or on disk and count as safe.
        self.size = self.written_size = self.synced_size = size
        self.modified_ms = modified_ms
        self._allocated_size = 0
        self._descriptor = _CLOSED
        self._overwritten: list[tuple[int, bytes]] = []

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        return None, {name: getattr(self, name) for name in self.__slots__} | {"_descriptor": _CLOSED}

    @property
    def descriptor(self) -> int:
        """The open descriptor, which the disk closes again when too many are open."""
        if self._descriptor == _CLOSED:
            self._descriptor = self._disk.open_descriptor(self)
        return self._descriptor

    def append(self, *parts: bytes | memoryview) -> int:
        position = self.size
        self.size = self.written_size = position + self._write(position, *parts)
        return position

    def write_at(self, position: int, data: bytes) -> None:
        end = position + len(data)
        if position < self.synced_size:
            self._overwritten.append((position, self.read(position, min(end, self.synced_size) - position)))
        self._write(position, data)
        if end > self.size:
            self.size = end
        if end > self.written_size:
            self.written_size = end

    def read(self, position: int, length: int) -> bytes:
        return os.pread(self.descriptor, length, position)

    def truncate(self, size: int) -> str | None:
        if size >= self.size:
            return None
        digest = self._disk.keep(self, size)
        self.release(size)
        return digest

    def release(self, size: int) -> None:
        if size >= self.size:
            return
        with storage_errors(self.path):
            os.ftruncate(self.descriptor, size)
        self.size = size
        self.written_size = min(self.written_size, size)
        self.synced_size = min(self.synced_size, size)
        self._allocated_size = min(self._allocated_size, size)
        self._overwritten = [(at, old[: size - at]) for at, old in self._overwritten if at < size]

    def keep(self, position: int, length: int) -> str | None:
        return self._disk.keep_bytes(self.read(position, length))

    def allocate(self, size: int) -> None:
        if size > self.size:
            with storage_errors(self.path):
                os.ftruncate(self.descriptor, size)
            self.size = size
        self._allocated_size = max(self._allocated_size, size)

    def fsync(self) -> None:
        if self.synced_size == self.written_size and not self._overwritten:
            return
        if self._disk.physical_fsync:
            with storage_errors(self.path):
                os.fsync(self.descriptor)
        self.synced_size = self.written_size
        self._overwritten.clear()

    def close(self) -> None:
        if self._descriptor != _CLOSED:
            self._disk.forget_descriptor(self)
            os.close(self._descriptor)
            self._descriptor = _CLOSED

    def power_loss(self) -> list[CutFact]:
        """Reverts to the state of the last fsync."""
        cuts = []
        for position, old in reversed(self._overwritten):
            digest = self._disk.keep_bytes(self.read(position, len(old)))
            cuts.append(CutFact(self.path, position, len(old), digest))
            self._write(position, old)
        self._overwritten.clear()
        lost = self.written_size - self.synced_size
        if lost > 0:
            digest = self._disk.keep_bytes(self.read(self.synced_size, lost))
            cuts.append(CutFact(self.path, self.synced_size, lost, digest))
            descriptor = self.descriptor
            os.ftruncate(descriptor, self.synced_size)
            self.size = max(self.synced_size, self._allocated_size)
            os.ftruncate(descriptor, self.size)
            self.written_size = self.synced_size
        return cuts

    def _write(self, position: int, *parts: bytes | memoryview) -> int:
        """Writes bytes; returns their number."""
        size = sum(map(len, parts))
        descriptor = self._descriptor
        if descriptor == _CLOSED:
            descriptor = self.descriptor
        try:
            if len(parts) == 1:
                written = os.pwrite(descriptor, parts[0], position)
            else:
                written = os.pwritev(descriptor, parts, position)
            while written < size:
                written += os.pwrite(descriptor, b"".join(parts)[written:], position + written)
        except OSError as error:
            # A partial batch at the end would later look like a torn write, so the file is truncated to its size.
            os.ftruncate(descriptor, self.size)
            raise _storage_error(self.path, error) from error
        return size


class RealDisk(ArchivingDisk):
    """Real files below `root`.

    With `physical_fsync=False`, fsync only records what survives a simulated power loss and does not call the operating
    system: the files then survive a crash of the process, as page cache does, but not of the machine.
    """

    _living: ClassVar["WeakSet[RealDisk]"] = WeakSet()

    def __init__(self, root: Path | str, physical_fsync: bool = True, archive: Archive | None = None) -> None:
        #: the files with an open descriptor, in the order in which they were opened
        self._opened: dict[RealFile, None] = {}
        self._files: dict[str, RealFile] = {}
        self.root = Path(root)
        self.physical_fsync = physical_fsync
        self.archive = archive
        self.root.mkdir(parents=True, exist_ok=True)
        self._living.add(self)

    def __del__(self) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_opened": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._living.add(self)

    def open(self, path: str, create: bool = True) -> RealFile:
        file = self._files.get(path)
        if file is not None:
            return file
        real = self._real(path)
        if real.exists():
            stat = real.stat()
            file = RealFile(self, path, stat.st_size, stat.st_mtime_ns // 1_000_000)
        elif create:
            with storage_errors(path):
                real.parent.mkdir(parents=True, exist_ok=True)
                real.touch()
            file = RealFile(self, path, 0)
        else:
            raise FileNotFoundError(path)
        self._files[path] = file
        return file

    def exists(self, path: str) -> bool:
        return self._real(path).exists()

    def size_of(self, path: str) -> int:
        return self._real(path).stat().st_size

    def list(self, directory: str) -> list[str]:
        real = self._real(directory) if directory else self.root
        return sorted(entry.name for entry in real.iterdir()) if real.is_dir() else []

    def makedirs(self, path: str) -> None:
        with storage_errors(path):
            self._real(path).mkdir(parents=True, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        target = self._real(new)
        with storage_errors(old):
            target.parent.mkdir(parents=True, exist_ok=True)
            self._real(old).rename(target)
        self._forget(new)
        for path in [old] if old in self._files else [p for p in self._files if p.startswith(old + "/")]:
            file = self._files.pop(path)
            file.close()
            file.path = new + path[len(old) :]
            self._files[file.path] = file

    def delete(self, path: str) -> CutFact | None:
        real = self._real(path)
        if not real.exists():
            return None
        file = self.open(path, create=False)
        cut = CutFact(path, 0, file.size, self.keep(file, 0))
        self._forget(path)
        with storage_errors(path):
            real.unlink()
        return cut

    def delete_tree(self, path: str) -> tuple[CutFact, ...]:
        real = self._real(path)
        found = sorted(p.relative_to(self.root).as_posix() for p in real.rglob("*") if p.is_file())
        cuts = tuple(cut for cut in map(self.delete, found) if cut is not None)
        shutil.rmtree(real, ignore_errors=True)
        return cuts

    def read_file(self, path: str) -> bytes:
        return self._real(path).read_bytes()

    def replace_file(self, path: str, data: bytes) -> None:
        real = self._real(path)
        temporary = real.with_name(real.name + ".tmp")
        self._forget(path)
        with storage_errors(path):
            real.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as stream:
                stream.write(data)
                if self.physical_fsync:
                    stream.flush()
                    os.fsync(stream.fileno())
            temporary.replace(real)
            if self.physical_fsync:
                self._fsync_directory(real.parent)

    def power_loss(self, directory: str = "") -> tuple[CutFact, ...]:
        paths = [path for path in sorted(self._files) if is_below(path, directory)]
        return tuple(cut for path in paths for cut in self._files[path].power_loss())

    def close(self) -> None:
        """Closes every descriptor. The disk stays usable: files open again when they are used."""
        for file in list(self._opened):
            file.close()

    def open_descriptor(self, file: RealFile) -> int:
        """Opens a descriptor of a file; closes those opened first if there are too many. A disk closes only its own
        ones: another disk may be in use by another thread.
        """
        share = max(MIN_OPEN_FILES, MAX_OPEN_FILES // len(self._living))
        while len(self._opened) >= share:
            next(iter(self._opened)).close()
        descriptor = os.open(self._real(file.path), os.O_RDWR | os.O_CLOEXEC)
        self._opened[file] = None
        return descriptor

    def forget_descriptor(self, file: RealFile) -> None:
        """Removes a descriptor that its file has closed."""
        self._opened.pop(file, None)

    def _forget(self, path: str) -> None:
        file = self._files.pop(path, None)
        if file is not None:
            file.close()

    def _real(self, path: str) -> Path:
        return self.root / validate_path(path)

    @staticmethod
    def _fsync_directory(directory: Path) -> None:
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def storage_errors(path: str) -> Iterator[None]:
    """Turns a failure of the operating system into KAFKA_STORAGE_ERROR with a sentence that says what to do."""
    try:
        yield
    except OSError as error:
        raise _storage_error(path, error) from error


def _storage_error(path: str, error: OSError) -> KafkaException:
    advice = "free some space and try again" if error.errno == errno.ENOSPC else "check the data folder"
    return KafkaException(Errors.KAFKA_STORAGE_ERROR, f"writing {path} failed: {error.strerror}; {advice}")
