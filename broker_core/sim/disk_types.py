"""What a disk is: the interface that the real and the simulated one share.

A disk knows for each file what a power loss would leave: the bytes that were fsynced. Operations on names (create,
rename, delete) and on lengths (truncate, allocate) count as durable at once; only written bytes wait for `fsync`.
Bytes that an operation removes go to `archive` when one is set, so that a file can be shown later as it was.

Paths are relative, '/'-separated and free of '.' and '..'. Everything here pickles; open descriptors do not travel.
"""

from typing import NamedTuple, Protocol


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
    modified_ms: int
    """When it was last written, as far as somebody has said so: the disk has no clock."""

    def append(self, *parts: bytes | memoryview) -> int:
        """Writes `parts`, few of them, one behind the other at the end; returns the position where they begin. Raises
        KAFKA_STORAGE_ERROR.
        """

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

    def power_loss(self, directory: str = "") -> tuple[CutFact, ...]:
        """Cuts every file, or those below `directory`, back to what was fsynced; returns what was lost, by path."""

    def close(self) -> None:
        """Lets go of what files hold of the operating system's. They open again when they are used."""


def validate_path(path: str) -> str:
    """Returns `path` if it is a relative path of plain names; raises ValueError otherwise."""
    if not path or "\0" in path or "\\" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise ValueError(f"{path!r} is no path of this disk: expected names joined by '/', without '.' and '..'")
    return path


def is_below(path: str, directory: str) -> bool:
    """Whether a path is a directory's own or below it; everything is below ""."""
    return not directory or path == directory or path.startswith(directory + "/")


class ArchivingDisk:
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
