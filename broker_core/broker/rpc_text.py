"""What a request of the control plane says, for people: the pill's label and the inspector's lines."""

from typing import Any

from broker_core.events.rpc import Fields
from broker_core.wire.messages import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest


def describe_request(api: str, body: Any) -> tuple[str, Fields]:
    """`(label, fields)` of a request that the controller sends."""
    if isinstance(body, LeaderAndIsrRequest):
        fields: Fields = tuple(
            (state.partition, f"leader {state.leader} epoch {state.leader_epoch} ISR {list(state.isr)}")
            for state in body.partitions
        )
    elif isinstance(body, UpdateMetadataRequest):
        fields = (
            ("live brokers", str([broker_id for broker_id, _ in body.live_brokers])),
            *((state.partition, f"leader {state.leader} epoch {state.leader_epoch}") for state in body.partitions),
        )
    elif isinstance(body, StopReplicaRequest):
        fields = tuple((stop.partition, "delete" if stop.delete_partition else "stop") for stop in body.partitions)
    else:
        raise TypeError(f"{api}: {type(body).__name__} is no request of the controller")
    partitions = body.partitions
    label = f"{api} {partitions[0].partition}" if len(partitions) == 1 else f"{api} {len(partitions)} partitions"
    return label, (("controller_epoch", body.controller_epoch), ("broker_epoch", body.broker_epoch), *fields)
