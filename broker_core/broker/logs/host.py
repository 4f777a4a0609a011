"""What the background work on logs needs of its broker, and what a task is."""

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
    """A task: what it is called on the console, when it runs first, and what it does."""

    name: str

    def first_delay_us(self) -> int:
        """How long after the broker's start the first run is."""
        ...

    def run(self) -> int | None:
        """Does the work; returns after how many microseconds the next run is due, None for never."""
        ...
