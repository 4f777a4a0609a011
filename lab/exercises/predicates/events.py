"""Predicates about what has happened."""

from typing import Annotated, Literal

from broker_core.texts import text
from lab.exercises.happenings import Happening, Passed
from lab.exercises.moment import Moment
from lab.exercises.predicate import GoalState, answer, one_of, predicate

Since = Literal["step", "lesson"]


@predicate
def happened(
    moment: Moment,
    *,
    what: Happening,
    at_least: int = 1,
    since: Annotated[str, one_of("step", "lesson")] = "step",
) -> GoalState:
    """Something has happened `at_least` times since the step, or the lesson, began (`what`: `happenings.py`)."""
    if isinstance(what, Passed):
        since_us = moment.tally.step_us if since == "step" else moment.tally.began_us
        passed_ms = (moment.at_us - since_us) // 1000
        return answer("goal.passed", passed_ms >= what.ms, passed_s=passed_ms // 1000, wanted_s=what.ms // 1000)
    count = moment.tally.happened(what, since == "step")
    if at_least == 1:
        return GoalState(count > 0, text("goal.happened_once" if count else "goal.not_happened", what=what.says()))
    return answer("goal.happened", count >= at_least, what=what.says(), n=count, wanted=at_least)


@predicate
def never(moment: Moment, *, what: Happening, since: Annotated[str, one_of("step", "lesson")] = "step") -> GoalState:
    """Something has not happened since the step, or the lesson, began; once it has, the lesson must be started over."""
    count = moment.tally.happened(what, since == "step")
    return answer("goal.never", count == 0, what=what.says())
