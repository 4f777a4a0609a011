"""OffsetFetch (API key 9)."""

from typing import TYPE_CHECKING

from broker_core.errors import KafkaError
from broker_core.sim.kernel import Message
from broker_core.wire.messages import OffsetFetchRequest, OffsetFetchResponse

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """What a group has committed."""
    body: OffsetFetchRequest = message.body
    if body.groups:
        groups = tuple(OffsetFetchResponse(*broker.groups.fetch_offsets(*asked)) for asked in body.groups)
        broker.kernel.respond(message, OffsetFetchResponse(groups=groups), label=f"{len(groups)} groups")
        return
    error, rows = broker.groups.fetch_offsets(body.group_id, body.partitions)
    label = f"{len(rows)} offsets" if error is KafkaError.NONE else error.name
    fields = tuple((name, offset) for name, offset, *_ in rows)
    broker.kernel.respond(message, OffsetFetchResponse(error, rows), label=label, fields=fields)
