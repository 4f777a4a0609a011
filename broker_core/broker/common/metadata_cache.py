"""A broker's metadata of the cluster, as last sent by the controller (`kafka.server.metadata.ZkMetadataCache`)."""

from typing import NamedTuple

from broker_core.partitions import TopicPartition, topic_of
from broker_core.wire.messages import UpdateMetadataPartition, UpdateMetadataRequest

DELETED_LEADER = -2


class PartitionRow(NamedTuple):
    """The metadata of a partition in a response."""

    partition: str
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]


class MetadataCache:
    """Live brokers with their epochs, the controller, partition states by topic-partition."""

    def __init__(self) -> None:
        self.live_brokers: dict[int, int] = {}
        self.controller_id = -1
        self.controller_epoch = 0
        self.partitions: dict[str, UpdateMetadataPartition] = {}
        self.topic_ids: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._rows: dict[str, list[PartitionRow]] = {}

    def update(self, request: UpdateMetadataRequest) -> None:
        """Takes an UpdateMetadata: brokers are replaced as a whole, partitions one by one."""
        self.controller_id = request.controller_id
        self.controller_epoch = request.controller_epoch
        self.live_brokers = dict(request.live_brokers)
        self._rows.clear()
        for partition in request.partitions:
            topic = topic_of(partition.partition)
            if partition.leader == DELETED_LEADER:
                if self.partitions.pop(partition.partition, None) is not None:
                    self._counts[topic] -= 1
                if not self.partition_count(topic):
                    self._counts.pop(topic, None)
                    self.topic_ids.pop(topic, None)
            else:
                if partition.partition not in self.partitions:
                    self._counts[topic] = self.partition_count(topic) + 1
                self.partitions[partition.partition] = partition
                self.topic_ids[topic] = partition.topic_id

    def rows_of(self, topic: str) -> list[PartitionRow]:
        """The partitions of a topic by number. Clients request it far more often than the controller updates it."""
        if not self._rows:
            for name, state in self.partitions.items():
                told = state.offline_replicas
                offline = tuple([each for each in state.replicas if each not in self.live_brokers or each in told])
                row = PartitionRow(name, state.leader, state.leader_epoch, state.replicas, state.isr, offline)
                self._rows.setdefault(topic_of(name), []).append(row)
            for rows in self._rows.values():
                rows.sort(key=lambda row: TopicPartition.parse(row.partition).partition)
        return self._rows.get(topic, [])

    def partition_count(self, topic: str) -> int:
        """How many partitions of a topic the cache contains; 0 for an unknown topic."""
        return self._counts.get(topic, 0)

    def is_alive(self, broker_id: int) -> bool:
        """Whether the controller counts the broker among the living."""
        return broker_id in self.live_brokers
