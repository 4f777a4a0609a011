"""Rules for each row of a table: conditions in SQL, which a build evaluates on the rows that it writes."""

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

Severity = Literal["stop", "warn"]


@dataclass(frozen=True)
class Check:
    """A row fails if `condition` is false; null passes.

    Severity `stop` keeps the old version of the unit, `warn` is reported.
    """

    rule: str
    condition: str
    severity: Severity = "stop"


def holds(rule: str, condition: str, severity: Severity = "stop") -> Check:
    """A named condition."""
    return Check(rule, condition, severity)


def not_null(*columns: str, severity: Severity = "stop") -> Check:
    """These columns are not null."""
    return Check(f"not_null({', '.join(columns)})", " and ".join(f"`{name}` is not null" for name in columns), severity)


def ordered(*columns: str, severity: Severity = "stop") -> Check:
    """The values do not decrease from one column to the next; nulls are ignored."""
    pairs = (f"coalesce(`{first}` <= `{then}`, true)" for first, then in combinations(columns, 2))
    return Check(f"ordered({', '.join(columns)})", " and ".join(pairs), severity)


def between(column: str, low: float, high: float, severity: Severity = "stop") -> Check:
    """The value is within both bounds, inclusive."""
    return Check(f"between({column}, {low}, {high})", f"`{column}` between {low} and {high}", severity)


def one_of(column: str, *values: str, severity: Severity = "stop") -> Check:
    """The value is one of a few."""
    listed = ", ".join("'" + value.replace("'", "\\'") + "'" for value in values)
    return Check(f"one_of({column})", f"`{column}` in ({listed})", severity)
