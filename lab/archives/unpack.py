"""Reads a run that somebody has carried here. Nothing in it is trusted, and nothing of it is executed.

A file is refused as a whole, with a sentence, before anything of it reaches the lab's runs: names that are not those of
a run's files, links, more bytes than declared or allowed, another digest, a newer version, a log that would have to be
repaired, events that this version does not know.
"""

import shutil
import stat
import zipfile
from http import HTTPStatus
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from broker_core.eras import ERAS
from broker_core.refusals import KafkaException
from broker_core.texts import Value
from lab.archives.manifest import (
    FILE,
    KIND,
    MANIFEST,
    MAX_BOOKMARKS,
    MAX_BRANCHES,
    MAX_BYTES,
    MAX_FILES,
    VERSION,
    CarriedBranch,
    CarriedFile,
    Manifest,
    digest_of,
)
from lab.recordings.folder import BranchFolder, branch_folder
from lab.recordings.logs import EVENTS, INPUTS
from lab.recordings.recording import Recording
from lab.texts.refusal import Refusal

MAX_MANIFEST_BYTES = 4 * 1024 * 1024
MAX_NAME = 80
MAX_SEED = 2**32 - 1
MAX_BROKERS = 7
_CHUNK = 1024 * 1024


class Unpacked(NamedTuple):
    """A run whose recordings lie below `folder`, laid out as those of a lab."""

    manifest: Manifest
    folder: Path


class _Version(msgspec.Struct):
    kind: str
    version: int


def unpack_run(source: IO[bytes], runs: Path, run: str) -> Unpacked:
    """Unpacks a run below `runs/run` and opens its recordings once, which derives what is derived from events.

    Raises Refusal; nothing is left below `runs/run` then.
    """
    folder = runs / run
    try:
        with zipfile.ZipFile(source) as archive:
            manifest = _manifest(archive)
            for name, described in manifest.files.items():
                _unpack(archive, name, described, _target(name, runs, run))
        for branch in manifest.branches:
            _check_recording(branch, branch_folder(run, branch.name, runs=runs))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise _invalid("refusal.archive_unreadable", problem=str(error)) from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Unpacked(manifest, folder)


def _manifest(archive: zipfile.ZipFile) -> Manifest:
    entries = archive.infolist()
    if len(entries) > MAX_FILES:
        raise _invalid("refusal.archive_many_files", count=len(entries), max=MAX_FILES)
    names = [entry.filename for entry in entries]
    if MANIFEST not in names or len(set(names)) < len(names):
        raise _invalid("refusal.archive_no_run", file=MANIFEST)
    for entry in entries:
        mode = entry.external_attr >> 16
        is_plain = stat.S_IFMT(mode) in (0, stat.S_IFREG)
        if not is_plain or (entry.filename != MANIFEST and not FILE.fullmatch(entry.filename)):
            raise _invalid("refusal.archive_foreign_file", file=entry.filename[:80])
    with archive.open(MANIFEST) as stream:
        data = stream.read(MAX_MANIFEST_BYTES + 1)
    try:
        shown = msgspec.json.decode(data, type=_Version)
        if shown.kind == KIND and shown.version > VERSION:
            raise _invalid("refusal.archive_newer", version=shown.version, known=VERSION)
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        raise _invalid("refusal.archive_unreadable", problem=str(error)) from None
    _check(manifest, set(names))
    return manifest


def _check(manifest: Manifest, names: set[str]) -> None:
    branches = [branch.name for branch in manifest.branches]
    known: set[str] = set()
    for branch in manifest.branches:
        is_first = not known
        if branch.name in known or (branch.parent in known) == is_first or len(branch.bookmarks) > MAX_BOOKMARKS:
            raise _invalid("refusal.archive_branches", branch=branch.name[:40])
        if not 0 <= branch.parent_seq <= branch.last_seq:
            raise _invalid("refusal.archive_branches", branch=branch.name[:40])
        known.add(branch.name)
    is_sane = (
        manifest.kind == KIND
        and manifest.era in ERAS
        and 0 < len(manifest.name) <= MAX_NAME
        and 0 <= manifest.seed <= MAX_SEED
        and 1 <= manifest.brokers <= MAX_BROKERS
        and 1 <= len(branches) <= MAX_BRANCHES
    )
    if not is_sane:
        raise _invalid("refusal.archive_no_run", file=MANIFEST)
    if set(manifest.files) != names - {MANIFEST}:
        odd = sorted(set(manifest.files) ^ (names - {MANIFEST}))[0]
        raise _invalid("refusal.archive_foreign_file", file=odd[:80])
    for name in manifest.files:
        found = FILE.fullmatch(name)
        if found is None or found["branch"] not in known:
            raise _invalid("refusal.archive_foreign_file", file=name[:80])
    total = sum(one.bytes for one in manifest.files.values())
    if total > MAX_BYTES or any(one.bytes < 0 for one in manifest.files.values()):
        raise _invalid("refusal.archive_too_large", mib=-(-total // 2**20), max=MAX_BYTES // 2**20)


def _target(name: str, runs: Path, run: str) -> Path:
    found = FILE.fullmatch(name)
    assert found is not None
    return branch_folder(run, found["branch"], runs=runs).recording / found["file"]


def _unpack(archive: zipfile.ZipFile, name: str, described: CarriedFile, target: Path) -> None:
    """Writes no more than what was declared, whatever the entry decompresses to."""
    target.parent.mkdir(parents=True, exist_ok=True)
    left = described.bytes
    with archive.open(name) as reader, target.open("wb") as writer:
        while data := reader.read(min(_CHUNK, left + 1)):
            left -= len(data)
            if left < 0:
                break
            writer.write(data)
    with target.open("rb") as stream:
        if left != 0 or digest_of(stream) != described:
            raise _invalid("refusal.archive_changed", file=name)


def _check_recording(branch: CarriedBranch, folder: BranchFolder) -> None:
    """Opens a recording: recovery may find nothing to repair, and each event is one that this version knows."""
    logs = [path for topic in (EVENTS, INPUTS) for path in (folder.recording / f"{topic}-0").glob("*.log")]
    before = {path: path.stat().st_size for path in logs}
    if not (folder.recording / f"{INPUTS}-0").is_dir():
        raise _invalid("refusal.archive_branches", branch=branch.name)
    try:
        recording = Recording(folder)
        last_seq = recording.last_seq
        recording.close()
    except Refusal:
        # It would name a folder of this machine.
        raise _invalid("refusal.archive_log", branch=branch.name, problem="header") from None
    except (msgspec.MsgspecError, KafkaException, ValueError, KeyError, OSError) as error:
        raise _invalid("refusal.archive_log", branch=branch.name, problem=str(error)[:200]) from None
    is_whole = all(path.exists() and path.stat().st_size == size for path, size in before.items())
    if last_seq != branch.last_seq or not is_whole:
        raise _invalid("refusal.archive_torn", branch=branch.name, seq=last_seq, expected=branch.last_seq)


def _invalid(id: str, **values: Value) -> Refusal:
    return Refusal(id, HTTPStatus.BAD_REQUEST, field="file", **values)
