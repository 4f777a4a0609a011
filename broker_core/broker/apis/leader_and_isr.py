"""LeaderAndIsr (API key 4)."""

from broker_core.broker.apis.fencing import controller_error
from broker_core.broker.apis.services import ClusterStateServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import LeaderAndIsrResponse


def handle(services: ClusterStateServices, message: Message) -> None:
    """Makes replicas leaders or followers, unless the controller epoch or the broker epoch is stale."""
    error = controller_error(services, message.body)
    if error is Errors.NONE:
        services.leader_and_isr(message)
    else:
        services.kernel.respond(message, LeaderAndIsrResponse(error), label=error.name)
