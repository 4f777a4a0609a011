"""Rows of tables as functions of time."""

from collections.abc import Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]


def during(rows: Iterable[Row], at_us: int) -> list[Row]:
    """The spans that an instant is in: each begins at its first instant and ends before its last."""
    return [row for row in rows if row["from_us"] <= at_us and (row["to_us"] is None or at_us < row["to_us"])]


def grouped(rows: Iterable[Row], *columns: str) -> dict[Any, list[Row]]:
    """Rows by the values of some columns, in their order."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[column] for column in columns), []).append(row)
    return found
