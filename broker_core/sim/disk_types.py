"""The disk interface that the real and the simulated disk implement.

A disk records for each file what survives a power loss: the bytes that were fsynced. Operations on names (create,
rename, delete) and on lengths (truncate, allocate) count as durable at once; only written bytes wait for `fsync`.
Bytes that an operation removes go to `archive` when one is set, so that a file can be shown later as it was.

Paths are relative, '/'-separated and free of '.' and '..'. Everything here pickles; open descriptors are not included.
"""

from typing import NamedTuple, Protocol


class CutFact(NamedTuple):
    """Bytes that were removed from a file: their position, and their digest in the archive if there is one.

    The archive has them without the zeros at their end that were allocated and never written.
    """

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
    """One file of a disk. It has no cursor: each call has a position. Sizes and positions are bytes."""

    path: str
    size: int
    """The logical size: all that was written or allocated."""
    synced_size: int
    """The number of written bytes, from the start, that survive a power loss."""
    modified_ms: int
    """The time of the last write, set by the callers: the disk has no clock."""

    @property
    def written_size(self) -> int:
        """The end of the written bytes; what is allocated after it is zero."""

    def append(self, *parts: bytes | memoryview) -> int:
        """Appends a few `parts`; returns the position where they begin. Raises KAFKA_STORAGE_ERROR."""

    def write_at(self, position: int, data: bytes) -> None:
        """Writes `data` at `position`, over what is there; the file grows when needed. Raises KAFKA_STORAGE_ERROR."""

    def read(self, position: int, length: int) -> bytes:
        """Up to `length` bytes from `position`; fewer where the file ends."""

    def truncate(self, size: int) -> str | None:
        """Truncates the file to `size`; returns the digest of the removed bytes, None without an archive."""

    def keep(self, position: int, length: int) -> str | None:
        """Archives invalid bytes that will be overwritten; returns their digest, None without an archive."""

    def release(self, size: int) -> None:
        """Truncates the file to `size` without archiving the removed bytes."""

    def allocate(self, size: int) -> None:
        """Makes the file at least `size` bytes long. The new bytes are zero and take no space until written."""

    def fsync(self) -> None:
        """Makes all written bytes survive a power loss. Raises KAFKA_STORAGE_ERROR."""

    def close(self) -> None:
        """Closes the descriptor. The next call opens it again."""


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
        """The names in `directory`, sorted; empty if there is no such directory."""

    def makedirs(self, path: str) -> None:
        """Creates a directory and its missing parents."""

    def rename(self, old: str, new: str) -> None:
        """Renames a file, replacing one of the new name, or a directory with all that is in it."""

    def archive_piece(self, path: str, position: int, length: int) -> CutFact:
        """Archives a piece of a file that will be deleted. Raises FileNotFoundError."""

    def delete(self, path: str, archived: int = 0) -> CutFact | None:
        """Deletes a file if it exists, and archives its contents; the first `archived` bytes are archived already."""

    def delete_tree(self, path: str) -> tuple[CutFact, ...]:
        """Deletes a directory and everything below it if it exists."""

    def read_file(self, path: str) -> bytes:
        """The contents of a small file. Raises FileNotFoundError."""

    def replace_file(self, path: str, data: bytes) -> None:
        """Replaces a small file atomically: a crash leaves the old content or the new one."""

    def power_loss(self, directory: str = "") -> tuple[CutFact, ...]:
        """Truncates every file, or those below `directory`, to the fsynced bytes; returns the lost bytes, by path."""

    def close(self) -> None:
        """Closes all descriptors. They open again when they are used."""


def validate_path(path: str) -> str:
    """Returns `path` if it is a relative path of plain names; raises ValueError otherwise."""
    bounded = f"/{path}/"
    if "\0" in path or "\\" in path or "//" in bounded or "/./" in bounded or "/../" in bounded:
        raise ValueError(f"{path!r} is no path of this disk: expected names joined by '/', without '.' and '..'")
    return path


def is_below(path: str, directory: str) -> bool:
    """Whether a path is a directory's own or below it; everything is below ""."""
    return not directory or path == directory or path.startswith(directory + "/")


class ArchivingDisk:
    """The base of both disks: the archive of removed bytes."""

    archive: Archive | None = None

    def keep(self, file: File, position: int) -> str | None:
        """Archives a file's bytes from `position` before they are removed; returns their digest."""
        if self.archive is None or position >= file.size:
            return None
        return self.archive.put(file.read(position, max(file.written_size - position, 0)))

    def keep_piece(self, file: File, position: int, length: int) -> CutFact:
        """Archives a piece of a file, without the zeros at its end that were never written."""
        digest = None
        if self.archive is not None:
            digest = self.archive.put(file.read(position, max(min(length, file.written_size - position), 0)))
        return CutFact(file.path, position, length, digest)

    def keep_bytes(self, data: bytes) -> str | None:
        """Archives bytes; returns their digest."""
        return None if self.archive is None else self.archive.put(data)
