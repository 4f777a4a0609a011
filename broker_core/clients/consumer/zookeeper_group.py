"""The znodes of a consumer before 0.9 under `/consumers/GROUP`, and how it computes its assignment.

Such a group has no coordinator: each member reads the registrations and the topics, computes the same assignment as the
others, and claims its part (`ZookeeperConsumerConnector`, `PartitionAssignor`, `ZkUtils` of 0.8.2).
"""

from collections.abc import Sequence

from broker_core.config_defs.java_text import signed, string_code
from broker_core.groups.zookeeper_offsets import CONSUMERS, NO_OFFSET, make_parents, read_offset, write_offset
from broker_core.partitions import TopicPartition, partition_name
from broker_core.sim.zookeeper import ZkClient
from broker_core.zk.store import NodeExists, NoNode
from broker_core.zk.znodes import BrokerIdZnode, ConsumerIdZnode, TopicZnode, ZnodeDataError

ASSIGNORS = ("range", "roundrobin")


class UnequalSubscriptions(Exception):
    """Members of the group subscribe to different topics, which the round robin of 0.8.2 does not support."""


class ZookeeperGroup:
    """One member's view of its group. Methods raise SessionExpired when the member's session has expired."""

    def __init__(self, zk: ZkClient, group: str, consumer_id: str) -> None:
        self.zk = zk
        self.group = group
        self.root = f"{CONSUMERS}/{group}"
        self.consumer_id = consumer_id

    @property
    def thread_id(self) -> str:
        """The id of the only stream of a consumer of the lab."""
        return f"{self.consumer_id}-0"

    def register(self, topics: Sequence[str], timestamp_ms: int) -> None:
        """Registers the member for the lifetime of its session. Raises NodeExists while an earlier registration
        exists.
        """
        znode = ConsumerIdZnode(
            subscription=dict.fromkeys(topics, 1), pattern="white_list", timestamp=str(timestamp_ms)
        )
        make_parents(self.zk, f"{self.root}/ids/x")
        self.zk.create(f"{self.root}/ids/{self.consumer_id}", znode.encode(), ephemeral=True)

    def watch_members(self) -> list[str]:
        """The registered members; watches for the next change."""
        return self.zk.children(f"{self.root}/ids", watch=True)

    def watch_topic(self, topic: str) -> None:
        """Watches for the next change of a topic's partitions."""
        self.zk.exists(TopicZnode.path(topic), watch=True)

    def brokers(self) -> list[str]:
        """The ids of the brokers that are up."""
        return self.zk.children(BrokerIdZnode.PARENT)

    def watch_brokers(self) -> None:
        """Watches for the next broker that starts or stops."""
        self.zk.children(BrokerIdZnode.PARENT, watch=True)

    def _threads(self, topic: str) -> list[str]:
        """The streams of all members that subscribe to a topic, sorted."""
        threads = []
        for member in sorted(self.zk.children(f"{self.root}/ids")):
            try:
                data, _ = self.zk.get(f"{self.root}/ids/{member}")
                streams = ConsumerIdZnode.decode(member, data).subscription.get(topic, 0)
            except (NoNode, ZnodeDataError):
                continue
            threads += [f"{member}-{number}" for number in range(streams)]
        return sorted(threads)

    def _partitions(self, topic: str) -> list[int]:
        try:
            data, _ = self.zk.get(TopicZnode.path(topic))
            return sorted(map(int, TopicZnode.decode(topic, data).partitions))
        except (NoNode, ZnodeDataError):
            return []

    def share(self, assignor: str, topics: Sequence[str]) -> list[str]:
        """The assignment of this member. Raises UnequalSubscriptions."""
        found: list[str] = []
        if assignor == "range":
            for topic in sorted(topics):
                threads, numbers = self._threads(topic), self._partitions(topic)
                each, more = divmod(len(numbers), max(1, len(threads)))
                place = threads.index(self.thread_id) if self.thread_id in threads else len(threads)
                first = each * place + min(place, more)
                count = each + (place < more) if place < len(threads) else 0
                found += [partition_name(topic, number) for number in numbers[first : first + count]]
            return found
        by_topic = {topic: self._threads(topic) for topic in sorted(topics)}
        if any(threads != by_topic[sorted(topics)[0]] for threads in by_topic.values()):
            raise UnequalSubscriptions
        everything = [(topic, number) for topic in by_topic for number in self._partitions(topic)]
        everything.sort(key=lambda row: signed(string_code(f"[{row[0]},{row[1]}]")))
        threads = by_topic[sorted(topics)[0]]
        for turn, (topic, number) in enumerate(everything):
            if threads[turn % len(threads)] == self.thread_id:
                found.append(partition_name(topic, number))
        return found

    def own(self, partitions: Sequence[str]) -> str:
        """Registers itself as the owner. Releases all if another member owns one, and returns which; "" on success."""
        mine: list[str] = []
        for name in partitions:
            path = self._owner_path(name)
            make_parents(self.zk, path)
            try:
                self.zk.create(path, self.thread_id.encode(), ephemeral=True)
            except NodeExists:
                self.release(mine)
                return name
            mine.append(name)
        return ""

    def release(self, partitions: Sequence[str]) -> None:
        """Releases its ownership."""
        for name in partitions:
            try:
                self.zk.delete(self._owner_path(name))
            except NoNode:
                continue

    def _owner_path(self, name: str) -> str:
        topic, number = TopicPartition.parse(name)
        return f"{self.root}/owners/{topic}/{number}"

    def offset(self, name: str) -> int:
        """The stored offset, NO_OFFSET for none."""
        found = read_offset(self.zk, self.group, name)
        return NO_OFFSET if found is None else found

    def write_offset(self, name: str, offset: int) -> None:
        """Writes an offset, whichever member wrote it last."""
        write_offset(self.zk, self.group, name, offset)
