"""OffsetFetch (API key 9)."""

from broker_core.broker.apis.services import GroupServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import OffsetFetchRequest, OffsetFetchResponse


def handle(services: GroupServices, message: Message) -> None:
    """Returns the committed offsets of a group."""
    body: OffsetFetchRequest = message.body
    if body.groups:
        requested = (
            OffsetFetchRequest(group, names, require_stable=body.require_stable) for group, names in body.groups
        )
        groups = tuple(services.groups.fetch_offsets(each) for each in requested)
        services.kernel.respond(message, OffsetFetchResponse(groups=groups), label=f"label.groups?n={len(groups)}")
        return
    response = services.zookeeper_offsets.fetch(body) if body.in_zookeeper else services.groups.fetch_offsets(body)
    rows, error = response.partitions, response.error
    label = f"label.offsets?n={len(rows)}" if error is Errors.NONE else error.name
    fields = tuple((name, offset) for name, offset, *_ in rows)
    services.kernel.respond(message, response, label=label, fields=fields)
