"""Copies of labs that were shown in a class, stored with its recording, so that deleting the run does not break the
replay.

DATA/classes/<class>/labs/<run>/<branch>/     a recording up to the last event that was shown, with the brokers' disks
DATA/classes/<class>/labs/<run>/archive/      bytes that were removed from files

The folder of a run is made as soon as a lab of it is shown. Full segments are hard links, so a copy costs little disk;
the disks are made by executing the inputs, and no engine is kept.
"""

import shutil
from contextlib import suppress
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


def note_shown(classroom: Path, run: str) -> None:
    """Records that a lab of this run is shown in the class with this folder."""
    (classroom / LABS / run).mkdir(parents=True, exist_ok=True)


def kept_folder(classroom: Path, run: str, branch: str) -> BranchFolder:
    """The path for the copy of a branch."""
    return branch_folder(run, branch, runs=classroom / LABS)


def is_kept(folder: BranchFolder) -> bool:
    """Whether there is a copy."""
    return folder.recording.is_dir()


def keep_shown(recording: Recording, seq: int, target: BranchFolder) -> None:
    """Copies a recording up to event `seq`, replacing an earlier copy. It takes seconds; call it from a thread.

    Raises Refusal if the first inputs were not kept. A recording of another version of the core is copied without
    disks.
    """
    partial = BranchFolder(target.run, target.branch, target.path.with_name(f"{target.branch}.{_PARTIAL}"))
    shutil.rmtree(partial.path, ignore_errors=True)
    link_tree(recording.folder.path.parent / "archive", target.path.parent / "archive")
    kept = fork_recording(recording, seq, partial)
    try:
        kept.spread_keyframes()
        with suppress(Refusal):
            engine.wake(kept, Pacer(), "").close()
    finally:
        kept.close()
    # Showing a lab does not run an engine, and checkpoints are pickles.
    shutil.rmtree(partial.checkpoints, ignore_errors=True)
    shutil.rmtree(target.path, ignore_errors=True)
    partial.path.rename(target.path)
