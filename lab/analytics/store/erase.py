"""Removes a person from the tables: files of acts are rewritten without them, and everything derived from acts is
deleted, as are the tables of branches with commands that they sent.

The next build makes it again, without them. Does not need a JVM.
"""

from collections.abc import Set

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from lab.analytics.store.attempts import attempted
from lab.analytics.store.builds import Build, Store, StoredFile
from lab.analytics.store.publish import Changes, ConflictError, TableChange, publish
from lab.analytics.store.reading import rows
from lab.analytics.store.vacuum import vacuum

ACTS = "bronze.acts"
EVENTS, COMMANDS = "bronze.events", "silver.commands"
"""The tables of branches that name people."""
COMMAND = "CommandReceived"
MAX_TRIES = 5
ALL = "all"
"""The unit of tables over all learners."""
UNITS = ("log", "class", "all")
"""The units of tables that are made of acts."""
_NAMING = ("log", "who", "payload")


class NotErasedError(Exception):
    """A person is still in a file after the erasure."""


def people_in(store: Store, build: Build) -> dict[str, set[str]]:
    """Returns the people who act in each log that has been read."""
    found: dict[str, set[str]] = {}
    table = rows(store, build, "silver.acts", columns=["log", "learner"])
    if table is not None:
        for log, person in set(zip(*(table.column(name).to_pylist() for name in ("log", "learner")), strict=True)):
            if person:
                found.setdefault(log, set()).add(person)
    return found


def erase(store: Store, build: Build, people: Set[str], logs: Set[str] = frozenset()) -> int:
    """Removes people and whole logs from all tables, including older and pinned builds. Returns the number of removed
    acts.

    Args:
        store: the tables.
        build: the newest build. If another one is published meanwhile, the erasure begins again with that.
        people: pseudonyms.
        logs: names of logs.

    Raises:
        ConflictError: other builds that use the same logs were always published first.
        NotErasedError: a file still contains one of the people.
    """
    for tries in range(MAX_TRIES):
        try:
            count, gone = _published(store, build, people, logs)
            break
        except ConflictError:
            newest = store.newest()
            if newest is None or tries == MAX_TRIES - 1:
                raise
            build = newest
    for number in store.pinned():
        store.pin(number, is_pinned=False)
    vacuum(store, keep=1, young_s=0)
    for log in gone:
        for name in list(store.files.names(f"_quarantine/{log}")):
            store.files.delete(name)
    _insist_on_gone(store, people)
    return count


def _published(store: Store, build: Build, people: Set[str], logs: Set[str]) -> tuple[int, Set[str]]:
    """Publishes a build without the people and logs. Returns the number of removed acts, and the removed logs."""
    ledger = build.ledger()
    gone = logs | {name for name, entry in ledger.items() if entry.learner in people}
    every = {name for name, entry in ledger.items() if entry.unit == "log"}
    # The build's file must not name those who are gone: `ALL` is in each build that reads logs.
    changes = Changes(touched={*every - gone, ALL}, dropped=set(gone & every))
    branches = branches_of(store, build, people)
    changes.touched |= branches
    for name, state in build.file.tables.items():
        if state.unit == "branch" and branches:
            changes.tables[name] = TableChange(state, replaced=set(branches))
        if state.unit in UNITS:
            changes.tables[name] = TableChange(state, replaced=set(build.made_to(name)))
    with attempted(store) as attempt:
        count = _rewrite(store, build, changes, people, attempt.id)
        # The next build reads these recordings again, without the people.
        changes.dropped |= branches
        publish(store, build, changes)
    return count, gone


def branches_of(store: Store, build: Build, people: Set[str]) -> set[str]:
    """The branches with commands of people."""
    found: set[str] = set()
    for name, column in ((EVENTS, "payload"), (COMMANDS, "learner")):
        for file in build.files(name) if people else ():
            with store.files.dataset(file.path) as rows_of_file:
                wanted = ds.field("kind") == COMMAND if name == EVENTS else None
                table = rows_of_file.to_table(columns=["branch", column], filter=wanted)
            texts = table.column(column)
            if pa.types.is_struct(texts.type):
                texts = pc.struct_field(texts, "value")
            for person in people:
                is_theirs = pc.fill_null(pc.match_substring(texts, person), False)
                found |= set(table.column("branch").filter(is_theirs).to_pylist()) & file.units.keys()
    return found


def _rewrite(store: Store, build: Build, changes: Changes, people: Set[str], attempt: str) -> int:
    """Writes the remaining acts as one file. Returns the number of removed ones."""
    acts = rows(store, build, ACTS)
    if acts is None:
        return 0
    left = acts.filter(pc.invert(pc.is_in(acts.column("log"), pa.array(sorted(changes.dropped), pa.string()))))
    for person in people:
        left = left.filter(pc.invert(_naming(left, person)))
    units = {log: seq for log, seq in build.made_to(ACTS).items() if log not in changes.dropped}
    if units:
        first = next(file for file in build.entries(ACTS) if file.units)
        path, size = _written(store, left, attempt) if left.num_rows else ("", 0)
        file = StoredFile(path, left.num_rows, size, units, len(units), first.code)
        changes.tables[ACTS].files.append(file)
    return int(acts.num_rows - left.num_rows)


def _written(store: Store, table: pa.Table, attempt: str) -> tuple[str, int]:
    sink = pa.BufferOutputStream()
    pq.write_table(table.sort_by([("log", "ascending"), ("seq", "ascending")]), sink, compression="zstd")
    data = sink.getvalue().to_pybytes()
    path = f"{ACTS}/erased-{attempt}.parquet"
    store.files.create(path, data)
    return path, len(data)


def _naming(table: pa.Table, person: str) -> pa.ChunkedArray:
    """The rows of acts that refer to the people."""
    found = [pc.match_substring(table.column(name), person) for name in _NAMING]
    return pc.fill_null(pc.or_kleene(pc.or_kleene(found[0], found[1]), found[2]), False)


def _insist_on_gone(store: Store, people: Set[str]) -> None:
    """Checks each remaining file. Raises NotErasedError."""
    build = store.newest()
    if build is None or not people:
        return
    left = branches_of(store, build, people)
    if left:
        raise NotErasedError(f"commands of {min(left)} still name a person who was to be erased")
    entries = b"".join(map(msgspec.json.encode, (build.file, *build.ledger().values())))
    for name in build.tables:
        if build.file.tables[name].unit not in UNITS:
            continue
        for file in build.files(name):
            with store.files.dataset(file.path) as found:
                text = str(found.to_table().to_pylist())
            if any(person in text for person in people):
                raise NotErasedError(f"{file.path} still names a learner who was to be erased")
    if any(person.encode() in entries for person in people):
        raise NotErasedError("the build or its ledger still names a learner who was to be erased")
