"""The expected tables of learners' logs, computed by plain Python from the dumped logs, by the definitions in
docs/TABLES.md. Nothing of `lab.analytics` is imported.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import msgspec

from lab.learning.events import KINDS
from tests.support.analytics.plain.dump import Row

ANSWERS = ("PredictionSettled", "AnswerGiven")
_LINE = re.compile(r"\| offset: (\d+) CreateTime: (-?\d+) .*? payload: (.*)")
_APART = ("ReviewAsked", "ReviewAnswered", "ChallengeJudged")
_PAUSE_MS = 120_000

Key = TypeVar("Key")
Value = TypeVar("Value")


class Act(NamedTuple):
    """An act with its event; fields that the record leaves out have their defaults."""

    seq: int
    at_ms: int
    learner: str
    room: str
    kind: str
    said: Any

    @property
    def step(self) -> str | None:
        return getattr(self.said, "step", None)

    @property
    def lab(self) -> str:
        """Run and branch; empty outside of a run."""
        return "/".join(part for part in (self.said.run, self.said.branch) if part)

    @property
    def is_done(self) -> bool:
        """Whether it completes its step."""
        return self.kind in ("StepChecked", "PredictionSettled") or (self.kind == "AnswerGiven" and self.said.right)


class Attempt(NamedTuple):
    """The acts of one attempt, with the columns that its rows begin with."""

    head: Row
    number: int
    acts: list[Act]
    is_last: bool


def grouped(values: Iterable[Value], key: Callable[[Value], Key]) -> dict[Key, list[Value]]:
    """Values by a key, in their order."""
    found: dict[Key, list[Value]] = defaultdict(list)
    for value in values:
        found[key(value)].append(value)
    return dict(found)


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are there."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def records(dump: str) -> list[tuple[int, int, Any]]:
    """Offset, time and value of each record of a dumped log, without the header at offset 0."""
    lines = (_LINE.match(line) for line in dump.split("\n"))
    return [(int(line[1]), int(line[2]), json.loads(line[3])) for line in lines if line and int(line[1])]


def acts_of(dump: str, learner: str, rooms: Mapping[str, str]) -> list[Act]:
    """The acts in the log of a learner. `rooms`: the classes that runs belong to."""
    found = []
    for seq, at_ms, said in records(dump):
        event: Any = msgspec.convert(said, KINDS[said["k"]])
        found.append(Act(seq, at_ms, learner, event.classroom or rooms.get(event.run, ""), said["k"], event))
    return found


def attempts_of(acts: Sequence[Act]) -> list[Attempt]:
    """The attempts of a learner: each start of the first part of a lesson begins one."""
    found: dict[tuple[str, int], list[Act]] = {}
    starts: dict[str, int] = defaultdict(int)
    for act in acts:
        if act.kind not in _APART:
            lesson = act.said.lesson
            starts[lesson] += act.kind == "LessonStarted" and act.said.part == 1
            found.setdefault((lesson, max(starts[lesson], 1)), []).append(act)
    return [
        Attempt(_head(lesson, number, mine), number, mine, number == max(starts[lesson], 1))
        for (lesson, number), mine in found.items()
    ]


def _head(lesson: str, number: int, acts: Sequence[Act]) -> Row:
    learner = acts[0].learner
    return {
        "log": f"learner:{learner}", "attempt": f"{learner}/{lesson}/{number}", "learner": learner, "lesson": lesson,
    }  # fmt: skip


def _shared(acts: Sequence[Act]) -> Row:
    contents = [act.said.content_version for act in acts if act.said.content_version]
    return {"class": max(act.room for act in acts), "content": max(contents, default=None)}


def attempt_row(attempt: Attempt) -> Row:
    """The row of `gold.attempts`."""
    acts = attempt.acts
    gaps = [later.at_ms - act.at_ms for act, later in pairwise(acts)]
    firsts = [mine[0].said for mine in _answers(acts).values()]
    is_over = any(act.kind == "LessonFinished" and act.said.part == act.said.parts for act in acts)
    labs = [act.lab for act in acts if act.lab]
    return {
        **attempt.head, **_shared(acts), "lab": labs[-1] if labs else None,
        "began_ms": min(act.at_ms for act in acts), "ended_ms": max(act.at_ms for act in acts),
        "state": "finished" if is_over else "open" if attempt.is_last else "left",
        "active_s": sum(gap for gap in gaps if 0 <= gap <= _PAUSE_MS) / 1_000,
        "resets": sum(act.kind == "LessonReset" for act in acts),
        "hints": sum(act.kind == "HintShown" for act in acts),
        "steps_done": len({act.step for act in acts if act.is_done}),
        "right_first": sum(said.right for said in firsts),
        "brier": mean(getattr(said, "brier", None) for said in firsts),
    }  # fmt: skip


def _answers(acts: Iterable[Act]) -> dict[str | None, list[Act]]:
    return grouped((act for act in acts if act.kind in ANSWERS), lambda act: act.step)


def step_rows(attempt: Attempt) -> Iterator[Row]:
    """The rows of `gold.attempt_steps`."""
    steps = grouped((act for act in attempt.acts if act.step is not None), lambda act: act.step)
    for step, acts in steps.items():
        done = next((act for act in acts if act.is_done), None)
        reply = next((act for act in acts if act.kind in ("PredictionGiven", "AnswerGiven")), None)
        hints = [act for act in acts if act.kind == "HintShown"]
        began_ms = min(act.at_ms for act in acts)
        yield {
            **attempt.head, **_shared(acts), "step": step, "began_ms": began_ms,
            "reached_ms": done and done.at_ms, "spent_s": done and (done.at_ms - began_ms) / 1_000,
            "reached_at_us": (done and done.said.at_us) or None, "lab_seq": (done and done.said.seq) or None,
            "lab": max((act.lab for act in acts if act.lab), default=None),
            "tries": max(getattr(act.said, "attempt", 1) for act in acts),
            "hints": len(hints), "hints_before": sum(reply is None or act.seq < reply.seq for act in hints),
            "skipped": any(act.kind == "StepSkipped" for act in acts), **_first_answer(acts),
        }  # fmt: skip


def _first_answer(acts: Sequence[Act]) -> Row:
    first = next((act.said for act in acts if act.kind in ANSWERS), None)
    if first is None:
        return {}
    return {
        "choice": getattr(first, "choice", getattr(first, "answer", None)), "p": getattr(first, "p", None),
        "choices": getattr(first, "choices", None), "outcome": first.outcome or None, "right": first.right,
        "brier": getattr(first, "brier", None), "tags": list(getattr(first, "tags", ())) or None,
        "misconception": first.misconception or None if not first.right else None,
    }  # fmt: skip


def wrong_state_rows(attempt: Attempt) -> Iterator[Row]:
    """The rows of `gold.wrong_states`."""
    shown = (act for act in attempt.acts if act.kind == "WrongStateShown")
    for (step, state, room), acts in grouped(shown, lambda act: (act.step, act.said.wrong, act.room)).items():
        first = acts[0]
        yield {
            **attempt.head, "class": room, "step": step, "state": state, "lab": first.lab,
            "misconception": max((act.said.misconception for act in acts if act.said.misconception), default=None),
            "first_seq": first.said.seq or None, "first_at_us": first.said.at_us or None, "times": len(acts),
        }  # fmt: skip
