"""The kernel: the nodes, the messages and timers between them, and the event loop.

A node is anything with `on_request`, `on_response`, `on_disconnect`, `on_timer` and `on_watch`.
"""

from typing import Any

from broker_core.events.rpc import RpcDelivered, RpcDropped, RpcRescheduled
from broker_core.sim.event_log import Subjects as Subjects
from broker_core.sim.event_log import Survives as Survives
from broker_core.sim.event_log import applies as applies
from broker_core.sim.links import Links
from broker_core.sim.messages import Disconnect, Node, RequestTimeout, Timer
from broker_core.sim.messages import Latency as Latency
from broker_core.sim.messages import Message as Message
from broker_core.sim.messages import PassiveNode as PassiveNode
from broker_core.sim.scheduler import FOREVER_US


class Kernel(Links):
    """See the module.

    Attributes:
        nodes: all nodes ever added; `up`: those whose process runs.
        frozen: messages and timers due for a process suspended by SIGSTOP.
        steps: the number of executed steps; it identifies the point of a run at which an input arrived.
    """

    def __init__(self, seed: int, latency: Latency) -> None:
        super().__init__(seed, latency)
        self.nodes: dict[str, Node] = {}
        self.up: set[str] = set()
        self.frozen: dict[str, list[Any]] = {}
        self.steps = 0

    def add(self, node: Node) -> None:
        """Adds a node, which can receive messages from now on."""
        self.nodes[node.name] = node
        self.incarnations[node.name] = self.incarnations.get(node.name, 0) + 1
        self.up.add(node.name)

    def remove(self, name: str) -> None:
        """Ends the process of a node: cancels its timers and pending requests, closes its connections."""
        self.up.discard(name)
        self.incarnations[name] += 1
        for stuck in self.frozen.pop(name, ()):
            if isinstance(stuck, Message):
                self._drop(stuck, "reason.process_gone")
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
                    self._drop(message, "reason.connection_gone")
                messages.clear()

    def forget(self, name: str) -> None:
        """Removes a node whose name will not be used again, with all its state."""
        self.remove(name)
        del self.nodes[name]
        del self.incarnations[name]
        for link in [link for link in self._last_due_us if name in link]:
            del self._last_due_us[link]

    def freeze(self, name: str) -> None:
        """Suspends a process (SIGSTOP): arriving messages stay in the socket."""
        self.frozen.setdefault(name, [])

    def thaw(self, name: str) -> None:
        """Resumes a process (SIGCONT): messages and timers that became due are handled now, in their order."""
        for stuck in self.frozen.pop(name):
            timer_id = self.scheduler.at(self.now_us, name, stuck)
            if isinstance(stuck, Message):
                stuck.held = False
                stuck.due_us = self.now_us
                stuck.timer_id = timer_id
                self.emit(RpcRescheduled(rpc=stuck.rpc, due_us=self.now_us), name)

    def step(self, until_us: int = FOREVER_US) -> Any | None:
        """Runs the next item due by `until_us`; returns it (Message, Timer, Disconnect, RequestTimeout) or None."""
        item = self.scheduler.pop(until_us)
        if item is None:
            return None
        self.steps += 1
        self._waited = None
        self._handled = 0
        _, timer_id, name, what = item
        if type(what) is Message:
            # a message held by a cut link was scheduled a second time, and its first entry is void
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
            self._hold(message, "reason.process_frozen")
            self.frozen[name].append(message)
            return
        self.in_flight.pop(message.rpc, None)
        self.current_node = name
        self.cause_seq = message.cause_seq
        kind = message.kind
        if name not in self.up or message.incarnation != self.incarnations[name]:
            self.emit(RpcDropped(rpc=message.rpc, why="reason.connection_refused"), name)
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
                self.emit(RpcDropped(rpc=message.rpc, why="reason.connection_closed"), name)
                return
            self.cause_seq = self.emit(RpcDelivered(rpc=message.rpc, destination=name), name)
            node.on_response(message.api, message.body, pending.context)
            return
        self.cause_seq = self.emit(RpcDelivered(rpc=message.rpc, destination=name), name)
        if kind == "request":
            self._handled = message.correlation
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
            # messages in the socket of a frozen process are kept: they will be read, and the response dropped
            self._take_back(message)
            self._drop(message, "reason.request_timeout")
        self.cause_seq = 0
        node.on_disconnect(pending.api, pending.context, "timed out")
