"""Requests between a controller and brokers: LeaderAndIsr (API key 4), StopReplica (5), UpdateMetadata (6),
ControlledShutdown (7) and AlterPartition (56). A broker without an authorizer accepts them from any client.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from broker_core.broker.translation.common import NO_TOPIC_ID, Immediate, RequestContext, Translation, by_topic, can_be
from broker_core.config_defs import LONG_MAX
from broker_core.errors import Errors
from broker_core.partitions import parse_requested, requested_partition
from broker_core.wire.messages import (
    AlterPartitionItem,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResult,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaPartition,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataPartition,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from broker_core.wire.schemas import BY_NAME

_LEADER_AND_ISR = BY_NAME["LeaderAndIsr"].response
_STOP_REPLICA = BY_NAME["StopReplica"].response
_UPDATE_METADATA = BY_NAME["UpdateMetadata"].response
_CONTROLLED_SHUTDOWN = BY_NAME["ControlledShutdown"].response
_ALTER_PARTITION = BY_NAME["AlterPartition"].response

_IDS_IN_LEADER_AND_ISR = 5
_IDS_IN_ALTER_PARTITION = 2
_EPOCHS_IN_ALTER_PARTITION = 3
_DELETE_FLAG_OF_ALL = 2
"""The last version in which StopReplica deletes all its partitions or none."""
_UNKNOWN = Errors.UNKNOWN_SERVER_ERROR


def _states(request: Any) -> Iterator[tuple[str, str, Any]]:
    """(topic, topic id, state) of the partitions in a request of the controller; they are grouped or not by version."""
    for state in request.ungrouped_partition_states:
        yield state.topic_name, "", state
    for topic in request.topic_states:
        for state in topic.partition_states:
            yield topic.topic_name, "" if topic.topic_id == NO_TOPIC_ID else topic.topic_id, state


# LeaderAndIsr


def _become_body(request: Any, context: RequestContext) -> Any:
    states = list(_states(request))
    if request.is_k_raft_controller:
        return Immediate(_become_answer(LeaderAndIsrResponse(_UNKNOWN), request, context))
    return LeaderAndIsrRequest(
        request.controller_id,
        request.controller_epoch,
        _epoch(request.broker_epoch),
        tuple(
            LeaderAndIsrPartition(
                requested_partition(topic, state.partition_index),
                state.leader,
                state.leader_epoch,
                tuple(state.isr),
                state.partition_epoch,
                tuple(state.replicas),
                topic_id,
                state.is_new,
                state.leader_recovery_state,
                state.controller_epoch,
            )
            for topic, topic_id, state in states
            if can_be(topic, state.partition_index)
        ),
        tuple(leader.broker_id for leader in request.live_leaders),
    )


def _become_answer(body: LeaderAndIsrResponse, request: Any, context: RequestContext) -> Any:
    errors = dict(body.partitions)
    topics: dict[str, list[Any]] = {}
    for topic, topic_id, state in _states(request):
        error = errors.get(requested_partition(topic, state.partition_index), body.error)
        if not can_be(topic, state.partition_index):
            error = Errors.INVALID_TOPIC_EXCEPTION
        row = _LEADER_AND_ISR.LeaderAndIsrPartitionError(
            topic_name=topic, partition_index=state.partition_index, error_code=error.code
        )
        topics.setdefault(topic_id or NO_TOPIC_ID, []).append(row)
    if context.version < _IDS_IN_LEADER_AND_ISR:
        rows = [row for rows in topics.values() for row in rows]
        return _LEADER_AND_ISR.type(error_code=body.error.code, partition_errors=rows)
    return _LEADER_AND_ISR.type(
        error_code=body.error.code,
        topics=[
            _LEADER_AND_ISR.LeaderAndIsrTopicError(topic_id=topic_id, partition_errors=rows)
            for topic_id, rows in topics.items()
        ],
    )


def _epoch(sent: int) -> int:
    """A broker epoch; a sender that does not know it means the running process."""
    return sent if sent != -1 else LONG_MAX


# StopReplica


def _stops(request: Any, version: int) -> Iterable[StopReplicaPartition]:
    if version > _DELETE_FLAG_OF_ALL:
        for topic in request.topic_states:
            for state in topic.partition_states:
                name = requested_partition(topic.topic_name, state.partition_index)
                yield StopReplicaPartition(name, state.leader_epoch, state.delete_partition)
        return
    names = [requested_partition(each.topic_name, each.partition_index) for each in request.ungrouped_partitions]
    names += [requested_partition(topic.name, index) for topic in request.topics for index in topic.partition_indexes]
    for name in names:
        yield StopReplicaPartition(name, -1, request.delete_partitions)


def _stop_body(request: Any, context: RequestContext) -> Any:
    stops = tuple(_stops(request, context.version))
    if request.is_k_raft_controller:
        failed = StopReplicaResponse(_UNKNOWN, tuple((stop.partition, _UNKNOWN) for stop in stops))
        return Immediate(_stop_answer(failed, request, context))
    return StopReplicaRequest(request.controller_id, request.controller_epoch, _epoch(request.broker_epoch), stops)


def _stop_answer(body: StopReplicaResponse, request: Any, context: RequestContext) -> Any:
    return _STOP_REPLICA.type(
        error_code=body.error.code,
        partition_errors=[
            _STOP_REPLICA.StopReplicaPartitionError(topic_name=topic, partition_index=index, error_code=error.code)
            for (topic, index), error in ((parse_requested(name), error) for name, error in body.partitions)
        ],
    )


# UpdateMetadata


def _update_body(request: Any, context: RequestContext) -> Any:
    if request.is_k_raft_controller:
        return Immediate(_UPDATE_METADATA.type(error_code=_UNKNOWN.code))
    known = context.broker.metadata.live_brokers
    return UpdateMetadataRequest(
        request.controller_id,
        request.controller_epoch,
        _epoch(request.broker_epoch),
        tuple(
            UpdateMetadataPartition(
                requested_partition(topic, state.partition_index),
                state.leader,
                state.leader_epoch,
                tuple(state.isr),
                tuple(state.replicas),
                tuple(state.offline_replicas),
                state.zk_version,
                topic_id,
                state.controller_epoch,
            )
            for topic, topic_id, state in _states(request)
            if can_be(topic, state.partition_index)
        ),
        # The request does not identify the broker's process; a broker that the lab does not have is left out.
        tuple((each.id, known.get(each.id, -1)) for each in request.live_brokers if each.id in context.cluster.brokers),
        tuple((each.id, each.rack) for each in request.live_brokers if each.rack is not None),
    )


def _update_answer(body: UpdateMetadataResponse, request: Any, context: RequestContext) -> Any:
    return _UPDATE_METADATA.type(error_code=body.error.code)


# ControlledShutdown


def _shutdown_body(request: Any, context: RequestContext) -> ControlledShutdownRequest:
    return ControlledShutdownRequest(request.broker_id, request.broker_epoch)


def _shutdown_answer(body: ControlledShutdownResponse, request: Any, context: RequestContext) -> Any:
    return _CONTROLLED_SHUTDOWN.type(
        error_code=body.error.code,
        remaining_partitions=[
            _CONTROLLED_SHUTDOWN.RemainingPartition(topic_name=topic, partition_index=index)
            for topic, index in map(parse_requested, body.remaining)
        ],
    )


# AlterPartition


def _alter_body(request: Any, context: RequestContext) -> AlterPartitionRequest:
    return AlterPartitionRequest(
        request.broker_id,
        request.broker_epoch,
        tuple(
            AlterPartitionItem(
                requested_partition(topic, each.partition_index),
                each.leader_epoch,
                tuple((broker.broker_id, broker.broker_epoch) for broker in each.new_isr_with_epochs)
                if context.version >= _EPOCHS_IN_ALTER_PARTITION
                else tuple((broker_id, -1) for broker_id in each.new_isr),
                each.leader_recovery_state,
                each.partition_epoch,
            )
            for topic, each in _altered(request, context)
            if topic is not None
        ),
        context.version,
    )


def _altered(request: Any, context: RequestContext) -> Iterator[tuple[str | None, Any]]:
    """(topic, partition) of the partitions to alter; None for a topic id that the controller does not know."""
    for topic in request.topics:
        has_ids = context.version >= _IDS_IN_ALTER_PARTITION
        name = context.topic_of(topic.topic_id) if has_ids else topic.topic_name
        for each in topic.partitions:
            yield name, each


def _alter_answer(body: AlterPartitionResponse, request: Any, context: RequestContext) -> Any:
    if body.error is not Errors.NONE:
        return _ALTER_PARTITION.type(error_code=body.error.code)
    has_ids = context.version >= _IDS_IN_ALTER_PARTITION
    topics = [
        _ALTER_PARTITION.TopicData(
            topic_name="" if has_ids else topic,
            topic_id=context.topic_id_of(topic) if has_ids else NO_TOPIC_ID,
            partitions=[_altered_partition(index, row, context) for index, row in rows],
        )
        for topic, rows in by_topic((row.partition, row) for row in body.partitions).items()
    ]
    if has_ids:
        topics += [
            _ALTER_PARTITION.TopicData(
                topic_id=topic.topic_id,
                partitions=[
                    _ALTER_PARTITION.PartitionData(
                        partition_index=each.partition_index, error_code=Errors.UNKNOWN_TOPIC_ID.code
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
            if context.topic_of(topic.topic_id) is None
        ]
    return _ALTER_PARTITION.type(topics=topics)


def _altered_partition(index: int, row: AlterPartitionResult, context: RequestContext) -> Any:
    if row.error is not Errors.NONE:
        return _ALTER_PARTITION.PartitionData(partition_index=index, error_code=row.error.code)
    return _ALTER_PARTITION.PartitionData(
        partition_index=index,
        leader_id=row.leader,
        leader_epoch=row.leader_epoch,
        isr=list(row.isr),
        leader_recovery_state=row.leader_recovery_state,
        partition_epoch=row.partition_epoch,
    )


BETWEEN_BROKERS = {
    "LeaderAndIsr": Translation(_become_body, _become_answer),
    "StopReplica": Translation(_stop_body, _stop_answer),
    "UpdateMetadata": Translation(_update_body, _update_answer),
    "ControlledShutdown": Translation(_shutdown_body, _shutdown_answer),
    "AlterPartition": Translation(_alter_body, _alter_answer),
}
