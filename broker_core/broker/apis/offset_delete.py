"""OffsetDelete (API key 47)."""

from broker_core.broker.apis.services import GroupServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import OffsetDeleteRequest, OffsetDeleteResponse


def handle(services: GroupServices, message: Message) -> None:
    """Deletes committed offsets of topics to which no member is subscribed."""
    body: OffsetDeleteRequest = message.body
    partitions = dict.fromkeys(body.partitions)
    known = tuple(name for name in partitions if name in services.metadata.partitions)
    error, results = services.groups.delete_offsets(body.group_id, known)
    decided = dict(results)
    rows = tuple((name, decided.get(name, Errors.UNKNOWN_TOPIC_OR_PARTITION)) for name in partitions)
    response = OffsetDeleteResponse(error, rows if error is Errors.NONE else ())
    services.kernel.respond(message, response, label="label.deleted" if error is Errors.NONE else error.name)
