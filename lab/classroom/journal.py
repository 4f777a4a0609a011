"""The log of a class: `DATA/classes/<class>/class-0`, with keyframes of the state beside it.

Offset = seq, timestamp = class time in microseconds. Offset 0 holds the header. Appended events survive `kill -9`;
after a sync they survive a power loss. A keyframe is the state after an event, as JSON, and may be deleted.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec

from broker_core.refusals import KafkaException
from broker_core.texts import Text, text
from lab.classroom.events import CLASS, ClassEnvelope
from lab.classroom.folds import fold
from lab.classroom.state import State
from lab.journals.journal import FolderSync, JournalFolder, journal_config
from lab.texts.refusal import Refusal

FORMAT = 1
TOPIC = "class"
KEYFRAMES = "keyframes"
KEYFRAME_EVENTS = 5_000
_CONFIG = journal_config(16 * 1024 * 1024, segment_index_bytes=256 * 1024, max_message_bytes=1024 * 1024)
_COMPRESSED_BYTES = 16 * 1024
_READ_EVENTS = 5_000
_COPIED_EVENTS = 1_000
"""The events of a batch, where a log is written again."""


class Header(msgspec.Struct):
    """The record at offset 0: the wall clock at class time 0, and the initial state of the class."""

    format: int
    slug: str
    wall_ms: int
    chapter: str = ""
    languages: tuple[str, ...] = ()
    schema: str = ""


class ClassJournal:
    """The open log. Used by one thread at a time."""

    def __init__(self, folder: Path, header: Header | None = None) -> None:
        """Opens the log; with a `header`, creates it if it does not exist. Raises Refusal if it cannot be read."""
        if header is None and not (folder / f"{TOPIC}-0").is_dir():
            raise Refusal("class_act.log", 500, folder=str(folder), problem=text("class_act.problem.log_empty"))
        self.folder = folder
        try:
            self._folder = JournalFolder(folder, {TOPIC: _CONFIG}, compressed_bytes=_COMPRESSED_BYTES)
            self._journal = self._folder[TOPIC]
            if header is not None and self._journal.end == 0:
                self._journal.append([(0, msgspec.json.encode(header))])
        except KafkaException as error:
            raise self._unreadable(error.what or error.message) from error
        except OSError as error:
            raise self._unreadable(str(error)) from error
        self.header = self._read_header()
        self._keyframe_seq = 0

    @property
    def last_seq(self) -> int:
        """The last event; 0 when there is none."""
        return self._journal.last_seq

    @property
    def size_bytes(self) -> int:
        return self._journal.size_bytes

    def append(self, envelopes: Sequence[ClassEnvelope]) -> list[bytes]:
        """Writes the next events in one batch; returns the record of each. Raises Refusal (507) if they cannot be
        written; then none of them is.
        """
        records = CLASS.encode_all(envelopes)
        try:
            self._journal.append([(one[1], record) for one, record in zip(envelopes, records, strict=True)])
        except KafkaException as error:
            raise Refusal("class_act.not_saved", 507, problem=error.what or error.message) from error
        return records

    def append_all(self, envelopes: Iterable[ClassEnvelope]) -> None:
        """Writes any number of events, in batches. Raises Refusal (507) if one of these cannot be written."""
        waiting: list[ClassEnvelope] = []
        for envelope in envelopes:
            waiting.append(envelope)
            if len(waiting) == _COPIED_EVENTS:
                self.append(waiting)
                waiting = []
        if waiting:
            self.append(waiting)

    def events(self, first_seq: int, last_seq: int) -> list[ClassEnvelope]:
        """The existing events of a range. Raises Refusal for an event of another version."""
        try:
            return self._journal.read(first_seq, last_seq, CLASS.decode)
        except msgspec.MsgspecError as error:
            raise self._unreadable(str(error)) from None
        except KafkaException as error:
            raise self._unreadable(error.what or error.message) from error

    def seq_at(self, at_us: int) -> int:
        """The last event at or before an instant of class time."""
        return self._journal.seq_at(at_us)

    def state(self) -> State:
        """The fold of all events, from the newest keyframe on."""
        state = self._newest_keyframe()
        for envelope in self.after(state.last_seq):
            fold(state, envelope)
        return state

    def after(self, seq: int) -> Iterator[ClassEnvelope]:
        """All events after `seq`."""
        while seq < self.last_seq:
            found = self.events(seq + 1, seq + _READ_EVENTS)
            yield from found
            seq = found[-1][0]

    def noted_wall(self, state: State) -> tuple[int, int]:
        """(wall_ms, at_us): the newest known pair of wall clock and class time."""
        if state.clock_seq:
            _, at_us, _, _, event = self.events(state.clock_seq, state.clock_seq)[0]
            return event.wall_ms, at_us  # type: ignore[attr-defined]
        return self.header.wall_ms, 0

    def keep_keyframe(self, state: State) -> None:
        """Writes a keyframe if one is due. The previous one is kept in case this one is truncated by a crash."""
        if state.last_seq - self._keyframe_seq < KEYFRAME_EVENTS:
            return
        self._keyframe_seq = state.last_seq
        folder = self.folder / KEYFRAMES
        folder.mkdir(exist_ok=True)
        partial = folder / f"{state.last_seq}.partial"
        partial.write_bytes(msgspec.json.encode(state))
        partial.rename(folder / f"{state.last_seq:012d}.{_fold_version()}.json")
        for old in sorted(folder.glob("*.json"))[:-2]:
            old.unlink()

    def begin_sync(self) -> FolderSync:
        """Makes everything written survive a power loss, once its `run` has returned, which another thread may call."""
        return self._folder.begin_sync()

    def close(self) -> None:
        self._folder.close()

    def _newest_keyframe(self) -> State:
        for path in sorted((self.folder / KEYFRAMES).glob(f"*.{_fold_version()}.json"), reverse=True):
            if int(path.name.partition(".")[0]) > self.last_seq:
                # Events that it includes were lost in a power loss.
                continue
            try:
                state = msgspec.json.decode(path.read_bytes(), type=State)
            except msgspec.MsgspecError:
                continue
            self._keyframe_seq = state.last_seq
            return state
        return State()

    def _read_header(self) -> Header:
        try:
            header = msgspec.json.decode(self._journal.header() or b"", type=Header)
        except msgspec.MsgspecError as error:
            raise self._unreadable(str(error)) from None
        if header.format != FORMAT:
            raise self._unreadable(text("class_act.problem.log_format", format=header.format, known=FORMAT))
        return header

    def _unreadable(self, problem: str | Text) -> Refusal:
        return Refusal("class_act.log", 500, folder=str(self.folder), problem=problem)


def _fold_version() -> str:
    """Identifies vocabulary, state and folds: keyframes of another version are stale."""
    digest = blake2b(CLASS.hash.encode(), digest_size=6)
    here = Path(__file__).parent
    for path in [here / "state.py", *sorted((here / "folds").glob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()
