"""The controller's reads of ZooKeeper, and its writes, fenced by the version of /controller_epoch (`KafkaZkClient`).

A controller that was replaced without being notified can thus not overwrite its successor's state.
"""

from contextlib import suppress
from typing import NamedTuple

import msgspec

from broker_core.controller.context import ControllerContext, LeaderAndIsr, LiveBroker
from broker_core.controller.host import ControllerHost
from broker_core.partitions import TopicPartition, partition_name, topic_of
from broker_core.zk.store import (
    BadVersion,
    Check,
    Create,
    Delete,
    NodeExists,
    NoNode,
    NotEmpty,
    Op,
    OpResult,
    SessionExpired,
    SetData,
    ZkError,
    ZnodeStat,
)
from broker_core.zk.znodes import (
    BrokerIdZnode,
    ConfigZnode,
    ControllerEpochZnode,
    ControllerZnode,
    DeleteTopicZnode,
    IsrChangeNotificationZnode,
    LogDirEventNotificationZnode,
    PartitionReassignment,
    PartitionStateZnode,
    PreferredReplicaElectionZnode,
    ReassignPartitionsZnode,
    TopicZnode,
    ZnodeDataError,
)

NO_CONTROLLER = -1


class ControllerMoved(Exception):
    """Another controller was, or may have been, elected: writes are rejected (`ControllerMovedException`)."""


class StateUpdates(NamedTuple):
    """The results of conditional writes of partition states: the new states, and the partitions whose znode had
    changed, which can be retried. A partition in neither no longer has a znode.
    """

    done: dict[str, LeaderAndIsr]
    retry: list[str]


class KafkaZkClient:
    """See the module. Methods that write raise ControllerMoved, and ZkError for other errors of ZooKeeper."""

    def __init__(self, host: ControllerHost, context: ControllerContext) -> None:
        self.host = host
        self.context = context

    def fenced(self, op: Op) -> OpResult:
        """Writes if no later controller has been elected. Before broker epochs writes were not fenced."""
        if not self.host.era.controller.broker_epochs:
            return self.host.zk.multi([op])[0]
        check = Check(ControllerEpochZnode.PATH, self.context.epoch_zk_version)
        try:
            return self.host.zk.multi([check, op])[1]
        except ZkError as error:
            if error.index == 0 or isinstance(error, SessionExpired):
                raise ControllerMoved(
                    f"Controller epoch zkVersion check fails. Expected zkVersion = {check.version}"
                ) from error
            raise

    # The election

    def controller_id(self) -> int:
        """The broker that holds /controller, -1 for none. Raises ZnodeDataError."""
        try:
            data, _ = self.host.zk.get(ControllerZnode.PATH)
        except NoNode:
            return NO_CONTROLLER
        return ControllerZnode.decode(data).broker_id

    def watch_controller(self) -> None:
        """Watches /controller, its creation and deletion included."""
        self.host.zk.exists(ControllerZnode.PATH, watch=True)

    def register_controller(self, broker_id: int) -> tuple[int, int]:
        """Creates /controller and increments /controller_epoch atomically. Returns epoch and znode version.

        Raises ControllerMoved if another broker was first, ZnodeDataError for an unreadable epoch.
        """
        zk = self.host.zk
        if not self.host.era.controller.broker_epochs:
            return self._register_in_steps(broker_id)
        if zk.exists(ControllerEpochZnode.PATH) is None:
            zk.create(ControllerEpochZnode.PATH, ControllerEpochZnode.encode(ControllerEpochZnode.INITIAL_EPOCH))
        data, stat = zk.get(ControllerEpochZnode.PATH)
        epoch = ControllerEpochZnode.decode(data) + 1
        try:
            results = zk.multi(
                [
                    Create(ControllerZnode.PATH, self._controller_znode(broker_id), ephemeral=True),
                    SetData(ControllerEpochZnode.PATH, ControllerEpochZnode.encode(epoch), stat.version),
                ]
            )
        except (NodeExists, BadVersion) as error:
            raise ControllerMoved(
                "Controller moved to another broker. Aborting controller startup procedure"
            ) from error
        assert isinstance(results[1], ZnodeStat)
        return epoch, results[1].version

    def _register_in_steps(self, broker_id: int) -> tuple[int, int]:
        """Before brokers had epochs: first /controller, then /controller_epoch (`incrementControllerEpoch`)."""
        zk = self.host.zk
        try:
            zk.create(ControllerZnode.PATH, self._controller_znode(broker_id), ephemeral=True)
        except NodeExists as error:
            raise ControllerMoved("Broker was elected as controller instead of this one") from error
        if zk.exists(ControllerEpochZnode.PATH) is None:
            zk.create(ControllerEpochZnode.PATH, ControllerEpochZnode.encode(1))
            return 1, 0
        data, stat = zk.get(ControllerEpochZnode.PATH)
        epoch = ControllerEpochZnode.decode(data) + 1
        try:
            version = zk.set(ControllerEpochZnode.PATH, ControllerEpochZnode.encode(epoch), stat.version).version
        except BadVersion as error:
            raise ControllerMoved(
                "Controller moved to another broker. Aborting controller startup procedure"
            ) from error
        return epoch, version

    def _controller_znode(self, broker_id: int) -> bytes:
        version = self.host.era.zookeeper.controller_version
        return ControllerZnode(broker_id=broker_id, timestamp=str(self.host.wall_ms), version=version).encode()

    # Brokers and topics

    def brokers(self, *, watch: bool = True) -> dict[int, LiveBroker]:
        """The registered brokers; watches their list by default."""
        zk = self.host.zk
        brokers = {}
        for name in self._children(BrokerIdZnode.PARENT, watch=watch):
            try:
                broker_id = int(name)
                data, stat = zk.get(BrokerIdZnode.path(broker_id))
                znode = BrokerIdZnode.decode(broker_id, data)
            except (ValueError, NoNode):
                continue
            rack = znode.rack if isinstance(znode.rack, str) else None
            brokers[broker_id] = LiveBroker(stat.czxid, rack, znode.endpoints)
        return brokers

    def watch_broker(self, broker_id: int) -> None:
        """Watches a registration."""
        self.host.zk.exists(BrokerIdZnode.path(broker_id), watch=True)

    def topics(self, *, watch: bool = True) -> list[str]:
        """The topics by name; watches their list by default."""
        return self._children(TopicZnode.PARENT, watch=watch)

    def topic(self, topic: str) -> TopicZnode | None:
        """A topic's assignment, with a watch. None for malformed data, as in Kafka."""
        try:
            data, _ = self.host.zk.get(TopicZnode.path(topic), watch=True)
            return TopicZnode.decode(topic, data)
        except (NoNode, ZnodeDataError):
            return None

    def set_topic(self, topic: str, znode: TopicZnode) -> None:
        """Writes a topic's assignment and id."""
        self.fenced(SetData(TopicZnode.path(topic), znode.encode()))

    def topic_configs(self, topic: str) -> dict[str, str]:
        """A topic's own configuration; empty if there is none or it is malformed."""
        try:
            data, _ = self.host.zk.get(ConfigZnode.path("topics", topic))
            return ConfigZnode.decode("topics", topic, data).config
        except (NoNode, ZnodeDataError):
            return {}

    def partition_reassignments(self) -> dict[str, tuple[int, ...]] | None:
        """The requests in /admin/reassign_partitions; empty if malformed. None if there is no such znode: then its
        creation is watched.
        """
        try:
            data, _ = self.host.zk.get(ReassignPartitionsZnode.PATH)
        except NoNode:
            self.host.zk.exists(ReassignPartitionsZnode.PATH, watch=True)
            return None
        try:
            wanted = ReassignPartitionsZnode.decode(data).partitions
        except ZnodeDataError:
            return {}
        return {partition_name(each.topic, each.partition): each.replicas for each in wanted}

    def set_partition_reassignments(self, wanted: dict[str, tuple[int, ...]]) -> None:
        """Writes the remaining requests to /admin/reassign_partitions; deletes the znode if there are none."""
        if not wanted:
            self._delete(ReassignPartitionsZnode.PATH)
            return
        znode = ReassignPartitionsZnode(
            partitions=tuple(
                PartitionReassignment(*TopicPartition.parse(name), replicas) for name, replicas in wanted.items()
            )
        )
        self.fenced(SetData(ReassignPartitionsZnode.PATH, znode.encode()))

    def preferred_replica_elections(self) -> list[str] | None:
        """The partitions in /admin/preferred_replica_election; empty if malformed. None if there is no such znode: then
        its creation is watched.
        """
        try:
            data, _ = self.host.zk.get(PreferredReplicaElectionZnode.PATH)
        except NoNode:
            self.host.zk.exists(PreferredReplicaElectionZnode.PATH, watch=True)
            return None
        try:
            wanted = PreferredReplicaElectionZnode.decode(data).partitions
        except ZnodeDataError:
            return []
        return [partition_name(each.topic, each.partition) for each in wanted]

    # Partition states

    def watch_partition_state(self, partition: str) -> None:
        """Watches a partition's state."""
        self.host.zk.exists(PartitionStateZnode.path(*TopicPartition.parse(partition)), watch=True)

    def partition_states(self, partitions: list[str]) -> dict[str, LeaderAndIsr]:
        """The states in ZooKeeper, for those partitions that have a readable one."""
        states = {}
        for partition in partitions:
            try:
                data, stat = self.host.zk.get(PartitionStateZnode.path(*TopicPartition.parse(partition)))
                states[partition] = LeaderAndIsr.decode(partition, data, stat.version)
            except (NoNode, ZnodeDataError):
                continue
        return states

    def create_partition_states(self, states: dict[str, LeaderAndIsr]) -> dict[str, LeaderAndIsr]:
        """Writes the first states of new partitions, parents first. Returns those that were created."""
        created = {}
        for topic in dict.fromkeys(map(topic_of, states)):
            self._create_parent(TopicZnode.partitions_path(topic))
        for partition in states:
            self._create_parent(PartitionStateZnode.partition_path(*TopicPartition.parse(partition)))
        for partition, state in states.items():
            try:
                self.fenced(Create(PartitionStateZnode.path(*TopicPartition.parse(partition)), state.encode()))
            except (NoNode, NodeExists):
                continue
            created[partition] = state
        return created

    def update_partition_states(self, states: dict[str, LeaderAndIsr]) -> StateUpdates:
        """Writes states if the znode still has the version that they are based on."""
        updates = StateUpdates({}, [])
        for partition, state in states.items():
            state = msgspec.structs.replace(state, controller_epoch=self.context.epoch)
            try:
                stat = self.fenced(
                    SetData(
                        PartitionStateZnode.path(*TopicPartition.parse(partition)),
                        state.encode(),
                        state.partition_epoch,
                    )
                )
            except BadVersion:
                updates.retry.append(partition)
                continue
            except NoNode:
                continue
            assert isinstance(stat, ZnodeStat)
            updates.done[partition] = msgspec.structs.replace(state, partition_epoch=stat.version)
        return updates

    def _create_parent(self, path: str) -> None:
        with suppress(NodeExists, NoNode):
            self.fenced(Create(path))

    # Notifications and deletions

    def isr_change_notifications(self) -> list[str]:
        """The sequential children's paths; has the next one reported."""
        parent = IsrChangeNotificationZnode.PARENT
        return [f"{parent}/{name}" for name in self._children(parent)]

    def partitions_of_isr_changes(self, paths: list[str]) -> list[str]:
        """The partitions that notifications name, each once."""
        partitions: dict[str, None] = {}
        for path in paths:
            try:
                data, _ = self.host.zk.get(path)
                named = IsrChangeNotificationZnode.decode(path, data).partitions
            except (NoNode, ZnodeDataError):
                continue
            partitions |= dict.fromkeys(partition_name(each.topic, each.partition) for each in named)
        return list(partitions)

    def log_dir_events(self) -> list[str]:
        """The sequential children's paths; has the next one reported."""
        parent = LogDirEventNotificationZnode.PARENT
        return [f"{parent}/{name}" for name in self._children(parent)]

    def brokers_of_log_dir_events(self, paths: list[str]) -> list[int]:
        """The brokers that reported a failure, each once."""
        brokers: dict[int, None] = {}
        for path in paths:
            try:
                data, _ = self.host.zk.get(path)
                brokers[LogDirEventNotificationZnode.decode(path, data).broker] = None
            except (NoNode, ZnodeDataError):
                continue
        return list(brokers)

    def topic_deletions(self) -> list[str]:
        """The topics to delete; watches for the next request."""
        return self._children(DeleteTopicZnode.PARENT)

    def delete_all(self, paths: list[str]) -> None:
        """Deletes znodes without children."""
        for path in paths:
            self._delete(path)

    def delete_tree(self, path: str) -> None:
        """Deletes a znode and all below it, leaves first."""
        for name in self._children(path, watch=False):
            self.delete_tree(f"{path}/{name}")
        self._delete(path)

    def _children(self, path: str, *, watch: bool = True) -> list[str]:
        """Names of the children; empty if their parent was removed externally."""
        try:
            return self.host.zk.children(path, watch=watch)
        except NoNode:
            return []

    def _delete(self, path: str) -> None:
        with suppress(NoNode, NotEmpty):
            self.fenced(Delete(path))
