"""JoinGroup (API key 11)."""

from broker_core.broker.apis.services import GroupServices
from broker_core.sim.kernel import Message


def handle(services: GroupServices, message: Message) -> None:
    """Responds when the group's members have joined."""
    services.groups.join(message, message.body)
