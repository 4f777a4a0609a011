"""Fetch (API key 1), with topic ids (KIP-516) and fetch sessions (KIP-227)."""

from typing import Any

from broker_core.broker.replicas.fetch_sessions import FetchSession, SessionPartition, TopicPartitionKey, next_epoch
from broker_core.broker.replicas.offset_lookups import DEBUGGING_CONSUMER, FUTURE_REPLICA
from broker_core.broker.replicas.replica_manager import ANY_EPOCH
from broker_core.broker.translation.common import NO_TOPIC_ID, Immediate, RequestContext, Translation
from broker_core.broker.translation.leaders import current_leader, endpoints
from broker_core.broker.translation.map_order import fetched_in_maps
from broker_core.errors import Errors
from broker_core.partitions import requested_partition
from broker_core.texts import text
from broker_core.wire.errors import WireError
from broker_core.wire.messages import FetchPartition, FetchPartitionResponse, FetchRequest, FetchResponse
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[1].response
_TOPIC_IDS_VERSION = 13
_FOLLOWER_VERSION = 11
"""From this version on a consumer may fetch from a follower (KIP-392)."""
_REPLICA_STATE_VERSION = 15
_LEADER_VERSION = 16
_READ_UNCOMMITTED = 0
_ISOLATION_LEVELS = (_READ_UNCOMMITTED, 1)

_STALE = (Errors.NOT_LEADER_OR_FOLLOWER, Errors.FENCED_LEADER_EPOCH)
_UNKNOWN = (Errors.UNKNOWN_TOPIC_ID, Errors.UNKNOWN_TOPIC_OR_PARTITION)


def _key(topic: Any, version: int) -> str:
    key: str = topic.topic_id if version >= _TOPIC_IDS_VERSION else topic.topic
    return key


def _requested_partitions(request: Any, version: int) -> dict[TopicPartitionKey, SessionPartition]:
    return {
        (_key(topic, version), each.partition): SessionPartition(
            fetch_offset=each.fetch_offset,
            current_leader_epoch=max(each.current_leader_epoch, ANY_EPOCH),
            last_fetched_epoch=each.last_fetched_epoch,
            log_start_offset=each.log_start_offset,
            partition_max_bytes=each.partition_max_bytes,
            topic=topic.topic if topic.topic or version < _TOPIC_IDS_VERSION else None,
        )
        for topic in request.topics
        for each in topic.partitions
    }


def _resolve(request: Any, context: RequestContext) -> None:
    """Sets the names of topics that are requested by id: they remain those of now while the request waits."""
    if context.version >= _TOPIC_IDS_VERSION:
        for topic in request.topics:
            topic.topic = context.topic_of(topic.topic_id) or ""


def _name(key: TopicPartitionKey, partition: SessionPartition, context: RequestContext) -> str | None:
    """The topic's name; for an id it is cached once resolved."""
    if partition.topic is None:
        partition.topic = context.topic_of(key[0])
    return partition.topic


def _is_inconsistent(name: str, key: TopicPartitionKey, context: RequestContext) -> bool:
    """Whether the broker has the partition of a topic with another id, which was created after the session's."""
    if context.version < _TOPIC_IDS_VERSION or requested_partition(name, key[1]) not in context.broker.partitions:
        return False
    return context.topic_id_of(name) not in (key[0], NO_TOPIC_ID)


def _forgotten(request: Any, version: int) -> list[TopicPartitionKey]:
    return [(_key(topic, version), index) for topic in request.forgotten_topics_data for index in topic.partitions]


def _body(request: Any, context: RequestContext) -> Any:
    version, sessions = context.version, context.broker.fetch_sessions
    if request.isolation_level not in _ISOLATION_LEVELS and not context.broker.era.requests.refuses_isolation_levels:
        raise WireError(text("wire.isolation_level", isolation_level=request.isolation_level))
    if not sessions.has_shard(request.session_id):
        return Immediate(_refused(request, version, Errors.UNKNOWN_SERVER_ERROR))
    _resolve(request, context)
    wanted = _requested_partitions(request, version)
    if request.session_epoch in (0, -1):
        sessions.remove(request.session_id)
    else:
        found = sessions.resume(
            request.session_id,
            request.session_epoch,
            wanted,
            _forgotten(request, version),
            version >= _TOPIC_IDS_VERSION,
        )
        if isinstance(found, Errors):
            return Immediate(_WIRE.type(error_code=found.code, session_id=0))
        wanted = found.partitions or wanted  # A session without partitions ends: fetch without session.
    partitions = []
    is_inconsistent = False
    for key, each in wanted.items():
        name = _name(key, each, context)
        if name is not None and _is_inconsistent(name, key, context):
            is_inconsistent = True
        elif name is not None:
            partitions.append(
                FetchPartition(
                    requested_partition(name, key[1]),
                    each.fetch_offset,
                    each.current_leader_epoch,
                    each.last_fetched_epoch,
                    each.log_start_offset,
                    each.partition_max_bytes,
                )
            )
    known = context.broker.metadata.partitions
    if request.isolation_level not in _ISOLATION_LEVELS and any(each.partition in known for each in partitions):
        return Immediate(_refused(request, version, Errors.UNKNOWN_SERVER_ERROR))
    return FetchRequest(
        _replica_id(request, version),
        # An error of a replica ends the wait; those that are found before (`erroneous`) do not.
        0 if is_inconsistent else request.max_wait_ms,
        request.min_bytes,
        min(request.max_bytes, context.broker.config.fetch_max_bytes),
        tuple(partitions),
        replica_epoch=request.replica_state.replica_epoch if version >= _REPLICA_STATE_VERSION else -1,
        from_follower=version >= _FOLLOWER_VERSION or _reads_any_replica(request.replica_id, context),
        version=version,
        cuts_batches=True,
        isolation_level=request.isolation_level,
        rack_id=request.rack_id if version >= _FOLLOWER_VERSION else "",
    )


def _replica_id(request: Any, version: int) -> int:
    replica_id: int = request.replica_state.replica_id if version >= _REPLICA_STATE_VERSION else request.replica_id
    return replica_id


def _reads_any_replica(replica_id: int, context: RequestContext) -> bool:
    """Whether a request is served by any replica, whatever its version (before 2.0)."""
    era = context.broker.era.requests
    is_broker = replica_id == FUTURE_REPLICA and era.knows_future_replicas
    return (is_broker or replica_id == DEBUGGING_CONSUMER) and not era.looks_for_partitions


def _refused(request: Any, version: int, error: Errors) -> Any:
    """The error of the whole request; before topic ids it is set for each partition as well."""
    topics = request.topics if version < _TOPIC_IDS_VERSION else ()
    return _WIRE.type(
        error_code=error.code,
        session_id=request.session_id,
        responses=[
            _WIRE.FetchableTopicResponse(
                topic=topic.topic,
                partitions=[
                    _WIRE.PartitionData(
                        partition_index=each.partition,
                        error_code=error.code,
                        high_watermark=-1,
                        aborted_transactions=[],
                        records=None,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in topics
        ],
    )


def _rows(
    body: FetchResponse, wanted: dict[TopicPartitionKey, SessionPartition], context: RequestContext
) -> list[tuple[TopicPartitionKey, FetchPartitionResponse]]:
    """The response for each partition; unknown ones come last, those with an unknown topic id first among them."""
    found = {row.partition: row for row in body.partitions}
    rows = []
    for key, each in wanted.items():
        topic, index = key
        name = each.topic
        row = found.get(requested_partition(name or topic, index))
        if name is None:
            row = FetchPartitionResponse(requested_partition(topic, index), Errors.UNKNOWN_TOPIC_ID)
        elif _is_inconsistent(name, key, context):
            row = FetchPartitionResponse(requested_partition(name, index), Errors.INCONSISTENT_TOPIC_ID)
        elif row is None:
            row = FetchPartitionResponse(requested_partition(name, index), Errors.UNKNOWN_TOPIC_OR_PARTITION)
        rows.append((key, row))
    return sorted(rows, key=lambda each: _place(each[1], context))


def _place(row: FetchPartitionResponse, context: RequestContext) -> int:
    if row.error not in _UNKNOWN:
        return 0
    # Before 2.0 a partition that is missing in a known topic is looked for in its place.
    is_missing = row.error is Errors.UNKNOWN_TOPIC_ID or not context.broker.metadata.is_known(row.partition)
    return _UNKNOWN.index(row.error) + 1 if is_missing else 0


def _answer(body: FetchResponse, request: Any, context: RequestContext) -> Any:
    version, sessions = context.version, context.broker.fetch_sessions
    session: FetchSession | None = None
    wanted = _requested_partitions(request, version)
    is_incremental = request.session_epoch > 0
    if is_incremental:
        session = sessions.get(request.session_id)
        if session is not None and session.epoch != next_epoch(request.session_epoch):
            # A later request of the session came while this one waited.
            return _WIRE.type(error_code=Errors.INVALID_FETCH_SESSION_EPOCH.code, session_id=session.session_id)
        if session is not None:
            wanted = session.partitions
    rows = _rows(body, wanted, context)
    if request.session_epoch == 0:
        session = sessions.create(
            {key: wanted[key] for key, _ in rows},
            uses_topic_ids=version >= _TOPIC_IDS_VERSION,
            is_follower=_replica_id(request, version) >= 0,
        )
    topics: list[tuple[str, list[Any]]] = []
    era = context.broker.era.requests
    leaders: set[int] = set()
    for key, row in rows:
        topic, index = key
        if session is not None and not session.is_included(key, row, is_first=not is_incremental):
            continue
        partition = _partition(row, index, context)
        if request.isolation_level == _READ_UNCOMMITTED and not era.returns_stable_offset_to_all:
            partition.last_stable_offset = -1
        if version >= _LEADER_VERSION and row.error in _STALE:
            leader = partition.current_leader
            leader.leader_id, leader.leader_epoch = current_leader(row.partition, context)
            leaders.add(leader.leader_id)
        if not topics or topics[-1][0] != topic:
            topics.append((topic, []))  # The partitions of a session may be interleaved: each run gets its own entry.
        topics[-1][1].append(partition)
    responses = [
        _WIRE.FetchableTopicResponse(
            topic="" if version >= _TOPIC_IDS_VERSION else topic,
            topic_id=topic if version >= _TOPIC_IDS_VERSION else NO_TOPIC_ID,
            partitions=partitions,
        )
        for topic, partitions in topics
    ]
    return _WIRE.type(
        session_id=session.session_id if session is not None else 0,
        responses=fetched_in_maps(responses, context),
        node_endpoints=endpoints(_WIRE, leaders, context),
    )


def _aborted(transactions: tuple[()] | None) -> list[Any] | None:
    return None if transactions is None else list(transactions)


def _partition(row: FetchPartitionResponse, index: int, context: RequestContext) -> Any:
    if row.error is not Errors.NONE:
        is_unreadable = row.aborted_transactions is not None
        unread = context.broker.era.requests.unread_aborted
        return _WIRE.PartitionData(
            partition_index=index,
            error_code=row.error.code,
            high_watermark=-1,
            aborted_transactions=_aborted(unread) if is_unreadable or row.error in _UNKNOWN else None,
            records=None if is_unreadable and context.broker.era.requests.converts_errors else b"",
        )
    partition = _WIRE.PartitionData(
        partition_index=index,
        error_code=row.error.code,
        high_watermark=row.high_watermark,
        last_stable_offset=row.last_stable_offset,
        log_start_offset=row.log_start_offset,
        aborted_transactions=None
        if row.aborted_transactions is None
        else [
            _WIRE.AbortedTransaction(producer_id=producer_id, first_offset=first_offset)
            for producer_id, first_offset in row.aborted_transactions
        ],
        preferred_read_replica=row.preferred_read_replica,
        records=row.records,
    )
    if row.diverging_epoch is not None:
        partition.diverging_epoch.epoch, partition.diverging_epoch.end_offset = row.diverging_epoch
    return partition


FETCH = Translation(_body, _answer)
