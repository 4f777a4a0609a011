"""The APIs of idempotent and transactional producers: InitProducerId (API key 22), AddPartitionsToTxn (24),
AddOffsetsToTxn (25), EndTxn (26), WriteTxnMarkers (27), TxnOffsetCommit (28).
"""

from typing import Any

from broker_core.broker.translation.common import (
    RequestContext,
    Translation,
    Unanswered,
    as_map,
    by_topic,
    partitions_of,
)
from broker_core.broker.translation.map_order import (
    added,
    commit_order,
    committed_topics,
    in_maps,
    in_order_of_markers,
    marked,
)
from broker_core.errors import Errors
from broker_core.wire.messages import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTransaction,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    PartitionErrors,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WritableTxnMarker,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from broker_core.wire.schemas import SCHEMAS

_INIT = SCHEMAS[22].response
_ADD_PARTITIONS = SCHEMAS[24].response
_ADD_OFFSETS = SCHEMAS[25].response
_END = SCHEMAS[26].response
_MARKERS = SCHEMAS[27].response
_COMMIT = SCHEMAS[28].response

_LOADING_VERSION = 2
"""From this version on clients of TxnOffsetCommit retry while the coordinator is loading."""
_HIDDEN = {Errors.COORDINATOR_LOAD_IN_PROGRESS: Errors.COORDINATOR_NOT_AVAILABLE}

_BATCH_VERSION = 4
"""From this version on AddPartitionsToTxn is sent by brokers, for several transactions."""


def _init_body(request: Any, context: RequestContext) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        request.transactional_id,
        request.transaction_timeout_ms,
        request.producer_id,
        request.producer_epoch,
        context.version,
    )


def _init_answer(body: InitProducerIdResponse, request: Any, context: RequestContext) -> Any:
    return _INIT.type(error_code=body.error.code, producer_id=body.producer_id, producer_epoch=body.producer_epoch)


def _names(topics: Any, partitions: str = "partitions") -> tuple[str, ...]:
    return tuple(name for name, _ in partitions_of(topics, partitions=partitions))


def _add_partitions_body(request: Any, context: RequestContext) -> AddPartitionsToTxnRequest | Unanswered:
    if context.version < _BATCH_VERSION:
        request.v3_and_below_topics = as_map(request.v3_and_below_topics, context)
        alone = AddPartitionsToTxnTransaction(
            request.v3_and_below_transactional_id,
            request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch,
            _names(request.v3_and_below_topics),
        )
        return AddPartitionsToTxnRequest((alone,), context.version)
    transactions = tuple(
        AddPartitionsToTxnTransaction(
            each.transactional_id, each.producer_id, each.producer_epoch, _names(each.topics), each.verify_only
        )
        for each in request.transactions
    )
    body = AddPartitionsToTxnRequest(transactions, context.version)
    # No transactions: the response is complete only when one of them is handled.
    return body if transactions else Unanswered(body)


def _topic_results(errors: PartitionErrors) -> list[Any]:
    return [
        _ADD_PARTITIONS.AddPartitionsToTxnTopicResult(
            name=topic,
            results_by_partition=[
                _ADD_PARTITIONS.AddPartitionsToTxnPartitionResult(
                    partition_index=index, partition_error_code=error.code
                )
                for index, error in rows
            ],
        )
        for topic, rows in by_topic(dict(errors).items()).items()
    ]


def _same_result(topics: Any, error: Errors) -> list[Any]:
    """The topics in the order of the request, with duplicates and topics without partitions."""
    return [
        _ADD_PARTITIONS.AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                _ADD_PARTITIONS.AddPartitionsToTxnPartitionResult(
                    partition_index=index, partition_error_code=error.code
                )
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]


def _add_partitions_answer(body: AddPartitionsToTxnResponse, request: Any, context: RequestContext) -> Any:
    def results_of(number: int, topics: Any, errors: PartitionErrors) -> list[Any]:
        if number in body.alike:
            return _same_result(topics, errors[0][1] if errors else Errors.NONE)
        return _topic_results(errors)

    results = body.results_by_transaction
    if context.version < _BATCH_VERSION:
        topics = results_of(0, request.v3_and_below_topics, results[0][1])

        def in_old_maps(names: list[str]) -> list[str]:
            rows = partitions_of(topics, partitions="results_by_partition")
            return added(names, {name: Errors.of(each.partition_error_code) for name, each in rows})

        ordered = in_maps(topics, context, in_old_maps, partitions="results_by_partition")
        return _ADD_PARTITIONS.type(results_by_topic_v3_and_below=ordered)
    # Of duplicate transactions the first one counts.
    first = {each.transactional_id: each.topics for each in reversed(request.transactions)}
    return _ADD_PARTITIONS.type(
        error_code=body.error.code,
        results_by_transaction=[
            _ADD_PARTITIONS.AddPartitionsToTxnResult(
                transactional_id=transactional_id, topic_results=results_of(number, first[transactional_id], errors)
            )
            for number, (transactional_id, errors) in enumerate(results)
        ],
    )


def _add_offsets_body(request: Any, context: RequestContext) -> AddOffsetsToTxnRequest:
    return AddOffsetsToTxnRequest(
        request.transactional_id, request.producer_id, request.producer_epoch, request.group_id, context.version
    )


def _add_offsets_answer(body: AddOffsetsToTxnResponse, request: Any, context: RequestContext) -> Any:
    return _ADD_OFFSETS.type(error_code=body.error.code)


def _end_body(request: Any, context: RequestContext) -> EndTxnRequest:
    return EndTxnRequest(
        request.transactional_id, request.producer_id, request.producer_epoch, request.committed, context.version
    )


def _end_answer(body: EndTxnResponse, request: Any, context: RequestContext) -> Any:
    return _END.type(error_code=body.error.code)


def _markers_body(request: Any, context: RequestContext) -> WriteTxnMarkersRequest | Unanswered:
    for marker in request.markers:
        marker.topics = as_map(marker.topics, context, partitions="partition_indexes")
    markers = tuple(
        WritableTxnMarker(
            marker.producer_id,
            marker.producer_epoch,
            marker.transaction_result,
            _names(marker.topics, partitions="partition_indexes"),
            marker.coordinator_epoch,
        )
        for marker in request.markers
    )
    body = WriteTxnMarkersRequest(markers)
    # A partition listed twice under one marker: Kafka waits for two writes, and does only one.
    is_named_twice = any(len(marker.partitions) > len(set(marker.partitions)) for marker in markers)
    return Unanswered(body) if is_named_twice else body


def _markers_answer(body: WriteTxnMarkersResponse, request: Any, context: RequestContext) -> Any:
    by_producer: dict[int, dict[str, Errors]] = {}
    for producer_id, errors in body.markers:
        if errors:
            by_producer.setdefault(producer_id, {}).update(errors)
    return _MARKERS.type(
        markers=[
            _MARKERS.WritableTxnMarkerResult(
                producer_id=producer_id, topics=_marker_topics(by_producer[producer_id], context)
            )
            for producer_id in in_order_of_markers(by_producer, context)
        ]
    )


def _marker_topics(errors: dict[str, Errors], context: RequestContext) -> list[Any]:
    topics = [
        _MARKERS.WritableTxnMarkerTopicResult(
            name=topic,
            partitions=[
                _MARKERS.WritableTxnMarkerPartitionResult(partition_index=index, error_code=error.code)
                for index, error in rows
            ],
        )
        for topic, rows in by_topic(errors.items()).items()
    ]
    return in_maps(topics, context, lambda names: marked(names, errors))


def _commit_body(request: Any, context: RequestContext) -> TxnOffsetCommitRequest:
    request.topics = as_map(request.topics, context)
    return TxnOffsetCommitRequest(
        request.transactional_id,
        request.group_id,
        request.producer_id,
        request.producer_epoch,
        tuple(
            (name, each.committed_offset, each.committed_leader_epoch, each.committed_metadata or "")
            for name, each in commit_order(partitions_of(request.topics), context, in_transaction=True)
        ),
        request.generation_id,
        request.member_id,
        request.group_instance_id,
        context.version,
    )


def _commit_answer(body: TxnOffsetCommitResponse, request: Any, context: RequestContext) -> Any:
    rows = body.partitions
    if context.version < _LOADING_VERSION and context.broker.era.transactions.hides_loading:
        rows = tuple((name, _HIDDEN.get(error, error)) for name, error in rows)
    return _COMMIT.type(topics=committed_topics(_COMMIT, "TxnOffsetCommitResponse", rows, request.topics, context))


TRANSACTIONS = {
    "InitProducerId": Translation(_init_body, _init_answer),
    "AddPartitionsToTxn": Translation(_add_partitions_body, _add_partitions_answer),
    "AddOffsetsToTxn": Translation(_add_offsets_body, _add_offsets_answer),
    "EndTxn": Translation(_end_body, _end_answer),
    "WriteTxnMarkers": Translation(_markers_body, _markers_answer),
    "TxnOffsetCommit": Translation(_commit_body, _commit_answer),
}
