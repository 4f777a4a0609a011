"""Reads new events of recordings into bronze, and updates the ledger."""

import base64
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as F

from lab.analytics.build.current import local
from lab.analytics.build.events import EVENTS
from lab.analytics.build.found import Found, config_of
from lab.analytics.build.held import places
from lab.analytics.build.lineage import by_identity
from lab.analytics.build.segments import SCHEMA, Appended, Span, SpanOf, appended, read
from lab.analytics.build.unit import Job, enter
from lab.analytics.build.values import UNREADABLE, Unreadable, unreadable
from lab.analytics.build.vocabularies import Fields, lacking, noted, of_entry
from lab.analytics.build.writing import columns_of
from lab.analytics.store import quarantine
from lab.analytics.store.builds import Store
from lab.analytics.store.ledger import BranchEntry, Damage, ReadRange
from lab.analytics.store.objects import Folder, folder_at
from lab.recordings.description import IDENTITY, IdentityError, read_identity

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


@dataclass
class Unread:
    """What a build has to read: the future ledger entries, and the locations of the new events.

    `before` is the ledger that this is based on; if an entry has changed since, another build has read the branch.
    `restarted` are branches that are read again from their first event.
    """

    entries: dict[str, BranchEntry] = field(default_factory=dict)
    before: Mapping[str, BranchEntry] = field(default_factory=dict)
    spans: list[tuple[str, Span]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    restarted: set[str] = field(default_factory=set)


def unread(
    store: Store,
    found: Iterable[Found],
    ledger: Mapping[str, BranchEntry],
    number: int,
    stale: Collection[str] = (),
    unwritten: Collection[str] = (),
) -> Unread:
    """The parts of recordings that are not in the ledger. Recordings deleted in the meantime are `gone`.

    Args:
        store: stores unreadable bytes.
        found: the recordings to read.
        ledger: what has been read.
        number: the number of the build.
        stale: branches that are not there in the format that is used now: they are read again.
        unwritten: those of them of which only tables were made, which stay if the recording is still the same.
    """
    todo = Unread(before=ledger)
    for folder, entry in _resolved(found, ledger):
        known = ledger.get(entry.branch)
        is_new = (
            known is None
            or entry.branch in stale
            or (known.parent, known.own_from_seq) != (entry.parent, entry.own_from_seq)
            or any(lost.reason == "rewritten" for lost in known.damage)
        )
        try:
            new = _appended(folder, entry, is_new=is_new)
            if new.is_rewritten:
                is_new, new = True, _appended(folder, entry, is_new=True)
        except FileNotFoundError:
            todo.gone.add(entry.branch)
            continue
        if is_new:
            entry = msgspec.structs.replace(entry, ranges=(), damage=(), last_seq=0, last_at_us=0, vocabularies=())
        new.damage += _described(folder, entry, new.last_seq)
        kept = {_place(old) for old in entry.damage}
        damage = [
            msgspec.structs.replace(lost, first_build=number, copy=_copied(store, entry.branch, data))
            for lost, data in new.damage
            if _place(lost) not in kept
        ]
        if not new.ranges and not damage and not is_new and known is not None and known.state == "open":
            continue
        if is_new and known is not None and not (entry.branch in unwritten and _is_same(known, new)):
            todo.restarted.add(entry.branch)
        todo.entries[entry.branch] = msgspec.structs.replace(
            entry,
            place=str(folder),
            state="open",
            last_seq=max(new.last_seq, entry.last_seq),
            last_at_us=max(new.last_at_us, entry.last_at_us),
            config=entry.config if new.first is None else config_of(new.first),
            vocabularies=noted(store, folder.parent),
            ranges=(*entry.ranges, *new.ranges),
            damage=(*entry.damage, *damage),
        )
        todo.spans += ((entry.branch, span) for span in new.spans)
    return todo


def _is_same(known: BranchEntry, new: Appended) -> bool:
    """Whether a recording that was read from its beginning is the one that the ledger knows."""
    return places(known.ranges) == places(new.ranges)


def _resolved(found: Iterable[Found], ledger: Mapping[str, BranchEntry]) -> list[tuple[Folder, BranchEntry]]:
    """The recordings to read, each with the ledger entry for its identity, including those whose past now belongs to
    another one.
    """
    folders = {one.entry.branch: one.folder for one in found}
    said = {one.entry.branch: one.entry for one in found}
    merged = {
        branch: entry
        if (known := ledger.get(branch)) is None
        else msgspec.structs.replace(
            known, identity=entry.identity, origin=entry.origin, parent=entry.parent, parent_seq=entry.parent_seq,
            own_from_seq=entry.own_from_seq, created_ms=entry.created_ms, people=entry.people,
        )
        for branch, entry in said.items()
    }  # fmt: skip

    def ends(entry: BranchEntry) -> int:
        folder = folders.get(entry.branch, folder_at(entry.place))
        return entry.last_seq or (appended(folder, (), (), 0, 0).last_seq if folder.is_dir() else 0)

    every = by_identity({**ledger, **merged}.values(), ledger, ends)
    for branch, known in ledger.items():
        entry = every[branch]
        if branch not in folders and (known.parent, known.own_from_seq) != (entry.parent, entry.own_from_seq):
            folders[branch] = folder_at(known.place)
            # Whose commands it has is not known here.
            every[branch] = msgspec.structs.replace(entry, people={})
    return [(folder, every[branch]) for branch, folder in folders.items()]


def _appended(folder: Folder, entry: BranchEntry, *, is_new: bool) -> Appended:
    if is_new:
        return appended(folder, (), (), 0, entry.own_from_seq)
    return appended(folder, entry.ranges, entry.damage, entry.last_seq, entry.own_from_seq)


def _described(folder: Folder, entry: BranchEntry, last_seq: int) -> Iterator[tuple[Damage, bytes]]:
    """Problems in the description of a recording."""
    try:
        read_identity(folder.parent)
    except IdentityError as error:
        data = (folder.parent / IDENTITY).read_bytes()
        yield Damage(IDENTITY, 0, len(data), 0, 0, "identity", str(error)[:200]), data
    for lost in lacking(folder.parent, entry.vocabularies, max(last_seq, entry.last_seq)):
        yield lost, b""


def _place(lost: Damage) -> tuple[str, int, int, str]:
    return lost.segment, lost.from_byte, lost.from_seq, lost.reason


def _copied(store: Store, branch: str, data: bytes) -> str:
    return quarantine.keep(store, branch, data) if data else ""


def read_bronze(job: Job, todo: Unread) -> dict[str, BranchEntry]:
    """Writes the new events as a file of bronze, and returns the ledger's entries with what was read."""
    entries = dict(todo.entries)
    last = {branch: entry.last_seq for branch, entry in entries.items()}
    restarted = sorted(todo.restarted & entries.keys())
    if todo.spans:
        events = frame(job, todo.spans, entries).withColumn("build", F.lit(job.number))
        parts = max(len(todo.spans), 1)
        enter(job, EVENTS, events, last, replaced=restarted, parts=parts)
        counted = _counted(job)
        if any(UNREADABLE in kinds for kinds in counted.values()):
            _quarantine(job, entries)
            # Rare enough to read everything again instead of checking each event twice.
            enter(job, EVENTS, events.where(F.col("kind") != UNREADABLE), last, replaced=(), parts=parts)
            counted = _counted(job)
    else:
        counted = {}
        enter(job, EVENTS, job.spark.createDataFrame([], _stored()), last, replaced=restarted)
    for branch, entry in entries.items():
        entries[branch] = _counting(entry, job.number, counted.get(branch, {}))
    return entries


def _counting(entry: BranchEntry, number: int, kinds: dict[str, int]) -> BranchEntry:
    """An entry whose new ranges have been read by a build, with the number of events of each kind in them."""
    rest = [one for one in entry.ranges if one.build]
    noted = [msgspec.structs.replace(one, build=number) for one in entry.ranges if not one.build]
    if noted:
        noted[-1] = msgspec.structs.replace(noted[-1], kinds=kinds)
    return msgspec.structs.replace(entry, ranges=_merged([*rest, *noted]), people=None)


def _quarantine(job: Job, entries: dict[str, BranchEntry]) -> None:
    """Discards the newest file of bronze, and records its unreadable events with their branches."""
    change = job.current.changes[EVENTS.name]
    file = change.files.pop()
    stored = job.spark.read.parquet(job.store.files.for_spark(file.path)).where(F.col("kind") == UNREADABLE)
    for branch, seq, text in stored.select("branch", "seq", F.to_json("payload")).orderBy("branch", "seq").collect():
        why = msgspec.json.decode(text, type=Unreadable)
        entry = entries[branch]
        within = next(one for one in entry.ranges if one.from_seq <= seq <= one.to_seq)
        copy = _copied(job.store, branch, base64.b64decode(why.data))
        lost = Damage(
            within.segment, within.from_byte, within.from_byte, seq, max(seq, why.to_seq), why.reason, why.detail, copy,
            job.number,
        )  # fmt: skip
        entries[branch] = msgspec.structs.replace(entry, damage=(*entry.damage, lost))
    job.store.files.delete(file.path)


def frame(job: Job, spans: Sequence[tuple[str, Span]], entries: Mapping[str, BranchEntry]) -> "DataFrame":
    """The events of spans, in the stored columns of bronze but `build`."""
    held = None if job.held is None else job.held.read_of({branch for branch, _ in spans})
    text = local(job.spark, held) if held is not None else _read(job, spans, entries)
    parsed = text.withColumn("parsed", F.try_parse_json("payload"))
    names = ("run", "branch", *(one.name for one in EVENTS.columns if one.name != "build"))
    return parsed.select(*(_column(name) for name in names))


def hold(job: Job, todo: Unread, kinds: Collection[str] | None = None) -> dict[str, BranchEntry]:
    """Reads the new events into memory, or those of some kinds, and returns the ledger's entries with the kinds of
    events that there are among them.

    Raises ValueError if the job holds nothing.
    """
    if job.held is None:
        raise ValueError("there are too many events to be held in memory")
    entries = dict(todo.entries)
    for branch, entry in entries.items():
        parts = parts_of([one for one in todo.spans if one[0] == branch], entries, job.layouts)
        job.held.read(entry, parts, is_restarted=branch in todo.restarted, kinds=kinds)
        entries[branch] = _counting(entry, job.number, job.held.kinds(branch))
    return entries


def is_unwritten(job: Job, entries: Mapping[str, BranchEntry]) -> bool:
    """Whether tables of these branches may be published before their events: none of these is stored yet, so that the
    next build reads each branch from its beginning, counts its events and quarantines those that it cannot read.
    """
    return not job.current.files(EVENTS.name, entries.keys())


def parts_of(
    spans: Sequence[tuple[str, Span]], entries: Mapping[str, BranchEntry], layouts: Mapping[str, Fields]
) -> list[SpanOf]:
    """Spans with the information that is needed to read them."""
    return [
        SpanOf(branch, entries[branch].run, entries[branch].own_from_seq, span, of_entry(entries[branch], layouts))
        for branch, span in spans
    ]


def _read(job: Job, spans: Sequence[tuple[str, Span]], entries: Mapping[str, BranchEntry]) -> "DataFrame":
    parts = parts_of(spans, entries, job.layouts)

    def read_parts(numbers: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from read(*parts[number])

    return job.spark.range(0, len(parts), 1, len(parts)).mapInArrow(read_parts, SCHEMA)


def _column(name: str) -> Column:
    """A column of bronze; a value that Spark does not accept as JSON becomes an unreadable row."""
    rejected = F.col("parsed").isNull()
    if name == "payload":
        why = unreadable(b"", "json", "Spark does not take it for JSON")
        return F.coalesce("parsed", F.parse_json(F.lit(why))).alias(name)
    return F.when(rejected, F.lit(UNREADABLE)).otherwise(F.col(name)).alias(name) if name == "kind" else F.col(name)


def _stored() -> str:
    return ", ".join(f"`{column.name}` {column.type}" for column in EVENTS.stored)


def _counted(job: Job) -> dict[str, dict[str, int]]:
    """Number of events of each kind in the newest file of bronze, by branch."""
    path = job.current.changes[EVENTS.name].files[-1].path
    if not path:
        return {}
    table = columns_of(job.store, path, ["branch", "kind"]).group_by(["branch", "kind"]).aggregate([([], "count_all")])
    counts: dict[str, dict[str, int]] = {}
    for row in table.to_pylist():
        counts.setdefault(row["branch"], {})[row["kind"]] = row["count_all"]
    return counts


def _merged(ranges: Sequence[ReadRange]) -> tuple[ReadRange, ...]:
    """The ranges, ordered by events."""
    return tuple(sorted(ranges, key=lambda one: one.from_seq))
