"""ListOffsets (API key 2)."""

from collections import Counter
from typing import Any

from broker_core.broker.replicas.offset_lookups import CONSUMER
from broker_core.broker.translation.common import RequestContext, Translation, as_map, partitions_of
from broker_core.broker.translation.map_order import in_maps, looked_up
from broker_core.errors import Errors
from broker_core.texts import text
from broker_core.wire.errors import WireError
from broker_core.wire.messages import ListOffsetsRequest, ListOffsetsResponse, ListOffsetsResult
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[2].response


_NOT_AVAILABLE_VERSION = 5
"""From this version on clients know OFFSET_NOT_AVAILABLE."""

_ISOLATION_LEVELS = (0, 1)
_MIN_VERSIONS = {-1: 0, -2: 0, -3: 7, -4: 8, -5: 9}
"""The version from which on a client may request each special timestamp."""


def _is_supported(timestamp: int, version: int) -> bool:
    return timestamp >= 0 or version >= _MIN_VERSIONS.get(timestamp, version + 1)


def _refusals(request: Any, context: RequestContext) -> list[tuple[str, Any, Errors]]:
    """Each requested partition with its error; NONE if it can be looked up."""
    asked_for = list(partitions_of(request.topics))
    counts = Counter(name for name, _ in asked_for)
    is_strict = context.broker.era.requests.refuses_unknown_timestamps
    rows = []
    for name, each in asked_for:
        error = Errors.NONE
        if context.version > 0 and counts[name] > 1:
            error = Errors.INVALID_REQUEST
        elif is_strict and not _is_supported(each.timestamp, context.version):
            error = Errors.UNSUPPORTED_VERSION
        elif request.replica_id == CONSUMER and request.isolation_level not in _ISOLATION_LEVELS:
            error = Errors.UNKNOWN_SERVER_ERROR
        rows.append((name, each, error))
    return rows


def _body(request: Any, context: RequestContext) -> ListOffsetsRequest:
    if request.isolation_level not in _ISOLATION_LEVELS and not context.broker.era.requests.refuses_isolation_levels:
        raise WireError(text("wire.isolation_level", isolation_level=request.isolation_level))
    if context.version == 0:
        request.topics = as_map(request.topics, context)
    rows = [(name, each) for name, each, error in _refusals(request, context) if error is Errors.NONE]
    return ListOffsetsRequest(
        request.replica_id,
        tuple((name, each.current_leader_epoch, each.timestamp) for name, each in rows),
        request.isolation_level,
        () if context.version else tuple(each.max_num_offsets for _, each in rows),
    )


def _answer(body: ListOffsetsResponse, request: Any, context: RequestContext) -> Any:
    found = iter(body.partitions)
    rows = iter(
        [
            next(found) if error is Errors.NONE else ListOffsetsResult(name, error)
            for name, _, error in _refusals(request, context)
        ]
    )
    topics = [
        _WIRE.ListOffsetsTopicResponse(
            name=topic.name,
            partitions=[
                _WIRE.ListOffsetsPartitionResponse(
                    partition_index=each.partition_index,
                    error_code=_known_error(row.error, context.version).code,
                    timestamp=row.timestamp,
                    offset=row.offset,
                    leader_epoch=row.leader_epoch,
                    old_style_offsets=list(row.old_style_offsets),
                )
                for each, row in zip(topic.partitions, rows, strict=False)
            ],
        )
        for topic in request.topics
    ]
    return _WIRE.type(topics=in_maps(as_map(topics, context), context, looked_up))


def _known_error(error: Errors, version: int) -> Errors:
    is_unknown = error is Errors.OFFSET_NOT_AVAILABLE and version < _NOT_AVAILABLE_VERSION
    return Errors.LEADER_NOT_AVAILABLE if is_unknown else error


LIST_OFFSETS = Translation(_body, _answer)
