"""A run takes inputs and time, and returns events with their patches.

Code outside the core changes a cluster only through this module; `broker_core.PUBLIC` lists what else it may use.

Everything that a run does follows from its `RunConfig` and its inputs. A recording contains the results of
`take_inputs` and `take`; `replay` re-executes a recording up to any instant.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from typing import Any, Protocol, TypeAlias, runtime_checkable

import msgspec

from broker_core.broker.common.messages import CLIENT_PREFIX
from broker_core.broker.network.socket_server import Listener, Output
from broker_core.broker.network.wire_bytes import WireBytes, wire_bytes
from broker_core.checkpoint import dump, load
from broker_core.cluster import Cluster, RunConfig
from broker_core.events import Envelope
from broker_core.events.codec import encode_all
from broker_core.inputs import Input
from broker_core.shell.completion import complete
from broker_core.shell.grammar.parser import split
from broker_core.shell.grammar.registry import Grammar
from broker_core.shell.session import Shell
from broker_core.shell.tools import COMMANDS
from broker_core.sim.disk import Disk
from broker_core.sim.invariants import INVARIANTS, Checker
from broker_core.sim.kernel import Message, Survives
from broker_core.sim.scheduler import FOREVER_US
from broker_core.texts import Text, text
from broker_core.view.fold import Fold
from broker_core.view.patch import Patch
from broker_core.view.tree import View
from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.store import ForeignChange, ZkStore

HASHED_EVENTS = 512
_GRAMMAR = Grammar(COMMANDS)
_OF_THE_PROCESS = ("_stated", "_made", "_inputs", "_survives")
PIECE_BYTES = 4 * 1024 * 1024
"""The limit of a frame: a longer one is several inputs."""
STEPS_BETWEEN_CHECKS = 1_000
INPUTS_BETWEEN_CHECKS = 100
"""A replay calls its check at both intervals: inputs may follow each other without a step, and take longer than one."""

__all__ = ["CLIENT_PREFIX", "Diverged", "Input", "Listener", "Made", "Output", "Run", "RunConfig", "WireBytes"]


#: An event, its patch of the view, and its bytes for a recording.
Made: TypeAlias = tuple[Envelope, Patch, bytes]
Check: TypeAlias = Callable[[int], None]


@runtime_checkable
class ForeignSource(Protocol):
    """A store that finds external changes in the middle of its own operations."""

    def take_foreign(self) -> list[ForeignChange]: ...


def check_line(line: str) -> None:
    """Raises ShellError for a line that is not a command."""
    _GRAMMAR.find(split(line))


class Diverged(RuntimeError):
    """Re-executing a recording gave other events than the recorded ones: it was made by another version of the core."""

    def __init__(self, message: Text) -> None:
        super().__init__(message)
        self.message = message


class Run:
    """See the module. Not thread-safe. `invariants`: those checked after each event. `survives`: called after an
    unexpected exception in the handler of a request; returns whether to continue with an alarm. Without it the
    exception is raised.
    """

    def __init__(
        self,
        config: RunConfig,
        *,
        disk: Disk,
        zk: ZkStore,
        invariants: Collection[str] = INVARIANTS,
        survives: Survives | None = None,
    ) -> None:
        self.config = config
        #: Emitted, and not encoded, hashed and folded yet.
        self._stated: list[Envelope] = []
        self._made: list[Made] = []
        self._inputs: list[Input] = []
        self._chain = b""
        self._unhashed: list[bytes] = []
        self._fold = Fold()
        self._cluster = Cluster(config, disk, zk)
        self._shell = Shell(self._cluster, _GRAMMAR)
        self._survives = survives
        self._checker = Checker(self._cluster.era, invariants) if invariants else None
        self._kernel = self._cluster.kernel
        self._listen()
        self._cluster.start()
        self._shell.join()

    def _listen(self) -> None:
        self._kernel.on_event = self._stated.append if self._checker is None else self._check
        self._kernel.survives = self._survives

    def _check(self, envelope: Envelope) -> None:
        self._stated.append(envelope)
        checker = self._checker
        if checker is not None and type(envelope[4]) in checker.kinds:
            # An alarm is emitted during the emission of the event that raised it, so it is next in the journal, and
            # this method is called for it as well. The recursion ends there: no invariant observes alarms.
            for found in checker.observe(envelope):
                self._kernel.emit(found, "lab")

    def _catch_up(self) -> None:
        """Encodes, hashes and folds the events since the last call.

        Nothing in the core needs the result, and many events at once cost much less than one by one.
        """
        stated = self._stated
        if not stated:
            return
        data = encode_all(stated)
        self._made += zip(stated, self._fold.fold_all(stated), data, strict=True)
        stated.clear()
        unhashed = self._unhashed
        unhashed += data
        while len(unhashed) >= HASHED_EVENTS:
            self._chain = _digest(self._chain, unhashed[:HASHED_EVENTS])
            del unhashed[:HASHED_EVENTS]

    def release(self) -> None:
        """Closes the files of the brokers. They are opened again when needed."""
        self._cluster.disk.close()

    # Properties.

    @property
    def now_us(self) -> int:
        """Simulated time."""
        return self._kernel.now_us

    @property
    def seq(self) -> int:
        """The sequence number of the last event."""
        return self._kernel.seq

    @property
    def next_due_us(self) -> int | None:
        """The due time of the next item."""
        return self._kernel.scheduler.next_due_us()

    @property
    def view(self) -> View:
        """The current view. It is the live tree: do not change or keep it."""
        self._catch_up()
        return self._fold.view

    @property
    def can_be_saved(self) -> bool:
        """Whether `checkpoint` can return one: not during a console command or the loading of logs."""
        return not self._shell.running_commands and not self._cluster.is_loading_logs

    @property
    def running_commands(self) -> tuple[int, ...]:
        """The console commands that are not complete."""
        return self._shell.running_commands

    def digest(self) -> bytes:
        """The hash of all events so far, to the byte."""
        self._catch_up()
        return _digest(self._chain, self._unhashed)

    def describe(self) -> dict[str, Any]:
        """The state of the live cluster, for comparison with the view."""
        return self._cluster.describe()

    def complete(self, line: str, cursor: int) -> tuple[int, list[str]]:
        """Completions of a console line: the start of the completed word, and the candidates."""
        return complete(self._cluster, _GRAMMAR, line, cursor, self._shell.files)

    # Inputs.

    def submit(self, line: str, source: str = "") -> int:
        """Runs a console line. Returns its command number; its output and exit code are events.

        Raises ShellError for a line that cannot be run: then nothing has happened and nothing is recorded.
        """
        before = self._input("command", source, line)
        number = self._shell.submit(line, source)
        self._inputs.append(before)
        return number

    def submit_foreign(self, change: ForeignChange) -> None:
        """Applies an external change of ZooKeeper."""
        self._inputs.append(self._input("foreign", "zookeeper", msgspec.json.encode(change).decode()))
        self._kernel.cause_seq = 0
        self._cluster.zookeeper.foreign_change(change)

    def interrupt(self, command: int) -> None:
        """Ctrl-C for a running command."""
        self._inputs.append(self._input("interrupt", "", str(command)))
        self._shell.interrupt(command)

    def _input(self, kind: str, source: str, text: str, data: bytes = b"") -> Input:
        return Input(self._kernel.steps, self._kernel.seq, self._kernel.now_us, kind, source, text, data)

    # Clients over TCP.

    def connect(self, broker_id: int, peer: str) -> int:
        """Opens a connection from the host `peer` to a broker. Returns the connection's number."""
        self._inputs.append(self._input("connect", peer, str(broker_id)))
        self._kernel.cause_seq = 0
        return self._cluster.sockets.connect(broker_id, peer)

    def frame(self, connection: int, data: bytes, at_us: int = 0) -> None:
        """The bytes after the length of a frame. Ignored on a closed connection. What is due before `at_us` is late."""
        self._kernel.scheduler.advance_to(at_us)
        while len(data) > PIECE_BYTES:
            self._receive("piece", connection, data[:PIECE_BYTES])
            data = data[PIECE_BYTES:]
        self._receive("frame", connection, data)

    def _receive(self, kind: str, connection: int, data: bytes) -> None:
        self._inputs.append(self._input(kind, str(connection), "", data))
        self._kernel.cause_seq = 0
        self._cluster.sockets.receive(connection, data, is_whole=kind == "frame")

    def disconnect(self, connection: int) -> None:
        """A connection was closed, by either side."""
        self._inputs.append(self._input("disconnect", str(connection), ""))
        self._kernel.cause_seq = 0
        self._cluster.sockets.disconnect(connection)

    @property
    def connections(self) -> tuple[int, ...]:
        """The open connections, as far as the core knows."""
        return tuple(self._cluster.sockets.connections)

    @property
    def listeners(self) -> dict[int, Listener]:
        """The brokers that accept connections, by id."""
        return self._cluster.sockets.listeners()

    def advertise(self, endpoints: Mapping[int, tuple[str, int]]) -> None:
        """The host and port at which clients reach each broker. Not part of the run's events: it only appears in
        responses.
        """
        self._cluster.sockets.endpoints = dict(endpoints)

    def body_of(self, rpc: str) -> Any:
        """The body of a message in flight, as exchanged by nodes; None if it is not in flight."""
        message = self._kernel.in_flight.get(rpc)
        return None if message is None else message.body

    def wire_bytes(self, rpc: str, question: Any = None) -> WireBytes | None:
        """A message in flight as its bytes on the wire, received or encoded; None where there are none. `question`: the
        body of the request, for a response. The run must not be advanced after that.
        """
        message = self._kernel.in_flight.get(rpc)
        return None if message is None else wire_bytes(self._cluster.sockets, message, question)

    def take_outputs(self) -> list[Output]:
        """Returns and clears the frames to send over the connections, in order."""
        return self._cluster.sockets.take_outputs()

    def _repeat(self, recorded: Input) -> None:
        self._kernel.scheduler.advance_to(recorded.at_us)
        if recorded.kind == "command":
            self.submit(recorded.text, recorded.source)
        elif recorded.kind == "interrupt":
            self.interrupt(int(recorded.text))
        elif recorded.kind == "connect":
            self.connect(int(recorded.text), recorded.source)
        elif recorded.kind in ("piece", "frame"):
            self._receive(recorded.kind, int(recorded.source), recorded.data)
        elif recorded.kind == "disconnect":
            self.disconnect(int(recorded.source))
        else:
            self.submit_foreign(msgspec.json.decode(recorded.text, type=ForeignChange))

    # Time.

    def step_event(self) -> bool:
        """Runs scheduled items until one emits an event. False if none is left."""
        before = self._kernel.seq
        while self._kernel.seq == before:
            if self._kernel.step() is None:
                return False
        return True

    def finish(self, command: int, *, max_events: int | None = None) -> bool:
        """Runs until a console command is complete, nothing is scheduled, or `max_events` were emitted. Returns whether
        it is complete.
        """
        kernel = self._kernel
        is_running, step = self._shell.is_running, kernel.step
        last = kernel.seq + (max_events if max_events is not None else FOREVER_US)
        while is_running(command) and step() is not None:
            if kernel.seq >= last:
                break
        return not is_running(command)

    def step_rpc(self) -> bool:
        """Runs until one message was delivered. False if nothing is scheduled."""
        while True:
            what = self._kernel.step()
            if what is None:
                return False
            if isinstance(what, Message) and not what.held:
                return True

    def advance(self, until_us: int, *, max_events: int | None = None) -> int:
        """Runs everything due up to `until_us`; then that is the time, unless `max_events` were emitted before. Returns
        the number of events.
        """
        kernel = self._kernel
        scheduler = kernel.scheduler
        first = kernel.seq
        last = first + (max_events if max_events is not None else FOREVER_US)
        step = kernel.step
        while step(until_us) is not None:
            if kernel.seq >= last:
                return kernel.seq - first
        scheduler.advance_to(until_us)
        return kernel.seq - first

    def take(self) -> list[Made]:
        """Returns and clears the events since the last call."""
        self._catch_up()
        made, self._made = self._made, []
        return made

    def events_after(self, seq: int) -> list[Envelope]:
        """The events after `seq` that were not taken yet."""
        self._catch_up()
        made = self._made
        return [one[0] for one in made[max(len(made) - (self.seq - seq), 0) :]]

    def take_inputs(self) -> list[Input]:
        """Returns and clears the inputs since the last call. They must be on disk before any response that depends on
        them leaves the process.
        """
        store = self._cluster.zookeeper.store
        if not isinstance(store, MemoryStore) and isinstance(store, ForeignSource):
            for change in store.take_foreign():
                self._inputs.append(self._input("met", "zookeeper", msgspec.json.encode(change).decode()))
        inputs, self._inputs = self._inputs, []
        return inputs

    # Checkpoints and replay.

    def checkpoint(self) -> bytes | None:
        """The whole engine as bytes, without its files and the data of ZooKeeper's server; None while it cannot be
        saved.

        Take the events first: they are not included.
        """
        if not self.can_be_saved:
            return None
        self._catch_up()
        state = {name: value for name, value in self.__dict__.items() if name not in _OF_THE_PROCESS}
        self._kernel.on_event = self._kernel.survives = None
        try:
            return dump(state, _outside(self._cluster.disk, self._cluster.zookeeper.store))
        finally:
            self._listen()

    @classmethod
    def restore(cls, checkpoint: bytes, *, disk: Disk, zk: ZkStore, survives: Survives | None = None) -> "Run":
        """A run from a checkpoint. `disk` must have the files, and `zk` the tree, of that instant."""
        run = cls.__new__(cls)
        run.__dict__.update(load(checkpoint, _outside(disk, zk)))
        run._survives = survives
        run._stated = []
        run._made = []
        run._inputs = []
        run._listen()
        return run

    def move_to(self, zk: ZkStore) -> None:
        """Continues with another ZooKeeper, which must have the same tree, sessions and watches."""
        self._cluster.zookeeper.store = zk

    def replay(
        self, inputs: Sequence[Input], until_seq: int, *, first: int | None = None, check: Check = lambda seq: None
    ) -> int:
        """Re-executes recorded inputs until at least `until_seq` events were emitted; stops between two steps. Returns
        the index of the first one not executed, which the next call takes as `first`; None begins. `check` is called
        with the number of events at the start, every `STEPS_BETWEEN_CHECKS` steps and every `INPUTS_BETWEEN_CHECKS`
        inputs; it may raise to end an execution, whose inputs may name a step that is never reached.
        """
        kernel = self._kernel

        def step() -> None:
            if kernel.step() is None:
                raise Diverged(text("replay.ended", seq=kernel.seq, until=until_seq))
            if not kernel.steps % STEPS_BETWEEN_CHECKS:
                check(kernel.seq)

        check(kernel.seq)
        if first is None and isinstance(store := self._cluster.zookeeper.store, MemoryStore):
            # Changes that operations found were recorded after these.
            for recorded in inputs:
                if recorded.kind == "met":
                    store.expect_foreign(msgspec.json.decode(recorded.text, type=ForeignChange))
        for done in range(first or 0, len(inputs)):
            recorded = inputs[done]
            if not (done + 1) % INPUTS_BETWEEN_CHECKS:
                check(kernel.seq)
            if recorded.kind == "met":
                continue
            if recorded.seq >= until_seq:
                break
            while kernel.steps < recorded.step:
                step()
            if kernel.seq != recorded.seq:
                raise Diverged(text("replay.other_count", step=kernel.steps, count=kernel.seq, recorded=recorded.seq))
            self._repeat(recorded)
        else:
            done = len(inputs)
        while kernel.seq < until_seq:
            step()
        return done


def _digest(chain: bytes, events: list[bytes]) -> bytes:
    return sha256(chain + b"\n".join(events)).digest()


def _outside(disk: Disk, store: ZkStore) -> dict[str, object]:
    """What a checkpoint leaves out, because it belongs to the process."""
    return {"disk": disk, "store": store, "grammar": _GRAMMAR}
