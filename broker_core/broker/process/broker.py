"""A broker's process, from its start to its end (`kafka.server.KafkaServer`).

An object of this class is one process of a broker: its memory ends with it, the files remain.
"""

from typing import Any

from broker_core.broker.admin.admin_purgatory import AdminPurgatory
from broker_core.broker.admin.config_admin import ConfigAdmin
from broker_core.broker.admin.quota_admin import QuotaAdmin
from broker_core.broker.admin.scram_admin import ScramAdmin
from broker_core.broker.admin.topic_creations import TopicCreations
from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.broker.common.process_state import ProcessState
from broker_core.broker.common.rpc_text import describe_request
from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.config.dynamic_config import DynamicBrokerConfig
from broker_core.broker.coordinators.coordinator_appends import CoordinatorAppends
from broker_core.broker.coordinators.groups import GroupHost
from broker_core.broker.coordinators.transactions import TransactionParts
from broker_core.broker.coordinators.zookeeper_offsets import ZookeeperOffsets
from broker_core.broker.logs.log_directory import LogDirectory
from broker_core.broker.logs.log_manager import LogManager
from broker_core.broker.process.config_changes import ConfigChanges
from broker_core.broker.process.lifecycle import Life
from broker_core.broker.process.replica_stops import ReplicaStops
from broker_core.broker.process.request_router import CONTROLLER, RequestRouter
from broker_core.broker.process.role_changes import RoleChanges
from broker_core.broker.replicas.fetch_sessions import FetchSessions
from broker_core.broker.replicas.replica_manager import ReplicaManager
from broker_core.controller.controller import Controller
from broker_core.eras import Era
from broker_core.errors import Errors
from broker_core.events.envelope import Event
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.partitions import broker_node, topic_of
from broker_core.replication.partition import Partition
from broker_core.replication.quota import ReplicationQuotas
from broker_core.sim.disk import Disk
from broker_core.sim.kernel import Kernel, Message
from broker_core.sim.rng import RandomStream
from broker_core.sim.zookeeper import ZK_NODE, ZkClient, ZooKeeper
from broker_core.texts import Text
from broker_core.zk.store import SessionExpired

BASE_PORT = 9090
ZOOKEEPER_PORT = 2181


class Broker:
    """One process of a broker: see the module. `name` is the node (`b1`); `state`: starting, up, stopping, exiting;
    `failure`: why it could not start.
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
        self.state = ProcessState.STARTING
        self.failure: Text | str = ""
        self.broker_epoch = -1
        self.cluster_id = ""
        self.metadata = MetadataCache(era.requests.looks_for_partitions)
        stream, slots = kernel.streams[f"fetch sessions {self.name}"], config.max_incremental_fetch_session_cache_slots
        self.fetch_sessions = FetchSessions(stream, era.requests, slots, kernel.scheduler)
        self.directory = LogDirectory(kernel, disk, self.name, f"broker-{broker_id}", era)
        self.replicas = ReplicaManager(self)
        self.logs = LogManager(self)
        self.groups = GroupCoordinator(GroupHost(self))
        self.transactions = TransactionParts(self)
        self.controller = Controller(self)
        self.zk: ZkClient
        self.config_changes = ConfigChanges(self)
        self.configs = ConfigAdmin(self)
        self.quotas_admin = QuotaAdmin(self)
        self.zookeeper_offsets = ZookeeperOffsets(self)
        self.scram_admin = ScramAdmin(self)
        self.waiting_admin = AdminPurgatory(self)
        self.topic_creations = TopicCreations(self)
        self.coordinator_appends = CoordinatorAppends(self)
        self.router = RequestRouter(self)
        self.life = Life(self)
        self.role_changes = RoleChanges(self)
        self.replica_stops = ReplicaStops(self)
        self.router.register(
            timers=(
                self.life,
                self.replicas,
                self.role_changes,
                self.replica_stops,
                self.logs,
                self.waiting_admin,
                self.topic_creations,
                self.coordinator_appends,
                self.groups,
                self.transactions,
            ),
            requests=(self.life, self.replicas, self.transactions),
        )
        self._controller_id = -1

    # What the controller and the replica manager need.

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
        """The open replicas, by name."""
        return self.replicas.partitions

    @property
    def is_stopping(self) -> bool:
        """Whether it has begun to shut down."""
        return self.state is ProcessState.STOPPING

    @property
    def quotas(self) -> ReplicationQuotas:
        """The quotas of throttled replicas."""
        return self.replicas.quotas

    @property
    def dynamic(self) -> DynamicBrokerConfig:
        """The configuration that this broker was started with, and its dynamic changes."""
        return self.config_changes.dynamic

    @property
    def identity(self) -> dict[str, str]:
        """The settings that distinguish this broker from the others."""
        return {
            "broker.id": str(self.broker_id),
            "node.id": str(self.broker_id),
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": self.directory.path,
            "zookeeper.connect": f"127.0.0.1:{ZOOKEEPER_PORT}",
        }

    @property
    def stream(self) -> RandomStream:
        """Random numbers of the control plane."""
        return self.kernel.streams["controller"]

    def emit(self, event: Event) -> int:
        """Emits an event of this broker."""
        return self.kernel.emit(event, self.name)

    def timer(self, delay_us: int, name: str, data: object = None) -> int:
        """Calls the handler registered for `name` after a delay."""
        return self.kernel.timer(self.name, self.kernel.now_us + delay_us, name, data)

    @property
    def reaches_zookeeper(self) -> bool:
        """Whether its link to ZooKeeper works."""
        return self.kernel.connected(self.name, ZK_NODE)

    @property
    def can_use_zookeeper(self) -> bool:
        """Whether it reaches ZooKeeper and has a session: without it all that read ZooKeeper block."""
        return self.reaches_zookeeper and self.zookeeper.has_session(self.name)

    def known_controller(self) -> int:
        """The controller as far as this broker knows; -1 = none."""
        return self._controller_id

    def controller_changed(self, broker_id: int, controller_epoch: int) -> None:
        """Called when the content of /controller has changed."""
        self._controller_id = broker_id
        self.replicas.controller_epoch = max(self.replicas.controller_epoch, controller_epoch)

    def knows_topic(self, topic: str) -> bool:
        """Whether the controller has sent this broker the topic's metadata."""
        return topic in self.metadata.topic_ids

    def send_to_broker(self, broker_id: int, channel: int, api: str, body: object) -> None:
        """Sends a request of the controller to a broker, possibly itself."""
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

    def halts_instead_of_truncating(self, partition: Partition, why: str) -> bool | None:
        """A follower's log ends past its leader's, and unclean elections are not allowed: before 2.0 a broker halted
        rather than lose records. Returns whether this one halts; its shutdown may hang. None: ZooKeeper, which has the
        configuration of the topic, cannot be reached now.
        """
        beyond = self.era.replication.beyond_leader_end
        if beyond == "truncate":
            return False
        if not self.reaches_zookeeper:
            return None
        try:
            values = self.replicas.factory.topic_values(topic_of(partition.name))
        except SessionExpired:
            return None
        if values["unclean.leader.election.enable"]:
            return False
        self.life.exit(why, beyond)
        return True

    # What the API handlers use.

    def leader_and_isr(self, message: Message) -> None:
        """Makes replicas leaders or followers, and responds."""
        self.role_changes.handle(message)

    def stop_replica(self, message: Message) -> None:
        """Stops replicas, and responds."""
        self.replica_stops.handle(message)

    # What the coordinators need.

    def append_for_coordinator(self, partition: str, data: bytes, waiting: Any, timeout_ms: int) -> Errors:
        """Appends a coordinator's batch; `waiting` waits until it is committed, with a timeout."""
        return self.coordinator_appends.append(partition, data, waiting, timeout_ms)
