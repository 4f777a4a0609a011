"""OffsetCommit (API key 8) and OffsetFetch (9), which is for several groups from version 8 on (KIP-709)."""

from collections.abc import Iterable
from typing import Any

from broker_core.broker.translation.common import (
    RequestContext,
    Translation,
    Unanswered,
    as_map,
    by_topic,
    partitions_of,
)
from broker_core.broker.translation.map_order import commit_order, committed_topics, fetched_topics
from broker_core.errors import Errors
from broker_core.wire.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from broker_core.wire.schemas import SCHEMAS

_COMMIT = SCHEMAS[8].response
_FETCH = SCHEMAS[9].response

_GROUP_ERROR_VERSION = 2
"""From this version on the response has an error for the group."""
_GROUPS_VERSION = 8


def _commit_body(request: Any, context: RequestContext) -> OffsetCommitRequest:
    request.topics = as_map(request.topics, context)
    partitions = partitions_of(request.topics)
    if context.version > 0:
        partitions = commit_order(partitions, context)
    partitions = list(partitions)
    return OffsetCommitRequest(
        request.group_id,
        tuple(
            (name, each.committed_offset, each.committed_leader_epoch, each.committed_metadata or "")
            for name, each in partitions
        ),
        request.generation_id_or_member_epoch,
        request.member_id,
        request.group_instance_id,
        in_zookeeper=context.version == 0,
        retention_ms=request.retention_time_ms,
        timestamps=tuple(each.commit_timestamp for _, each in partitions),
    )


def _commit_answer(body: OffsetCommitResponse, request: Any, context: RequestContext) -> Any:
    return _COMMIT.type(
        topics=committed_topics(_COMMIT, "OffsetCommitResponse", body.partitions, request.topics, context)
    )


def _partitions(topics: Iterable[Any] | None) -> tuple[str, ...] | None:
    """The requested partitions of a group; None = all."""
    if topics is None:
        return None
    return tuple(dict(partitions_of(topics, partitions="partition_indexes")))


def _fetch_body(request: Any, context: RequestContext) -> OffsetFetchRequest | Unanswered:
    if context.version < _GROUPS_VERSION:
        return OffsetFetchRequest(
            request.group_id,
            _partitions(request.topics),
            require_stable=request.require_stable,
            in_zookeeper=context.version == 0,
        )
    groups = tuple((group.group_id, _partitions(group.topics)) for group in request.groups)
    body = OffsetFetchRequest("", groups=groups, require_stable=request.require_stable)
    # Without groups: Kafka fails because it expects at least one in the response.
    return body if groups else Unanswered(body)


def _fetch_answer(body: OffsetFetchResponse, request: Any, context: RequestContext) -> Any:
    if context.version >= _GROUPS_VERSION:
        return _FETCH.type(
            groups=[
                _FETCH.OffsetFetchResponseGroup(
                    group_id=group.group_id,
                    topics=_topics(each, _FETCH.OffsetFetchResponseTopics, _FETCH.OffsetFetchResponsePartitions),
                    error_code=each.error.code,
                )
                for group, each in zip(request.groups, body.groups, strict=True)
            ]
        )
    if context.version < _GROUP_ERROR_VERSION and context.broker.era.groups.offset_errors_by_partition:
        refused = tuple(
            (name, body.error) for name in _partitions(request.topics) or () if body.error is not Errors.NONE
        )
        if refused:
            nothing = tuple((name, -1, -1, "") for name, _ in refused)
            body = OffsetFetchResponse(body.error, nothing, errors=refused)
    if not context.broker.era.groups.keeps_offsets_of_absent_topics:
        body = _of_known(body, context)
    topics = _topics(body, _FETCH.OffsetFetchResponseTopic, _FETCH.OffsetFetchResponsePartition)
    return _FETCH.type(
        topics=fetched_topics(topics, request.topics, context),
        error_code=body.error.code,
    )


def _of_known(body: OffsetFetchResponse, context: RequestContext) -> OffsetFetchResponse:
    """The response with an error for each partition that is not in the metadata, whatever was committed for it."""
    known = context.broker.metadata.partitions
    absent = tuple((row[0], Errors.UNKNOWN_TOPIC_OR_PARTITION) for row in body.partitions if row[0] not in known)
    rows = tuple(row if row[0] in known else (row[0], -1, -1, "") for row in body.partitions)
    return OffsetFetchResponse(body.error, rows, unstable=body.unstable, errors=(*absent, *body.errors))


def _topics(body: OffsetFetchResponse, topic_type: Any, partition_type: Any) -> list[Any]:
    return [
        topic_type(
            name=topic,
            partitions=[
                partition_type(
                    partition_index=index,
                    committed_offset=offset,
                    committed_leader_epoch=leader_epoch,
                    metadata=metadata,
                    error_code=_error_of(body, name).code,
                )
                for index, (name, offset, leader_epoch, metadata) in rows
            ],
        )
        for topic, rows in by_topic((row[0], row) for row in body.partitions).items()
    ]


def _error_of(body: OffsetFetchResponse, partition: str) -> Errors:
    if partition in body.unstable:
        return Errors.UNSTABLE_OFFSET_COMMIT
    return dict(body.errors).get(partition, Errors.NONE)


OFFSET_COMMIT = Translation(_commit_body, _commit_answer)
OFFSET_FETCH = Translation(_fetch_body, _fetch_answer)
