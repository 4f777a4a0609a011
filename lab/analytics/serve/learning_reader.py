"""Rows of learning prepared for charts: with the step number, the learner, and the target of a click.

Staff of a class see individual learners; everyone else sees only counts of at least five.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from lab.analytics.figures.parts import Row, Rows
from lab.exercises.loader import exercises
from lab.learning.misconceptions import says
from lab.texts.i18n import translate

MIN_ANSWERS = 5
"""With fewer answers no tag, no split and no share is shown."""


class Person(NamedTuple):
    """A participant: their number in the class, and their name if it may be shown."""

    number: int
    name: str = ""

    def __str__(self) -> str:
        return f"p{self.number} {self.name}".strip()


class Scene(NamedTuple):
    """The context in which rows are prepared.

    Attributes:
        language: the language of the misconceptions.
        people: those who may be named, by pseudonym; rows of others are left out.
        lab: the address of a lab at an event, empty if the viewer may not see it.
        class_us: the instant of the class, in microseconds, at an instant of wall time.
        replay: the address of the class at such an instant.
    """

    language: str
    people: Mapping[str, Person] = {}
    lab: Callable[[str | None, int | None], str] = lambda lab, seq: ""
    class_us: Callable[[int | None], int | None] = lambda at_ms: None
    replay: Callable[[int], str] = lambda class_us: ""

    def at(self, at_ms: int | None) -> str:
        """The address of the class at an instant of wall time; empty if there is none."""
        class_us = self.class_us(at_ms)
        return "" if class_us is None else self.replay(class_us)


def prepared(name: str, rows: Rows, scene: Scene) -> list[Row]:
    """The rows of the chart `name`, with the additional columns that it needs."""
    return _PREPARE[name](rows, scene)


def placed(rows: Iterable[Row], after_last: str = "") -> list[Row]:
    """Rows with the number of their step, `step_no`, and `place` for the axis, in the order of the lessons.
    `after_last`: what rows after the last step of a lesson have instead of its number.
    """
    found = list(rows)
    lessons = sorted({row["lesson"] or "" for row in found})
    known = exercises()
    numbers = {
        lesson: {step.id: number for number, step in enumerate(known[lesson].steps, 1)}
        for lesson in lessons
        if lesson in known
    }
    made = []
    for row in found:
        lesson, step = row["lesson"] or "", row["step"] or ""
        # The log of a class contains step numbers.
        number = int(step) if step.isdecimal() else numbers.get(lesson, {}).get(step, 0)
        name = str(number) if number else step
        if after_last and lesson in known and number > len(known[lesson].steps):
            name, row = after_last, {**row, "step": after_last}
        head = lesson.partition("-")[0] if lesson[:1].isdigit() else lesson
        place = name if len(lessons) == 1 else f"{head} · {name}"
        made.append({**row, "lesson_no": lessons.index(lesson), "step_no": number, "place": place})
    return sorted(made, key=lambda row: (row["lesson_no"], row["step_no"], row["step"] or ""))


def _steps(rows: Rows, scene: Scene) -> list[Row]:
    """Steps of learners who may be named, by their numbers."""
    found = []
    for row in placed(row for row in rows if row["learner"] in scene.people):
        person = scene.people[row["learner"]]
        opened = scene.lab(row["lab"], row["lab_seq"]) or scene.at(row["reached_ms"] or row["began_ms"])
        found.append({**row, "number": person.number, "person": str(person), "learner": str(person), "open": opened})
    return sorted(found, key=lambda row: row["number"])


def _progress(rows: Rows, scene: Scene) -> list[Row]:
    """For each learner, the first time that a step was completed."""
    first: dict[tuple[str, str, str], Row] = {}
    for row in sorted((row for row in rows if row["reached_ms"] is not None), key=lambda row: row["reached_ms"]):
        first.setdefault((row["learner"], row["lesson"], row["step"]), row)
    return [{**row, "class_us": scene.class_us(row["reached_ms"])} for row in _steps(list(first.values()), scene)]


def _items(rows: Rows, scene: Scene) -> list[Row]:
    return [{**row, "open": scene.at(row["first_ms"])} for row in placed(rows) if row["n"] >= MIN_ANSWERS]


def _times(rows: Rows, scene: Scene) -> list[Row]:
    found = placed(row for row in rows if row["spent_p50_s"] is not None)
    return [{**row, "open": scene.at(row["first_ms"])} for row in found]


def _is_shown(row: Row) -> bool:
    return bool(max(row["asked"] or 0, row["learners"]) >= MIN_ANSWERS)


def _misconceptions(rows: Rows, scene: Scene) -> list[Row]:
    return [
        {**row, "belief": says(row["tag"], scene.language), "open": scene.at(row["first_ms"])}
        for row in rows
        if _is_shown(row)
    ]


def shown_tags(rows: Rows) -> frozenset[str]:
    """The misconceptions of a class with enough answers to show.

    Args:
        rows: of `gold.misconceptions`.
    """
    return frozenset(row["tag"] for row in rows if _is_shown(row))


def only_tags(rows: Rows, tags: frozenset[str]) -> list[Row]:
    """Groups of learners by their misconceptions among `tags`.

    Args:
        rows: of `gold.mistake_groups`.
        tags: misconceptions.
    """
    members: dict[str, list[str]] = defaultdict(list)
    last_ms: dict[str, int] = {}
    for row in rows:
        left = " ".join(tag for tag in row["mistakes"].split() if tag in tags)
        if left:
            members[left] += row["members"]
            last_ms[left] = max(last_ms.get(left, 0), row["last_ms"] or 0)
    return [{"mistakes": one, "members": members[one], "last_ms": last_ms[one]} for one in members]


def _mistakes(rows: Rows, scene: Scene) -> list[Row]:
    found = []
    for row in rows:
        people = sorted(scene.people[one] for one in row["members"] if one in scene.people)
        tags = row["mistakes"].split()
        if people:
            found.append(
                {
                    **row, "tags": tags, "beliefs": [says(tag, scene.language) for tag in tags],
                    "learners": len(people),
                    "people": [str(one) for one in people], "numbers": [f"p{one.number}" for one in people],
                    "open": scene.at(row["last_ms"]),
                }
            )  # fmt: skip
    return sorted(found, key=lambda row: (-row["learners"], row["mistakes"]))


def _groups(rows: Rows, scene: Scene) -> list[Row]:
    """Groups of more than one learner."""
    return [row for row in _mistakes(rows, scene) if row["learners"] > 1]


def _stuck(rows: Rows, scene: Scene) -> list[Row]:
    """Learners who have done all steps may still raise their hand."""
    found = placed(rows, translate(scene.language, "board.all_done"))
    return [{**row, "open": scene.replay(row["first_us"])} for row in found]


def _calibration(rows: Rows, scene: Scene) -> list[Row]:
    return [{**row, "open": scene.at(row.get("last_ms"))} for row in rows if row["answers"] >= MIN_ANSWERS]


def _of_lesson(rows: Rows, scene: Scene) -> list[Row]:
    return [{**row, "open": ""} for row in placed(rows)]


def _wrong_states(rows: Rows, scene: Scene) -> list[Row]:
    """Wrong states with `shown`, what a learner reads in one."""
    return [{**row, "shown": _shown_in(row, scene.language)} for row in _of_lesson(rows, scene)]


def _shown_in(row: Row, language: str) -> str:
    """The text of a wrong state; its id if the lesson does not have it any more."""
    exercise = exercises().get(row["lesson"])
    found = (
        wrong.text.in_language(language)
        for step in (exercise.steps if exercise is not None else ())
        if step.id == row["step"]
        for wrong in step.wrong
        if wrong.id == row["state"]
    )
    return next(found, str(row["state"]))


def _hints(rows: Rows, scene: Scene) -> list[Row]:
    """Steps with enough answers to show."""
    shown = [row for row in rows if row["right_with_hint"] is not None or row["right_without_hint"] is not None]
    return _of_lesson(shown, scene)


def _own(rows: Rows, scene: Scene) -> list[Row]:
    """Steps of the user's own attempts, by their number."""
    found = []
    for row in placed(rows):
        number = row["attempt"].rpartition("/")[2]
        found.append(
            {**row, "attempt_no": int(number), "person": f"#{number}", "open": scene.lab(row["lab"], row["lab_seq"])}
        )
    return sorted(found, key=lambda row: row["attempt_no"])


_PREPARE: Mapping[str, Callable[[Sequence[Row], Scene], list[Row]]] = {
    "class_steps": _steps,
    "class_progress": _progress,
    "class_stuck": _stuck,
    "class_times": _times,
    "class_items": _items,
    "class_misconceptions": _misconceptions,
    "class_mistakes": _mistakes,
    "class_groups": _groups,
    "class_calibration": _calibration,
    "lesson_stops": _of_lesson,
    "lesson_times": _times,
    "lesson_items": _items,
    "lesson_wrong_states": _wrong_states,
    "lesson_hints": _hints,
    "lesson_calibration": _calibration,
    "own_steps": _own,
}
