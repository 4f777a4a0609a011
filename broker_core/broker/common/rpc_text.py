"""What messages say, for people: the pill's label and the inspector's lines."""

from collections.abc import Sequence
from typing import Any

from broker_core.errors import Errors
from broker_core.events.rpc import Fields
from broker_core.wire.messages import (
    FetchPartitionResponse,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)


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


def describe_fetched(answers: Sequence[FetchPartitionResponse]) -> tuple[str, Fields]:
    """`(label, fields)` of the answer to a fetch."""
    label = "nothing new"
    fields = []
    byte_count = 0
    for answer in answers:
        high_watermark, diverging = answer.high_watermark, answer.diverging_epoch
        if answer.error is not Errors.NONE:
            label = text = answer.error.name
        elif diverging is not None:
            label = f"diverging epoch {diverging[0]}"
            text = f"{label} ends at {diverging[1]}"
        else:
            size = len(answer.records)
            byte_count += size
            label = f"records · HW {high_watermark}" if size else f"HW {high_watermark}"
            text = f"HW {high_watermark}, {size} bytes"
        fields.append((answer.partition, text))
    if len(fields) > 1:
        label = f"{len(fields)} partitions, {byte_count} bytes"
    return label, tuple(fields)
