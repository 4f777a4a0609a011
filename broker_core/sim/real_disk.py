"""Real files below a folder, with simulated power loss: they are truncated to the fsynced bytes."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakSet

from broker_core.errors import KafkaException
from broker_core.sim.disk_types import Archive, ArchivingDisk, CutFact, is_below, validate_path
from broker_core.sim.new_folder import NewFolder
from broker_core.sim.storage_errors import storage_error, storage_errors

MAX_OPEN_FILES = 512
"""The limit for all disks of the process: half of the usual limit of systems (1,024). See `set_max_open_files`."""
MIN_OPEN_FILES = 8
"""The limit per disk, independent of the number of disks."""
_CLOSED = -1


def set_max_open_files(count: int) -> None:
    """Sets the number of files that all disks of this process may keep open."""
    global MAX_OPEN_FILES
    MAX_OPEN_FILES = count


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

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        for name, value in state[1].items():
            setattr(self, name, value)
        self._disk.take_back(self)

    @property
    def descriptor(self) -> int:
        """The open descriptor, which the disk closes again when too many are open."""
        if self._descriptor == _CLOSED:
            self._descriptor = self._disk.open_descriptor(self)
        return self._descriptor

    def create(self) -> None:
        """Creates the file, and its directory if there is none. Raises OSError."""
        self._descriptor = self._disk.open_descriptor(self, os.O_CREAT)
        self._disk.note_rewritten(self.path)

    def append(self, *parts: bytes | memoryview) -> int:
        position = self.size
        self.size = self.written_size = position + self._write(position, *parts)
        return position

    def write_at(self, position: int, data: bytes) -> None:
        end = position + len(data)
        if position < self.written_size:
            self._disk.note_rewritten(self.path)
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
        self._disk.note_rewritten(self.path)
        with storage_errors(self._disk, self.path):
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
            with storage_errors(self._disk, self.path):
                os.ftruncate(self.descriptor, size)
            self.size = size
        self._allocated_size = max(self._allocated_size, size)

    def fsync(self) -> None:
        if self.synced_size == self.written_size and not self._overwritten:
            return
        if self._disk.physical_fsync:
            with storage_errors(self._disk, self.path):
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
        self._disk.note_rewritten(self.path)
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
            raise self._disk.failed(self.path, error) from error
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
        #: The number of changes other than bytes appended to files.
        self.change_count = 0
        #: Files that were created, removed, truncated or overwritten, until a copy of the disk removes them.
        self.rewritten: set[str] = set()
        #: the first failure of the operating system to write. A broker may have answered it like Kafka; an engine whose
        #: recording is executed again would not meet it again
        self.failure: KafkaException | None = None
        self.root = Path(root)
        # Paths as text: creating a Path costs as much as the system call.
        self._root = str(self.root)
        self.physical_fsync = physical_fsync
        self.archive = archive
        self._new_folder = NewFolder()
        self.root.mkdir(parents=True, exist_ok=True)
        self._living.add(self)

    def __del__(self) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_opened": {}, "_new_folder": NewFolder()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._living.add(self)

    def take_back(self, file: RealFile) -> None:
        """Called for a file of a checkpoint that is restored: from now on it is the one at its path."""
        files = self.__dict__.get("_files")
        if files is not None:
            files[file.path] = file

    def failed(self, path: str, error: OSError) -> KafkaException:
        """Records a failed write of the operating system, and returns the exception (KAFKA_STORAGE_ERROR)."""
        failure = storage_error(path, error)
        if self.failure is None:
            self.failure = failure
        return failure

    def note_rewritten(self, path: str) -> None:
        """Records a change of a file other than appended bytes."""
        self.change_count += 1
        self.rewritten.add(path)

    def sizes(self) -> dict[str, tuple[int, int]]:
        """The size of each file in use, and the end of its written bytes."""
        return {path: (file.size, file.written_size) for path, file in self._files.items()}

    def open(self, path: str, create: bool = True) -> RealFile:
        file = self._files.get(path)
        if file is not None:
            return file
        stat = None
        if not self._new_folder.lacks(path):
            with suppress(FileNotFoundError):
                stat = os.stat(self._real(path))
        if stat is not None:
            file = RealFile(self, path, stat.st_size, stat.st_mtime_ns // 1_000_000)
        elif create:
            file = RealFile(self, path, 0)
            with storage_errors(self, path):
                file.create()
        else:
            raise FileNotFoundError(path)
        self._new_folder.added(path)
        self._files[path] = file
        return file

    def exists(self, path: str) -> bool:
        return not self._new_folder.lacks(path) and os.path.exists(self._real(path))

    def size_of(self, path: str) -> int:
        return os.stat(self._real(path)).st_size

    def list(self, directory: str) -> list[str]:
        names = self._new_folder.names(directory)
        if names is not None:
            return names
        try:
            return sorted(os.listdir(self._real(directory) if directory else self._root))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def makedirs(self, path: str) -> None:
        self.change_count += 1
        self._new_folder.forget()
        real = self._real(path)
        with storage_errors(self, path):
            try:
                os.mkdir(real)
            except (FileExistsError, FileNotFoundError):
                os.makedirs(real, exist_ok=True)
            else:
                self._new_folder.made(path)

    def rename(self, old: str, new: str) -> None:
        self._new_folder.forget()
        target = self._real(new)
        self.note_rewritten(old)
        self.note_rewritten(new)
        with storage_errors(self, old):
            try:
                os.rename(self._real(old), target)
            except FileNotFoundError:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.rename(self._real(old), target)
        self._forget(new)
        for below in [""] if old in self._files else _names_below(target):
            file = self._files.pop(old + below, None)
            if file is not None:
                file.close()
                file.path = new + below
                self.rewritten.add(file.path)
                self._files[file.path] = file

    def archive_piece(self, path: str, position: int, length: int) -> CutFact:
        return self.keep_piece(self.open(path, create=False), position, length)

    def delete(self, path: str, archived: int = 0) -> CutFact | None:
        try:
            file = self.open(path, create=False)
        except FileNotFoundError:
            return None
        cut = CutFact(path, archived, file.size - archived, self.keep(file, archived))
        self.note_rewritten(path)
        self._forget(path)
        self._new_folder.forget()
        with storage_errors(self, path):
            os.unlink(self._real(path))
        return cut

    def delete_tree(self, path: str) -> tuple[CutFact, ...]:
        real = self._real(path)
        self.change_count += 1
        self._new_folder.forget()
        below = len(self._root) + 1
        found = sorted(f"{folder}/{name}"[below:] for folder, _, names in os.walk(real) for name in names)
        cuts = tuple(cut for cut in map(self.delete, found) if cut is not None)
        shutil.rmtree(real, ignore_errors=True)
        return cuts

    def read_file(self, path: str) -> bytes:
        with open(self._real(path), "rb") as stream:
            return stream.read()

    def replace_file(self, path: str, data: bytes) -> None:
        real = self._real(path)
        temporary = real if self._new_folder.is_written_at_once(path, data) else f"{real}.tmp"
        self.note_rewritten(path)
        self._forget(path)
        with storage_errors(self, path):
            try:
                self._write_file(temporary, data)
            except FileNotFoundError:
                os.makedirs(os.path.dirname(real), exist_ok=True)
                self._write_file(temporary, data)
            if temporary != real:
                os.replace(temporary, real)
            self._new_folder.replaced(path, data)
            if self.physical_fsync:
                self._fsync_directory(os.path.dirname(real))

    def _write_file(self, real: str, data: bytes) -> None:
        descriptor = os.open(real, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            written = 0
            while written < len(data):
                written += os.write(descriptor, data[written:])
            if self.physical_fsync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def power_loss(self, directory: str = "") -> tuple[CutFact, ...]:
        paths = [path for path in sorted(self._files) if is_below(path, directory)]
        return tuple(cut for path in paths for cut in self._files[path].power_loss())

    def close(self) -> None:
        """Closes every descriptor. The disk stays usable: files open again when they are used."""
        for file in list(self._opened):
            file.close()

    def open_descriptor(self, file: RealFile, flags: int = 0) -> int:
        """Opens a descriptor of a file; closes those opened first if there are too many. A disk closes only its own
        ones: another disk may be in use by another thread. With O_CREAT the file and its directory are created.
        """
        share = max(MIN_OPEN_FILES, MAX_OPEN_FILES // len(self._living))
        while len(self._opened) >= share:
            next(iter(self._opened)).close()
        real = self._real(file.path)
        try:
            descriptor = os.open(real, os.O_RDWR | os.O_CLOEXEC | flags, 0o666)
        except FileNotFoundError:
            if not flags & os.O_CREAT:
                raise
            os.makedirs(os.path.dirname(real), exist_ok=True)
            descriptor = os.open(real, os.O_RDWR | os.O_CLOEXEC | flags, 0o666)
        self._opened[file] = None
        return descriptor

    def forget_descriptor(self, file: RealFile) -> None:
        """Removes a descriptor that its file has closed."""
        self._opened.pop(file, None)

    def _forget(self, path: str) -> None:
        file = self._files.pop(path, None)
        if file is not None:
            file.close()

    def _real(self, path: str) -> str:
        return f"{self._root}/{validate_path(path)}"

    @staticmethod
    def _fsync_directory(directory: str) -> None:
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _names_below(directory: str) -> list[str]:
    """The files below a directory, each as the rest of its path."""
    rest = len(directory)
    return [f"{folder[rest:]}/{name}" for folder, _, names in os.walk(directory) for name in sorted(names)]
