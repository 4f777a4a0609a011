"""One build of the tables of learning: logs of acts are read, then tables of logs, of classes and over all are made."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
from pyspark.sql import functions as F

from lab.analytics.build.acts import FoundLog, clock_of, rows_of
from lab.analytics.build.code import digests
from lab.analytics.build.current import Current, no_rows
from lab.analytics.build.ingest import Unread
from lab.analytics.build.plan import Dirty, dirty_logs
from lab.analytics.build.run import CancelledError, Outcome, until_published
from lab.analytics.build.segments import appended
from lab.analytics.build.sizes import sized
from lab.analytics.build.unit import Job, Made, enter
from lab.analytics.store import attempts
from lab.analytics.store.builds import CheckResult, Store
from lab.analytics.store.erase import ACTS, ALL, UNITS, erase
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.publish import Changes, ConflictError, publish
from lab.analytics.store.quarantine import keep
from lab.analytics.tables import BRANCH_COLUMNS, Table, Tables
from lab.analytics.tables.registry import TABLES, upstream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BRANCHES = dict(column.strip().split(" ") for column in BRANCH_COLUMNS.split(","))


@dataclass
class WantedLogs:
    """The request for a build of logs, like `lab.analytics.build.run.Wanted`."""

    found: Sequence[FoundLog]
    tables: Sequence[str] | None = None
    registry: Mapping[str, Table] = field(default_factory=lambda: TABLES)
    is_full: bool = False
    is_cancelled: Callable[[], bool] = lambda: False
    say: Callable[[Made], None] = lambda made: None


def build_logs(session: "Callable[[], SparkSession]", store: Store, wanted: WantedLogs) -> Outcome:
    """Updates the tables of learning from the logs. `session` is called only if there is work to do.

    Raises the same errors as `lab.analytics.build.run.build`.
    """
    return until_published(store, lambda outcome: _build(session, store, wanted, outcome))


def _build(session: "Callable[[], SparkSession]", store: Store, wanted: WantedLogs, outcome: Outcome) -> None:
    began_ms = int(time.time() * 1_000)
    tables = [
        table
        for table in upstream(wanted.registry if wanted.tables is None else wanted.tables, wanted.registry)
        if table.unit in UNITS
    ]  # fmt: skip
    if not tables:
        return
    codes = digests(tables)
    base = store.newest()
    number = 1 if base is None else base.number + 1
    ledger = {} if base is None else base.ledger()
    logs = {one.entry.branch: one for one in wanted.found}
    todo, restarted = _unread(store, wanted.found, ledger, number)
    outcome.gone |= todo.gone
    if base is not None and restarted:
        # The learner's history was deleted, and so is everything derived from it.
        erase(store, base, set(), restarted)
        raise ConflictError(f"{min(restarted)} was restarted")
    every = {**ledger, **todo.entries}
    chosen = {name for name in logs if name in every}
    members = _members(wanted.found, every)
    plan = dirty_logs(base, every, tables, codes, chosen, members, is_full=wanted.is_full)
    if not plan.tables and not todo.entries:
        return
    with attempts.attempted(store) as attempt:
        spark = session()
        job = Job(spark, store, Current(spark, store, base), every, codes, attempt.id, number, wanted.registry)
        with sized(spark, 0):
            entries = _read(job, todo, logs, wanted.registry[ACTS])
            warnings = _make(job._replace(ledger={**every, **entries}), wanted, plan.tables, attempt)
        touched = plan.units | entries.keys() | {ALL}
        changes = Changes(job.current.changes, entries, touched=touched, checks=warnings, began_ms=began_ms)
        made = publish(store, base, changes)
    outcome.published.append(made.number)


def _unread(
    store: Store, found: Sequence[FoundLog], ledger: Mapping[str, BranchEntry], number: int
) -> tuple[Unread, set[str]]:
    """The parts of logs that are not in the ledger, and the learners' logs that were replaced since.

    After a class, its log is replaced with that of the recording, which has fewer events; its rows are kept.
    """
    todo, restarted = Unread(before=ledger), set()
    for one in found:
        name = one.entry.branch
        known = ledger.get(name, one.entry)
        try:
            new = appended(one.folder, known.ranges, known.damage, known.last_seq, 0)
        except FileNotFoundError:
            todo.gone.add(name)
            continue
        if new.is_rewritten:
            if one.entry.learner:
                restarted.add(name)
            continue
        damage = tuple(
            msgspec.structs.replace(lost, first_build=number, copy=keep(store, name, data) if data else "")
            for lost, data in new.damage
        )
        if not new.ranges and not damage and name in ledger:
            continue
        todo.entries[name] = msgspec.structs.replace(
            known,
            last_seq=max(new.last_seq, known.last_seq),
            config=known.config if new.first is None else new.first.decode(errors="replace"),
            ranges=(*known.ranges, *new.ranges),
            damage=(*known.damage, *damage),
        )
        todo.spans += ((name, span) for span in new.spans)
    return todo, restarted


def _members(found: Sequence[FoundLog], ledger: Mapping[str, BranchEntry]) -> dict[str, list[str]]:
    """The logs that the tables of a class are made from: its own, and those of its participants."""
    logs = {one.entry.learner: one.entry.branch for one in found if one.entry.learner}
    members = {}
    for one in found:
        if one.entry.class_:
            theirs = (logs[person] for person in one.people.values() if person in logs)
            members[one.entry.class_] = [name for name in (one.entry.branch, *theirs) if name in ledger]
    return members


def _read(job: Job, todo: Unread, logs: Mapping[str, FoundLog], table: Table) -> dict[str, BranchEntry]:
    """Writes the new acts as a file of bronze, and returns the ledger's entries with what was read."""
    entries = dict(todo.entries)
    parts = []
    for name in entries:
        clock = clock_of(entries[name].config.encode())
        log = logs[name]
        mine = [span for owner, span in todo.spans if owner == name]
        rows, clock = rows_of(log, mine, clock)
        parts.append(rows)
        counts: dict[str, int] = {}
        for kind in rows.column("kind").to_pylist():
            counts[kind] = counts.get(kind, 0) + 1
        noted = [one if one.build else msgspec.structs.replace(one, build=job.number) for one in entries[name].ranges]
        if noted and noted[-1].build == job.number:
            noted[-1] = msgspec.structs.replace(noted[-1], kinds=counts)
        config = msgspec.json.encode(clock).decode()
        entries[name] = msgspec.structs.replace(entries[name], ranges=tuple(noted), config=config)
    if entries:
        # As one chunk: Spark treats an empty chunk, from a log without acts, as the end of the data.
        frame = job.spark.createDataFrame(pa.concat_tables(parts).combine_chunks())
        last = {name: entry.last_seq for name, entry in entries.items()}
        enter(job, table, frame, last, replaced=())
    return entries


def _make(job: Job, wanted: WantedLogs, dirty: Sequence[Dirty], attempt: attempts.Attempt) -> list[CheckResult]:
    warnings: list[CheckResult] = []
    for one in dirty:
        if wanted.is_cancelled():
            raise CancelledError
        attempts.renew(job.store, attempt)
        table = one.table
        units = set(one.units)
        frames = {need: _needed(job, table, job.registry[need], units) for need in table.needs}
        given = Tables(table, frames, _no_events, no_rows(job.spark, _BRANCHES))
        made = table.make(given).select(
            *(F.col(column.name).cast(column.type).alias(column.name) for column in table.columns)
        )
        if table.unit != "all":
            made = made.where(F.col(table.unit).isin(*units))
        result = enter(job, table, made, one.units, replaced=sorted(units))
        wanted.say(result)
        warnings += result.warnings
    return warnings


def _needed(job: Job, table: Table, need: Table, units: set[str]) -> "DataFrame":
    """A needed table: restricted to the units being made if it has the same unit, to these classes, or complete."""
    if need.unit == table.unit != "all":
        return job.current.stored(need, units)
    found = job.current.stored(need)
    return found.where(F.col("class").isin(*units)) if table.unit == "class" else found


def _no_events(name: str) -> "DataFrame":
    raise KeyError(f"{name}: only tables of branches read events of runs")
