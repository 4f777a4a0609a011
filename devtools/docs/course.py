"""The tables of docs/COURSE.md: lessons, and which of them treat a topic or an erratum of the notes."""

from collections.abc import Callable, Iterable

from lab.course.loader import Lesson, course
from lab.exercises.lesson import ERRATA, TOPICS, Exercise


def lessons() -> str:
    """The lessons in the order of the course."""
    rows = ["| no. | lesson | 题目 | minutes | era | requires |", "|---|---|---|---|---|---|"]
    for chapter in course().chapters:
        rows.append(f"| **{chapter.number}** | **{chapter.title.en}** | **{chapter.title.zh}** | | | |")
        rows += [_row(lesson) for lesson in chapter.lessons]
    return "\n".join(rows)


def topics() -> str:
    """Topic to lessons."""
    return _mapped("topic", TOPICS, lambda exercise: exercise.topics)


def errata() -> str:
    """Erratum to lessons."""
    return _mapped("erratum", ERRATA, lambda exercise: exercise.errata)


def _row(lesson: Lesson) -> str:
    exercise = lesson.exercise
    known = course().lessons
    required = " ".join(known[slug].number for slug in exercise.requires if slug in known)
    folder = f"../lab/exercises/content/{lesson.slug}"
    cells = [lesson.number, f"[{exercise.title.en}]({folder})", exercise.title.zh, str(exercise.minutes), exercise.era]
    return f"| {' | '.join(cells)} | {required or '–'} |"


def _mapped(name: str, wanted: Iterable[object], of: Callable[[Exercise], Iterable[object]]) -> str:
    whole = list(course().lessons.values())
    rows = [f"| {name} | lessons |", "|---|---|"]
    for one in wanted:
        found = [f"{lesson.number} {lesson.exercise.title.en}" for lesson in whole if one in of(lesson.exercise)]
        rows.append(f"| {one} | {'; '.join(found) or '–'} |")
    return "\n".join(rows)
