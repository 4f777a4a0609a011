"""StopReplica (API key 5)."""

from broker_core.broker.apis.fencing import controller_error
from broker_core.broker.apis.services import ClusterStateServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import StopReplicaPartition, StopReplicaRequest, StopReplicaResponse

EPOCH_DURING_DELETE = -2
NO_EPOCH = -1


def handle(services: ClusterStateServices, message: Message) -> None:
    """Stops replicas, and deletes their files if the controller says so."""
    body: StopReplicaRequest = message.body
    error = controller_error(services, body)
    if error is not Errors.NONE:
        response = StopReplicaResponse(error)
    else:
        response = StopReplicaResponse(
            partitions=tuple((stop.partition, _stop(services, stop)) for stop in body.partitions)
        )
        if any(stop.delete_partition for stop in body.partitions):
            services.logs.checkpoint()
    fields = tuple((partition, result.name) for partition, result in response.partitions)
    services.kernel.respond(
        message, response, label=error.name if error is not Errors.NONE else "label.ok", fields=fields
    )


def _stop(services: ClusterStateServices, stop: StopReplicaPartition) -> Errors:
    partition = services.replicas.partitions.get(stop.partition)
    if partition is not None:
        sentinel = stop.leader_epoch in (EPOCH_DURING_DELETE, NO_EPOCH)
        if not sentinel and stop.leader_epoch < partition.leader_epoch:
            return Errors.FENCED_LEADER_EPOCH
        services.replicas.stop(stop.partition, stop.delete_partition)
        services.groups.on_resignation(stop.partition)
        services.transactions.coordinator.on_resignation(stop.partition)
    return Errors.NONE
