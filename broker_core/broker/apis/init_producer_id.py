"""InitProducerId (API key 22)."""

from typing import TYPE_CHECKING

from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """A producer wants an id; the half of an id and epoch makes no sense."""
    body: InitProducerIdRequest = message.body
    if (body.producer_id == -1) != (body.producer_epoch == -1):
        broker.kernel.respond(message, InitProducerIdResponse(Errors.INVALID_REQUEST), label="INVALID_REQUEST")
    else:
        broker.transactions.coordinator.init_producer_id(message, body)
