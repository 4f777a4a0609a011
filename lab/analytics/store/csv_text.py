"""Stored rows as CSV."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def as_csv(table: pa.Table) -> str:
    """The rows of a table: see `csv_of`."""
    return csv_of(table.column_names, (row.values() for row in table.to_pylist()))


def csv_of(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """RFC 4180, with a header; lists and rows within rows as JSON.

    A text that a spreadsheet would run as a formula has an apostrophe before it.
    """
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(_cell(value) for value in row)
    return sink.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, str) and value.startswith(_FORMULAS):
        return f"'{value}"
    return value.hex() if isinstance(value, bytes) else value
