"""Metadata (API key 3)."""

from typing import Any

from broker_core.broker.translation.common import (
    NO_TOPIC_ID,
    Immediate,
    RequestContext,
    Translation,
    by_topic,
)
from broker_core.broker.translation.map_order import in_cache_order, in_set
from broker_core.config_defs.java_text import hash_map_order
from broker_core.errors import Errors
from broker_core.topics import INTERNAL_TOPICS
from broker_core.wire.messages import MetadataRequest, MetadataResponse
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[3].response

TOPIC_OPERATIONS = 3576
CLUSTER_OPERATIONS = 8096
"""All operations, as bit fields: without an authorizer every client may do everything."""

_FLAG_VERSION = 4
"""From this version on the request says whether topics may be created; before, they always were."""

_IDS_VERSION = 12
"""From this version on topics may be requested by id. The field exists since version 10."""


def _body(request: Any, context: RequestContext) -> Any:
    error = _refusal(request, context.version)
    if error is not None:
        refused = [
            _WIRE.MetadataResponseTopic(error_code=error.code, name=topic.name or "", topic_id=topic.topic_id)
            for topic in request.topics
        ]
        return Immediate(_WIRE.type(controller_id=-1, topics=refused))
    topics = None
    if request.topics is not None and (request.topics or context.version > 0):
        names = [context.topic_of(topic_id) for topic_id in _ids(request)] or [topic.name for topic in request.topics]
        topics = tuple(in_set(dict.fromkeys(name for name in names if name is not None), context))
    create = context.version < _FLAG_VERSION or request.allow_auto_topic_creation
    return MetadataRequest(topics, create)


def _refusal(request: Any, version: int) -> Errors | None:
    """Why a request is rejected as a whole: topic ids in a version that does not support them, or a topic with neither
    name nor id.
    """
    asked_for = [(topic.name, topic.topic_id) for topic in request.topics or ()]
    if version < _IDS_VERSION and any(name is None or topic_id != NO_TOPIC_ID for name, topic_id in asked_for):
        return Errors.INVALID_REQUEST
    is_nameless = any(name is None for name, _ in asked_for)
    return Errors.UNKNOWN_SERVER_ERROR if is_nameless and not _ids(request) else None


def _ids(request: Any) -> list[str]:
    """The topic ids of a request, without duplicates. If there are any, names are ignored."""
    return list(dict.fromkeys(topic.topic_id for topic in request.topics or () if topic.topic_id != NO_TOPIC_ID))


def _answer(body: MetadataResponse, request: Any, context: RequestContext) -> Any:
    partitions = by_topic((row[0], row) for row in body.partitions)
    not_requested = context.broker.era.requests.operations_not_requested
    operations = TOPIC_OPERATIONS if request.include_topic_authorized_operations else not_requested
    topics = [
        _WIRE.MetadataResponseTopic(
            error_code=error.code,
            name=name,
            topic_id=topic_id or NO_TOPIC_ID,
            is_internal=name in INTERNAL_TOPICS,
            partitions=[_partition(*row, context) for row in in_cache_order(name, partitions.get(name, []), context)],
            topic_authorized_operations=operations,
        )
        for name, topic_id, error in body.topics
    ]
    topics += [
        _WIRE.MetadataResponseTopic(error_code=Errors.UNKNOWN_TOPIC_ID.code, name=None, topic_id=topic_id)
        for topic_id in _ids(request)
        if context.topic_of(topic_id) is None
    ]
    brokers = []
    for broker_id in body.brokers:
        host, port = context.cluster.endpoint(broker_id)
        rack = context.broker.metadata.racks.get(broker_id)
        brokers.append(_WIRE.MetadataResponseBroker(node_id=broker_id, host=host, port=port, rack=rack))
    return _WIRE.type(
        brokers=brokers,
        cluster_id=context.broker.cluster_id or None,
        controller_id=body.controller,
        topics=topics,
        cluster_authorized_operations=CLUSTER_OPERATIONS
        if request.include_cluster_authorized_operations
        else not_requested,
    )


def _partition(index: int, row: Any, context: RequestContext) -> Any:
    _, leader, leader_epoch, replicas, isr, offline = row
    alive = context.broker.metadata.is_alive
    error = Errors.NONE
    if not alive(leader):
        leader, error = -1, Errors.LEADER_NOT_AVAILABLE
    elif context.version == 0 and any(not alive(broker_id) for broker_id in (*replicas, *isr)):
        error = Errors.REPLICA_NOT_AVAILABLE
    return _WIRE.MetadataResponsePartition(
        error_code=error.code,
        partition_index=index,
        leader_id=leader,
        leader_epoch=leader_epoch,
        replica_nodes=list(replicas) if context.broker.era.requests.orders_replicas else _in_hash_set(replicas),
        isr_nodes=list(isr),
        offline_replicas=list(offline),
    )


def _in_hash_set(broker_ids: tuple[int, ...]) -> list[int]:
    """The ids in the order of a `java.util.HashSet`."""
    return [int(broker_id) for broker_id in hash_map_order([str(each) for each in broker_ids], code=int)]


METADATA = Translation(_body, _answer)
