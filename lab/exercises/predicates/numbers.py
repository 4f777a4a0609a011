"""Predicates about quantities."""

from typing import Annotated

from lab.exercises.moment import Moment
from lab.exercises.predicate import Bound, GoalState, answer, predicate
from lab.exercises.quantities import Quantity, check_quantity, is_word, number_of, quantity_text, shown, value_of

GROWS = frozenset(
    {
        "batches",
        "confirmed",
        "failed",
        "high_watermark",
        "log_end_offset",
        "read",
        "requests",
        "segments",
        "total_records",
    }
)
"""Quantities that seldom decrease."""


def _check_number(reference: Quantity) -> None:
    check_quantity(reference)
    if is_word(reference):
        raise ValueError(f"{reference!r} is a word: use the predicate word")


def _check_word(reference: Quantity) -> None:
    check_quantity(reference)
    if not is_word(reference):
        raise ValueError(f"{reference!r} is a number: use the predicate number")


@predicate
def number(moment: Moment, *, of: Annotated[str, _check_number], bound: Bound) -> GoalState:
    """Compares a quantity: `{ is = "number", of = "segments(parts-0@b1)", equals = 2 }`."""
    found = number_of(moment, of)
    complies, wanted = bound.compare(moment, found, grows=of.partition("(")[0] in GROWS)
    return answer("goal.number_is", complies, quantity=quantity_text(moment, of), found=shown(of, found), wanted=wanted)


@predicate
def word(moment: Moment, *, of: Annotated[str, _check_word], equals: str) -> GoalState:
    """Compares a word: `{ is = "word", of = "error(p1)", equals = "MESSAGE_TOO_LARGE" }`."""
    found = value_of(moment, of)
    return answer("goal.word_is", found == equals, quantity=quantity_text(moment, of), found=found, wanted=equals)
