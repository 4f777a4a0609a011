"""Class time: monotonic time of the class's home since the start, in microseconds.

After a restart it continues at the last event plus the gap measured by the wall clock, if that is between zero and one
day; otherwise at the last event. It never decreases.
"""

import time
from collections.abc import Callable
from typing import Protocol

MAX_GAP_MS = 24 * 3600 * 1000


class Clocks(Protocol):
    """The two clocks of a machine."""

    def monotonic_us(self) -> int: ...

    def wall_ms(self) -> int: ...


class MachineClocks:
    """The clocks of this machine."""

    def monotonic_us(self) -> int:
        return time.monotonic_ns() // 1_000

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000


class ClassClock:
    """`last_us`: class time of the last event; `noted`: the wall clock at an instant of class time, (wall_ms, at_us),
    None for a new class.
    """

    def __init__(self, clocks: Clocks, last_us: int = 0, noted: tuple[int, int] | None = None) -> None:
        self._now: Callable[[], int] = clocks.monotonic_us
        self.gap_ms = 0
        if noted is not None:
            wall_ms, at_us = noted
            gap_ms = clocks.wall_ms() - wall_ms - (last_us - at_us) // 1_000
            self.gap_ms = gap_ms if 0 <= gap_ms <= MAX_GAP_MS else 0
        self._offset_us = last_us + self.gap_ms * 1_000 - clocks.monotonic_us()
        self._last_us = last_us

    def now_us(self) -> int:
        """The current class time; never decreases."""
        self._last_us = max(self._last_us, self._now() + self._offset_us)
        return self._last_us
