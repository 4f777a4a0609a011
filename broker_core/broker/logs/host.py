"""The background tasks on logs, and what they need of their broker."""

from typing import Protocol

from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.logs.log_directory import LogDirectory
from broker_core.eras import Era
from broker_core.replication.partition import Partition
from broker_core.sim.kernel import Kernel

NEXT_SLICE_US = 10_000
"""A task with more to do continues after this time: requests are handled between its slices."""


class LogHost(Protocol):
    """What the background work needs of its broker's process."""

    kernel: Kernel
    name: str
    config: BrokerConfig
    era: Era
    directory: LogDirectory

    @property
    def wall_ms(self) -> int: ...

    @property
    def partitions(self) -> dict[str, Partition]:
        """Every replica that the broker has open, by `topic-partition`."""
        ...

    def timer(self, delay_us: int, name: str, data: object = None) -> int: ...


class BackgroundTask(Protocol):
    """A background task: its name on the console, its first delay, and its work."""

    name: str

    def first_delay_us(self) -> int:
        """The delay of the first run after the broker's start."""
        ...

    def run(self) -> int | None:
        """Does the work; returns the delay of the next run in microseconds, None for no further run."""
        ...
