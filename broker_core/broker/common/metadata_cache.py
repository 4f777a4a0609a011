"""A broker's metadata of the cluster, as last sent by the controller (`kafka.server.metadata.ZkMetadataCache`)."""

from typing import NamedTuple

from broker_core.partitions import TopicPartition, parse_requested, topic_of
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
    """Live brokers with their epochs and racks, the controller, partition states by topic-partition.
    `looks_for_partitions`: of the era (`RequestBehaviour`).
    """

    def __init__(self, looks_for_partitions: bool) -> None:
        self._looks_for_partitions = looks_for_partitions
        self.live_brokers: dict[int, int] = {}
        self.racks: dict[int, str] = {}
        self.controller_id = -1
        self.controller_epoch = 0
        self.partitions: dict[str, UpdateMetadataPartition] = {}
        self.topic_ids: dict[str, str] = {}
        self.topic_names: dict[str, str] = {}
        """The names of topics by id."""
        self._names: dict[str, set[str]] = {}
        """The partitions of each topic."""
        self._rows: dict[str, list[PartitionRow]] = {}
        """The cached results of `rows_of` that are still valid."""

    def update(self, request: UpdateMetadataRequest) -> None:
        """Takes an UpdateMetadata: brokers are replaced as a whole, partitions one by one."""
        self.controller_id = request.controller_id
        self.controller_epoch = request.controller_epoch
        live_brokers = dict(request.live_brokers)
        if live_brokers.keys() != self.live_brokers.keys():
            self._rows.clear()
        self.live_brokers = live_brokers
        self.racks = dict(request.racks)
        for partition in request.partitions:
            name = partition.partition
            topic = topic_of(name)
            names = self._names.setdefault(topic, set())
            self._rows.pop(topic, None)
            if partition.leader == DELETED_LEADER:
                self.partitions.pop(name, None)
                names.discard(name)
                if not names:
                    del self._names[topic]
                    self.topic_names.pop(self.topic_ids.pop(topic, ""), None)
            else:
                self.partitions[name] = partition
                names.add(name)
                self._identify(topic, partition.topic_id)

    def _identify(self, topic: str, topic_id: str) -> None:
        """Sets the id of a topic, which is another one when the topic was deleted and created again."""
        old_id = self.topic_ids.get(topic)
        if old_id != topic_id:
            self.topic_names.pop(old_id or "", None)
        self.topic_ids[topic] = topic_id
        if topic_id:
            self.topic_names[topic_id] = topic

    def rows_of(self, topic: str) -> list[PartitionRow]:
        """The partitions of a topic by number. Clients request it far more often than the controller updates it."""
        rows = self._rows.get(topic)
        if rows is None:
            names = sorted(self._names.get(topic, ()), key=lambda name: TopicPartition.parse(name).partition)
            rows = self._rows[topic] = [self._row(name, self.partitions[name]) for name in names]
        return rows

    def _row(self, name: str, state: UpdateMetadataPartition) -> PartitionRow:
        reported, live = state.offline_replicas, self.live_brokers
        offline = tuple([each for each in state.replicas if each not in live or each in reported])
        return PartitionRow(name, state.leader, state.leader_epoch, state.replicas, state.isr, offline)

    def partition_count(self, topic: str) -> int:
        """How many partitions of a topic the cache contains; 0 for an unknown topic."""
        return len(self._names.get(topic, ()))

    def is_known(self, partition: str) -> bool:
        """Whether Produce, DeleteRecords and commits of offsets find a requested partition: before 2.0 they look only
        for its topic, so that the partition itself may be absent.
        """
        if self._looks_for_partitions:
            return partition in self.partitions
        return parse_requested(partition).topic in self.topic_ids

    def is_alive(self, broker_id: int) -> bool:
        """Whether the broker is alive according to the controller."""
        return broker_id in self.live_brokers
