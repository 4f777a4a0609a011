"""AllocateProducerIds (API key 67): brokers request producer ids from their controller."""

from broker_core.broker.apis.services import ControllerServices
from broker_core.controller.registration import MalformedZnode, take_producer_ids
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.transactions.producer_ids import BLOCK
from broker_core.wire.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponse


def handle(services: ControllerServices, message: Message) -> None:
    """Allocates the next block in ZooKeeper."""
    body: AllocateProducerIdsRequest = message.body
    if not services.controller.is_active:
        response = AllocateProducerIdsResponse(Errors.NOT_CONTROLLER)
    elif body.broker_id not in services.controller.context.live_brokers:
        response = AllocateProducerIdsResponse(Errors.BROKER_ID_NOT_REGISTERED)
    elif services.metadata.live_brokers.get(body.broker_id) != body.broker_epoch:
        response = AllocateProducerIdsResponse(Errors.STALE_BROKER_EPOCH)
    else:
        try:
            first = take_producer_ids(services.zk, body.broker_id)
            response = AllocateProducerIdsResponse(Errors.NONE, first, BLOCK)
        except MalformedZnode:
            response = AllocateProducerIdsResponse(Errors.UNKNOWN_SERVER_ERROR)
    is_good = response.error is Errors.NONE
    label = f"label.ids_from?first={response.producer_id_start}" if is_good else response.error.name
    services.kernel.respond(message, response, label=label)
