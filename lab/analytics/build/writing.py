"""Writes the rows of a table as Parquet, under new names."""

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, Observation
from pyspark.sql import functions as F

from lab.analytics.build.checks import failing
from lab.analytics.store.builds import Store
from lab.analytics.store.reading import unit_column
from lab.analytics.tables import BIGINT, VARIANT, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FAILED = "__failed"
_RARELY_REPEATED = ("seq", "offset", "µs")
"""Units of columns."""


class Written(NamedTuple):
    """Files that a build has written: a file or a folder of parts, or nothing if there were no rows.

    `data`: the rows, if they passed through the driver.
    """

    path: str
    rows: int
    bytes: int
    has_failed: bool
    data: pa.Table | None = None


def write(store: Store, name: str, table: Table, frame: "DataFrame", *, parts: int, is_small: bool = False) -> Written:
    """Writes the rows of `frame`, which has the stored columns of the table.

    Args:
        store: the target.
        name: name of the file or folder, without the table's.
        table: the table.
        frame: its rows, in any order.
        parts: number of files for a large table.
        is_small: whether there are few rows, even of a table that usually has many.

    Raises:
        OSError: the files cannot be written.
    """
    unit = unit_column(table.unit)
    order = list(dict.fromkeys([*([unit] if unit is not None else []), *table.sort]))
    if (table.small or is_small) and not any(column.type == VARIANT for column in table.columns):
        return _write_small(store, f"{table.name}/{name}.parquet", table, frame, order)
    path = f"{table.name}/{name}"
    observed = Observation() if table.checks else None
    if observed is not None:
        frame = frame.observe(observed, F.bool_or(_any_failing(table)).alias(_FAILED))
    plain = {f"parquet.enable.dictionary#{column}": "false" for column in _without_dictionary(table)}
    with store.files.written(path) as target:
        sorted_rows = frame.coalesce(parts).sortWithinPartitions(*order)
        sorted_rows.write.options(compression="zstd", **plain).parquet(target)
    found = [part for part in store.files.names(path) if part.endswith(".parquet")]
    rows = sum(_count(store, part) for part in found)
    if rows == 0:
        store.files.delete(path)
        return Written("", 0, 0, False)
    has_failed = observed is not None and bool(observed.get[_FAILED])
    return Written(path, rows, sum(store.files.size(part) for part in found), has_failed)


def _write_small(store: Store, path: str, table: Table, frame: "DataFrame", order: list[str]) -> Written:
    """Writes through the driver, because a job of Spark's own writer costs more than these rows."""
    broken = [failing(check).alias(f"{_FAILED}{place}") for place, check in enumerate(table.checks)]
    rows: pa.Table = frame.select("*", *broken).toArrow()
    if rows.num_rows == 0:
        return Written("", 0, 0, False)
    flags = [name for name in rows.column_names if name.startswith(_FAILED)]
    has_failed = any(pa.compute.any(rows.column(name)).as_py() for name in flags)
    rows = rows.drop_columns(flags).sort_by([(name, "ascending") for name in order])
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd")
    data = sink.getvalue().to_pybytes()
    store.files.create(path, data)
    return Written(path, rows.num_rows, len(data), has_failed, rows)


def columns_of(store: Store, path: str, names: list[str]) -> pa.Table:
    """Some columns of the rows that were written to `path`."""
    with store.files.dataset(path) as found:
        return found.to_table(columns=names)


def _count(store: Store, path: str) -> int:
    with store.files.dataset(path) as found:
        return int(found.count_rows())


def _without_dictionary(table: Table) -> list[str]:
    """The columns whose values hardly repeat within a file: a dictionary of them would be built, and then dropped for
    its size.
    """
    return [
        column.name
        for column in table.stored
        if column.type == BIGINT and (column.name in table.key or column.unit in _RARELY_REPEATED)
    ]


def _any_failing(table: Table) -> Column:
    """Whether a row violates one of the checks of its table."""
    return reduce(Column.__or__, map(failing, table.checks))
