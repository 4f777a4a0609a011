"""Copies of files: shared where they do not change any more, and with their holes.

Indexes are allocated at full length, and the zeros behind their entries take no space.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

#: text where hundreds of files are handled at once: creating a Path costs as much as the system call
StrPath: TypeAlias = str | os.PathLike[str]
INCOMPLETE = ".tmp"


def data_extents(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """(start, end) of each part that holds data, as far as the file system reports it."""
    if not hasattr(os, "SEEK_HOLE"):
        if size:
            yield 0, size
        return
    end = 0
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, end


def copy(source: Path, target: Path) -> None:
    """Copies a file, holes as holes."""
    with source.open("rb") as reader, target.open("wb") as writer:
        size = os.fstat(reader.fileno()).st_size
        for start, end in data_extents(reader.fileno(), size):
            writer.seek(start)
            writer.write(os.pread(reader.fileno(), end - start, start))
        writer.truncate(size)


def copy_tree(source: Path, target: Path) -> None:
    """Copies a folder and everything below it, holes as holes."""
    for folder, _, names in os.walk(source):
        below = target / os.path.relpath(folder, source)
        below.mkdir(parents=True, exist_ok=True)
        for name in names:
            copy(Path(folder) / name, below / name)


def link_tree(source: StrPath, target: StrPath) -> None:
    """Links every file below a folder that is complete. Nothing where there is no such folder."""
    try:
        entries = list(os.scandir(source))
    except FileNotFoundError:
        return
    Path(target).mkdir(parents=True, exist_ok=True)
    for entry in entries:
        name = f"{os.fspath(target)}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            link_tree(entry.path, name)
        elif not entry.name.endswith(INCOMPLETE):
            # An archive deletes meanwhile what nothing uses.
            with suppress(FileNotFoundError):
                link(entry.path, name)


def link(source: StrPath, target: StrPath) -> None:
    """The same file under another name, or a copy where the file system has no hard links. Replaces `target`."""
    try:
        os.link(source, target)
    except FileExistsError:
        Path(target).unlink()
        link(source, target)
    except OSError:
        shutil.copyfile(source, target)
