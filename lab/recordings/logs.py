"""The two journals of a branch: its events and its inputs.

In `events-0` the offset of a record is the event's seq and its timestamp the simulated time in microseconds, so that an
instant is found through the `.timeindex`, and a crash is recovered from as any log is. Offset 0 holds the header: what
the run was started with. In `inputs-0` offsets are merely dense. Large batches of both are compressed.
"""

import shutil
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from broker_core.log import LEADER_EPOCH_CHECKPOINT, RECOVERY_POINT_CHECKPOINT, LogConfig, OffsetCheckpoint
from broker_core.partitions import TopicPartition
from broker_core.sim.disk import RealDisk
from broker_core.texts import Text, text
from lab.journals.journal import CLEAN_SHUTDOWN, JournalFolder, Stamped, journal_config
from lab.recordings.base import read_base
from lab.recordings.copying import link
from lab.recordings.folder import BranchFolder
from lab.texts.refusal import Refusal

__all__ = ["EVENTS", "FORMAT", "INPUTS", "Header", "RecordedLogs", "Stamped", "StoredEvent"]

FORMAT = 1
EVENTS = "events"
INPUTS = "inputs"

_INDEX_BYTES = 1024 * 1024
_MAX_BATCH_BYTES = 15 * 1024 * 1024
_SEGMENT_BYTES = {EVENTS: 16 * 1024 * 1024, INPUTS: 128 * 1024 * 1024}
"""Each new segment waits for the hardware, and what clients send fills many."""
_BOUNDED_BYTES = {EVENTS: 4 * 1024 * 1024, INPUTS: 8 * 1024 * 1024}
"""Segments of a recording that forgets its oldest ones."""
_COMPRESSED_BYTES = 16 * 1024
"""Batches of this size and more are compressed. Data of clients is in the brokers' logs, too, and the second copy would
take as long to write as the first; events take a tenth of the space. Smaller batches are not worth the cost.
"""


class Header(msgspec.Struct):
    """The record at offset 0. `config` is what the engine was given; its shape is the engine's."""

    format: int
    config: dict[str, Any]


class StoredEvent(NamedTuple):
    """An event as stored in the log: `record` is that of `broker_core.events.codec`."""

    seq: int
    record: bytes

    @property
    def at_us(self) -> int:
        """With this a record begins: `[at_us,"b1",...`."""
        return int(self.record[1 : self.record.index(b",")])


class RecordedLogs:
    """Both logs, open. One object a branch and process. Each log may be used by one thread at a time; what is of both,
    such as `sync`, by none beside.
    """

    def __init__(self, folder: BranchFolder, header: Header | None = None, *, is_bounded: bool = False) -> None:
        """Opens the recording; with a `header`, begins one. `is_bounded`: its oldest segments will be deleted. Raises
        Refusal when there is none, or none to be read.
        """
        self.folder = folder
        if header is None and not (folder.recording / f"{EVENTS}-0").is_dir():
            raise _unreadable(folder, text("refusal.recording_empty"))
        self._folder = JournalFolder(folder.recording, _configs(is_bounded), compressed_bytes=_COMPRESSED_BYTES)
        self._events, self._inputs = self._folder[EVENTS], self._folder[INPUTS]
        if header is not None and self._events.end == 0:
            self._events.append([(0, msgspec.json.encode(header))])
        self.header = self._read_header()
        self.last_at_us = self.events(self.last_seq, self.last_seq)[0].at_us if self.last_seq else 0

    @property
    def last_seq(self) -> int:
        """The last event that is written; 0 when there is none."""
        return self._events.last_seq

    @property
    def size_bytes(self) -> int:
        return self._events.size_bytes + self._inputs.size_bytes

    def append_events(self, events: Sequence[Stamped]) -> None:
        """Writes the events after `last_seq`, each (at_us, record)."""
        self._events.append(events)
        self.last_at_us = events[-1][0]

    def append_inputs(self, inputs: Sequence[Stamped]) -> None:
        """Writes inputs, each (at_us, bytes). They are in the page cache when this returns."""
        self._inputs.append(inputs)

    def events(self, first_seq: int, last_seq: int) -> list[StoredEvent]:
        """The written events from `first_seq` to `last_seq`, as far as there are."""
        return self._events.read(first_seq, min(last_seq, self.last_seq), StoredEvent)

    @property
    def input_count(self) -> int:
        """How many inputs are written."""
        return self._inputs.end

    def inputs(self, first: int = 0) -> list[bytes]:
        """All inputs but the `first` ones, in order, as far as they are kept."""
        return self._inputs.values(first)

    def seq_at(self, at_us: int) -> int:
        """The last written event at or before an instant; 0 before the first."""
        return self._events.seq_at(at_us)

    def copy_events(self, last_seq: int, folder: BranchFolder) -> "RecordedLogs":
        """Copies the events log up to `last_seq`, and returns the logs of the copy, open and not synced. Segments that
        are full and all of which stays are linked.
        """
        target = folder.recording / f"{EVENTS}-0"
        target.mkdir(parents=True)
        source = self.folder.recording / f"{EVENTS}-0"
        boundary, position, first_offset = self._events.place_of(last_seq + 1)
        for segment in self._events.segments:
            name = f"{segment.base_offset:020d}"
            if segment.base_offset < boundary:
                for path in source.glob(f"{name}.*"):
                    link(path, target / path.name)
            elif segment.base_offset == boundary:
                # Without its indexes: opening the copy makes them again, at the right length.
                data = segment.log.read(0, position)
                (target / f"{name}.log").write_bytes(data)
        shutil.copyfile(source / LEADER_EPOCH_CHECKPOINT, target / LEADER_EPOCH_CHECKPOINT)
        # What is linked needs no recovery, which would write to files that the two share: neither now nor, if the
        # process is killed before the copy is synced, at its next opening.
        points = OffsetCheckpoint(RealDisk(folder.recording, physical_fsync=False), RECOVERY_POINT_CHECKPOINT)
        points.write({TopicPartition(EVENTS, 0): boundary})
        (folder.recording / CLEAN_SHUTDOWN).touch()
        rest = self.events(first_offset, last_seq)
        copied = RecordedLogs(folder)
        try:
            if rest:
                copied.append_events([(event.at_us, event.record) for event in rest])
        except BaseException:
            copied.abandon()
            raise
        return copied

    def forget(self, last_seq: int, input_count: int) -> None:
        """Deletes the segments of events up to `last_seq` and of the first `input_count` inputs."""
        self._events.forget(last_seq + 1)
        self._inputs.forget(input_count)

    def abandon(self) -> None:
        """Lets go of the files as they are."""
        self._folder.abandon()

    def roll(self) -> None:
        """Begins a new segment in both logs: the files of those before never change again."""
        self._events.roll()
        self._inputs.roll()

    def roll_events(self) -> None:
        """Begins a new segment of the events, unless the newest one is empty."""
        if self._events.segments[-1].size:
            self._events.roll()

    def sync(self) -> None:
        """Makes all that was written survive a power loss, and the next opening short."""
        self._folder.sync()

    def close(self) -> None:
        """Closes the files as a clean shutdown does."""
        self._folder.close()

    def _read_header(self) -> Header:
        base = read_base(self.folder.recording)
        if base is not None:
            return msgspec.convert(base.header, Header)
        record = self._events.header()
        if record is None:
            raise _unreadable(self.folder, text("refusal.recording_without_header"))
        try:
            header = msgspec.json.decode(record, type=Header)
        except msgspec.MsgspecError as error:
            raise _unreadable(self.folder, text("refusal.recording_header", problem=str(error))) from None
        if header.format != FORMAT:
            raise _unreadable(self.folder, text("refusal.recording_format", format=header.format))
        return header


def _configs(is_bounded: bool) -> dict[str, LogConfig]:
    sizes = _BOUNDED_BYTES if is_bounded else _SEGMENT_BYTES
    return {topic: journal_config(size, _INDEX_BYTES, _MAX_BATCH_BYTES) for topic, size in sizes.items()}


def _unreadable(folder: BranchFolder, why: Text) -> Refusal:
    return Refusal(
        "refusal.recording_unreadable",
        409,
        run=folder.run,
        branch=folder.branch,
        problem=why,
        format=FORMAT,
        folder=str(folder.recording),
    )
