"""Where the class is: its lesson, and the handout with which the labs of its participants begin.

The database holds it, so that labs are given and the class is restored from one place; the class records a lesson that
has begun as an event.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from lab.classroom.acts.facts import BeginLesson, OpenClass
from lab.course.loader import course
from lab.exercises.lesson import Exercise
from lab.exercises.loader import exercises
from lab.models import Class, ExerciseProgress

FIRST_HANDOUT = 1
"""The state with which the class itself began."""
_LESSON = "lesson"
"""In the settings of a class."""


class Start(NamedTuple):
    """How the labs of a class begin now. `lesson`: its slug, empty for none; `state`: that of the lesson's steps."""

    handout: int
    lesson: str
    state: dict[str, Any]


def start_of(classroom: Class) -> Start:
    """The start of a class as its settings are now."""
    kept = classroom.settings.get(_LESSON, {})
    return Start(kept.get("handout", FIRST_HANDOUT), kept.get("slug", ""), kept.get("state", {}))


def has_gone_on(classroom: Class) -> bool:
    """Whether a class works in other labs than those with which it began."""
    return start_of(classroom).handout != FIRST_HANDOUT


def set_start(classroom: Class, handout: int, progress: ExerciseProgress | None) -> None:
    """Stores how labs begin from now on. The state of the lesson is stored as well, because the instructor's own
    progress advances.
    """
    if progress is not None:
        kept = {"slug": progress.exercise, "state": progress.state, "handout": handout}
        classroom.settings = {**classroom.settings, _LESSON: kept}
        classroom.save(update_fields=["settings"])


def lesson_of(chapter: str) -> Exercise | None:
    """The lesson of this slug, or the first of a chapter of the course."""
    known = exercises()
    if chapter in known:
        return known[chapter]
    lessons = next((one.lessons for one in course().chapters if one.slug == chapter), ())
    return lessons[0].exercise if lessons else None


def lesson_title(slug: str, language: str) -> str:
    """The number and the title of a lesson; its slug if the course does not have it any more."""
    found = course().lessons.get(slug)
    return f"{found.number} {found.exercise.title.in_language(language)}" if found is not None else slug


def current_lesson(classroom: Class) -> Exercise | None:
    """The lesson that a class works on."""
    return lesson_of(start_of(classroom).lesson or classroom.chapter)


def opening(chapter: str) -> OpenClass:
    """The fact with which a class of a chapter or lesson opens."""
    lesson = lesson_of(chapter)
    return OpenClass(*_described(lesson)) if lesson is not None else OpenClass()


def begun(classroom: Class) -> Iterator[BeginLesson]:
    """The lesson that a class has gone on with, as a fact; none if it works on the one with which it opened."""
    start = start_of(classroom)
    lesson = exercises().get(start.lesson)
    if has_gone_on(classroom) and lesson is not None:
        yield BeginLesson(*_described(lesson), start.handout)


def _described(lesson: Exercise) -> tuple[str, int, int, tuple[int, ...]]:
    return lesson.slug, len(lesson.steps), lesson.minutes, (len(lesson.hints),) * len(lesson.steps)
