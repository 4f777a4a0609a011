"""The checks that all requests of a controller share (`KafkaApis`, `ReplicaManager`)."""

from typing import TYPE_CHECKING

from broker_core.errors import Errors
from broker_core.wire.messages import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def controller_error(
    broker: "Broker", request: LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
) -> Errors:
    """STALE_BROKER_EPOCH for a request meant for an earlier life of this broker (KIP-380), STALE_CONTROLLER_EPOCH for
    one of a controller that has been replaced, else NONE; the epoch of a newer controller is taken note of.
    """
    if broker.era.broker_epochs and request.broker_epoch < broker.broker_epoch:
        return Errors.STALE_BROKER_EPOCH
    if request.controller_epoch < broker.replicas.controller_epoch:
        return Errors.STALE_CONTROLLER_EPOCH
    broker.replicas.controller_epoch = request.controller_epoch
    return Errors.NONE
