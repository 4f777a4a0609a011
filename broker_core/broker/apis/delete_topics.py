"""DeleteTopics (API key 20)."""

from typing import TYPE_CHECKING

from broker_core.broker.delayed import DelayedTopics
from broker_core.errors import KafkaError
from broker_core.sim.kernel import Message
from broker_core.wire.messages import DeleteTopicsRequest, DeleteTopicsResponse

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Marks topics for deletion; answers when they are gone from the metadata, or the timeout has passed."""
    body: DeleteTopicsRequest = message.body
    response = broker.controller.delete_topics(body)
    expected = {result.name: 0 for result in response.topics if result.error is KafkaError.NONE}
    broker.park_admin(DelayedTopics(message, expected, response.topics, DeleteTopicsResponse), body.timeout_ms)
