"""ListOffsets (API key 2)."""

from broker_core.broker.apis.services import ReplicationServices
from broker_core.sim.kernel import Message


def handle(services: ReplicationServices, message: Message) -> None:
    """Returns the first, the last, or the first offset at a timestamp of logs."""
    response = services.replicas.offsets.list(message.body)
    fields = tuple(
        (result.partition, result.offset if result.error.code == 0 else result.error.name)
        for result in response.partitions
    )
    services.kernel.respond(
        message, response, label=f"label.offset?offset={fields[0][1]}" if fields else "label.no_offsets", fields=fields
    )
