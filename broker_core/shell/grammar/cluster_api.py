"""The shell's interface to a cluster. The cluster implements it; tests of the shell may do so as well."""

from collections.abc import Mapping
from typing import Protocol

from broker_core.clients.fleet import Clients
from broker_core.cluster import BrokerState, LiveReplica
from broker_core.eras import Era
from broker_core.log.cleaner import CleaningFacts
from broker_core.sim.disk import Disk
from broker_core.sim.kernel import Kernel
from broker_core.sim.zookeeper import ZooKeeper
from broker_core.texts import Text
from broker_core.wire.messages import DescribedGroup, MetadataResponse


class ClusterApi(Protocol):
    """A cluster of brokers in simulated time.

    `kernel.nodes` holds every node by name: brokers `b1`..., `zk`, `shell`, clients by the names that users chose.
    """

    @property
    def kernel(self) -> Kernel: ...

    @property
    def zookeeper(self) -> ZooKeeper: ...

    @property
    def disk(self) -> Disk: ...

    @property
    def clients(self) -> Clients:
        """The producers and consumers of the run."""
        ...

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """All brokers of the run, ascending, whatever their state."""
        ...

    @property
    def broker_config(self) -> Mapping[str, str]:
        """What was set for the brokers on top of Kafka's defaults."""
        ...

    @property
    def era(self) -> Era: ...

    def broker_state(self, broker_id: int) -> BrokerState:
        """`starting` until it is registered and serves requests; during its shutdown it is `up` until the process has
        ended.
        """
        ...

    def start_failure(self, broker_id: int) -> Text | str:
        """Why the broker's last start failed; "" if it did not."""
        ...

    def broker_port(self, broker_id: int) -> int:
        """The port of its advertised listener."""
        ...

    def log_directory(self, broker_id: int) -> str:
        """Its log directory on `disk`; a replica's folder in it has a name such as `orders-0`."""
        ...

    @property
    def cluster_id(self) -> str:
        """The id under which the brokers have registered; empty in eras that had none."""
        ...

    def metadata_of(self, broker_id: int) -> MetadataResponse:
        """The response of a live broker to a MetadataRequest for all topics, at once and without a message."""
        ...

    def described_group(self, group: str) -> DescribedGroup | None:
        """A group as its coordinator would describe it, at once and without a message; None without a coordinator."""
        ...

    def committed_offset(self, group: str, partition: str) -> int:
        """The committed offset of a group; -1 if there is none."""
        ...

    def live_replica(self, partition: str, broker_id: int) -> LiveReplica | None:
        """The state of a replica in the memory of a broker that is up; None if it has no such replica."""
        ...

    def kill_broker(self, broker_id: int) -> None:
        """SIGKILL."""
        ...

    def power_loss(self, broker_id: int) -> None:
        """Power loss of the machine: what was not fsynced is lost."""
        ...

    def clean_log(self, broker_id: int, partition: str) -> CleaningFacts | None:
        """Compacts one log of a broker that is up; None when there was nothing to clean. Raises KafkaException."""
        ...

    def run_task(self, broker_id: int, name: str) -> None:
        """Runs one of the log manager's background tasks now."""
        ...

    def stop_broker(self, broker_id: int) -> None:
        """Begins a controlled shutdown and returns; the state is `down` when the process has ended."""
        ...

    def start_broker(self, broker_id: int) -> None:
        """Starts the process and returns."""
        ...

    def freeze_broker(self, broker_id: int) -> None:
        """SIGSTOP."""
        ...

    def thaw_broker(self, broker_id: int) -> None:
        """SIGCONT."""
        ...

    def cut_link(self, a: str, b: str, *, one_way: bool = False) -> None:
        """Cuts the link between two nodes (by name), or one direction of it, from `a` to `b`."""
        ...

    def restore_link(self, a: str, b: str) -> None:
        """Restores the link."""
        ...

    def hold_fetches(self, follower: str, leader: str) -> None:
        """Holds the fetch requests of one node to another."""
        ...

    def release_fetches(self, follower: str, leader: str) -> None:
        """Releases held fetch requests."""
        ...

    def slow_disk(self, broker_id: int, latency_us: int) -> None:
        """Delays each append of a broker by this time."""
        ...

    def slow_fsync(self, broker_id: int, latency_us: int) -> None:
        """Delays each fsync that an append of a broker waits for by this time."""
        ...

    def expire_session(self, broker_id: int) -> None:
        """ZooKeeper expires a broker's session."""
        ...
