"""A branch's recording: written while the branch lives, read at any time."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import msgspec

from broker_core.events import Envelope, codec
from broker_core.view.fold import Fold
from broker_core.view.tree import View
from lab.recordings.base import Base
from lab.recordings.derivation import Derivation, Made
from lab.recordings.description import begin_identity, note_vocabulary
from lab.recordings.folder import BranchFolder
from lab.recordings.logs import Header, RecordedLogs, Stamped, StoredEvent
from lab.recordings.timeline import SEGMENT_EVENTS, SegmentFacts

FLUSH_EVENTS = 512
FLUSH_BYTES = 1024 * 1024
"""A batch of events ends at whichever comes first, or when the driver of time requests it."""
HANDED_EVENTS = 4 * FLUSH_EVENTS
"""Waking the writer costs as much as 50 events: it is woken for this many, or when the driver of time requests it."""
MAX_PENDING_EVENTS = 16 * FLUSH_EVENTS
"""With more than these the thread that makes them waits until they are written."""
_writer = ThreadPoolExecutor(1, thread_name_prefix="recordings")
"""Frames, compresses and writes events: half of that needs no interpreter, and the engine continues meanwhile."""


class Recording:
    """One object a branch and process; any thread may use it.

    An input must be appended before anything that depends on it is published. Events are written in batches, in the
    background: those lost in a crash are reproduced from the inputs. If they cannot be written, the next
    `append_events` or `flush` raises the error, and the events wait for another attempt.
    """

    is_kept = True
    """Whether anything is written."""
    made_to = 0
    """How far events had been made, and published, when a write failed; 0 if none has. Those that are not written are
    reproduced up to here: what was acknowledged to clients must not be undone.
    """

    def __init__(
        self,
        folder: BranchFolder,
        header: Header | None = None,
        *,
        is_bounded: bool = False,
        derived: Callable[[int], None] = lambda seq: None,
        logs: RecordedLogs | None = None,
    ) -> None:
        """Opens a recording; with a `header`, begins one. `is_bounded`: `forget` will be called. `derived`: called with
        how many events have been read of those from which something must be derived; it may raise. `logs`: its logs, if
        they are open already. Raises Refusal for a recording that cannot be read.
        """
        self.folder = folder
        #: of the events and what is derived from them; taken before the others
        self._lock = threading.RLock()
        self._inputs_lock = threading.RLock()
        self._pending_lock = threading.Lock()
        self._is_bounded = is_bounded
        self._open(logs or RecordedLogs(folder, header, is_bounded=is_bounded), derived)
        if header is not None:
            begin_identity(folder)
        note_vocabulary(folder.recording, self.last_seq + 1)

    def _open(self, logs: RecordedLogs, derived: Callable[[int], None] = lambda seq: None) -> None:
        self.logs = logs
        try:
            self._derivation = Derivation(self.logs, derived)
        except BaseException:
            self.logs.abandon()
            raise
        self._pending: list[Made] = []
        self._pending_bytes = 0
        self._pending_keyframes: list[tuple[int, bytes]] = []
        self._is_flush_asked = False
        self._failure: Exception | None = None
        self.last_seq = self.logs.last_seq
        self.last_at_us = self.logs.last_at_us

    def reopen(self) -> None:
        """Opens the files again, as after a crash: a write has failed, and part of it may be in them. Events that were
        not written are reproduced from the inputs. Raises what the constructor does.
        """
        with self._lock, self._inputs_lock:
            self.made_to = max(self.made_to, self.last_seq)
            self.logs.abandon()
            self._open(RecordedLogs(self.folder, is_bounded=self._is_bounded))

    @property
    def config(self) -> dict[str, Any]:
        """What the engine was started with."""
        return self.logs.header.config

    @property
    def first_seq(self) -> int:
        """The first event that is kept."""
        return self._derivation.timeline.begins_after + 1

    @property
    def first_at_us(self) -> int:
        """The instant at which the recording begins."""
        base = self._derivation.timeline.base
        return base.at_us if base else 0

    @property
    def input_count(self) -> int:
        """How many inputs are written."""
        return self.logs.input_count

    @property
    def size_bytes(self) -> int:
        return self.logs.size_bytes + self._pending_bytes

    @property
    def has_pending(self) -> bool:
        """Whether events wait for a flush."""
        return bool(self._pending)

    # Writing

    def append_inputs(self, inputs: Sequence[Stamped]) -> None:
        """Writes inputs, each (at_us, bytes): they are in the page cache when this returns."""
        if inputs:
            with self._inputs_lock:
                self.logs.append_inputs(inputs)

    def append_events(self, made: Sequence[Made], view: Callable[[], View] | None = None) -> None:
        """The next events, each with its patch and its bytes. `view` returns the view after the last of them, for a
        keyframe if one is due.
        """
        if not made:
            return
        self.last_seq, self.last_at_us = made[-1][0][:2]
        with self._pending_lock:
            self._pending += made
            self._pending_bytes += sum([len(record) for _, _, record in made])
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if view is not None and self._is_keyframe_due():
            with self._pending_lock:
                self._pending_keyframes.append((self.last_seq, msgspec.json.encode(view())))
        count = len(self._pending)
        if count < HANDED_EVENTS and self._pending_bytes < FLUSH_BYTES:
            return
        if count < MAX_PENDING_EVENTS:
            self.flush_aside()
        else:
            self.flush()

    def _is_keyframe_due(self) -> bool:
        """Events that wait to be written count: events may be made faster than they are written."""
        with self._pending_lock:
            waiting = self._pending_keyframes[-1][0] if self._pending_keyframes else 0
        return self._derivation.is_keyframe_due(self.last_seq, waiting)

    def flush_aside(self) -> None:
        """Schedules `flush` in the background."""
        if not self._is_flush_asked:
            self._is_flush_asked = True
            _writer.submit(self._flush_aside)

    def flush(self) -> None:
        """Writes the waiting events: from here on they survive a crash of the process."""
        with self._lock:
            self._failure = None
            self._flush()

    def _flush_aside(self) -> None:
        self._is_flush_asked = False
        try:
            with self._lock:
                self._flush()
        except Exception as failure:
            self._failure = failure

    def _flush(self) -> None:
        while written := self._pending[:FLUSH_EVENTS]:
            self.logs.append_events([(envelope[1], record) for envelope, _, record in written])
            with self._pending_lock:
                del self._pending[: len(written)]
                self._pending_bytes -= sum([len(record) for _, _, record in written])
            self._derivation.take(written)
            while self._pending_keyframes and self._pending_keyframes[0][0] <= written[-1][0][0]:
                self._derivation.add_keyframe(*self._pending_keyframes[0])
                with self._pending_lock:
                    del self._pending_keyframes[0]

    def forget(self, at_us: int, last_seq: int, input_count: int) -> None:
        """Deletes what was before `at_us`: of the events up to `last_seq`, and of the first `input_count` inputs, which
        a checkpoint includes.
        """
        seq = min(self.seq_at(at_us), last_seq) // SEGMENT_EVENTS * SEGMENT_EVENTS
        if seq < self.first_seq:
            return
        view = self.view_at(seq)
        (last,) = self.stored(seq, seq)
        with self._lock, self._inputs_lock:
            base = Base(seq, last.at_us, msgspec.to_builtins(self.logs.header), msgspec.to_builtins(view))
            self._derivation.timeline.begin_at(base)
            self.logs.forget(seq, input_count)

    def sync(self) -> None:
        """Makes everything survive a power loss."""
        with self._lock, self._inputs_lock:
            self.flush()
            self.logs.sync()

    def close(self) -> None:
        with self._lock, self._inputs_lock:
            self.flush()
            self.logs.close()

    # Reading

    @contextmanager
    def still(self) -> Iterator[None]:
        """While this is held, everything is written and nothing is added: for copying files."""
        with self._lock, self._inputs_lock:
            self.flush()
            yield

    def inputs(self, first: int = 0) -> list[bytes]:
        """All inputs after the first `first`, in order."""
        with self._inputs_lock:
            return self.logs.inputs(first)

    def stored(self, first_seq: int, last_seq: int) -> list[StoredEvent]:
        """The existing events from `first_seq` to `last_seq`, as stored in the log."""
        with self._lock:
            self.flush()
            return self.logs.events(first_seq, last_seq)

    def events(self, first_seq: int, last_seq: int) -> list[Envelope]:
        """The same, read."""
        return [codec.decode(event.seq, event.record) for event in self.stored(first_seq, last_seq)]

    def records(self, first_seq: int, last_seq: int) -> list[bytes]:
        """The same, their bytes alone."""
        return [event.record for event in self.stored(first_seq, last_seq)]

    def segments(self) -> list[SegmentFacts]:
        """The entries of the time line, one for each 1,000 events; the last segment may hold fewer."""
        with self._lock:
            self.flush()
            return self._derivation.segments()

    def seq_at(self, at_us: int) -> int:
        """The last event at or before an instant; the one before the first that is kept, if there is none."""
        with self._lock:
            self.flush()
            return max(self.logs.seq_at(at_us), self.first_seq - 1)

    def view_at(self, seq: int) -> View:
        """The view after event `seq`; 0 is before the first."""
        with self._lock:
            self.flush()
            start, view = self._derivation.timeline.keyframes.before(seq)
        fold = Fold(view)
        for first in range(start + 1, seq + 1, SEGMENT_EVENTS):
            fold.fold_all(self.events(first, min(seq, first + SEGMENT_EVENTS - 1)))
        return fold.view

    def spread_keyframes(self, spread: Callable[[int], None] = lambda seq: None) -> None:
        """Makes any view of a recording that nothing is added to as quick to get as another; takes seconds. `spread`:
        called with the last event of each segment; it may raise.
        """
        with self._lock:
            self.flush()
            self._derivation.spread_keyframes(spread)

    def roll(self) -> int:
        """Makes the files of all events until now final, so that a copy up to here is made of links; returns the last
        event.
        """
        with self._lock:
            self.flush()
            self.logs.roll_events()
            return self.logs.last_seq

    def keep_last_view(self) -> None:
        """Stores the view after the last event, so that opening the recording or a copy of it folds nothing."""
        with self._lock:
            self.flush()
            if self._derivation.timeline.keyframes.last_seq < self.last_seq:
                self._derivation.add_keyframe(self.last_seq, msgspec.json.encode(self.view_at(self.last_seq)))

    def last_topics(self) -> list[str]:
        """The topics at the end of the recording."""
        return sorted(self.view_at(self.last_seq)["topics"])

    def encoded_view(self) -> bytes:
        """The view after the last event, as JSON."""
        with self._lock:
            self.flush()
            kept = self._derivation.timeline.keyframes.encoded_at(self.last_seq)
        return msgspec.json.encode(self.view_at(self.last_seq)) if kept is None else kept
