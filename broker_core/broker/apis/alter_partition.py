"""AlterPartition (API key 56, KIP-497)."""

from typing import TYPE_CHECKING

from broker_core.errors import Errors
from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """The controller decides on an ISR that a leader asks for."""
    response = broker.controller.alter_partition(message.body)
    fields = tuple(
        (result.partition, f"ISR {list(result.isr)}" if result.error is Errors.NONE else result.error.name)
        for result in response.partitions
    )
    label = response.error.name if response.error is not Errors.NONE else (str(fields[0][1]) if fields else "ok")
    broker.kernel.respond(message, response, label=label, fields=fields)
    broker.controller.partitions_altered(response)
