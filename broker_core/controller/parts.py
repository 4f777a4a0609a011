"""What the larger parts of a controller use of it."""

from typing import NamedTuple

from broker_core.controller.channel_manager import ControllerChannelManager
from broker_core.controller.context import ControllerContext
from broker_core.controller.host import ControllerHost
from broker_core.controller.kafka_zk_client import KafkaZkClient
from broker_core.controller.partition_state_machine import PartitionStateMachine
from broker_core.controller.replica_state_machine import ReplicaStateMachine
from broker_core.controller.topic_deletion import TopicDeletionManager


class ControllerParts(NamedTuple):
    """The context of a controller, its ways out of the process, and its state machines."""

    host: ControllerHost
    context: ControllerContext
    zk: KafkaZkClient
    channels: ControllerChannelManager
    partition_states: PartitionStateMachine
    replica_states: ReplicaStateMachine
    deletions: TopicDeletionManager


class ControllerPart:
    """A part of a controller that uses them."""

    def __init__(self, parts: ControllerParts) -> None:
        self.host = parts.host
        self.context = parts.context
        self.zk = parts.zk
        self.channels = parts.channels
        self.partition_states = parts.partition_states
        self.replica_states = parts.replica_states
        self.deletions = parts.deletions
