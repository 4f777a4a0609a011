"""ListPartitionReassignments (API key 46, KIP-455)."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """The controller says which partitions move."""
    response = broker.controller.list_partition_reassignments(message.body)
    fields = tuple((each.partition, f"replicas {list(each.replicas)}") for each in response.partitions)
    broker.kernel.respond(message, response, label=f"{len(response.partitions)} moving", fields=fields)
