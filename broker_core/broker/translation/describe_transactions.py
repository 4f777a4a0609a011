"""DescribeProducers (API key 61), DescribeTransactions (65) and ListTransactions (66), KIP-664."""

from typing import Any

from broker_core.broker.translation.common import RequestContext, Translation, partitions_of
from broker_core.config_defs.java_text import partition_code, scala_hash_set_order
from broker_core.partitions import parse_requested
from broker_core.wire.messages import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from broker_core.wire.schemas import SCHEMAS

_PRODUCERS = SCHEMAS[61].response
_DESCRIBE = SCHEMAS[65].response
_LIST = SCHEMAS[66].response


def _producers_body(request: Any, context: RequestContext) -> DescribeProducersRequest:
    return DescribeProducersRequest(
        tuple(name for name, _ in partitions_of(request.topics, partitions="partition_indexes"))
    )


def _producers_answer(body: DescribeProducersResponse, request: Any, context: RequestContext) -> Any:
    rows = iter(body.partitions)
    return _PRODUCERS.type(
        topics=[
            _PRODUCERS.TopicResponse(
                name=topic.name,
                partitions=[
                    _PRODUCERS.PartitionResponse(
                        partition_index=index,
                        error_code=row.error.code,
                        error_message=row.message,
                        active_producers=[
                            _PRODUCERS.ProducerState(
                                producer_id=each.producer_id,
                                producer_epoch=each.producer_epoch,
                                last_sequence=each.last_sequence,
                                last_timestamp=each.last_timestamp,
                                coordinator_epoch=each.coordinator_epoch,
                                current_txn_start_offset=each.current_txn_start_offset,
                            )
                            for each in row.active_producers
                        ],
                    )
                    for index, row in zip(topic.partition_indexes, rows, strict=False)
                ],
            )
            for topic in request.topics
        ]
    )


def _describe_body(request: Any, context: RequestContext) -> DescribeTransactionsRequest:
    return DescribeTransactionsRequest(tuple(request.transactional_ids))


def _describe_answer(body: DescribeTransactionsResponse, request: Any, context: RequestContext) -> Any:
    states = []
    for each in body.transaction_states:
        topics: dict[str, list[int]] = {}
        for name in scala_hash_set_order(each.partitions, partition_code):
            topic, index = parse_requested(name)
            topics.setdefault(topic, []).append(index)
        states.append(
            _DESCRIBE.TransactionState(
                error_code=each.error.code,
                transactional_id=each.transactional_id,
                transaction_state=each.transaction_state,
                transaction_timeout_ms=each.transaction_timeout_ms,
                transaction_start_time_ms=each.transaction_start_time_ms,
                producer_id=each.producer_id,
                producer_epoch=each.producer_epoch,
                topics=[_DESCRIBE.TopicData(topic=topic, partitions=indexes) for topic, indexes in topics.items()],
            )
        )
    return _DESCRIBE.type(transaction_states=states)


def _list_body(request: Any, context: RequestContext) -> ListTransactionsRequest:
    return ListTransactionsRequest(
        tuple(request.state_filters), tuple(request.producer_id_filters), request.duration_filter
    )


def _list_answer(body: ListTransactionsResponse, request: Any, context: RequestContext) -> Any:
    return _LIST.type(
        error_code=body.error.code,
        unknown_state_filters=list(body.unknown_state_filters),
        transaction_states=[
            _LIST.TransactionState(transactional_id=transactional_id, producer_id=producer_id, transaction_state=state)
            for transactional_id, producer_id, state in body.transaction_states
        ],
    )


DESCRIBE_TRANSACTIONS = {
    "DescribeProducers": Translation(_producers_body, _producers_answer),
    "DescribeTransactions": Translation(_describe_body, _describe_answer),
    "ListTransactions": Translation(_list_body, _list_answer),
}
