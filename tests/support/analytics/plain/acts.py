"""The expected tables of acts, computed by plain Python from the dumped logs of classes and learners, by the
definitions in docs/TABLES.md. Nothing of `lab.analytics` is imported.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lab.classroom.events import CLASS
from tests.support.analytics.plain.dump import Row, Rows

_RECORD = re.compile(r"\| offset: (\d+) CreateTime: (-?\d+) .*? payload: (.*)")
_NUMBERED = re.compile(r"p[0-9]+")
_NAMES_A_PERSON = ("p", "by", "voter")
#: Pointers, views, and how far labs are.
_NOT_AN_ACT = ("ViewChanged", "Pointed", "InkDrawn", "InkCleared", "LabMoved", "LabsSeen")


def bronze_of_class(dump: str, slug: str, people: Mapping[str, str]) -> Iterator[Row]:
    """The rows of `bronze.acts` of a class. `people`: its participants' pseudonyms; others are not known."""
    wall_ms, since_us = 0, 0
    for seq, _, said in _records(dump):
        if seq == 0:
            wall_ms = said["wall_ms"]
            continue
        class_us, who, _, (kind, *values) = said
        fields = dict(zip(CLASS.kinds[kind].__struct_fields__, values, strict=False))
        if kind == "ClassResumed":
            wall_ms, since_us = fields["wall_ms"], class_us
        named = {name: fields[name] for name in _NAMES_A_PERSON if name in fields}
        known = {name: people.get(one) if _NUMBERED.fullmatch(one) else one for name, one in named.items()}
        actor = people.get(who) if _NUMBERED.fullmatch(who) else who
        if kind in _NOT_AN_ACT or actor is None or None in known.values():
            continue
        yield {
            "log": f"class:{slug}", "seq": seq, "at_ms": wall_ms + (class_us - since_us) // 1_000,
            "class_us": class_us, "who": actor, "kind": kind, "class": slug, "scope": "class",
            "payload": {**fields, **known},
        }  # fmt: skip


def bronze_of_learner(dump: str, person: str, rooms: Mapping[str, str]) -> Iterator[Row]:
    """The rows of `bronze.acts` of a learner. `rooms`: the classes that runs belong to."""
    for seq, at_ms, said in _records(dump):
        if seq == 0:
            continue
        room = said.get("classroom") or rooms.get(said.get("run"), "")
        yield {
            "log": f"learner:{person}", "seq": seq, "at_ms": at_ms, "class_us": None, "who": person,
            "kind": said["k"], "class": room, "scope": "class" if room else "private",
            "payload": {name: value for name, value in said.items() if name not in ("k", "v", "classroom")},
        }  # fmt: skip


def _records(dump: str) -> Iterator[tuple[int, int, Any]]:
    for line in dump.split("\n"):
        if found := _RECORD.match(line):
            yield int(found[1]), int(found[2]), json.loads(found[3])


def silver_of(acts: Rows) -> Iterator[Row]:
    """The rows of `silver.acts` of the rows of bronze of one log."""
    lesson = None
    for act in acts:
        said = act["payload"]
        lesson = {"ClassOpened": said.get("chapter"), "LessonBegan": said.get("lesson")}.get(act["kind"], lesson)
        is_of_class = act["class_us"] is not None
        yield {
            **{name: act[name] for name in ("log", "seq", "class", "kind", "at_ms", "class_us", "scope")},
            **(_in_class(act, lesson) if is_of_class else _alone(act)),
            "choice": said.get("choice", said.get("answer")), "choices": _number(said.get("choices")),
            "brier": said.get("brier"), "misconception": said.get("misconception") or None,
            "tags": said.get("tags"), "wrong": said.get("wrong"), "hint": _number(said.get("hint", said.get("hints"))),
            "why": said.get("why", said.get("state")), "poll": said.get("poll"), "round": said.get("round"),
            "lab_seq": said.get("seq"), "lab_at_us": said.get("at_us"), "content": said.get("content_version"),
        }  # fmt: skip


def _in_class(act: Row, lesson: str | None) -> Row:
    said = act["payload"]
    sure = said.get("sure", -1)
    right, outcome = said.get("right"), said.get("outcome")
    if act["kind"] == "PollMade":
        right, outcome = None, right or None
    return {
        "learner": said.get("p", said.get("voter", act["who"] or None)), "lesson": lesson,
        "step": None if "step" not in said else str(said["step"]), "p": sure / 100 if sure >= 0 else None,
        "outcome": outcome, "right": right, "lab": said.get("lab", ""),
    }  # fmt: skip


def _alone(act: Row) -> Row:
    said, kind = act["payload"], act["kind"]
    is_part = kind in ("LessonStarted", "LessonFinished")
    place = "/".join(part for part in (said.get("run"), said.get("branch")) if part)
    return {
        "learner": act["who"], "lesson": said["lesson"], "step": said.get("step"), "p": said.get("p") or None,
        "outcome": said.get("outcome"), "right": said.get("right"), "lab": place,
        "attempt": said.get("attempt", 1 if "step" in said else None), "part": said.get("part", 1 if is_part else None),
        "parts": said.get("parts", 1 if kind == "LessonFinished" else None),
    }  # fmt: skip


def _number(value: Any) -> int | None:
    """A number; the events of a class have lists of choices and hints under the same names."""
    return value if isinstance(value, int) else None
