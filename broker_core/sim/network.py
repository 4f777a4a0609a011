"""The network: sends messages between nodes and delivers them when they are due."""

from typing import Any

from broker_core.events.rpc import Fields, RpcDropped, RpcHeld, RpcSent
from broker_core.sim.event_log import EventLog
from broker_core.sim.faults import DISK_MESSAGES, LinkFault
from broker_core.sim.messages import (
    FOLLOWING,
    Disconnect,
    Latency,
    Message,
    Pending,
    RequestTimeout,
    Timer,
)
from broker_core.sim.rng import Streams
from broker_core.texts import escape

WATCH_LABELS = {
    "children": "label.watch_children",
    "changed": "label.watch_changed",
    "created": "label.watch_created",
    "deleted": "label.watch_deleted",
}


class Network(EventLog):
    """Messages, and the links that carry them.

    Attributes:
        incarnations: the number of starts and ends of each node's process; a connection ends with it.
        cut_links: the waiting messages of each direction that is cut.
        held_fetches: the waiting messages of each manually held fetcher.
        link_faults: the fault of each faulty direction of a link.
        slow_disks: the extra microseconds of each append on a node's disk.
        slow_fsyncs: the extra microseconds of each fsync that a handler waits for.
        pending: the requests without a response, by correlation.
        in_flight: the messages in flight, by rpc.
    """

    def __init__(self, seed: int, latency: Latency) -> None:
        super().__init__()
        self.streams = Streams(seed)
        self.latency = latency
        self.incarnations: dict[str, int] = {}
        self.cut_links: dict[tuple[str, str], list[Message]] = {}
        self.held_fetches: dict[tuple[str, str], list[Message]] = {}
        self.link_faults: dict[tuple[str, str], LinkFault] = {}
        self.slow_disks: dict[str, int] = {}
        self.slow_fsyncs: dict[str, int] = {}
        #: the node whose handler has waited for fsyncs in this step, for how long, and the request that it handles
        self._waited: tuple[str, int] | None = None
        self._handled = 0
        self.pending: dict[int, Pending] = {}
        self.in_flight: dict[str, Message] = {}
        self._one_way: set[int] = set()
        self._next_rpc = 1
        self._last_due_us: dict[tuple[str, str], int] = {}
        self._jitter = self.streams["network"]

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
        """Sends a request; the response is passed to `on_response` (or `on_disconnect`) of the source with `context`.

        `one_way`: there is no response (Produce with acks=0), but a closed connection is reported. Returns the
        correlation id.
        """
        now_us = self.scheduler.now_us
        correlation = self._next_rpc
        message = self._send(api, "request", source, destination, correlation, body, label, fields)
        timeout_id = 0
        if timeout_us is not None:
            timeout_id = self.scheduler.at(
                now_us + timeout_us, source, RequestTimeout(correlation, self.incarnations[source])
            )
        self.pending[correlation] = Pending(message.rpc, api, source, destination, context, timeout_id, now_us)
        if one_way:
            self._one_way.add(correlation)
        return correlation

    def respond(self, request: Message, body: Any, *, label: str, fields: Fields = ()) -> None:
        """Responds to a request. Does nothing if the client is down or has closed the connection."""
        if request.correlation in self.pending:
            self._send(
                request.api, "response", request.destination, request.source, request.correlation, body, label, fields
            )

    def notify(self, destination: str, kind: str, path: str) -> None:
        """Notifies a node that a ZooKeeper watch fired."""
        self._send(
            "WatchEvent",
            "watch",
            "zk",
            destination,
            0,
            (kind, path),
            f"{WATCH_LABELS[kind]}?path={escape(path)}",
            (("kind", kind), ("path", path)),
        )

    def close_connections(self, name: str) -> None:
        """Closes all sockets of a process, and notifies the nodes that await a response from it."""
        for correlation, pending in self.pending.items():
            if pending.destination == name:
                self.scheduler.at(
                    self._due(name, pending.source),
                    pending.source,
                    Disconnect(correlation, self.incarnations[pending.source]),
                )

    def close_connection(self, request: Message) -> None:
        """Closes the connection instead of responding (a failed Produce with acks=0)."""
        pending = self.pending.get(request.correlation)
        if pending is not None:
            self._one_way.discard(request.correlation)
            self.scheduler.at(
                self._due(request.destination, request.source),
                request.source,
                Disconnect(request.correlation, self.incarnations[request.source]),
            )

    def keep_open(self, request: Message) -> None:
        """Keeps a one-way request pending: its connection may still be closed because of it until `end_one_way`."""
        self._one_way.discard(request.correlation)

    def end_one_way(self, request: Message) -> None:
        """Ends a one-way request that was kept open, without a response."""
        self.pending.pop(request.correlation, None)

    def waited_for_fsync(self, node: str) -> None:
        """The handler that runs now has waited for an fsync: messages that its node sends in the rest of this step, and
        the response to the request, leave later by that time.
        """
        if node in self.slow_fsyncs:
            before_us = self._waited[1] if self._waited is not None and self._waited[0] == node else 0
            self._waited = (node, before_us + self.slow_fsyncs[node])
            pending = self.pending.get(self._handled)
            if pending is not None and pending.destination == node:
                pending.respond_from_us = self.scheduler.now_us + self._waited[1]

    def _handler_us(self, source: str, correlation: int, kind: str) -> int:
        """How long the handler still takes until it sends a message, because it waits for an fsync."""
        waits_us = self._waited[1] if self._waited is not None and self._waited[0] == source else 0
        if kind == "response" and correlation in self.pending:
            waits_us = max(waits_us, self.pending[correlation].respond_from_us - self.scheduler.now_us)
        return waits_us

    def timer(self, node: str, due_us: int, name: str, data: Any = None) -> int:
        """Calls `node.on_timer(name, data)` at `due_us`, unless its process has ended by then."""
        return self.scheduler.at(due_us, node, Timer(name, data, self.cause_seq, self.incarnations[node]))

    def _due(self, source: str, destination: str, waits_us: int = 0) -> int:
        """The arrival time of a message sent in `waits_us`: not before those sent earlier over the same connection."""
        latency = self.latency
        due_us = self.scheduler.now_us + waits_us + latency.base_us
        if latency.jitter_us:
            due_us += self._jitter.below(latency.jitter_us + 1)
        link = (source, destination)
        last_due_us = self._last_due_us.get(link, 0)
        if self.link_faults and (fault := self.link_faults.get(link)) is not None:
            due_us += fault.latency_us
            if self.streams["faults"].below(100) < fault.reorder_percent:
                # Later messages do not wait for it.
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
        due_us = self._due(source, destination, self._handler_us(source, correlation, kind) if self.slow_fsyncs else 0)
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
            self._hold(message, "reason.link_cut")
            self.cut_links[source, destination].append(message)
        elif self.link_faults and self._is_lost(source, destination):
            self._drop(message, "reason.link_loss")
        elif (
            self.held_fetches and kind == "request" and api in FOLLOWING and (source, destination) in self.held_fetches
        ):
            self._hold(message, "reason.held")
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
        """Removes a pending request; None if it was removed before."""
        pending = self.pending.pop(correlation, None)
        if pending is not None:
            self._one_way.discard(correlation)
            if pending.timeout_id:
                self.scheduler.cancel(pending.timeout_id)
        return pending
