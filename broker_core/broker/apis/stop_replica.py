"""StopReplica (API key 5)."""

from broker_core.broker.apis.fencing import controller_error
from broker_core.broker.apis.services import ClusterStateServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import StopReplicaResponse


def handle(services: ClusterStateServices, message: Message) -> None:
    """Stops replicas, and deletes their files if the controller says so, unless one of the epochs is stale."""
    error = controller_error(services, message.body)
    if error is Errors.NONE:
        services.stop_replica(message)
    else:
        services.kernel.respond(message, StopReplicaResponse(error), label=error.name)
