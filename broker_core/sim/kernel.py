"""The kernel: who exists, what is under way between them, and the one way to state a fact.

`emit` journals an event and applies it: the functions that `applies` registered are the only code that changes
replicated or protocol state. A node is anything with `on_request`, `on_response`, `on_disconnect`, `on_timer` and
`on_watch`.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import msgspec

from broker_core.events import Envelope, Event
from broker_core.events.rpc import Fields, RpcDelivered, RpcDropped, RpcHeld, RpcRescheduled, RpcSent
from broker_core.events.world import LinkQualityChanged
from broker_core.sim.faults import DISK_MESSAGES, LinkFault, MessageError
from broker_core.sim.rng import Streams
from broker_core.sim.scheduler import FOREVER_US, Scheduler

Subjects = dict[str, Any]
FOLLOWING = frozenset({"Fetch", "OffsetForLeaderEpoch"})
"""The requests by which a broker follows another."""
_APPLY: dict[type[Event], Callable[[Subjects, Any, int], None]] = {}

F = TypeVar("F", bound=Callable[[Subjects, Any, int], None])


def applies(*kinds: type[Event]) -> Callable[[F], F]:
    """Registers the one function that changes state for these kinds of event: `apply(subjects, event, at_us)`.

    `subjects` maps names (`orders-0@b1`, `b1`) to the objects that carry state.
    """

    def register(function: F) -> F:
        for event_kind in kinds:
            if event_kind in _APPLY:
                raise ValueError(f"{event_kind.__name__} has two apply functions")
            _APPLY[event_kind] = function
        return function

    return register


class Message(msgspec.Struct, gc=False, eq=False):
    """An RPC under way. `kind` is request, response or watch. `incarnation` is that of the destination when it was
    sent, since a connection does not outlive the process at its end.
    """

    rpc: str
    api: str
    kind: str
    source: str
    destination: str
    correlation: int
    body: Any
    due_us: int
    cause_seq: int
    incarnation: int
    label: str
    timer_id: int = 0
    held: bool = False


class Timer(msgspec.Struct, frozen=True, gc=False):
    """A timer of a node: what it is called and what it carries. `incarnation`: it dies with the process that set it."""

    name: str
    data: Any
    cause_seq: int
    incarnation: int


class Disconnect(msgspec.Struct, frozen=True, gc=False):
    """The sender of a request learns that the connection closed before an answer came."""

    correlation: int
    incarnation: int


class RequestTimeout(msgspec.Struct, frozen=True, gc=False):
    correlation: int
    incarnation: int


class Pending(msgspec.Struct, gc=False):
    """A request that waits for its answer at the node that sent it."""

    rpc: str
    api: str
    source: str
    destination: str
    context: Any
    timeout_id: int
    sent_us: int


class Node(Protocol):
    """What the kernel asks of a node."""

    name: str

    def on_request(self, message: Message) -> None: ...

    def on_response(self, api: str, body: Any, context: Any) -> None: ...

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        """`why`: refused, closed or timed out."""

    def on_timer(self, name: str, data: Any) -> None: ...

    def on_watch(self, kind: str, path: str) -> None: ...


class QuietNode:
    """A node that nobody sends requests to and that sends none."""

    name: str

    def on_request(self, message: Message) -> None:
        """Nobody asks it."""
        raise ValueError(f"{self.name} answers no requests, but got {message.api} from {message.source}")

    def on_response(self, api: str, body: Any, context: Any) -> None:
        """It has asked nobody."""

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        """It has asked nobody."""

    def on_watch(self, kind: str, path: str) -> None:
        """It watches nothing."""


class Latency(msgspec.Struct, frozen=True):
    """How long a message takes: `base_us` plus up to `jitter_us`, drawn from the stream `network`."""

    base_us: int = 0
    jitter_us: int = 0


class Kernel:
    """See the module. `on_event`, if set, sees every envelope right after it was applied (journal, fold, invariants).
    `steps` counts what ran: together with the inputs it says exactly where in a run an input came.
    """

    def __init__(self, seed: int, latency: Latency) -> None:
        self.scheduler = Scheduler()
        self.streams = Streams(seed)
        self.latency = latency
        self.nodes: dict[str, Node] = {}
        self.subjects: Subjects = {}
        self.seq = 0
        self.cause_seq = 0
        self.current_node = "lab"
        self.incarnations: dict[str, int] = {}
        self.up: set[str] = set()
        self.frozen: dict[str, list[Any]] = {}
        self.cut_links: dict[tuple[str, str], list[Message]] = {}
        self.held_fetches: dict[tuple[str, str], list[Message]] = {}
        self.link_faults: dict[tuple[str, str], LinkFault] = {}
        """Of each direction of a link that is not as good as new."""
        self.slow_disks: dict[str, int] = {}
        """How many microseconds longer the disk of a node takes for each append."""
        self.pending: dict[int, Pending] = {}
        self._one_way: set[int] = set()
        self.in_flight: dict[str, Message] = {}
        self.steps = 0
        self.on_event: Callable[[Envelope], None] | None = None
        self._next_rpc = 1
        self._last_due_us: dict[tuple[str, str], int] = {}
        self._jitter = self.streams["network"]

    # facts

    def emit(self, event: Event, node: str | None = None) -> int:
        """States a fact: numbers it, applies it, hands it to `on_event`. Returns its sequence number."""
        self.seq = seq = self.seq + 1
        now_us = self.scheduler.now_us
        apply = _APPLY.get(type(event))
        if apply is not None:
            apply(self.subjects, event, now_us)
        on_event = self.on_event
        if on_event is not None:
            on_event((seq, now_us, node or self.current_node, self.cause_seq, event))
        return seq

    @property
    def now_us(self) -> int:
        """Simulated time in microseconds since the run began."""
        return self.scheduler.now_us

    # processes

    def add(self, node: Node) -> None:
        """A node takes part from now on and can get messages."""
        self.nodes[node.name] = node
        self.incarnations[node.name] = self.incarnations.get(node.name, 0) + 1
        self.up.add(node.name)

    def remove(self, name: str) -> None:
        """The process of a node is gone: its timers and pending requests die with it, its peers see their connections
        close.
        """
        self.up.discard(name)
        self.incarnations[name] += 1
        for stuck in self.frozen.pop(name, ()):
            if isinstance(stuck, Message):
                self._drop(stuck, "the process is gone")
        for correlation, pending in list(self.pending.items()):
            if pending.source == name:
                self._forget(correlation)
            elif pending.destination == name:
                self.scheduler.at(
                    self._due(name, pending.source),
                    pending.source,
                    Disconnect(correlation, self.incarnations[pending.source]),
                )
        for ends, messages in (*self.cut_links.items(), *self.held_fetches.items()):
            if name in ends:
                for message in messages:
                    self._drop(message, "the connection is gone")
                messages.clear()

    def forget(self, name: str) -> None:
        """The process is gone, and none of its name will come again: nothing of it is kept."""
        self.remove(name)
        del self.nodes[name]
        del self.incarnations[name]
        for link in [link for link in self._last_due_us if name in link]:
            del self._last_due_us[link]

    def freeze(self, name: str) -> None:
        """SIGSTOP: nothing is processed, what arrives stays in the socket."""
        self.frozen.setdefault(name, [])

    def thaw(self, name: str) -> None:
        """SIGCONT: what had arrived or fallen due meanwhile happens now, in its order."""
        for stuck in self.frozen.pop(name):
            timer_id = self.scheduler.at(self.now_us, name, stuck)
            if isinstance(stuck, Message):
                stuck.held = False
                stuck.due_us = self.now_us
                stuck.timer_id = timer_id
                self.emit(RpcRescheduled(rpc=stuck.rpc, due_us=self.now_us), name)

    # links

    def cut(self, source: str, destination: str) -> None:
        """Nothing passes that way. What is under way or sent meanwhile waits, as TCP would send it again."""
        stuck = self.cut_links.setdefault((source, destination), [])
        for message in sorted(self.in_flight.values(), key=lambda m: (m.due_us, m.correlation)):
            if not message.held and (message.source, message.destination) == (source, destination):
                self._hold(message, "the link is cut")
                stuck.append(message)

    def restore(self, a: str, b: str) -> None:
        """The link works again, both ways: what waited is on its way, in order."""
        stuck = [message for ends in ((a, b), (b, a)) for message in self.cut_links.pop(ends, ())]
        for message in sorted(stuck, key=lambda m: (m.due_us, m.correlation)):
            self._let_go(message, self._due(message.source, message.destination))

    def set_link_fault(self, source: str, destination: str, fault: LinkFault) -> None:
        """What is sent that way from now on fares so."""
        if fault.is_none:
            self.link_faults.pop((source, destination), None)
        else:
            self.link_faults[source, destination] = fault
        self.emit(
            LinkQualityChanged(
                source=source,
                destination=destination,
                latency_us=fault.latency_us,
                loss_percent=fault.loss_percent,
                reorder_percent=fault.reorder_percent,
            ),
            "lab",
        )

    def _let_go(self, message: Message, due_us: int) -> None:
        """A message goes on, or comes at another time than was thought."""
        message.held = False
        message.due_us = due_us
        self.emit(RpcRescheduled(rpc=message.rpc, due_us=due_us), message.source)
        message.timer_id = self.scheduler.at(due_us, message.destination, message)

    def connected(self, a: str, b: str) -> bool:
        """Whether the link between two nodes works, both ways."""
        cut = self.cut_links
        return not cut or ((a, b) not in cut and (b, a) not in cut)

    # what followers ask

    def hold_fetches(self, source: str, destination: str) -> None:
        """The requests by which one broker follows another wait on their way, those that have not arrived included."""
        held = self.held_fetches.setdefault((source, destination), [])
        for message in sorted(self.in_flight.values(), key=lambda m: (m.due_us, m.correlation)):
            is_theirs = (message.source, message.destination) == (source, destination)
            if is_theirs and message.kind == "request" and message.api in FOLLOWING and not message.held:
                self._hold(message, "held by hand")
                held.append(message)

    def release_fetches(self, source: str, destination: str) -> None:
        """They go on, in order."""
        for message in self.held_fetches.pop((source, destination)):
            message.held = False
            message.due_us = self._due(source, destination)
            self.emit(RpcRescheduled(rpc=message.rpc, due_us=message.due_us), source)
            message.timer_id = self.scheduler.at(message.due_us, destination, message)

    # messages

    def request(
        self,
        source: str,
        destination: str,
        api: str,
        body: Any,
        *,
        label: str,
        fields: Fields = (),
        context: Any = None,
        timeout_us: int | None = None,
        one_way: bool = False,
    ) -> int:
        """Sends a request; the answer comes to `on_response` (or `on_disconnect`) of the source with `context`.

        `one_way`: no answer will come (Produce with acks=0); that the connection closed is heard of. Returns the
        correlation id.
        """
        correlation = self._next_rpc
        message = self._send(api, "request", source, destination, correlation, body, label, fields)
        timeout_id = 0
        if timeout_us is not None:
            timeout_id = self.scheduler.at(
                self.now_us + timeout_us, source, RequestTimeout(correlation, self.incarnations[source])
            )
        self.pending[correlation] = Pending(message.rpc, api, source, destination, context, timeout_id, self.now_us)
        if one_way:
            self._one_way.add(correlation)
        return correlation

    def respond(self, request: Message, body: Any, *, label: str, fields: Fields = ()) -> None:
        """Answers a request. Nothing happens when the one who asked is gone or has closed the connection."""
        if request.correlation in self.pending:
            self._send(
                request.api, "response", request.destination, request.source, request.correlation, body, label, fields
            )

    def notify(self, destination: str, kind: str, path: str) -> None:
        """ZooKeeper tells a node that a watch fired."""
        self._send(
            "WatchEvent",
            "watch",
            "zk",
            destination,
            0,
            (kind, path),
            f"{kind} {path}",
            (("kind", kind), ("path", path)),
        )

    def close_connections(self, name: str) -> None:
        """A process closes all its sockets: whoever waits for an answer of it hears that none will come."""
        for correlation, pending in self.pending.items():
            if pending.destination == name:
                self.scheduler.at(
                    self._due(name, pending.source),
                    pending.source,
                    Disconnect(correlation, self.incarnations[pending.source]),
                )

    def close_connection(self, request: Message) -> None:
        """The broker closes the connection instead of answering (a failed Produce with acks=0)."""
        pending = self.pending.get(request.correlation)
        if pending is not None:
            self._one_way.discard(request.correlation)
            self.scheduler.at(
                self._due(request.destination, request.source),
                request.source,
                Disconnect(request.correlation, self.incarnations[request.source]),
            )

    def timer(self, node: str, due_us: int, name: str, data: Any = None) -> int:
        """Wakes `node.on_timer(name, data)` at `due_us`, unless its process is gone by then."""
        return self.scheduler.at(due_us, node, Timer(name, data, self.cause_seq, self.incarnations[node]))

    def _due(self, source: str, destination: str) -> int:
        """When a message sent now arrives: not before those sent earlier over the same connection."""
        latency = self.latency
        due_us = self.scheduler.now_us + latency.base_us
        if latency.jitter_us:
            due_us += self._jitter.below(latency.jitter_us + 1)
        link = (source, destination)
        last_due_us = self._last_due_us.get(link, 0)
        if self.link_faults and (fault := self.link_faults.get(link)) is not None:
            due_us += fault.latency_us
            if self.streams["faults"].below(100) < fault.reorder_percent:
                # Those behind it do not wait for it.
                return due_us + self.streams["faults"].below(2 * (latency.base_us + fault.latency_us) + 1_000)
        if due_us < last_due_us:
            return last_due_us
        self._last_due_us[link] = due_us
        return due_us

    def _send(
        self,
        api: str,
        kind: str,
        source: str,
        destination: str,
        correlation: int,
        body: Any,
        label: str,
        fields: Fields,
    ) -> Message:
        number = self._next_rpc
        self._next_rpc = number + 1
        rpc = f"r{number}"
        correlation = correlation or number
        due_us = self._due(source, destination)
        if self.slow_disks and (api, kind) in DISK_MESSAGES:
            due_us += self.slow_disks.get(destination, 0)
        seq = self.emit(
            RpcSent(
                rpc=rpc,
                api=api,
                kind=kind,
                source=source,
                destination=destination,
                due_us=due_us,
                correlation=correlation,
                label=label,
                fields=fields,
            ),
            source,
        )
        incarnation = self.incarnations.get(destination, 0)
        message = Message(rpc, api, kind, source, destination, correlation, body, due_us, seq, incarnation, label)
        self.in_flight[rpc] = message
        if self.cut_links and (source, destination) in self.cut_links:
            self._hold(message, "the link is cut")
            self.cut_links[source, destination].append(message)
        elif self.link_faults and self._is_lost(source, destination):
            self._drop(message, "the link lost it")
        elif (
            self.held_fetches and kind == "request" and api in FOLLOWING and (source, destination) in self.held_fetches
        ):
            self._hold(message, "held by hand")
            self.held_fetches[source, destination].append(message)
        else:
            message.timer_id = self.scheduler.at(due_us, destination, message)
        return message

    def _is_lost(self, source: str, destination: str) -> bool:
        fault = self.link_faults.get((source, destination))
        return fault is not None and self.streams["faults"].below(100) < fault.loss_percent

    def _hold(self, message: Message, why: str) -> None:
        message.held = True
        self.emit(RpcHeld(rpc=message.rpc, why=why), message.source)

    def _drop(self, message: Message, why: str) -> None:
        self.in_flight.pop(message.rpc, None)
        message.held = True
        self.emit(RpcDropped(rpc=message.rpc, why=why), message.source)

    def _forget(self, correlation: int) -> Pending | None:
        """The request has its end; None when it had it before."""
        pending = self.pending.pop(correlation, None)
        if pending is not None:
            self._one_way.discard(correlation)
            if pending.timeout_id:
                self.scheduler.cancel(pending.timeout_id)
        return pending

    # single messages, by hand

    def _waiting(self, rpc: str) -> Message:
        """A message under way that somebody may lay hands on. Raises MessageError."""
        message = self.in_flight.get(rpc)
        if message is None:
            raise MessageError(f"There is no message {rpc} under way.")
        if message in self.frozen.get(message.destination, ()):
            raise MessageError(f"{rpc} has arrived: it lies in the socket of {message.destination}, which is frozen.")
        return message

    def _take_back(self, message: Message) -> None:
        for messages in (*self.cut_links.values(), *self.held_fetches.values()):
            if message in messages:
                messages.remove(message)

    def drop_message(self, rpc: str) -> None:
        """It never arrives. Raises MessageError."""
        message = self._waiting(rpc)
        if message.kind == "watch":
            raise MessageError(f"{rpc} is ZooKeeper's word on a watch, which gets lost only with the whole session.")
        self._take_back(message)
        self._drop(message, "dropped by hand")
        if message.correlation in self._one_way:
            self._forget(message.correlation)

    def delay_message(self, rpc: str, time_us: int) -> None:
        """It takes so much longer; those behind it do not wait. Raises MessageError."""
        message = self._waiting(rpc)
        if message.held:
            raise MessageError(f"{rpc} is stuck and has no time at which it would arrive.")
        self._let_go(message, message.due_us + time_us)

    def deliver_message(self, rpc: str) -> None:
        """It arrives now, whatever holds it. Raises MessageError."""
        message = self._waiting(rpc)
        self._take_back(message)
        self._let_go(message, self.now_us)

    def duplicate_message(self, rpc: str) -> None:
        """It arrives a second time, right behind. Raises MessageError."""
        message = self._waiting(rpc)
        if message.held:
            raise MessageError(f"{rpc} is stuck; a copy would be stuck behind it.")
        fields = (("copy of", rpc),)
        kind, correlation = message.kind, message.correlation
        if kind == "watch":
            raise MessageError(f"{rpc} is ZooKeeper's word on a watch, which is said once.")
        copy = self._send(
            message.api, kind, message.source, message.destination, correlation, message.body, message.label, fields
        )
        if copy.rpc in self.in_flight and not copy.held:
            self._let_go(copy, message.due_us)

    # the loop

    def step(self, until_us: int = FOREVER_US) -> Any | None:
        """Runs the next thing that is due by `until_us`. Returns it (a Message, Timer, Disconnect or RequestTimeout),
        None when there is none.
        """
        item = self.scheduler.pop(until_us)
        if item is None:
            return None
        self.steps += 1
        _, timer_id, name, what = item
        if type(what) is Message:
            # a message that was cut off under way was put on the heap a second time, and its first entry is void
            if what.timer_id == timer_id and not what.held:
                self._deliver(name, what)
            return what
        if what.incarnation != self.incarnations.get(name):
            if isinstance(what, RequestTimeout):
                self.pending.pop(what.correlation, None)
            return what
        if name in self.frozen:
            self.frozen[name].append(what)
            return what
        self.current_node = name
        node = self.nodes[name]
        if isinstance(what, Timer):
            self.cause_seq = what.cause_seq
            node.on_timer(what.name, what.data)
        elif isinstance(what, RequestTimeout):
            self._time_out(node, what.correlation)
        else:
            pending = self._forget(what.correlation)
            if pending is not None:
                self.cause_seq = 0
                node.on_disconnect(pending.api, pending.context, "closed")
        return what

    def _deliver(self, name: str, message: Message) -> None:
        if name in self.frozen:
            self._hold(message, "the process is frozen")
            self.frozen[name].append(message)
            return
        self.in_flight.pop(message.rpc, None)
        self.current_node = name
        self.cause_seq = message.cause_seq
        kind = message.kind
        if name not in self.up or message.incarnation != self.incarnations[name]:
            self.emit(RpcDropped(rpc=message.rpc, why="connection refused"), name)
            if kind == "request" and message.correlation in self.pending:
                source = message.source
                self.scheduler.at(
                    self._due(name, source), source, Disconnect(message.correlation, self.incarnations[source])
                )
            return
        node = self.nodes[name]
        if kind == "response":
            pending = self._forget(message.correlation)
            if pending is None:
                self.emit(RpcDropped(rpc=message.rpc, why="the connection is closed"), name)
                return
            self.cause_seq = self.emit(RpcDelivered(rpc=message.rpc, destination=name), name)
            node.on_response(message.api, message.body, pending.context)
            return
        self.cause_seq = self.emit(RpcDelivered(rpc=message.rpc, destination=name), name)
        if kind == "request":
            node.on_request(message)
            if message.correlation in self._one_way:
                self._one_way.remove(message.correlation)
                self.pending.pop(message.correlation, None)
        else:
            node.on_watch(*message.body)

    def _time_out(self, node: Node, correlation: int) -> None:
        pending = self.pending.pop(correlation, None)
        if pending is None:
            return
        message = self.in_flight.get(pending.rpc)
        if message is not None and message not in self.frozen.get(message.destination, ()):
            # what lies in the socket of a frozen process is not taken back: it will be read, and the answer go nowhere
            self._take_back(message)
            self._drop(message, "timed out, the sender closed the connection")
        self.cause_seq = 0
        node.on_disconnect(pending.api, pending.context, "timed out")
