"""SyncGroup (API key 14)."""

from broker_core.broker.apis.services import GroupServices
from broker_core.sim.kernel import Message


def handle(services: GroupServices, message: Message) -> None:
    """Responds when the leader's assignment is stored."""
    services.groups.sync(message, message.body)
