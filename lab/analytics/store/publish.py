"""Publishing a build: new files become visible together with the removal of those that they replace, or not at all."""

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

import msgspec

from lab.analytics.store.builds import Build, BuildFile, CheckResult, Store, StoredFile, TableState
from lab.analytics.store.ledger import BranchEntry

STEPS = (
    "planned", "bronze written", "tables written", "checked",
    "chunks written", "ledger written", "about to publish", "published",
)  # fmt: skip
"""What a build passes, in this order. Tests end it at each of them."""

MAX_TRIES = 20


class ConflictError(Exception):
    """Another build has published some of the same units: this build has to be planned again."""


@dataclass
class TableChange:
    """What a build does to one table: `files` are added; rows of `replaced` units no longer count, and `removed` paths
    are no longer listed.

    `state` describes the table from now on; its chunks are ignored.
    """

    state: TableState
    files: list[StoredFile] = field(default_factory=list)
    replaced: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)


@dataclass
class Changes:
    """The changes of a build. `touched` are the units that it was planned for."""

    tables: dict[str, TableChange] = field(default_factory=dict)
    ledger: dict[str, BranchEntry] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    checks: list[CheckResult] = field(default_factory=list)
    began_ms: int = 0


def publish(store: Store, base: Build | None, changes: Changes, at: Callable[[str], None] = lambda step: None) -> Build:
    """Publishes changes that were planned against `base`, on top of builds published since.

    Args:
        store: where the files have been written.
        base: the newest build when the changes were planned.
        changes: what to publish.
        at: called before each step.

    Raises:
        ConflictError: a build since `base` has touched the same units.
        OSError: the files cannot be written; nothing is published.
    """
    for _ in range(MAX_TRIES):
        newest = store.newest()
        _insist_on_apart(store, base, newest, changes)
        file = _merged(store, newest, changes, at)
        at("about to publish")
        try:
            build = store.create(file)
        except FileExistsError:
            continue
        at("published")
        return build
    raise ConflictError(f"{MAX_TRIES} other builds were published first")


def _insist_on_apart(store: Store, base: Build | None, newest: Build | None, changes: Changes) -> None:
    """Raises ConflictError if a build since `base` touched the same units."""
    first = 1 if base is None else base.number + 1
    for number in range(first, 1 if newest is None else newest.number + 1):
        try:
            other = store.build(number).file
        except FileNotFoundError:
            raise ConflictError(f"build {number} has been deleted since this one was planned") from None
        both = changes.touched.intersection(other.touched)
        if both:
            raise ConflictError(f"build {number} is about {', '.join(sorted(both)[:3])}, too")


def _merged(store: Store, newest: Build | None, changes: Changes, at: Callable[[str], None]) -> BuildFile:
    tables = {} if newest is None else dict(newest.file.tables)
    for name, change in changes.tables.items():
        before = [] if newest is None else newest.entries(name)
        listed = [file for file in before if file.path not in change.removed]
        files = [*_without(listed, change.replaced), *change.files]
        tables[name] = msgspec.structs.replace(change.state, chunks=tuple(store.file_chunks.write(_sorted(files))))
    at("chunks written")
    ledger = {} if newest is None else newest.ledger()
    ledger |= changes.ledger
    for branch in changes.dropped:
        ledger.pop(branch, None)
    pieces = store.ledger_chunks.write([ledger[branch] for branch in sorted(ledger)])
    at("ledger written")
    every = [file for state in tables.values() for file in store.file_chunks.read(state.chunks)]
    return BuildFile(
        build=1 if newest is None else newest.number + 1,
        parent=0 if newest is None else newest.number,
        tables=tables,
        ledger=tuple(pieces),
        touched=tuple(sorted(changes.touched)),
        began_ms=changes.began_ms,
        took_s=round(max(time.time() - changes.began_ms / 1_000, 0.0), 3) if changes.began_ms else 0.0,
        events=sum(one.to_seq - one.from_seq + 1 for entry in ledger.values() for one in entry.ranges),
        files=sum(1 for file in every if file.path),
        bytes=sum(file.bytes for file in every),
        checks=tuple(changes.checks),
    )


def _without(files: Iterable[StoredFile], replaced: Collection[str]) -> list[StoredFile]:
    """The files without these units; files without remaining units are left out."""
    kept = []
    for file in files:
        units = {unit: seq for unit, seq in file.units.items() if unit not in replaced}
        if units:
            kept.append(file if len(units) == len(file.units) else msgspec.structs.replace(file, units=units))
    return kept


def _sorted(files: Iterable[StoredFile]) -> list[StoredFile]:
    return sorted(files, key=lambda file: file.path)
