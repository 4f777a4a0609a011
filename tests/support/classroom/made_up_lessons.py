"""Drawn histories: what learners did in lessons, in classes and alone, and what happened in those classes."""

from collections.abc import Iterator
from random import Random
from typing import Any

from lab.classroom.events import pace, poll, room, work
from lab.learning import events as learning

LESSONS = ("first-steps", "acks")
STEPS = ("guess", "cut", "again")
TAGS = ("hw-is-leo", "acks-wait-for-all", "isr-is-all")
STOPS = (0.25, 0.5, 0.7, 0.9)


def history(draw: Random, runs: list[str]) -> Iterator[tuple[int, Any]]:
    """Acts of a learner, each with the milliseconds since the one before. `runs`: some of classes, "" for none."""
    for lesson in draw.sample(LESSONS, draw.randint(1, 2)):
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            where: dict[str, Any] = {
                "lesson": lesson, "run": draw.choice(runs), "branch": "main", "at_us": draw.randint(0, 9_000_000),
                "content_version": draw.choice(("", "v1", "v2")),
            }  # fmt: skip
            yield 1_000, learning.LessonStarted(**where, seq=1)
            for step in STEPS[: draw.randint(0, 3)]:
                for act in _at_step(draw, {**where, "step": step, "seq": draw.randint(0, 90)}):
                    yield draw.choice((0, 800, 31_000, 119_999, 120_000, 130_000)), act
            if draw.random() < 0.2:
                yield 2_000, learning.LessonReset(**where)
            if draw.random() < 0.5:
                yield 500, learning.LessonFinished(**where, part=draw.randint(1, 2), parts=2)
                yield 500, _transfer(draw, where)
        yield 900, learning.ReviewAsked(lesson=lesson, count=0, question_seed=1)


def _at_step(draw: Random, where: dict[str, Any]) -> Iterator[Any]:
    for hint in range(draw.choice((0, 0, 1, 2))):
        yield learning.HintShown(**where, hint=hint + 1)
    if draw.random() < 0.5:
        yield learning.WrongStateShown(**where, wrong=draw.choice("xxy"), misconception=draw.choice(("", *TAGS)))
    if draw.random() < 0.7:
        yield from _predicted(draw, where)
    for attempt in range(1, draw.randint(1, 3)):
        right = draw.random() < 0.5
        tag = "" if right else draw.choice(("", *TAGS))
        yield learning.AnswerGiven(**where, attempt=attempt, answer="a", right=right, misconception=tag)
    if draw.random() < 0.3:
        yield learning.HintShown(**where, hint=1)
    if draw.random() < 0.2:
        yield learning.StepSkipped(**where)
    elif draw.random() < 0.5:
        yield learning.StepChecked(**where)


def _predicted(draw: Random, where: dict[str, Any]) -> Iterator[Any]:
    choice, p = draw.choice("abcd"), draw.choice(STOPS)
    yield learning.PredictionGiven(**where, choice=choice, choices=4, p=p)
    if draw.random() < 0.9:
        yield learning.PredictionSettled(**where, choice=choice, choices=4, p=p, outcome="a", **_verdict(draw, choice))


def _transfer(draw: Random, where: dict[str, Any]) -> Any:
    choice = draw.choice("abcd")
    p = draw.choice((0.0, *STOPS))
    return learning.TransferAnswered(**where, choice=choice, choices=4, p=p, outcome="a", **_verdict(draw, choice))


def _verdict(draw: Random, choice: str) -> dict[str, Any]:
    right = choice == "a"
    return {
        "right": right, "brier": draw.choice((0.1, 0.5)) if right else draw.choice((0.9, 1.4)),
        "misconception": "" if right or choice == "d" else TAGS["bc".index(choice)],
        "tags": draw.choice(((), TAGS[:2], TAGS)),
    }  # fmt: skip


def lesson_of_class(draw: Random, people: int) -> Iterator[tuple[float, str, Any]]:
    """Events of a class: seconds, who, and the event."""
    yield 1, "room", room.ClassOpened(draw.choice(("", *LESSONS)), 2, 10, (0, 1))
    at_s = 2.0
    stuck: set[int] = set()
    for _ in range(draw.randint(5, 30)):
        at_s += draw.randint(1, 40)
        if draw.random() < 0.1:
            yield at_s, "room", pace.LessonBegan(draw.choice(LESSONS), 2, 10, (0, 1), 2)
        number = draw.randint(1, people)
        if number in stuck and draw.random() < 0.7:
            stuck.remove(number)
            yield at_s, "room", work.StuckEnded(f"p{number}")
        else:
            stuck.add(number)
            why = draw.choice(("refused", "hints"))
            yield at_s, "room", work.StuckBegan(f"p{number}", "struggles", draw.randint(1, 2), why, 3, 20)
    for number in (1, 2, 3):
        right = draw.choice(("", "1"))
        yield at_s, "i1", poll.PollMade(number, "choice", 1, (1, 2), False, True, right, 0)
        for turn in (1, 2, 3):
            for voter in draw.sample(range(1, people + 1), draw.randint(1, people)):
                for _ in range(draw.choice((1, 1, 2))):
                    at_s += 1
                    yield at_s, f"p{voter}", poll.Voted(number, turn, f"p{voter}", draw.choice("01"), 70)
        if draw.random() < 0.6:
            yield at_s + 1, "i1", poll.Revealed(number, draw.choice("01"), "", 0)
