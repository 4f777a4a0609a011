"""DescribeGroups (API key 15)."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message
from broker_core.wire.messages import DescribeGroupsRequest, DescribeGroupsResponse

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """States, members and assignments of groups."""
    body: DescribeGroupsRequest = message.body
    groups = tuple(broker.groups.describe_group(group_id) for group_id in body.groups)
    fields = tuple((group.group_id, group.state or group.error.name) for group in groups)
    broker.kernel.respond(message, DescribeGroupsResponse(groups), label=f"{len(groups)} groups", fields=fields)
