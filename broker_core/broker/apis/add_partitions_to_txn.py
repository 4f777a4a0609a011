"""AddPartitionsToTxn (API key 24): of clients, and of brokers that verify (KIP-890)."""

from typing import TYPE_CHECKING

from broker_core.errors import KafkaError
from broker_core.sim.kernel import Message
from broker_core.transactions.coordinator import AddRequest
from broker_core.wire.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTransaction,
    PartitionErrors,
)

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Decides each transaction of the request. Where a partition does not exist, none is added."""
    body: AddPartitionsToTxnRequest = message.body
    coordinator = broker.transactions.coordinator
    request = AddRequest(message, len(body.transactions))
    if not body.transactions:
        broker.kernel.respond(message, AddPartitionsToTxnResponse(), label="nothing")
    for transaction in body.transactions:
        outcome: KafkaError | PartitionErrors | None = _unknown(broker, transaction)
        if outcome is None:
            if transaction.verify_only:
                outcome = coordinator.verify_partitions(transaction)
            else:
                outcome = coordinator.add_partitions(transaction, request, "add")
        if outcome is not None:
            coordinator.added(request, transaction.transactional_id, outcome)


def _unknown(broker: "Broker", transaction: AddPartitionsToTxnTransaction) -> PartitionErrors | None:
    if all(name in broker.metadata.partitions for name in transaction.partitions):
        return None
    return tuple(
        (
            name,
            KafkaError.OPERATION_NOT_ATTEMPTED
            if name in broker.metadata.partitions
            else KafkaError.UNKNOWN_TOPIC_OR_PARTITION,
        )
        for name in transaction.partitions
    )
