"""The transactions of a log that hold back the last stable offset (`ProducerStateManager`; KIP-98).

A transaction is open from its first batch to its marker. Then it is unstable until the marker is replicated, that is,
until the high watermark has passed it.
"""

from typing import NamedTuple

from broker_core.texts import text


class CompletedTransaction(NamedTuple):
    """A transaction that a marker has ended: its first offset, and the marker's offset."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class UnstableTransactions:
    """The open transactions of a log, and the completed ones whose marker is not known to be replicated."""

    def __init__(self) -> None:
        # first offset -> producer id, in increasing order
        self._open: dict[int, int] = {}
        # first offset -> offset of the marker
        self._unreplicated: dict[int, int] = {}

    @property
    def is_empty(self) -> bool:
        """Whether all completed transactions are replicated; open transactions do not count."""
        return not self._unreplicated

    @property
    def open(self) -> tuple[tuple[int, int], ...]:
        """(first offset, producer id) of each open transaction, in increasing order."""
        return tuple(self._open.items())

    @property
    def first_undecided_offset(self) -> int | None:
        """The first offset of the oldest open transaction."""
        return next(iter(self._open), None)

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of a transaction that is open or whose marker is not replicated yet."""
        if not self._unreplicated:
            return next(iter(self._open)) if self._open else None
        undecided = self.first_undecided_offset
        unreplicated = min(self._unreplicated)
        return unreplicated if undecided is None else min(undecided, unreplicated)

    def begin(self, producer_id: int, first_offset: int) -> None:
        """Opens a transaction at its first batch."""
        is_newest = not self._open or first_offset > next(reversed(self._open))
        self._open[first_offset] = producer_id
        if not is_newest:
            # Snapshots list transactions in the order of their producers, so offsets may decrease.
            self._open = dict(sorted(self._open.items()))

    def last_stable_offset_after(self, completed: CompletedTransaction) -> int:
        """The last stable offset without `completed`, as its entry in the transaction index stores it."""
        others = (first for first, producer_id in self._open.items() if producer_id != completed.producer_id)
        return next(others, completed.last_offset + 1)

    def complete(self, completed: CompletedTransaction) -> None:
        """Completes the transaction, which stays unstable until the high watermark passes its marker.

        Raises ValueError for one that was not begun, which a valid log does not contain (`completeTxn`).
        """
        if completed.first_offset not in self._open:
            raise ValueError(text("fault.unknown_transaction", offset=completed.first_offset))
        del self._open[completed.first_offset]
        self._unreplicated[completed.first_offset] = completed.last_offset

    def replicated_up_to(self, offset: int) -> None:
        """Removes completed transactions whose marker is below `offset`: replicated, or below the log's start."""
        if self._unreplicated:
            self._unreplicated = {first: last for first, last in self._unreplicated.items() if last >= offset}

    def clear(self) -> None:
        """Removes all transactions."""
        self._open.clear()
        self._unreplicated.clear()
