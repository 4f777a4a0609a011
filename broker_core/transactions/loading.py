"""Loading of a partition of `__transaction_state` by its new coordinator.

Its log is read from the beginning, which takes disk time
(`TransactionStateManager.loadTransactionsForTxnTopicPartition`). Until then requests for its transactional ids get
COORDINATOR_LOAD_IN_PROGRESS.
"""

from collections.abc import Callable
from typing import Protocol

from broker_core.errors import Errors
from broker_core.events.envelope import Event
from broker_core.events.transaction import TransactionsLoaded, TransactionsLoadStarted, TransactionsUnloaded
from broker_core.log.stored_records import LOAD_BUFFER_SIZE
from broker_core.log.unified_log import UnifiedLog
from broker_core.sim.handlers import TimerHandler, Unpacked
from broker_core.sim.kernel import Kernel, Subjects, applies
from broker_core.transactions.log import replay
from broker_core.transactions.metadata import Transit

TIMER_PREFIX = "transactions."
LOAD_TIMER = TIMER_PREFIX + "load"


class LoadingHost(Protocol):
    """The broker interface that loading needs."""

    kernel: Kernel
    name: str

    def transaction_log(self, partition: str) -> UnifiedLog:
        """The log of a partition of `__transaction_state` that this broker leads."""

    def timer(self, delay_us: int, name: str, data: object = None) -> int: ...


class Partitions:
    """The partitions of a coordinator. `owned`: the loaded ones, with their leader epochs, which are the coordinator
    epochs. `loading`: those being read. `take_in` is called with the result.
    """

    def __init__(self, host: LoadingHost, take_in: Callable[[dict[str, Transit], int], None]) -> None:
        self._host = host
        self._take_in = take_in
        self.owned: dict[str, int] = {}
        self.loading: dict[str, int] = {}

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """What it does when each of its timers is due."""
        return {LOAD_TIMER: Unpacked(self._finish)}

    def status(self, partition: str) -> Errors:
        """The error for requests for a partition; NONE if it is loaded."""
        if partition in self.loading:
            return Errors.COORDINATOR_LOAD_IN_PROGRESS
        return Errors.NONE if partition in self.owned else Errors.NOT_COORDINATOR

    def knows(self, partition: str, leader_epoch: int) -> bool:
        """Whether it is loaded, or loading, in this epoch."""
        return leader_epoch in (self.owned.get(partition), self.loading.get(partition))

    def begin(self, partition: str, leader_epoch: int) -> None:
        """Starts loading a partition that the broker leads now."""
        read_us = self._host.kernel.slow_disks.get(self._host.name, 0)
        if not read_us:
            self._load(partition, leader_epoch)
            return
        size = sum(size for _, size in self._host.transaction_log(partition).describe_files())
        started = TransactionsLoadStarted(broker=self._host.name, partition=partition, leader_epoch=leader_epoch)
        self._emit(started)
        self._host.timer((1 + size // LOAD_BUFFER_SIZE) * read_us, LOAD_TIMER, (partition, leader_epoch))

    def _finish(self, partition: str, leader_epoch: int) -> None:
        """Completes loading, unless the broker no longer leads the partition in this epoch."""
        if self.loading.get(partition) == leader_epoch:
            self._load(partition, leader_epoch)

    def _load(self, partition: str, leader_epoch: int) -> None:
        loaded = replay(self._host.transaction_log(partition))
        self._emit(
            TransactionsLoaded(
                broker=self._host.name, partition=partition, count=len(loaded), leader_epoch=leader_epoch
            )
        )
        self._take_in(loaded, leader_epoch)

    def _emit(self, event: Event) -> None:
        self._host.kernel.emit(event, self._host.name)


def _partitions(subjects: Subjects, broker: str) -> Partitions:
    found: Partitions = subjects[f"transactions@{broker}"].partitions
    return found


@applies(TransactionsLoadStarted)
def _load_started(subjects: Subjects, event: TransactionsLoadStarted, at_us: int) -> None:
    _partitions(subjects, event.broker).loading[event.partition] = event.leader_epoch


@applies(TransactionsLoaded)
def _loaded(subjects: Subjects, event: TransactionsLoaded, at_us: int) -> None:
    partitions = _partitions(subjects, event.broker)
    partitions.loading.pop(event.partition, None)
    partitions.owned[event.partition] = event.leader_epoch


@applies(TransactionsUnloaded)
def _unloaded(subjects: Subjects, event: TransactionsUnloaded, at_us: int) -> None:
    coordinator = subjects[f"transactions@{event.broker}"]
    coordinator.partitions.loading.pop(event.partition, None)
    coordinator.partitions.owned.pop(event.partition, None)
    for transactional_id in event.transactional_ids:
        coordinator.transactions.pop(transactional_id, None)
