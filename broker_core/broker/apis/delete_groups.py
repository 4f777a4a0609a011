"""DeleteGroups (API key 42)."""

from broker_core.broker.apis.services import GroupServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import DeleteGroupsRequest, DeleteGroupsResponse


def handle(services: GroupServices, message: Message) -> None:
    """Deletes groups without members, with their offsets."""
    body: DeleteGroupsRequest = message.body
    results = tuple((group_id, services.groups.delete_group(group_id)) for group_id in body.groups)
    shown = next((error for _, error in results if error is not Errors.NONE), Errors.NONE)
    label = "label.deleted" if shown is Errors.NONE else shown.name
    services.kernel.respond(message, DeleteGroupsResponse(results), label=label)
