"""Labs that were shown in a class, kept with its recording: deleting the run does not break the replay.

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
    """A lab of this run is shown in the class whose folder this is."""
    (classroom / LABS / run).mkdir(parents=True, exist_ok=True)


def kept_folder(classroom: Path, run: str, branch: str) -> BranchFolder:
    """Where the copy of a branch is, or would be."""
    return branch_folder(run, branch, runs=classroom / LABS)


def is_kept(folder: BranchFolder) -> bool:
    """Whether there is a copy."""
    return folder.recording.is_dir()


def keep_shown(recording: Recording, seq: int, target: BranchFolder) -> None:
    """Copies a recording up to event `seq`, in place of an earlier copy. It takes seconds; call it from a thread.

    Raises Refusal if the first inputs were not kept. A recording of another version of the core is kept without disks.
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
    # What is shown executes no engine, and checkpoints are pickles.
    shutil.rmtree(partial.checkpoints, ignore_errors=True)
    shutil.rmtree(target.path, ignore_errors=True)
    partial.path.rename(target.path)
