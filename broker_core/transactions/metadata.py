"""A coordinator's state of a transactional id, and its transitions (`TransactionMetadata`).

A transition is prepared, written to the log, and takes effect once it is committed: until then it is `pending`, and
other transitions have to wait.
"""

from collections.abc import Iterable

import msgspec

from broker_core.errors import Errors
from broker_core.transactions.states import PREPARED, VALID_PREVIOUS_STATES, TransactionState

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
LAST_EPOCH = 32_766
"""The epoch from which a producer gets a new id instead of the next epoch: 32767 is reserved for fencing."""


class Transit(msgspec.Struct, frozen=True):
    """The target of a transition (`TxnTransitMetadata`). Times are calendar ms, -1 = none."""

    state: TransactionState
    producer_id: int
    producer_epoch: int
    last_producer_epoch: int
    timeout_ms: int
    partitions: tuple[str, ...]
    start_ms: int
    update_ms: int
    previous_producer_id: int = NO_PRODUCER_ID


class TransactionMetadata:
    """One transactional id. `current` changes by events only; `log_partition` is the partition that stores it.

    `fencing_epoch`: the epoch raised to fence a producer, while it is not in the log. The old producer is fenced from
    then on, also if the write fails. `raises_again` (of the era): whether the next attempt after a failed write raises
    it once more.
    """

    def __init__(
        self, transactional_id: str, log_partition: str, current: Transit, *, raises_again: bool = False
    ) -> None:
        self.transactional_id = transactional_id
        self.log_partition = log_partition
        self.current = current
        self.pending: Transit | None = None
        self.fencing_epoch: int | None = None
        self._raises_again = raises_again

    @property
    def producer_epoch(self) -> int:
        """The epoch of the only producer that is not fenced."""
        return self.current.producer_epoch if self.fencing_epoch is None else self.fencing_epoch

    @property
    def state(self) -> TransactionState:
        """The committed state."""
        return self.current.state

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether the epoch cannot be raised further."""
        return self.current.producer_epoch >= LAST_EPOCH

    def prepare(self, transit: Transit) -> Transit:
        """Makes a transition pending. Raises ValueError for an invalid one."""
        if self.pending is not None:
            raise ValueError(f"{self.transactional_id} is on its way to {self.pending.state} already")
        if self.state not in VALID_PREVIOUS_STATES[transit.state]:
            raise ValueError(f"{self.transactional_id} cannot go from {self.state} to {transit.state}")
        self.pending = transit
        return transit

    def increment_epoch(self, timeout_ms: int, expected_epoch: int | None, now_ms: int) -> Transit | Errors:
        """Prepares the next epoch for a producer that starts, or continues after an error
        (`prepareIncrementProducerEpoch`).
        """
        now = self.current
        bumped = now.producer_epoch + 1
        if expected_epoch is None:
            epoch, last_epoch = bumped, NO_PRODUCER_EPOCH
        elif now.producer_epoch in (NO_PRODUCER_EPOCH, expected_epoch):
            epoch, last_epoch = bumped, now.producer_epoch
        elif expected_epoch == now.last_producer_epoch:
            # the response to a first attempt was lost
            epoch, last_epoch = now.producer_epoch, now.last_producer_epoch
        else:
            return Errors.PRODUCER_FENCED
        return self.prepare(
            msgspec.structs.replace(
                now,
                state=TransactionState.EMPTY,
                producer_epoch=epoch,
                last_producer_epoch=last_epoch,
                timeout_ms=timeout_ms,
                partitions=(),
                start_ms=-1,
                update_ms=now_ms,
            )
        )

    def rotate_producer_id(self, producer_id: int, timeout_ms: int, keeps_epoch: bool, now_ms: int) -> Transit:
        """Prepares a new producer id after the current one's epochs are exhausted (`prepareProducerIdRotation`)."""
        now = self.current
        last_epoch = now.producer_epoch if keeps_epoch else NO_PRODUCER_EPOCH
        return self.prepare(
            Transit(TransactionState.EMPTY, producer_id, 0, last_epoch, timeout_ms, (), -1, now_ms, now.producer_id)
        )

    def fence_epoch(self) -> Transit:
        """Prepares a higher epoch, which fences producers with the old one (`prepareFenceProducerEpoch`)."""
        has_failed = self.fencing_epoch is not None and not self._raises_again
        return self.prepare(
            msgspec.structs.replace(
                self.current,
                state=TransactionState.PREPARE_EPOCH_FENCE,
                producer_epoch=self.producer_epoch + (0 if has_failed else 1),
                last_producer_epoch=NO_PRODUCER_EPOCH,
            )
        )

    def add_partitions(self, partitions: Iterable[str], now_ms: int) -> Transit:
        """Prepares adding partitions to the transaction; the first ones start it (`prepareAddPartitions`)."""
        now = self.current
        is_ongoing = now.state is TransactionState.ONGOING
        return self.prepare(
            msgspec.structs.replace(
                now,
                state=TransactionState.ONGOING,
                partitions=tuple(dict.fromkeys((*now.partitions, *partitions))),
                start_ms=now.start_ms if is_ongoing else now_ms,
                update_ms=now_ms,
            )
        )

    def end(self, state: TransactionState, epoch: int, last_epoch: int, now_ms: int) -> Transit:
        """Prepares the decision (`prepareAbortOrCommit`)."""
        return self.prepare(
            msgspec.structs.replace(
                self.current, state=state, producer_epoch=epoch, last_producer_epoch=last_epoch, update_ms=now_ms
            )
        )

    def complete(self, now_ms: int) -> Transit:
        """Prepares the completion, after all partitions have their markers (`prepareComplete`)."""
        return self.prepare(
            msgspec.structs.replace(self.current, state=PREPARED[self.state], partitions=(), update_ms=now_ms)
        )
