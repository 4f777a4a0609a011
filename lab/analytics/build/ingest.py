"""Reads what is new in recordings into bronze, and says so in the ledger."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from lab.analytics.build.events import EVENTS
from lab.analytics.build.found import Found, config_of
from lab.analytics.build.segments import SCHEMA, Span, news, read
from lab.analytics.build.unit import Job, enter
from lab.analytics.build.writing import columns_of
from lab.analytics.store import quarantine
from lab.analytics.store.builds import Store
from lab.analytics.store.ledger import BranchEntry, ReadRange

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Unread:
    """What a build has to read: entries of the ledger as they will be, and where the new events lie.

    `before` is the ledger that this is new against: another build has read the events of a branch of which the ledger
    says something else by now.
    """

    entries: dict[str, BranchEntry] = field(default_factory=dict)
    before: Mapping[str, BranchEntry] = field(default_factory=dict)
    spans: list[tuple[str, Span]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)


def unread(store: Store, found: Iterable[Found], ledger: Mapping[str, BranchEntry], number: int) -> Unread:
    """What of the recordings is not in the ledger. Recordings that are deleted meanwhile are `gone`."""
    todo = Unread(before=ledger)
    for one in found:
        known = ledger.get(one.entry.branch, one.entry)
        try:
            new = news(one.folder, known.ranges, known.damage, known.last_seq, known.own_from_seq)
        except FileNotFoundError:
            todo.gone.add(one.entry.branch)
            continue
        kept = {(old.segment, old.from_byte, old.reason) for old in known.damage}
        damage = [
            msgspec.structs.replace(lost, first_build=number, copy=_copied(store, one.entry.branch, data))
            for lost, data in new.damage
            if (lost.segment, lost.from_byte, lost.reason) not in kept
        ]
        if not new.ranges and not damage and one.entry.branch in ledger:
            continue
        todo.entries[one.entry.branch] = msgspec.structs.replace(
            known,
            place=str(one.folder),
            last_seq=max(new.last_seq, known.last_seq),
            last_at_us=max(new.last_at_us, known.last_at_us),
            config=known.config if new.first is None else config_of(new.first),
            ranges=(*known.ranges, *new.ranges),
            damage=(*known.damage, *damage),
        )
        todo.spans += ((one.entry.branch, span) for span in new.spans)
    return todo


def _copied(store: Store, branch: str, data: bytes) -> str:
    return quarantine.keep(store, branch, data) if data else ""


def read_bronze(job: Job, todo: Unread) -> dict[str, BranchEntry]:
    """Writes the new events as a file of bronze, and returns the ledger's entries with what was read."""
    entries = dict(todo.entries)
    last = {branch: entry.last_seq for branch, entry in entries.items()}
    if todo.spans:
        events = frame(job.spark, todo.spans, entries)
        enter(job, EVENTS, events, last, replaced=(), parts=max(len(todo.spans), 1))
        counted = _counted(job)
    else:
        counted = {}
        enter(job, EVENTS, job.spark.createDataFrame([], _stored()), last, replaced=())
    for branch, entry in entries.items():
        new = [one for one in entry.ranges if not one.build]
        rest = [one for one in entry.ranges if one.build]
        noted = [msgspec.structs.replace(one, build=job.number) for one in new]
        if noted:
            noted[-1] = msgspec.structs.replace(noted[-1], kinds=counted.get(branch, {}))
        entries[branch] = msgspec.structs.replace(entry, ranges=_merged([*rest, *noted]))
    return entries


def frame(spark: "SparkSession", spans: Sequence[tuple[str, Span]], entries: Mapping[str, BranchEntry]) -> "DataFrame":
    """The events of spans, in the stored columns of bronze."""
    parts = [(branch, entries[branch].run, entries[branch].own_from_seq, span) for branch, span in spans]

    def read_parts(numbers: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from read(*parts[number])

    text = spark.range(0, len(parts), 1, len(parts)).mapInArrow(read_parts, SCHEMA)
    return text.select("run", "branch", *(_column(one.name) for one in EVENTS.columns))


def _column(name: str) -> Column:
    return F.parse_json("payload").alias("payload") if name == "payload" else F.col(name)


def _stored() -> str:
    return ", ".join(f"`{column.name}` {column.type}" for column in EVENTS.stored)


def _counted(job: Job) -> dict[str, dict[str, int]]:
    """How many events of each kind the newest file of bronze holds, by branch."""
    path = job.current.changes[EVENTS.name].files[-1].path
    if not path:
        return {}
    table = columns_of(job.store, path, ["branch", "kind"]).group_by(["branch", "kind"]).aggregate([([], "count_all")])
    counts: dict[str, dict[str, int]] = {}
    for row in table.to_pylist():
        counts.setdefault(row["branch"], {})[row["kind"]] = row["count_all"]
    return counts


def _merged(ranges: Sequence[ReadRange]) -> tuple[ReadRange, ...]:
    """The ranges in order of events."""
    return tuple(sorted(ranges, key=lambda one: one.from_seq))
