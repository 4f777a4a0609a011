"""Requests between the lab's own nodes as Kafka's messages: the reverse of `Translation.body`.

Nodes exchange bodies in memory. For inspection such a message is encoded as Kafka's own clients and brokers would; the
run does not depend on these bytes.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from broker_core.broker.translation.common import RequestContext, by_topic
from broker_core.wire.messages import (
    AlterPartitionRequest,
    FetchRequest,
    JoinGroupRequest,
    LeaderAndIsrRequest,
    LeaveGroupRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
    StopReplicaRequest,
    SyncGroupRequest,
    UpdateMetadataRequest,
    WriteTxnMarkersRequest,
)
from broker_core.wire.schemas import BY_NAME

_BROKER_STATE_VERSION = 15
_FLAT = frozenset({"AllocateProducerIds", "ControlledShutdown", "EndTxn", "Heartbeat", "InitProducerId"})
"""APIs whose bodies have the same fields as Kafka's messages."""


def request_of(api: str, body: Any, context: RequestContext) -> Any | None:
    """A node's request as a value of the API's schema; None for an API that is not defined here."""
    if api in _FLAT:
        schema = BY_NAME[api].request
        known = {field.name for field in schema.structs[schema.name].fields}
        return schema.type(**{name: value for name, value in msgspec.structs.asdict(body).items() if name in known})
    write = _WRITERS.get(api)
    return None if write is None else write(body, context)


def _fetch(body: FetchRequest, context: RequestContext) -> Any:
    wire = BY_NAME["Fetch"].request
    has_state = context.version >= _BROKER_STATE_VERSION
    return wire.type(
        replica_id=-1 if has_state else body.replica_id,
        replica_state=wire.ReplicaState(replica_id=body.replica_id, replica_epoch=body.replica_epoch)
        if has_state
        else wire.ReplicaState(),
        max_wait_ms=body.max_wait_ms,
        min_bytes=body.min_bytes,
        max_bytes=body.max_bytes,
        isolation_level=body.isolation_level,
        rack_id=body.rack_id,
        topics=[
            wire.FetchTopic(
                topic=topic,
                topic_id=context.topic_id_of(topic),
                partitions=[
                    wire.FetchPartition(
                        partition=index,
                        current_leader_epoch=each.current_leader_epoch,
                        fetch_offset=each.fetch_offset,
                        last_fetched_epoch=each.last_fetched_epoch,
                        log_start_offset=each.log_start_offset,
                        partition_max_bytes=each.partition_max_bytes,
                    )
                    for index, each in rows
                ],
            )
            for topic, rows in by_topic((each.partition, each) for each in body.partitions).items()
        ],
    )


def _produce(body: ProduceRequest, context: RequestContext) -> Any:
    wire = BY_NAME["Produce"].request
    return wire.type(
        transactional_id=body.transactional_id,
        acks=body.acks,
        timeout_ms=body.timeout_ms,
        topic_data=[
            wire.TopicProduceData(
                name=topic,
                partition_data=[wire.PartitionProduceData(index=index, records=records) for index, records in rows],
            )
            for topic, rows in by_topic(body.partitions).items()
        ],
    )


def _list_offsets(body: ListOffsetsRequest, context: RequestContext) -> Any:
    wire = BY_NAME["ListOffsets"].request
    return wire.type(
        replica_id=body.replica_id,
        isolation_level=body.isolation_level,
        topics=[
            wire.ListOffsetsTopic(
                name=topic,
                partitions=[
                    wire.ListOffsetsPartition(partition_index=index, current_leader_epoch=epoch, timestamp=timestamp)
                    for index, (epoch, timestamp) in rows
                ],
            )
            for topic, rows in by_topic((name, (epoch, at)) for name, epoch, at in body.partitions).items()
        ],
    )


def _ends_of_epochs(body: OffsetForLeaderEpochRequest, context: RequestContext) -> Any:
    wire = BY_NAME["OffsetForLeaderEpoch"].request
    return wire.type(
        replica_id=body.replica_id,
        topics=[
            wire.OffsetForLeaderTopic(
                topic=topic,
                partitions=[
                    wire.OffsetForLeaderPartition(partition=index, current_leader_epoch=current, leader_epoch=epoch)
                    for index, (current, epoch) in rows
                ],
            )
            for topic, rows in by_topic((name, (current, epoch)) for name, current, epoch in body.partitions).items()
        ],
    )


def _leader_and_isr(body: LeaderAndIsrRequest, context: RequestContext) -> Any:
    wire = BY_NAME["LeaderAndIsr"].request
    topics: dict[str, list[Any]] = {}
    ids: dict[str, str] = {}
    for topic, rows in by_topic((each.partition, each) for each in body.partitions).items():
        for index, each in rows:
            ids[topic] = each.topic_id
            state = wire.LeaderAndIsrPartitionState(
                topic_name=topic,
                partition_index=index,
                controller_epoch=each.controller_epoch or body.controller_epoch,
                leader=each.leader,
                leader_epoch=each.leader_epoch,
                isr=list(each.isr),
                partition_epoch=each.partition_epoch,
                replicas=list(each.replicas),
                is_new=each.is_new,
                leader_recovery_state=each.leader_recovery_state,
            )
            topics.setdefault(topic, []).append(state)
    message = wire.type(
        controller_id=body.controller_id,
        controller_epoch=body.controller_epoch,
        broker_epoch=body.broker_epoch,
        live_leaders=[
            wire.LeaderAndIsrLiveLeader(broker_id=each, host_name=host, port=port)
            for each in body.live_leaders
            for host, port in (context.cluster.endpoint(each),)
        ],
    )
    _group(message, topics, ids, context.version >= _GROUPED_LEADER_AND_ISR, wire.LeaderAndIsrTopicState)
    return message


def _update_metadata(body: UpdateMetadataRequest, context: RequestContext) -> Any:
    wire = BY_NAME["UpdateMetadata"].request
    topics: dict[str, list[Any]] = {}
    ids: dict[str, str] = {}
    for topic, rows in by_topic((each.partition, each) for each in body.partitions).items():
        for index, each in rows:
            ids[topic] = each.topic_id
            state = wire.UpdateMetadataPartitionState(
                topic_name=topic,
                partition_index=index,
                controller_epoch=each.controller_epoch or body.controller_epoch,
                leader=each.leader,
                leader_epoch=each.leader_epoch,
                isr=list(each.isr),
                zk_version=each.partition_epoch,
                replicas=list(each.replicas),
                offline_replicas=list(each.offline_replicas),
            )
            topics.setdefault(topic, []).append(state)
    racks = dict(body.racks)
    message = wire.type(
        controller_id=body.controller_id,
        controller_epoch=body.controller_epoch,
        broker_epoch=body.broker_epoch,
        live_brokers=[
            wire.UpdateMetadataBroker(
                id=broker_id,
                v0_host=host,
                v0_port=port,
                endpoints=[
                    wire.UpdateMetadataEndpoint(port=port, host=host, listener="PLAINTEXT", security_protocol=0)
                ],
                rack=racks.get(broker_id),
            )
            for broker_id, _ in body.live_brokers
            for host, port in (context.cluster.endpoint(broker_id),)
        ],
    )
    _group(message, topics, ids, context.version >= _GROUPED_UPDATE_METADATA, wire.UpdateMetadataTopicState)
    return message


_GROUPED_LEADER_AND_ISR = 2
_GROUPED_UPDATE_METADATA = 5
"""From this version on partitions are grouped by topic."""


def _group(message: Any, topics: dict[str, list[Any]], ids: dict[str, str], is_grouped: bool, topic_state: Any) -> None:
    if not is_grouped:
        message.ungrouped_partition_states = [state for states in topics.values() for state in states]
        return
    for topic, states in topics.items():
        for state in states:
            state.topic_name = ""
        made = topic_state(topic_name=topic, partition_states=states)
        if ids[topic]:
            made.topic_id = ids[topic]
        message.topic_states.append(made)


def _stop_replica(body: StopReplicaRequest, context: RequestContext) -> Any:
    wire = BY_NAME["StopReplica"].request
    message = wire.type(
        controller_id=body.controller_id, controller_epoch=body.controller_epoch, broker_epoch=body.broker_epoch
    )
    rows_by_topic = by_topic((each.partition, each) for each in body.partitions)
    if context.version >= 3:  # Each partition has its own delete flag.
        message.topic_states = [
            wire.StopReplicaTopicState(
                topic_name=topic,
                partition_states=[
                    wire.StopReplicaPartitionState(
                        partition_index=index, leader_epoch=each.leader_epoch, delete_partition=each.delete_partition
                    )
                    for index, each in rows
                ],
            )
            for topic, rows in rows_by_topic.items()
        ]
        return message
    message.delete_partitions = any(each.delete_partition for each in body.partitions)
    if context.version:
        message.topics = [
            wire.StopReplicaTopicV1(name=topic, partition_indexes=[index for index, _ in rows])
            for topic, rows in rows_by_topic.items()
        ]
    else:
        message.ungrouped_partitions = [
            wire.StopReplicaPartitionV0(topic_name=topic, partition_index=index)
            for topic, rows in rows_by_topic.items()
            for index, _ in rows
        ]
    return message


def _alter_partition(body: AlterPartitionRequest, context: RequestContext) -> Any:
    wire = BY_NAME["AlterPartition"].request
    has_epochs = context.version >= 3
    return wire.type(
        broker_id=body.broker_id,
        broker_epoch=body.broker_epoch,
        topics=[
            wire.TopicData(
                topic_name=topic,
                topic_id=rows[0][1].topic_id or context.topic_id_of(topic),
                partitions=[
                    wire.PartitionData(
                        partition_index=index,
                        leader_epoch=each.leader_epoch,
                        new_isr=[] if has_epochs else [broker_id for broker_id, _ in each.new_isr],
                        new_isr_with_epochs=[
                            wire.BrokerState(broker_id=broker_id, broker_epoch=epoch)
                            for broker_id, epoch in each.new_isr
                            if has_epochs
                        ],
                        leader_recovery_state=each.leader_recovery_state,
                        partition_epoch=each.partition_epoch,
                    )
                    for index, each in rows
                ],
            )
            for topic, rows in by_topic((each.partition, each) for each in body.partitions).items()
        ],
    )


def _metadata(body: MetadataRequest, context: RequestContext) -> Any:
    wire = BY_NAME["Metadata"].request
    topics = None if body.topics is None else [wire.MetadataRequestTopic(name=name) for name in body.topics]
    return wire.type(topics=topics, allow_auto_topic_creation=body.allow_auto_topic_creation)


def _join_group(body: JoinGroupRequest, context: RequestContext) -> Any:
    wire = BY_NAME["JoinGroup"].request
    return wire.type(
        group_id=body.group_id,
        session_timeout_ms=body.session_timeout_ms,
        rebalance_timeout_ms=body.rebalance_timeout_ms,
        member_id=body.member_id,
        group_instance_id=body.group_instance_id,
        protocol_type=body.protocol_type,
        protocols=[wire.JoinGroupRequestProtocol(name=name, metadata=data) for name, data in body.protocols],
        reason=body.reason or None,
    )


def _sync_group(body: SyncGroupRequest, context: RequestContext) -> Any:
    wire = BY_NAME["SyncGroup"].request
    return wire.type(
        group_id=body.group_id,
        generation_id=body.generation_id,
        member_id=body.member_id,
        group_instance_id=body.group_instance_id,
        protocol_type=body.protocol_type,
        protocol_name=body.protocol_name,
        assignments=[
            wire.SyncGroupRequestAssignment(member_id=member, assignment=data) for member, data in body.assignments
        ],
    )


def _leave_group(body: LeaveGroupRequest, context: RequestContext) -> Any:
    wire = BY_NAME["LeaveGroup"].request
    return wire.type(
        group_id=body.group_id,
        members=[wire.MemberIdentity(member_id=member, group_instance_id=static) for member, static in body.members],
    )


def _offset_commit(body: OffsetCommitRequest, context: RequestContext) -> Any:
    wire = BY_NAME["OffsetCommit"].request
    return wire.type(
        group_id=body.group_id,
        generation_id_or_member_epoch=body.generation_id,
        member_id=body.member_id,
        group_instance_id=body.group_instance_id,
        topics=[
            wire.OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    wire.OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=offset,
                        committed_leader_epoch=epoch,
                        committed_metadata=metadata,
                    )
                    for index, (offset, epoch, metadata) in rows
                ],
            )
            for topic, rows in by_topic((name, tuple(rest)) for name, *rest in body.partitions).items()
        ],
    )


def _offset_fetch(body: OffsetFetchRequest, context: RequestContext) -> Any:
    wire = BY_NAME["OffsetFetch"].request
    topics = None
    if body.partitions is not None:
        rows_by_topic = by_topic((name, None) for name in body.partitions)
        topics = [
            wire.OffsetFetchRequestTopics(name=topic, partition_indexes=[index for index, _ in rows])
            for topic, rows in rows_by_topic.items()
        ]
    group = wire.OffsetFetchRequestGroup(group_id=body.group_id, topics=topics)
    return wire.type(groups=[group], require_stable=body.require_stable)


def _markers(body: WriteTxnMarkersRequest, context: RequestContext) -> Any:
    wire = BY_NAME["WriteTxnMarkers"].request
    return wire.type(
        markers=[
            wire.WritableTxnMarker(
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                transaction_result=marker.transaction_result,
                topics=[
                    wire.WritableTxnMarkerTopic(name=topic, partition_indexes=[index for index, _ in rows])
                    for topic, rows in by_topic((name, None) for name in marker.partitions).items()
                ],
                coordinator_epoch=marker.coordinator_epoch,
            )
            for marker in body.markers
        ]
    )


_WRITERS: dict[str, Callable[[Any, RequestContext], Any]] = {
    "AlterPartition": _alter_partition,
    "Fetch": _fetch,
    "JoinGroup": _join_group,
    "LeaderAndIsr": _leader_and_isr,
    "LeaveGroup": _leave_group,
    "ListOffsets": _list_offsets,
    "Metadata": _metadata,
    "OffsetCommit": _offset_commit,
    "OffsetFetch": _offset_fetch,
    "OffsetForLeaderEpoch": _ends_of_epochs,
    "Produce": _produce,
    "StopReplica": _stop_replica,
    "SyncGroup": _sync_group,
    "UpdateMetadata": _update_metadata,
    "WriteTxnMarkers": _markers,
}
