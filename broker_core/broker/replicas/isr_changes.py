"""How a leader writes the ISR itself, before KIP-497, and notifies the controller
(`ReplicationUtils.updateLeaderAndIsr`, `ReplicaManager.maybePropagateIsrChanges`).

Changes are collected into one child of /isr_change_notification, so that a burst of changes does not become a burst of
requests. Before 0.9 there was no notification.
"""

from typing import Protocol

from broker_core.eras import Era
from broker_core.partitions import TopicPartition
from broker_core.replication.partition import Partition
from broker_core.sim.handlers import TimerHandler
from broker_core.sim.kernel import Kernel
from broker_core.sim.zookeeper import ZkClient
from broker_core.zk.store import BadVersion, NoNode
from broker_core.zk.znodes import IsrChangeNotificationZnode, PartitionEntry, PartitionStateZnode

PERIOD_US = 2_500_000
PROPAGATION_BLACKOUT_US = 5_000_000
PROPAGATION_INTERVAL_US = 60_000_000
TIMER = "isr_propagation"


class IsrChangesHost(Protocol):
    """What it needs of the broker."""

    kernel: Kernel
    name: str
    broker_id: int
    era: Era

    @property
    def zk(self) -> ZkClient: ...

    @property
    def reaches_zookeeper(self) -> bool: ...


class IsrChanges:
    """The partitions whose change has not been propagated yet; checked every 2.5 s from the broker's start."""

    def __init__(self, host: IsrChangesHost) -> None:
        self.host = host
        self.partitions: dict[str, None] = {}
        self._started_us = 0
        self._last_change_us = 0
        self._last_reported_us = 0
        self._is_waiting = False

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {TIMER: self._on_timer}

    def start(self) -> None:
        """Begins the checks when the broker is up."""
        self._started_us = self._last_reported_us = self.host.kernel.now_us

    def write(self, partition: Partition, isr: tuple[int, ...]) -> int | None:
        """Writes the state znode of a partition; returns its version. None: ZooKeeper is unreachable, or another write
        was first.
        """
        host = self.host
        if not host.reaches_zookeeper:
            return None
        topic, index = TopicPartition.parse(partition.name)
        znode = PartitionStateZnode(
            leader=host.broker_id,
            leader_epoch=partition.leader_epoch,
            controller_epoch=partition.controller_epoch,
            isr=isr,
        )
        try:
            stat = host.zk.set(PartitionStateZnode.path(topic, index), znode.encode(), partition.partition_epoch)
        except (BadVersion, NoNode):
            return None
        self._note(partition.name)
        return stat.version

    def _note(self, partition: str) -> None:
        if self.host.era.isr.notifies_controller:
            self.partitions[partition] = None
            self._last_change_us = self.host.kernel.now_us
            self._wait()

    def _wait(self) -> None:
        if not self._is_waiting:
            self._is_waiting = True
            now_us = self.host.kernel.now_us
            due_us = now_us + PERIOD_US - (now_us - self._started_us) % PERIOD_US
            self.host.kernel.timer(self.host.name, due_us, TIMER)

    def _on_timer(self, _: None) -> None:
        """Propagates changes that are 5 s old, or all if nothing was propagated for a minute."""
        self._is_waiting = False
        now_us = self.host.kernel.now_us
        is_due = (
            now_us - self._last_change_us > PROPAGATION_BLACKOUT_US
            or now_us - self._last_reported_us > PROPAGATION_INTERVAL_US
        )
        if is_due and self.host.reaches_zookeeper:
            entries = tuple(PartitionEntry(*TopicPartition.parse(name)) for name in self.partitions)
            znode = IsrChangeNotificationZnode(partitions=entries)
            self.host.zk.create(IsrChangeNotificationZnode.SEQUENCE_PATH, znode.encode(), sequential=True)
            self.partitions.clear()
            self._last_reported_us = now_us
        if self.partitions:
            self._wait()
