"""Verbs that read the tables: status, tables, explain, show, sql, export, check."""

import asyncio
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lab.analytics.build.events import EVENTS, STORED
from lab.analytics.cli.making import AnalyticsError, named, newest, spark
from lab.analytics.gold.learning.lessons import MIN_LEARNERS
from lab.analytics.serve.sql_box import ask
from lab.analytics.serve.visible import EVERYTHING
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.csv_text import as_csv
from lab.analytics.store.reading import rows, unit_column
from lab.analytics.tables import Table
from lab.texts.refusal import Refusal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ASIDE = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|--[^\n]*|/\*.*?\*/"""
"""Text literals and comments of Spark SQL."""
_NAMED = re.compile(rf"{_ASIDE}|\b(bronze|silver|gold)\.(\w+)\b", re.DOTALL)
"""A name of a table is in the groups; what is put aside leaves them empty."""
MAX_PRINTED = 10_000
_SIZES = ("learners", "answers")
"""The number of people that a row of statistics is about."""
_OF_PARTS = {
    "n": ("difficulty", "p_mean", "brier_mean", "gap"), "with_hint": ("right_with_hint",),
    "without_hint": ("right_without_hint",),
}  # fmt: skip
"""Figures about some of the people of a row, by their number."""


def status(place: str | None) -> dict[str, Any]:
    """What has been read, what could not be read, and the sizes of the tables. Raises AnalyticsError if there is no
    build.
    """
    _, found = newest(place)
    ledger = found.ledger()
    return {
        "build": found.number,
        "branches": [
            {
                "branch": entry.branch,
                "events": entry.last_seq,
                "state": entry.state,
                "damage": [
                    {"reason": one.reason, "segment": one.segment, "from_seq": one.from_seq, "to_seq": one.to_seq}
                    for one in entry.damage
                ],
            }
            for entry in sorted(ledger.values(), key=lambda one: one.branch)
        ],
        "tables": {
            name: {"rows": sum(file.rows for file in files), "bytes": sum(file.bytes for file in files)}
            for name in sorted(found.tables)
            for files in [found.files(name)]
        },
        "checks": [
            {"table": one.table, "rule": one.rule, "severity": one.severity, "failed": one.failed, "rows": one.rows}
            for one in found.file.checks
        ],
    }


def explain(name: str) -> Iterator[str]:
    """A table's columns with units, its key, and its lineage down to kinds of events. Raises AnalyticsError."""
    table = STORED[named(name)[0]]
    yield f"{table.name}: {table.doc}"
    yield f"unit {table.unit}, key {', '.join(table.key)}"
    for column in table.stored:
        unit = f" [{column.unit}]" if column.unit else ""
        personal = ", personal" if column.personal else ""
        yield f"  {column.name:<24}{column.type:<16}{column.doc}{unit}{personal}"
    for check in table.checks:
        yield f"  check {check.rule} ({check.severity}): {check.condition}"
    yield from _chain(table, 0)


def _chain(table: Table, depth: int) -> Iterator[str]:
    if table is EVENTS:
        yield f"{table.name} <- recordings"
    if table.kinds:
        yield f"{'  ' * depth}{table.name} <- events {', '.join(table.kinds)}"
    for need in table.needs:
        yield f"{'  ' * depth}{table.name} <- {need}"
        yield from _chain(STORED[need], depth + 1)


def show(name: str, runs: Sequence[str] | None, place: str | None) -> pa.Table:
    """The stored rows of a table, without Spark. Raises AnalyticsError for an unknown table or run."""
    store, found = newest(place)
    return _rows(store, found, named(name)[0], runs)


def with_texts(table: pa.Table) -> pa.Table:
    """Rows with JSON for each value of type VARIANT, which Parquet stores as a pair of `value` and `metadata`."""
    from pyspark.sql.variant_utils import VariantUtils

    for place, column in enumerate(table.schema):
        if pa.types.is_struct(column.type) and {field.name for field in column.type} == {"value", "metadata"}:
            texts = [one and VariantUtils.to_json(one["value"], one["metadata"]) for one in table[place].to_pylist()]
            table = table.set_column(place, column.name, pa.array(texts, pa.string()))
    return table


def _rows(store: Store, found: Build, name: str, runs: Sequence[str] | None) -> pa.Table:
    units = None
    if runs is not None and STORED[name].unit == "branch":
        entries = [entry for entry in found.ledger().values() if entry.unit == "branch"]
        if unknown := sorted(set(runs) - {entry.run for entry in entries}):
            raise AnalyticsError(f"The tables know no run {unknown[0]}. `manage.py analytics status` lists the runs.")
        units = {entry.branch for entry in entries if entry.run in runs}
    table = rows(store, found, name, units)
    if table is None:
        types = pa.schema([(column.name, pa.string()) for column in STORED[name].stored])
        return types.empty_table()
    return table


def sql(query: str, place: str | None) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The result of a query in Spark SQL on the newest build: the columns and at most 10,000 rows.

    Tables have their full names: `select * from gold.run_summary`. Raises AnalyticsError if Spark rejects the query.
    """
    from pyspark.errors import PySparkException

    store, found = newest(place)
    asked = {f"{layer}.{name}" for layer, name in _NAMED.findall(query) if name}
    with spark() as session:
        try:
            for name in sorted(asked & set(found.tables)):
                _view(session().read, store, found, name).createOrReplaceTempView(name.replace(".", "_"))
            frame = session().sql(_NAMED.sub(lambda one: f"{one[1]}_{one[2]}" if one[1] else one[0], query))
            return frame.columns, [tuple(row) for row in frame.limit(MAX_PRINTED).collect()]
        except PySparkException as error:
            raise AnalyticsError(f"Spark rejects the query: {str(error).splitlines()[0]}") from None


def sql_without_spark(query: str, place: str | None) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The result of a query in DuckDB, within the limits of the tables page, on all units and columns.

    Raises AnalyticsError if DuckDB rejects the query.
    """
    store, found = newest(place)
    try:
        answer = asyncio.run(ask(store, found, query, EVERYTHING))
    except Refusal as refusal:
        raise AnalyticsError(" ".join(refusal.as_json().values())) from None
    return answer.columns, [tuple(row) for row in answer.rows]


def _view(reader: Any, store: Store, found: Build, name: str) -> "DataFrame":
    from pyspark.sql import functions as F

    schema = ", ".join(f"`{column.name}` {column.type}" for column in STORED[name].stored)
    files = found.files(name)
    whole = [store.for_spark(file) for file in files if file.is_whole]
    frame: DataFrame = reader.schema(schema).parquet(*whole)
    column = unit_column(STORED[name].unit)
    for file in files:
        if not file.is_whole:
            rows = reader.schema(schema).parquet(store.for_spark(file))
            frame = frame.union(rows if column is None else rows.where(F.col(column).isin(*file.units)))
    return frame


def _without_people(declared: Table, table: pa.Table) -> pa.Table:
    """The rows without columns that identify a person; of statistics over people, the groups of at least five, with
    null for a figure about fewer of them.
    """
    table = table.drop_columns([one.name for one in declared.stored if one.personal and one.name in table.column_names])
    count = next((one for one in _SIZES if one in table.column_names), None)
    if declared.layer != "gold" or declared.unit not in ("class", "all") or count is None:
        return table
    table = table.filter(pc.greater_equal(table[count], MIN_LEARNERS))
    for size, names in _OF_PARTS.items():
        for name in (name for name in names if size in table.column_names and name in table.column_names):
            is_large = pc.greater_equal(table[size], MIN_LEARNERS)
            shown = pc.if_else(is_large, table[name], pa.scalar(None, table[name].type))
            table = table.set_column(table.schema.get_field_index(name), name, shown)
    return table


def export(name: str, target: Path, runs: Sequence[str] | None, place: str | None, *, has_people: bool) -> int:
    """Writes a table as CSV (RFC 4180, UTF-8) or Parquet, by the file extension; returns the number of rows.

    Without `has_people`, columns that identify a person and groups of fewer than five people are left out.

    Raises AnalyticsError for another extension, an unknown table or run, or a file that cannot be written, which is
    then as it was.
    """
    if target.suffix not in (".csv", ".parquet"):
        raise AnalyticsError(f"Cannot tell the format of {target.name}. Expected a name that ends in .csv or .parquet.")
    store, found = newest(place)
    full = named(name)[0]
    table = _rows(store, found, full, runs)
    if not has_people:
        table = _without_people(STORED[full], table)
    table = with_texts(table)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if target.suffix == ".parquet":
            pq.write_table(table, unfinished, compression="zstd")
        else:
            unfinished.write_text(as_csv(table), encoding="utf-8", newline="")
        unfinished.replace(target)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        why = os.strerror(error.errno) if error.errno else str(error)
        raise AnalyticsError(f"{target} cannot be written: {why}. Expected a folder that exists, with space.") from None
    return int(table.num_rows)
