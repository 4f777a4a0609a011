"""Finished cells on disk, so that no cell runs twice, and the whole result of a study."""

import uuid
from collections.abc import Iterable
from pathlib import Path

import msgspec

from lab.studies.definition import Result

_RESULTS = msgspec.json.Decoder(list[Result])


class Finished:
    """The finished cells of a study, from any version of its file: in `folder`, one file per batch."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> dict[str, Result]:
        """All finished cells, by key. Those of a damaged file are not finished: they run again."""
        found: dict[str, Result] = {}
        for path in sorted(self._folder.glob("*.json")):
            try:
                results = _RESULTS.decode(path.read_bytes())
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            found |= {result.key: result for result in results}
        return found

    def add(self, results: Iterable[Result]) -> None:
        """Stores more cells: all of them, or none if the disk is full. Raises OSError."""
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
