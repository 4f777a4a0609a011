"""A broker's process, from its start to its end (`kafka.server.KafkaServer`).

An object of this class is one life of a broker: what it holds in memory goes with it, the files stay.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import structs

from broker_core.broker.apis import HANDLERS
from broker_core.broker.config import BrokerConfig
from broker_core.broker.config_admin import ConfigAdmin
from broker_core.broker.config_changes import ConfigChanges
from broker_core.broker.delayed import DelayedElections, DelayedTopics
from broker_core.broker.dynamic_config import DynamicBrokerConfig
from broker_core.broker.fetch_sessions import FetchSessions
from broker_core.broker.guard import go_on_after, guarded
from broker_core.broker.log_directory import LogDirectory
from broker_core.broker.log_manager import TIMER_PREFIX, LogManager, write_log_starts, write_recovery_points
from broker_core.broker.marker_appends import MarkerAppend, marker_decided
from broker_core.broker.metadata_cache import MetadataCache
from broker_core.broker.record_deletion import EXPIRED_TIMER
from broker_core.broker.replica_manager import ReplicaManager
from broker_core.broker.rpc_text import describe_request
from broker_core.broker.transaction_parts import ASKERS, TransactionParts
from broker_core.broker.translation.common import CLIENT_PREFIX, Failed, Prepared
from broker_core.config_defs import ConfigException, Value, topic_values
from broker_core.controller.controller import Controller
from broker_core.controller.registration import bootstrap_paths, cluster_id, register_broker, take_producer_ids
from broker_core.eras import Era
from broker_core.errors import KafkaError
from broker_core.events.envelope import Event
from broker_core.events.log import LogDirectoryFailed
from broker_core.events.world import BrokerExiting, BrokerStarted, BrokerStarting, BrokerStopped
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.groups.host import TIMER_PREFIX as GROUPS_TIMER_PREFIX
from broker_core.groups.host import GroupSettings, Store
from broker_core.groups.offsets import OFFSETS_TOPIC
from broker_core.log import LogConfig
from broker_core.log.checkpoints import REPLICATION_OFFSET_CHECKPOINT
from broker_core.log.storage_fault import StorageFault
from broker_core.log.unified_log import UnifiedLog
from broker_core.replication.partition import UNLINK_TIMER, Partition, Role
from broker_core.replication.quota import ReplicationQuotas
from broker_core.sim.disk import Disk
from broker_core.sim.kernel import Kernel, Message
from broker_core.sim.rng import Stream
from broker_core.sim.zookeeper import ZK_NODE, ZkClient, ZooKeeper
from broker_core.transactions.coordinator import TransactionStore
from broker_core.transactions.loading import TIMER_PREFIX as TRANSACTIONS_TIMER_PREFIX
from broker_core.transactions.log import TRANSACTION_TOPIC
from broker_core.wire.messages import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
)
from broker_core.zk.store import BadVersion, NoNode, SessionExpired
from broker_core.zk.znodes import ConfigChangeZnode, IsrChangeNotificationZnode, PartitionStateZnode, TopicPartition

CoordinatorAppend: TypeAlias = Store | TransactionStore | MarkerAppend
"""What waits for a coordinator's write."""
START_RETRY_US = 100_000
APPEND_EXPIRED_TIMER = "coordinator_append_expired"
BASE_PORT = 9090
ZOOKEEPER_PORT = 2181
_CONTROLLER_APIS = frozenset(
    {
        "AlterConfigs",
        "AllocateProducerIds",
        "AlterPartition",
        "AlterPartitionReassignments",
        "ControlledShutdown",
        "CreatePartitions",
        "CreateTopics",
        "DeleteTopics",
        "DescribeConfigs",
        "ElectLeaders",
        "IncrementalAlterConfigs",
    }
)


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
        self.name = f"b{broker_id}"
        self.config = config
        self.era = era
        self.start_wall_ms = start_wall_ms
        self.port = BASE_PORT + broker_id
        self.state = "starting"
        self.failure = ""
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
        self.waiting_admin: dict[str, DelayedElections | DelayedTopics] = {}
        #: topic -> (partitions known, those of the topic among them), counted anew when there are more or fewer
        self._counts: dict[str, tuple[int, int]] = {}
        self._controller_id = -1
        self._blocked: list[tuple[str, tuple[Any, ...]]] = []
        self._checkpointing = False
        self._shutdown_attempts = 0

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
    def place(self) -> dict[str, str]:
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
        """Wakes `on_timer` after a delay."""
        return self.kernel.timer(self.name, self.kernel.now_us + delay_us, name, data)

    def known_controller(self) -> int:
        """Who the controller is, as far as this broker knows; -1 = nobody."""
        return self._controller_id

    def controller_changed(self, broker_id: int, controller_epoch: int) -> None:
        """/controller says something else."""
        self._controller_id = broker_id
        self.replicas.controller_epoch = max(self.replicas.controller_epoch, controller_epoch)

    def send_to_broker(self, broker_id: int, api: str, body: object) -> None:
        """A request of the controller to a broker, itself included."""
        label, fields = describe_request(api, body)
        self.kernel.request(
            self.name,
            f"b{broker_id}",
            api,
            body,
            label=label,
            fields=fields,
            context=("controller", (broker_id, api)),
            timeout_us=self.config.request_timeout_ms * 1_000,
        )

    # life

    def start(self) -> None:
        """Begins to start. It waits until ZooKeeper has forgotten an earlier life of this broker, as its operator
        would.
        """
        self.directory.disk.makedirs(self.directory.path)
        self.emit(BrokerStarting(broker=self.name, clean_shutdown=self.directory.was_stopped_cleanly()))
        self._try_to_start()

    def _try_to_start(self) -> None:
        if self.zookeeper.has_session(self.name) or not self.kernel.connected(self.name, ZK_NODE):
            self.timer(START_RETRY_US, "start_retry")
            return
        self._connect()
        bootstrap_paths(self.zk, self.era)
        self.config_changes.load()
        self.cluster_id = cluster_id(self.zk, self.stream) if self.era.cluster_id else ""
        try:
            self.directory.ensure_owner(self.broker_id, self.cluster_id)
        except StorageFault as fault:
            self._fail(fault)
            return
        try:
            self.directory.load(has_cleaner=self.config.log_cleaner_enable)
            for name in self.directory.partition_names():
                self.replicas.partitions[name] = self._open(name, None)
        except StorageFault as fault:
            self._close_what_was_opened(is_orderly=not fault.is_io_error)
            self._fail(fault)
            return
        self._register()
        if self.era.producer_ids_at_start:
            self.transactions.producer_ids.take(take_producer_ids(self.zk, self.broker_id))
        self.config_changes.listen()
        self.state = "up"
        self._check_isrs_later()
        self.replicas.isr_changes.start()
        self.logs.start()

    def _check_isrs_later(self) -> None:
        self.timer(self.config.replica_lag_time_max_ms * 1_000 // self.era.isr_checks_per_lag_time, "isr_expiration")

    def _connect(self) -> None:
        self.zk = self.zookeeper.connect(self.name, self.config.zookeeper_session_timeout_ms * 1_000)

    def _register(self) -> None:
        self.broker_epoch = register_broker(
            self.zk, self.broker_id, host="127.0.0.1", port=self.port, timestamp_ms=self.wall_ms, era=self.era
        )
        self.emit(BrokerStarted(broker=self.name, broker_epoch=self.broker_epoch))
        self.controller.start()

    def session_expired(self) -> None:
        """ZooKeeper has given this broker up while it was frozen or cut off: it registers again."""
        blocked, self._blocked = self._blocked, []
        self.controller.session_expired()
        self._connect()
        for method, arguments in blocked:
            # the watches ended with their session; whoever asked or was asked meanwhile still counts on it
            if method != "on_watch":
                getattr(self, method)(*arguments)
        self._register()
        self.config_changes.on_change()

    def contact_restored(self) -> None:
        """ZooKeeper can be reached again."""
        if self.state == "starting":
            return
        if not self.zookeeper.has_session(self.name):
            self.session_expired()
            return
        blocked, self._blocked = self._blocked, []
        for method, arguments in blocked:
            getattr(self, method)(*arguments)

    def _close_what_was_opened(self, is_orderly: bool) -> None:
        """The start goes no further. Kafka shuts down in order unless a file of a log could not be read at all
        (`LogManager.shutdown`): logs that had no chance are missing in the checkpoints then, and start from scratch.
        """
        for partition in self.replicas.partitions.values():
            partition.close(clean=is_orderly)
            self.kernel.subjects.pop(partition.key, None)
        if is_orderly:
            write_recovery_points(self)
            write_log_starts(self)
            if self.directory.clean:
                self.directory.mark_clean()

    def _fail(self, fault: StorageFault) -> None:
        """A broker that cannot use its log directory does not start."""
        self.emit(
            LogDirectoryFailed(
                broker=self.name,
                file=fault.path,
                position=fault.position,
                rule=fault.rule,
                what=f"Shutdown broker because all log dirs in {self.directory.path} have failed"
                if fault.is_io_error
                else "Exiting Kafka due to fatal exception during startup.",
            )
        )
        self.failure = fault.message
        self.zookeeper.close(self.name)
        self.kernel.remove(self.name)
        self.emit(BrokerStopped(broker=self.name, how="failure"))

    def killed(self, how: str = "kill") -> None:
        """SIGKILL, or the machine's end (`how`): nothing more is written. States what ended with the process."""
        for partition in self.replicas.partitions.values():
            partition.close(clean=False)
        self.kernel.remove(self.name)
        self.emit(BrokerStopped(broker=self.name, how=how))

    def stop(self) -> None:
        """A clean stop: leaderships are handed over first (controlled shutdown), then everything is flushed and
        closed.
        """
        if self.state != "up":
            self._finish_stop()
            return
        self.state = "stopping"
        self._shutdown_attempts = 0
        if self.config.controlled_shutdown_enable:
            self._ask_for_shutdown()
        else:
            self._finish_stop()

    def _ask_for_shutdown(self) -> None:
        self._shutdown_attempts += 1
        controller_id = self._controller_id
        if controller_id < 0:
            self._shutdown_refused()
            return
        self.kernel.request(
            self.name,
            f"b{controller_id}",
            "ControlledShutdown",
            ControlledShutdownRequest(self.broker_id, self.broker_epoch),
            label="ControlledShutdown",
            context=("controlled_shutdown", None),
            timeout_us=self.config.request_timeout_ms * 1_000,
        )

    def _shutdown_refused(self) -> None:
        if self._shutdown_attempts > self.config.controlled_shutdown_max_retries:
            self._finish_stop()
        else:
            self.timer(self.config.controlled_shutdown_retry_backoff_ms * 1_000, "controlled_shutdown_retry")

    def _finish_stop(self) -> None:
        replicas = self.replicas.partitions
        for partition in replicas.values():
            partition.close(clean=True)
        if self.state != "starting":
            write_recovery_points(self)
            write_log_starts(self)
            self.directory.write(
                REPLICATION_OFFSET_CHECKPOINT, {name: p.high_watermark for name, p in replicas.items()}
            )
            self.directory.mark_clean()
        self.controller.shut_down()
        self.zookeeper.close(self.name)
        self.kernel.remove(self.name)
        self.emit(BrokerStopped(broker=self.name, how="stop"))

    # logs

    def open_log(self, state: LeaderAndIsrPartition) -> Partition:
        """Opens or creates the log that a LeaderAndIsr speaks of."""
        return self._open(state.partition, state.topic_id)

    def _open(self, name: str, topic_id: str | None) -> Partition:
        topic = name.rpartition("-")[0]
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
        partition.state_opened()
        return partition

    def log_config(self, configs: Mapping[str, Value]) -> LogConfig:
        """What shapes a log of a topic with these configurations at this broker."""
        return structs.replace(
            LogConfig.of(configs),
            has_time_index=self.era.time_index,
            has_producer_snapshots=self.era.producer_snapshots,
            epochs_only_rise=self.era.epochs_only_rise,
            producer_id_expiration_ms=self.config.producer_id_expiration_ms,
            followers_check_size=self.era.followers_check_size,
        )

    def topic_values(self, topic: str) -> dict[str, Value]:
        """All configurations of a topic as they count at this broker."""
        settings = self.config.settings
        try:
            return topic_values(settings, self.controller.zk.topic_configs(topic))
        except ConfigException:
            # somebody wrote into ZooKeeper what Kafka's tools refuse: the topic is as if it had nothing of its own
            return topic_values(settings, {})

    def write_isr_to_zookeeper(self, partition: Partition, isr: tuple[int, ...]) -> int | None:
        """The leader writes the state znode itself (before KIP-497)."""
        if not self.kernel.connected(self.name, ZK_NODE):
            return None
        topic, _, index = partition.name.rpartition("-")
        znode = PartitionStateZnode(
            leader=self.broker_id,
            leader_epoch=partition.leader_epoch,
            controller_epoch=partition.controller_epoch,
            isr=isr,
        )
        try:
            stat = self.zk.set(PartitionStateZnode.path(topic, int(index)), znode.encode(), partition.partition_epoch)
        except (BadVersion, NoNode):
            return None
        return stat.version

    def notify_isr_changes(self, partitions: tuple[str, ...]) -> bool:
        """Tells the controller in which partitions this leader has changed the ISR; says whether that was possible."""
        if not self.reaches_zookeeper:
            return False
        names = [name.rpartition("-") for name in partitions]
        znode = IsrChangeNotificationZnode(
            partitions=tuple(TopicPartition(topic, int(index)) for topic, _, index in names)
        )
        self.zk.create(IsrChangeNotificationZnode.SEQUENCE_PATH, znode.encode(), sequential=True)
        return True

    def cannot_truncate(self, partition: Partition, why: str) -> bool | None:
        """A follower's log reaches beyond its leader's, and unclean elections are not allowed: before 2.0 a broker
        rather went than lost records. Says whether this one does; its end may hang. None: ZooKeeper, which knows
        whether they are allowed, cannot be asked now.
        """
        beyond = self.era.beyond_leader_end
        if beyond == "truncate":
            return False
        if not self.reaches_zookeeper:
            return None
        try:
            values = self.topic_values(partition.name.rpartition("-")[0])
        except SessionExpired:
            return None
        if values["unclean.leader.election.enable"]:
            return False
        self.emit(BrokerExiting(broker=self.name, why=why))
        if beyond == "exit":
            self._finish_stop()
        else:
            # its sockets close, and its shutdown waits for the very thread that has asked for it
            self.state = "exiting"
            self.kernel.close_connections(self.name)
        return True

    # messages

    @property
    def reaches_zookeeper(self) -> bool:
        """Whether its link to ZooKeeper works."""
        return self.kernel.connected(self.name, ZK_NODE)

    def on_request(self, message: Message) -> None:
        """Hands a request to its API. What needs ZooKeeper waits while ZooKeeper cannot be reached."""
        if self.state in ("starting", "exiting"):
            # the socket server takes no connections yet, or no longer
            self.kernel.close_connection(message)
            return
        if isinstance(message.body, Prepared):
            self.kernel.respond(message, message.body, label="ok")
            return
        if message.api in _CONTROLLER_APIS and not self.reaches_zookeeper:
            self._blocked.append(("on_request", (message,)))
            return
        if message.api == "LeaderAndIsr" and self._opens_logs(message.body) and self._blocks("on_request", message):
            return
        try:
            HANDLERS[message.api](self, message)
        except Exception as failure:
            go_on_after(self.kernel, failure, self.name, message.api)
            if message.source.startswith(CLIENT_PREFIX):
                error = KafkaError.UNKNOWN_SERVER_ERROR
                self.kernel.respond(message, Failed(error), label=error.name)
            else:
                self.kernel.close_connection(message)

    def _opens_logs(self, request: LeaderAndIsrRequest) -> bool:
        """Whether a new log is to be opened, for which the topic's configuration is read."""
        return any(state.partition not in self.replicas.partitions for state in request.partitions)

    @guarded("answer")
    def on_response(self, api: str, body: Any, context: tuple[str, Any]) -> None:
        """Hands an answer to whoever asked."""
        asker, data = context
        if self.state == "exiting":
            return
        if asker == "fetcher":
            self.replicas.fetchers[data].on_response(body)
        elif asker == "fetcher_epochs":
            self.replicas.fetchers[data].on_epochs(body)
        elif asker == "fetcher_offsets":
            self.replicas.fetchers[data[0]].on_offsets(data, body)
        elif asker == "alter_partition":
            self.replicas.alter_partition.on_response(body)
        elif asker in ASKERS:
            self.transactions.on_response(asker, data, body)
        elif asker == "controlled_shutdown":
            self._on_controlled_shutdown(body)
        else:
            broker_id, asked_api = data
            self._controller_response(broker_id, asked_api, body)

    @guarded("silence")
    def on_disconnect(self, api: str, context: tuple[str, Any], why: str) -> None:
        """No answer will come."""
        asker, data = context
        if self.state == "exiting":
            return
        if asker in ("fetcher", "fetcher_epochs"):
            self.replicas.fetchers[data].on_disconnect()
        elif asker == "fetcher_offsets":
            self.replicas.fetchers[data[0]].on_offsets(data, None)
        elif asker == "alter_partition":
            self.replicas.alter_partition.on_disconnect()
        elif asker in ASKERS:
            self.transactions.on_response(asker, data, None)
        elif asker == "controlled_shutdown":
            self._shutdown_refused()
        else:
            self._controller_disconnect(*data)

    def _controller_response(self, broker_id: int, api: str, body: Any) -> None:
        if not self._blocks("_controller_response", broker_id, api, body):
            self.controller.on_response(broker_id, api, body)

    def _controller_disconnect(self, broker_id: int, api: str) -> None:
        if not self._blocks("_controller_disconnect", broker_id, api):
            self.controller.on_disconnect(broker_id, api)

    def _controller_timer(self, name: str, data: Any) -> None:
        if not self._blocks("_controller_timer", name, data):
            self.controller.on_timer(name, data)

    @guarded("watch", named=1)
    def on_watch(self, kind: str, path: str) -> None:
        """A watch of this broker's session fired."""
        if self.state == "exiting" or self._blocks("on_watch", kind, path):
            return
        if path == ConfigChangeZnode.PARENT:
            self.config_changes.on_change()
        else:
            self.controller.on_watch(kind, path)

    def _blocks(self, method: str, *arguments: Any) -> bool:
        """Without ZooKeeper the controller's thread and who reads there stand still; what comes in waits."""
        if self.kernel.connected(self.name, ZK_NODE) and self.zookeeper.has_session(self.name):
            return False
        self._blocked.append((method, arguments))
        return True

    @guarded("timer")
    def on_timer(self, name: str, data: Any) -> None:
        """The jobs of the broker and the deadlines of what waits."""
        if self.state == "exiting":
            return
        if name == "fetch_expired":
            self.replicas.fetches.expired(data)
        elif name == "produce_expired":
            self.replicas.produces.expired(data)
        elif name == "fetcher_wake":
            self.replicas.fetchers[data].on_wake()
        elif name == "alter_partition_retry":
            self.replicas.alter_partition.on_retry()
        elif name == "isr_expiration":
            try:
                self.replicas.shrink_isrs()
            finally:
                self._check_isrs_later()
        elif name == "isr_propagation":
            self.replicas.isr_changes.on_timer()
        elif name == "high_watermark_checkpoint":
            self._checkpoint_high_watermarks()
        elif name.startswith(TIMER_PREFIX):
            self.logs.on_timer(name)
        elif name == EXPIRED_TIMER:
            self.replicas.record_deletion.expired(data)
        elif name == UNLINK_TIMER:
            self.logs.unlink(*data)
        elif name == "start_retry":
            self._try_to_start()
        elif name == "controlled_shutdown_retry":
            self._ask_for_shutdown()
        elif name == "admin_expired":
            self._admin_expired(data)
        elif name.startswith("controller."):
            self._controller_timer(name, data)
        elif name == APPEND_EXPIRED_TIMER:
            partition, waiting = data
            if self.replicas.produces.expire_coordinator_append(partition, waiting):
                self.coordinator_append_done(waiting, KafkaError.REQUEST_TIMED_OUT)
        elif name.startswith(GROUPS_TIMER_PREFIX):
            self.groups.on_timer(name, data)
        elif name.startswith(TRANSACTIONS_TIMER_PREFIX):
            self.transactions.on_timer(name, data)
        else:
            raise ValueError(f"broker {self.broker_id} knows no timer {name!r}")

    def _checkpoint_high_watermarks(self) -> None:
        partitions = self.replicas.partitions
        self.directory.write(
            REPLICATION_OFFSET_CHECKPOINT,
            {name: p.high_watermark for name, p in partitions.items() if p.role is not Role.OFFLINE},
        )
        self.timer(self.config.replica_high_watermark_checkpoint_interval_ms * 1_000, "high_watermark_checkpoint")

    def _on_controlled_shutdown(self, response: ControlledShutdownResponse) -> None:
        if response.error is KafkaError.NONE and not response.remaining:
            self._finish_stop()
        else:
            self._shutdown_refused()

    # what the APIs use

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        """Becomes what the controller says (`ReplicaManager.becomeLeaderOrFollower`)."""
        if not self._checkpointing:
            self._checkpointing = True
            self.timer(self.config.replica_high_watermark_checkpoint_interval_ms * 1_000, "high_watermark_checkpoint")
        results = tuple((state.partition, self.replicas.become(state)) for state in request.partitions)
        for state, (_, error) in zip(request.partitions, results, strict=True):
            if state.partition.startswith(OFFSETS_TOPIC) and error is KafkaError.NONE:
                self._offsets_partition_changed(state)
            elif state.partition.startswith(TRANSACTION_TOPIC) and error is KafkaError.NONE:
                self.transactions.partition_changed(state)
        for fetcher in self.replicas.fetchers.values():
            fetcher.send()
        return LeaderAndIsrResponse(partitions=results)

    def _offsets_partition_changed(self, state: LeaderAndIsrPartition) -> None:
        partition = self.replicas.partitions[state.partition]
        if partition.is_leader:
            self.groups.on_election(state.partition, state.leader_epoch)
        else:
            self.groups.on_resignation(state.partition)

    # what the group coordinator asks

    @property
    def group_settings(self) -> GroupSettings:
        """The settings of groups."""
        return self.config.groups

    def offsets_log(self, partition: str) -> UnifiedLog:
        """The log of a partition of `__consumer_offsets` that this broker leads."""
        return self.replicas.partitions[partition].log

    def append_to_group_log(self, partition: str, data: bytes, store: Store | None) -> KafkaError:
        """Appends to a partition of `__consumer_offsets`; `store` waits until that is committed, for a while."""
        return self.append_for_coordinator(partition, data, store, self.config.groups.offsets_commit_timeout_ms)

    def append_for_coordinator(
        self, partition: str, data: bytes, waiting: CoordinatorAppend | None, timeout_ms: int
    ) -> KafkaError:
        """Appends what a coordinator writes; `waiting` waits until that is committed, for a while. An append that
        fails at once is told in the answer alone.
        """
        error = self.replicas.produces.append_for_coordinator(partition, data, waiting)
        waits = self.replicas.produces.coordinator_appends.get(partition, ())
        if waiting is not None and any(row[0] is waiting for row in waits):
            self.timer(timeout_ms * 1_000, APPEND_EXPIRED_TIMER, (partition, waiting))
        return error

    def coordinator_append_done(self, waiting: CoordinatorAppend, error: KafkaError) -> None:
        """What a coordinator wrote is committed, or will not be."""
        if isinstance(waiting, TransactionStore):
            self.transactions.coordinator.stored(waiting, error)
        elif isinstance(waiting, MarkerAppend):
            marker_decided(self, waiting, error)
        else:
            self.groups.stored(waiting, error)

    @property
    def offsets_partition_count(self) -> int:
        """How many partitions `__consumer_offsets` has, or would have."""
        return self.partition_count(OFFSETS_TOPIC, self.config.offsets_topic_num_partitions)

    def partition_count(self, topic: str, otherwise: int) -> int:
        """How many partitions a topic has as the metadata show it; `otherwise` for one that is not there."""
        known = len(self.metadata.partitions)
        counted = self._counts.get(topic)
        if counted is None or counted[0] != known:
            count = sum(1 for name in self.metadata.partitions if name.rpartition("-")[0] == topic)
            counted = self._counts[topic] = (known, count or otherwise)
        return counted[1]

    def has_partition(self, partition: str) -> bool:
        """Whether the metadata show it."""
        return partition in self.metadata.partitions

    def park_admin(self, delayed: DelayedElections | DelayedTopics, timeout_ms: int) -> None:
        """Answers an administrative request only once the metadata shows its effect, or its timeout has passed."""
        if timeout_ms <= 0 or delayed.is_done(self.metadata):
            delayed.answer(self.kernel, self.metadata)
            return
        self.waiting_admin[delayed.message.rpc] = delayed
        self.timer(timeout_ms * 1_000, "admin_expired", delayed.message.rpc)

    def metadata_updated(self) -> None:
        """Checks whether administrative requests can be answered now."""
        for rpc, delayed in list(self.waiting_admin.items()):
            if delayed.is_done(self.metadata):
                del self.waiting_admin[rpc]
                delayed.answer(self.kernel, self.metadata)

    def _admin_expired(self, rpc: str) -> None:
        delayed = self.waiting_admin.pop(rpc, None)
        if delayed is not None:
            delayed.answer(self.kernel, self.metadata)
