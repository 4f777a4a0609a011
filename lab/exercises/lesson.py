"""The parts of a lesson, as `exercise.toml` defines them. `docs/WRITING_LESSONS.md` explains it to authors."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import msgspec

from broker_core.eras import DEFAULT_ERA, ERAS
from lab.exercises.bilingual import Bilingual
from lab.exercises.happenings import Happening, Passed, key_of
from lab.exercises.predicate import Goal
from lab.exercises.quantities import Quantity, check_quantity, is_word
from lab.learning.misconceptions import inventory
from lab.protocol.frames import MAX_RATE, MIN_RATE
from lab.run_limits import MAX_BROKERS, MAX_SEED

MESSAGES_RATE = 0.0025
"""The speed, simulated time over wall time, at which single messages can be followed."""
TOPICS = tuple(f"T{number}" for number in range(1, 32))
ERRATA = range(1, 94)
SCREENS = ("cluster", "disk", "zookeeper", "groups", "producers", "transactions", "alarms", "table", "timeline")
"""The screens that a freeze can show."""
_NOTE = re.compile(r"00[0-4]")
_RECORDING = re.compile(r"[a-z0-9][a-z0-9-]{0,59}\.hwclass")
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the tables of `exercise.toml`. Unknown keys are refused."""


class Against(Strict, frozen=True, kw_only=True):
    """The statement that a lesson refutes: `quote` as in note `source`, and in English; `text` what is wrong."""

    quote: str
    english: str = ""
    source: str
    text: Bilingual

    def __post_init__(self) -> None:
        if not _NOTE.fullmatch(self.source):
            raise ValueError(f"{self.source!r} is not a note: expected 000 to 004")
        if not self.quote.strip():
            raise ValueError("quote is empty")


class RunSettings(Strict, frozen=True, kw_only=True):
    """A lesson's cluster. `racks`: by broker id; `config`: settings of all brokers; `seed` 0: a new one each time."""

    brokers: int = 3
    racks: dict[str, str] = {}
    config: dict[str, str] = {}
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.brokers <= MAX_BROKERS:
            raise ValueError(f"brokers is {self.brokers}: expected 1 to {MAX_BROKERS}")
        if not 0 <= self.seed <= MAX_SEED:
            raise ValueError(f"seed is {self.seed}: expected 0, for a new one each time, to {MAX_SEED}")
        known = {str(broker) for broker in range(1, self.brokers + 1)}
        if not set(self.racks) <= known:
            raise ValueError(f"racks names {sorted(set(self.racks) - known)}: expected brokers of {sorted(known)}")


class Part(Strict, frozen=True, kw_only=True):
    """A point at which a lesson may be interrupted: the part that begins with `step` takes `minutes`."""

    step: str
    minutes: int
    title: Bilingual


class Choice(Strict, frozen=True, kw_only=True):
    """One choice of a prediction or an answer; `value` names it.

    What it means is `offset` (a quantity), `word`, or the numbers from `at_least` to below `below`. `later`: the
    quantity is read at the outcome and not when the question is asked. `says`: how the page writes the choice, where
    it is not a value that is known when it is shown. `tag` and `reason`: the misconception behind a wrong choice, and
    why it is wrong (of the right one: why it is right), shown with the outcome. `expected`: the right one, for the
    compiler alone.
    """

    value: str
    says: Bilingual | None = None
    note: Bilingual | None = None
    offset: Quantity | None = None
    word: str | None = None
    at_least: int | None = None
    below: int | None = None
    later: bool = False
    tag: str = ""
    reason: Bilingual | None = None
    expected: bool = False

    def __post_init__(self) -> None:
        is_range = self.at_least is not None or self.below is not None
        if sum((self.offset is not None, self.word is not None, is_range)) != 1:
            raise ValueError(f"choice {self.value!r} needs exactly one of offset, word, or at_least and below")
        if self.says is None and (is_range or self.later):
            raise ValueError(f"choice {self.value!r} needs says: a range or a later value is written in words")
        if self.offset is not None:
            check_quantity(self.offset)
        if self.tag and self.tag not in inventory():
            raise ValueError(f"choice {self.value!r}: {self.tag!r} is not a misconception of misconceptions.toml")


SINCE_LIMITS = 10
"""How often the limit of a prediction passes before its `since` counts as missing."""


class Prediction(Strict, frozen=True, kw_only=True):
    """Asked while the goals of the step before hold: what is `asks` when `after` has happened `times` times?

    `at_most_ms`: then the outcome is read at the latest, even if nothing else has happened. `since`: time runs from the
    first such event after the question was asked, and until then no outcome is read for lack of time; without it, time
    runs from locking in.
    """

    asks: Quantity
    after: Happening
    since: Happening | None = None
    times: int = 1
    at_most_ms: int | None = None
    choices: list[Choice]

    def __post_init__(self) -> None:
        check_quantity(self.asks)
        check_choices(self.choices)
        if self.since is not None and self.limit_ms is None:
            raise ValueError("a prediction with since needs at_most_ms, or after = { is = 'passed', ms = ... }")

    @property
    def limit_ms(self) -> int | None:
        """The time after which the outcome is read, None for any time."""
        return self.after.ms if isinstance(self.after, Passed) else self.at_most_ms

    @property
    def since_limit_ms(self) -> int | None:
        """How long `since` may take to happen after locking in; None without it."""
        return None if self.since is None or self.limit_ms is None else self.limit_ms * SINCE_LIMITS


class Answer(Strict, frozen=True, kw_only=True):
    """A question that the learner answers by observation: a number, or one of `choices`; right when it is `asks` now.

    `constant`: the same in every run, which the compiler would report otherwise.
    """

    asks: Quantity
    choices: list[Choice] = []
    reason: Bilingual | None = None
    constant: bool = False

    def __post_init__(self) -> None:
        check_quantity(self.asks)
        if self.choices:
            check_choices(self.choices)
        elif is_word(self.asks):
            raise ValueError(f"{self.asks!r} is a word: choices are needed")


class Wrong(Strict, frozen=True, kw_only=True):
    """A likely state other than the goal: while `goals` hold and the step's do not, `text` is shown."""

    id: str
    goals: list[Goal]
    text: Bilingual

    def __post_init__(self) -> None:
        if not self.goals:
            raise ValueError(f"wrong state {self.id!r} has no goals")


class Freeze(Strict, frozen=True, kw_only=True):
    """Pauses the run when `on` happens during the step, once, and shows `screen` with `text`."""

    on: Happening
    screen: str = "cluster"
    text: Bilingual

    def __post_init__(self) -> None:
        if self.screen not in SCREENS:
            raise ValueError(f"{self.screen!r} is not a screen: expected one of {', '.join(SCREENS)}")


class Step(Strict, frozen=True, kw_only=True):
    """One thing to reach (`goals`), to predict, or to answer."""

    id: str
    text: Bilingual
    goals: list[Goal] = []
    prediction: Prediction | None = None
    answer: Answer | None = None
    wrong: list[Wrong] = []
    freeze: Freeze | None = None

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError(f"step id {self.id!r}: expected lower-case words with hyphens")
        if bool(self.goals) + (self.prediction is not None) + (self.answer is not None) != 1:
            raise ValueError(f"step {self.id!r} needs exactly one of goals, prediction, answer")

    @property
    def kind(self) -> Literal["goals", "prediction", "answer"]:
        if self.prediction is not None:
            return "prediction"
        return "answer" if self.answer is not None else "goals"


class TransferChoice(Strict, frozen=True, kw_only=True):
    """One answer to the transfer question. `reason` is shown after it was chosen."""

    text: Bilingual
    reason: Bilingual
    right: bool = False
    tag: str = ""

    def __post_init__(self) -> None:
        if self.right == bool(self.tag) or (self.tag and self.tag not in inventory()):
            raise ValueError(
                "a wrong choice of the transfer needs a tag of misconceptions.toml, the right one has none"
            )


class Transfer(Strict, frozen=True, kw_only=True):
    """The question in another setting at the end of a lesson."""

    text: Bilingual
    choices: list[TransferChoice]

    def __post_init__(self) -> None:
        if len(self.choices) < 2 or sum(choice.right for choice in self.choices) != 1:
            raise ValueError("the transfer needs two or more choices, exactly one of them right")


class Chain(Strict, frozen=True, kw_only=True):
    """The debrief explains the last (`first`: the first) event that matches `of`: its causes back to a command.

    `via`: where these end at a periodic check, the chain continues at the last matching event before `of`: what the
    check found.
    """

    of: Happening
    first: bool = False
    via: Happening | None = None
    text: Bilingual


class Definition(Strict, frozen=True, kw_only=True):
    """`exercise.toml`."""

    title: Bilingual
    minutes: int
    partition: str
    rate: float = MESSAGES_RATE
    era: str = DEFAULT_ERA
    teaches: Bilingual
    terms: list[str]
    topics: list[str] = []
    errata: list[int] = []
    requires: list[str] = []
    against: Against | None = None
    run: RunSettings = RunSettings()
    parts: list[Part] = []
    needs: list[Goal] = []
    steps: list[Step]
    chain: Chain | None = None
    transfer: Transfer | None = None
    recording: str = ""

    def __post_init__(self) -> None:
        if self.recording and not _RECORDING.fullmatch(self.recording):
            raise ValueError(f"recording is {self.recording!r}: expected a file beside this one, such as walk.hwclass")
        if not MIN_RATE <= self.rate <= MAX_RATE:
            raise ValueError(f"rate is {self.rate:g}: expected {MIN_RATE:g} to {MAX_RATE:g}")
        if self.era not in ERAS:
            raise ValueError(f"{self.era!r} is not an era: write one of {', '.join(ERAS)}")
        ids = [step.id for step in self.steps]
        if not ids or len(set(ids)) != len(ids):
            raise ValueError("one or more steps with different ids are needed")
        if self.steps[0].prediction or any(a.prediction and b.prediction for a, b in pairwise(self.steps)):
            raise ValueError("a prediction needs a step with goals before it: it is asked while these hold")
        _check_known("topics", self.topics, TOPICS)
        _check_known("errata", self.errata, ERRATA)
        _check_known("parts", [part.step for part in self.parts], ids)


def _check_known(field: str, found: Sequence[Any], known: Sequence[Any]) -> None:
    if unknown := [one for one in found if one not in known]:
        raise ValueError(f"{field} has {unknown}: expected some of {known[0]} to {known[-1]}")


def check_choices(choices: Sequence[Choice]) -> None:
    """Raises ValueError unless there are at least two with different values, and at most one of them is expected."""
    if len({choice.value for choice in choices}) != len(choices) or len(choices) < 2:
        raise ValueError("two or more choices with different values are needed")
    if sum(choice.expected for choice in choices) > 1:
        raise ValueError("more than one choice is expected")


class Exercise(msgspec.Struct, frozen=True, kw_only=True):
    """One lesson with all its texts. `needs` must hold once the set-up has run. `rate` and `partition`: the initial
    speed, and what the page shows first. `era`: the one of the runs in which it can be done. `wrong`: the script of its
    wrong states. `recording`: the path of a recorded class; may be empty. `content_version`: of the files, for what is
    stored about it.
    """

    slug: str
    title: Bilingual
    minutes: int
    partition: str
    rate: float
    era: str
    teaches: Bilingual
    terms: list[str]
    topics: list[str]
    errata: list[int]
    requires: list[str]
    against: Against | None
    run: RunSettings
    parts: list[Part]
    needs: list[Goal]
    steps: list[Step]
    chain: Chain | None
    transfer: Transfer | None
    recording: str
    brief: Bilingual
    hints: list[Bilingual]
    hint_steps: list[list[str]]
    """The steps that each hint helps with; empty for a hint that helps with all."""
    debrief: Bilingual
    setup: list[str]
    solution: str
    wrong: str
    content_version: str

    def hints_for(self, step: str) -> list[int]:
        """The places of the hints for a step, in order; of all hints for an empty name."""
        return [place for place, steps in enumerate(self.hint_steps) if not step or not steps or step in steps]

    @property
    def happenings(self) -> list[Happening]:
        """What is counted, without duplicates: what its predictions wait for, and what its goals name."""
        found: list[Happening] = []
        for step in self.steps:
            if step.prediction is not None:
                found.append(step.prediction.after)
            for goal in [*step.goals, *(one for wrong in step.wrong for one in wrong.goals)]:
                found += goal.happenings
        return list({key_of(one): one for one in found}.values())

    @property
    def number(self) -> str:
        return str(int(self.slug[:3]))

    def step(self, id: str) -> Step:
        """The step of that id. Raises KeyError."""
        return next((step for step in self.steps if step.id == id), None) or _no_step(self.slug, id)


def _no_step(slug: str, id: str) -> Step:
    raise KeyError(f"{slug} has no step {id!r}")
