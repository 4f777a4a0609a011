"""DescribeTransactions (API key 65, KIP-664)."""

from broker_core.broker.apis.services import TransactionServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import DescribedTransaction, DescribeTransactionsRequest, DescribeTransactionsResponse


def handle(services: TransactionServices, message: Message) -> None:
    """Returns the coordinator's state of transactional ids."""
    body: DescribeTransactionsRequest = message.body
    rows = tuple(_describe(services, transactional_id) for transactional_id in body.transactional_ids)
    label = rows[0].transaction_state or rows[0].error.name if rows else "label.nothing"
    services.kernel.respond(message, DescribeTransactionsResponse(rows), label=label)


def _describe(services: TransactionServices, transactional_id: str) -> DescribedTransaction:
    coordinator = services.transactions.coordinator
    error = coordinator.status(transactional_id)
    metadata = coordinator.transactions.get(transactional_id)
    if error is Errors.NONE and metadata is None:
        error = Errors.TRANSACTIONAL_ID_NOT_FOUND
    if metadata is None or error is not Errors.NONE:
        return DescribedTransaction(transactional_id, error)
    now = metadata.current
    return DescribedTransaction(
        transactional_id,
        Errors.NONE,
        now.state.value,
        now.timeout_ms,
        now.start_ms,
        now.producer_id,
        metadata.producer_epoch,
        now.partitions,
    )
