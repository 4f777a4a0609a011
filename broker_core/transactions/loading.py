"""Loading of a partition of `__transaction_state` by its new coordinator.

Its log is read from the beginning, which takes disk time
(`TransactionStateManager.loadTransactionsForTxnTopicPartition`). Until then requests for its transactional ids get
COORDINATOR_LOAD_IN_PROGRESS.

Kafka's broker has a thread for it. Here a large log is replayed in slices, and then what was found is taken in, with
other requests between them.
"""

from collections.abc import Callable
from itertools import islice
from typing import Protocol

import msgspec

from broker_core.errors import Errors
from broker_core.events.envelope import Event
from broker_core.events.transaction import TransactionsLoaded, TransactionsLoadStarted, TransactionsUnloaded
from broker_core.log.stored_records import LOAD_BUFFER_SIZE
from broker_core.log.unified_log import UnifiedLog
from broker_core.sim.handlers import TimerHandler, Unpacked
from broker_core.sim.kernel import Kernel, Subjects, applies
from broker_core.transactions.log import Replay
from broker_core.transactions.metadata import Transit

TIMER_PREFIX = "transactions."
LOAD_TIMER = TIMER_PREFIX + "load"
SLICE_TIMER = TIMER_PREFIX + "load_slice"
SLICE_PAUSE_US = 1_000
SLICE_IDS = 500
"""How many transactional ids a slice takes in."""


class Progress(msgspec.Struct):
    """A partition that is being loaded. `is_replayed`: the ids that are not taken in yet are those of `replay`."""

    leader_epoch: int
    replay: Replay
    is_replayed: bool = False


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
        self._progress: dict[str, Progress] = {}

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """What it does when each of its timers is due."""
        return {LOAD_TIMER: Unpacked(self._read), SLICE_TIMER: Unpacked(self._on_slice)}

    @property
    def is_loading(self) -> bool:
        """Whether any partition is not loaded yet."""
        return bool(self.loading or self._progress)

    def status(self, partition: str) -> Errors:
        """The error for requests for a partition; NONE if it is loaded."""
        if partition in self.loading or partition in self._progress:
            return Errors.COORDINATOR_LOAD_IN_PROGRESS
        return Errors.NONE if partition in self.owned else Errors.NOT_COORDINATOR

    def knows(self, partition: str, leader_epoch: int) -> bool:
        """Whether it is loaded, or loading, in this epoch."""
        return leader_epoch in (self.owned.get(partition), self.loading.get(partition))

    def begin(self, partition: str, leader_epoch: int) -> None:
        """Starts loading a partition that the broker leads now."""
        read_us = self._host.kernel.slow_disks.get(self._host.name, 0)
        if not read_us:
            self._load(partition, Progress(leader_epoch, Replay(self._host.transaction_log(partition))))
            return
        size = sum(size for _, size in self._host.transaction_log(partition).describe_files())
        self._emit_started(partition, leader_epoch)
        self._host.timer((1 + size // LOAD_BUFFER_SIZE) * read_us, LOAD_TIMER, (partition, leader_epoch))

    def end(self, partition: str) -> None:
        """The broker no longer leads a partition."""
        self._progress.pop(partition, None)

    def _read(self, partition: str, leader_epoch: int) -> None:
        """The log is read, unless the broker no longer leads the partition in this epoch."""
        if self.loading.get(partition) == leader_epoch:
            self._load(partition, Progress(leader_epoch, Replay(self._host.transaction_log(partition))))

    def _on_slice(self, partition: str, leader_epoch: int) -> None:
        """Continues, unless the broker no longer leads the partition in this epoch."""
        progress = self._progress.get(partition)
        if progress is not None and progress.leader_epoch == leader_epoch:
            del self._progress[partition]
            self._load(partition, progress)

    def _load(self, partition: str, progress: Progress) -> None:
        loaded, leader_epoch = progress.replay.loaded, progress.leader_epoch
        if not progress.is_replayed:
            if not progress.replay.run_slice():
                if partition not in self.loading:
                    self._emit_started(partition, leader_epoch)
                self._pause(partition, progress)
                return
            progress.is_replayed = True
            self._emit(
                TransactionsLoaded(
                    broker=self._host.name, partition=partition, count=len(loaded), leader_epoch=leader_epoch
                )
            )
        taken = dict(islice(loaded.items(), SLICE_IDS))
        for transactional_id in taken:
            del loaded[transactional_id]
        self._take_in(taken, leader_epoch)
        if loaded:
            self._pause(partition, progress)

    def _pause(self, partition: str, progress: Progress) -> None:
        self._progress[partition] = progress
        self._host.timer(SLICE_PAUSE_US, SLICE_TIMER, (partition, progress.leader_epoch))

    def _emit_started(self, partition: str, leader_epoch: int) -> None:
        self._emit(TransactionsLoadStarted(broker=self._host.name, partition=partition, leader_epoch=leader_epoch))

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
