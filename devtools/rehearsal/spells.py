"""What one person's page can do to the others: spells with a disturbance and without one, in turns.

What else changes with time changes for all kinds of spells. In each turn there are two spells without a disturbance:
by how much these two differ is no effect of a disturbance.
"""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from devtools.rehearsal.figures import percentile
from devtools.rehearsal.learners import Learner
from devtools.rehearsal.people import clock_ms
from devtools.rehearsal.taught import Taught

TURNS = 4
SPELL_S = 3.0
ACT_S = 0.15
"""Between two acts of the instructor."""
HANDS = 8
HAND_S = 0.4
"""The number of learners who raise or lower their hands, and the time between two hands of one."""
LEAST_MS = 1.0
"""A shorter delay counts as this: the ratio of two delays that are too short to notice says nothing."""
FREE, AGAIN = "free", "free again"
STROKE = [(0, 0), (500, 200), (1000, 1000)]

Disturbance = Callable[[asyncio.Event], Coroutine[Any, Any, None]]
"""Disturbs the class until the event."""


@dataclass
class Spells:
    """All spells of one kind. `acts`: from sending an act to the board. `behind`: of each event that all observers got,
    how much later than the first socket each of them got it.
    """

    acts: list[float] = field(default_factory=list)
    behind: list[dict[str, float]] = field(default_factory=list)

    @property
    def acts_p99(self) -> float:
        return percentile(self.acts, 0.99)

    def events_p99(self) -> list[float]:
        """How late each event came to 99 % of the observers."""
        return [percentile(list(times.values()), 0.99) for times in self.behind]

    def observer_p99(self, observer: str) -> float:
        """How late events came to an observer."""
        return max(LEAST_MS, percentile([times[observer] for times in self.behind if observer in times], 0.99))


async def in_turns(taught: Taught, disturbances: dict[str, Disturbance]) -> dict[str, Spells]:
    """Runs the spells; the kinds are the names of the disturbances, FREE and AGAIN."""
    kinds = [FREE, *disturbances, AGAIN]
    found = {kind: Spells() for kind in kinds}
    for turn in range(TURNS):
        first = turn % len(kinds)
        for kind in kinds[first:] + kinds[:first]:
            await _spell(taught, disturbances.get(kind), found[kind])
    return found


async def _spell(taught: Taught, disturb: Disturbance | None, found: Spells) -> None:
    arrivals, acts, over = taught.arrivals, taught.figures.acts, asyncio.Event()
    disturbing = asyncio.create_task(disturb(over)) if disturb is not None else None
    acts.clear()
    arrivals.behind.clear()
    hands = taught.at_work()[-HANDS:]
    try:
        end_ms = clock_ms() + 1_000 * SPELL_S
        await asyncio.gather(_present(taught, end_ms), *(_raise_hands(one, end_ms) for one in hands))
    finally:
        over.set()
        if disturbing is not None:
            await disturbing
    found.acts += acts
    found.behind += [dict(times) for times in arrivals.behind.values() if len(times) == len(taught.observers)]


async def _present(taught: Taught, end_ms: float) -> None:
    """Acts of the instructor of which all pages are notified."""
    acts: list[dict[str, Any]] = [
        {"op": "set_timer", "seconds": 600},
        {"op": "draw", "anchor": "record:led-0@b1:0", "points": STROKE},
        {"op": "set_timer", "seconds": 300},
        {"op": "clear_ink"},
    ]
    for act in itertools.cycle(acts):
        if clock_ms() >= end_ms:
            return
        await taught.board.act(**act)
        await asyncio.sleep(ACT_S)


async def _raise_hands(learner: Learner, end_ms: float) -> None:
    while clock_ms() < end_ms:
        mine = learner.sections.get("/mine") or {}
        if mine.get("hand_us"):
            await learner.act("lower_hand")
        else:
            await learner.act("raise_hand", at={"lab": mine.get("lab", ""), "seq": 1, "at_us": 0})
        await asyncio.sleep(HAND_S)


def worst_observer(disturbed: Spells, *free: Spells) -> float:
    """By what factor the disturbance delays events to the observer whom it delays most, compared with the later of the
    spells without one; NaN without observers.
    """
    observers = {observer for times in disturbed.behind for observer in times}
    ratios = [disturbed.observer_p99(one) / max(each.observer_p99(one) for each in free) for one in observers]
    return max(ratios, default=float("nan"))


def acts_ratio(disturbed: Spells, *free: Spells) -> float:
    """By what factor the disturbance delays the acts of the others (p99), compared with the later of the spells without
    one.
    """
    return disturbed.acts_p99 / max(LEAST_MS, *(each.acts_p99 for each in free))
