"""DeleteTopics (API key 20)."""

from msgspec import structs

from broker_core.broker.admin.admin_purgatory import DelayedTopics
from broker_core.broker.apis.services import ControllerServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import DeleteTopicsRequest, DeleteTopicsResponse


def handle(services: ControllerServices, message: Message) -> None:
    """Marks topics for deletion; responds when they are removed from the metadata, or the timeout has passed."""
    body: DeleteTopicsRequest = message.body
    topic_ids = dict(services.metadata.topic_ids)
    results = services.controller.delete_topics(body).topics
    results = tuple(structs.replace(result, topic_id=topic_ids.get(result.name, "")) for result in results)
    expected: dict[str, tuple[int, ...]] = {result.name: () for result in results if result.error is Errors.NONE}
    services.waiting_admin.park(DelayedTopics(message, expected, results, DeleteTopicsResponse), body.timeout_ms)
