"""Produce (API key 0)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import structs

from broker_core.broker.common.produce_rules import ONE_BATCH_VERSION, has_fatal_null
from broker_core.broker.translation.common import RequestContext, Translation, Unanswered, by_topic, partitions_of
from broker_core.broker.translation.leaders import current_leader, endpoints
from broker_core.broker.translation.map_order import divided, in_maps, in_mutable_map
from broker_core.config_defs.java_text import partition_code, scala_hash_set_order, scala_set_order
from broker_core.errors import Errors, KafkaException
from broker_core.log.append.append_check import batch_size_at
from broker_core.records.legacy import as_known
from broker_core.records.record_batch import MAGIC_POSITION, MAGIC_V2
from broker_core.texts import text
from broker_core.wire.errors import WireError
from broker_core.wire.messages import ProducePartitionResponse, ProduceRequest, ProduceResponse
from broker_core.wire.schemas import SCHEMAS

_WIRE = SCHEMAS[0].response
_PRODUCER_ID_END = 51
"""The bytes of a batch of magic 2 up to its producer id."""
_ADMIN_CLIENT = "__admin_client"
"""A client with this id may write to internal topics (`AdminUtils.ADMIN_CLIENT_ID`)."""


def _body(request: Any, context: RequestContext) -> ProduceRequest | Unanswered:
    partitions = dict(partitions_of(request.topic_data, partitions="partition_data"))
    readable = context.broker.era.requests.reads_batches
    if readable == "several" or (readable == "one" and context.version >= ONE_BATCH_VERSION):
        for each in partitions.values():
            _refuse_unreadable(each.records or b"", is_alone=readable == "one")
    newest = context.broker.era.log.newest_magic
    if newest < MAGIC_V2:
        for each in partitions.values():
            each.records = as_known(each.records, newest) if each.records else each.records
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


def _refuse_unreadable(records: bytes, is_alone: bool) -> None:
    """Raises WireError for records whose first batch has no producer id to read, or is not alone or not of magic 2."""
    try:
        size = batch_size_at(records, 0, checks_cut_off=not is_alone)
        is_readable = size is not None and (records[MAGIC_POSITION] < MAGIC_V2 or size >= _PRODUCER_ID_END)
        if size is not None and is_alone:
            is_last = batch_size_at(records, size, checks_cut_off=False) is None
            is_readable = is_readable and is_last and records[MAGIC_POSITION] == MAGIC_V2
    except KafkaException:
        is_readable = False
    if not is_readable:
        raise WireError(text("wire.records"))


def _groups(
    rows: Mapping[str, ProducePartitionResponse], names: Iterable[str], is_known: Callable[[str], bool]
) -> tuple[list[str], ...]:
    """The partitions that Kafka appended to, those that it does not know, and those whose batches are malformed."""
    groups: tuple[list[str], ...] = ([], [], [])
    for name in names:
        groups[2 * rows[name].is_malformed if is_known(name) else 1].append(name)
    return groups


def _in_order(body: ProduceResponse) -> list[ProducePartitionResponse]:
    """The partitions as Kafka merges its groups of them. Each is a mutable map; more than four partitions are iterated
    like an immutable map.
    """
    rows = {each.partition: each for each in body.partitions}
    if len(rows) == 1:
        return list(rows.values())
    groups = _groups(rows, rows, lambda name: rows[name].error is not Errors.UNKNOWN_TOPIC_OR_PARTITION)
    merged = [name for group in groups for name in scala_hash_set_order(group, partition_code)]
    return [rows[name] for name in scala_set_order(merged, partition_code)]


def _answer(body: ProduceResponse, request: Any, context: RequestContext) -> Any:
    topics = []
    leaders: set[int] = set()
    for topic, rows in by_topic((each.partition, each) for each in _in_order(body)).items():
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

    # Asked for only by old releases.
    def requested() -> list[str]:
        return list(dict(partitions_of(request.topic_data, partitions="partition_data")))

    def in_old_maps(_: list[str]) -> list[str]:
        by_name = {each.partition: each for each in body.partitions}
        return divided(_groups(by_name, requested(), context.broker.metadata.is_known), context)

    responses = in_maps(
        topics,
        context,
        in_old_maps,
        partitions="partition_responses",
        in_first=lambda _: in_mutable_map(requested()),
    )
    return _WIRE.type(responses=responses, node_endpoints=endpoints(_WIRE, leaders, context))


PRODUCE = Translation(_body, _answer)
