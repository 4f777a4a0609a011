"""Reports in the log when a cluster that follows the wall falls behind it, and when the clock of the host was set."""

import logging
from collections.abc import Callable

from lab.runtime.pacer import wall_ms

logger = logging.getLogger(__name__)

BEHIND_S = 1.0
"""The cluster is reported as behind from this on, and until it has caught up to `CAUGHT_UP_S`."""
CAUGHT_UP_S = 0.05
REPEAT_S = 30.0
"""Between two reports of the same kind: while a busy machine pauses the process again and again, one is enough."""
CLOCK_SET_MS = 1_000
"""A change of the host's clock by less is left to the daemon that keeps it."""


class WallReport:
    """Observes the slices of one cluster. `calendar_ms` returns milliseconds since 1970, as the host has them now."""

    def __init__(self, calendar_ms: Callable[[], int] = wall_ms) -> None:
        self._calendar_ms = calendar_ms
        self._offset_ms: int | None = None
        self._last_s: float | None = None
        self._gap_reported_s = -REPEAT_S
        self._behind_since_s: float | None = None
        self._reported_s = 0.0
        self._worst_s = 0.0

    def slice_done(self, now_s: float, behind_s: float) -> None:
        """A slice has ended at `now_s` of the monotonic clock with the cluster `behind_s` behind the wall."""
        self._compare_calendar(now_s)
        gap_s, self._last_s = now_s - (self._last_s or now_s), now_s
        if gap_s >= BEHIND_S and now_s - self._gap_reported_s >= REPEAT_S:
            self._gap_reported_s = now_s
            logger.warning(
                "The cluster did not run for %.1f s: the process was suspended, or the machine was busy."
                " It catches up with the wall clock.",
                gap_s,
            )
        if self._behind_since_s is None:
            if behind_s < BEHIND_S:
                return
            self._behind_since_s, self._worst_s = now_s, 0.0
            self._report(now_s, behind_s)
        self._worst_s = max(self._worst_s, behind_s)
        if behind_s <= CAUGHT_UP_S:
            logger.warning(
                "The cluster has caught up with the wall clock after %.1f s; it was at most %.1f s behind.",
                now_s - self._behind_since_s,
                self._worst_s,
            )
            self._behind_since_s = None
        elif now_s - self._reported_s >= REPEAT_S:
            self._report(now_s, behind_s)

    def _report(self, now_s: float, behind_s: float) -> None:
        self._reported_s = now_s
        logger.warning(
            "The cluster is %.1f s behind the wall clock: the machine was suspended or cannot keep up with the load."
            " No time is dropped; timeouts and timestamps are late until it has caught up.",
            behind_s,
        )

    def _compare_calendar(self, now_s: float) -> None:
        offset_ms = self._calendar_ms() - int(now_s * 1000)
        if self._offset_ms is None:
            self._offset_ms = offset_ms
        change_ms = offset_ms - self._offset_ms
        if abs(change_ms) >= CLOCK_SET_MS:
            self._offset_ms = offset_ms
            logger.warning(
                "The clock of this machine was set %s by %.1f s. The cluster keeps its calendar: its timestamps differ"
                " from the machine's by as much until it is started again.",
                "forward" if change_ms > 0 else "back",
                abs(change_ms) / 1000,
            )
