"""Writes a run as one file."""

import zipfile
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple

import msgspec

from lab.archives.manifest import KIND, MAX_BYTES, VERSION, ArchivedBranch, Manifest, name_of
from lab.archives.zips import Part, described, write_zip
from lab.recordings.description import IDENTITY, VOCABULARY
from lab.recordings.history import history_not_kept
from lab.recordings.logs import EVENTS, INPUTS
from lab.recordings.recording import Recording
from lab.texts.refusal import Refusal

_INNER = ("*.log", "leader-epoch-checkpoint")


class RunFacts(NamedTuple):
    """What the database knows of a run."""

    name: str
    era: str
    seed: int
    brokers: int


def pack_run(run: RunFacts, branches: Sequence[tuple[Recording, ArchivedBranch]], target: IO[bytes]) -> Manifest:
    """Writes the run as it is now; labs continue meanwhile. `ArchivedBranch.last_seq` is filled in here.

    Raises Refusal: the beginning of a recording was not kept, or there is more than an import would take.
    """
    parts: list[Part] = []
    archived: list[ArchivedBranch] = []
    for recording, branch in branches:
        if recording.first_seq > 1:
            raise history_not_kept(recording)
        with recording.still():
            archived.append(msgspec.structs.replace(branch, last_seq=recording.last_seq))
            parts += _parts(recording, branch.name)
    total = sum(part.size for part in parts)
    if total > MAX_BYTES:
        raise Refusal("refusal.run_too_large", 413, run=run.name, mib=-(-total // 2**20), max=MAX_BYTES // 2**20)
    files = {part.name: described(part) for part in parts}
    manifest = Manifest(KIND, VERSION, *run, tuple(archived), files)
    write_zip(target, manifest, parts, zipfile.ZIP_DEFLATED)
    return manifest


def _parts(recording: Recording, branch: str) -> Iterator[Part]:
    folder = recording.folder.recording
    paths = [folder / name for name in (IDENTITY, VOCABULARY)]
    for topic in (EVENTS, INPUTS):
        paths += (path for pattern in _INNER for path in (folder / f"{topic}-0").glob(pattern))
    for path in sorted(paths):
        if path.exists():
            yield Part(name_of(branch, path, folder), path, path.stat().st_size)
