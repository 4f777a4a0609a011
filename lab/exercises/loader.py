"""Exercises as they lie in `content/NNN-slug/`, read strictly: what is wrong is said with its place.

A folder holds these files and no others:

    exercise.toml                    title, minutes, partition, speed, era, what it teaches, terms, what it needs, steps
    brief.en.md   brief.zh.md        what it is about, before the first step
    hints.en.md   hints.zh.md        hints with a line `---` between them, in the order in which they are given
    debrief.en.md debrief.zh.md      shown when it is finished
    setup.lab                        console lines that lay the table
    solution.lab                     how it is solved (see solution.py)
"""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from broker_core.eras import DEFAULT_ERA, ERAS
from lab.exercises.bilingual import LANGUAGES, Bilingual
from lab.exercises.event_conditions import Elected, GroupAssigned, PowerLost, Reads, RpcArrives, Truncated
from lab.exercises.places import Offset, check_offset
from lab.exercises.predicate import Goal
from lab.exercises.predicates import goal_of

CONTENT = Path(__file__).parent / "content"
_SLUG = re.compile(r"(\d{3})-[a-z0-9]+(-[a-z0-9]+)*")
_FILES = frozenset(
    {"exercise.toml", "setup.lab", "solution.lab"}
    | {f"{name}.{language}.md" for name in ("brief", "hints", "debrief") for language in LANGUAGES}
)
MESSAGES_RATE = 0.0025
"""The speed, simulated time over wall time, at which single messages can be followed."""


class ContentError(Exception):
    """Content that cannot be used. The message says where, what is wrong and what was expected."""


class Choice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One choice of a prediction. `value` names it (`HW + 1`); `offset` is the number that it means once asked."""

    value: str
    offset: Offset
    note: Bilingual

    def __post_init__(self) -> None:
        check_offset(self.offset)


class Prediction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Asked while the goals of the step before hold: what is `asks` when `after` has happened, a message's arrival, a
    loss of power, an election, a cut of a log, an assignment of a group, or that a consumer reads?
    """

    asks: str
    after: RpcArrives | PowerLost | Elected | Truncated | GroupAssigned | Reads
    choices: list[Choice]

    def __post_init__(self) -> None:
        check_offset(self.asks)
        if len({choice.value for choice in self.choices}) != len(self.choices) or len(self.choices) < 2:
            raise ValueError("two or more choices with different values are needed")


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing to bring about, or one to predict."""

    id: str
    text: Bilingual
    goals: list[Goal] = []
    prediction: Prediction | None = None

    def __post_init__(self) -> None:
        if bool(self.goals) == (self.prediction is not None):
            raise ValueError(f"step {self.id!r} needs either goals or a prediction")


class Exercise(msgspec.Struct, frozen=True, kw_only=True):
    """One exercise with all its texts. `needs` must hold once the set-up has run. `rate` and `partition`: the speed
    to begin with, and what the page shows then. `era`: the one of the runs in which it can be done.
    """

    slug: str
    title: Bilingual
    minutes: int
    partition: str
    rate: float
    era: str
    teaches: Bilingual
    terms: list[str]
    needs: list[Goal]
    steps: list[Step]
    brief: Bilingual
    hints: list[Bilingual]
    debrief: Bilingual
    setup: list[str]
    solution: str

    @property
    def number(self) -> str:
        return str(int(self.slug[:3]))


class _Definition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`exercise.toml`."""

    title: Bilingual
    minutes: int
    partition: str
    rate: float = MESSAGES_RATE
    era: str = DEFAULT_ERA
    teaches: Bilingual
    terms: list[str]
    needs: list[Goal]
    steps: list[Step]

    def __post_init__(self) -> None:
        if self.era not in ERAS:
            raise ValueError(f"{self.era!r} is no era: write one of {', '.join(ERAS)}")
        ids = [step.id for step in self.steps]
        if not ids or len(set(ids)) != len(ids):
            raise ValueError("one or more steps with different ids are needed")
        if self.steps[0].prediction or any(a.prediction and b.prediction for a, b in pairwise(self.steps)):
            raise ValueError("a prediction needs a step with goals before it: it is asked while these hold")


@cache
def exercises() -> dict[str, Exercise]:
    """All exercises by slug, in the order of their numbers. Raises ContentError."""
    return {folder.name: load(folder) for folder in sorted(CONTENT.iterdir()) if folder.is_dir()}


def load(folder: Path) -> Exercise:
    """One exercise. Raises ContentError."""
    if not _SLUG.fullmatch(folder.name):
        raise ContentError(f"{folder.name}: no name of an exercise. A folder like 001-some-words was expected.")
    _check_files(folder)
    definition = _definition(folder / "exercise.toml")
    return Exercise(
        slug=folder.name,
        brief=_both(folder, "brief"),
        hints=_hints(folder),
        debrief=_both(folder, "debrief"),
        setup=list(lines_of((folder / "setup.lab").read_text(encoding="utf-8"))),
        solution=(folder / "solution.lab").read_text(encoding="utf-8"),
        **{name: getattr(definition, name) for name in _Definition.__struct_fields__},
    )


def lines_of(script: str) -> Iterator[str]:
    """The lines of a script without comments and blank ones."""
    for line in script.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()


def page_content(exercise: Exercise) -> dict[str, Any]:
    """What the page gets of an exercise: texts and choices, and nothing that says which of them is right. `is_once`:
    its era deletes no topics, so that each try needs a run of its own.
    """
    steps = [
        {
            "id": step.id,
            "text": step.text,
            "prediction": _prediction_content(step.prediction),
        }
        for step in exercise.steps
    ]
    content: dict[str, Any] = msgspec.to_builtins(
        {
            "slug": exercise.slug,
            "number": exercise.number,
            "minutes": exercise.minutes,
            "era": exercise.era,
            "is_once": ERAS[exercise.era].defaults.get("delete.topic.enable") == "false",
            "partition": exercise.partition,
            "title": exercise.title,
            "brief": exercise.brief,
            "concept": exercise.teaches,
            "debrief": exercise.debrief,
            "hints": exercise.hints,
            "steps": steps,
        }
    )
    return content


def _prediction_content(prediction: Prediction | None) -> dict[str, Any] | None:
    """`steps`: whether stepping brings about what was predicted."""
    if prediction is None:
        return None
    choices = [{"value": one.value, "note": one.note} for one in prediction.choices]
    return {"choices": choices, "steps": isinstance(prediction.after, RpcArrives)}


def _check_files(folder: Path) -> None:
    found = {path.name for path in folder.iterdir()}
    for name in sorted(_FILES - found):
        raise ContentError(f"{folder.name}: {name} is missing. Each exercise has: {', '.join(sorted(_FILES))}.")
    for name in sorted(found - _FILES):
        raise ContentError(f"{folder.name}: {name} belongs to no exercise. Expected: {', '.join(sorted(_FILES))}.")


def _definition(path: Path) -> _Definition:
    where = f"{path.parent.name}/{path.name}"
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _Definition, dec_hook=_goal)
    except tomllib.TOMLDecodeError as error:
        raise ContentError(f"{where}: no TOML: {error}.") from None
    except msgspec.ValidationError as error:
        raise ContentError(f"{where}: {error}.") from None


def _goal(wanted: type, table: Any) -> Goal:
    """The one type of a definition that msgspec does not know."""
    assert wanted is Goal
    return goal_of(table)


def _both(folder: Path, name: str) -> Bilingual:
    en, zh = ((folder / f"{name}.{language}.md").read_text(encoding="utf-8").strip() for language in LANGUAGES)
    try:
        return Bilingual(en, zh)
    except ValueError as error:
        raise ContentError(f"{folder.name}/{name}: {error}.") from None


def _hints(folder: Path) -> list[Bilingual]:
    both = _both(folder, "hints")
    en, zh = (re.split(r"^---$", text, flags=re.MULTILINE) for text in (both.en, both.zh))
    if len(en) != len(zh):
        raise ContentError(f"{folder.name}/hints: {len(en)} in English, {len(zh)} in Chinese; as many were expected.")
    return [Bilingual(one.strip(), other.strip()) for one, other in zip(en, zh, strict=True)]
