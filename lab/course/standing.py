"""A learner's standing in each lesson, as shown by the front page and the pages of lessons."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from lab.course.attempts import Attempt, Dot, best_of
from lab.course.loader import Lesson
from lab.learning.summary import LessonSummary, Mastery, Summary
from lab.reviews.registry import generators

State = Literal["new", "started", "done"]


class Standing(NamedTuple):
    """`dots`: one for each prediction; `done` of `steps` in the attempt that counts for the lesson."""

    state: State
    is_due: bool
    mastery: Mastery
    dots: list[Dot]
    done: int
    steps: int

    @property
    def is_shaky(self) -> bool:
        """Whether it should be asked again: it is due, or the last answer was wrong."""
        return self.is_due or self.mastery == "shaky"


def standing_of(lesson: Lesson, attempts: Mapping[str, list[Attempt]], summary: Summary) -> Standing:
    """The standing in one lesson. Attempts are deleted with their runs; the summary keeps what was learned."""
    learnt = summary.lessons.get(lesson.slug)
    best = best_of(attempts.get(lesson.slug, []))
    steps = len(lesson.exercise.steps)
    is_done = bool(learnt and learnt.is_done) or bool(best and best.is_finished)
    return Standing(
        state="done" if is_done else "started" if best or learnt else "new",
        is_due=lesson.slug in generators() and any(card.lesson == lesson.slug for card in summary.due),
        mastery=learnt.mastery if learnt else "unseen",
        dots=best.dots if best else _dots(lesson, learnt),
        done=best.done if best else _done(learnt),
        steps=steps,
    )


def _dots(lesson: Lesson, learnt: LessonSummary | None) -> list[Dot]:
    asked = [step.id for step in lesson.exercise.steps if step.kind != "goals"]
    return [_dot(learnt, step) for step in asked]


def _dot(learnt: LessonSummary | None, step: str) -> Dot:
    found = learnt.steps.get(step) if learnt else None
    if found is None or found.right is None:
        return "open"
    return "right" if found.right else "wrong"


def _done(learnt: LessonSummary | None) -> int:
    return sum(step.checked_at_ms is not None for step in learnt.steps.values()) if learnt else 0
