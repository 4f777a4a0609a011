"""The broker's disk: real files, or files in memory that cost almost nothing, both with a power switch.

A disk knows for each file what a power loss would leave: the bytes that were fsynced. Operations on names (create,
rename, delete) and on lengths (truncate, allocate) count as durable at once; only written bytes wait for `fsync`.
Bytes that an operation removes go to `archive` when one is set, so that a file can be shown later as it was.

Paths are relative, '/'-separated and free of '.' and '..'. Everything here pickles; open descriptors do not travel.
"""

import errno
import hashlib
import os
import shutil
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from broker_core.errors import KafkaError, KafkaException

MAX_OPEN_FILES = 256


class CutFact(NamedTuple):
    """Bytes that were removed from a file: where they stood, and their digest in the archive if there is one."""

    file: str
    position: int
    length: int
    digest: str | None


class Archive(Protocol):
    """A content-addressed store of removed bytes. A digest is the first 32 hex digits of their SHA-256."""

    def put(self, data: bytes) -> str:
        """Keeps `data`; returns its digest."""

    def get(self, digest: str) -> bytes:
        """The bytes of `digest`. Raises KeyError when the archive does not have them."""


class File(Protocol):
    """One file of a disk. It has no cursor: each call says where it reads or writes. Sizes and positions are bytes."""

    path: str
    size: int
    """The logical size: all that was written or allocated."""
    synced_size: int
    """How many written bytes, from the start, survive a power loss."""

    def append(self, data: bytes) -> int:
        """Writes `data` at the end; returns the position where it begins. Raises KAFKA_STORAGE_ERROR."""

    def write_at(self, position: int, data: bytes) -> None:
        """Writes `data` at `position`, over what is there; the file grows when needed. Raises KAFKA_STORAGE_ERROR."""

    def read(self, position: int, length: int) -> bytes:
        """Up to `length` bytes from `position`; fewer where the file ends."""

    def truncate(self, size: int) -> str | None:
        """Cuts the file down to `size`; returns the digest of what was cut, None without an archive."""

    def keep(self, position: int, length: int) -> str | None:
        """Archives bytes that are no longer valid and will be written over; returns their digest, None without an
        archive.
        """

    def release(self, size: int) -> None:
        """Cuts the file down to `size` where what lies behind is worth nothing; the archive gets nothing."""

    def allocate(self, size: int) -> None:
        """Makes the file at least `size` bytes long. The new bytes are zero and take no space until written."""

    def fsync(self) -> None:
        """Makes all that was written survive a power loss. Raises KAFKA_STORAGE_ERROR."""

    def close(self) -> None:
        """Lets go of the descriptor. The next call opens it again."""


class Disk(Protocol):
    """A tree of files."""

    archive: Archive | None

    def open(self, path: str, create: bool = True) -> File:
        """The file at `path`, always the same object. Raises FileNotFoundError when it is absent and not created."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or a directory of this name."""

    def size_of(self, path: str) -> int:
        """The logical size of a file. Raises FileNotFoundError."""

    def list(self, directory: str) -> list[str]:
        """The names in `directory`, sorted; empty when there is no such directory."""

    def makedirs(self, path: str) -> None:
        """Creates a directory and its parents as far as they are missing."""

    def rename(self, old: str, new: str) -> None:
        """Renames a file, replacing one of the new name, or a directory with all that is in it."""

    def delete(self, path: str) -> CutFact | None:
        """Deletes a file if it exists; what it held goes to the archive."""

    def delete_tree(self, path: str) -> tuple[CutFact, ...]:
        """Deletes a directory and everything below it if it exists."""

    def read_file(self, path: str) -> bytes:
        """A whole small file. Raises FileNotFoundError."""

    def replace_file(self, path: str, data: bytes) -> None:
        """Writes a whole small file so that a crash leaves the old content or the new one, nothing between."""

    def power_loss(self) -> tuple[CutFact, ...]:
        """Cuts every file back to what was fsynced, as a power loss would; returns what was lost, by path."""


class MemoryArchive:
    """An archive in memory."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        digest = digest_of(data)
        self._contents[digest] = data
        return digest

    def get(self, digest: str) -> bytes:
        return self._contents[digest]


class DirectoryArchive:
    """An archive of one file a digest, in subdirectories named after the first two digits."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, data: bytes) -> str:
        digest = digest_of(data)
        path = self._path(digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(".tmp")
            temporary.write_bytes(data)
            temporary.replace(path)
        return digest

    def get(self, digest: str) -> bytes:
        try:
            return self._path(digest).read_bytes()
        except FileNotFoundError:
            raise KeyError(digest) from None

    def _path(self, digest: str) -> Path:
        return self._root / digest[:2] / digest


def digest_of(data: bytes) -> str:
    """The name under which an archive keeps `data`."""
    return hashlib.sha256(data).hexdigest()[:32]


def validate_path(path: str) -> str:
    """Returns `path` if it is a relative path of plain names; raises ValueError otherwise."""
    if not path or "\0" in path or "\\" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise ValueError(f"{path!r} is no path of this disk: expected names joined by '/', without '.' and '..'")
    return path


class SimulatedFile:
    """A file in memory. Allocated zeros that were never written take no memory."""

    __slots__ = ("_allocated_size", "_data", "_disk", "_overwritten", "path", "size", "synced_size")

    def __init__(self, disk: "SimulatedDisk", path: str, data: bytes = b"") -> None:
        self._disk = disk
        self.path = path
        self._data = bytearray(data)
        self.size = self.synced_size = len(data)
        self._allocated_size = 0
        # (position, bytes) below synced_size as the last fsync left them, oldest first.
        self._overwritten: list[tuple[int, bytes]] = []

    def append(self, data: bytes) -> int:
        position = self.size
        if len(self._data) < position:
            self._data.extend(bytes(position - len(self._data)))
        self._data += data
        self.size = position + len(data)
        return position

    def write_at(self, position: int, data: bytes) -> None:
        buffer = self._data
        end = position + len(data)
        if position < self.synced_size:
            self._overwritten.append((position, bytes(buffer[position : min(end, self.synced_size)])))
        if position > len(buffer):
            buffer.extend(bytes(position - len(buffer)))
        buffer[position:end] = data
        if end > self.size:
            self.size = end

    def read(self, position: int, length: int) -> bytes:
        data = bytes(self._data[position : position + length])
        missing = min(length, self.size - position) - len(data)
        return data + bytes(missing) if missing > 0 else data

    def truncate(self, size: int) -> str | None:
        if size >= self.size:
            return None
        digest = self._disk.keep(self, size)
        self.release(size)
        return digest

    def release(self, size: int) -> None:
        if size < self.size:
            self._cut(size)
            self.size = size
            self._allocated_size = min(self._allocated_size, size)

    def keep(self, position: int, length: int) -> str | None:
        return self._disk.keep_bytes(self.read(position, length))

    def allocate(self, size: int) -> None:
        if size > self.size:
            self.size = size
        self._allocated_size = max(self._allocated_size, size)

    def fsync(self) -> None:
        self.synced_size = len(self._data)
        self._overwritten.clear()

    def close(self) -> None:
        pass

    def power_loss(self) -> list[CutFact]:
        """Goes back to what the last fsync left."""
        cuts = []
        for position, old in reversed(self._overwritten):
            new = self.read(position, len(old))
            cuts.append(CutFact(self.path, position, len(old), self._disk.keep_bytes(new)))
            self._data[position : position + len(old)] = old
        self._overwritten.clear()
        lost = len(self._data) - self.synced_size
        if lost > 0:
            digest = self._disk.keep_bytes(bytes(self._data[self.synced_size :]))
            cuts.append(CutFact(self.path, self.synced_size, lost, digest))
            self._cut(self.synced_size)
        self.size = max(self.synced_size, self._allocated_size)
        return cuts

    def _cut(self, size: int) -> None:
        del self._data[size:]
        self.synced_size = min(self.synced_size, size)
        if self._overwritten:
            self._overwritten = [(at, old[: size - at]) for at, old in self._overwritten if at < size]


class _ArchivingDisk:
    """What both disks share: the archive of removed bytes."""

    archive: Archive | None = None

    def keep(self, file: File, position: int) -> str | None:
        """Archives a file's bytes from `position` on before they go; returns their digest."""
        if self.archive is None or position >= file.size:
            return None
        return self.archive.put(file.read(position, file.size - position))

    def keep_bytes(self, data: bytes) -> str | None:
        """Archives bytes; returns their digest."""
        return None if self.archive is None else self.archive.put(data)


class SimulatedDisk(_ArchivingDisk):
    """A disk in memory, for simulation, tests and forks that nobody looks at."""

    def __init__(self) -> None:
        self._directories: dict[str, dict[str, SimulatedFile]] = {"": {}}

    def open(self, path: str, create: bool = True) -> SimulatedFile:
        directory, _, name = validate_path(path).rpartition("/")
        files = self._directories.get(directory)
        file = None if files is None else files.get(name)
        if file is None:
            if not create:
                raise FileNotFoundError(path)
            self._ensure(directory)
            file = self._directories[directory][name] = SimulatedFile(self, path)
        return file

    def exists(self, path: str) -> bool:
        directory, _, name = path.rpartition("/")
        return path in self._directories or name in self._directories.get(directory, {})

    def size_of(self, path: str) -> int:
        return self.open(path, create=False).size

    def list(self, directory: str) -> list[str]:
        names = list(self._directories.get(directory, ()))
        prefix = directory + "/" if directory else ""
        for path in self._directories:
            if path and path.startswith(prefix) and "/" not in path[len(prefix) :]:
                names.append(path[len(prefix) :])
        return sorted(names)

    def makedirs(self, path: str) -> None:
        self._ensure(validate_path(path))

    def rename(self, old: str, new: str) -> None:
        if old in self._directories:
            for path in [p for p in self._directories if p == old or p.startswith(old + "/")]:
                moved = new + path[len(old) :]
                files = self._directories.pop(path)
                for name, file in files.items():
                    file.path = f"{moved}/{name}"
                self._ensure(moved)
                self._directories[moved].update(files)
            return
        file = self.open(old, create=False)
        directory, _, name = old.rpartition("/")
        del self._directories[directory][name]
        directory, _, name = validate_path(new).rpartition("/")
        self._ensure(directory)
        self._directories[directory][name] = file
        file.path = new

    def delete(self, path: str) -> CutFact | None:
        directory, _, name = path.rpartition("/")
        file = self._directories.get(directory, {}).pop(name, None)
        return None if file is None else CutFact(path, 0, file.size, self.keep(file, 0))

    def delete_tree(self, path: str) -> tuple[CutFact, ...]:
        below = sorted(d for d in self._directories if d == path or d.startswith(path + "/"))
        found = [f"{directory}/{name}" for directory in below for name in sorted(self._directories[directory])]
        cuts = tuple(cut for cut in map(self.delete, found) if cut is not None)
        for directory in below:
            del self._directories[directory]
        return cuts

    def read_file(self, path: str) -> bytes:
        file = self.open(path, create=False)
        return file.read(0, file.size)

    def replace_file(self, path: str, data: bytes) -> None:
        directory, _, name = validate_path(path).rpartition("/")
        self._ensure(directory)
        self._directories[directory][name] = SimulatedFile(self, path, data)

    def power_loss(self) -> tuple[CutFact, ...]:
        files = [files[name] for _, files in sorted(self._directories.items()) for name in sorted(files)]
        return tuple(cut for file in files for cut in file.power_loss())

    def _ensure(self, directory: str) -> None:
        while directory not in self._directories:
            self._directories[directory] = {}
            directory = directory.rpartition("/")[0]


class RealFile:
    """A file of the operating system, reached through its disk's pool of descriptors."""

    __slots__ = ("_allocated_size", "_disk", "_overwritten", "path", "size", "synced_size", "written_size")

    def __init__(self, disk: "RealDisk", path: str, size: int) -> None:
        self._disk = disk
        self.path = path
        # What an earlier process wrote lies with the operating system and counts as safe.
        self.size = self.written_size = self.synced_size = size
        self._allocated_size = 0
        self._overwritten: list[tuple[int, bytes]] = []

    def append(self, data: bytes) -> int:
        position = self.size
        self._write(position, data)
        self.size = self.written_size = position + len(data)
        return position

    def write_at(self, position: int, data: bytes) -> None:
        end = position + len(data)
        if position < self.synced_size:
            self._overwritten.append((position, self.read(position, min(end, self.synced_size) - position)))
        self._write(position, data)
        self.size = max(self.size, end)
        self.written_size = max(self.written_size, end)

    def read(self, position: int, length: int) -> bytes:
        return os.pread(self._disk.descriptor(self), length, position)

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
            os.ftruncate(self._disk.descriptor(self), size)
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
                os.ftruncate(self._disk.descriptor(self), size)
            self.size = size
        self._allocated_size = max(self._allocated_size, size)

    def fsync(self) -> None:
        if self.synced_size == self.written_size and not self._overwritten:
            return
        if self._disk.physical_fsync:
            with storage_errors(self.path):
                os.fsync(self._disk.descriptor(self))
        self.synced_size = self.written_size
        self._overwritten.clear()

    def close(self) -> None:
        self._disk.close_descriptor(self)

    def power_loss(self) -> list[CutFact]:
        """Goes back to what the last fsync left."""
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
            descriptor = self._disk.descriptor(self)
            os.ftruncate(descriptor, self.synced_size)
            self.size = max(self.synced_size, self._allocated_size)
            os.ftruncate(descriptor, self.size)
            self.written_size = self.synced_size
        return cuts

    def _write(self, position: int, data: bytes) -> None:
        descriptor = self._disk.descriptor(self)
        with storage_errors(self.path):
            try:
                written = os.pwrite(descriptor, data, position)
                while written < len(data):
                    written += os.pwrite(descriptor, data[written:], position + written)
            except OSError:
                # Half a batch at the end would be taken for a torn write later on; the file goes back to its size.
                os.ftruncate(descriptor, self.size)
                raise


class RealDisk(_ArchivingDisk):
    """Real files below `root`.

    With `physical_fsync=False`, fsync only notes what a simulated power loss would spare and the hardware is not asked:
    the files then survive the death of the process, as page cache does, but not that of the machine.
    """

    def __init__(self, root: Path | str, physical_fsync: bool = True, archive: Archive | None = None) -> None:
        self.root = Path(root)
        self.physical_fsync = physical_fsync
        self.archive = archive
        self.root.mkdir(parents=True, exist_ok=True)
        self._files: dict[str, RealFile] = {}
        self._descriptors: OrderedDict[RealFile, int] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_descriptors": OrderedDict()}

    def open(self, path: str, create: bool = True) -> RealFile:
        file = self._files.get(path)
        if file is not None:
            return file
        real = self._real(path)
        if real.exists():
            size = real.stat().st_size
        elif create:
            with storage_errors(path):
                real.parent.mkdir(parents=True, exist_ok=True)
                real.touch()
            size = 0
        else:
            raise FileNotFoundError(path)
        file = self._files[path] = RealFile(self, path, size)
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
        for path in [p for p in self._files if p == old or p.startswith(old + "/")]:
            file = self._files.pop(path)
            self.close_descriptor(file)
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

    def power_loss(self) -> tuple[CutFact, ...]:
        return tuple(cut for path in sorted(self._files) for cut in self._files[path].power_loss())

    def close(self) -> None:
        """Closes every descriptor. The disk stays usable: files open again when they are used."""
        while self._descriptors:
            os.close(self._descriptors.popitem()[1])

    def descriptor(self, file: RealFile) -> int:
        """The open descriptor of a file; the one not used for longest is closed when there are too many."""
        descriptor = self._descriptors.get(file)
        if descriptor is not None:
            self._descriptors.move_to_end(file)
            return descriptor
        while len(self._descriptors) >= MAX_OPEN_FILES:
            os.close(self._descriptors.popitem(last=False)[1])
        descriptor = self._descriptors[file] = os.open(self._real(file.path), os.O_RDWR | os.O_CLOEXEC)
        return descriptor

    def close_descriptor(self, file: RealFile) -> None:
        """Closes the descriptor of a file if it is open."""
        descriptor = self._descriptors.pop(file, None)
        if descriptor is not None:
            os.close(descriptor)

    def _forget(self, path: str) -> None:
        file = self._files.pop(path, None)
        if file is not None:
            self.close_descriptor(file)

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
        advice = "free some space and try again" if error.errno == errno.ENOSPC else "check the data folder"
        message = f"writing {path} failed: {error.strerror}; {advice}"
        raise KafkaException(KafkaError.KAFKA_STORAGE_ERROR, message) from error
