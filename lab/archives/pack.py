"""Writes a run as one file."""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from lab.archives.manifest import (
    KIND,
    MANIFEST,
    MAX_BYTES,
    VERSION,
    CarriedBranch,
    CarriedFile,
    Manifest,
    digest_of,
    name_of,
)
from lab.recordings.description import IDENTITY, VOCABULARY
from lab.recordings.history import history_not_kept
from lab.recordings.logs import EVENTS, INPUTS
from lab.recordings.recording import Recording
from lab.texts.refusal import Refusal

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Of every entry, so that the same run gives the same bytes."""
_CHUNK = 1024 * 1024
_INNER = ("*.log", "leader-epoch-checkpoint")


class _Part(NamedTuple):
    """The first `size` bytes of a file, which never change: logs only grow."""

    name: str
    path: Path
    size: int


class RunFacts(NamedTuple):
    """What the database knows of a run."""

    name: str
    era: str
    seed: int
    brokers: int


def pack_run(run: RunFacts, branches: Sequence[tuple[Recording, CarriedBranch]], target: IO[bytes]) -> Manifest:
    """Writes the run as it is now; labs go on meanwhile. `CarriedBranch.last_seq` is filled in here.

    Raises Refusal: the beginning of a recording was not kept, or there is more than an import would take.
    """
    parts: list[_Part] = []
    carried: list[CarriedBranch] = []
    for recording, branch in branches:
        if recording.first_seq > 1:
            raise history_not_kept(recording)
        with recording.still():
            carried.append(msgspec.structs.replace(branch, last_seq=recording.last_seq))
            parts += _parts(recording, branch.name)
    total = sum(part.size for part in parts)
    if total > MAX_BYTES:
        raise Refusal("refusal.run_too_large", 413, run=run.name, mib=-(-total // 2**20), max=MAX_BYTES // 2**20)
    files = {part.name: _described(part) for part in parts}
    manifest = Manifest(KIND, VERSION, *run, tuple(carried), files)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_entry(MANIFEST), msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        for part in parts:
            with archive.open(_entry(part.name), "w") as writer:
                for data in _bytes_of(part):
                    writer.write(data)
    return manifest


def _parts(recording: Recording, branch: str) -> Iterator[_Part]:
    folder = recording.folder.recording
    paths = [folder / name for name in (IDENTITY, VOCABULARY)]
    for topic in (EVENTS, INPUTS):
        paths += (path for pattern in _INNER for path in (folder / f"{topic}-0").glob(pattern))
    for path in sorted(paths):
        if path.exists():
            yield _Part(name_of(branch, path, folder), path, path.stat().st_size)


def _described(part: _Part) -> CarriedFile:
    with part.path.open("rb") as stream:
        return digest_of(_Limited(stream, part.size))


def _bytes_of(part: _Part) -> Iterator[bytes]:
    with part.path.open("rb") as stream:
        limited = _Limited(stream, part.size)
        while data := limited.read(_CHUNK):
            yield data


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


class _Limited:
    """The first bytes of a stream."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream = stream
        self._left = size

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes of those that are left."""
        data = self._stream.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data
