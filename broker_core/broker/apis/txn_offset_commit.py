"""TxnOffsetCommit (API key 28): offsets that take effect when their transaction commits."""

from broker_core.broker.apis.services import TransactionalOffsetServices
from broker_core.broker.coordinators.transaction_verifier import PendingVerification, ProducerSequence
from broker_core.errors import Errors
from broker_core.records.record_batch import NO_SEQUENCE
from broker_core.sim.kernel import Message
from broker_core.wire.messages import TxnOffsetCommitRequest, TxnOffsetCommitResponse


def handle(services: TransactionalOffsetServices, message: Message) -> None:
    """Verifies that the group is in the transaction, then passes the offsets to the group."""
    body: TxnOffsetCommitRequest = message.body
    error = services.groups.status(body.group_id)
    known = services.metadata.partitions
    if error is not Errors.NONE:
        results = tuple(
            (name, error if name in known else Errors.UNKNOWN_TOPIC_OR_PARTITION) for name, *_ in body.partitions
        )
        services.kernel.respond(message, TxnOffsetCommitResponse(results), label=error.name)
        return
    if any(name in known for name, *_ in body.partitions):
        # Before the verification, so that the group also exists if that fails.
        services.groups.find_or_create(body.group_id)
    partition = services.groups.partition_of(body.group_id)
    batch = ProducerSequence(body.producer_id, body.producer_epoch, NO_SEQUENCE)
    guard = services.transactions.verifier.guard(partition, batch)
    if guard is None:
        services.groups.commit_in_transaction(message, body, Errors.NONE)
    else:
        verification = PendingVerification(message, {partition: guard}, {})
        services.transactions.verifier.verify(verification, body.transactional_id, batch)
