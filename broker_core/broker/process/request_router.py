"""What reaches a broker: requests, answers, timers and watches, and who in it each is for.

What needs ZooKeeper waits here while ZooKeeper cannot be reached, as Kafka's controller thread would.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from broker_core.broker.admin import admin_purgatory
from broker_core.broker.apis import HANDLERS
from broker_core.broker.common.guard import go_on_after, guarded
from broker_core.broker.common.messages import CLIENT_PREFIX, Failed, Prepared
from broker_core.broker.coordinators import coordinator_appends
from broker_core.broker.coordinators.transactions import ASKERS
from broker_core.broker.logs.log_manager import TIMER_PREFIX as LOGS_TIMER_PREFIX
from broker_core.broker.replicas import record_deletion
from broker_core.errors import Errors
from broker_core.groups.host import TIMER_PREFIX as GROUPS_TIMER_PREFIX
from broker_core.replication.partition import UNLINK_TIMER
from broker_core.sim.kernel import Message
from broker_core.transactions.loading import TIMER_PREFIX as TRANSACTIONS_TIMER_PREFIX
from broker_core.wire.messages import LeaderAndIsrRequest, OffsetCommitRequest, OffsetFetchRequest
from broker_core.zk.znodes import ConfigChangeZnode

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker

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


def _is_of_zookeeper(body: Any) -> bool:
    return isinstance(body, OffsetCommitRequest | OffsetFetchRequest) and body.in_zookeeper


class Mailbox:
    """The node that the kernel knows as a broker."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self.name = broker.name
        self.kernel = broker.kernel
        self._blocked: list[tuple[Callable[..., None], tuple[Any, ...]]] = []

    # without ZooKeeper

    def _blocks(self, deliver: Callable[..., None], *arguments: Any) -> bool:
        """Without ZooKeeper the controller's thread and who reads there stand still; what comes in waits."""
        broker = self._broker
        if broker.reaches_zookeeper and broker.zookeeper.has_session(self.name):
            return False
        self._blocked.append((deliver, arguments))
        return True

    def deliver_blocked(self, *, watches_ended: bool = False) -> None:
        """ZooKeeper can be reached again. `watches_ended`: with their session; whoever asked or was asked meanwhile
        still counts on it.
        """
        blocked, self._blocked = self._blocked, []
        for deliver, arguments in blocked:
            if not (watches_ended and deliver == self.on_watch):
                deliver(*arguments)

    # requests and answers

    def on_request(self, message: Message) -> None:
        """Hands a request to its API. What needs ZooKeeper waits while ZooKeeper cannot be reached."""
        broker = self._broker
        if broker.state in ("starting", "exiting"):
            # the socket server takes no connections yet, or no longer
            self.kernel.close_connection(message)
            return
        if isinstance(message.body, Prepared):
            self.kernel.respond(message, message.body, label="ok")
            return
        if not broker.reaches_zookeeper and (message.api in _CONTROLLER_APIS or _is_of_zookeeper(message.body)):
            self._blocked.append((self.on_request, (message,)))
            return
        if message.api == "LeaderAndIsr" and self._opens_logs(message.body) and self._blocks(self.on_request, message):
            return
        try:
            HANDLERS[message.api](broker, message)
        except Exception as failure:
            go_on_after(self.kernel, failure, self.name, message.api)
            if message.source.startswith(CLIENT_PREFIX):
                error = Errors.UNKNOWN_SERVER_ERROR
                self.kernel.respond(message, Failed(error), label=error.name)
            else:
                self.kernel.close_connection(message)

    def _opens_logs(self, request: LeaderAndIsrRequest) -> bool:
        """Whether a new log is to be opened, for which the topic's configuration is read."""
        return any(state.partition not in self._broker.partitions for state in request.partitions)

    @guarded("answer")
    def on_response(self, api: str, body: Any, context: tuple[str, Any]) -> None:
        """Hands an answer to whoever asked."""
        asker, data = context
        broker = self._broker
        if broker.state == "exiting":
            return
        if asker == "fetcher":
            broker.replicas.fetchers[data].on_response(body)
        elif asker == "fetcher_epochs":
            broker.replicas.fetchers[data].on_epochs(body)
        elif asker == "fetcher_offsets":
            broker.replicas.fetchers[data[0]].on_offsets(data, body)
        elif asker == "alter_partition":
            broker.replicas.alter_partition.on_response(body)
        elif asker in ASKERS:
            broker.transactions.on_response(asker, data, body)
        elif asker == "controlled_shutdown":
            broker.life.on_controlled_shutdown(body)
        else:
            broker_id, channel = data
            self._controller_response(broker_id, channel, body)

    @guarded("silence")
    def on_disconnect(self, api: str, context: tuple[str, Any], why: str) -> None:
        """No answer will come."""
        asker, data = context
        broker = self._broker
        if broker.state == "exiting":
            return
        if asker in ("fetcher", "fetcher_epochs"):
            broker.replicas.fetchers[data].on_disconnect()
        elif asker == "fetcher_offsets":
            broker.replicas.fetchers[data[0]].on_offsets(data, None)
        elif asker == "alter_partition":
            broker.replicas.alter_partition.on_disconnect()
        elif asker in ASKERS:
            broker.transactions.on_response(asker, data, None)
        elif asker == "controlled_shutdown":
            broker.life.shutdown_refused()
        else:
            self._controller_disconnect(*data)

    # the controller's thread

    def _controller_response(self, broker_id: int, channel: int, body: Any) -> None:
        if not self._blocks(self._controller_response, broker_id, channel, body):
            self._broker.controller.on_response(broker_id, channel, body)

    def _controller_disconnect(self, broker_id: int, channel: int) -> None:
        if not self._blocks(self._controller_disconnect, broker_id, channel):
            self._broker.controller.on_disconnect(broker_id, channel)

    def _controller_timer(self, name: str, data: Any) -> None:
        if not self._blocks(self._controller_timer, name, data):
            self._broker.controller.on_timer(name, data)

    @guarded("watch", named=1)
    def on_watch(self, kind: str, path: str) -> None:
        """A watch of this broker's session fired."""
        broker = self._broker
        if broker.state == "exiting" or self._blocks(self.on_watch, kind, path):
            return
        if path == ConfigChangeZnode.PARENT:
            broker.config_changes.on_change()
        else:
            broker.controller.on_watch(kind, path)

    # timers

    @guarded("timer")
    def on_timer(self, name: str, data: Any) -> None:
        """The jobs of the broker and the deadlines of what waits."""
        broker = self._broker
        replicas = broker.replicas
        if broker.state == "exiting":
            return
        if name == "fetch_expired":
            replicas.fetches.expired(data)
        elif name == "produce_expired":
            replicas.produces.expired(data)
        elif name == "fetcher_wake":
            replicas.fetchers[data].on_wake()
        elif name == "alter_partition_retry":
            replicas.alter_partition.on_retry()
        elif name == "isr_expiration":
            try:
                replicas.shrink_isrs()
            finally:
                broker.check_isrs_later()
        elif name == "isr_propagation":
            replicas.isr_changes.on_timer()
        elif name == "high_watermark_checkpoint":
            broker.checkpoint_high_watermarks()
        elif name.startswith(LOGS_TIMER_PREFIX):
            broker.logs.on_timer(name)
        elif name == record_deletion.EXPIRED_TIMER:
            replicas.record_deletion.expired(data)
        elif name == UNLINK_TIMER:
            broker.logs.unlink(*data)
        elif name == "start_retry":
            broker.life.try_to_start()
        elif name == "controlled_shutdown_retry":
            broker.life.ask_for_shutdown()
        elif name == admin_purgatory.EXPIRED_TIMER:
            broker.waiting_admin.expired(data)
        elif name.startswith("controller."):
            self._controller_timer(name, data)
        elif name == coordinator_appends.EXPIRED_TIMER:
            broker.coordinator_appends.expired(data)
        elif name.startswith(GROUPS_TIMER_PREFIX):
            broker.groups.on_timer(name, data)
        elif name.startswith(TRANSACTIONS_TIMER_PREFIX):
            broker.transactions.on_timer(name, data)
        else:
            raise ValueError(f"broker {broker.broker_id} knows no timer {name!r}")
