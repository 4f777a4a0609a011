"""The data of a lesson's page, in the shape that its template expects."""

from collections.abc import Mapping, Set
from typing import Any

from broker_core.eras import DEFAULT_ERA
from lab.course.attempts import Attempt
from lab.course.loader import Course, Lesson
from lab.course.standing import standing_of
from lab.exercises.frames import listed
from lab.exercises.glossary import Term
from lab.exercises.lesson import Step
from lab.learning.summary import Summary


def lesson_page(
    course: Course,
    lesson: Lesson,
    attempts: Mapping[str, list[Attempt]],
    summary: Summary,
    terms: Mapping[str, Term],
) -> dict[str, Any]:
    """The context of `course/lesson.html`. `attempts`: of the visitor, by slug."""
    exercise = lesson.exercise
    own = attempts.get(lesson.slug, [])
    standing = standing_of(lesson, attempts, summary)
    is_done = standing.state == "done"
    open_attempt = next((attempt for attempt in own if not attempt.is_finished), None)
    return {
        "lesson": lesson,
        "exercise": exercise,
        "chapter": course.chapters[lesson.chapter - 1],
        "era": exercise.era if exercise.era != DEFAULT_ERA else "",
        "era_text": f"era.{exercise.era}",
        "minutes": [part.minutes for part in exercise.parts] or [exercise.minutes],
        "questions": sum(step.kind != "goals" for step in exercise.steps),
        "steps": _outline(exercise.steps, set().union(*(attempt.opened for attempt in own))),
        "required": [
            {"lesson": needed, "standing": standing_of(needed, attempts, summary)}
            for needed in (course.lessons.get(slug) for slug in exercise.requires)
            if needed is not None
        ],
        "terms": [terms[name] for name in exercise.terms if name in terms],
        "attempts": own,
        "open_attempt": open_attempt,
        "is_done": is_done,
        "standing": standing,
        "next": course.following(lesson),
    }


def _outline(steps: list[Step], opened: Set[str]) -> list[dict[str, Any]]:
    """The steps by kind, with the texts of the steps that have opened in an attempt."""
    return [{"kind": step.kind, "text": step.text if step.id in opened else None} for step in steps]


def in_lists(course: Course, summary: Summary) -> list[dict[str, Any]]:
    """The lessons in the list of a lab's page. `next`: the slug of the lesson that follows; `is_finished`: once, by the
    learner, in any run.
    """
    return [
        {
            **listed(lesson.exercise),
            "number": lesson.number,
            "next": following.slug if (following := course.following(lesson)) else "",
            "is_finished": slug in summary.lessons and summary.lessons[slug].finished_at_ms is not None,
        }
        for slug, lesson in course.lessons.items()
    ]
