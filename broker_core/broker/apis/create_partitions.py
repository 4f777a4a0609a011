"""CreatePartitions (API key 37)."""

from broker_core.broker.admin.admin_purgatory import DelayedTopics
from broker_core.broker.apis.services import ControllerServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import CreatePartitionsRequest, CreatePartitionsResponse


def handle(services: ControllerServices, message: Message) -> None:
    """Writes the new partitions to ZooKeeper; responds when all of them have leaders, or the timeout has passed."""
    body: CreatePartitionsRequest = message.body
    response = services.controller.create_partitions(body)
    expected = {}
    if not body.validate_only:
        counts = {spec.name: spec.count for spec in body.topics}
        expected = {
            result.name: tuple(range(counts[result.name])) for result in response.topics if result.error is Errors.NONE
        }
    services.waiting_admin.park(
        DelayedTopics(message, expected, response.topics, CreatePartitionsResponse), body.timeout_ms
    )
