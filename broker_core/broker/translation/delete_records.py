"""DeleteRecords (API key 21)."""

from typing import Any

from broker_core.broker.translation.common import RequestContext, Translation, by_topic, partitions_of
from broker_core.broker.translation.map_order import in_maps, known_first
from broker_core.wire.messages import DeleteRecordsRequest, DeleteRecordsResponse
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[21].response


def _body(request: Any, context: RequestContext) -> DeleteRecordsRequest:
    offsets = {name: each.offset for name, each in partitions_of(request.topics)}
    return DeleteRecordsRequest(request.timeout_ms, tuple(offsets.items()))


def _answer(body: DeleteRecordsResponse, request: Any, context: RequestContext) -> Any:
    topics = [
        _WIRE.DeleteRecordsTopicResult(
            name=topic,
            partitions=[
                _WIRE.DeleteRecordsPartitionResult(
                    partition_index=index, low_watermark=row.low_watermark, error_code=row.error.code
                )
                for index, row in rows
            ],
        )
        for topic, rows in by_topic((row.partition, row) for row in body.partitions).items()
    ]
    return _WIRE.type(topics=in_maps(topics, context, lambda names: known_first(names, context)))


DELETE_RECORDS = Translation(_body, _answer)
