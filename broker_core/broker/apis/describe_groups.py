"""DescribeGroups (API key 15)."""

from broker_core.broker.apis.services import GroupServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse


def handle(services: GroupServices, message: Message) -> None:
    """Returns states, members and assignments of groups."""
    body: DescribeGroupsRequest = message.body
    groups = tuple(services.groups.describe_group(group_id) for group_id in body.groups)
    if any(group.error is Errors.UNKNOWN_SERVER_ERROR for group in groups):
        # The request fails as a whole.
        groups = tuple(DescribedGroup(group_id, Errors.UNKNOWN_SERVER_ERROR) for group_id in body.groups)
    fields = tuple((group.group_id, group.state or group.error.name) for group in groups)
    services.kernel.respond(
        message, DescribeGroupsResponse(groups), label=f"label.groups?n={len(groups)}", fields=fields
    )
