"""ListGroups (API key 16)."""

from broker_core.broker.apis.services import GroupServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import ListGroupsRequest, ListGroupsResponse


def handle(services: GroupServices, message: Message) -> None:
    """Returns the groups that this broker coordinates."""
    body: ListGroupsRequest = message.body
    error = Errors.COORDINATOR_LOAD_IN_PROGRESS if services.groups.is_loading else Errors.NONE
    response = ListGroupsResponse(error, services.groups.list_groups(body.states_filter))
    services.kernel.respond(message, response, label=f"label.groups?n={len(response.groups)}")
