"""The predicates that goals of exercises may name, a module for each subject. See `lab/exercises/predicate.py`."""

from typing import Any

import msgspec

from lab.exercises.predicate import PREDICATES, Bound, Goal
from lab.exercises.predicates import brokers, events, groups, logs, messages, numbers, partitions, settings

__all__ = [
    "brokers",
    "events",
    "goal_of",
    "groups",
    "logs",
    "messages",
    "numbers",
    "partitions",
    "settings",
]


def goal_of(table: Any) -> Goal:
    """The goal of a table of content. Raises ValueError for an unknown predicate and for arguments that are invalid."""
    given = dict(table) if isinstance(table, dict) else {}
    name = given.pop("is", None)
    found = PREDICATES.get(name)
    if found is None:
        raise ValueError(f"{name!r} is not a predicate; `is` names one of {', '.join(sorted(PREDICATES))}")
    if found.bound:
        given[found.bound] = {key: given.pop(key) for key in Bound.__struct_fields__ if key in given}
    try:
        arguments = msgspec.structs.asdict(msgspec.convert(given, found.arguments))
    except msgspec.ValidationError as error:
        raise ValueError(f"{name}: {error}") from None
    for argument, check in found.checks.items():
        check(arguments[argument])
    return Goal(name, arguments)
