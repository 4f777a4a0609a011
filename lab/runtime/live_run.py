"""A running engine with its recording: all events are recorded, and encoded once for all watchers.

Everything here runs in the thread of the lab that the run belongs to.
"""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from broker_core.events import Envelope
from broker_core.events.codec import encode_with_patch
from broker_core.run import Listener, Made, Output, Run
from broker_core.sim.disk import RealDisk
from broker_core.zk.memory_store import MemoryStore
from lab.recordings.checkpoints import Checkpoints, events_between
from lab.recordings.recording import Recording
from lab.runtime.pacer import Mode, Pacer, wall_ms
from lab.runtime.stops import CONDITION, Stop, StoppingCore
from lab.runtime.zookeeper.kazoo_store import KazooStore, Server
from lab.runtime.zookeeper.tree_copy import TreeCopy

FLUSH_S = 0.25
FLUSH_US = 1_000_000
"""Maximum simulated time between two flushes while a run plays fast and clients are connected: less than what is
reproduced for them after a crash, `lab.runtime.engine.UNWRITTEN_US`.
"""
POLL_OUTSIDE_S = 0.1
JOIN_SERVER_S = 3.0
"""A paused run moves its tree to the ZooKeeper server this long after its start: writing it takes as much processor
time as drawing the first picture, which a person waits for.
"""
REST_AFTER_CHECKPOINT = 10
"""A checkpoint is followed by another one after ten times as long as it took, in the copy of the process that saved it.
"""
MIN_REST_S = 1.0
FORGOTTEN_PARTS = 10
_background = ThreadPoolExecutor(1, thread_name_prefix="forgetting")
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PublishedUpdate:
    """The result of one job: encoded events, and the state of the clock."""

    envelopes: list[Envelope]
    events: list[bytes]
    at_us: int
    next_us: int | None
    mode: Mode
    rate: float
    horizon_us: int
    due_s: float = 0.0
    """Wall time until the next event, if an external client waits for it."""
    outputs: Sequence[Output] = ()
    """Frames to send over TCP."""
    listeners: Mapping[int, Listener] = field(default_factory=dict)
    """The brokers that take connections, by id."""


@dataclass(frozen=True)
class Snapshot:
    """The view after event `seq`, as JSON."""

    seq: int
    at_us: int
    state: bytes


class LiveRun:
    """An engine, the ZooKeeper below it, its recording and its clock."""

    def __init__(
        self,
        run: Run,
        server: Server | None,
        model: MemoryStore,
        recording: Recording,
        pacer: Pacer,
        unrecorded: list[Made],
        disk: RealDisk,
        keep_s: float | None = None,
        *,
        joins_later: bool = False,
    ) -> None:
        """The engine works on `model`, in memory, until `join_server` moves it to `server`; without one for good.
        `unrecorded`: events not yet written. `keep_s`: seconds of history that are kept; None = all. `joins_later`: the
        owner calls `join_server`, otherwise the first slice does.
        """
        self.run = run
        self.pacer = pacer
        self.joins_later = joins_later
        #: events at which the run pauses by itself, by the one that waits for them
        self.stops: dict[str, Stop] = {}
        #: the condition among them that the watchers have set
        self.pause_when = ""
        self._server = server
        self._store: KazooStore | None = None
        self._model = model
        self._recording = recording
        self._unrecorded = unrecorded
        self._checkpoints = Checkpoints(recording.folder)
        self._checkpointed_seq = self._checkpoints.last_seq()
        self._inputs = recording.input_count
        self._disk = disk
        self._keep_s = keep_s
        self._forgetting: Future[None] | None = None
        self._may_forget_s = pacer.now_s() + (keep_s or 0.0)
        self._oldest_pending_s, self._oldest_pending_us = 0.0, 0
        self.failure: BaseException | None = None
        """Why the last events are not recorded: nothing may follow them, and every later caller gets this error."""
        self._polled_s = 0.0
        self._began_s = pacer.now_s()
        self._checkpoint_began_s: float | None = None
        self._may_checkpoint_s = 0.0

    @property
    def zookeeper(self) -> str:
        """HOST:PORT/chroot; empty without a server."""
        return f"{self._server.address}{self._server.chroot}" if self._server else ""

    def join_server(self) -> None:
        """Moves the tree to the server, if it is not there yet. Raises ZookeeperError."""
        if self._server is not None and self._store is None:
            self._continue_on(self._server.copy(self._model))

    def begin_join(self) -> TreeCopy | None:
        """The tree to be written to the server in another thread, for `finish_join`; None if it is there already."""
        return TreeCopy(self._server, self._model) if self._server is not None and self._store is None else None

    def finish_join(self, copied: TreeCopy) -> bool:
        """Continues on the copy; returns False if it is of an earlier state of the tree. Raises as `TreeCopy.take`."""
        store = copied.take(self._model) if self._store is None else None
        if store is not None:
            self._continue_on(store)
        return self._store is not None

    def _continue_on(self, store: KazooStore) -> None:
        self._store, self._model = store, store.model
        self.run.move_to(store)

    def slice(self) -> None:
        """Runs what has become due, and polls ZooKeeper for external changes. Pauses at an event of `stops`."""
        is_due = self.pacer.running or self.pacer.now_s() - self._began_s >= JOIN_SERVER_S
        if is_due and not self.joins_later:
            self.join_server()
        self.play_due()
        if not self.pacer.is_stopped:
            self.poll_external_changes()

    def play_due(self) -> None:
        """Runs what has become due, up to an event of `stops`."""
        core = StoppingCore(self.run, self.stops.values(), self._stop) if self.stops else self.run
        self.pacer.run_slice(core)

    def set_pause(self, condition: str, stop: Stop | None) -> None:
        """Pauses once at the first event for which `stop` is true; None cancels this."""
        self.pause_when = condition
        self.stops.pop(CONDITION, None)
        if stop is not None:
            self.stops[CONDITION] = lambda view, envelope: stop(view, envelope) and self._is_met()

    def _is_met(self) -> bool:
        self.set_pause("", None)
        return True

    def flush(self) -> None:
        """Writes recorded events to the operating system, so that they survive a kill of the process."""
        self._recording.flush()

    def _stop(self) -> None:
        self.pacer.set_mode("pause")

    def poll_external_changes(self) -> None:
        """Records external changes in the real ZooKeeper as inputs of this instant."""
        now_s = self.pacer.now_s()
        if self._store is None or now_s - self._polled_s < POLL_OUTSIDE_S:
            return
        self._polled_s = now_s
        for change in self._store.poll_foreign():
            self.run.submit_foreign(change)

    def collect(self, *, for_pages: bool = True) -> PublishedUpdate:
        """Records what has happened since the last call. Inputs are on disk when this returns, before anything is
        published. `for_pages`: events are also encoded for pages.

        Raises KafkaException if the disk of the brokers failed: later events are neither recorded nor published, even
        if a broker has responded.
        """
        if self._disk.failure is not None:
            raise self._disk.failure
        run, recording = self.run, self._recording
        inputs = run.take_inputs()
        encoded = [(given.at_us, *given.encode_parts()) for given in inputs]
        recording.append_inputs(encoded)
        self._inputs += len(inputs)
        made, self._unrecorded = self._unrecorded + run.take(), []
        recording.append_events(made, lambda: run.view)
        envelopes = [envelope for envelope, _, _ in made]
        events = [encode_with_patch(envelope[0], data, patch) for envelope, patch, data in made] if for_pages else []
        self._flush_when_due()
        pacer = self.pacer
        return PublishedUpdate(
            envelopes,
            events,
            run.now_us,
            run.next_due_us,
            pacer.mode,
            pacer.current_rate(run),
            pacer.horizon_us(run),
            pacer.pause_before_due_s(run),
            run.take_outputs(),
            run.listeners,
        )

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether there are enough events since the last checkpoint, and enough time has passed."""
        if not self._recording.is_kept:
            self._disk.rewritten.clear()
            return False
        if not self._checkpoints.is_idle:
            return False
        now_s = self.pacer.now_s()
        if self._checkpoint_began_s is not None:
            self._may_checkpoint_s = now_s + max(MIN_REST_S, REST_AFTER_CHECKPOINT * (now_s - self._checkpoint_began_s))
            self._checkpoint_began_s = None
            self._checkpointed_seq = max(self._checkpoints.settle(), self._checkpointed_seq)
        seq = self.run.seq
        return seq - self._checkpointed_seq >= events_between(seq) and now_s >= self._may_checkpoint_s

    def checkpoint_aside(self, *, is_awaited: bool = False) -> "Future[int] | None":
        """Lets a copy of the process save the engine; its result is 0 if it was not saved. None if the engine cannot be
        saved now. `is_awaited`: the copy does not leave the processor to others.
        """
        if not self.run.can_be_saved:
            return None
        self._recording.flush_aside()
        self._checkpoint_began_s = self.pacer.now_s()
        run = self.run
        return self._checkpoints.save_aside(
            run.seq, self._inputs, run.checkpoint, self._model, self._disk, is_awaited=is_awaited
        )

    def save_for_handout(self) -> "Future[int] | None":
        """The same for an instant that is set aside: None, too, if it is saved already. If an earlier instant is being
        saved, its result.
        """
        is_whole = self.failure is None and self.run.seq == self._recording.last_seq
        if not is_whole or not self._recording.is_kept or self.run.seq <= self._checkpointed_seq:
            return None
        return self._checkpoints.saving or self.checkpoint_aside(is_awaited=True)

    def forget_when_due(self) -> None:
        """Deletes expired history in the background, a tenth of the kept span at a time."""
        now_s = self.pacer.now_s()
        if not self._keep_s or now_s < self._may_forget_s or not self._checkpoints.is_idle:
            return
        if self._forgetting is not None and not self._forgetting.done():
            return
        self._may_forget_s = now_s + max(MIN_REST_S, self._keep_s / FORGOTTEN_PARTS)
        until_us = self.run.now_us - int(self._keep_s * 1e6)
        self._forgetting = _background.submit(self._forget, until_us, wall_ms() / 1_000 - self._keep_s)

    def _forget(self, until_us: int, until_s: float) -> None:
        try:
            included = self._checkpoints.forget_before(self._recording.seq_at(until_us), until_s)
            if included is not None:
                self._recording.forget(until_us, *included)
        except Exception:
            logger.exception("the past of %s was not deleted", self._recording.folder.path)

    def checkpoint(self) -> None:
        """Saves the engine, if it can be saved now, and returns when it is saved."""
        engine = self.run.checkpoint()
        if engine is not None:
            self._recording.flush()
            self._checkpoints.save(self.run.seq, self._inputs, engine, self._model)
            self._checkpointed_seq = self.run.seq

    def snapshot(self) -> Snapshot:
        return Snapshot(self.run.seq, self.run.now_us, msgspec.json.encode(self.run.view))

    def close(self) -> None:
        """Stops the engine so that it can resume later from here. The recording stays open."""
        if self.failure is not None:
            self.abandon()
            return
        try:
            self.collect()
            if self._forgetting is not None:
                self._forgetting.result()
            if self._recording.is_kept and self.run.seq > self._checkpointed_seq:
                self.checkpoint()
            self._checkpoints.settle()
            self._recording.sync()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Releases the engine; only the recording remains."""
        self.run.release()
        if self._store is not None:
            self._store.close(remove=True)

    def _flush_when_due(self) -> None:
        """Events of a paused run are written at once, those of a playing one four times a second."""
        now_s, now_us = self.pacer.now_s(), self.run.now_us
        is_overdue = now_s - self._oldest_pending_s >= FLUSH_S or (
            now_us - self._oldest_pending_us >= FLUSH_US and bool(self.run.connections)
        )
        if self._recording.has_pending:
            if not self.pacer.running:
                self._recording.flush()
            elif is_overdue:
                self._recording.flush_aside()
            else:
                return
        self._oldest_pending_s, self._oldest_pending_us = now_s, now_us


class Observer(Protocol):
    """Something that follows a branch event by event, such as an exercise."""

    def happened(self, live: LiveRun, batch: PublishedUpdate) -> None:
        """After each job on the engine, in the lab's thread."""

    def stopped(self) -> None:
        """`happened` raised, and the observer has been removed. In the lab's thread."""
