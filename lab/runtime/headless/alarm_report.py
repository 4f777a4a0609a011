"""Reports the alarms of a cluster without a page in the log."""

import logging
from collections import Counter
from collections.abc import Callable

from broker_core.events.envelope import sentence
from broker_core.events.world import InvariantViolated
from broker_core.texts import render
from lab.runtime.live_run import LiveRun, PublishedUpdate

logger = logging.getLogger(__name__)

REPEAT_S = 10.0
"""Alarms of one invariant are reported at most this often; the others are counted."""


class AlarmReport:
    """An observer of a lab. `clock` returns seconds and never decreases."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._reported_s: dict[str, float] = {}
        self._suppressed: Counter[str] = Counter()

    def happened(self, live: LiveRun, batch: PublishedUpdate) -> None:
        """Reports the alarms among the events of a job."""
        for seq, _, _, _, event in batch.envelopes:
            if isinstance(event, InvariantViolated):
                self._alarm(seq, event)

    def stopped(self) -> None:
        """Alarms are no longer reported."""

    def _alarm(self, seq: int, event: InvariantViolated) -> None:
        now_s, invariant = self._clock(), event.invariant
        last_s = self._reported_s.get(invariant)
        if last_s is not None and now_s - last_s < REPEAT_S:
            self._suppressed[invariant] += 1
            return
        self._reported_s[invariant] = now_s
        others = self._suppressed.pop(invariant, 0)
        logger.warning(
            "Alarm at event %d: %s.%s%s",
            seq,
            sentence(event).rstrip("."),
            f" Explanation: {render(event.explained_by)}" if event.explained_by else " Nothing in the run explains it.",
            f" {others} more alarms of {invariant} were not printed." if others else "",
        )
