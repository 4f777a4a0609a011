"""Simulated time: a heap of scheduled items, ordered by `(due_us, timer_id)`. They and `advance_to` move the clock."""

from heapq import heapify, heappop, heappush
from typing import Any

FOREVER_US = 1 << 62
_TOLERATED = 64


class Scheduler:
    """Scheduled items are data, `(node, what)`, not closures, so that a whole cluster pickles.

    `now_us` is the time of the last item, or the argument of `advance_to`, whichever is later.
    """

    __slots__ = ("_cancelled", "_heap", "_next_id", "now_us")

    def __init__(self) -> None:
        self.now_us = 0
        self._next_id = 1
        self._heap: list[tuple[int, int, str, Any]] = []
        self._cancelled: set[int] = set()

    def at(self, due_us: int, node: str, what: Any) -> int:
        """Schedules `what` for `node`; returns the id for `cancel`."""
        timer_id = self._next_id
        self._next_id = timer_id + 1
        now_us = self.now_us
        heappush(self._heap, (due_us if due_us > now_us else now_us, timer_id, node, what))
        return timer_id

    def cancel(self, timer_id: int) -> None:
        """Cancels an item that has not run yet. Cancelling one that has run is an error of the caller."""
        cancelled = self._cancelled
        cancelled.add(timer_id)
        # Most timers are deadlines of operations that complete long before; left on the heap they would soon dominate
        # it.
        if len(cancelled) > _TOLERATED and 2 * len(cancelled) > len(self._heap):
            self._heap = [item for item in self._heap if item[1] not in cancelled]
            heapify(self._heap)
            cancelled.clear()

    def next_due_us(self) -> int | None:
        """The time of the next item, None if there is none."""
        heap = self._heap
        while heap and self._cancelled and heap[0][1] in self._cancelled:
            self._cancelled.discard(heappop(heap)[1])
        return heap[0][0] if heap else None

    def pop(self, until_us: int = FOREVER_US) -> tuple[int, int, str, Any] | None:
        """Removes the next item due by `until_us` and advances the clock to it; None if there is none. An item that the
        clock has passed is late, and its time is now.
        """
        heap = self._heap
        cancelled = self._cancelled
        while heap and heap[0][0] <= until_us:
            item = heappop(heap)
            if cancelled and item[1] in cancelled:
                cancelled.discard(item[1])
                continue
            if item[0] > self.now_us:
                self.now_us = item[0]
            return item
        return None

    def advance_to(self, now_us: int) -> None:
        """Advances the clock. What is due before that stays on the heap and is late."""
        if now_us > self.now_us:
            self.now_us = now_us

    def __len__(self) -> int:
        return len(self._heap) - len(self._cancelled)
