"""Quantities: numbers and words that content compares, predicts and asks for, read from the view when they are needed.

A quantity is a function. Its parameters are the arguments that content gives, its return type says what it is:

    @quantity
    def segments(moment: Moment, replica: Replica) -> int:

`segments(parts-0@b1)` in `exercise.toml` is a reference to it; `segments(parts-0@b1) - 1` is one less. What a quantity
is called in a sentence is the text `quantity.<name>`, whose places are the parameters; of a replica it has `partition`
and `node` instead. The return type `BrokerId` is a number that is shown as a broker; `str` makes the quantity a word.
"""

import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Annotated, NamedTuple, TypeAlias, get_type_hints

from broker_core.partitions import ReplicaId, split_replica
from broker_core.texts import Text, Value, text
from lab.exercises.moment import Moment
from lab.exercises.places import Unresolved, node_text, replicas_of

Quantity: TypeAlias = int | str
"""A number, or a reference such as `high_watermark(orders-0@leader) + 1`."""
BrokerId: TypeAlias = Annotated[int, "broker"]
_FORM = re.compile(r"([a-z_]+)\(([^()]*)\)(?: ([+-]) (\d+))?")
_SHOWN_AS_BROKER = "broker"


FIGURES: dict[str, Value] = {
    "bytes": text("quantity.figure.bytes"),
    "read_calls": text("quantity.figure.read_calls"),
    "read_copied": text("quantity.figure.read_copied"),
    "sendfile_copied": text("quantity.figure.sendfile_copied"),
}
"""How sentences name the figures of a measurement."""


class Definition(NamedTuple):
    """A registered quantity. `checks`: by parameter; `shows` is "number", "broker" or "word"."""

    read: Callable[..., int | str]
    checks: dict[str, Callable[[str], None] | None]
    shows: str


class Reference(NamedTuple):
    """A parsed reference. `shift` is added to a number."""

    name: str
    arguments: tuple[str, ...]
    shift: int


QUANTITIES: dict[str, Definition] = {}
"""Every quantity, by name."""


def quantity(read: Callable[..., int | str]) -> Callable[..., int | str]:
    """Registers a function as the quantity of its name."""
    hints = get_type_hints(read, include_extras=True)
    checks = {}
    for name in list(inspect.signature(read).parameters)[1:]:
        found = (one for one in getattr(hints[name], "__metadata__", ()) if callable(one))
        checks[name] = next(found, None)
    returned = hints["return"]
    shows = (
        "word"
        if returned is str
        else "broker"
        if _SHOWN_AS_BROKER in getattr(returned, "__metadata__", ())
        else "number"
    )
    QUANTITIES[read.__name__] = Definition(read, checks, shows)
    return read


@cache
def parse(reference: str) -> Reference:
    """Parses and checks a reference. Raises ValueError."""
    match = _FORM.fullmatch(reference)
    if match is None:
        raise ValueError(f"{reference!r} is not a quantity: write a number or log_end_offset(orders-0@leader) - 1")
    name, inner, sign, shift = match.groups()
    found = QUANTITIES.get(name)
    if found is None:
        raise ValueError(f"{name!r} is not a quantity: expected one of {', '.join(sorted(QUANTITIES))}")
    arguments = tuple(part.strip() for part in inner.split(",")) if inner.strip() else ()
    if len(arguments) != len(found.checks):
        raise ValueError(f"{reference!r}: {name} takes {len(found.checks)} arguments: {', '.join(found.checks)}")
    for argument, check in zip(arguments, found.checks.values(), strict=True):
        if check is not None:
            check(argument)
    if sign and found.shows == "word":
        raise ValueError(f"{reference!r}: nothing can be added to a word")
    return Reference(name, arguments, int(f"{sign}{shift}") if sign else 0)


def check_quantity(reference: Quantity) -> None:
    """Raises ValueError unless it is a number or a reference."""
    if isinstance(reference, str):
        parse(reference)


def is_word(reference: Quantity) -> bool:
    """Whether it is a word rather than a number."""
    return isinstance(reference, str) and QUANTITIES[parse(reference).name].shows == "word"


def value_of(moment: Moment, reference: Quantity) -> int | str:
    """The current number or word. Raises Unresolved."""
    if isinstance(reference, int):
        return reference
    name, arguments, shift = parse(reference)
    value = QUANTITIES[name].read(moment, *arguments)
    return value + shift if isinstance(value, int) else value


def number_of(moment: Moment, reference: Quantity) -> int:
    """The current number. Raises Unresolved, and ValueError for a word."""
    value = value_of(moment, reference)
    if not isinstance(value, int):
        raise ValueError(f"{reference!r} is a word, not a number")
    return value


def quantity_text(moment: Moment, reference: Quantity) -> Text:
    """Its name in a sentence: `high watermark of orders-0 on broker 1`."""
    if isinstance(reference, int):
        return text("quantity.number")
    name, arguments, shift = parse(reference)
    values: dict[str, Value] = {}
    for parameter, argument in zip(QUANTITIES[name].checks, arguments, strict=True):
        if parameter == "replica":
            values |= _replica_values(moment, argument)
        else:
            values[parameter] = FIGURES.get(argument, argument) if parameter == "figure" else argument
    named = Text(f"quantity.{name}", values)
    return text("quantity.shifted", quantity=named, shift=f"{shift:+d}") if shift else named


def _replica_values(moment: Moment, reference: str) -> dict[str, Value]:
    try:
        replica = ReplicaId.parse(replicas_of(moment.view, reference)[0])
    except Unresolved:
        partition, whose = split_replica(reference)
        return {"partition": partition, "node": whose}
    return {"partition": str(replica.partition), "node": node_text(replica.node)}


def shown(reference: Quantity, value: int | str) -> Value:
    """How a value is shown: as a broker, as none, or unchanged."""
    if (
        isinstance(value, str)
        or isinstance(reference, int)
        or QUANTITIES[parse(reference).name].shows != _SHOWN_AS_BROKER
    ):
        return value
    return text("goal.broker", broker=value) if value >= 0 else text("goal.none")
