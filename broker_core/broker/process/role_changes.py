"""LeaderAndIsr: replicas become leaders and followers (`ReplicaManager.becomeLeaderOrFollower`).

A request for many partitions is handled in slices, with other requests between them, since a new replica means a folder
with five files. Kafka's broker has other threads for these. The response is sent after the last slice. If a request of
a newer controller arrives between two slices the rest is rejected: that controller sends all states itself.
"""

from typing import Protocol

import msgspec

from broker_core.broker.common.guard import close_after_failure
from broker_core.broker.coordinators.transactions import TransactionParts
from broker_core.broker.replicas.replica_manager import ReplicaManager
from broker_core.errors import Errors
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.sim.handlers import TimerHandler
from broker_core.sim.kernel import Kernel, Message
from broker_core.topics import OFFSETS_TOPIC, TRANSACTION_TOPIC
from broker_core.wire.messages import LeaderAndIsrPartition, LeaderAndIsrRequest, LeaderAndIsrResponse

SLICE_TIMER = "role_changes_slice"
PARTITIONS_PER_SLICE = 8
"""A request for no more is handled as a whole."""
NEW_PER_SLICE = 2
"""A new replica takes 1 to 5 ms of processor time, most of it in the file system."""
SLICE_PAUSE_US = 1_000
BLOCKED_PAUSE_US = 100_000
"""The interval at which the reachability of ZooKeeper, which has the configuration of new logs, is checked."""


class RolesHost(Protocol):
    """What the role changes need of their broker."""

    name: str
    kernel: Kernel
    replicas: ReplicaManager
    groups: GroupCoordinator
    transactions: TransactionParts

    @property
    def can_use_zookeeper(self) -> bool: ...

    def timer(self, delay_us: int, name: str, data: object = None) -> int: ...


class Progress(msgspec.Struct):
    """A request that is being handled, and the results for its first partitions."""

    message: Message
    results: list[tuple[str, Errors]]


class RoleChanges:
    """The LeaderAndIsr requests of one broker process."""

    def __init__(self, broker: RolesHost) -> None:
        self._broker = broker
        self._unfinished: dict[str, Progress] = {}
        """The requests in progress, by rpc id."""

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {SLICE_TIMER: self._on_slice}

    def handle(self, message: Message) -> None:
        """Handles a request, or its first slice."""
        self._broker.replicas.tasks.start_checkpoints()
        self._handle_slice(Progress(message, []))

    def _on_slice(self, rpc: str) -> None:
        broker = self._broker
        if not broker.can_use_zookeeper:
            broker.timer(BLOCKED_PAUSE_US, SLICE_TIMER, rpc)
            return
        progress = self._unfinished.pop(rpc)
        request: LeaderAndIsrRequest = progress.message.body
        if request.controller_epoch < broker.replicas.controller_epoch:
            self._respond(progress.message, LeaderAndIsrResponse(Errors.STALE_CONTROLLER_EPOCH))
            return
        try:
            self._handle_slice(progress)
        except Exception as failure:
            close_after_failure(broker, failure, progress.message)

    def _handle_slice(self, progress: Progress) -> None:
        request: LeaderAndIsrRequest = progress.message.body
        done = len(progress.results)
        progress.results += self._become(self._slice(request.partitions, done))
        if len(progress.results) < len(request.partitions):
            self._unfinished[progress.message.rpc] = progress
            self._broker.timer(SLICE_PAUSE_US, SLICE_TIMER, progress.message.rpc)
            return
        for fetcher in self._broker.replicas.fetchers.values():
            fetcher.send()
        self._respond(progress.message, LeaderAndIsrResponse(partitions=tuple(progress.results)))

    def _slice(self, states: tuple[LeaderAndIsrPartition, ...], first: int) -> tuple[LeaderAndIsrPartition, ...]:
        """The states from the `first` on that are handled without a pause."""
        if len(states) <= PARTITIONS_PER_SLICE:
            return states
        new = 0
        for end in range(first, min(first + PARTITIONS_PER_SLICE, len(states))):
            new += states[end].partition not in self._broker.replicas.partitions
            if new == NEW_PER_SLICE:
                return states[first : end + 1]
        return states[first : first + PARTITIONS_PER_SLICE]

    def _become(self, states: tuple[LeaderAndIsrPartition, ...]) -> list[tuple[str, Errors]]:
        replicas = self._broker.replicas
        partitions = replicas.partitions
        led = {state.partition for state in states if state.partition in partitions}
        led = {name for name in led if partitions[name].is_leader}
        results = [(state.partition, replicas.become(state)) for state in states]
        for state, (name, error) in zip(states, results, strict=True):
            if name in led and partitions[name].is_leader:
                continue  # A leader that stays leader in a new epoch stays coordinator (`makeLeaders`).
            if name.startswith(OFFSETS_TOPIC) and error is Errors.NONE:
                self._offsets_partition_changed(state)
            elif name.startswith(TRANSACTION_TOPIC) and error is Errors.NONE:
                self._broker.transactions.partition_changed(state)
        return results

    def _offsets_partition_changed(self, state: LeaderAndIsrPartition) -> None:
        groups = self._broker.groups
        if self._broker.replicas.partitions[state.partition].is_leader:
            groups.on_election(state.partition, state.leader_epoch)
        else:
            groups.on_resignation(state.partition)

    def _respond(self, message: Message, response: LeaderAndIsrResponse) -> None:
        label = "label.ok" if response.error is Errors.NONE else response.error.name
        fields = tuple((partition, result.name) for partition, result in response.partitions)
        self._broker.kernel.respond(message, response, label=label, fields=fields)
