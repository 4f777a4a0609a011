"""ElectLeaders (API key 43), AlterPartitionReassignments (45) and ListPartitionReassignments (46)."""

from typing import Any, Literal

from broker_core.broker.translation.common import Immediate, RequestContext, Translation, by_topic, partitions_of
from broker_core.clients.exceptions import exception_message
from broker_core.config_defs.java_text import partition_code, scala_hash_set_order, scala_trie_order
from broker_core.errors import Errors
from broker_core.wire.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    PartitionResult,
)
from broker_core.wire.schemas import SCHEMAS

_ELECT = SCHEMAS[43].response
_ALTER = SCHEMAS[45].response
_LIST = SCHEMAS[46].response
_ELECTION_TYPES: dict[int, Literal["PREFERRED", "UNCLEAN"]] = {0: "PREFERRED", 1: "UNCLEAN"}


def _text(error: Errors) -> str:
    return "" if error is Errors.NONE else exception_message(error)


def _partition_text(row: PartitionResult, context: RequestContext) -> str | None:
    has_none = row.error in (Errors.NONE, Errors.NOT_CONTROLLER)
    if row.error is Errors.ELECTION_NOT_NEEDED:
        return context.broker.era.requests.election_not_needed
    return None if has_none else exception_message(row.error, row.message)


def _elect_body(request: Any, context: RequestContext) -> Any:
    if request.election_type not in _ELECTION_TYPES:
        why = f"Value {request.election_type} must be one of [PREFERRED, UNCLEAN]"
        said = why if context.broker.era.requests.explains_failures else None
        return Immediate(_refused(request, Errors.UNKNOWN_SERVER_ERROR, Errors.UNKNOWN_SERVER_ERROR, said))
    partitions = None
    if request.topic_partitions is not None:
        partitions = tuple(_elected(request))
    return ElectLeadersRequest(_ELECTION_TYPES[request.election_type], partitions, request.timeout_ms)


def _elect_answer(body: ElectLeadersResponse, request: Any, context: RequestContext) -> Any:
    if body.error is Errors.NOT_CONTROLLER:
        names = () if request.topic_partitions is None else _elected(request)
        topics = by_topic((name, PartitionResult(name, Errors.NOT_CONTROLLER)) for name in names)
        listed = {topic: topics[topic] for topic in scala_trie_order(topics)}
        error = Errors.NONE
    else:
        listed = by_topic((row.partition, row) for row in body.partitions)
        error = body.error
    return _ELECT.type(
        error_code=error.code,
        replica_election_results=[
            _ELECT.ReplicaElectionResult(
                topic=topic,
                partition_result=[
                    _ELECT.PartitionResult(
                        partition_id=index, error_code=row.error.code, error_message=_partition_text(row, context)
                    )
                    for index, row in rows
                ],
            )
            for topic, rows in listed.items()
        ],
    )


def _elected(request: Any) -> list[str]:
    """The partitions of a request, each once, in the order of Kafka's sets of them."""
    names = dict.fromkeys(name for name, _ in partitions_of(request.topic_partitions, name="topic"))
    return scala_hash_set_order(names, partition_code)


def _refused(request: Any, error: Errors, error_of_each: Errors, message: str | None = None) -> Any:
    """An error of the whole request is returned for each partition."""
    return _ELECT.type(
        error_code=error.code,
        replica_election_results=[
            _ELECT.ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    _ELECT.PartitionResult(partition_id=index, error_code=error_of_each.code, error_message=message)
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )


def _alter_body(request: Any, context: RequestContext) -> AlterPartitionReassignmentsRequest:
    return AlterPartitionReassignmentsRequest(
        tuple(
            (name, None if each.replicas is None else tuple(each.replicas))
            for name, each in partitions_of(request.topics)
        ),
        request.timeout_ms,
    )


def _alter_answer(body: AlterPartitionReassignmentsResponse, request: Any, context: RequestContext) -> Any:
    return _ALTER.type(
        error_code=body.error.code,
        error_message=_text(body.error),
        responses=[
            _ALTER.ReassignableTopicResponse(
                name=topic,
                partitions=[
                    _ALTER.ReassignablePartitionResponse(
                        partition_index=index, error_code=row.error.code, error_message=_partition_text(row, context)
                    )
                    for index, row in rows
                ],
            )
            for topic, rows in by_topic((row.partition, row) for row in body.partitions).items()
        ],
    )


def _list_body(request: Any, context: RequestContext) -> ListPartitionReassignmentsRequest:
    partitions = None
    if request.topics is not None:
        partitions = tuple(name for name, _ in partitions_of(request.topics, partitions="partition_indexes"))
    return ListPartitionReassignmentsRequest(partitions, request.timeout_ms)


def _list_answer(body: ListPartitionReassignmentsResponse, request: Any, context: RequestContext) -> Any:
    return _LIST.type(
        error_code=body.error.code,
        error_message=_text(body.error),
        topics=[
            _LIST.OngoingTopicReassignment(
                name=topic,
                partitions=[
                    _LIST.OngoingPartitionReassignment(
                        partition_index=index,
                        replicas=list(row.replicas),
                        adding_replicas=list(row.adding_replicas),
                        removing_replicas=list(row.removing_replicas),
                    )
                    for index, row in rows
                ],
            )
            for topic, rows in by_topic((row.partition, row) for row in body.partitions).items()
        ],
    )


ELECT_LEADERS = Translation(_elect_body, _elect_answer)
ALTER_PARTITION_REASSIGNMENTS = Translation(_alter_body, _alter_answer)
LIST_PARTITION_REASSIGNMENTS = Translation(_list_body, _list_answer)
