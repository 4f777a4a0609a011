"""The background work on a broker's logs (`kafka.log.LogManager`).

Each task is a timer of the broker: it runs, says when it wants to run again, and states events only where it did
something. A task dies with its process. All of them can also be run on demand.
"""

from typing import Protocol

from broker_core.broker.config import BrokerConfig
from broker_core.broker.log_directory import LogDirectory
from broker_core.log.checkpoints import LOG_START_OFFSET_CHECKPOINT, RECOVERY_POINT_CHECKPOINT
from broker_core.replication.partition import Partition
from broker_core.sim.kernel import Kernel

TIMER_PREFIX = "log_manager."


class LogHost(Protocol):
    """What the background work needs of its broker's process."""

    kernel: Kernel
    name: str
    config: BrokerConfig
    directory: LogDirectory

    @property
    def wall_ms(self) -> int: ...

    @property
    def partitions(self) -> dict[str, Partition]:
        """Every replica that the broker has open, by `topic-partition`."""
        ...

    def timer(self, delay_us: int, name: str, data: object = None) -> int: ...


class BackgroundTask(Protocol):
    """A task: what it is called on the console, when it runs first, and what it does."""

    name: str

    def first_delay_us(self) -> int:
        """How long after the broker's start the first run is."""
        ...

    def run(self) -> int | None:
        """Does the work; returns after how many microseconds the next run is due, None for never."""
        ...


class LogManager:
    """The tasks of one broker by name, in the order in which Kafka schedules them. It pickles with its broker."""

    def __init__(self, host: LogHost) -> None:
        self.host = host
        tasks: tuple[BackgroundTask, ...] = (RecoveryPointCheckpoints(host), LogStartCheckpoints(host))
        self.tasks: dict[str, BackgroundTask] = {task.name: task for task in tasks}

    def start(self) -> None:
        """Sets the timers (`startBackgroundThreads`)."""
        for task in self.tasks.values():
            self.host.timer(task.first_delay_us(), TIMER_PREFIX + task.name)

    def on_timer(self, name: str) -> None:
        """A task is due."""
        task = self.tasks[name.removeprefix(TIMER_PREFIX)]
        delay_us = task.run()
        if delay_us is not None:
            self.host.timer(delay_us, TIMER_PREFIX + task.name)

    def run(self, name: str) -> None:
        """Runs a task now, beside its timer."""
        self.tasks[name].run()


def initial_delay_us(host: LogHost) -> int:
    """When the periodic tasks begin (`log.initial.task.delay.ms`)."""
    return host.config.log_initial_task_delay_ms * 1_000


class RecoveryPointCheckpoints:
    """`recovery-point-offset-checkpoint`: what of each log is known to be on disk."""

    name = "recovery-points"

    def __init__(self, host: LogHost) -> None:
        self._host = host

    def first_delay_us(self) -> int:
        return initial_delay_us(self._host)

    def run(self) -> int:
        write_recovery_points(self._host)
        return self._host.config.log_flush_offset_checkpoint_interval_ms * 1_000


class LogStartCheckpoints:
    """`log-start-offset-checkpoint`: where logs begin that begin inside of a segment."""

    name = "log-starts"

    def __init__(self, host: LogHost) -> None:
        self._host = host

    def first_delay_us(self) -> int:
        return initial_delay_us(self._host)

    def run(self) -> int:
        write_log_starts(self._host)
        return self._host.config.log_flush_start_offset_checkpoint_interval_ms * 1_000


def write_recovery_points(host: LogHost) -> None:
    """Writes the recovery points of all logs (`checkpointLogRecoveryOffsets`)."""
    host.directory.write(
        RECOVERY_POINT_CHECKPOINT, {name: partition.log.recovery_point for name, partition in host.partitions.items()}
    )


def write_log_starts(host: LogHost) -> None:
    """Writes the log start offsets that no segment's name says (`checkpointLogStartOffsets`)."""
    host.directory.write(
        LOG_START_OFFSET_CHECKPOINT,
        {
            name: partition.log.log_start_offset
            for name, partition in host.partitions.items()
            if partition.log.log_start_offset > partition.log.segments[0].base_offset
        },
    )
