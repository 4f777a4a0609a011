"""AlterPartitionReassignments (API key 45, KIP-455)."""

from typing import TYPE_CHECKING

from broker_core.errors import Errors
from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """The controller begins or cancels moves of partitions; the answer does not wait for their end."""
    response = broker.controller.alter_partition_reassignments(message.body)
    fields = tuple((result.partition, result.error.name) for result in response.partitions)
    errors = (response.error, *(each.error for each in response.partitions))
    label = next((error.name for error in errors if error is not Errors.NONE), "ok")
    broker.kernel.respond(message, response, label=label, fields=fields)
