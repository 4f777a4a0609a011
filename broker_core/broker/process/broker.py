"""A broker's process, from its start to its end (`kafka.server.KafkaServer`).

An object of this class is one process of a broker: its memory ends with it, the files remain.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from broker_core.broker.admin.admin_purgatory import AdminPurgatory
from broker_core.broker.admin.config_admin import ConfigAdmin
from broker_core.broker.admin.quota_admin import QuotaAdmin
from broker_core.broker.admin.scram_admin import ScramAdmin
from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.broker.common.rpc_text import describe_request
from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.config.dynamic_config import DynamicBrokerConfig
from broker_core.broker.coordinators.coordinator_appends import CoordinatorAppends
from broker_core.broker.coordinators.transactions import TransactionParts
from broker_core.broker.coordinators.zookeeper_offsets import ZookeeperOffsets
from broker_core.broker.logs.log_directory import LogDirectory
from broker_core.broker.logs.log_manager import LogManager
from broker_core.broker.process.config_changes import ConfigChanges
from broker_core.broker.process.lifecycle import Life
from broker_core.broker.process.request_router import CONTROLLER, RequestRouter
from broker_core.broker.process.role_changes import RoleChanges
from broker_core.broker.replicas.fetch_sessions import FetchSessions
from broker_core.broker.replicas.replica_manager import ReplicaManager
from broker_core.config_defs import ConfigException, Value, topic_values
from broker_core.controller.controller import Controller
from broker_core.eras import Era
from broker_core.errors import Errors
from broker_core.events.envelope import Event
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.groups.host import GroupSettings, Store
from broker_core.log import LogConfig
from broker_core.log.unified_log import UnifiedLog
from broker_core.partitions import TopicPartition, broker_node, topic_of
from broker_core.replication.partition import Partition, Role
from broker_core.replication.quota import ReplicationQuotas
from broker_core.sim.disk import Disk
from broker_core.sim.handlers import TimerHandler
from broker_core.sim.kernel import Kernel, Message
from broker_core.sim.rng import Stream
from broker_core.sim.zookeeper import ZK_NODE, ZkClient, ZooKeeper
from broker_core.texts import Text
from broker_core.topics import OFFSETS_TOPIC
from broker_core.wire.messages import LeaderAndIsrPartition
from broker_core.zk.store import BadVersion, NoNode, SessionExpired
from broker_core.zk.znodes import IsrChangeNotificationZnode, PartitionEntry, PartitionStateZnode

BASE_PORT = 9090
ZOOKEEPER_PORT = 2181
ISR_EXPIRATION_TIMER = "isr_expiration"
CHECKPOINT_TIMER = "high_watermark_checkpoint"


class Broker:
    """See the module. `name` is the node (`b1`); `state`: starting, up, stopping, exiting; `failure`: why it could
    not start.
    """

    def __init__(
        self,
        kernel: Kernel,
        zookeeper: ZooKeeper,
        disk: Disk,
        broker_id: int,
        config: BrokerConfig,
        era: Era,
        start_wall_ms: int,
    ) -> None:
        self.kernel = kernel
        self.zookeeper = zookeeper
        self.broker_id = broker_id
        self.name = broker_node(broker_id)
        self.config = config
        self.era = era
        self.start_wall_ms = start_wall_ms
        self.port = BASE_PORT + broker_id
        self.state = "starting"
        self.failure: Text | str = ""
        self.broker_epoch = -1
        self.cluster_id = ""
        self.metadata = MetadataCache()
        self.fetch_sessions = FetchSessions()
        self.directory = LogDirectory(kernel, disk, self.name, f"broker-{broker_id}", era)
        self.replicas = ReplicaManager(self)
        self.logs = LogManager(self)
        self.groups = GroupCoordinator(self)
        self.transactions = TransactionParts(self)
        self.controller = Controller(self)
        self.zk: ZkClient
        self.config_changes = ConfigChanges(self)
        self.configs = ConfigAdmin(self)
        self.quotas_admin = QuotaAdmin(self)
        self.zookeeper_offsets = ZookeeperOffsets(self)
        self.scram_admin = ScramAdmin(self)
        self.waiting_admin = AdminPurgatory(self)
        self.coordinator_appends = CoordinatorAppends(self)
        self.router = RequestRouter(self)
        self.life = Life(self)
        self.role_changes = RoleChanges(self)
        self.router.register(
            timers=(
                self,
                self.life,
                self.replicas,
                self.role_changes,
                self.logs,
                self.waiting_admin,
                self.coordinator_appends,
                self.groups,
                self.transactions,
            ),
            requests=(self.life, self.replicas, self.transactions),
        )
        self._controller_id = -1
        self._checkpointing = False

    # what the controller and the replica manager ask

    @property
    def now_us(self) -> int:
        """Simulated time."""
        return self.kernel.now_us

    @property
    def wall_ms(self) -> int:
        """Calendar time in ms: the run's start plus simulated time."""
        return self.start_wall_ms + self.kernel.scheduler.now_us // 1_000

    @property
    def partitions(self) -> dict[str, Partition]:
        """The replicas that are open, by name."""
        return self.replicas.partitions

    @property
    def is_stopping(self) -> bool:
        """Whether it has begun to stop."""
        return self.state == "stopping"

    @property
    def quotas(self) -> ReplicationQuotas:
        """What holds throttled replicas back."""
        return self.replicas.quotas

    @property
    def dynamic(self) -> DynamicBrokerConfig:
        """The configuration that this broker was started with, and what has been changed since."""
        return self.config_changes.dynamic

    @property
    def identity(self) -> dict[str, str]:
        """What this broker was started with and no other."""
        return {
            "broker.id": str(self.broker_id),
            "node.id": str(self.broker_id),
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": self.directory.path,
            "zookeeper.connect": f"127.0.0.1:{ZOOKEEPER_PORT}",
        }

    @property
    def stream(self) -> Stream:
        """Random numbers of the control plane."""
        return self.kernel.streams["controller"]

    def emit(self, event: Event) -> int:
        """States a fact as this broker."""
        return self.kernel.emit(event, self.name)

    def timer(self, delay_us: int, name: str, data: object = None) -> int:
        """Calls the handler registered for `name` after a delay."""
        return self.kernel.timer(self.name, self.kernel.now_us + delay_us, name, data)

    @property
    def reaches_zookeeper(self) -> bool:
        """Whether its link to ZooKeeper works."""
        return self.kernel.connected(self.name, ZK_NODE)

    def known_controller(self) -> int:
        """The controller as far as this broker knows; -1 = none."""
        return self._controller_id

    def controller_changed(self, broker_id: int, controller_epoch: int) -> None:
        """/controller says something else."""
        self._controller_id = broker_id
        self.replicas.controller_epoch = max(self.replicas.controller_epoch, controller_epoch)

    def knows_topic(self, topic: str) -> bool:
        """Whether the controller has sent this broker the topic's metadata."""
        return topic in self.metadata.topic_ids

    def send_to_broker(self, broker_id: int, channel: int, api: str, body: object) -> None:
        """A request of the controller to a broker, itself included."""
        label, fields = describe_request(api, body)
        self.kernel.request(
            self.name,
            broker_node(broker_id),
            api,
            body,
            label=label,
            fields=fields,
            context=(CONTROLLER, (broker_id, channel)),
            timeout_us=self.config.request_timeout_ms * 1_000,
        )

    # logs

    def open_log(self, state: LeaderAndIsrPartition) -> Partition:
        """Opens or creates the log that a LeaderAndIsr speaks of."""
        return self.open(state.partition, state.topic_id)

    def open(self, name: str, topic_id: str | None) -> Partition:
        """Opens or creates a log; `topic_id` None: as its own file says."""
        topic = topic_of(name)
        configs = self.topic_values(topic)
        self.config_changes.throttle(topic, configs)
        min_insync_replicas = configs["min.insync.replicas"]
        assert isinstance(min_insync_replicas, int)
        log = self.directory.open(name, self.log_config(configs), topic_id or None, self.wall_ms)
        partition = Partition(
            self.kernel,
            self.name,
            self.broker_id,
            name,
            log,
            high_watermark=self.directory.high_watermarks.get(name, log.log_start_offset),
            min_insync_replicas=min_insync_replicas,
            replica_lag_time_max_us=self.config.replica_lag_time_max_ms * 1_000,
            replica_lag_max_messages=self.config.replica_lag_max_messages,
            era=self.era,
            is_alive=self.metadata.is_alive,
            on_truncated=self.logs.log_truncated,
        )
        self.kernel.subjects[partition.key] = partition
        partition.emit_log_opened()
        return partition

    def log_config(self, configs: Mapping[str, Value]) -> LogConfig:
        """What shapes a log of a topic with these configurations at this broker."""
        return structs.replace(
            LogConfig.of(configs),
            behaviour=self.era.log,
            producer_id_expiration_ms=self.config.producer_id_expiration_ms,
        )

    def topic_values(self, topic: str) -> dict[str, Value]:
        """All configurations of a topic as they count at this broker."""
        settings = self.config.settings
        try:
            return topic_values(settings, self.controller.zk.topic_configs(topic))
        except ConfigException:
            # an external write in ZooKeeper that Kafka's tools refuse: the topic is treated as without overrides
            return topic_values(settings, {})

    def write_isr_to_zookeeper(self, partition: Partition, isr: tuple[int, ...]) -> int | None:
        """The leader writes the state znode itself (before KIP-497)."""
        if not self.reaches_zookeeper:
            return None
        topic, index = TopicPartition.parse(partition.name)
        znode = PartitionStateZnode(
            leader=self.broker_id,
            leader_epoch=partition.leader_epoch,
            controller_epoch=partition.controller_epoch,
            isr=isr,
        )
        try:
            stat = self.zk.set(PartitionStateZnode.path(topic, index), znode.encode(), partition.partition_epoch)
        except (BadVersion, NoNode):
            return None
        return stat.version

    def notify_isr_changes(self, partitions: tuple[str, ...]) -> bool:
        """Tells the controller in which partitions this leader has changed the ISR; says whether that was possible."""
        if not self.reaches_zookeeper:
            return False
        entries = tuple(PartitionEntry(*TopicPartition.parse(name)) for name in partitions)
        znode = IsrChangeNotificationZnode(partitions=entries)
        self.zk.create(IsrChangeNotificationZnode.SEQUENCE_PATH, znode.encode(), sequential=True)
        return True

    def halts_instead_of_truncating(self, partition: Partition, why: str) -> bool | None:
        """A follower's log reaches beyond its leader's, and unclean elections are not allowed: before 2.0 a broker
        halted rather than lose records. Returns whether this one halts; its shutdown may hang. None: ZooKeeper, which
        has the configuration of the topic, cannot be reached now.
        """
        beyond = self.era.replication.beyond_leader_end
        if beyond == "truncate":
            return False
        if not self.reaches_zookeeper:
            return None
        try:
            values = self.topic_values(topic_of(partition.name))
        except SessionExpired:
            return None
        if values["unclean.leader.election.enable"]:
            return False
        self.life.exit(why, beyond)
        return True

    # its clock

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """What it does when each of its own timers is due."""
        return {ISR_EXPIRATION_TIMER: self._expire_isrs, CHECKPOINT_TIMER: self._checkpoint_high_watermarks}

    def check_isrs_later(self) -> None:
        """Sets the timer that shrinks ISRs."""
        self.timer(
            self.config.replica_lag_time_max_ms * 1_000 // self.era.isr.checks_per_lag_time, ISR_EXPIRATION_TIMER
        )

    def _expire_isrs(self, _: None) -> None:
        try:
            self.replicas.shrink_isrs()
        finally:
            self.check_isrs_later()

    def _checkpoint_high_watermarks(self, _: None) -> None:
        """Writes them down, and does so again after a while."""
        self.directory.write_high_watermarks(
            {name: p.high_watermark for name, p in self.partitions.items() if p.role is not Role.OFFLINE}
        )
        self._checkpoint_later()

    def _checkpoint_later(self) -> None:
        self.timer(self.config.replica_high_watermark_checkpoint_interval_ms * 1_000, CHECKPOINT_TIMER)

    # what the APIs use

    def leader_and_isr(self, message: Message) -> None:
        """Makes replicas lead or follow, and responds."""
        if not self._checkpointing:
            self._checkpointing = True
            self._checkpoint_later()
        self.role_changes.handle(message)

    # what the coordinators ask

    def append_for_coordinator(self, partition: str, data: bytes, waiting: Any, timeout_ms: int) -> Errors:
        """Appends what a coordinator writes; `waiting` waits until that is committed, for a while."""
        return self.coordinator_appends.append(partition, data, waiting, timeout_ms)

    @property
    def group_settings(self) -> GroupSettings:
        """The settings of groups."""
        return self.config.groups

    def offsets_log(self, partition: str) -> UnifiedLog:
        """The log of a partition of `__consumer_offsets` that this broker leads."""
        return self.replicas.partitions[partition].log

    def append_to_group_log(self, partition: str, data: bytes, store: Store | None) -> Errors:
        """Appends to a partition of `__consumer_offsets`; `store` waits until that is committed, for a while."""
        return self.append_for_coordinator(partition, data, store, self.config.groups.offsets_commit_timeout_ms)

    @property
    def offsets_partition_count(self) -> int:
        """How many partitions `__consumer_offsets` has, or would have."""
        return self.partition_count(OFFSETS_TOPIC, self.config.offsets_topic_num_partitions)

    def partition_count(self, topic: str, otherwise: int) -> int:
        """How many partitions a topic has as the metadata show it; `otherwise` for one that is not there."""
        return self.metadata.partition_count(topic) or otherwise

    def has_partition(self, partition: str) -> bool:
        """Whether the metadata show it."""
        return partition in self.metadata.partitions
