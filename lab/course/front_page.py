"""The data of the front page, in the shape that its template expects."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from broker_core.eras import DEFAULT_ERA
from lab.challenges.loader import challenges
from lab.course.attempts import Attempt
from lab.course.calibration import curve
from lab.course.hero import HERO, hero_run
from lab.course.loader import MORE_LESSONS, Chapter, Course, Lesson
from lab.course.map import drawn
from lab.course.standing import Standing, standing_of
from lab.learning.summary import Summary
from lab.reviews.queue import todays
from lab.reviews.registry import generators

VIEWS = ("chapter", "note", "map")
DUE_SHOWN = 3
REVIEW_S = 40
"""The approximate duration of a review."""


class Card(NamedTuple):
    """A lesson in a list."""

    lesson: Lesson
    era: str
    standing: Standing
    is_current: bool

    @property
    def look(self) -> str:
        """The card's class."""
        if self.is_current:
            return "current"
        if self.standing.state == "done":
            return "due" if self.standing.is_shaky else "done"
        return self.standing.state


def front_page(
    course: Course, attempts: Mapping[str, list[Attempt]], summary: Summary, view: str = "chapter"
) -> dict[str, Any]:
    """The context of `course/front.html` but for the runs. `view`: one of VIEWS."""
    standings = {slug: standing_of(lesson, attempts, summary) for slug, lesson in course.lessons.items()}
    current = _current(course, attempts, summary, standings)
    cards = {
        slug: Card(lesson, _era(lesson), standings[slug], current is not None and current["lesson"] is lesson)
        for slug, lesson in course.lessons.items()
    }
    hero = hero_run()
    due_today = len(todays(summary))
    shown_dots = [dot for standing in standings.values() for dot in standing.dots]
    return {
        "view": view if view in VIEWS else VIEWS[0],
        "views": VIEWS,
        "hero": {
            "recording": HERO.removeprefix("static/"),
            "lesson": course.lessons.get(hero.lesson),
            "era": hero.era,
            "at_us": hero.at_us,
            "lasts_s": hero.lasts_s,
        },
        "current": current,
        "is_newcomer": not attempts and not summary.events,
        "counts": {
            "lessons": len(cards),
            "done": sum(standing.state == "done" for standing in standings.values()),
            "right": shown_dots.count("right"),
            "settled": len(shown_dots) - shown_dots.count("open"),
        },
        "path": _first_path(course, cards),
        "chapters": [_chapter(one, cards) for one in course.chapters if one.lessons and one.slug != MORE_LESSONS],
        "more": [_chapter(one, cards) for one in course.chapters if one.slug == MORE_LESSONS],
        "challenges": [one for one in challenges().values() if view != "note"],
        "challenge_chapter": course.challenge_chapter,
        "notes": _notes(course, cards) if view == "note" else [],
        "map": drawn(course, standings) if view == "map" else None,
        "curve": curve(summary),
        "gap_lesson": course.lessons.get(summary.gap.lesson) if summary.gap else None,
        "due": [
            {"lesson": course.lessons[card.lesson], "card": card}
            for card in summary.due
            if card.lesson in cards and card.lesson in generators()
        ][:DUE_SHOWN],
        "due_today": due_today,
        "due_minutes": -(-due_today * REVIEW_S // 60),
        "next_due_at_ms": summary.next_due_at_ms,
    }


def _first_path(course: Course, cards: Mapping[str, Card]) -> dict[str, Any] | None:
    """The first path with its next lesson; None once all of its lessons are done."""
    own = [cards[lesson.slug] for lesson in course.first_path]
    following = next((card for card in own if card.standing.state != "done"), None)
    if following is None:
        return None
    return {
        "cards": own,
        "next": following,
        "done": sum(card.standing.state == "done" for card in own),
        "minutes": sum(card.lesson.exercise.minutes for card in own),
    }


def _chapter(chapter: Chapter, cards: Mapping[str, Card]) -> dict[str, Any]:
    own = [cards[lesson.slug] for lesson in chapter.lessons]
    return {"chapter": chapter, "cards": own, "done": sum(card.standing.state == "done" for card in own)}


def _notes(course: Course, cards: Mapping[str, Card]) -> list[dict[str, Any]]:
    return [
        {
            "note": note,
            "headings": [
                {"title": heading.title, "cards": [cards[slug] for slug in heading.lessons if slug in cards]}
                for heading in note.headings
                if any(slug in cards for slug in heading.lessons)
            ],
        }
        for note in course.notes
    ]


def _current(
    course: Course,
    attempts: Mapping[str, list[Attempt]],
    summary: Summary,
    standings: Mapping[str, Standing],
) -> dict[str, Any] | None:
    """Where to continue: the unfinished attempt that was started last, else the next lesson that is not done, on the
    first path, then in the order of the course. None when all are done.
    """
    unfinished = [attempt for own in attempts.values() for attempt in own[:1] if not attempt.is_finished]
    newest = max(unfinished, key=lambda attempt: attempt.started_at, default=None)
    if newest is not None and newest.slug in course.lessons:
        return {"lesson": course.lessons[newest.slug], "address": newest.address}
    following = [*course.first_path, *course.lessons.values()]
    lesson = next((one for one in following if standings[one.slug].state != "done"), None)
    return {"lesson": lesson, "address": ""} if lesson else None


def _era(lesson: Lesson) -> str:
    return lesson.exercise.era if lesson.exercise.era != DEFAULT_ERA else ""
