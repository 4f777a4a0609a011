"""Copies a recording up to an event, for a new branch, or completely."""

import shutil
from contextlib import suppress

import msgspec

from lab.recordings.checkpoints import SUFFIXES, Checkpoints
from lab.recordings.copying import link
from lab.recordings.description import begin_identity, copy_vocabularies, identity_of
from lab.recordings.folder import BranchFolder
from lab.recordings.history import history_not_kept
from lab.recordings.keyframes import KEYFRAMES
from lab.recordings.recording import Recording
from lab.recordings.timeline import TIMELINE

MET = "met"
"""The kind of an input that an operation on ZooKeeper ran into."""


class _InputPlace(msgspec.Struct, array_like=True):
    """The first fields of a recorded input: its position."""

    step: int
    seq: int
    at_us: int
    kind: str

    @classmethod
    def of(cls, recorded: bytes) -> "_InputPlace":
        """The place of an input, which begins with a line of JSON."""
        return msgspec.json.decode(recorded.partition(b"\n")[0], type=cls)

    def is_before(self, seq: int) -> bool:
        """Whether event `seq` came after it. A change met by an operation precedes the events with which it was
        recorded.
        """
        return self.seq < seq or (self.kind == MET and self.seq == seq)


def fork_recording(parent: Recording, seq: int, folder: BranchFolder) -> Recording:
    """Begins the recording of a branch with the events of `parent` up to `seq`, and the inputs that led to them.

    Sealed segments are shared by hard links, so that the age of a run costs nothing. The caller has to `sync` or
    `close` the recording: until then it does not survive a power loss. If the process is killed before this returns,
    the recording may lack inputs, and opening it, for example for a stored `Branch` that refers to it, recovers its own
    files only. Raises Refusal if the first inputs were not kept.
    """
    if parent.first_seq > 1:
        raise history_not_kept(parent)
    folder.recording.mkdir(parents=True)
    with parent.still():
        for name in (KEYFRAMES, TIMELINE):
            with suppress(FileNotFoundError):
                shutil.copyfile(parent.folder.recording / name, folder.recording / name)
        copy_vocabularies(parent.folder.recording, folder.recording, seq)
        begin_identity(folder, identity_of(parent.folder), seq)
        inputs = parent.inputs()
        logs = parent.logs.copy_events(seq, folder)
    try:
        recording = Recording(folder, logs=logs)
        recording.append_inputs(
            [(place.at_us, data) for data in inputs if (place := _InputPlace.of(data)).is_before(seq)]
        )
        folder.checkpoints.mkdir()
        for path in parent.folder.checkpoints.glob("*"):
            if path.suffix[1:] in SUFFIXES:
                link(path, folder.checkpoints / path.name)
        Checkpoints(folder).forget_after(seq)
    except BaseException:
        logs.abandon()
        raise
    return recording
