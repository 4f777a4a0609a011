"""ListOffsets (API key 2)."""

from typing import Any

from broker_core.broker.translation.common import Asked, Translation, by_topic, partitions_of
from broker_core.wire.messages import ListOffsetsRequest, ListOffsetsResponse
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[2].response


def _body(request: Any, asked: Asked) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        request.replica_id,
        tuple((name, each.current_leader_epoch, each.timestamp) for name, each in partitions_of(request.topics)),
    )


def _answer(body: ListOffsetsResponse, request: Any, asked: Asked) -> Any:
    return _WIRE.type(
        topics=[
            _WIRE.ListOffsetsTopicResponse(
                name=topic,
                partitions=[
                    _WIRE.ListOffsetsPartitionResponse(
                        partition_index=index,
                        error_code=row.error.code,
                        timestamp=row.timestamp,
                        offset=row.offset,
                        leader_epoch=row.leader_epoch,
                        old_style_offsets=[row.offset] if row.offset >= 0 else [],
                    )
                    for index, row in rows
                ],
            )
            for topic, rows in by_topic((row.partition, row) for row in body.partitions).items()
        ]
    )


LIST_OFFSETS = Translation(_body, _answer)
