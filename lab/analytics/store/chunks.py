"""Lists in chunks that are named by their digest: unchanged chunks are neither written nor read again."""

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

import cramjam
import msgspec
import pyarrow as pa

from lab.analytics.store.files import Files
from lab.analytics.store.objects import PlaceError

CHUNK = 1_000
"""Entries in a chunk."""
CHUNKS = "_chunks/"
_KEPT = 4_096
"""Chunks that a reader keeps in memory."""

Entry = TypeVar("Entry", bound=msgspec.Struct)


class Chunks(Generic[Entry]):
    """Lists of one type of entry."""

    def __init__(self, files: Files, entry: type[Entry]) -> None:
        self._files = files
        self._decode = msgspec.json.Decoder(list[entry]).decode  # type: ignore[valid-type]
        self._read = lru_cache(_KEPT)(self._read_one)

    def write(self, entries: Sequence[Entry]) -> list[str]:
        """Writes a list and returns the names of its chunks. Existing chunks are not rewritten."""
        return [self._write_one(entries[start : start + CHUNK]) for start in range(0, len(entries), CHUNK)]

    def read(self, names: Iterable[str]) -> list[Entry]:
        """A list by the names of its chunks. Raises FileNotFoundError if vacuum has deleted one."""
        return [entry for name in names for entry in self._read(name)]

    def _write_one(self, entries: Sequence[Entry]) -> str:
        data = packed(list(entries))
        name = hashlib.sha256(data).hexdigest()[:32]
        # A file of this name has the same entries.
        with contextlib.suppress(FileExistsError):
            self._files.create(chunk_file(name), data)
        return name

    def _read_one(self, name: str) -> tuple[Entry, ...]:
        with whole(self._files, chunk_file(name)):
            return tuple(self._decode(decompressed(self._files.read(chunk_file(name)))))


@contextlib.contextmanager
def whole(files: Files, name: str) -> Iterator[None]:
    """Raises PlaceError, which names the file as damaged, if the block cannot decode its bytes."""
    try:
        yield
    except (msgspec.MsgspecError, cramjam.DecompressionError, pa.ArrowInvalid) as error:
        raise PlaceError("refusal.tables_damaged", file=name, place=files.address) from error


def chunk_file(name: str) -> str:
    """The path of a chunk."""
    return f"{CHUNKS}{name}.json.zst"


def packed(value: object) -> bytes:
    """JSON, compressed; the same bytes for the same value."""
    return bytes(cramjam.zstd.compress(msgspec.json.encode(value, order="deterministic"), level=3))


T = TypeVar("T")


def unpacked(data: bytes, type: type[T]) -> T:
    """The value that was packed."""
    return msgspec.json.decode(decompressed(data), type=type)


def decompressed(data: bytes) -> bytes:
    """The JSON of a packed value."""
    return bytes(cramjam.zstd.decompress(data))
