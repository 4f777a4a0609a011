"""LeaveGroup (API key 13)."""

from typing import TYPE_CHECKING

from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import LeaveGroupResponse

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Members leave before their sessions end."""
    error, members = broker.groups.leave(message.body)
    shown = next((each for *_, each in members if each is not Errors.NONE), error)
    label = "left" if shown is Errors.NONE else shown.name
    broker.kernel.respond(message, LeaveGroupResponse(error, members), label=label)
