"""DescribeCluster (API key 60)."""

from typing import Any

from broker_core.broker.translation.common import OPERATIONS_NOT_REQUESTED, RequestContext
from broker_core.broker.translation.metadata import CLUSTER_OPERATIONS
from broker_core.errors import Errors
from broker_core.wire.schemas import SCHEMAS

_CLUSTER = SCHEMAS[60].response
_BROKERS = 1
_CONTROLLERS = 2


def body(request: Any, context: RequestContext) -> Any:
    """The broker's metadata of its cluster; no handler is needed (`AuthHelper.computeDescribeClusterResponse`)."""
    if request.endpoint_type not in (_BROKERS, _CONTROLLERS):
        return _CLUSTER.type(
            error_code=Errors.UNSUPPORTED_ENDPOINT_TYPE.code,
            error_message=f"Unsupported endpoint type {request.endpoint_type}",
        )
    if request.endpoint_type == _CONTROLLERS:
        return _CLUSTER.type(
            error_code=Errors.MISMATCHED_ENDPOINT_TYPE.code,
            error_message="The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type "
            "CONTROLLER",
        )
    metadata = context.broker.metadata
    brokers = []
    for broker_id in sorted(metadata.live_brokers):
        host, port = context.cluster.endpoint(broker_id)
        rack = metadata.racks.get(broker_id)
        brokers.append(_CLUSTER.DescribeClusterBroker(broker_id=broker_id, host=host, port=port, rack=rack))
    return _CLUSTER.type(
        cluster_id=context.broker.cluster_id,
        controller_id=metadata.controller_id,
        brokers=brokers,
        cluster_authorized_operations=CLUSTER_OPERATIONS
        if request.include_cluster_authorized_operations
        else OPERATIONS_NOT_REQUESTED,
    )
