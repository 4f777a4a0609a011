"""Removes a person from the tables: files of acts are rewritten without them, and everything derived from acts is
deleted, as are the tables of branches with commands that they sent.

The next build makes it again, without them. Does not need a JVM.
"""

import re
from collections.abc import Iterable, Iterator, Set

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from lab.analytics.store.attempts import attempted
from lab.analytics.store.builds import Build, Store, StoredFile
from lab.analytics.store.publish import Changes, ConflictError, TableChange, publish
from lab.analytics.store.reading import rows
from lab.analytics.store.rewrite import remove_branches
from lab.analytics.store.unfinished import Pending, unfinished
from lab.analytics.store.vacuum import leave_newest

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
    for log, person in _pairs(store, build, "silver.acts", "log", "learner"):
        found.setdefault(log, set()).add(person)
    return found


def senders_in(store: Store, build: Build) -> dict[str, set[str]]:
    """Returns those who sent commands to the runs of each class."""
    found: dict[str, set[str]] = {}
    ledger = build.ledger()
    for branch, sender in _pairs(store, build, COMMANDS, "branch", "learner"):
        if branch in ledger and ledger[branch].class_:
            found.setdefault(ledger[branch].class_, set()).add(sender)
    return found


def _pairs(store: Store, build: Build, table: str, one: str, other: str) -> set[tuple[str, str]]:
    """The distinct values of two columns, without those that are empty."""
    found: set[tuple[str, str]] = set()
    for file in build.files(table):
        with store.files.dataset(file.path) as rows_of_file:
            if not {one, other} <= set(rows_of_file.schema.names):
                continue
            for batch in rows_of_file.to_batches(columns=[one, other]):
                distinct = pa.Table.from_batches([batch]).group_by([one, other]).aggregate([])
                found.update(zip(distinct[one].to_pylist(), distinct[other].to_pylist(), strict=True))
    return {pair for pair in found if all(pair)}


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
    with unfinished(store, Pending(tuple(sorted(people)), tuple(sorted(logs)))):
        for tries in range(MAX_TRIES):
            try:
                count, gone = _published(store, build, people, logs)
                break
            except (ConflictError, FileNotFoundError) as error:
                build = newer(store, build, error, is_last=tries == MAX_TRIES - 1)
        leave_newest(store)
        for log in gone:
            for name in list(store.files.names(f"_quarantine/{log}")):
                store.files.delete(name)
        _insist_on_gone(store, people)
    return count


def newer(store: Store, build: Build, error: Exception, *, is_last: bool) -> Build:
    """The build to try again with after another process has published one, or has deleted files of this one. Raises
    the error if there is no other build, or after the last try.
    """
    newest = store.newest()
    if newest is None or is_last or (newest.number == build.number and isinstance(error, FileNotFoundError)):
        raise error
    return newest


def _published(store: Store, build: Build, people: Set[str], logs: Set[str]) -> tuple[int, Set[str]]:
    """Publishes a build without the people and logs. Returns the number of removed acts, and the removed logs."""
    ledger = build.ledger()
    gone = logs | {name for name, entry in ledger.items() if entry.learner in people}
    every = {name for name, entry in ledger.items() if entry.unit == "log"}
    # The build's file must not name those who are gone: `ALL` is in each build that reads logs.
    changes = Changes(touched={*every - gone, ALL}, dropped=set(gone & every))
    branches = branches_of(store, build, people)
    for name, state in build.file.tables.items():
        if state.unit in UNITS:
            changes.tables[name] = TableChange(state, replaced=set(build.made_to(name)))
    with attempted(store) as attempt:
        count = _rewrite(store, build, changes, people, attempt.id)
        # The next build reads these recordings again, without the people.
        remove_branches(store, build, branches, changes, attempt.id)
        publish(store, build, changes)
    return count, gone


def branches_of(store: Store, build: Build, people: Set[str]) -> set[str]:
    """The branches with commands of people, also if their rows no longer count and are only still in a file."""
    found: set[str] = set()
    for name, column in ((EVENTS, "payload"), (COMMANDS, "learner")):
        wanted = ds.field("kind") == COMMAND if name == EVENTS else None
        for file in build.files(name) if people else ():
            with store.files.dataset(file.path) as rows_of_file:
                if column not in rows_of_file.schema.names:
                    continue
                for batch in rows_of_file.to_batches(columns=["branch", column], filter=wanted):
                    texts = batch.column(1)
                    if pa.types.is_struct(texts.type):
                        texts = pc.struct_field(texts, "value")
                    is_theirs = pc.fill_null(pc.match_substring_regex(texts, _pattern(people)), False)
                    found |= set(batch.column(0).filter(is_theirs).to_pylist())
    return found


def _pattern(people: Set[str]) -> str:
    return "|".join(map(re.escape, sorted(people)))


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


def still_names(store: Store, build: Build, people: Set[str]) -> str:
    """Where a build still names one of the people; empty if nowhere."""
    if not people:
        return ""
    left = branches_of(store, build, people)
    if left:
        return f"commands of {min(left)}"
    for name in build.tables:
        if build.file.tables[name].unit in UNITS:
            for file in build.files(name):
                if _is_naming(store, file, _pattern(people)):
                    return file.path
    entries = b"".join(map(msgspec.json.encode, (build.file, *build.ledger().values())))
    return "the build or its ledger" if any(person.encode() in entries for person in people) else ""


def _is_naming(store: Store, file: StoredFile, pattern: str) -> bool:
    with store.files.dataset(file.path) as found:
        for batch in found.to_batches():
            for texts in _texts(batch.columns):
                if pc.any(pc.match_substring_regex(texts, pattern)).as_py():
                    return True
    return False


def _texts(columns: Iterable[pa.Array]) -> Iterator[pa.Array]:
    """The columns of text and of bytes, also those within lists, maps and structures."""
    for column in columns:
        kind = column.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
            yield column
        elif pa.types.is_struct(kind):
            yield from _texts(column.flatten())
        elif pa.types.is_map(kind):
            yield from _texts([column.keys, column.items])
        elif pa.types.is_list(kind):
            yield from _texts([column.flatten()])


def _insist_on_gone(store: Store, people: Set[str]) -> None:
    """Checks each remaining file. Raises NotErasedError."""
    build = store.newest()
    left = "" if build is None else still_names(store, build, people)
    if left:
        raise NotErasedError(f"{left} still names a person who was to be erased")
