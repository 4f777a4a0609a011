"""What the page of a lesson shows, as its template wants it."""

from collections.abc import Mapping
from typing import Any

from broker_core.eras import DEFAULT_ERA
from lab.course.attempts import Attempt
from lab.course.loader import Course, Lesson
from lab.course.standing import standing_of
from lab.exercises.frames import page_content
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
        "steps": _outline(exercise.steps, is_done),
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
        "next": course.after(lesson),
    }


def _outline(steps: list[Step], is_done: bool) -> list[dict[str, Any]]:
    """The steps by their kinds. From the first question on, texts could answer it: they are there once all is done."""
    first = next((place for place, step in enumerate(steps) if step.kind != "goals"), len(steps))
    return [
        {"kind": step.kind, "text": step.text if is_done or place < first else None} for place, step in enumerate(steps)
    ]


IN_LISTS = ("slug", "minutes", "era", "is_once", "has_own_cluster", "partition", "title")


def lesson_texts(lesson: Lesson, *, is_whole: bool) -> dict[str, Any]:
    """A lesson for the page of a lab: all that `page_content` gives, or what a list of lessons shows."""
    content = page_content(lesson.exercise)
    shown = content if is_whole else {name: content[name] for name in IN_LISTS}
    return {**shown, "number": lesson.number}
