"""Heartbeat (API key 12)."""

from broker_core.broker.apis.services import GroupServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import HeartbeatResponse


def handle(services: GroupServices, message: Message) -> None:
    """Keeps a member's session alive."""
    error = services.groups.heartbeat(message.body)
    label = "label.alive" if error is Errors.NONE else error.name
    services.kernel.respond(message, HeartbeatResponse(error), label=label)
