"""CreateTopics (API key 19)."""

from broker_core.broker.apis.services import ControllerServices
from broker_core.sim.kernel import Message


def handle(services: ControllerServices, message: Message) -> None:
    """Writes the topics to ZooKeeper; responds when all their partitions have leaders, or the timeout has passed."""
    services.topic_creations.handle(message)
