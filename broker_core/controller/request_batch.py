"""The requests to brokers for one decision, collected and sent at once (`ControllerBrokerRequestBatch`).

To each broker: LeaderAndIsr with the partitions that it hosts and that have changed, then UpdateMetadata for its
responses to clients, then StopReplica. Each carries the epoch of its destination broker.
"""

from collections.abc import Iterable

from broker_core.controller.channel_manager import ControllerChannelManager
from broker_core.controller.context import LEADER_DURING_DELETE, ControllerContext, LeaderAndIsr
from broker_core.partitions import topic_of
from broker_core.wire.messages import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataPartition,
    UpdateMetadataRequest,
)


class ControllerBrokerRequestBatch:
    """See the module. A batch is used once: add to it, then `send` it."""

    def __init__(self, controller_id: int, context: ControllerContext, channels: ControllerChannelManager) -> None:
        self.controller_id = controller_id
        self.context = context
        self.channels = channels
        self._leader_and_isr: dict[int, dict[str, LeaderAndIsrPartition]] = {}
        self._stop_replica: dict[int, dict[str, StopReplicaPartition]] = {}
        self._update_metadata: dict[str, UpdateMetadataPartition] = {}
        self._update_metadata_brokers: set[int] = set()

    def add_leader_and_isr(self, brokers: Iterable[int], partition: str, state: LeaderAndIsr, *, is_new: bool) -> None:
        """Adds a partition's leader and ISR for brokers, and its metadata for all live brokers."""
        for broker_id in brokers:
            partitions = self._leader_and_isr.setdefault(broker_id, {})
            earlier = partitions.get(partition)
            partitions[partition] = LeaderAndIsrPartition(
                partition=partition,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                isr=state.isr,
                partition_epoch=state.partition_epoch,
                replicas=self.context.replicas(partition),
                topic_id=self.context.topic_ids.get(topic_of(partition), ""),
                is_new=is_new or (earlier is not None and earlier.is_new),
                leader_recovery_state=state.leader_recovery_state,
                controller_epoch=state.controller_epoch,
            )
        self.add_update_metadata(self.context.live_brokers, [partition])

    def add_update_metadata(self, brokers: Iterable[int], partitions: Iterable[str]) -> None:
        """Adds the live brokers and the states of the partitions, for brokers."""
        self._update_metadata_brokers.update(brokers)
        for partition in partitions:
            state = self.context.leadership.get(partition)
            if state is None:
                continue
            if self.context.is_queued_for_deletion(topic_of(partition)):
                state = LeaderAndIsr(LEADER_DURING_DELETE, 0, state.isr, controller_epoch=state.controller_epoch)
            replicas = self.context.replicas(partition)
            self._update_metadata[partition] = UpdateMetadataPartition(
                partition=partition,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                isr=state.isr,
                replicas=replicas,
                offline_replicas=tuple(
                    broker_id for broker_id in replicas if not self.context.is_replica_online(partition, broker_id)
                ),
                partition_epoch=state.partition_epoch,
                topic_id=self.context.topic_ids.get(topic_of(partition), ""),
                controller_epoch=state.controller_epoch,
            )

    def add_stop_replica(self, broker_id: int, partition: str, *, delete: bool) -> None:
        """Adds a request to stop a replica and, with `delete`, to delete its files."""
        partitions = self._stop_replica.setdefault(broker_id, {})
        earlier = partitions.get(partition)
        partitions[partition] = StopReplicaPartition(
            partition=partition,
            leader_epoch=self.context.leader_epoch(partition),
            delete_partition=delete or (earlier is not None and earlier.delete_partition),
        )

    def send(self) -> None:
        """Queues the requests for those brokers that are registered."""
        for broker_id, broker in self.context.live_brokers.items():
            head = (self.controller_id, self.context.epoch, broker.epoch)
            leader_and_isr = self._leader_and_isr.get(broker_id)
            if leader_and_isr:
                leaders = sorted({state.leader for state in leader_and_isr.values()} & self.context.live_brokers.keys())
                self.channels.send(
                    broker_id,
                    "LeaderAndIsr",
                    LeaderAndIsrRequest(*head, tuple(leader_and_isr.values()), tuple(leaders)),
                )
            if broker_id in self._update_metadata_brokers:
                live = self.context.live_brokers.items()
                live_brokers = tuple((live_id, each.epoch) for live_id, each in live)
                racks = tuple((live_id, each.rack) for live_id, each in live if each.rack is not None)
                self.channels.send(
                    broker_id,
                    "UpdateMetadata",
                    UpdateMetadataRequest(*head, tuple(self._update_metadata.values()), live_brokers, racks),
                )
            stop_replica = self._stop_replica.get(broker_id)
            if stop_replica:
                self.channels.send(broker_id, "StopReplica", StopReplicaRequest(*head, tuple(stop_replica.values())))
