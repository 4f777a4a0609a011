"""AddOffsetsToTxn (API key 25): adds a group's offsets to a transaction."""

from broker_core.broker.apis.services import TransactionalOffsetServices
from broker_core.sim.kernel import Message
from broker_core.transactions.coordinator import for_client
from broker_core.wire.messages import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, AddPartitionsToTxnTransaction


def handle(services: TransactionalOffsetServices, message: Message) -> None:
    """Adds the group's partition of `__consumer_offsets` to the transaction."""
    body: AddOffsetsToTxnRequest = message.body
    partition = services.groups.partition_of(body.group_id)
    transaction = AddPartitionsToTxnTransaction(
        body.transactional_id, body.producer_id, body.producer_epoch, (partition,)
    )
    error = services.transactions.coordinator.add_partitions(transaction, message, "offsets")
    if error is not None:
        error = for_client(error, body.version, 2)
        services.kernel.respond(message, AddOffsetsToTxnResponse(error), label=error.name)
