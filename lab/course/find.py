"""Search results: lessons, runs, and terms of the glossary."""

from typing import Any

from django.contrib.auth.models import User

from lab.course.loader import Course
from lab.exercises.glossary import glossary
from lab.selectors import runs_of


def found_by_search(user: User, course: Course, language: str) -> list[dict[str, Any]]:
    """Everything that the search field finds, `{kind, title, other, detail, address}`: kind is lesson, run or term;
    `title` is English and `other` Chinese, `detail` in `language`.
    """
    lessons = [
        {
            "kind": "lesson",
            "title": lesson.exercise.title.en,
            "other": lesson.exercise.title.zh,
            "detail": lesson.number,
            "address": f"/course/{lesson.slug}/",
        }
        for lesson in course.lessons.values()
    ]
    runs = [
        {
            "kind": "run",
            "title": run.name,
            "other": "",
            "detail": run.era,
            "address": f"/r/{run.slug}/{run.branches.all()[0].name}",
        }
        for run in runs_of(user)
        if run.branches.all()
    ]
    terms = [
        {
            "kind": "term",
            "title": term.english,
            "other": term.chinese,
            "detail": term.meaning.in_language(language),
            "address": f"/glossary/#{anchor(term.english)}",
        }
        for term in glossary().values()
    ]
    return [*lessons, *runs, *terms]


def anchor(term: str) -> str:
    """The id of a term on the page of the glossary."""
    return "-".join("".join(sign if sign.isalnum() else " " for sign in term.lower()).split())
