"""Heartbeat (API key 12)."""

from typing import TYPE_CHECKING

from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import HeartbeatResponse

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Keeps a member's session alive."""
    error = broker.groups.heartbeat(message.body)
    label = "alive" if error is Errors.NONE else error.name
    broker.kernel.respond(message, HeartbeatResponse(error), label=label)
