"""OffsetForLeaderEpoch (API key 23)."""

from typing import Any

from broker_core.broker.translation.common import RequestContext, Translation, as_map, partitions_of
from broker_core.broker.translation.map_order import compared, in_maps
from broker_core.wire.messages import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[23].response


def _body(request: Any, context: RequestContext) -> OffsetForLeaderEpochRequest:
    request.topics = as_map(request.topics, context, name="topic")
    return OffsetForLeaderEpochRequest(
        request.replica_id,
        tuple(
            (name, each.current_leader_epoch, each.leader_epoch)
            for name, each in partitions_of(request.topics, name="topic")
        ),
    )


def _answer(body: OffsetForLeaderEpochResponse, request: Any, context: RequestContext) -> Any:
    rows = iter(body.partitions)
    topics = [
        _WIRE.OffsetForLeaderTopicResult(
            topic=topic.topic,
            partitions=[
                _WIRE.EpochEndOffset(
                    partition=each.partition,
                    error_code=row.error.code,
                    leader_epoch=row.leader_epoch,
                    end_offset=row.end_offset,
                )
                for each, row in zip(topic.partitions, rows, strict=False)
            ],
        )
        for topic in request.topics
    ]
    return _WIRE.type(topics=in_maps(topics, context, compared, name="topic"))


OFFSET_FOR_LEADER_EPOCH = Translation(_body, _answer)
