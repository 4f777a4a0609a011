"""OffsetForLeaderEpoch (API key 23, KIP-101), as followers ask it."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Says where epochs end in the logs that this broker leads."""
    response = broker.replicas.offsets.for_leader_epochs(message.body)
    fields = tuple(
        (result.partition, f"epoch {result.leader_epoch} ends at {result.end_offset}")
        if result.error.code == 0
        else (result.partition, result.error.name)
        for result in response.partitions
    )
    broker.kernel.respond(
        message, response, label=fields[0][1] if len(fields) == 1 else "ends of epochs", fields=fields
    )
