"""Manual control of links and of single messages in flight."""

from broker_core.events.rpc import RpcRescheduled
from broker_core.events.world import LinkQualityChanged
from broker_core.sim.faults import LinkFault, MessageInFlightError
from broker_core.sim.messages import FOLLOWING, Message
from broker_core.sim.network import Network
from broker_core.texts import text


class Links(Network):
    """See the module. `frozen`: messages and timers due for a process suspended by SIGSTOP."""

    frozen: dict[str, list[object]]

    def cut(self, source: str, destination: str) -> None:
        """Cuts one direction of a link. Messages in flight or sent meanwhile wait, as TCP would retransmit them."""
        stuck = self.cut_links.setdefault((source, destination), [])
        for message in sorted(self.in_flight.values(), key=lambda m: (m.due_us, m.correlation)):
            if not message.held and (message.source, message.destination) == (source, destination):
                self._hold(message, "reason.link_cut")
                stuck.append(message)

    def restore(self, a: str, b: str) -> None:
        """Restores both directions of a link: waiting messages are sent, in order."""
        stuck = [message for ends in ((a, b), (b, a)) for message in self.cut_links.pop(ends, ())]
        for message in sorted(stuck, key=lambda m: (m.due_us, m.correlation)):
            self._let_go(message, self._due(message.source, message.destination))

    def set_link_fault(self, source: str, destination: str, fault: LinkFault) -> None:
        """Sets the fault for messages sent in one direction from now on."""
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

    def connected(self, a: str, b: str) -> bool:
        """Whether the link between two nodes works in both directions."""
        cut = self.cut_links
        return not cut or ((a, b) not in cut and (b, a) not in cut)

    def hold_fetches(self, source: str, destination: str) -> None:
        """Holds the fetch requests of one broker to another, those in flight included."""
        held = self.held_fetches.setdefault((source, destination), [])
        for message in sorted(self.in_flight.values(), key=lambda m: (m.due_us, m.correlation)):
            is_theirs = (message.source, message.destination) == (source, destination)
            if is_theirs and message.kind == "request" and message.api in FOLLOWING and not message.held:
                self._hold(message, "reason.held")
                held.append(message)

    def release_fetches(self, source: str, destination: str) -> None:
        """Releases held fetches, in order."""
        for message in self.held_fetches.pop((source, destination)):
            message.held = False
            message.due_us = self._due(source, destination)
            self.emit(RpcRescheduled(rpc=message.rpc, due_us=message.due_us), source)
            message.timer_id = self.scheduler.at(message.due_us, destination, message)

    def _let_go(self, message: Message, due_us: int) -> None:
        """Reschedules a message, held or in flight."""
        message.held = False
        message.due_us = due_us
        self.emit(RpcRescheduled(rpc=message.rpc, due_us=due_us), message.source)
        message.timer_id = self.scheduler.at(due_us, message.destination, message)

    def _waiting(self, rpc: str) -> Message:
        """A message in flight that may be manipulated. Raises MessageInFlightError."""
        message = self.in_flight.get(rpc)
        if message is None:
            raise MessageInFlightError(text("shell.message_not_in_flight", rpc=rpc))
        if message in self.frozen.get(message.destination, ()):
            raise MessageInFlightError(text("shell.message_in_socket", rpc=rpc, node=message.destination))
        return message

    def _take_back(self, message: Message) -> None:
        for messages in (*self.cut_links.values(), *self.held_fetches.values()):
            if message in messages:
                messages.remove(message)

    def drop_message(self, rpc: str) -> None:
        """Drops a message. Raises MessageInFlightError."""
        message = self._waiting(rpc)
        if message.kind == "watch":
            raise MessageInFlightError(text("shell.message_watch_drop", rpc=rpc))
        self._take_back(message)
        self._drop(message, "reason.dropped")
        if message.correlation in self._one_way:
            self._forget(message.correlation)

    def delay_message(self, rpc: str, time_us: int) -> None:
        """Delays a message; later ones do not wait for it. Raises MessageInFlightError."""
        message = self._waiting(rpc)
        if message.held:
            raise MessageInFlightError(text("shell.message_held_delay", rpc=rpc))
        self._let_go(message, message.due_us + time_us)

    def deliver_message(self, rpc: str) -> None:
        """Delivers a message now, even if it is held. Raises MessageInFlightError."""
        message = self._waiting(rpc)
        self._take_back(message)
        self._let_go(message, self.now_us)

    def duplicate_message(self, rpc: str) -> None:
        """Delivers a message a second time, right after the first. Raises MessageInFlightError."""
        message = self._waiting(rpc)
        if message.held:
            raise MessageInFlightError(text("shell.message_held_duplicate", rpc=rpc))
        fields = (("label.copy_of", rpc),)
        kind, correlation = message.kind, message.correlation
        if kind == "watch":
            raise MessageInFlightError(text("shell.message_watch_duplicate", rpc=rpc))
        copy = self._send(
            message.api, kind, message.source, message.destination, correlation, message.body, message.label, fields
        )
        if copy.rpc in self.in_flight and not copy.held:
            self._let_go(copy, message.due_us)
