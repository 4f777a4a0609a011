"""Queries that are run repeatedly, each time on new rows of this process.

Planning a query costs far more than running it on a few thousand rows. Spark plans a DataFrame once and reads its files
each time that its rows are collected, so new rows replace those in the same files. Spark would keep the rows of an
exchange: a plan that has one, despite one partition and no broadcasts, is not reused.

A cluster does not see the files of this machine: there a query is planned each time, on rows that are sent along.
"""

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
from pyspark.sql import functions as F

from lab.analytics import place
from lab.analytics.build.current import local, no_rows
from lab.analytics.build.sizes import applied
from lab.analytics.tables import BRANCH_COLUMNS, Table, Tables
from lab.analytics.tables.registry import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SETTINGS = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    # Some tables ask for a broadcast themselves.
    "spark.sql.optimizer.disableHints": "true",
    "spark.sql.constraintPropagation.enabled": "false",
}
_NO_ROWS = b"[]"
_BRANCHES = dict(column.strip().split(" ") for column in BRANCH_COLUMNS.split(","))


class StandingQueries:
    """The functions of tables, as queries on named sets of rows."""

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark
        self._branches = no_rows(spark, _BRANCHES)
        self._planned: dict[tuple[str, ...], DataFrame] = {}
        self._given: dict[str, pa.Table] = {}
        self.folder: Path | None = None
        """The folder of the sets of rows; None on a cluster."""
        if place.is_local():
            self.folder = Path(tempfile.mkdtemp(prefix="highwater-standing-"))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def give(self, name: str, rows: pa.Table) -> None:
        """Replaces the set of rows with this name."""
        if self.folder is None:
            self._given[name] = rows
            return
        # A column that is null in a row is left out of it.
        found = [{key: value for key, value in row.items() if value is not None} for row in rows.to_pylist()]
        self._path(name).write_bytes(msgspec.json.encode(found))

    def forget(self) -> None:
        """Removes the rows of all sets: files hold them only while they are read, since they may be personal."""
        self._given.clear()
        for path in self.folder.iterdir() if self.folder is not None else ():
            path.write_bytes(_NO_ROWS)

    def rows(self, table: Table, sets: Mapping[str, str]) -> pa.Table:
        """The rows of a table.

        Args:
            table: the table.
            sets: for each table that it needs, the set with its rows.
        """
        key = (table.name, *(sets[need] for need in table.needs))
        if key in self._planned:
            return self._planned[key].toArrow()
        with applied(self._spark, _SETTINGS):
            frames = {need: self._frame(TABLES[need], sets[need]) for need in table.needs}
            query = self._query(table, frames)
            if self.folder is not None and not _has_exchange(query):
                self._planned[key] = query
            return query.toArrow()

    @property
    def planned(self) -> frozenset[str]:
        """The tables whose plans are reused."""
        return frozenset(name for name, *_ in self._planned)

    def _query(self, table: Table, frames: "Mapping[str, DataFrame]") -> "DataFrame":
        made = table.make(Tables(table, frames, _no_events, self._branches))
        return made.select(*(F.col(column.name).cast(column.type).alias(column.name) for column in table.columns))

    def _frame(self, table: Table, name: str) -> "DataFrame":
        if self.folder is None:
            return local(self._spark, self._given[name])
        # One array, not an object a line: Spark notes the length of a file that it may split, and this one changes.
        read = self._spark.read.schema(table.schema).json(str(self._path(name)), multiLine=True, mode="FAILFAST")
        return read.coalesce(1)

    def _path(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{name}.json"


def _has_exchange(query: "DataFrame") -> bool:
    # `explain` only prints the plan, and no public call returns it.
    with redirect_stdout(StringIO()) as output:
        query.explain()
    plan = output.getvalue()
    return "Exchange" in plan or "Subquery" in plan


def _no_events(name: str) -> "DataFrame":
    raise KeyError(f"{name}: only tables of branches read events of runs")
