"""Finished cells on disk, so that no cell runs twice, and the whole result of a study."""

import uuid
from collections.abc import Iterable
from pathlib import Path

import msgspec

from lab.studies.definition import Result

_RESULTS = msgspec.json.Decoder(list[Result])


class Finished:
    """The cells of a study that are finished, whichever file of it they came from: in `folder`, a file a batch."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> dict[str, Result]:
        """All of them, by key."""
        found: dict[str, Result] = {}
        for path in sorted(self._folder.glob("*.json")):
            found |= {result.key: result for result in _RESULTS.decode(path.read_bytes())}
        return found

    def add(self, results: Iterable[Result]) -> None:
        """Keeps some more: all of them or, where the disk is full, none. Raises OSError."""
        write_whole(self._folder / f"{uuid.uuid4().hex}.json", msgspec.json.encode(list(results)))


def write_whole(path: Path, data: bytes) -> None:
    """Writes or replaces a file, atomically. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
