"""Who of a rehearsed class works how. Their names on the board say so."""

from collections.abc import Iterator
from typing import NamedTuple

from devtools.rehearsal.learners import Manner
from devtools.rehearsal.taught import Taught

QUICK_S, STEADY_S, SLOW_S = 2.0, 8.0, 16.0
LATER_S = 8.0
"""Between two lines of a quick learner who has done the lesson."""
LEAVES_AT, AWAY_S = 0.25, 30.0
"""After what part of the class the first learner leaves, and for how long at most."""


class Person(NamedTuple):
    name: str
    manner: Manner


def people_of(learners: int, active: int, stuck: int, leaving: int, class_s: float) -> Iterator[Person]:
    """The learners of a class of `class_s` seconds. `active`: how many are quick, and let their labs play on. Of those
    who get stuck every other one does nothing, and the others do not succeed.
    """
    usual = max(1, learners - stuck - leaving)
    away_s = min(AWAY_S, class_s / 4)
    for number in range(1, learners + 1):
        if number <= min(active, usual):
            yield Person(f"Learner {number}", Manner(QUICK_S, LATER_S, plays_on=True))
        elif number <= usual:
            yield Person(f"Learner {number}", Manner(STEADY_S if number % 2 else SLOW_S))
        elif number <= usual + leaving:
            begins_s = class_s * LEAVES_AT + (number - usual) * 2
            yield Person(f"Learner {number} leaves", Manner(STEADY_S, leaves_s=(begins_s, away_s)))
        elif number % 2:
            yield Person(f"Learner {number} idle", Manner(QUICK_S, stuck="idle"))
        else:
            yield Person(f"Learner {number} struggles", Manner(QUICK_S * 2, stuck="struggles"))


def work_lines(taught: Taught) -> Iterator[str]:
    """How far the learners are in the lesson, and what the board says of those who get stuck or leave."""
    if taught.lesson is None:
        return
    steps = len(taught.lesson.steps)
    at = [taught.board.person(one.p).get("step", 1) for one in taught.learners]
    done = sum(step > steps for step in at)
    ahead = ", ".join(f"{count} at step {step}" for step in range(1, steps + 1) if (count := at.count(step)))
    yield f"lesson            {taught.lesson.slug}: {done} of {len(at)} have done it" + (f", {ahead}" if ahead else "")
    for learner in taught.learners:
        person = taught.board.person(learner.p)
        if learner.manner.stuck:
            said = f"as {person['stuck']} ({person['stuck_why']})" if person.get("stuck") else "not as stuck"
            yield f"{learner.name}: the board shows {learner.p} {said}, at step {person.get('step', 1)}"
