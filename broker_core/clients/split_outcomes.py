"""Outcomes of batches whose result is kept, where a broker made the producer split them."""

from collections.abc import Sequence

from broker_core.clients.producer_settings import ProduceResult


class SplitOutcomes:
    """A batch that was split has ended when all its parts have: with the first failure, else with the first offset."""

    def __init__(self) -> None:
        self._whole: dict[int, int] = {}
        self._open: dict[int, int] = {}
        self._results: dict[int, ProduceResult] = {}

    def split(self, sequence: int, parts: Sequence[int]) -> None:
        """A batch, or a part of one, has become these parts."""
        whole = self._whole.pop(sequence, sequence)
        self._open[whole] = self._open.get(whole, 1) - 1 + len(parts)
        self._whole |= dict.fromkeys(parts, whole)

    def ended(self, sequence: int, result: ProduceResult) -> tuple[int, ProduceResult] | None:
        """A batch or part has ended: the batch that was asked about, and how that ended; None while parts are open."""
        whole = self._whole.pop(sequence, None)
        if whole is None:
            return sequence, result
        known = self._results.setdefault(whole, result)
        if result.exception and not known.exception:
            self._results[whole] = result
        self._open[whole] -= 1
        if self._open[whole]:
            return None
        del self._open[whole]
        return whole, self._results.pop(whole)
