"""The periodic tasks on all replicas of a broker (`ReplicaManager.startup`)."""

from typing import Protocol

from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.logs.log_directory import LogDirectory
from broker_core.eras import Era
from broker_core.replication.partition import Partition, Role
from broker_core.sim.handlers import TimerHandler
from broker_core.sim.kernel import Kernel

ISR_EXPIRATION_TIMER = "isr_expiration"
CHECKPOINT_TIMER = "high_watermark_checkpoint"


class ReplicaTasksHost(Protocol):
    """What the tasks need of the replica manager."""

    kernel: Kernel
    name: str
    partitions: dict[str, Partition]

    @property
    def era(self) -> Era: ...

    @property
    def config(self) -> BrokerConfig: ...

    @property
    def directory(self) -> LogDirectory: ...

    def shrink_isrs(self) -> None: ...


class ReplicaTasks:
    """Shrinks ISRs and writes the high watermarks."""

    def __init__(self, host: ReplicaTasksHost) -> None:
        self._host = host
        self._has_checkpoints = False

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {ISR_EXPIRATION_TIMER: self._expire_isrs, CHECKPOINT_TIMER: self._checkpoint_high_watermarks}

    def start(self) -> None:
        """Starts shrinking ISRs."""
        lag_ms = self._host.config.replica_lag_time_max_ms
        self._timer(lag_ms * 1_000 // self._host.era.isr.checks_per_lag_time, ISR_EXPIRATION_TIMER)

    def start_checkpoints(self) -> None:
        """Starts writing the high watermarks, once the first LeaderAndIsr has arrived
        (`startHighWatermarkCheckPointThread`). Later calls do nothing.
        """
        if not self._has_checkpoints:
            self._has_checkpoints = True
            self._checkpoint_later()

    def _expire_isrs(self, _: None) -> None:
        try:
            self._host.shrink_isrs()
        finally:
            self.start()

    def _checkpoint_high_watermarks(self, _: None) -> None:
        """Writes them, and again after the interval."""
        partitions = self._host.partitions
        self._host.directory.write_high_watermarks(
            {name: p.high_watermark for name, p in partitions.items() if p.role is not Role.OFFLINE}
        )
        self._checkpoint_later()

    def _checkpoint_later(self) -> None:
        self._timer(self._host.config.replica_high_watermark_checkpoint_interval_ms * 1_000, CHECKPOINT_TIMER)

    def _timer(self, delay_us: int, name: str) -> None:
        self._host.kernel.timer(self._host.name, self._host.kernel.now_us + delay_us, name)
