"""The transactions of a log that hold back the last stable offset (`ProducerStateManager`; KIP-98).

A transaction is open from its first batch to its marker. After that it still counts as unstable until the marker is
replicated, that is, until the high watermark has passed it.
"""

from typing import NamedTuple

from broker_core.texts import text


class CompletedTransaction(NamedTuple):
    """A transaction that a marker has ended: its first offset, and that of the marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class UnstableTransactions:
    """The open transactions of a log, and the ended ones whose marker is not known to be replicated."""

    def __init__(self) -> None:
        # first offset -> producer id, rising
        self._open: dict[int, int] = {}
        # first offset -> offset of the marker
        self._unreplicated: dict[int, int] = {}

    @property
    def is_empty(self) -> bool:
        """Whether all that has ended is replicated; open transactions do not count."""
        return not self._unreplicated

    @property
    def open(self) -> tuple[tuple[int, int], ...]:
        """(first offset, producer id) of each open transaction, rising."""
        return tuple(self._open.items())

    @property
    def first_undecided_offset(self) -> int | None:
        """The first offset of the oldest open transaction."""
        return next(iter(self._open), None)

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset whose fate is open, or decided by a marker that is not replicated yet."""
        if not self._unreplicated:
            return next(iter(self._open)) if self._open else None
        undecided = self.first_undecided_offset
        unreplicated = min(self._unreplicated)
        return unreplicated if undecided is None else min(undecided, unreplicated)

    def begin(self, producer_id: int, first_offset: int) -> None:
        """A producer wrote the first batch of a transaction."""
        is_newest = not self._open or first_offset > next(reversed(self._open))
        self._open[first_offset] = producer_id
        if not is_newest:
            # Snapshots list transactions in the order of their producers.
            self._open = dict(sorted(self._open.items()))

    def last_stable_offset_after(self, completed: CompletedTransaction) -> int:
        """The last stable offset once `completed` no longer counts, as its entry in the transaction index says it."""
        others = (first for first, producer_id in self._open.items() if producer_id != completed.producer_id)
        return next(others, completed.last_offset + 1)

    def complete(self, completed: CompletedTransaction) -> None:
        """The transaction waits only for the high watermark to pass its marker.

        Raises ValueError for one that was not begun, which a sound log does not hold (`completeTxn`).
        """
        if completed.first_offset not in self._open:
            raise ValueError(text("fault.unknown_transaction", offset=completed.first_offset))
        del self._open[completed.first_offset]
        self._unreplicated[completed.first_offset] = completed.last_offset

    def replicated_up_to(self, offset: int) -> None:
        """Markers below `offset` are replicated, or below the log's start."""
        if self._unreplicated:
            self._unreplicated = {first: last for first, last in self._unreplicated.items() if last >= offset}

    def clear(self) -> None:
        """Forgets all transactions."""
        self._open.clear()
        self._unreplicated.clear()
