"""LeaveGroup (API key 13)."""

from broker_core.broker.apis.services import GroupServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import LeaveGroupResponse


def handle(services: GroupServices, message: Message) -> None:
    """Removes members before their sessions expire."""
    error, members = services.groups.leave(message.body)
    shown = next((each for *_, each in members if each is not Errors.NONE), error)
    label = "label.left" if shown is Errors.NONE else shown.name
    services.kernel.respond(message, LeaveGroupResponse(error, members), label=label)
