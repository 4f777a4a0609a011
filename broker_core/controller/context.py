"""The controller's context: live brokers, topics with their assignments, leaders and ISRs.

All of it is in ZooKeeper; this is the copy that the controller's decisions use (`kafka.controller.ControllerContext`).
Partitions are named as everywhere in the lab: "orders-0".
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from broker_core.controller.replica_assignment import ReplicaAssignment
from broker_core.partitions import ReplicaId, TopicPartition, partition_name, topic_of
from broker_core.zk.znodes import PartitionStateZnode, TopicZnode

NO_EPOCH = -1
LEADER_DURING_DELETE = -2
EPOCH_DURING_DELETE = -2
RECOVERED, RECOVERING = 0, 1


class LiveBroker(NamedTuple):
    """A registered broker: the czxid of its registration is its epoch."""

    epoch: int
    rack: str | None
    endpoints: tuple[str, ...]


class LeaderAndIsr(msgspec.Struct, frozen=True, gc=False):
    """The state of a partition as its znode has it (`LeaderIsrAndControllerEpoch`).

    `partition_epoch` is the znode's version, `controller_epoch` that of the controller that made the decision.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    leader_recovery_state: int = RECOVERED
    partition_epoch: int = 0
    controller_epoch: int = 0

    def next(self, leader: int, isr: tuple[int, ...], *, recovering: bool = False) -> "LeaderAndIsr":
        """The state after a decision of a controller, with the next leader epoch."""
        return msgspec.structs.replace(
            self,
            leader=leader,
            leader_epoch=self.leader_epoch + 1,
            isr=isr,
            leader_recovery_state=RECOVERING if recovering else self.leader_recovery_state,
        )

    def encode(self) -> bytes:
        """The znode's data. The recovery state is written only while it is RECOVERING."""
        recovery = {"leader_recovery_state": RECOVERING} if self.leader_recovery_state == RECOVERING else {}
        return PartitionStateZnode(
            controller_epoch=self.controller_epoch,
            leader=self.leader,
            leader_epoch=self.leader_epoch,
            isr=self.isr,
            **recovery,
        ).encode()

    @staticmethod
    def decode(partition: str, data: bytes, version: int) -> "LeaderAndIsr":
        """From a znode's data and version. Raises ZnodeDataError."""
        znode = PartitionStateZnode.decode(*TopicPartition.parse(partition), data)
        return LeaderAndIsr(
            leader=znode.leader,
            leader_epoch=znode.leader_epoch,
            isr=znode.isr,
            leader_recovery_state=RECOVERING if znode.recovering else RECOVERED,
            partition_epoch=version,
            controller_epoch=znode.controller_epoch,
        )


class ControllerContext:
    """See the module. Everything iterates in a fixed order: topics by name, partitions by number, brokers by id."""

    def __init__(self, topic_znode_version: int = 3) -> None:
        self.topic_znode_version = topic_znode_version
        self.reset()

    def reset(self) -> None:
        """Drops all state: this broker is not the controller."""
        self.epoch = 0
        self.epoch_zk_version = 0
        self.live_brokers: dict[int, LiveBroker] = {}
        self.shutting_down: set[int] = set()
        self.topic_ids: dict[str, str] = {}
        self.assignments: dict[str, dict[int, tuple[int, ...]]] = {}
        # partition -> its assignment, for those being reassigned
        self.reassignments: dict[str, ReplicaAssignment] = {}
        self.leadership: dict[str, LeaderAndIsr] = {}
        self.replicas_on_offline_dirs: dict[int, set[str]] = {}
        self.topics_to_delete: dict[str, None] = {}
        self.topics_with_deletion_started: set[str] = set()
        self.topics_ineligible_for_deletion: set[str] = set()

    # Brokers

    def add_live_brokers(self, brokers: dict[int, LiveBroker]) -> None:
        """Brokers have registered."""
        self.live_brokers = dict(sorted((self.live_brokers | brokers).items()))

    def remove_live_brokers(self, broker_ids: list[int]) -> None:
        """Brokers are no longer registered."""
        self.live_brokers = {each: broker for each, broker in self.live_brokers.items() if each not in broker_ids}

    def is_live(self, broker_id: int) -> bool:
        """Whether a broker is registered and not shutting down."""
        return broker_id in self.live_brokers and broker_id not in self.shutting_down

    def is_replica_online(self, partition: str, broker_id: int, *, or_shutting_down: bool = False) -> bool:
        """Whether a replica is online: its broker is live and has not reported its disk as failed."""
        live = broker_id in self.live_brokers if or_shutting_down else self.is_live(broker_id)
        return live and partition not in self.replicas_on_offline_dirs.get(broker_id, ())

    # Topics and partitions

    @property
    def topics(self) -> list[str]:
        """All topics, by name."""
        return sorted(self.assignments)

    def add_topic(self, topic: str, topic_id: str, assignment: dict[int, tuple[int, ...]]) -> None:
        """Adds a topic from its znode."""
        self.topic_ids[topic] = topic_id
        self.assignments[topic] = dict(sorted(assignment.items()))

    def remove_topic(self, topic: str) -> None:
        """Removes a deleted topic."""
        for partition in self.partitions_of(topic):
            self.leadership.pop(partition, None)
            self.reassignments.pop(partition, None)
        self.assignments.pop(topic, None)
        self.topic_ids.pop(topic, None)
        self.topics_to_delete.pop(topic, None)
        self.topics_with_deletion_started.discard(topic)
        self.topics_ineligible_for_deletion.discard(topic)

    def partitions_of(self, topic: str) -> list[str]:
        """The partitions of a topic, by number."""
        return [partition_name(topic, number) for number in self.assignments.get(topic, ())]

    def all_partitions(self) -> list[str]:
        """All partitions, by topic and number."""
        return [partition for topic in self.topics for partition in self.partitions_of(topic)]

    def replicas(self, partition: str) -> tuple[int, ...]:
        """The replicas of a partition; () if it is not known."""
        topic, number = TopicPartition.parse(partition)
        return self.assignments.get(topic, {}).get(number, ())

    def assignment(self, partition: str) -> ReplicaAssignment:
        """The assignment of a partition, with its adding and removing replicas."""
        return self.reassignments.get(partition) or ReplicaAssignment(self.replicas(partition))

    def set_assignment(self, partition: str, assignment: ReplicaAssignment) -> None:
        """Sets the assignment of a known partition. It counts as being reassigned until `reassignment_done`."""
        topic, number = TopicPartition.parse(partition)
        self.assignments[topic][number] = assignment.replicas
        if partition in self.reassignments or assignment.is_being_reassigned:
            self.reassignments[partition] = assignment

    def topic_znode(self, topic: str, changed: Mapping[str, ReplicaAssignment] | None = None) -> TopicZnode:
        """The topic's znode to write: its assignments, replaced for the partitions in `changed`."""
        every = {
            number: (changed or {}).get(partition) or self.assignment(partition)
            for number, partition in zip(self.assignments[topic], self.partitions_of(topic), strict=True)
        }
        return TopicZnode(
            version=self.topic_znode_version,
            partitions={number: each.replicas for number, each in every.items()},
            topic_id=self.topic_ids[topic],
            adding_replicas={number: each.adding for number, each in every.items() if each.adding},
            removing_replicas={number: each.removing for number, each in every.items() if each.removing},
        )

    def online_replicas(self, partition: str, *, or_shutting_down: bool = False) -> list[int]:
        """The online replicas of a partition, in the order of the assignment."""
        return [
            broker_id
            for broker_id in self.replicas(partition)
            if self.is_replica_online(partition, broker_id, or_shutting_down=or_shutting_down)
        ]

    def replicas_of(self, partitions: Iterable[str]) -> Iterator[ReplicaId]:
        """All replicas of some partitions."""
        return (ReplicaId(partition, broker_id) for partition in partitions for broker_id in self.replicas(partition))

    def replicas_on(self, broker_id: int) -> list[ReplicaId]:
        """All replicas that a broker has been assigned."""
        return [
            ReplicaId(partition, broker_id)
            for partition in self.all_partitions()
            if broker_id in self.replicas(partition)
        ]

    # Leaders

    def partitions_with_leaders(self) -> list[str]:
        """Partitions that have a state in ZooKeeper and are not being deleted."""
        return [partition for partition in self.leadership if not self.is_queued_for_deletion(topic_of(partition))]

    def partitions_with_offline_leader(self) -> list[str]:
        """Partitions without a leader or with an offline one."""
        return [
            partition
            for partition in self.partitions_with_leaders()
            if not self.is_replica_online(partition, self.leadership[partition].leader)
        ]

    def partitions_led_by(self, broker_id: int) -> list[str]:
        """Partitions with more than one replica that a broker leads."""
        return [
            partition
            for partition in self.partitions_with_leaders()
            if self.leadership[partition].leader == broker_id and len(self.replicas(partition)) > 1
        ]

    def leader_epoch(self, partition: str) -> int:
        """The leader epoch for a StopReplica: -2 during deletion overrides any, -1 means none."""
        if self.is_queued_for_deletion(topic_of(partition)):
            return EPOCH_DURING_DELETE
        state = self.leadership.get(partition)
        return NO_EPOCH if state is None else state.leader_epoch

    # Deletion

    def is_queued_for_deletion(self, topic: str) -> bool:
        """Whether the topic's deletion is requested."""
        return topic in self.topics_to_delete
