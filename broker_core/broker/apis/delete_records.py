"""DeleteRecords (API key 21)."""

from broker_core.broker.apis.services import ReplicationServices
from broker_core.sim.kernel import Message


def handle(services: ReplicationServices, message: Message) -> None:
    """Moves the starts of logs; answers when all living replicas have followed, or the timeout has passed."""
    services.replicas.record_deletion.delete(message, message.body)
