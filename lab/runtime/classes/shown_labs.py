"""Copies of labs that were shown in a class, stored with its recording, so that deleting the run does not break the
replay.

DATA/classes/<class>/labs/<run>/<branch>/     a recording up to the last event that was shown, with the brokers' disks
DATA/classes/<class>/labs/<run>/archive/      bytes that were removed from files

The folder of a run is made as soon as a lab of it is shown. Full segments are hard links, so a copy costs little disk;
the disks are made by executing the inputs, and no engine is kept.
"""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lab.recordings.copying import link_tree
from lab.recordings.folder import BranchFolder, branch_folder
from lab.recordings.fork import fork_recording
from lab.recordings.recording import Recording
from lab.runtime import engine
from lab.runtime.pacer import Pacer
from lab.texts.refusal import Refusal

LABS = "labs"
_PARTIAL = "partial"


@dataclass(frozen=True)
class PartialCopy:
    """A copy in `folder` that is to become `target`; `events`: how many it has."""

    folder: BranchFolder
    target: BranchFolder
    events: int


def note_shown(classroom: Path, run: str) -> None:
    """Records that a lab of this run is shown in the class with this folder."""
    (classroom / LABS / run).mkdir(parents=True, exist_ok=True)


def kept_folder(classroom: Path, run: str, branch: str) -> BranchFolder:
    """The path for the copy of a branch."""
    return branch_folder(run, branch, runs=classroom / LABS)


def is_kept(folder: BranchFolder) -> bool:
    """Whether there is a copy."""
    return folder.recording.is_dir()


def begin_copy(recording: Recording, seq: int, target: BranchFolder) -> PartialCopy:
    """Copies a recording up to event `seq`, for `complete` and `finish`. Call it from a thread.

    Raises Refusal if the first inputs were not kept.
    """
    partial = BranchFolder(target.run, target.branch, target.path.with_name(f"{target.branch}.{_PARTIAL}"))
    shutil.rmtree(partial.path, ignore_errors=True)
    link_tree(recording.folder.path.parent / "archive", target.path.parent / "archive")
    kept = fork_recording(recording, seq, partial)
    kept.close()
    return PartialCopy(partial, target, kept.last_seq - kept.first_seq)


def complete(folder: BranchFolder) -> None:
    """Adds keyframes and the brokers' disks to a copy. A recording of another version of the core gets no disks."""
    kept = Recording(folder)
    try:
        kept.spread_keyframes()
        with suppress(Refusal):
            engine.wake(kept, Pacer(), "").close()
    finally:
        kept.close()
    # Showing a lab does not run an engine, and checkpoints are pickles.
    shutil.rmtree(folder.checkpoints, ignore_errors=True)


def finish(copy: PartialCopy) -> None:
    """Puts a complete copy in the place of an earlier one."""
    shutil.rmtree(copy.target.path, ignore_errors=True)
    copy.folder.path.rename(copy.target.path)
