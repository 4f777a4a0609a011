"""The storage of tables, and the operations that the store needs."""

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import pyarrow.dataset as ds

from lab.analytics.store.objects import is_object_store


class Files(Protocol):
    """A file storage. Names are relative, with `/` between folders."""

    @property
    def address(self) -> str:
        """The address as it is shown."""
        ...

    def read(self, name: str) -> bytes:
        """The whole file. Raises FileNotFoundError."""
        ...

    def create(self, name: str, data: bytes) -> None:
        """Creates a file atomically: of several concurrent attempts, one succeeds. Raises FileExistsError."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Writes or replaces a file, atomically."""
        ...

    def names(self, folder: str) -> list[str]:
        """All files below a folder, in order."""
        ...

    def size(self, name: str) -> int:
        """The size of a file in bytes. Raises FileNotFoundError."""
        ...

    def delete(self, name: str) -> None:
        """Deletes a file or a folder, if it is there."""
        ...

    def dataset(self, name: str) -> AbstractContextManager[ds.Dataset]:
        """The rows of a Parquet file, or of a folder of parts, to be read within the context. Raises FileNotFoundError,
        and PlaceError for an object store that fails.
        """
        ...

    def local(self, name: str) -> str:
        """The path of a Parquet file, or a folder of parts, on this machine. Raises FileNotFoundError."""
        ...

    def for_spark(self, name: str) -> str:
        """The address at which Spark reads a Parquet file, or a folder of parts. Raises FileNotFoundError."""
        ...

    def written(self, name: str) -> AbstractContextManager[str]:
        """The address at which Spark writes a folder of parts. The folder is in its place when the context ends."""
        ...


class LocalFiles:
    """A folder of this machine, created with the first file."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def address(self) -> str:
        return str(self.root)

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def create(self, name: str, data: bytes) -> None:
        target = self._target(name)
        with self._beside(target, data) as whole:
            # Unlike a rename, a link does not replace an existing file.
            os.link(whole, target)
        _sync_folder(target.parent)

    def write(self, name: str, data: bytes) -> None:
        target = self._target(name)
        with self._beside(target, data) as whole:
            whole.replace(target)

    def names(self, folder: str) -> list[str]:
        start = self.root / folder
        found = []
        for path, _, files in os.walk(start):
            found += [(Path(path) / file).relative_to(self.root).as_posix() for file in files]
        return sorted(name for name in found if not name.endswith(".tmp"))

    def size(self, name: str) -> int:
        return (self.root / name).stat().st_size

    def delete(self, name: str) -> None:
        target = self.root / name
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)

    @contextlib.contextmanager
    def dataset(self, name: str) -> Iterator[ds.Dataset]:
        yield ds.dataset(self.local(name), format="parquet")

    def local(self, name: str) -> str:
        return f"{self.root}/{name}"

    def for_spark(self, name: str) -> str:
        return self.local(name)

    @contextlib.contextmanager
    def written(self, name: str) -> Iterator[str]:
        yield self.local(name)

    def _target(self, name: str) -> Path:
        target = self.root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    @contextlib.contextmanager
    def _beside(self, target: Path, data: bytes) -> Iterator[Path]:
        """Writes the data to a file beside the target and flushes it to the disk."""
        whole = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
        try:
            with whole.open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            yield whole
        finally:
            whole.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Makes created names survive a power loss."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def files_at(place: str) -> Files:
    """The files of a folder, or in an object store. Raises PlaceError for a place that cannot be one."""
    if is_object_store(place):
        from lab.analytics.store.object_files import ObjectFiles

        return ObjectFiles(place)
    return LocalFiles(Path(place))
