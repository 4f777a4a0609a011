"""Checks that all requests of a controller share (`KafkaApis`, `ReplicaManager`)."""

from broker_core.broker.apis.services import ClusterStateServices
from broker_core.errors import Errors
from broker_core.wire.messages import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest


def controller_error(
    services: ClusterStateServices, request: LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
) -> Errors:
    """STALE_BROKER_EPOCH for a request to an earlier process of this broker (KIP-380), STALE_CONTROLLER_EPOCH for one
    of a replaced controller, else NONE; records the epoch of a newer controller.
    """
    if services.era.controller.broker_epochs and request.broker_epoch < services.broker_epoch:
        return Errors.STALE_BROKER_EPOCH
    if request.controller_epoch < services.replicas.controller_epoch:
        return Errors.STALE_CONTROLLER_EPOCH
    services.replicas.controller_epoch = request.controller_epoch
    return Errors.NONE
