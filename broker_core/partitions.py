"""The names of brokers, partitions and replicas: `b1`, `orders-0`, `orders-0@b1`.

Events, the view and the console use these names, and the engine keeps partitions and replicas under them. Only this
module builds and parses them; tests/project/test_names.py checks it.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple


def broker_node(broker_id: int) -> str:
    """The name of a broker's node."""
    return f"b{broker_id}"


@lru_cache(maxsize=4096)
def broker_id_of(node: str) -> int:
    """The id of the broker on a node; negative for one that cannot exist, as CreateTopics may assign a replica to.
    Raises ValueError if the node is not a broker's.
    """
    if not is_broker(node.replace("-", "", 1)):
        raise ValueError(f"{node!r} is not the node of a broker")
    return int(node[1:])


def is_broker(node: str) -> bool:
    """Whether a node is a broker's."""
    return node[:1] == "b" and node[1:].isdecimal()


class TopicPartition(NamedTuple):
    """A partition (Kafka's class of the same name)."""

    topic: str
    partition: int

    @staticmethod
    def parse(name: str) -> "TopicPartition":
        """The partition of this name. Raises ValueError if no partition can have it."""
        return _parse_partition(name)

    def __str__(self) -> str:
        return partition_name(self.topic, self.partition)


@lru_cache(maxsize=4096)
def _parse_partition(name: str) -> TopicPartition:
    topic, dash, number = name.rpartition("-")
    if not dash:
        raise ValueError(f"{name!r} is not the name of a partition")
    return TopicPartition(topic, int(number))


def partition_name(topic: str, partition: int | str) -> str:
    """The name of a partition. A number from a znode's path is taken as it is written there."""
    return f"{topic}-{partition}"


def topic_of(partition: str) -> str:
    """The topic of a partition."""
    return partition.rpartition("-")[0]


_NEGATIVE = "/"
"""Ends the topic of a requested partition before a negative index, for `orders--1` is partition 1 of the topic
`orders-`. No topic's name has a slash."""


def requested_partition(topic: str, index: int) -> str:
    """The name of a partition in a request, whose index may be negative."""
    return partition_name(topic, index) if index >= 0 else f"{topic}{_NEGATIVE}{index}"


def parse_requested(name: str) -> TopicPartition:
    """The partition of a name made by `requested_partition`."""
    topic, index = TopicPartition.parse(name)
    return TopicPartition(topic[:-1], -index) if topic.endswith(_NEGATIVE) else TopicPartition(topic, index)


def sorted_partitions(names: Iterable[str]) -> list[str]:
    """Partitions by topic and number."""
    return sorted(names, key=TopicPartition.parse)


class ReplicaId(NamedTuple):
    """A partition's replica on a broker (Kafka: `PartitionAndReplica`, `TopicPartitionReplica`)."""

    partition: str
    broker_id: int

    @staticmethod
    def parse(name: str) -> "ReplicaId":
        """The replica of this name. Raises ValueError if no replica can have it."""
        partition, node = split_replica(name)
        return ReplicaId(partition, broker_id_of(node))

    @property
    def node(self) -> str:
        """The node of the broker."""
        return broker_node(self.broker_id)

    def __str__(self) -> str:
        return replica_name(self.partition, self.node)


def replica_name(partition: str, node: str) -> str:
    """The name of a partition's replica on a node."""
    return f"{partition}@{node}"


def split_replica(name: str) -> tuple[str, str]:
    """The partition and the node of a replica. A lesson's reference, `orders-0@leader`, has a role instead of a node;
    any other name is returned with an empty node.
    """
    partition, _, node = name.partition("@")
    return partition, node


def partition_of(name: str) -> str:
    """The partition of a replica; other names, such as a partition's own, are returned unchanged."""
    return split_replica(name)[0]
