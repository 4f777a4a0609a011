"""Relates simulated time to the wall clock. No other module of the lab reads the wall clock.

Modes: `pause`; `play` at a rate (simulated seconds per second); `event_paced`, where each message is on screen for at
least 700 ms and time in which nothing moves is reduced to at most 400 ms.

While playing, a run with a page may become slower than its rate: what a busy machine could not simulate is dropped, and
`reached_rate` shows it. A cluster for applications follows the wall instead (`follows_wall`): nothing is dropped, and
`behind_s` is how much it has to catch up on.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from broker_core.texts import Text
from lab.texts.refusal import Refusal

Mode = Literal["pause", "play", "event_paced"]

TICK_S = 0.033
"""Interval of slices while playing: 30 frames a second on the wire."""
SLOW_TICK_S = 0.08
"""The same for a run without a page of its owner: followers get ten frames a second."""
MIN_PAUSE_S = 0.002
BUDGET_S = 0.012
"""The most processor time that one slice may take: clients and pages are served between slices."""
MAX_SLICE_S = 0.1
"""The longest that it may take by the wall. On a busy machine, where a slice gets its budget late, it still gets it:
otherwise the way from one slice to the next would cost more than the slices.
"""
MAX_GAP_S = 0.25
"""Wall time beyond this between two slices (a suspended laptop) is dropped, unless the run follows the wall."""
CATCH_UP_S = 0.1
"""The most that one slice plays of a run with a page; later slices play the rest, so that a page gets it in steps."""
MAX_LATE_S = 2.0
"""The most by which a run that follows the wall runs something late. The shortest timeouts of sessions are longer."""
REACHED_OVER_S = 2.0
"""The reached rate is an average over at least this much wall time."""
CHUNK_EVENTS = 4
CHUNK_US = 10_000
"""Between two checks of the clock within a slice, however few events there are: work that a broker does in slices, such
as the recovery of a log, has pauses of this length.
"""
MIN_FLIGHT_S = 0.7
MAX_EMPTY_S = 0.4
EXTRAPOLATION_S = 1.0


class Core(Protocol):
    """What the pacer asks of the engine."""

    @property
    def now_us(self) -> int: ...

    @property
    def next_due_us(self) -> int | None: ...

    @property
    def view(self) -> Mapping[str, Any]: ...

    def advance(self, until_us: int, *, max_events: int | None = None) -> int: ...


def wall_ms() -> int:
    """Milliseconds since 1970: the stamp of frames, and the calendar of a new run."""
    return time.time_ns() // 1_000_000


class Pacer:
    """The clock of one lab.

    Args:
        clock: returns seconds and never decreases.
        work_clock: the processor time of the thread that runs the slices; `clock`, if that is not the system's.
        follows_wall: never drop time; see the module.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        work_clock: Callable[[], float] | None = None,
        follows_wall: bool = False,
    ) -> None:
        self.mode: Mode = "pause"
        self.rate = 1.0
        #: the most that it plays at, whatever the rate: a server that is behind lowers it
        self.max_rate = float("inf")
        #: simulated seconds per second while playing, measured; None until it is known
        self.reached_rate: float | None = None
        #: wall seconds by which a run that follows the wall is behind: its time, or what of it is late
        self.behind_s = 0.0
        self.tick_s = TICK_S
        #: why time is stopped from outside of the run, such as for a class; None while it is not
        self.stopped_by: Text | None = None
        self._mode_after: Mode = "pause"
        self._follows_wall = follows_wall
        self._clock = clock
        self._work_clock = work_clock or (time.thread_time if clock is time.monotonic else clock)
        self._ends = 0.0, 0.0, 0.0
        """When the slice ends: by the processor time, not before by the wall, and at the latest by the wall."""
        self._anchor: tuple[float, int] | None = None
        """A wall time and the simulated time that belongs to it, while the wall is followed."""
        self._measured_from: tuple[float, int] | None = None
        """The same, where the measurement of the reached rate began."""
        self._last_s = clock()
        self._owed_s = 0.0
        self._carry_us = 0.0
        self._empty_until_us = -1
        self._empty_rate = 1.0

    @property
    def played_rate(self) -> float:
        """Simulated seconds a second while playing."""
        return min(self.rate, self.max_rate)

    @property
    def running(self) -> bool:
        return self.mode != "pause"

    @property
    def is_stopped(self) -> bool:
        """Whether time is stopped from outside of the run, such as for a class."""
        return self.stopped_by is not None

    def now_s(self) -> float:
        return self._clock()

    def stop(self, why: Text) -> None:
        """Pauses until `release`, which restores the mode."""
        if not self.is_stopped:
            mode = self.mode
            self.set_mode("pause")
            self._mode_after = mode
        self.stopped_by = why

    def ensure_not_stopped(self) -> None:
        """Raises Refusal (409) between `stop` and `release`: nothing may happen in the run then."""
        if self.stopped_by is not None:
            raise Refusal("refusal.time_stopped", 409, why=self.stopped_by)

    def release(self) -> None:
        """Reverts `stop`."""
        if self.is_stopped:
            self.stopped_by = None
            self.set_mode(self._mode_after)

    def set_mode(self, mode: Mode) -> None:
        """Sets the mode from now on; time that passed in another mode does not count. While time is stopped, the mode
        applies later.
        """
        if self.is_stopped:
            self._mode_after = mode
        elif mode != self.mode:
            self.mode = mode
            self._restart()

    def set_rate(self, rate: float) -> None:
        self.rate = rate
        self._carry_us = 0.0
        self._anchor = self._measured_from = self.reached_rate = None

    def follow_from(self, at_us: int) -> None:
        """Aligns simulated `at_us` of a run that follows the wall with now, by catching up or waiting."""
        self._anchor = self._clock(), at_us

    def pause_before_next_slice_s(self, began_s: float) -> float:
        """How long to sleep after a slice that began at `began_s`: slices come every tick, and other jobs between."""
        if self.behind_s > self.tick_s:
            return 0.0
        return max(self.tick_s / 4, began_s + self.tick_s - self._clock())

    def pause_before_due_s(self, core: Core) -> float:
        """How long to sleep until the next event is due, if an external client waits for it: not until the next tick,
        and not so short that the lab's own traffic would fill the processor with slices. What is due at this instant is
        what a slice had no time for.
        """
        due_us, rate = core.next_due_us, self.current_rate(core)
        if due_us is None or rate <= 0:
            return TICK_S
        if due_us <= core.now_us:
            return 0.0
        return min(TICK_S, max(MIN_PAUSE_S, (due_us - core.now_us) / (rate * 1e6)))

    def run_slice(self, core: Core) -> None:
        """Runs what has become due since the last slice, within the budget."""
        now_s = self._clock()
        wall_s = min(now_s - self._last_s, MAX_GAP_S)
        self._last_s = now_s
        self._ends = self._work_clock() + BUDGET_S, now_s + BUDGET_S, now_s + MAX_SLICE_S
        if self.mode == "play" and self._follows_wall:
            self._follow(core, now_s)
        elif self.mode == "play":
            self._owed_s = min(self._owed_s + wall_s, MAX_GAP_S)
            played_s = min(self._owed_s, CATCH_UP_S)
            self._owed_s -= played_s
            self._play(core, core.now_us + self._whole_us(played_s * self.played_rate))
        elif self.mode == "event_paced":
            self._pace_events(core, wall_s)
        if self.mode == "play":
            self._measure(core, now_s)

    def arrival_us(self, core: Core) -> int:
        """The simulated time of what arrives now from outside. While the wall is followed that is the time of the wall,
        even if a slice had no time for all that is due before: a request is stamped when it arrives, and the work that
        delays it is late, as in a process that shares a machine. But nothing becomes later than `MAX_LATE_S`: after a
        suspension, sessions and timeouts would all expire at once.
        """
        if self.mode != "play" or self._anchor is None:
            return core.now_us
        arrival_us, due_us = self._target_us(self._clock()), core.next_due_us
        if due_us is not None:
            arrival_us = min(arrival_us, due_us + int(MAX_LATE_S * self.rate * 1e6))
        return max(arrival_us, core.now_us)

    def finish_instant(self, core: Core) -> None:
        """Runs what is due at the engine's current instant, within what `run_slice` has left of the slice's budget. One
        request may set off thousands of events at one instant, such as the creation of many topics where messages take
        no time: others' requests are served in between.
        """
        now_us = core.now_us
        while not self._is_spent() and core.advance(now_us, max_events=CHUNK_EVENTS) >= CHUNK_EVENTS:
            pass

    def current_rate(self, core: Core) -> float:
        """The current rate in simulated seconds per second, with which a page may extrapolate."""
        if self.mode == "pause":
            return 0.0
        if self.mode == "play":
            return self.played_rate
        due_us = core.next_due_us
        return 0.0 if due_us is None else self._event_paced_rate(core, due_us)

    def horizon_us(self, core: Core) -> int:
        """The instant before which nothing unknown to pages can happen, unless a user acts."""
        if self.mode == "pause":
            return core.now_us
        horizon_us = core.now_us + int(self.current_rate(core) * EXTRAPOLATION_S * 1e6)
        due_us = core.next_due_us
        return horizon_us if due_us is None else max(core.now_us, min(horizon_us, due_us))

    def _restart(self) -> None:
        self._last_s = self._clock()
        self._owed_s = 0.0
        self._carry_us = 0.0
        self.behind_s = 0.0
        self._anchor = self._measured_from = self.reached_rate = None

    def _follow(self, core: Core, now_s: float) -> None:
        """Plays up to the instant that belongs to `now_s`, or as far as the budget allows."""
        if self._anchor is None:
            self._anchor = now_s, core.now_us
        target_us = self._target_us(now_s)
        self._play(core, target_us)
        due_us = core.next_due_us
        # What arrives moves the clock past what is due.
        done_us = core.now_us if due_us is None else min(core.now_us, due_us)
        self.behind_s = max(0, target_us - done_us) / 1e6 / self.rate

    def _target_us(self, now_s: float) -> int:
        """The instant that belongs to `now_s`, while the wall is followed."""
        assert self._anchor is not None
        from_s, from_us = self._anchor
        return from_us + int((now_s - from_s) * self.rate * 1e6)

    def _measure(self, core: Core, now_s: float) -> None:
        if self._measured_from is None:
            self._measured_from = now_s, core.now_us
        from_s, from_us = self._measured_from
        if now_s - from_s >= REACHED_OVER_S:
            self.reached_rate = (core.now_us - from_us) / 1e6 / (now_s - from_s)
            self._measured_from = now_s, core.now_us

    def _is_spent(self) -> bool:
        work_ends_s, not_before_s, ends_s = self._ends
        # The processor time, which costs a system call, cannot be spent before as much time has passed.
        now_s = self._clock()
        return now_s >= not_before_s and (now_s >= ends_s or self._work_clock() >= work_ends_s)

    def _play(self, core: Core, target_us: int) -> None:
        chunk_us = int(CHUNK_US * max(1.0, self.played_rate))
        while (from_us := core.now_us) < target_us:
            made = core.advance(min(target_us, from_us + chunk_us), max_events=CHUNK_EVENTS)
            if self._is_spent() or (not made and core.now_us == from_us):
                return

    def _pace_events(self, core: Core, wall_s: float) -> None:
        while wall_s > 0 and self.mode == "event_paced" and not self._is_spent():
            due_us = core.next_due_us
            if due_us is None:
                return
            rate = self._event_paced_rate(core, due_us)
            needed_s = (due_us - core.now_us - self._carry_us) / (rate * 1e6)
            if needed_s > wall_s:
                core.advance(core.now_us + self._whole_us(wall_s * rate))
                return
            core.advance(due_us, max_events=CHUNK_EVENTS)
            self._carry_us = 0.0
            wall_s -= max(needed_s, 0.0)

    def _event_paced_rate(self, core: Core, due_us: int) -> float:
        """Simulated seconds a second until the next thing happens."""
        now_us = core.now_us
        flights = [
            rpc["due_us"] - rpc["sent_us"]
            for rpc in core.view["rpcs"].values()
            if not rpc["held"] and rpc["due_us"] > rpc["sent_us"] and rpc["due_us"] >= now_us
        ]
        if flights:
            return float(min(flights)) / 1e6 / MIN_FLIGHT_S
        if self._empty_until_us != due_us:
            # Chosen once for the whole backlog: computed from the remainder, it would never end.
            self._empty_until_us = due_us
            self._empty_rate = max(1.0, (due_us - now_us) / 1e6 / MAX_EMPTY_S)
        return self._empty_rate

    def _whole_us(self, seconds: float) -> int:
        """Whole microseconds of simulated time; the fraction is kept for the next slice."""
        exact = seconds * 1e6 + self._carry_us
        whole = int(exact)
        self._carry_us = exact - whole
        return whole
