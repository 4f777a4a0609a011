"""Handouts: an instant of a run, stored for many learners as a recording whose files are final, and its copies.

DATA/classes/<class>/handouts/<n>/main/     the recording of a handout, laid out as a branch
DATA/classes/<class>/handouts/<n>/archive/  bytes that were removed from files

A copy is a branch of its own: hard links to the handout's files, and an empty active segment. Files that grow in place
(keyframes and time line) are copied, so writes to a copy do not affect the handout or other copies.
"""

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from broker_core.log import LEADER_EPOCH_CHECKPOINT, RECOVERY_POINT_CHECKPOINT
from broker_core.refusals import KafkaException
from lab.journals.journal import CLEAN_SHUTDOWN
from lab.recordings.checkpoints import Checkpoints
from lab.recordings.copying import link, link_tree
from lab.recordings.description import VOCABULARY, IdentityError, begin_identity, identity_of, read_identity
from lab.recordings.folder import BranchFolder
from lab.recordings.fork import fork_recording
from lab.recordings.keyframes import KEYFRAMES
from lab.recordings.logs import EVENTS, INPUTS
from lab.recordings.recording import Recording
from lab.recordings.summary import SUMMARY, write_summary
from lab.recordings.timeline import TIMELINE
from lab.runtime import engine
from lab.runtime.pacer import Pacer
from lab.texts.refusal import Refusal

_CLASS = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_SEGMENT_SUFFIX, _SNAPSHOT_SUFFIX, _DELETED_SUFFIX = ".log", ".snapshot", ".deleted"
_INDEX_SUFFIXES = ".index", ".timeindex"


def handout_folder(classroom: str, number: int, *, data: Path | None = None) -> BranchFolder:
    """The folder of a class's handout, which need not exist. Raises Refusal (404) for an invalid name of a class."""
    if not _CLASS.fullmatch(classroom):
        raise Refusal("refusal.no_run_or_branch", 404, name=classroom)
    path = (data or settings.DATA) / "classes" / classroom / "handouts" / str(number) / "main"
    return BranchFolder(classroom, "main", path)


def _begin(recording: Recording, seq: int, handout: BranchFolder) -> Recording:
    """A separate recording with the events up to `seq`. Raises Refusal if the first inputs were not kept."""
    made = fork_recording(recording, seq, handout)
    # After the checkpoints, which need it.
    link_tree(recording.folder.path.parent / "archive", handout.path.parent / "archive")
    return made


def _seal(recording: Recording) -> None:
    """Makes all files of a handout final, and closes it. What every copy would derive from them is derived once."""
    recording.flush()
    recording.keep_last_view()
    write_summary(recording)
    recording.logs.roll()
    recording.close()


def make_handout(recording: Recording, seq: int, handout: BranchFolder) -> None:
    """Stores the instant after event `seq` of a recording, with a checkpoint of its engine, so that a copy can continue
    without executing events again. As in every fork, all events of the same step are included. Events are executed here
    unless the recording has a checkpoint of just this instant.

    Raises FileExistsError if the handout already exists, and Refusal if the engine cannot be rebuilt. A handout that
    could not be made leaves nothing behind. It takes seconds; call it from a thread.
    """
    # Outside of what is undone: the folder of another handout is left alone.
    handout.path.parent.mkdir(parents=True)
    made: Recording | None = None
    try:
        made = _begin(recording, seq, handout)
        if Checkpoints(handout).last_seq() != made.last_seq:
            engine.wake(made, Pacer(), "").close()
        _seal(made)
        shutil.rmtree(handout.cluster, ignore_errors=True)
    except BaseException:
        if made is not None:
            with suppress(OSError, KafkaException):
                made.close()
        discard_handout(handout)
        raise


def discard_handout(handout: BranchFolder) -> None:
    """Removes a handout of which there are no copies."""
    shutil.rmtree(handout.path.parent, ignore_errors=True)


def copy_handout(handout: BranchFolder, target: BranchFolder) -> None:
    """A new branch that continues from the handout. Its engine is built on the first action."""
    target.recording.mkdir(parents=True)
    source, copy = str(handout.recording), str(target.recording)
    next_seq, _ = [_copy_log(f"{source}/{topic}-0", f"{copy}/{topic}-0") for topic in (EVENTS, INPUTS)]
    for name in (KEYFRAMES, TIMELINE, RECOVERY_POINT_CHECKPOINT):
        with suppress(FileNotFoundError):
            shutil.copyfile(f"{source}/{name}", f"{copy}/{name}")
    # These are never modified in place: a change replaces the file.
    for name in (SUMMARY, VOCABULARY):
        with suppress(FileNotFoundError):
            link(f"{source}/{name}", f"{copy}/{name}")
    begin_identity(target, identity_of(handout), next_seq - 1)
    # Linked files must not be recovered, which would write to shared files.
    _create(f"{copy}/{CLEAN_SHUTDOWN}")
    link_tree(handout.checkpoints, target.checkpoints)
    link_tree(handout.path.parent / "archive", target.path.parent / "archive")


class CopiedState(NamedTuple):
    """The state after an event of a recording: its branch, as in its identity, and the event."""

    branch: str
    seq: int


def copied_state(target: BranchFolder) -> CopiedState | None:
    """The state of a copy in which nothing has happened yet, which all such copies of a handout share. None for any
    other branch.
    """
    try:
        identity = read_identity(target.recording)
        newest = max((target.recording / f"{EVENTS}-0").glob(f"*{_SEGMENT_SUFFIX}"))
        is_empty = newest.stat().st_size == 0
    except (IdentityError, OSError, ValueError):
        return None
    if identity is None or not identity.parent or not is_empty or int(newest.stem) != identity.parent_seq + 1:
        return None
    return CopiedState(identity.parent, identity.parent_seq)


def _copy_log(source: str, target: str) -> int:
    """A log with the same records, whose newest segment is empty; returns the offset of the next record."""
    Path(target).mkdir()
    names = [entry.name for entry in os.scandir(source)]
    newest = max(name for name in names if name.endswith(_SEGMENT_SUFFIX)).removesuffix(_SEGMENT_SUFFIX)
    for name in names:
        if name == LEADER_EPOCH_CHECKPOINT:
            shutil.copyfile(f"{source}/{name}", f"{target}/{name}")
        elif not name.endswith(_DELETED_SUFFIX) and name.partition(".")[0] != newest:
            link(f"{source}/{name}", f"{target}/{name}")
        elif name.endswith(_SNAPSHOT_SUFFIX):
            # Otherwise each copy would read all batches since the snapshot before, to find their producers.
            shutil.copyfile(f"{source}/{name}", f"{target}/{name}")
    for suffix in (_SEGMENT_SUFFIX, *_INDEX_SUFFIXES):
        _create(f"{target}/{newest}{suffix}")
    return int(newest)


def _create(path: str) -> None:
    """An empty file."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666))
