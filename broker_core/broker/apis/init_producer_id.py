"""InitProducerId (API key 22)."""

from broker_core.broker.apis.services import TransactionServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import InitProducerIdRequest, InitProducerIdResponse


def handle(services: TransactionServices, message: Message) -> None:
    """Assigns a producer id; an id without an epoch, or the reverse, is invalid."""
    body: InitProducerIdRequest = message.body
    if (body.producer_id == -1) != (body.producer_epoch == -1):
        services.kernel.respond(message, InitProducerIdResponse(Errors.INVALID_REQUEST), label="INVALID_REQUEST")
    else:
        services.transactions.coordinator.init_producer_id(message, body)
