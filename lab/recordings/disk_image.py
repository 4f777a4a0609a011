"""The brokers' disks as they were at one instant, so that an engine checkpoint finds the files that it remembers.

An image lists every file by the digests of its pieces, which lie in the run's archive. Pieces begin at multiples of
64 KiB: replicas of a partition share them, and so do successive images.
"""

import os
import time
from pathlib import Path

import msgspec

from broker_core.sim.disk import Archive
from lab.recordings.copying import data_extents

PIECE_BYTES = 64 * 1024
_CLOCK_GRAIN_NS = 50_000_000
"""Two writes may leave the same time of change: a file that changed so shortly ago is read again next time."""


class FileImage(msgspec.Struct, array_like=True):
    """One file. `size` may be beyond its pieces: the rest are zeros, which take no space. `stamp`: when it changed."""

    path: str
    size: int
    stamp: int
    pieces: list[str]


class DiskImage(msgspec.Struct):
    """All files and empty directories below a root, sorted by path."""

    files: list[FileImage]
    directories: list[str]


def capture(root: Path, archive: Archive, previous: DiskImage | None = None) -> DiskImage:
    """The image of everything below `root`. Files that are as in `previous` are not read again."""
    known = {file.path: file for file in previous.files} if previous else {}
    files = []
    directories = []
    for folder, _, names in os.walk(root):
        relative = os.path.relpath(folder, root)
        if not names and relative != ".":
            directories.append(relative)
        for name in names:
            path = os.path.normpath(f"{relative}/{name}")
            files.append(_capture_file(root / path, path, archive, known.get(path)))
    return DiskImage(sorted(files, key=lambda file: file.path), sorted(directories))


def restore(image: DiskImage, archive: Archive, root: Path) -> None:
    """Makes the files of an image below `root`, which must be empty or absent. Raises KeyError for a missing piece."""
    root.mkdir(parents=True, exist_ok=True)
    for directory in image.directories:
        (root / directory).mkdir(parents=True, exist_ok=True)
    for file in image.files:
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as stream:
            for piece in file.pieces:
                stream.write(archive.get(piece))
            stream.truncate(file.size)


def _capture_file(real: Path, path: str, archive: Archive, known: FileImage | None) -> FileImage:
    stat = real.stat()
    if known is not None and (known.size, known.stamp) == (stat.st_size, stat.st_mtime_ns):
        return known
    is_settled = time.time_ns() - stat.st_mtime_ns > _CLOCK_GRAIN_NS
    pieces = []
    descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC)
    try:
        end = max((end for _, end in data_extents(descriptor, stat.st_size)), default=0)
        for position in range(0, end, PIECE_BYTES):
            pieces.append(archive.put(os.pread(descriptor, min(PIECE_BYTES, end - position), position)))
    finally:
        os.close(descriptor)
    return FileImage(path, stat.st_size, stat.st_mtime_ns if is_settled else 0, pieces)
