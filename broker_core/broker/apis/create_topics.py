"""CreateTopics (API key 19)."""

from broker_core.broker.admin.admin_purgatory import DelayedTopics
from broker_core.broker.apis.services import ControllerServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import CreateTopicsRequest, CreateTopicsResponse
from broker_core.zk.znodes import TopicZnode


def handle(services: ControllerServices, message: Message) -> None:
    """Writes the topics to ZooKeeper; answers when all their partitions have leaders, or the timeout has passed."""
    body: CreateTopicsRequest = message.body
    response = services.controller.create_topics(body)
    expected = {}
    if not body.validate_only:
        for result in response.topics:
            if result.error is Errors.NONE:
                data, _ = services.zk.get(TopicZnode.path(result.name))
                expected[result.name] = len(TopicZnode.decode(result.name, data).partitions)
    services.waiting_admin.park(
        DelayedTopics(message, expected, response.topics, CreateTopicsResponse), body.timeout_ms
    )
