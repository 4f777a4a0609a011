"""ListOffsets (API key 2)."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Says where logs begin, end, or reach a time."""
    response = broker.replicas.offsets.list(message.body)
    fields = tuple(
        (result.partition, result.offset if result.error.code == 0 else result.error.name)
        for result in response.partitions
    )
    broker.kernel.respond(message, response, label=f"offset {fields[0][1]}" if fields else "no offsets", fields=fields)
