"""Tables in an object store. A file of them that is needed on this machine is copied for as long as the process runs:
files never change.
"""

import atexit
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset as ds

from lab.analytics import place
from lab.analytics.store.objects import Address, client, filesystem, translated_errors

if TYPE_CHECKING:
    from obstore.store import S3Store

SPOOL = "highwater-tables-"
"""Prefix of the folder for copies, among the temporary files."""


class ObjectFiles:
    """Tables below an address, `s3://bucket/folder`: see `Files`."""

    def __init__(self, where: str) -> None:
        """Raises PlaceError for an address without a bucket, and without the package that it takes."""
        self._address = Address.of(where)
        self._client: S3Store = client(self._address)
        self._lock = threading.Lock()
        self._spool: Path | None = None

    @property
    def address(self) -> str:
        return str(self._address)

    def read(self, name: str) -> bytes:
        with translated_errors(self.address):
            return bytes(self._client.get(self._address.at(name)).bytes())

    def create(self, name: str, data: bytes) -> None:
        with translated_errors(self.address):
            self._client.put(self._address.at(name), data, mode="create", use_multipart=False)

    def write(self, name: str, data: bytes) -> None:
        with translated_errors(self.address):
            self._client.put(self._address.at(name), data)

    def names(self, folder: str) -> list[str]:
        start = self._address.at(folder)
        cut = len(self._address.folder) + 1 if self._address.folder else 0
        with translated_errors(self.address):
            found = [one["path"] for page in self._client.list(start or None) for one in page]
        return sorted(path[cut:] for path in found)

    def size(self, name: str) -> int:
        with translated_errors(self.address):
            return int(self._client.head(self._address.at(name))["size"])

    def delete(self, name: str) -> None:
        below = self.names(name)
        with translated_errors(self.address):
            # To delete what is not there succeeds.
            self._client.delete([self._address.at(one) for one in (name, *below)])
        if self._spool is not None:
            copy = self._spool / name
            if copy.is_dir():
                shutil.rmtree(copy, ignore_errors=True)
            else:
                copy.unlink(missing_ok=True)

    @contextmanager
    def dataset(self, name: str) -> Iterator[ds.Dataset]:
        copy = None if self._spool is None else self._spool / name
        if copy is not None and copy.exists():
            yield ds.dataset(str(copy), format="parquet")
            return
        # Rows are read within the context, so that failures are reported in the same way.
        with translated_errors(self.address):
            path = f"{self._address.bucket}/{self._address.at(name)}"
            yield ds.dataset(path, format="parquet", filesystem=filesystem())

    def local(self, name: str) -> str:
        copy = self._copies() / name
        with self._lock:
            if not copy.exists():
                self._fetch(name, copy)
        return str(copy)

    def for_spark(self, name: str) -> str:
        return self.local(name) if place.is_local() else self._of_cluster(name)

    @contextmanager
    def written(self, name: str) -> Iterator[str]:
        if not place.is_local():
            yield self._of_cluster(name)
            return
        folder = self._copies() / name
        yield str(folder)
        for part in sorted(folder.rglob("*.parquet")):
            with translated_errors(self.address):
                self._client.put(self._address.at(part.relative_to(self._copies()).as_posix()), part)

    def _fetch(self, name: str, copy: Path) -> None:
        """Copies a file, or all parts of a folder. The copy is there when it is whole: a failure leaves none."""
        half = copy.with_name(f".{copy.name}.tmp")
        shutil.rmtree(half, ignore_errors=True)
        for part in self.names(name) or [name]:
            target = half / part.removeprefix(name).lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            with translated_errors(self.address), target.open("wb") as stream:
                for chunk in self._client.get(self._address.at(part)).stream():
                    stream.write(chunk)
        half.replace(copy)

    def _copies(self) -> Path:
        if self._spool is None:
            self._spool = Path(tempfile.mkdtemp(prefix=SPOOL))
            atexit.register(shutil.rmtree, self._spool, ignore_errors=True)
        return self._spool

    def _of_cluster(self, name: str) -> str:
        """As Hadoop's file system for S3 calls it, which a cluster has from its owner."""
        return f"s3a://{self._address.bucket}/{self._address.at(name)}"
