"""The requests between the controller and the brokers."""

import msgspec

from broker_core.errors import Errors


class ErrorResponse(msgspec.Struct, frozen=True, gc=False):
    """An error for a whole request, if the API's response has no body for it."""

    error: Errors


class LeaderAndIsrPartition(msgspec.Struct, frozen=True, gc=False):
    """`partition_epoch` is the zkVersion of the state znode. `min_insync_replicas` etc. come from the topic's
    configuration, which a real broker reads from ZooKeeper.
    """

    partition: str
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    topic_id: str
    is_new: bool
    leader_recovery_state: int = 0
    controller_epoch: int = 0


class LeaderAndIsrRequest(msgspec.Struct, frozen=True, gc=False):
    controller_id: int
    controller_epoch: int
    broker_epoch: int
    partitions: tuple[LeaderAndIsrPartition, ...]
    live_leaders: tuple[int, ...] = ()


class LeaderAndIsrResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE
    partitions: tuple[tuple[str, Errors], ...] = ()


class UpdateMetadataPartition(msgspec.Struct, frozen=True, gc=False):
    """`leader` -2 marks a partition of a topic that is being deleted."""

    partition: str
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    partition_epoch: int
    topic_id: str
    controller_epoch: int = 0


class UpdateMetadataRequest(msgspec.Struct, frozen=True, gc=False):
    """`live_brokers`: (broker id, broker epoch); `racks`: (broker id, rack) of those that have one."""

    controller_id: int
    controller_epoch: int
    broker_epoch: int
    partitions: tuple[UpdateMetadataPartition, ...]
    live_brokers: tuple[tuple[int, int], ...]
    racks: tuple[tuple[int, str], ...] = ()


class UpdateMetadataResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE


class StopReplicaPartition(msgspec.Struct, frozen=True, gc=False):
    partition: str
    leader_epoch: int
    delete_partition: bool


class StopReplicaRequest(msgspec.Struct, frozen=True, gc=False):
    controller_id: int
    controller_epoch: int
    broker_epoch: int
    partitions: tuple[StopReplicaPartition, ...]


class StopReplicaResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE
    partitions: tuple[tuple[str, Errors], ...] = ()


class AlterPartitionItem(msgspec.Struct, frozen=True, gc=False):
    """`new_isr`: broker ids with the broker epoch known to the leader (KIP-903), -1 = unknown. `topic_id`: of the
    partition's topic, "" before topic ids (KIP-516) or if the name is enough.
    """

    partition: str
    leader_epoch: int
    new_isr: tuple[tuple[int, int], ...]
    leader_recovery_state: int
    partition_epoch: int
    topic_id: str = ""


class AlterPartitionRequest(msgspec.Struct, frozen=True, gc=False):
    """`version`: older ones do not have INELIGIBLE_REPLICA (KIP-841)."""

    broker_id: int
    broker_epoch: int
    partitions: tuple[AlterPartitionItem, ...]
    version: int = 3


class AlterPartitionResult(msgspec.Struct, frozen=True, gc=False):
    partition: str
    error: Errors = Errors.NONE
    leader: int = -1
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    leader_recovery_state: int = 0
    partition_epoch: int = -1


class AlterPartitionResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE
    partitions: tuple[AlterPartitionResult, ...] = ()


class ControlledShutdownRequest(msgspec.Struct, frozen=True, gc=False):
    broker_id: int
    broker_epoch: int


class ControlledShutdownResponse(msgspec.Struct, frozen=True, gc=False):
    """`remaining`: partitions that the broker still leads."""

    error: Errors = Errors.NONE
    remaining: tuple[str, ...] = ()
