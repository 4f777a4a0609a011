"""What the controller's state machines of partitions and replicas have in common."""

from collections.abc import Hashable
from enum import StrEnum
from typing import Generic, TypeVar

from broker_core.controller.channel_manager import ControllerChannelManager
from broker_core.controller.context import ControllerContext
from broker_core.controller.host import ControllerHost
from broker_core.controller.kafka_zk_client import KafkaZkClient

K = TypeVar("K", bound=Hashable)
S = TypeVar("S", bound=StrEnum)


class StateMachine(Generic[K, S]):
    """The states of all partitions, or of all replicas. What is not listed does not exist."""

    non_existent: S

    def __init__(
        self, host: ControllerHost, context: ControllerContext, zk: KafkaZkClient, channels: ControllerChannelManager
    ) -> None:
        self.host = host
        self.context = context
        self.zk = zk
        self.channels = channels
        self.states: dict[K, S] = {}

    def state(self, key: K) -> S:
        """The state of a partition or replica."""
        return self.states.get(key, self.non_existent)

    def set_state(self, key: K, state: S) -> None:
        """Applies a change of state."""
        if state is self.non_existent:
            self.states.pop(key, None)
        else:
            self.states[key] = state
