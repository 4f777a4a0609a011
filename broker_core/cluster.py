"""A cluster: brokers, ZooKeeper, links and clients in one simulated time. It implements what the shell does."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from broker_core.broker.apis import metadata
from broker_core.broker.common.process_state import ProcessState
from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.network.socket_server import SocketServer
from broker_core.broker.process.broker import BASE_PORT, Broker
from broker_core.clients.fleet import Clients
from broker_core.eras import ERAS, Era
from broker_core.events.log import PowerLost
from broker_core.events.world import (
    BrokerFrozen,
    BrokerThawed,
    DiskSlowed,
    FsyncSlowed,
    LinkCut,
    LinkCutOneWay,
    LinkRestored,
    NodeAdded,
    RunStarted,
)
from broker_core.log.cleaner import CleaningFacts
from broker_core.partitions import broker_node
from broker_core.replication.partition import cut_rows
from broker_core.sim.disk import Disk
from broker_core.sim.kernel import Kernel, Latency
from broker_core.sim.zookeeper import ZK_NODE, ZooKeeper
from broker_core.texts import Rejection, Text, text
from broker_core.wire.messages import DescribedGroup, MetadataRequest, MetadataResponse
from broker_core.zk.store import ZkStore
from broker_core.zk.znodes import ControllerEpochZnode

LAB = "lab"


BrokerState = Literal["up", "starting", "frozen", "exiting", "down"]


class LiveReplica(NamedTuple):
    """Offsets that a running broker has for one replica; each is the next offset."""

    log_start_offset: int
    log_end_offset: int
    high_watermark: int


class ClusterError(Rejection):
    """An operation that the cluster cannot do: what is wrong, what was expected, what to do."""


class RunConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run depends on besides its inputs.

    Attributes:
        start_wall_ms: calendar time at simulated time 0.
        broker_config: Kafka's settings for every broker, on top of its defaults.
        config_of_broker: settings of single brokers, on top of that.
        latency_us, jitter_us: how long each message takes.
    """

    name: str = "run"
    seed: int = 0
    brokers: tuple[int, ...] = (1, 2, 3)
    era: str = "3.9"
    start_wall_ms: int = 1_700_000_000_000
    broker_config: dict[str, str] = {}
    config_of_broker: dict[int, dict[str, str]] = {}
    latency_us: int = 500
    jitter_us: int = 100

    @staticmethod
    def of(recorded: Mapping[str, Any]) -> "RunConfig":
        """From the JSON of a recording, in which the ids of `config_of_broker` are text. Raises
        `msgspec.ValidationError`.
        """
        return msgspec.convert(recorded, RunConfig, strict=False)


class Cluster:
    """Implements the shell's interface to a cluster (`broker_core.shell.grammar.cluster_api.ClusterApi`)."""

    def __init__(self, config: RunConfig, disk: Disk, store: ZkStore) -> None:
        if config.era not in ERAS:
            raise ClusterError("cluster_error.unknown_era", era=config.era, eras=", ".join(ERAS))
        if not config.brokers or any(broker_id < 0 for broker_id in config.brokers):
            raise ClusterError("cluster_error.broker_ids", brokers=", ".join(map(str, config.brokers)) or "-")
        self.config = config
        self.kernel = Kernel(config.seed, Latency(config.latency_us, config.jitter_us))
        self.disk = disk
        self.zookeeper = ZooKeeper(self.kernel, store)
        self.era: Era = ERAS[config.era]
        self._broker_configs = {
            broker_id: BrokerConfig.of(
                {**config.broker_config, **config.config_of_broker.get(broker_id, {})}, self.era.defaults
            )
            for broker_id in config.brokers
        }
        self.brokers: dict[int, Broker] = {}
        self.kernel.add(self.zookeeper)
        self.clients = Clients(self.kernel, config.start_wall_ms, self.zookeeper, self.era)
        self.sockets = SocketServer(self.kernel, self.brokers)

    def start(self) -> None:
        """Emits the run and its nodes, and starts the brokers; the first one becomes the controller."""
        emit, config = self.kernel.emit, self.config
        emit(RunStarted(name=config.name, seed=config.seed, era=config.era, start_wall_ms=config.start_wall_ms), LAB)
        emit(NodeAdded(node=ZK_NODE, node_kind="zookeeper", broker_id=-1), LAB)
        for broker_id in config.brokers:
            emit(
                NodeAdded(
                    node=broker_node(broker_id),
                    node_kind="broker",
                    broker_id=broker_id,
                    settings=self._shown(broker_id),
                ),
                LAB,
            )
        for broker_id in config.brokers:
            self.start_broker(broker_id)

    def _shown(self, broker_id: int) -> tuple[tuple[str, str], ...]:
        """The settings of a broker that a page needs for its drawings."""
        config = self._broker_configs[broker_id]
        return (
            ("min.insync.replicas", config.settings.get("min.insync.replicas", "1")),
            ("replica.lag.time.max.ms", str(config.replica_lag_time_max_ms)),
            ("zookeeper.session.timeout.ms", str(config.zookeeper_session_timeout_ms)),
        )

    # Properties.

    @property
    def wall_ms(self) -> int:
        """Calendar time in ms: the run's start plus simulated time."""
        return self.config.start_wall_ms + self.kernel.now_us // 1_000

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """All brokers of the run, ascending, whatever their state."""
        return tuple(sorted(self.config.brokers))

    @property
    def broker_config(self) -> Mapping[str, str]:
        """What was set for the brokers on top of Kafka's defaults."""
        return self.config.broker_config

    def broker_state(self, broker_id: int) -> BrokerState:
        """up, starting, frozen, exiting (its shutdown hangs) or down."""
        broker = self.brokers.get(broker_id)
        if broker is None or broker.name not in self.kernel.up:
            return "down"
        if broker.name in self.kernel.frozen:
            return "frozen"
        if broker.state is ProcessState.EXITING:
            return "exiting"
        return "starting" if broker.state is ProcessState.STARTING else "up"

    def start_failure(self, broker_id: int) -> Text | str:
        """Why the broker's last start failed; "" if it did not."""
        broker = self.brokers.get(broker_id)
        return "" if broker is None else broker.failure

    def broker_port(self, broker_id: int) -> int:
        """The port of its advertised listener."""
        return BASE_PORT + broker_id

    def log_directory(self, broker_id: int) -> str:
        """Its log directory on `disk`."""
        return f"broker-{broker_id}"

    @property
    def cluster_id(self) -> str:
        """The id under which the brokers have registered."""
        return next((broker.cluster_id for broker in self.brokers.values() if broker.cluster_id), "")

    def metadata_of(self, broker_id: int) -> MetadataResponse:
        """The response of a live broker to a MetadataRequest for all topics."""
        return metadata.answer(self.brokers[broker_id], MetadataRequest())

    def live_replica(self, partition: str, broker_id: int) -> LiveReplica | None:
        """The state of a replica in the memory of a broker that is up."""
        if self.broker_state(broker_id) != "up":
            return None
        replica = self.brokers[broker_id].replicas.partitions.get(partition)
        if replica is None:
            return None
        return LiveReplica(replica.log.log_start_offset, replica.log.log_end_offset, replica.high_watermark)

    def _coordinator_of(self, group: str) -> Broker | None:
        """The coordinator of a group in the metadata of the live brokers, if it is up and aware of that."""
        for broker_id in self.broker_ids:
            if self.broker_state(broker_id) == "up":
                requested = self.brokers[broker_id]
                state = requested.metadata.partitions.get(requested.groups.partition_of(group))
                if state is None or self.broker_state(state.leader) != "up":
                    return None
                broker = self.brokers[state.leader]
                return broker if broker.groups.coordinates(state.partition) else None
        return None

    def described_group(self, group: str) -> DescribedGroup | None:
        """A group as its coordinator would describe it, at once and without a message; None without a coordinator."""
        broker = self._coordinator_of(group)
        return None if broker is None else broker.groups.describe_group(group)

    def committed_offset(self, group: str, partition: str) -> int:
        """The committed offset of a group; -1 if there is none, or no coordinator is available."""
        broker = self._coordinator_of(group)
        known = None if broker is None else broker.groups.groups.get(group)
        committed = None if known is None else known.offsets.get(partition)
        return -1 if committed is None else committed.offset

    # Brokers.

    @property
    def is_loading_logs(self) -> bool:
        """Whether a starting broker has loaded some of its logs, but not all."""
        return any(broker.life.is_loading for broker in self.brokers.values())

    def _broker(self, broker_id: int, *states: BrokerState) -> Broker:
        if broker_id not in self.config.brokers:
            known = ", ".join(map(str, self.broker_ids))
            raise ClusterError("cluster_error.unknown_broker", broker=broker_id, brokers=known)
        state = self.broker_state(broker_id)
        if state not in states:
            raise ClusterError.of(
                text("cluster_error.broker_state", broker=broker_id, state=state),
                text("cluster_error.expected_state", states=" / ".join(states)),
                _WHAT_TO_DO[state],
            )
        return self.brokers[broker_id]

    def start_broker(self, broker_id: int) -> None:
        """Starts the process and returns."""
        if broker_id in self.brokers:
            self._broker(broker_id, "down")
        broker = Broker(
            self.kernel,
            self.zookeeper,
            self.disk,
            broker_id,
            self._broker_configs[broker_id],
            self.era,
            self.config.start_wall_ms,
        )
        self.brokers[broker_id] = broker
        self.kernel.subjects[broker.name] = broker
        self.kernel.subjects[f"controller@{broker.name}"] = broker.controller
        self.kernel.subjects[f"groups@{broker.name}"] = broker.groups.registry
        self.kernel.subjects[f"transactions@{broker.name}"] = broker.transactions.coordinator
        self.kernel.add(broker.router)
        broker.life.start()

    def kill_broker(self, broker_id: int) -> None:
        """SIGKILL: the process ends; ZooKeeper notices when the session times out."""
        self._end_process(self._broker(broker_id, "up", "starting", "frozen", "exiting"), "kill")

    def power_loss(self, broker_id: int) -> None:
        """The machine loses power: the process ends, and everything that was not fsynced is lost, including what an
        earlier kill left in the page cache.
        """
        broker = self._broker(broker_id, "up", "starting", "frozen", "exiting", "down")
        if self.broker_state(broker_id) != "down":
            self._end_process(broker, "power loss")
        cuts = cut_rows(self.disk.power_loss(broker.directory.path))
        byte_count = sum(length for _, _, length, _ in cuts)
        self.kernel.emit(PowerLost(broker=broker.name, byte_count=byte_count, cuts=cuts), broker.name)

    def _end_process(self, broker: Broker, how: str) -> None:
        broker.life.killed(how)
        self.zookeeper.lost_contact(broker.name)
        self._forget_replicas(broker)

    def stop_broker(self, broker_id: int) -> None:
        """Begins a controlled shutdown and returns."""
        self._broker(broker_id, "up", "starting").life.stop()

    def _forget_replicas(self, broker: Broker) -> None:
        for partition in broker.replicas.partitions.values():
            self.kernel.subjects.pop(partition.key, None)

    def freeze_broker(self, broker_id: int) -> None:
        """SIGSTOP: it handles no requests and sends no heartbeats."""
        broker = self._broker(broker_id, "up", "starting")
        self.kernel.emit(BrokerFrozen(broker=broker.name), broker.name)
        self.kernel.freeze(broker.name)
        self.zookeeper.lost_contact(broker.name)

    def thaw_broker(self, broker_id: int) -> None:
        """SIGCONT: it resumes, and handles what it has missed."""
        broker = self._broker(broker_id, "frozen")
        self.kernel.emit(BrokerThawed(broker=broker.name), broker.name)
        self.kernel.thaw(broker.name)
        self._contact(broker)

    def _contact(self, broker: Broker) -> None:
        if self.kernel.connected(broker.name, ZK_NODE) and broker.name not in self.kernel.frozen:
            self.zookeeper.found_contact(broker.name)
            broker.life.contact_restored()

    def clean_log(self, broker_id: int, partition: str) -> CleaningFacts | None:
        """Compacts one log now, however small its dirty section is; None when there was nothing to clean.

        Raises KafkaException for a log that is not compacted or cannot be cleaned.
        """
        return self._broker(broker_id, "up").logs.cleaner.clean_now(partition)

    def run_task(self, broker_id: int, name: str) -> None:
        """Runs a background task of the log manager now, independently of its timer."""
        self._broker(broker_id, "up").logs.run(name)

    # Links.

    def _node(self, name: str) -> None:
        if name not in self.kernel.nodes:
            raise ClusterError("cluster_error.unknown_node", node=name, nodes=", ".join(sorted(self.kernel.nodes)))

    def cut_link(self, a: str, b: str, *, one_way: bool = False) -> None:
        """Cuts the link between two nodes, or one direction of it, from `a` to `b`."""
        self._node(a)
        self._node(b)
        cut = self.kernel.cut_links
        if a == b:
            raise ClusterError("cluster_error.link_to_itself", node=a)
        if (a, b) in cut and (one_way or (b, a) in cut):
            raise ClusterError("cluster_error.link_cut", a=a, b=b)
        if one_way and (b, a) not in cut:
            self.kernel.emit(LinkCutOneWay(source=a, destination=b), LAB)
        else:
            self.kernel.emit(LinkCut(a=min(a, b), b=max(a, b)), LAB)
        for ends in ((a, b),) if one_way else ((a, b), (b, a)):
            if ends not in cut:
                self.kernel.cut(*ends)
        for name in (a, b):
            if ZK_NODE in (a, b) and name != ZK_NODE:
                self.zookeeper.lost_contact(name)

    def restore_link(self, a: str, b: str) -> None:
        """Restores both directions of the link."""
        self._node(a)
        self._node(b)
        if a == b or self.kernel.connected(a, b):
            raise ClusterError("cluster_error.link_not_cut", a=a, b=b)
        self.kernel.emit(LinkRestored(a=min(a, b), b=max(a, b)), LAB)
        self.kernel.restore(a, b)
        if ZK_NODE in (a, b):
            name = a if b == ZK_NODE else b
            broker = next((broker for broker in self.brokers.values() if broker.name == name), None)
            if broker is not None and name in self.kernel.up:
                self._contact(broker)
            elif broker is None:
                self.clients.reaches_zookeeper(name)

    def slow_disk(self, broker_id: int, latency_us: int) -> None:
        """Delays each append of a broker by this time; 0 = no delay. It is the machine's disk: a new process of the
        broker has it as well.
        """
        broker = self._broker(broker_id, "up", "starting", "frozen", "exiting", "down")
        self.kernel.emit(DiskSlowed(broker=broker.name, latency_us=latency_us), broker.name)
        if latency_us:
            self.kernel.slow_disks[broker.name] = latency_us
        else:
            self.kernel.slow_disks.pop(broker.name, None)

    def slow_fsync(self, broker_id: int, latency_us: int) -> None:
        """Delays each fsync that an append waits for (flush.messages) by this time; 0 = no delay."""
        broker = self._broker(broker_id, "up", "starting", "frozen", "exiting", "down")
        self.kernel.emit(FsyncSlowed(broker=broker.name, latency_us=latency_us), broker.name)
        if latency_us:
            self.kernel.slow_fsyncs[broker.name] = latency_us
        else:
            self.kernel.slow_fsyncs.pop(broker.name, None)

    def expire_session(self, broker_id: int) -> None:
        """ZooKeeper expires a broker's session, whatever the state of its process. A running broker is notified at its
        next heartbeat and registers again.
        """
        broker = self._broker(broker_id, "up", "starting", "frozen", "exiting", "down")
        if not self.zookeeper.has_session(broker.name):
            raise ClusterError("cluster_error.no_session", broker=broker_id)
        self.zookeeper.close(broker.name, "expired")
        if broker.name in self.kernel.up:
            self._contact(broker)

    def hold_fetches(self, follower: str, leader: str) -> None:
        """Holds the fetch requests of one broker to another until they are released."""
        self._node(follower)
        self._node(leader)
        if follower == leader:
            raise ClusterError("cluster_error.own_follower", node=follower)
        if (follower, leader) in self.kernel.held_fetches:
            raise ClusterError("cluster_error.fetches_held", follower=follower, leader=leader)
        self.kernel.hold_fetches(follower, leader)

    def release_fetches(self, follower: str, leader: str) -> None:
        """Resumes held fetches."""
        if (follower, leader) not in self.kernel.held_fetches:
            raise ClusterError("cluster_error.fetches_not_held", follower=follower, leader=leader)
        self.kernel.release_fetches(follower, leader)

    # The view.

    def describe(self) -> dict[str, Any]:
        """The state of the live cluster; the view folded from its events must equal it."""
        replicas: dict[str, Any] = {}
        for broker in self.brokers.values():
            if broker.name in self.kernel.up:
                for partition in broker.replicas.partitions.values():
                    replicas[partition.key] = partition.description()
        return {
            "brokers": {broker_node(broker_id): self.broker_state(broker_id) for broker_id in self.broker_ids},
            "replicas": replicas,
            "rpcs": sorted(self.kernel.in_flight),
            "parked": sorted(
                rpc
                for broker in self.brokers.values()
                if broker.name in self.kernel.up
                for rpc in (*broker.replicas.parked(), *broker.groups.parked())
            ),
            "zk": {
                path: (data.decode("utf-8", "backslashreplace"), stat.version)
                for path, data, stat in self.zookeeper.store.tree()
            },
            "watches": self.zookeeper.watches(),
            "clients": self.clients.description(),
            "assignors": dict(self.clients.own_assignors),
            "links": sorted({f"{min(ends)}|{max(ends)}" for ends in self.kernel.cut_links}),
            "link_faults": sorted(f"{source}>{destination}" for source, destination in self.kernel.link_faults),
            "controllers": self._controller_states(),
            "groups": {
                key: group
                for broker in self.brokers.values()
                if broker.name in self.kernel.up
                for key, group in broker.groups.description().items()
            },
            "transactions": {
                key: transaction
                for broker in self.brokers.values()
                if broker.name in self.kernel.up
                for key, transaction in broker.transactions.coordinator.description().items()
            },
        }

    def _controller_states(self) -> dict[str, dict[str, dict[str, str]]]:
        """The state machines of the controller elected last. An earlier one may not know yet that it was replaced."""
        epoch = next((data for path, data, _ in self.zookeeper.store.tree() if path == ControllerEpochZnode.PATH), b"")
        return {
            broker.name: broker.controller.describe()
            for broker in self.brokers.values()
            if broker.name in self.kernel.up
            and broker.controller.is_active
            and ControllerEpochZnode.encode(broker.controller.controller_epoch) == epoch
        }


_WHAT_TO_DO: dict[BrokerState, Text] = {
    "up": text("cluster_error.stop_first"),
    "starting": text("cluster_error.wait_until_up"),
    "frozen": text("cluster_error.thaw_first"),
    "exiting": text("cluster_error.kill_first"),
    "down": text("cluster_error.start_first"),
}
