"""AddOffsetsToTxn (API key 25): a transaction shall commit offsets of a group, too."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message
from broker_core.transactions.coordinator import for_client
from broker_core.wire.messages import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, AddPartitionsToTxnTransaction

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Adds the group's partition of `__consumer_offsets` to the transaction."""
    body: AddOffsetsToTxnRequest = message.body
    partition = broker.groups.partition_of(body.group_id)
    transaction = AddPartitionsToTxnTransaction(
        body.transactional_id, body.producer_id, body.producer_epoch, (partition,)
    )
    error = broker.transactions.coordinator.add_partitions(transaction, message, "offsets")
    if error is not None:
        error = for_client(error, body.version, 2)
        broker.kernel.respond(message, AddOffsetsToTxnResponse(error), label=error.name)
