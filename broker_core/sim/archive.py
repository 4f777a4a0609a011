"""Archives of removed bytes: content-addressed stores, in memory and in a folder."""

import hashlib
import os
from collections.abc import Collection
from contextlib import suppress
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
    """An archive with one file per digest, in subdirectories named after the first two digits."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, data: bytes) -> str:
        digest = digest_of(data)
        path = self._path(digest)
        try:
            os.utime(path)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            # The same bytes may be put by several threads and processes at once.
            temporary = path.with_suffix(f".{os.getpid()}-{id(data)}")
            temporary.write_bytes(data)
            temporary.replace(path)
        return digest

    def get(self, digest: str) -> bytes:
        try:
            return self._path(digest).read_bytes()
        except FileNotFoundError:
            raise KeyError(digest) from None

    def sweep(self, used: Collection[str], older_than_s: float) -> None:
        """Deletes what was last put before `older_than_s` (since 1970), but for the `used` digests."""
        for path in self._root.glob("*/*"):
            with suppress(FileNotFoundError):
                if path.name not in used and path.stat().st_mtime < older_than_s:
                    path.unlink()

    def _path(self, digest: str) -> Path:
        return self._root / digest[:2] / digest


def digest_of(data: bytes) -> str:
    """The name under which an archive keeps `data`."""
    return hashlib.sha256(data).hexdigest()[:32]
