"""Rows of events as Arrow batches: by itself, for of Spark's Python processes only those that read need pyarrow."""

import sys
from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa

Row: TypeAlias = tuple[int, int, str, int, str, list[str | None]]

_SCHEMA = pa.schema(
    [
        ("seq", pa.int64()),
        ("at_us", pa.int64()),
        ("node", pa.string()),
        ("cause_seq", pa.int64()),
        ("kind", pa.string()),
        ("fields", pa.list_(pa.string())),
    ]
)


def arrow_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """At least one row, in the columns of source.SCHEMA."""
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


class _NoPandas:
    """A finder that reports that pandas is not installed."""

    @staticmethod
    def find_spec(name: str, path: object, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def _look_without_pandas() -> None:
    """With the first array that it makes of a list, pyarrow looks whether there is pandas, and keeps that in mind: to
    find it would cost each process that reads the better part of a second.
    """
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(_NoPandas)


_look_without_pandas()
