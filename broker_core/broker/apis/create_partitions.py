"""CreatePartitions (API key 37)."""

from typing import TYPE_CHECKING

from broker_core.broker.admin.admin_purgatory import DelayedTopics
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import CreatePartitionsRequest, CreatePartitionsResponse

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Writes the larger topics to ZooKeeper; answers when all their partitions have leaders, or the timeout has
    passed.
    """
    body: CreatePartitionsRequest = message.body
    response = broker.controller.create_partitions(body)
    expected = {}
    if not body.validate_only:
        counts = {spec.name: spec.count for spec in body.topics}
        expected = {result.name: counts[result.name] for result in response.topics if result.error is Errors.NONE}
    broker.waiting_admin.park(
        DelayedTopics(message, expected, response.topics, CreatePartitionsResponse), body.timeout_ms
    )
