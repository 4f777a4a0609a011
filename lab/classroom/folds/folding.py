"""The table of folds."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from broker_core.events import Event
from lab.classroom.state import State

ACTS_KEPT_US = 600_000_000
"""How long an act that is sent again is known."""

Sections: TypeAlias = Iterable[str]
Fold: TypeAlias = Callable[[State, Any, int, str], Sections]
F = TypeVar("F", bound=Callable[[State, Any, int, str], Sections])

FOLDS: dict[type[Event], Fold] = {}


def folds(kind: type[Event]) -> Callable[[F], F]:
    """Registers the fold of a kind: a function of the state, the event, its class time and its actor."""

    def register(fold: F) -> F:
        FOLDS[kind] = fold
        return fold

    return register


def of_person(p: str) -> tuple[str, str]:
    """What staff and the person themselves see of a person."""
    return f"people/{p}", f"mine/{p}"
