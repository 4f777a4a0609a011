"""Predicates over the view, and goals of exercises, which name a predicate and its arguments.

A predicate is a function. Its docstring says when it is met, its keywords are the arguments that content gives:

    @predicate
    def brokers_up(moment: Moment, *, at_least: int) -> GoalState:
        ...
        return answer("goal.brokers_up", count >= at_least, n=count, wanted=at_least)

`goal.brokers_up.met` and `goal.brokers_up.unmet` are in the catalogues `goal.json` of both languages. In
`exercise.toml` a goal is a table whose `is` names the predicate and whose other keys are the arguments:

    { is = "brokers_up", at_least = 3 }

The type of an argument is the type of its keyword; `Annotated[str, check]` has it checked, too, by a function that
raises ValueError (see `places.py`). A keyword of the type `Bound` is one of `equals`, `at_least`, `below` in the table.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, get_type_hints

import msgspec

from broker_core.texts import Text, Value, text
from lab.exercises.happenings import Happening
from lab.exercises.moment import Moment
from lab.exercises.places import Unresolved
from lab.exercises.quantities import Quantity, check_quantity, number_of

P = ParamSpec("P")


class GoalState(NamedTuple):
    """`says`: the values found when the goal is met, or what is missing."""

    met: bool
    says: Text


class Bound(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The bound of a number: exactly one of the three."""

    equals: Quantity | None = None
    at_least: Quantity | None = None
    below: Quantity | None = None

    def __post_init__(self) -> None:
        given = [bound for bound in (self.equals, self.at_least, self.below) if bound is not None]
        if len(given) != 1:
            raise ValueError("exactly one of equals, at_least, below is needed")
        check_quantity(given[0])

    def compare(self, moment: Moment, value: int, *, grows: bool = False) -> tuple[bool, Text]:
        """Whether a value is within the bound, and the expected value. `grows`: the value seldom decreases, so that a
        learner who is past the bound may have to start over. Raises Unresolved.
        """
        if self.equals is not None:
            bound = number_of(moment, self.equals)
            if grows and value > bound:
                return False, text("goal.equals_passed", bound=bound)
            return value == bound, text("goal.equals", bound=bound)
        if self.at_least is not None:
            bound = number_of(moment, self.at_least)
            return value >= bound, text("goal.at_least", bound=bound)
        assert self.below is not None
        bound = number_of(moment, self.below)
        return value < bound, text("goal.below", bound=bound)


class Predicate(NamedTuple):
    """A predicate as content names it. `bound`: the keyword whose type is `Bound`, empty for none."""

    ask: Callable[..., GoalState]
    arguments: type[msgspec.Struct]
    checks: dict[str, Callable[[Any], None]]
    bound: str


PREDICATES: dict[str, Predicate] = {}
"""Every predicate, by name."""


class Goal:
    """A predicate with its arguments, as content names it."""

    def __init__(self, name: str, arguments: dict[str, Any]) -> None:
        self.name = name
        self._arguments = arguments

    def answer(self, moment: Moment) -> GoalState:
        """Whether the goal is met now, and why."""
        return PREDICATES[self.name].ask(moment, **self._arguments)

    @property
    def happenings(self) -> list[Happening]:
        """The happenings among its arguments, which must be counted."""
        return [value for value in self._arguments.values() if isinstance(value, Happening)]


def predicate(ask: Callable[Concatenate[Moment, P], GoalState]) -> Callable[Concatenate[Moment, P], GoalState]:
    """Registers a function as the predicate of its name. A reference that cannot be resolved is an answer as well."""

    @wraps(ask)
    def asked(moment: Moment, /, *given: P.args, **arguments: P.kwargs) -> GoalState:
        try:
            return ask(moment, *given, **arguments)
        except Unresolved as unresolved:
            return GoalState(False, unresolved.why)

    name = ask.__name__
    hints = get_type_hints(ask, include_extras=True)
    parameters = [one for one in inspect.signature(ask).parameters.values() if one.kind is one.KEYWORD_ONLY]
    bound = next((one.name for one in parameters if hints[one.name] is Bound), "")
    arguments = msgspec.defstruct(
        name,
        [
            (one.name, hints[one.name]) if one.default is one.empty else (one.name, hints[one.name], one.default)
            for one in parameters
        ],
        kw_only=True,
        forbid_unknown_fields=True,
    )
    checks = {
        one.name: check
        for one in parameters
        for check in getattr(hints[one.name], "__metadata__", ())
        if callable(check)
    }
    PREDICATES[name] = Predicate(asked, arguments, checks, bound)
    return asked


def answer(id: str, met: bool, /, **values: Value) -> GoalState:
    """The answer whose sentence is `<id>.met` or `<id>.unmet`; the two share the values."""
    return GoalState(met, Text(f"{id}.met" if met else f"{id}.unmet", values))


def ask_all(goals: list[Goal], moment: Moment) -> GoalState:
    """All parts must hold: the reason is that of the first unmet one, and the finding is that of the last.

    A paused simulation is not a finding, because the learner paused it.
    """
    found = GoalState(True, text("goal.done"))
    for goal in goals:
        answer = goal.answer(moment)
        if not answer.met:
            return answer
        if goal.name != "paused":
            found = answer
    return found


def one_of(*words: str) -> Callable[[str], None]:
    """A check that an argument is one of these words."""

    def check(given: str) -> None:
        if given not in words:
            raise ValueError(f"{given!r} is not accepted; write {' or '.join(words)}")

    return check
