"""DeleteRecords (API key 21)."""

from broker_core.broker.apis.services import ReplicationServices
from broker_core.sim.kernel import Message


def handle(services: ReplicationServices, message: Message) -> None:
    """Advances log start offsets; responds when all live replicas have followed, or the timeout has passed."""
    services.replicas.record_deletion.delete(message, message.body)
