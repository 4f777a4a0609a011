"""Fetch (API key 1), of followers and consumers."""

from broker_core.broker.apis.services import ReplicationServices
from broker_core.sim.kernel import Message


def handle(services: ReplicationServices, message: Message) -> None:
    """Reads, or parks the request until there is enough to read."""
    services.replicas.fetches.take(message, message.body)
