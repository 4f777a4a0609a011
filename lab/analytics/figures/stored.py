"""The charts of stored tables: one list for the server and the page."""

from collections.abc import Mapping, Sequence
from typing import Any

from lab.analytics.figures import brokers, clients, first, replication
from lab.analytics.figures.parts import Figure, Row, Rows, Stored, Words, is_internal

STORED: Mapping[str, Stored] = {
    one.name: one for one in (*first.FIGURES, *replication.FIGURES, *clients.FIGURES, *brokers.FIGURES)
}
"""By name, in the order in which they are shown."""
FIRST_TABLES = tuple(dict.fromkeys(one.table for one in first.FIGURES))
"""What the first charts are made of."""
STAGES = (("gold.role_spans",), FIRST_TABLES, ())
"""In this order tables are made and published for a page: the one that takes least time, the other first ones, all."""
ROWS_SHOWN = 200
"""Maximum number of rows in the table beside a chart; the CSV has all of them."""


def figure_of(
    stored: Stored, rows: Sequence[Row], words: Words, *beside: Sequence[Row], internal: bool
) -> Figure | None:
    """A chart and its rows; None if there is nothing to draw.

    Internal topics are left out unless `internal` is set or there are no others.
    """
    chosen: Rows = rows
    if stored.is_per_partition and not internal:
        chosen = [row for row in rows if not is_internal(row["topic"])] or rows
    if not chosen:
        return None
    table = {
        "columns": list(stored.columns),
        "rows": [
            [_cell(row[name], stored.values.get(name), words) for name in stored.columns] for row in chosen[:ROWS_SHOWN]
        ],
        "count": len(chosen),
    }
    return {**stored.make(chosen, words, *beside), "table": table}


def _cell(value: Any, family: str | None, words: Words) -> Any:
    """A value in words if it has some: a name, counts by name, or the phases of members."""
    if family is None or value is None:
        return value
    if isinstance(value, str):
        return words.value(family, value)
    if isinstance(value, list):
        return [_cell(one, family, words) for one in value]
    if isinstance(value, tuple):
        return [words.value(family, value[0]), *value[1:]]
    if isinstance(value, dict) and "phase" in value:
        return {**value, "phase": words.value(family, value["phase"])}
    return value


def internal_partitions(roles: Sequence[Row]) -> int:
    """The number of partitions of internal topics if there are other topics; else 0.

    Args:
        roles: rows of `gold.role_spans`.
    """
    partitions = {(row["topic"], row["partition"]) for row in roles}
    internal = sum(is_internal(topic) for topic, _ in partitions)
    return internal if internal < len(partitions) else 0
