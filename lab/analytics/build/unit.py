"""Makes the tables of some branches: calls each function with its frames, and writes and checks the result."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as F

from lab.analytics.build.checks import CheckError, broken_rows, repeated_keys
from lab.analytics.build.current import Current, local, no_rows
from lab.analytics.build.events import columns_of_kind, columns_of_kinds, of_kind, of_kinds
from lab.analytics.build.held import Held
from lab.analytics.build.lineage import Part, lineage
from lab.analytics.build.plan import Dirty
from lab.analytics.build.sizes import few
from lab.analytics.build.values import UNDESCRIBED
from lab.analytics.build.vocabularies import Fields, hashes_of
from lab.analytics.build.writing import Written, columns_of, write
from lab.analytics.store.builds import CheckResult, Store, StoredColumn, StoredFile, TableState
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.publish import TableChange
from lab.analytics.store.reading import unit_column
from lab.analytics.tables import BRANCH, BRANCH_COLUMNS, Table, Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_PER_PART = 1_000_000
FEW_ROWS = 50_000
"""Up to this number of events and rows that a table is made from, compiling its query costs more than it saves."""
_NAMES = pa.schema([(BRANCH, pa.int32()), ("run", pa.string()), ("branch", pa.string())])
_TYPES = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string(), "variant": pa.string()}
_BRANCHES = pa.schema(
    [(name, _TYPES[type]) for name, type in (column.strip().split(" ") for column in BRANCH_COLUMNS.split(","))]
)


class Job(NamedTuple):
    """The context shared by all tables of a build."""

    spark: "SparkSession"
    store: Store
    current: Current
    ledger: Mapping[str, BranchEntry]
    codes: Mapping[str, str]
    attempt: str
    number: int
    registry: Mapping[str, Table]
    layouts: Mapping[str, Fields] = {}
    """The fields of other vocabularies than the present one, by hash."""
    held: Held | None = None
    """Set if there are few events: those of them that are in memory."""


class Made(NamedTuple):
    """A table that was made: its number of rows, and violated rules that do not stop the build."""

    table: Table
    units: int
    written: Written
    warnings: Sequence[CheckResult]


def make_for_branches(job: Job, dirty: Dirty, say: Callable[[Made], None] = lambda made: None) -> Made:
    """Makes one table for some branches and adds its file to `job.current`.

    Raises CheckError if rows violate a rule with severity `stop`; the file is then deleted and not added.
    """
    table = dirty.table
    numbers = {branch: number for number, branch in enumerate(sorted(dirty.units))}
    given = _given(job, dirty, numbers)
    is_small = given.rows <= FEW_ROWS
    events = sum(job.ledger[branch].last_seq - after for branch, after in dirty.units.items())
    # Rows made from all events of a branch replace those made from some of them.
    restarted = {branch for branch, after in dirty.units.items() if after == 0 or not table.per_event}
    with few(job.spark) if is_small and job.held is None else nullcontext():
        made = table.make(given.tables).selectExpr(
            BRANCH, *(f"cast(`{column.name}` as {column.type}) as `{column.name}`" for column in table.columns)
        )
        named = _named(job, made, numbers).selectExpr(*(f"`{column.name}`" for column in table.stored))
        result = enter(
            job, table, named, {branch: job.ledger[branch].last_seq for branch in dirty.units},
            replaced=sorted(restarted), parts=-(-max(events, 1) // ROWS_PER_PART), is_small=is_small,
        )  # fmt: skip
    say(result)
    return result


def enter(
    job: Job, table: Table, frame: "DataFrame", units: Mapping[str, int], replaced: Sequence[str] | Mapping[str, int],
    parts: int = 1, is_small: bool = False,
) -> Made:  # fmt: skip
    """Writes and checks rows, and adds the file for these units of the table, each with the last included event.

    Raises CheckError like `make_for_branches`.
    """
    written = write(
        job.store,
        f"b{job.number:06d}-{job.attempt}-{_next(job, table)}",
        table,
        frame,
        parts=parts,
        is_small=is_small or job.held is not None,
    )
    if job.held is not None and written.data is not None:
        job.held.hold(written.path, written.data)
    warnings = _check(job, table, written) if written.path else []
    change = job.current.changes.setdefault(table.name, TableChange(state_of(table)))
    change.replaced |= set(replaced)
    file = StoredFile(written.path, written.rows, written.bytes, dict(units), len(units), job.codes[table.name])
    change.files = [
        left
        for one in change.files
        if (left := _less(one, set(replaced))) is not None
    ] + [file]  # fmt: skip
    return Made(table, len(units), written, warnings)


def state_of(table: Table) -> TableState:
    """The state of a table in a build."""
    columns = tuple(StoredColumn(one.name, one.type, one.unit, one.doc, one.personal) for one in table.stored)
    return TableState((), table.unit, table.key, table.sort, columns, table.doc)


def _less(file: StoredFile, replaced: set[str]) -> StoredFile | None:
    left = {unit: seq for unit, seq in file.units.items() if unit not in replaced}
    return StoredFile(file.path, file.rows, file.bytes, left, file.held, file.code) if left else None


def _next(job: Job, table: Table) -> int:
    change = job.current.changes.get(table.name)
    return 0 if change is None else len(change.files)


def _named(job: Job, made: "DataFrame", numbers: Mapping[str, int]) -> "DataFrame":
    """Rows with branch names instead of branch numbers."""
    if len(numbers) == 1:
        # The common case of a single run. A join would cost a job.
        (branch,) = numbers
        return made.withColumns({"run": F.lit(job.ledger[branch].run), "branch": F.lit(branch)})
    rows = [{BRANCH: number, "run": job.ledger[one].run, "branch": one} for one, number in numbers.items()]
    return made.join(F.broadcast(job.spark.createDataFrame(pa.Table.from_pylist(rows, schema=_NAMES))), BRANCH)


class _Given(NamedTuple):
    """What a table is made from, and about how many rows that are."""

    tables: Tables
    rows: int


def _given(job: Job, dirty: Dirty, numbers: Mapping[str, int]) -> _Given:
    table = dirty.table
    parts = {
        number: _new(branch, dirty.units[branch], job) if table.per_event else lineage(branch, job.ledger)
        for branch, number in numbers.items()
    }
    frames = {}
    for name in table.needs:
        need = job.registry[name]
        if need.unit != "branch":
            frames[name] = job.current.stored(need)
        elif need.per_event:
            frames[name] = job.current.of_branches(need, parts)
        else:
            frames[name] = job.current.numbered(need, numbers)
    rows = _branches(job, numbers)
    branches = job.current.once(
        ("branches", *((branch, number, job.ledger[branch].last_seq) for branch, number in numbers.items())),
        lambda: local(job.spark, pa.Table.from_pylist(rows, schema=_BRANCHES)).withColumn(
            "config", F.parse_json("config")
        ),
    )
    # Branches with a common past see the same rows: each of them has its own in the frames.
    viewers = Counter(part.owner for some in parts.values() for part in some)
    owners = set(viewers)
    known: Counter[str] = Counter()
    for owner, count in viewers.items():
        known.update({kind: count * events for kind, events in job.ledger[owner].kinds().items()})
    if table.kinds:
        job.current.keep_rare(parts, known)
    rows_of_needs = sum(
        file.rows * max(viewers[unit] for unit in file.units)
        for name in table.needs
        for file in job.current.files(name, owners)
    )
    hashes = {hash for owner in owners for hash in hashes_of(job.ledger[owner])}

    def kind(*names: str) -> "DataFrame":
        is_one = len(names) == 1
        if known.keys().isdisjoint(names):
            return no_rows(job.spark, columns_of_kind(*names) if is_one else columns_of_kinds(names))
        others = {
            hash: {name: job.layouts[hash].get(name, ()) for name in names} for hash in hashes & job.layouts.keys()
        }

        def made() -> "DataFrame":
            events = job.current.events(names, parts, job.ledger)
            if is_one:
                own = {hash: fields[names[0]] for hash, fields in others.items()}
                return of_kind(events, names[0], own, is_undescribed=UNDESCRIBED in hashes)
            return of_kinds(events, names, others, is_undescribed=UNDESCRIBED in hashes)

        return job.current.once((*names, *((number, *some) for number, some in parts.items())), made)

    given = Tables(table, frames, kind, branches, rows[0] if len(rows) == 1 else None)
    return _Given(given, rows_of_needs + sum(known[kind] for kind in table.kinds))


def _new(branch: str, after_seq: int, job: Job) -> list[Part]:
    entry = job.ledger[branch]
    return [Part(branch, max(after_seq, entry.own_from_seq), entry.last_seq)]


def _branches(job: Job, numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    rows = []
    for branch, number in numbers.items():
        entry = job.ledger[branch]
        given = {name: getattr(entry, name, None) for name in _BRANCHES.names}
        rows.append({**given, BRANCH: number, "parent_seq": entry.own_from_seq, "class": entry.class_})
    return rows


def _check(job: Job, table: Table, written: Written) -> list[CheckResult]:
    """The violated rules with severity `warn`. Raises CheckError for those with severity `stop`."""
    unit = unit_column(table.unit)
    found = []
    names = list(dict.fromkeys([*([unit] if unit is not None else []), *table.key]))
    rows = written.data if written.data is not None else columns_of(job.store, written.path, names)
    repeated = repeated_keys(table, rows, unit)
    if repeated is not None:
        found.append(repeated)
    if written.has_failed:
        frame = job.spark.read.parquet(job.store.files.for_spark(written.path))
        found += broken_rows(table, frame, unit, written.rows)
    stopping = [(result, units) for result, units in found if result.severity == "stop"]
    if stopping:
        job.store.files.delete(written.path)
        raise CheckError([result for result, _ in found], {one for _, units in stopping for one in units})
    return [result for result, _ in found]
