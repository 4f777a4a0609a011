"""The brokers' disks as they were at one instant, so that an engine checkpoint finds the files that it remembers.

An image lists every file by the digests of its pieces, which are in the run's archive. Pieces begin at multiples of
64 KiB: replicas of a partition share them, and so do successive images.
"""

import os
import time
from collections.abc import Collection, Mapping
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


def capture(root: Path, archive: Archive, past: "Past | None" = None) -> DiskImage:
    """The image of everything below `root`. `past`: for an image of the disk as it was a moment ago."""
    files = []
    directories = []
    for folder, _, names in os.walk(root):
        relative = os.path.relpath(folder, root)
        if not names and relative != ".":
            directories.append(relative)
        for name in names:
            path = os.path.normpath(f"{relative}/{name}")
            files.append(_capture_file(root / path, path, archive, past or _PRESENT))
    return DiskImage(sorted(files, key=lambda file: file.path), sorted(directories))


class Past:
    """What is known of the files at the instant of an image, while bytes are appended to them.

    `sizes`: the size and the end of the written bytes of each file that was in use; the others do not change.
    `previous`: an earlier image, whose pieces hold for all files but those `rewritten` since.
    """

    def __init__(
        self,
        sizes: Mapping[str, tuple[int, int]],
        previous: DiskImage | None = None,
        rewritten: Collection[str] = (),
    ) -> None:
        known = previous.files if previous else ()
        self._sizes = sizes
        self._known = {file.path: file for file in known if file.path not in rewritten}
        self.at_ns = time.time_ns()

    def known(self, path: str) -> FileImage | None:
        """The file in the earlier image, if bytes were appended to it at most."""
        return self._known.get(path)

    def size(self, path: str, real_size: int) -> tuple[int, int]:
        """The size of a file, and where its written bytes end."""
        return self._sizes.get(path, (real_size, real_size))


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


def _capture_file(real: Path, path: str, archive: Archive, past: Past) -> FileImage:
    stat = real.stat()
    known = past.known(path)
    if known is not None and (known.size, known.stamp) == (stat.st_size, stat.st_mtime_ns):
        return known
    size, written = past.size(path, stat.st_size)
    is_settled = past.at_ns - stat.st_mtime_ns > _CLOCK_GRAIN_NS
    # All pieces but the last one are full: they are as they were.
    pieces = known.pieces[:-1] if known else []
    descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC)
    try:
        end = min(written, max((end for _, end in data_extents(descriptor, stat.st_size)), default=0))
        for position in range(len(pieces) * PIECE_BYTES, end, PIECE_BYTES):
            pieces.append(archive.put(os.pread(descriptor, min(PIECE_BYTES, end - position), position)))
    finally:
        os.close(descriptor)
    return FileImage(path, size, stat.st_mtime_ns if is_settled else 0, pieces)


_PRESENT = Past({})
"""The files as they are when they are read."""
