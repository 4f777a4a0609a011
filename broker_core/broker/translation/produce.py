"""Produce (API key 0)."""

from typing import Any

from msgspec import structs

from broker_core.broker.common.produce_rules import has_fatal_null
from broker_core.broker.translation.common import RequestContext, Translation, Unanswered, by_topic, partitions_of
from broker_core.broker.translation.leaders import current_leader, endpoints
from broker_core.errors import Errors
from broker_core.wire.messages import ProduceRequest, ProduceResponse
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[0].response
_ADMIN_CLIENT = "__admin_client"
"""A client with this id may write to internal topics (`AdminUtils.ADMIN_CLIENT_ID`)."""


def _body(request: Any, context: RequestContext) -> ProduceRequest | Unanswered:
    partitions = dict(partitions_of(request.topic_data, partitions="partition_data"))
    body = ProduceRequest(
        request.acks,
        request.timeout_ms,
        tuple((name, each.records) for name, each in partitions.items()),  # Of duplicates the last one counts.
        request.transactional_id,
        context.version,
        context.client_id == _ADMIN_CLIENT,
    )
    if has_fatal_null(context.broker.metadata, body):
        return Unanswered(structs.replace(body, is_unanswered=True))
    return body


def _answer(body: ProduceResponse, request: Any, context: RequestContext) -> Any:
    topics = []
    leaders: set[int] = set()
    for topic, rows in by_topic((each.partition, each) for each in body.partitions).items():
        partitions = []
        for index, row in rows:
            partition = _WIRE.PartitionProduceResponse(
                index=index,
                error_code=row.error.code,
                base_offset=row.base_offset,
                log_append_time_ms=row.log_append_time_ms,
                log_start_offset=row.log_start_offset,
                record_errors=[
                    _WIRE.BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=why)
                    for at, why in row.record_errors
                ],
                error_message=row.message,
            )
            if row.error is Errors.NOT_LEADER_OR_FOLLOWER:
                leader = partition.current_leader
                leader.leader_id, leader.leader_epoch = current_leader(row.partition, context)
                leaders.add(leader.leader_id)
            partitions.append(partition)
        topics.append(_WIRE.TopicProduceResponse(name=topic, partition_responses=partitions))
    return _WIRE.type(responses=topics, node_endpoints=endpoints(_WIRE, leaders, context))


PRODUCE = Translation(_body, _answer)
