"""Ranks the learners who need help, with the reason: idle or struggling, relative to this class.

Working time on a step starts when it becomes active and excludes pauses, holds, following, open polls, and time during
which the learner's page was hidden or away, or replayed the class. The expected time is the median working time of
those present who have done the step, once there are five; before that the lesson's minutes divided by its steps; at
least one minute.
"""

from collections.abc import Iterator
from statistics import median
from typing import Literal

import msgspec

from lab.classroom.acts.facts import NoteStuck
from lab.classroom.state import Person, State

Stuck = Literal["", "asks", "struggles", "idle", "late"]
ORDER: tuple[Stuck, ...] = ("asks", "struggles", "idle", "late", "")

US = 1_000_000
MIN_EXPECTED_US = 60 * US
KNOWN_AFTER = 5
STRUGGLES_AT, LATE_AT = 1.5, 3.0
MIN_IDLE_US = 120 * US
KEPT_US = 30 * US
"""How long a state is kept after its condition has ended."""
FEW_REFUSED, FEW_RESETS = 3, 2
MAX_TICK_US = 5 * US
"""A longer time between two looks is one in which nothing ran."""


class Work(msgspec.Struct):
    """The measurements of one learner.

    Attributes:
        worked_us: working time on `step`.
        quiet_us: part of it since the last action.
        runs: whether working time was running at the last look.
        held_us: when the condition of the shown state last held.
    """

    step: int
    progress_us: int
    worked_us: int = 0
    quiet_us: int = 0
    runs: bool = False
    held_us: int = 0


class StuckWatch:
    """Checks all learners about once a second. Time is an argument."""

    def __init__(self) -> None:
        self._works: dict[str, Work] = {}
        self._done_us: dict[int, dict[str, int]] = {}
        self._hidden: set[str] = set()
        self._catching_up: set[str] = set()
        self._looked_us = -1
        self._handout = 1
        """The handout of the lesson whose steps were done."""

    def set_hidden(self, p: str, hidden: bool) -> None:
        """All pages of a learner are hidden, or one has become visible."""
        (self._hidden.add if hidden else self._hidden.discard)(p)

    def is_hidden(self, p: str) -> bool:
        return p in self._hidden

    def set_catching_up(self, p: str, is_so: bool) -> None:
        """A learner replays the class, or has ended that. Meanwhile only a raised hand asks for help."""
        (self._catching_up.add if is_so else self._catching_up.discard)(p)

    def touch(self, p: str) -> None:
        """A learner did something in their lab or in the class."""
        work = self._works.get(p)
        if work is not None:
            work.quiet_us = 0

    def worked_us(self, p: str) -> int:
        """Working time of a learner on the active step."""
        work = self._works.get(p)
        return work.worked_us if work else 0

    def expected_us(self, state: State, step: int) -> int:
        """Expected working time of a step."""
        done = [us for p, us in self._done_us.get(step, {}).items() if p in state.people and state.people[p].is_in]
        if len(done) >= KNOWN_AFTER:
            return max(MIN_EXPECTED_US, int(median(done)))
        planned = state.minutes * 60 * US // state.steps if state.steps else 0
        return max(MIN_EXPECTED_US, planned)

    def look(self, state: State, now_us: int) -> Iterator[NoteStuck]:
        """Advances working time to now; yields the changes."""
        passed_us = min(now_us - self._looked_us, MAX_TICK_US) if self._looked_us >= 0 else 0
        self._looked_us = now_us
        if self._handout != state.handout:
            self._handout = state.handout
            self._done_us.clear()
        for person in state.learners():
            work = self._work_of(state, person, now_us)
            if work.runs:
                work.worked_us += passed_us
                work.quiet_us += passed_us
            work.runs = self._is_working(state, person)
            noted = self._note(state, person, work, now_us)
            if noted is not None:
                yield noted

    def _work_of(self, state: State, person: Person, now_us: int) -> Work:
        work = self._works.get(person.p)
        if work is None:
            # After a restart of the server or a join, the time since the last progress counts as working time, without
            # the time in which the server did not run.
            worked_us = max(0, now_us - person.progress_us - person.stopped_us)
            work = self._works[person.p] = Work(person.step, person.progress_us, worked_us)
        elif work.progress_us != person.progress_us or work.step != person.step:
            if person.signs.get(work.step) in ("done", "hinted"):
                self._done_us.setdefault(work.step, {})[person.p] = work.worked_us
            self._works[person.p] = work = Work(person.step, person.progress_us)
        return work

    def _is_working(self, state: State, person: Person) -> bool:
        is_held = state.is_held and not person.is_out_of_hold
        has_poll = state.poll > 0 and state.polls[state.poll].phase == "open"
        is_elsewhere = person.presence != "here" or person.p in self._hidden or person.p in self._catching_up
        is_stopped = state.is_paused or is_held or person.follows or has_poll
        return not (is_stopped or is_elsewhere or _has_finished(state, person))

    def _note(self, state: State, person: Person, work: Work, now_us: int) -> NoteStuck | None:
        found, why, count = self._condition(state, person, work)
        if found:
            work.held_us = now_us
            if (found, why, count) == (person.stuck, person.stuck_why, person.stuck_count):
                return None
            return NoteStuck(person.p, found, why, count, work.worked_us // US)
        has_moved_on = person.progress_us > person.stuck_us + work.worked_us or work.worked_us == 0
        ends_at_once = person.stuck == "asks" or person.p in self._catching_up
        is_over = ends_at_once or has_moved_on or now_us - work.held_us >= KEPT_US
        return NoteStuck(person.p, "") if person.stuck and is_over else None

    def _condition(self, state: State, person: Person, work: Work) -> tuple[Stuck, str, int]:
        if person.hand is not None:
            return "asks", "hand", 0
        if person.p in self._catching_up or _has_finished(state, person):
            return "", "", 0
        expected_us = self.expected_us(state, person.step)
        if work.worked_us > STRUGGLES_AT * expected_us and (reason := _trouble(state, person)):
            return "struggles", *reason
        is_in_front = person.presence == "here" and person.p not in self._hidden
        if work.worked_us > expected_us and is_in_front and work.quiet_us >= max(MIN_IDLE_US, expected_us // 2):
            return "idle", "nothing", 0
        if work.worked_us > LATE_AT * expected_us:
            return "late", "long", 0
        return "", "", 0


def _has_finished(state: State, person: Person) -> bool:
    """Whether they have done all steps, so that no step is the active one."""
    return state.steps > 0 and person.step > state.steps


def _trouble(state: State, person: Person) -> tuple[str, int] | None:
    """What went wrong since the last progress: refused commands, all hints opened, resets, or a step that was lost."""
    if person.refused >= FEW_REFUSED:
        return "refused", person.refused
    step = person.step
    hints = state.step_hints[step - 1] if step <= len(state.step_hints) else 0
    if hints and person.hints.get(step, 0) >= hints:
        return "hints", hints
    if person.resets >= FEW_RESETS:
        return "resets", person.resets
    return ("lost", person.lost) if person.lost else None
