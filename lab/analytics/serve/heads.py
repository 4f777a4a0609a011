"""The heads of the table beside a chart: what each column is, with its unit, in the reader's language."""

import re

from lab.analytics.figures.parts import Figure, Stored, Words
from lab.analytics.tables.described import described_columns
from lab.analytics.tables.registry import TABLES

_PREPARED = ("attempt_no", "belief", "class_us", "learner", "numbers", "people")
"""Columns that the reader of classes and lessons adds to rows, or replaces."""
_UNITS = ("bytes", "records")
"""Units that are words. Other units are the same in all languages."""
_END = re.compile("[:;：；]")
_COUNTERS = ("seq", "offset")


def heads_of(stored: Stored, language: str) -> list[str]:
    """A phrase for each column of a chart's table, in their order."""
    words = Words(language)
    columns = {one.name: one for one in TABLES[stored.table].stored}
    docs = described_columns(TABLES[stored.table], language)
    found = []
    for name in stored.columns:
        column = columns.get(name)
        if column is None or name in _PREPARED or name in stored.values:
            found.append(words(f"analytics.column.{name}"))
        else:
            # What follows lists the values that a column has.
            found.append(_with_unit(_END.split(docs[name])[0], column.unit, words))
    return found


def with_heads(figure: Figure, stored: Stored, language: str) -> Figure:
    """A figure whose table also has the heads of its columns."""
    return {**figure, "table": {**figure["table"], "heads": heads_of(stored, language)}}


def _with_unit(said: str, unit: str, words: Words) -> str:
    if not unit or unit in _COUNTERS:
        return said
    return words("analytics.head", said=said, unit=words(f"analytics.{unit}") if unit in _UNITS else unit)
