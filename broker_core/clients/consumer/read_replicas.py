"""The preferred read replicas of a consumer (KIP-392; `SubscriptionState.preferredReadReplica`)."""

from collections.abc import Iterable
from typing import Protocol

import msgspec

from broker_core.clients.metadata import ClientMetadata
from broker_core.errors import Errors
from broker_core.events.client import ReadReplicaCleared, ReadReplicaNamed
from broker_core.events.rpc import Fields
from broker_core.partitions import broker_node
from broker_core.sim.kernel import Kernel, Subjects, applies

_SENDS_BACK = frozenset(
    {
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.REPLICA_NOT_AVAILABLE,
        Errors.KAFKA_STORAGE_ERROR,
        Errors.FENCED_LEADER_EPOCH,
        Errors.OFFSET_NOT_AVAILABLE,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.UNKNOWN_TOPIC_ID,
        Errors.INCONSISTENT_TOPIC_ID,
    }
)
"""Errors after which the consumer asks the leader again (`FetchUtils.requestMetadataUpdate`)."""


def rack_fields(rack: str) -> Fields:
    """The rack in a Fetch request, as shown by the page."""
    return (("rack_id", rack),) if rack else ()


class Preferred(msgspec.Struct, frozen=True):
    """The replica that a leader named in an epoch; after `expires_us` the leader is used again."""

    node: str
    leader_epoch: int
    expires_us: int


class ReadReplicas:
    """See the module. `preferred` is changed only by events: the replicas that leaders named, by partition."""

    def __init__(self, kernel: Kernel, name: str, metadata: ClientMetadata, max_age_ms: int) -> None:
        self._kernel = kernel
        self._name = name
        self._metadata = metadata
        self._max_age_us = max_age_ms * 1_000
        self.preferred: dict[str, Preferred] = {}

    def description(self) -> dict[str, str]:
        """The replicas that leaders named, as shown in the view."""
        return {partition: preferred.node for partition, preferred in self.preferred.items()}

    def node_for(self, partition: str, leader: str) -> str:
        """The broker to fetch from: the leader, unless it named another one that is still valid."""
        preferred = self.preferred.get(partition)
        if preferred is None:
            return leader
        info = self._metadata.partitions[partition]
        if self._kernel.now_us > preferred.expires_us:
            self.clear(partition, "reason.read_replica_expired")
        elif info.leader_epoch != preferred.leader_epoch:
            self.clear(partition, f"reason.read_replica_new_leader?leader={leader}")
        elif preferred.node not in self._metadata.nodes or preferred.node not in map(broker_node, info.online):
            self.clear(partition, "reason.read_replica_offline")
        else:
            return preferred.node
        return leader

    def named(self, partition: str, broker_id: int) -> None:
        """The leader named a replica to read from."""
        node, known = broker_node(broker_id), self.preferred.get(partition)
        info = self._metadata.partitions.get(partition)
        if info is None or (known is not None and known.node == node):
            return
        self._kernel.emit(
            ReadReplicaNamed(
                client=self._name,
                partition=partition,
                replica=node,
                leader=self._metadata.leader_of(partition) or "",
                leader_epoch=info.leader_epoch,
                due_us=self._kernel.now_us + self._max_age_us,
            ),
            self._name,
        )

    def clear(self, partition: str, why: str) -> bool:
        """Returns to the leader. Returns whether another replica had been named."""
        known = self.preferred.get(partition)
        if known is None:
            return False
        cleared = ReadReplicaCleared(client=self._name, partition=partition, replica=known.node, why=why)
        self._kernel.emit(cleared, self._name)
        return True

    def failed(self, partition: str, error: Errors) -> bool:
        """Handles the error of a fetch. Returns whether the leader is used next instead of handling it: an offset that
        is out of range at a follower may be in range at the leader.
        """
        if error is Errors.OFFSET_OUT_OF_RANGE:
            return self.clear(partition, error.name)
        if error in _SENDS_BACK:
            self.clear(partition, error.name)
        return False

    def disconnected(self, partitions: Iterable[str]) -> None:
        """A broker does not respond to a fetch of these partitions."""
        for partition in partitions:
            self.clear(partition, "reason.read_replica_disconnected")


class ReadsFromReplicas(Protocol):
    """A client with read replicas."""

    read_replicas: ReadReplicas


@applies(ReadReplicaNamed)
def _named(subjects: Subjects, event: ReadReplicaNamed, at_us: int) -> None:
    client: ReadsFromReplicas = subjects[event.client]
    preferred = Preferred(event.replica, event.leader_epoch, event.due_us)
    client.read_replicas.preferred[event.partition] = preferred


@applies(ReadReplicaCleared)
def _cleared(subjects: Subjects, event: ReadReplicaCleared, at_us: int) -> None:
    client: ReadsFromReplicas = subjects[event.client]
    del client.read_replicas.preferred[event.partition]
