"""Archives of removed bytes: content-addressed stores, in memory and in a folder."""

import hashlib
import os
from collections.abc import Collection
from contextlib import suppress
from itertools import chain
from pathlib import Path


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
    """An archive with one file per digest. Older ones are in subdirectories, named after the first two digits, of which
    each copy of a run had to make some hundred.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, data: bytes) -> str:
        digest = digest_of(data)
        for known in self._paths(digest):
            with suppress(FileNotFoundError):
                os.utime(known)
                return digest
        self._root.mkdir(parents=True, exist_ok=True)
        # The same bytes may be put by several threads and processes at once.
        temporary = self._root / f"{digest}.{os.getpid()}-{id(data)}.tmp"
        temporary.write_bytes(data)
        temporary.replace(self._root / digest)
        return digest

    def get(self, digest: str) -> bytes:
        for path in self._paths(digest):
            with suppress(FileNotFoundError):
                return path.read_bytes()
        raise KeyError(digest)

    def sweep(self, used: Collection[str], older_than_s: float) -> None:
        """Deletes what was last put before `older_than_s` (since 1970), but for the `used` digests."""
        for path in chain(self._root.glob("*"), self._root.glob("*/*")):
            with suppress(FileNotFoundError):
                if path.name not in used and path.is_file() and path.stat().st_mtime < older_than_s:
                    path.unlink()

    def _paths(self, digest: str) -> tuple[Path, Path]:
        return self._root / digest, self._root / digest[:2] / digest


def digest_of(data: bytes) -> str:
    """The name under which an archive keeps `data`."""
    return hashlib.sha256(data).hexdigest()[:32]
