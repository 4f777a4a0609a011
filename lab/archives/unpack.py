"""Reads an imported run. Nothing in it is trusted, and nothing of it is executed.

A file is refused as a whole, with a message, before anything of it reaches the lab's runs: as described in `zips.py`,
and for a log that would have to be repaired, and events that this version does not know.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

from broker_core.eras import ERAS
from lab.archives.batches import ensure_records_fit
from lab.archives.foreign import FOREIGN_DATA_ERRORS, problem_of
from lab.archives.manifest import (
    FILE,
    KIND,
    MANIFEST,
    MAX_BOOKMARKS,
    MAX_BRANCHES,
    VERSION,
    ArchivedBranch,
    Manifest,
)
from lab.archives.progress import Report, Share, no_report, shares_of
from lab.archives.zips import Contents, check_files, invalid, opened_zip, read_manifest, unpack_all
from lab.recordings.folder import BranchFolder, branch_folder
from lab.recordings.logs import EVENTS, INPUTS
from lab.recordings.recording import Recording
from lab.recordings.timeline import SEGMENT_EVENTS
from lab.run_limits import MAX_BROKERS, MAX_SEED
from lab.texts.refusal import Refusal

MAX_NAME = 80


class Unpacked(NamedTuple):
    """A run whose recordings are below `folder`, laid out as those of a lab."""

    manifest: Manifest
    folder: Path


_RUN = Contents(KIND, VERSION, FILE, "refusal.archive_no_run")


def unpack_run(source: IO[bytes], runs: Path, run: str, report: Report = no_report) -> Unpacked:
    """Unpacks a run below `runs/run` and opens its recordings once, which derives what is derived from events. Raises
    Refusal, and leaves nothing below `runs/run`.
    """
    folder = runs / run
    try:
        with opened_zip(source) as archive:
            manifest, names = read_manifest(archive, _RUN, Manifest)
            _check(manifest, names)
            unpack_all(archive, manifest.files, lambda name: _target(name, runs, run), report)
            for branch, share in shares_of(manifest.branches, [branch.last_seq for branch in manifest.branches]):
                _check_recording(branch, branch_folder(run, branch.name, runs=runs), report, share)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Unpacked(manifest, folder)


def _check(manifest: Manifest, names: set[str]) -> None:
    branches = [branch.name for branch in manifest.branches]
    known: set[str] = set()
    for branch in manifest.branches:
        is_first = not known
        if branch.name in known or (branch.parent in known) == is_first or len(branch.bookmarks) > MAX_BOOKMARKS:
            raise invalid("refusal.archive_branches", branch=branch.name[:40])
        if not 0 <= branch.parent_seq <= branch.last_seq:
            raise invalid("refusal.archive_branches", branch=branch.name[:40])
        known.add(branch.name)
    is_sane = (
        manifest.era in ERAS
        and 0 < len(manifest.name) <= MAX_NAME
        and 0 <= manifest.seed <= MAX_SEED
        and 1 <= manifest.brokers <= MAX_BROKERS
        and 1 <= len(branches) <= MAX_BRANCHES
    )
    if not is_sane:
        raise invalid("refusal.archive_no_run", file=MANIFEST)
    for name in manifest.files:
        found = FILE.fullmatch(name)
        if found is None or found["branch"] not in known:
            raise invalid("refusal.archive_foreign_file", file=name[:80])
    check_files(manifest.files, names)


def _target(name: str, runs: Path, run: str) -> Path:
    found = FILE.fullmatch(name)
    assert found is not None
    return branch_folder(run, found["branch"], runs=runs).recording / found["file"]


def _check_recording(branch: ArchivedBranch, folder: BranchFolder, report: Report, share: Share) -> None:
    last_seq = checked_end(branch.name, folder, report, share)
    if last_seq != branch.last_seq:
        raise invalid("refusal.archive_torn", branch=branch.name, seq=last_seq, expected=branch.last_seq)


def checked_end(name: str, folder: BranchFolder, report: Report, share: Share) -> int:
    """Opens the imported recording `name`, and returns its last event. `share`: its part of the events of the import.
    Raises Refusal when recovery finds something to repair, and for an event that this version does not know.
    """

    def derived(seq: int) -> None:
        # Then the events are read once more.
        report("check", share.before + seq // 2, share.of)

    logs = [path for topic in (EVENTS, INPUTS) for path in (folder.recording / f"{topic}-0").glob("*.log")]
    before = {path: path.stat().st_size for path in logs}
    if not (folder.recording / f"{INPUTS}-0").is_dir():
        raise invalid("refusal.archive_branches", branch=name)
    ensure_records_fit(name, logs)
    try:
        recording = Recording(folder, derived=derived)
        try:
            last_seq = recording.last_seq
            read_seq = _readable_to(recording, lambda seq: derived(last_seq + seq))
        finally:
            recording.close()
    except Refusal:
        # It would name a folder of this machine.
        raise invalid("refusal.archive_log", branch=name, problem="header") from None
    except FOREIGN_DATA_ERRORS as error:
        raise invalid("refusal.archive_log", branch=name, problem=problem_of(error)) from None
    if not all(path.exists() and path.stat().st_size == size for path, size in before.items()):
        raise invalid("refusal.archive_torn", branch=name, seq=last_seq, expected=last_seq)
    if read_seq != last_seq:
        raise invalid("refusal.archive_torn", branch=name, seq=read_seq, expected=last_seq)
    return last_seq


def _readable_to(recording: Recording, read_to: Callable[[int], None]) -> int:
    """The last event before the first one that is missing: recovery looks at the newest segment only."""
    for first in range(recording.first_seq, recording.last_seq + 1, SEGMENT_EVENTS):
        wanted = range(first, min(recording.last_seq, first + SEGMENT_EVENTS - 1) + 1)
        read = [event.seq for event in recording.stored(first, wanted[-1])]
        if read != list(wanted):
            return min(set(wanted) - set(read), default=first) - 1
        read_to(wanted[-1])
    return recording.last_seq
