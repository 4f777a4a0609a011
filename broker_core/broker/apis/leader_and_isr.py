"""LeaderAndIsr (API key 4)."""

from typing import TYPE_CHECKING

from broker_core.broker.apis.fencing import controller_error
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import LeaderAndIsrResponse

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Makes replicas lead or follow, unless the controller or this broker's epoch is an old one."""
    error = controller_error(broker, message.body)
    response = LeaderAndIsrResponse(error) if error is not Errors.NONE else broker.leader_and_isr(message.body)
    fields = tuple((partition, result.name) for partition, result in response.partitions)
    broker.kernel.respond(message, response, label=error.name if error is not Errors.NONE else "ok", fields=fields)
