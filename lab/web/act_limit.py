"""Limits the acts of one socket: a token bucket, one refusal per second, and a closed socket if the page ignores
them.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from lab.classroom.buckets import US, Bucket

REFUSALS_ENDING = 200
REFUSALS_WITHIN_S = 10.0
ANSWERED_EVERY_S = 1.0

Verdict = Literal["go", "refuse", "drop", "close"]


@dataclass(frozen=True)
class Rate:
    """`per_s` acts per second on average, `at_once` after a pause."""

    per_s: float
    at_once: int


ALONE = Rate(100, 300)
"""A user's own runs: scripts may be quick, and only this user waits."""
IN_CLASS = Rate(10, 30)
"""Runs of a class share the machine with those of everybody in it."""


class ActLimit:
    """The bucket of a socket. `clock`: seconds that never decrease."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._bucket = Bucket(rate.per_s, rate.at_once)
        self._refused_s: deque[float] = deque(maxlen=REFUSALS_ENDING)
        self._answered_s = float("-inf")

    def take(self) -> Verdict:
        """What to do with the next act: execute it, refuse it, drop it without an answer, or close the socket."""
        now_s = self._clock()
        if self._bucket.take(int(now_s * US)):
            return "go"
        self._refused_s.append(now_s)
        if len(self._refused_s) == REFUSALS_ENDING and now_s - self._refused_s[0] < REFUSALS_WITHIN_S:
            return "close"
        if now_s - self._answered_s < ANSWERED_EVERY_S:
            return "drop"
        self._answered_s = now_s
        return "refuse"
