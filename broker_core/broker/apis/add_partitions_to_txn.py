"""AddPartitionsToTxn (API key 24): of clients, and of brokers that verify a transaction (KIP-890)."""

from msgspec import structs

from broker_core.broker.apis.services import TransactionServices
from broker_core.errors import Errors
from broker_core.partitions import parse_requested
from broker_core.sim.kernel import Message
from broker_core.topics import INTERNAL_TOPICS
from broker_core.transactions.host import AddRequest
from broker_core.wire.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTransaction,
    PartitionErrors,
)

LAST_CLIENT_VERSION = 3
"""From this version on only brokers send it."""


def handle(services: TransactionServices, message: Message) -> None:
    """Handles each transaction of the request. If a partition does not exist, none is added. If a transaction is listed
    twice, the last entry counts.
    """
    body: AddPartitionsToTxnRequest = message.body
    coordinator = services.transactions.coordinator
    request = AddRequest(message, len(body.transactions))
    if not body.transactions:
        services.kernel.respond(message, AddPartitionsToTxnResponse(), label="label.nothing")
    partitions = {each.transactional_id: each.partitions for each in body.transactions}
    for received in body.transactions:
        transaction = structs.replace(received, partitions=partitions[received.transactional_id])
        outcome: Errors | PartitionErrors | None = _refused(services, transaction, body.version)
        if outcome is None:
            if transaction.verify_only:
                outcome = coordinator.verify_partitions(transaction)
            else:
                outcome = coordinator.add_partitions(transaction, request, "add")
        if outcome is not None:
            coordinator.added(request, transaction.transactional_id, outcome)


def _refused(
    services: TransactionServices, transaction: AddPartitionsToTxnTransaction, version: int
) -> PartitionErrors | None:
    errors = [(name, _error(services, name, version)) for name in transaction.partitions]
    if all(error is Errors.NONE for _, error in errors):
        return None
    return tuple((name, Errors.OPERATION_NOT_ATTEMPTED if error is Errors.NONE else error) for name, error in errors)


def _error(services: TransactionServices, name: str, version: int) -> Errors:
    """Clients write to the internal topics in other ways; a broker may name a partition of one."""
    if version <= LAST_CLIENT_VERSION and parse_requested(name)[0] in INTERNAL_TOPICS:
        return Errors.TOPIC_AUTHORIZATION_FAILED
    if services.era.transactions.checks_partitions:
        known = name in services.metadata.partitions
    else:
        known = parse_requested(name)[0] in services.metadata.topic_ids
    return Errors.NONE if known else Errors.UNKNOWN_TOPIC_OR_PARTITION
