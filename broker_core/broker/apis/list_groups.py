"""ListGroups (API key 16)."""

from typing import TYPE_CHECKING

from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """The groups that this broker coordinates."""
    body: ListGroupsRequest = message.body
    error = Errors.COORDINATOR_LOAD_IN_PROGRESS if broker.groups.is_loading else Errors.NONE
    response = ListGroupsResponse(error, broker.groups.list_groups(body.states_filter))
    broker.kernel.respond(message, response, label=f"{len(response.groups)} groups")
