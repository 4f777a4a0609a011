"""Reads stored rows with pyarrow: no JVM, a few milliseconds for the rows of a chart."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds

if TYPE_CHECKING:
    import pyarrow.compute as pc

from lab.analytics.store.builds import Build, Store, StoredFile
from lab.analytics.store.chunks import whole

_UNIT_COLUMNS = {"branch": "branch", "log": "log", "class": "class", "study": "study"}


def unit_column(unit: str) -> str | None:
    """The column with the unit of a row; None for a table over everything."""
    return _UNIT_COLUMNS.get(unit)


def unit_filter(build: Build, table: str, files: Sequence[StoredFile]) -> "pc.Expression | None":
    """The filter for the rows of `files` that count; None if all do."""
    column = unit_column(build.file.tables[table].unit)
    if column is None or all(file.is_whole for file in files):
        return None
    units = sorted({unit for file in files for unit in file.units})
    return ds.field(column).isin(units)


def rows(
    store: Store,
    build: Build,
    table: str,
    units: Collection[str] | None = None,
    columns: Sequence[str] | None = None,
    where: "pc.Expression | None" = None,
) -> pa.Table | None:
    """The rows of a table for some units, or all, in the table's order; None if the build has none. With `where`, only
    those that fulfil a condition on columns that all files have.

    Raises FileNotFoundError if vacuum has deleted the build in the meantime, PlaceError for a damaged file.
    """
    files = build.files(table, units)
    if not files:
        return None
    parts = []
    for file in files:
        with whole(store.files, file.path), store.files.dataset(file.path) as one:
            there = None if columns is None else [name for name in columns if name in one.schema.names]
            of_units = unit_filter(build, table, [file])
            wanted = where if of_units is None else of_units if where is None else of_units & where
            parts.append(one.to_table(columns=there, filter=wanted))
    # Files of different builds may differ in columns that were declared since.
    found = pa.concat_tables(parts, promote_options="default")
    for name in columns or ():
        if name not in found.column_names:
            found = found.append_column(name, pa.nulls(found.num_rows))
    return found
