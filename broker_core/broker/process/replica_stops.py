"""StopReplica: replicas stop, and are deleted if the controller says so (`ReplicaManager.stopReplicas`).

A request for many partitions is handled in slices, with other requests between them, since a deleted replica means a
renamed folder. Kafka's broker has other threads for these. The response is sent after the last slice. If a request of a
newer controller arrives between two slices the rest is rejected: that controller sends all states itself.
"""

from typing import Protocol

import msgspec

from broker_core.broker.common.guard import close_after_failure
from broker_core.broker.coordinators.transactions import TransactionParts
from broker_core.broker.logs.log_manager import LogManager
from broker_core.broker.replicas.replica_manager import ReplicaManager
from broker_core.eras import Era
from broker_core.errors import Errors
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.log.files.removal import SLICE_BYTES
from broker_core.sim.handlers import TimerHandler
from broker_core.sim.kernel import Kernel, Message
from broker_core.wire.messages import StopReplicaPartition, StopReplicaRequest, StopReplicaResponse

SLICE_TIMER = "replica_stops_slice"
PARTITIONS_PER_SLICE = 40
"""A deleted replica takes about 0.3 ms of processor time, most of it in the file system."""
SLICE_PAUSE_US = 1_000
_EPOCH_DURING_DELETE = -2
_NO_EPOCH = -1


class StopsHost(Protocol):
    """What the stops need of their broker."""

    name: str
    kernel: Kernel
    era: Era
    replicas: ReplicaManager
    logs: LogManager
    groups: GroupCoordinator
    transactions: TransactionParts

    def timer(self, delay_us: int, name: str, data: object = None) -> int: ...


class Progress(msgspec.Struct):
    """A request that is being handled, and the results for its first partitions."""

    message: Message
    results: list[tuple[str, Errors]]


class ReplicaStops:
    """The StopReplica requests of one broker process."""

    def __init__(self, broker: StopsHost) -> None:
        self._broker = broker

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {SLICE_TIMER: self._on_slice}

    def handle(self, message: Message) -> None:
        """Handles a request, or its first slice."""
        self._handle_slice(Progress(message, []))

    def _on_slice(self, progress: Progress) -> None:
        request: StopReplicaRequest = progress.message.body
        try:
            if request.controller_epoch < self._broker.replicas.controller_epoch:
                self._finish(progress, Errors.STALE_CONTROLLER_EPOCH)
            else:
                self._handle_slice(progress)
        except Exception as failure:
            close_after_failure(self._broker, failure, progress.message)

    def _handle_slice(self, progress: Progress) -> None:
        request: StopReplicaRequest = progress.message.body
        done = len(progress.results)
        unlinked = 0
        for stop in request.partitions[done : done + PARTITIONS_PER_SLICE]:
            unlinked += self._unlinked_at_once(stop)
            progress.results.append((stop.partition, self._stop(stop)))
            if unlinked >= SLICE_BYTES:
                break
        if len(progress.results) < len(request.partitions):
            self._broker.timer(SLICE_PAUSE_US, SLICE_TIMER, progress)
        else:
            self._finish(progress, Errors.NONE)

    def _unlinked_at_once(self, stop: StopReplicaPartition) -> int:
        """The bytes of a log that is not only renamed, but also unlinked by the stop: so do old releases."""
        partition = self._broker.replicas.partitions.get(stop.partition)
        if partition is None or not stop.delete_partition or self._broker.era.log_dir.deleted_folders != "at once":
            return 0
        return min(partition.log.size_bytes, SLICE_BYTES)

    def _stop(self, stop: StopReplicaPartition) -> Errors:
        broker = self._broker
        partition = broker.replicas.partitions.get(stop.partition)
        if partition is not None:
            sentinel = stop.leader_epoch in (_EPOCH_DURING_DELETE, _NO_EPOCH)
            if not sentinel and stop.leader_epoch < partition.leader_epoch:
                return Errors.FENCED_LEADER_EPOCH
            broker.replicas.stop(stop.partition, stop.delete_partition)
            broker.groups.on_resignation(stop.partition)
            broker.transactions.coordinator.on_resignation(stop.partition)
        return Errors.NONE

    def _finish(self, progress: Progress, error: Errors) -> None:
        """Writes the checkpoints if logs were deleted, and responds."""
        request: StopReplicaRequest = progress.message.body
        if any(stop.delete_partition for stop in request.partitions):
            self._broker.logs.checkpoint()
        if error is not Errors.NONE:
            response = StopReplicaResponse(error)
        else:
            response = StopReplicaResponse(partitions=tuple(progress.results))
        label = "label.ok" if error is Errors.NONE else error.name
        fields = tuple((partition, result.name) for partition, result in response.partitions)
        self._broker.kernel.respond(progress.message, response, label=label, fields=fields)
