"""OffsetDelete (API key 47)."""

from broker_core.broker.apis.services import GroupServices
from broker_core.config_defs.java_text import partition_code, scala_set_order
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import OffsetDeleteRequest, OffsetDeleteResponse


def handle(services: GroupServices, message: Message) -> None:
    """Deletes committed offsets of topics to which no member is subscribed."""
    body: OffsetDeleteRequest = message.body
    partitions = services.metadata.partitions
    # Kafka lists what it does not know as often as it was named, and before the rest.
    unknown = tuple((name, Errors.UNKNOWN_TOPIC_OR_PARTITION) for name in body.partitions if name not in partitions)
    known = tuple(scala_set_order((name for name in body.partitions if name in partitions), partition_code))
    error, results = services.groups.delete_offsets(body.group_id, known)
    decided = dict(results)
    rows = unknown + tuple((name, decided.get(name, Errors.UNKNOWN_TOPIC_OR_PARTITION)) for name in known)
    response = OffsetDeleteResponse(error, rows if error is Errors.NONE else ())
    services.kernel.respond(message, response, label="label.deleted" if error is Errors.NONE else error.name)
