"""LeaderAndIsr (API key 4)."""

from broker_core.broker.apis.fencing import controller_error
from broker_core.broker.apis.services import ClusterStateServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import LeaderAndIsrResponse


def handle(services: ClusterStateServices, message: Message) -> None:
    """Makes replicas lead or follow, unless the controller or this broker's epoch is an old one."""
    error = controller_error(services, message.body)
    response = LeaderAndIsrResponse(error) if error is not Errors.NONE else services.leader_and_isr(message.body)
    fields = tuple((partition, result.name) for partition, result in response.partitions)
    services.kernel.respond(
        message, response, label=error.name if error is not Errors.NONE else "label.ok", fields=fields
    )
