"""File access of the dump tool: files of the operating system or of a simulated disk, read in pieces."""

import os
import stat
from pathlib import Path
from typing import Protocol

from broker_core.config_defs import INT_MAX
from broker_core.log.dump.java import Thrown, kafka
from broker_core.sim.disk import Disk

CHUNK_BYTES = 1024 * 1024
_IO_EXCEPTION = "java.io.IOException"
_NO_SUCH_FILE = "java.nio.file.NoSuchFileException"


class ReadableFile(Protocol):
    """A file that is open for reading; sizes and positions are bytes."""

    size: int

    def read(self, position: int, length: int) -> bytes:
        """Up to `length` bytes from `position`; fewer where the file ends."""

    def close(self) -> None:
        """Closes the descriptor."""


class Files(Protocol):
    """The file system operations that the tool needs."""

    def open(self, path: str) -> ReadableFile:
        """Opens a file for reading. Raises Thrown if it cannot be opened."""

    def absolute(self, path: str) -> str:
        """The absolute path as the tool shows it."""


class DiskFiles:
    """The files of a run's disk, under the paths that its users type."""

    def __init__(self, disk: Disk, folders: dict[str, str]) -> None:
        """`folders` are other names for folders of the disk, such as `<dir-1>`."""
        self._disk = disk
        self._folders = folders

    def open(self, path: str) -> ReadableFile:
        first, slash, rest = path.removeprefix("/").partition("/")
        try:
            return self._disk.open(self._folders.get(first, first) + slash + rest, create=False)
        except (FileNotFoundError, IsADirectoryError, ValueError):
            raise _absent(path) from None

    def absolute(self, path: str) -> str:
        return path


class LocalFiles:
    """The files of the operating system."""

    def open(self, path: str) -> ReadableFile:
        return LocalFile(path)

    def absolute(self, path: str) -> str:
        return path if path.startswith("/") else f"{Path.cwd()}/{path}"


class LocalFile:
    """A regular file; other kinds are not opened, so that a pipe cannot block the tool."""

    def __init__(self, path: str) -> None:
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            raise _absent(path) from None
        except PermissionError:
            raise Thrown("java.nio.file.AccessDeniedException", path, "the file may not be read").at(path) from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise Thrown(
                "java.nio.file.FileSystemException", f"{path}: {reason}", f"the file cannot be opened ({reason})"
            ).at(path) from None
        found = os.fstat(self._descriptor)
        if not stat.S_ISREG(found.st_mode):
            self.close()
            what = "Is a directory" if stat.S_ISDIR(found.st_mode) else "Illegal seek"
            raise Thrown(_IO_EXCEPTION, what, "this is no regular file").at(path)
        self.size = found.st_size

    def read(self, position: int, length: int) -> bytes:
        try:
            return os.pread(self._descriptor, length, position)
        except OSError as error:
            raise Thrown(_IO_EXCEPTION, error.strerror, f"reading failed ({error.strerror})") from None

    def close(self) -> None:
        os.close(self._descriptor)


def open_log(files: Files, path: str) -> ReadableFile:
    """Opens a `.log`. Raises Thrown for one whose size exceeds an int (`FileRecords`)."""
    try:
        file = files.open(path)
    except Thrown as thrown:
        if thrown.java_class != _IO_EXCEPTION:
            raise
        # A path that is not a file fails when batches are read from it.
        raise Thrown(kafka("KafkaException"), str(thrown), thrown.rule, (str(thrown),)).at(path) from None
    if file.size > INT_MAX:
        file.close()
        raise Thrown(
            kafka("KafkaException"),
            f"The size of segment {path} ({file.size}) is larger than the maximum allowed segment size of {INT_MAX}",
            f"a segment has at most {INT_MAX} bytes, this file has {file.size}",
        ).at(path)
    return file


def open_index(files: Files, path: str) -> ReadableFile:
    """Opens an index. Raises Thrown when it is absent or cannot be mapped (`AbstractIndex`)."""
    try:
        file = files.open(path)
    except Thrown as thrown:
        if thrown.java_class != _NO_SUCH_FILE:
            raise
        # Kafka's tool creates an index that is absent, and then fails.
        rule = "there is no such file, and an index cannot be checked without"
        raise Thrown("java.lang.IllegalArgumentException", "Invalid max index size: -1", rule).at(path) from None
    if file.size > INT_MAX:
        file.close()
        rule = f"an index has at most {INT_MAX} bytes, this file has {file.size}"
        raise Thrown("java.lang.IllegalArgumentException", "Size exceeds Integer.MAX_VALUE", rule).at(path)
    return file


def _absent(path: str) -> Thrown:
    return Thrown(_NO_SUCH_FILE, path, "there is no such file").at(path)


class BufferedFile:
    """A file with a read buffer: nearby reads come from one chunk in memory."""

    def __init__(self, file: ReadableFile, chunk_bytes: int = CHUNK_BYTES) -> None:
        self._file = file
        self._chunk_bytes = chunk_bytes
        self._chunk = b""
        self._start = 0

    def get(self, position: int, length: int) -> bytes:
        """Up to `length` bytes from `position`; fewer where the file ends."""
        at = position - self._start
        if at < 0 or at + length > len(self._chunk):
            if length > self._chunk_bytes:
                return self._file.read(position, length)
            self._chunk, self._start, at = self._file.read(position, self._chunk_bytes), position, 0
        return self._chunk[at : at + length]

    def read_exactly(self, position: int, length: int) -> bytes:
        """Exactly `length` bytes. Raises Thrown if the file has been truncated since its size was read."""
        data = self.get(position, length)
        if len(data) < length:
            raise Thrown("java.io.EOFException", None, "the file shrank while it was read")
        return data
