"""Routes the input of a broker: requests to the API handlers, responses and timers to the part that registered them,
watches to the controller.

What needs ZooKeeper waits here while ZooKeeper cannot be reached, as Kafka's controller thread would.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar

from broker_core.broker.apis import HANDLERS
from broker_core.broker.apis.services import BrokerServices
from broker_core.broker.common.guard import guarded, report_failure
from broker_core.broker.common.messages import CLIENT_PREFIX, Failed, Prepared
from broker_core.broker.common.process_state import ProcessState
from broker_core.broker.process.config_changes import ConfigChanges
from broker_core.errors import Errors
from broker_core.replication.partition import Partition
from broker_core.sim.handlers import RequestPart, ResponseHandler, TimerHandler, TimerPart
from broker_core.sim.kernel import Message
from broker_core.wire.messages import LeaderAndIsrRequest, OffsetCommitRequest, OffsetFetchRequest
from broker_core.zk.znodes import ConfigChangeZnode

CONTROLLER = "controller"
"""The context of the controller's requests to brokers, with the broker's id and the channel's number."""
_CONTROLLER_APIS = frozenset(
    {
        "AlterClientQuotas",
        "AlterConfigs",
        "AllocateProducerIds",
        "AlterPartition",
        "AlterPartitionReassignments",
        "AlterUserScramCredentials",
        "ControlledShutdown",
        "CreatePartitions",
        "CreateTopics",
        "DeleteTopics",
        "DescribeClientQuotas",
        "DescribeConfigs",
        "DescribeUserScramCredentials",
        "ElectLeaders",
        "IncrementalAlterConfigs",
    }
)


H = TypeVar("H")


def _add(table: dict[str, H], more: Mapping[str, H]) -> None:
    both = table.keys() & more.keys()
    if both:
        raise ValueError(f"two parts have a handler for {', '.join(sorted(both))}")
    table.update(more)


def _is_of_zookeeper(body: Any) -> bool:
    return isinstance(body, OffsetCommitRequest | OffsetFetchRequest) and body.in_zookeeper


class RoutedBroker(BrokerServices, Protocol):
    """What the router needs of its broker."""

    state: ProcessState
    config_changes: ConfigChanges

    @property
    def can_use_zookeeper(self) -> bool: ...

    @property
    def partitions(self) -> Mapping[str, Partition]: ...


class RequestRouter:
    """The broker's node in the kernel."""

    def __init__(self, broker: RoutedBroker) -> None:
        self._broker = broker
        self.name = broker.name
        self.kernel = broker.kernel
        self._blocked: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        controller = broker.controller
        self._timers: dict[str, TimerHandler] = {
            name: partial(self._controller_timer, name) for name in controller.timers
        }
        self._responses = {CONTROLLER: ResponseHandler(self._controller_response, self._controller_disconnect)}

    def register(self, *, timers: Iterable[TimerPart], requests: Iterable[RequestPart]) -> None:
        """Registers the handlers of these parts. Raises ValueError for a name that is registered already."""
        for timer_part in timers:
            _add(self._timers, timer_part.timers)
        for request_part in requests:
            _add(self._responses, request_part.responses)

    # Without ZooKeeper.

    def _blocks(self, deliver: Callable[..., None], *arguments: Any) -> bool:
        """Without ZooKeeper the controller's thread and every reader of ZooKeeper block; events are queued."""
        if self._broker.can_use_zookeeper:
            return False
        self._blocked.append((deliver, arguments))
        return True

    def deliver_blocked(self, *, watches_ended: bool = False) -> None:
        """Handles the queued events once ZooKeeper is reachable again. `watches_ended`: with their session; queued
        requests and responses still count.
        """
        blocked, self._blocked = self._blocked, []
        for deliver, arguments in blocked:
            if not (watches_ended and deliver == self.on_watch):
                deliver(*arguments)

    # Requests and responses.

    def on_request(self, message: Message) -> None:
        """Passes a request to its API's handler. A request that needs ZooKeeper waits while ZooKeeper is
        unreachable.
        """
        broker = self._broker
        if broker.state in (ProcessState.STARTING, ProcessState.EXITING):
            # The socket server does not accept connections yet, or no longer.
            self.kernel.close_connection(message)
            return
        if isinstance(message.body, Prepared):
            self.kernel.respond(message, message.body, label="label.ok")
            return
        if not broker.reaches_zookeeper and (message.api in _CONTROLLER_APIS or _is_of_zookeeper(message.body)):
            self._blocked.append((self.on_request, (message,)))
            return
        if message.api == "LeaderAndIsr" and self._opens_logs(message.body) and self._blocks(self.on_request, message):
            return
        try:
            HANDLERS[message.api](broker, message)
        except Exception as failure:
            report_failure(self.kernel, failure, self.name, message.api)
            if message.source.startswith(CLIENT_PREFIX):
                error = Errors.UNKNOWN_SERVER_ERROR
                self.kernel.respond(message, Failed(error), label=error.name)
            else:
                self.kernel.close_connection(message)

    def _opens_logs(self, request: LeaderAndIsrRequest) -> bool:
        """Whether a new log will be opened, for which the topic's configuration is read."""
        return any(state.partition not in self._broker.partitions for state in request.partitions)

    @guarded("answer")
    def on_response(self, api: str, body: Any, context: tuple[str, Any]) -> None:
        """Passes a response to the part that sent the request."""
        name, data = context
        if self._broker.state is not ProcessState.EXITING:
            self._responses[name].answered(data, body)

    @guarded("silence")
    def on_disconnect(self, api: str, context: tuple[str, Any], why: str) -> None:
        """Notifies the part that sent a request that there will be no response."""
        name, data = context
        if self._broker.state is not ProcessState.EXITING:
            self._responses[name].disconnected(data)

    # The controller's thread.

    def _controller_response(self, to: tuple[int, int], body: Any) -> None:
        if not self._blocks(self._controller_response, to, body):
            self._broker.controller.on_response(*to, body)

    def _controller_disconnect(self, to: tuple[int, int]) -> None:
        if not self._blocks(self._controller_disconnect, to):
            self._broker.controller.on_disconnect(*to)

    def _controller_timer(self, name: str, data: Any) -> None:
        if not self._blocks(self._controller_timer, name, data):
            self._broker.controller.timers[name](data)

    @guarded("watch", named=1)
    def on_watch(self, kind: str, path: str) -> None:
        """A watch of this broker's session fired."""
        broker = self._broker
        if broker.state is ProcessState.EXITING or self._blocks(self.on_watch, kind, path):
            return
        if path == ConfigChangeZnode.PARENT:
            broker.config_changes.on_change()
        else:
            broker.controller.on_watch(kind, path)

    # timers

    @guarded("timer")
    def on_timer(self, name: str, data: Any) -> None:
        """Passes a timer that is due to the part that set it."""
        if self._broker.state is not ProcessState.EXITING:
            self._timers[name](data)
