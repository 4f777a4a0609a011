"""EndTxn (API key 26): commit or abort."""

from broker_core.broker.apis.services import TransactionServices
from broker_core.sim.kernel import Message
from broker_core.transactions.coordinator import for_client
from broker_core.wire.messages import EndTxnRequest, EndTxnResponse


def handle(services: TransactionServices, message: Message) -> None:
    """Responds when the decision is written; the markers are written afterwards."""
    body: EndTxnRequest = message.body
    error = services.transactions.coordinator.end_transaction(
        message, body.transactional_id, body.producer_id, body.producer_epoch, body.committed
    )
    if error is not None:
        error = for_client(error, body.version, 2)
        services.kernel.respond(message, EndTxnResponse(error), label=error.name)
