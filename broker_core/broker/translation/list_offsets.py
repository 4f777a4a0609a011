"""ListOffsets (API key 2)."""

from typing import Any

from broker_core.broker.translation.common import Asked, Translation, by_topic, partitions_of
from broker_core.errors import KafkaError
from broker_core.wire.messages import ListOffsetsRequest, ListOffsetsResponse, ListOffsetsResult
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[2].response


_LEAST_VERSIONS = {-1: 0, -2: 0, -3: 7, -4: 8, -5: 9}
"""From which version on a client may ask for an offset that has no timestamp of its own."""


def _is_supported(timestamp: int, version: int) -> bool:
    return timestamp >= 0 or version >= _LEAST_VERSIONS.get(timestamp, version + 1)


def _body(request: Any, asked: Asked) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        request.replica_id,
        tuple(
            (name, each.current_leader_epoch, each.timestamp)
            for name, each in partitions_of(request.topics)
            if _is_supported(each.timestamp, asked.version)
        ),
        request.isolation_level,
    )


def _answer(body: ListOffsetsResponse, request: Any, asked: Asked) -> Any:
    unsupported = [
        ListOffsetsResult(name, KafkaError.UNSUPPORTED_VERSION)
        for name, each in partitions_of(request.topics)
        if not _is_supported(each.timestamp, asked.version)
    ]
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
            for topic, rows in by_topic((row.partition, row) for row in (*body.partitions, *unsupported)).items()
        ]
    )


LIST_OFFSETS = Translation(_body, _answer)
