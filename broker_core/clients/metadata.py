"""A client's metadata of the cluster, from Metadata responses of any broker (`Metadata`, `NetworkClient`)."""

import msgspec

from broker_core.errors import Errors
from broker_core.partitions import broker_node, topic_of
from broker_core.wire.messages import MetadataResponse

RETRY_BACKOFF_US = 100_000
MAX_RETRY_BACKOFF_US = 1_000_000


STALE_METADATA_ERRORS = frozenset(
    {
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.LEADER_NOT_AVAILABLE,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.FENCED_LEADER_EPOCH,
        Errors.UNKNOWN_LEADER_EPOCH,
        Errors.NETWORK_EXCEPTION,
        Errors.KAFKA_STORAGE_ERROR,
    }
)
"""Errors after which a client requests metadata (`InvalidMetadataException`)."""


def backoff_us(attempts: int) -> int:
    """How long to wait before the attempt after `attempts` failed ones: `retry.backoff.ms`, doubled up to
    `retry.backoff.max.ms` (KIP-580, without its jitter).
    """
    return min(RETRY_BACKOFF_US << max(0, attempts - 1), MAX_RETRY_BACKOFF_US)


class PartitionInfo(msgspec.Struct, frozen=True, gc=False):
    """`leader` -1 = none. `online`: the brokers of the replicas that are not offline."""

    leader: int
    leader_epoch: int
    online: tuple[int, ...] = ()


class ClientMetadata:
    """A client's view of the cluster, as old as its last response.

    `bootstrap`: names of the brokers to ask first. An unreachable broker is asked again after all others.
    """

    def __init__(self, bootstrap: tuple[str, ...]) -> None:
        self.nodes: list[str] = list(bootstrap)
        self.partitions: dict[str, PartitionInfo] = {}
        self.topic_errors: dict[str, Errors] = {}
        self.partition_counts: dict[str, int] = {}

    def node_for_request(self) -> str:
        """The broker to send the next Metadata request to."""
        return self.nodes[0]

    def unreachable(self, node: str) -> None:
        """A broker did not respond: the others are preferred from now on."""
        if node in self.nodes:
            self.nodes.remove(node)
            self.nodes.append(node)

    def update(self, response: MetadataResponse) -> None:
        """Applies a response."""
        live = [broker_node(broker_id) for broker_id in response.brokers]
        if live:
            known = [node for node in self.nodes if node in live]
            self.nodes = known + [node for node in live if node not in known]
        for name, _, error in response.topics:
            self.topic_errors[name] = error
            if error is not Errors.NONE:
                self.partition_counts.pop(name, None)
                for partition in [p for p in self.partitions if topic_of(p) == name]:
                    del self.partitions[partition]
            else:
                self.partition_counts[name] = 0
        for partition, leader, leader_epoch, replicas, _, offline in response.partitions:
            online = replicas if not offline else tuple([each for each in replicas if each not in offline])
            self.partitions[partition] = PartitionInfo(leader, leader_epoch, online)
            topic = topic_of(partition)
            self.partition_counts[topic] = self.partition_counts.get(topic, 0) + 1

    def why_absent(self, topic: str) -> Errors | None:
        """The last error of a topic, unless it exists."""
        error = self.topic_errors.get(topic, Errors.NONE)
        return None if error is Errors.NONE else error

    def leader_of(self, partition: str) -> str | None:
        """The name of the partition's leader, None when there is none or nothing is known."""
        info = self.partitions.get(partition)
        return None if info is None or info.leader < 0 else broker_node(info.leader)
