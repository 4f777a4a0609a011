"""The display text of messages: the pill's label and the inspector's lines."""

from collections.abc import Sequence
from typing import Any

from broker_core.errors import Errors
from broker_core.events.rpc import Fields
from broker_core.partitions import broker_node
from broker_core.texts import escape
from broker_core.wire.messages import (
    FetchPartitionResponse,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)


def describe_request(api: str, body: Any) -> tuple[str, Fields]:
    """`(label, fields)` of a request that the controller sends."""
    if isinstance(body, LeaderAndIsrRequest):
        fields: Fields = tuple((state.partition, _leader_isr(state)) for state in body.partitions)
    elif isinstance(body, UpdateMetadataRequest):
        fields = (
            ("label.live_brokers", str([broker_id for broker_id, _ in body.live_brokers])),
            *(
                (state.partition, f"label.leader_epoch?epoch={state.leader_epoch}&leader={state.leader}")
                for state in body.partitions
            ),
        )
    elif isinstance(body, StopReplicaRequest):
        fields = tuple(
            (stop.partition, "label.delete_replica" if stop.delete_partition else "label.stop_replica")
            for stop in body.partitions
        )
    else:
        raise TypeError(f"{api}: {type(body).__name__} is no request of the controller")
    partitions = body.partitions
    label = (
        f"{api} {partitions[0].partition}"
        if len(partitions) == 1
        else f"label.api_partitions?api={api}&n={len(partitions)}"
    )
    return label, (("controller_epoch", body.controller_epoch), ("broker_epoch", body.broker_epoch), *fields)


def _leader_isr(state: LeaderAndIsrPartition) -> str:
    isr = escape(str(list(state.isr)))
    return f"label.leader_isr?epoch={state.leader_epoch}&isr={isr}&leader={state.leader}"


def describe_fetched(answers: Sequence[FetchPartitionResponse]) -> tuple[str, Fields]:
    """`(label, fields)` of a fetch response."""
    label = "label.nothing_new"
    fields = []
    byte_count = 0
    for answer in answers:
        high_watermark, diverging = answer.high_watermark, answer.diverging_epoch
        if answer.error is not Errors.NONE:
            label = shown = answer.error.name
        elif answer.preferred_read_replica >= 0:
            label = shown = f"label.preferred?broker={broker_node(answer.preferred_read_replica)}"
        elif diverging is not None:
            epoch, end = diverging
            label = f"label.diverging?epoch={epoch}"
            shown = f"label.diverging_end?end={end}&epoch={epoch}"
        else:
            size = len(answer.records)
            byte_count += size
            label = f"label.records?hw={high_watermark}" if size else f"HW {high_watermark}"
            shown = f"label.hw_bytes?hw={high_watermark}&n={size}"
        fields.append((answer.partition, shown))
    if len(fields) > 1:
        label = f"label.partitions_bytes?bytes={byte_count}&partitions={len(fields)}"
    return label, tuple(fields)
