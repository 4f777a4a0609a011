"""Live classes with open charts: consecutive rounds of the worker, at a bounded cost.

A round starts when a page requests it, but not before `MIN_WAIT_S` have passed since the last one started, nor while
its class has more than `BURST_CPU_S` to pay back: so each class takes at most `SHARE` of a core in the long run,
however many pages show it, and the second to fourth round, in which the JVM still compiles, need not wait long.
Results are kept in memory only, because they contain pseudonyms.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from lab.analytics.jobs import Analyst, Job, analyst
from lab.analytics.orders import LiveTask

MIN_WAIT_S = 5.0
SHARE = 0.2
"""Maximum share of one core."""
BURST_CPU_S = 6.0
UNKNOWN_CPU_S = 6.0
"""What a round is charged that failed before it was measured: about a start of Spark."""
MAX_CLASSES = 16


def live_job(slug: str) -> str:
    """What the rounds of a class are called among jobs."""
    return f"live:{slug}"


class Round(NamedTuple):
    """The job of the current round, or the seconds until the next one may start."""

    job: Job | None
    wait_s: float


class Found(NamedTuple):
    """The results of the last rounds: the rows of each table, including all acts up to `as_of_ms` of wall time."""

    tables: Mapping[str, list[dict[str, Any]]]
    as_of_ms: int


@dataclass
class _Class:
    job: Job
    began_ms: int
    began_s: float
    is_taken: bool = False
    next_s: float = 0.0
    owed_cpu_s: float = 0.0
    """What the rounds took beyond `SHARE` of the time until `owed_at_s`, the start of the last one."""
    owed_at_s: float = 0.0
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    as_of_ms: int = 0


class Rounds:
    """The rounds of all classes of this process. Thread-safe."""

    def __init__(self, analyst: Analyst, clock_s: Callable[[], float] = time.monotonic) -> None:
        """`clock_s`: a monotonic clock in seconds."""
        self._analyst = analyst
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._classes: dict[str, _Class] = {}

    def ask(self, slug: str, task: Callable[[], LiveTask]) -> Round:
        """The current round of a class, or a new one if it is due. `task`: the logs to read."""
        with self._lock:
            known = self._classes.get(slug)
            if known is not None:
                self._take(known)
                if not known.is_taken:
                    return Round(known.job, 0.0)
                wait_s = known.next_s - self._clock_s()
                if wait_s > 0:
                    return Round(None, wait_s)
            began_ms = time.time_ns() // 1_000_000
            job = self._analyst.begin(live_job(slug), task(), "watch")
            if known is None:
                self._classes[slug] = known = _Class(job, began_ms, 0.0)
                for other in list(self._classes)[:-MAX_CLASSES]:
                    del self._classes[other]
            known.job, known.began_ms, known.began_s, known.is_taken = job, began_ms, self._clock_s(), False
            return Round(job, 0.0)

    def found(self, slug: str) -> Found | None:
        """The results for a class; None until its first round has finished."""
        with self._lock:
            known = self._classes.get(slug)
            if known is None:
                return None
            self._take(known)
            return Found(dict(known.tables), known.as_of_ms) if known.as_of_ms else None

    def forget(self, slug: str) -> None:
        """Drops the results for a class."""
        with self._lock:
            self._classes.pop(slug, None)

    def _take(self, known: _Class) -> None:
        """Stores the results of a finished round."""
        job = known.job
        if known.is_taken or not job.is_over:
            return
        known.is_taken = True
        paid_s = SHARE * (known.began_s - known.owed_at_s)
        known.owed_cpu_s = max(0.0, known.owed_cpu_s - paid_s) + _cost_s(job)
        known.owed_at_s = known.began_s
        known.next_s = known.began_s + max(MIN_WAIT_S, (known.owed_cpu_s - BURST_CPU_S) / SHARE)
        if job.state == "done":
            known.tables |= job.tables
            known.as_of_ms = known.began_ms


def _cost_s(job: Job) -> float:
    """The CPU seconds that a round is charged."""
    if job.state == "done":
        # What the first round of the worker takes is the start of Spark.
        return 0.0 if job.is_first else job.cpu_s
    # Without a report the worker has ended, and the next round starts Spark again.
    is_begun = job.state == "failed" or job.worker is not None
    return job.cpu_s or (UNKNOWN_CPU_S if is_begun else 0.0)


@cache
def rounds() -> Rounds:
    """The rounds of this process."""
    return Rounds(analyst())
