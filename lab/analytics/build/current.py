"""The tables during a build: those of the previous build, with what this one has written so far."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
from pyspark.sql import functions as F

from lab.analytics.build.events import EVENTS
from lab.analytics.build.held import Held
from lab.analytics.build.lineage import Part
from lab.analytics.build.sizes import applied
from lab.analytics.store.builds import Build, Store, StoredFile
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.publish import TableChange
from lab.analytics.store.reading import unit_column
from lab.analytics.tables import BRANCH, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RARE_EVENTS = 100_000
"""Number of events of rare kinds that are kept in memory: looking for each kind in all files costs more than that."""
_ROWS_TO_SKIP = {"spark.sql.inMemoryColumnarStorage.batchSize": "1000"}
"""Rows in memory are ordered by kind; those of other kinds are skipped in batches of this size."""
_LINEAGE = pa.schema(
    [("owner", pa.string()), (BRANCH, pa.int32()), ("after_seq", pa.int64()), ("until_seq", pa.int64())]
)


def no_rows(spark: "SparkSession", columns: Mapping[str, str]) -> "DataFrame":
    """An empty relation with these columns and types. Spark knows that it is empty, so results derived only from it
    cost no job.
    """
    nulls = ", ".join(f"cast(null as {type}) as `{name}`" for name, type in columns.items())
    return spark.sql(f"select {nulls} where false")


def local(spark: "SparkSession", rows: pa.Table) -> "DataFrame":
    """Rows of the driver as a DataFrame, in one chunk: Spark treats an empty chunk as the end of the data. And in one
    partition, so that queries on such rows alone need no shuffle.
    """
    return spark.createDataFrame(rows.combine_chunks()).coalesce(1)


class Current:
    """Stored rows as DataFrames."""

    def __init__(self, spark: "SparkSession", store: Store, base: Build | None, held: Held | None = None) -> None:
        """`held`: the part that is in memory."""
        self._spark = spark
        self._store = store
        self._base = base
        self._held = held or Held()
        self._is_few = held is not None
        self._frames: dict[object, DataFrame] = {}
        self._rare: dict[object, tuple[frozenset[str], DataFrame]] = {}
        self.changes: dict[str, TableChange] = {}
        self.being_written = ""

    def once(self, key: object, make: Callable[[], "DataFrame"]) -> "DataFrame":
        """The DataFrame of a key, made once for all tables that read it."""
        if key not in self._frames:
            self._frames[key] = make()
        return self._frames[key]

    def files(self, table: str, units: Collection[str] | None = None) -> list[StoredFile]:
        """The files with rows of these units, or all files: current ones, but for `being_written` those of the previous
        build.
        """
        change = None if table == self.being_written else self.changes.get(table)
        before = [] if self._base is None else self._base.files(table, units)
        if change is None:
            return before
        found = [*_less(before, change.replaced), *(file for file in change.files if file.path)]
        if units is None:
            return found
        asked = set(units)
        return [
            msgspec.structs.replace(file, units=wanted)
            for file in found
            if (wanted := {unit: seq for unit, seq in file.units.items() if unit in asked})
        ]

    def stored(self, table: Table, units: Collection[str] | None = None) -> "DataFrame":
        """The stored rows of a table for these units, or all, in its stored columns."""
        files = self.files(table.name, units)
        key = (table.name, *((file.path, *sorted(file.units)) for file in files))
        return self.once(key, lambda: self._of_files(table, files))

    def _of_files(self, table: Table, files: Sequence[StoredFile]) -> "DataFrame":
        schema = ", ".join(f"`{column.name}` {column.type}" for column in table.stored)
        if not files:
            return no_rows(self._spark, {column.name: column.type for column in table.stored})
        # Files of earlier builds may lack columns that were declared since: they are null.
        read = self._spark.read.schema(schema)
        column = unit_column(table.unit)
        held, files = self._apart(files)
        whole = [self._store.for_spark(file) for file in files if file.is_whole or column is None]
        parts = [read.parquet(*whole)] if whole else []
        for file in files:
            if column is not None and not file.is_whole:
                parts.append(read.parquet(self._store.for_spark(file)).where(F.col(column).isin(*file.units)))
        if self._is_few:
            parts = [part.coalesce(1) for part in parts]
        parts += [self._frame(table, rows, None if file.is_whole else column, file) for file, rows in held]
        return reduce(lambda one, other: one.unionByName(other), parts)

    def _apart(self, files: Sequence[StoredFile]) -> tuple[list[tuple[StoredFile, pa.Table]], list[StoredFile]]:
        """The files whose rows are in memory, with these rows, and the other files."""
        rows = [(file, self._held.rows(file.path)) for file in files]
        return [(file, one) for file, one in rows if one is not None], [file for file, one in rows if one is None]

    def _frame(self, table: Table, rows: pa.Table, column: str | None, file: StoredFile) -> "DataFrame":
        frame = local(self._spark, rows.select([one.name for one in table.stored]))
        return frame if column is None else frame.where(F.col(column).isin(*file.units))

    def events(
        self, kinds: Collection[str], parts: Mapping[int, Sequence[Part]], ledger: Mapping[str, BranchEntry]
    ) -> "DataFrame":
        """The events visible to branches, with the branches' numbers: at least those of some kinds."""
        rows, others = self._held.of_kinds(kinds, parts, ledger)
        if rows is None:
            rare, kept = self._rare.get(_key(parts), (frozenset(), None))
            return self.of_branches(EVENTS, parts) if kept is None or not rare.issuperset(kinds) else kept
        parsed = local(self._spark, rows).withColumn("payload", F.try_parse_json("payload"))
        # Values that Spark does not accept as JSON are not stored.
        held = parsed.where(F.col("payload").isNotNull()).selectExpr(BRANCH, *_of_events())
        return held.unionByName(self.of_branches(EVENTS, others).selectExpr(BRANCH, *_of_events())) if others else held

    def keep_rare(self, parts: Mapping[int, Sequence[Part]], counts: Mapping[str, int]) -> None:
        """Reads the events of rare kinds that branches see into memory, unless they are there, until `close`. `counts`:
        of the events by kind, once for each branch that sees them.
        """
        if self._is_few or _key(parts) in self._rare:
            return
        kinds = sorted(counts, key=lambda kind: (counts[kind], kind))
        sums = accumulate(counts[kind] for kind in kinds)
        rare = frozenset(kind for kind, total in zip(kinds, sums, strict=True) if total <= RARE_EVENTS)
        events = self.of_branches(EVENTS, parts).where(F.col("kind").isin(*rare))
        with applied(self._spark, _ROWS_TO_SKIP):
            events = events.repartition(1).sortWithinPartitions("kind").persist()
            self._rare[_key(parts)] = (rare, events)
            # Now, with the settings for all events.
            events.count()

    def close(self) -> None:
        """Frees what was kept in memory."""
        for _, events in self._rare.values():
            events.unpersist()
        self._rare.clear()

    def of_branches(self, table: Table, parts: Mapping[int, Sequence[Part]]) -> "DataFrame":
        """The rows of a per-event table, with the numbers of the branches that see them."""
        rows = [(part.owner, number, part.from_seq, part.to_seq) for number, some in parts.items() for part in some]
        stored = self.stored(table, {owner for owner, *_ in rows}).drop("run")
        if len(rows) == 1:
            # The common case of a single run.
            ((_, number, after_seq, until_seq),) = rows
            seen = stored.where((F.col("seq") > after_seq) & (F.col("seq") <= until_seq))
            return seen.selectExpr(f"{number} as {BRANCH}", *_declared(table))
        lineage = self.once(
            ("lineage", *rows),
            lambda: self._spark.createDataFrame(pa.Table.from_pylist(_named(rows), schema=_LINEAGE)),
        )
        seen = stored.join(F.broadcast(lineage), F.col("branch") == F.col("owner"))
        seen = seen.where((F.col("seq") > F.col("after_seq")) & (F.col("seq") <= F.col("until_seq")))
        return seen.selectExpr(BRANCH, *_declared(table))

    def numbered(self, table: Table, numbers: Mapping[str, int]) -> "DataFrame":
        """The rows of a table that is made per branch, with the branches' numbers."""
        stored = self.stored(table, numbers.keys()).drop("run")
        if len(numbers) == 1:
            ((_, number),) = numbers.items()
            return stored.selectExpr(f"{number} as {BRANCH}", *_declared(table))
        pairs = pa.table({"owner": list(numbers), BRANCH: pa.array(numbers.values(), pa.int32())})
        names = self.once(("numbers", *numbers.items()), lambda: self._spark.createDataFrame(pairs))
        joined = stored.join(F.broadcast(names), F.col("branch") == F.col("owner"))
        return joined.selectExpr(BRANCH, *_declared(table))


def _less(files: Sequence[StoredFile], replaced: Collection[str]) -> list[StoredFile]:
    left = []
    for file in files:
        units = {unit: seq for unit, seq in file.units.items() if unit not in replaced}
        if units:
            left.append(msgspec.structs.replace(file, units=units))
    return left


def _key(parts: Mapping[int, Sequence[Part]]) -> tuple[object, ...]:
    return tuple((number, *some) for number, some in parts.items())


def _named(rows: Sequence[tuple[str, int, int, int]]) -> list[dict[str, object]]:
    return [dict(zip(_LINEAGE.names, row, strict=True)) for row in rows]


def _declared(table: Table) -> list[str]:
    """The columns, as SQL expressions."""
    return [f"`{column.name}`" for column in table.columns]


def _of_events() -> list[str]:
    return [name for name in _declared(EVENTS) if name != "`build`"]
