"""Delayed JoinGroup and SyncGroup requests at the coordinator (`DelayedJoin`, `DelayedSync`)."""

from broker_core.errors import Errors
from broker_core.events.waiting import RequestCompleted, RequestParked
from broker_core.groups.classic_group import ClassicGroup
from broker_core.groups.host import CoordinatorHost
from broker_core.sim.kernel import Message


class WaitingRequests:
    """The members' requests without a response, as shown in the view."""

    def __init__(self, host: CoordinatorHost) -> None:
        self._host = host
        self._requests: dict[str, None] = {}

    def requests(self) -> list[str]:
        """The rpc ids of the delayed requests."""
        return list(self._requests)

    def park(self, message: Message, group: ClassicGroup, needs: str, deadline_us: int) -> None:
        """Delays a request until `deadline_us`. One that is delayed already gets a new deadline."""
        self._requests[message.rpc] = None
        self._host.kernel.emit(
            RequestParked(
                broker=self._host.name,
                request=message.rpc,
                api=message.api,
                client=message.source,
                partitions=(group.partition,),
                needs=needs,
                deadline_us=deadline_us,
            ),
            self._host.name,
        )

    def park_join(self, group: ClassicGroup, message: Message) -> None:
        """Delays a JoinGroup until the other members have joined, or the initial delay has passed (KIP-134)."""
        needs = "label.needs_initial_delay" if group.is_initial_rebalance else "label.needs_members"
        self.park(message, group, needs, group.join_due_us)

    def completed(self, message: Message, error: Errors) -> None:
        """A request gets its response."""
        self._end(message, "satisfied" if error is Errors.NONE else error.name)

    def superseded(self, message: Message | None) -> None:
        """A request gets no response, because its member sent another one."""
        if message is not None:
            self._end(message, "superseded")

    def _end(self, message: Message, why: str) -> None:
        if message.rpc in self._requests:
            del self._requests[message.rpc]
            self._host.kernel.emit(
                RequestCompleted(broker=self._host.name, request=message.rpc, why=why), self._host.name
            )
