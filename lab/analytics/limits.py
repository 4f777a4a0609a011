"""Takes out of the tables what was deleted, and what is older than HIGHWATER_TABLE_DAYS. Does not start Spark."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from django.conf import settings

from lab.analytics.build.acts import FoundLog
from lab.analytics.build.found import Found, is_kept, with_ancestors
from lab.analytics.build.gone import erase_gone
from lab.analytics.store.attempts import attempted
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.erase import erase
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.objects import folder_at, is_object_store
from lab.analytics.store.publish import ConflictError, drop_units, publish
from lab.analytics.store.vacuum import vacuum

MAX_TRIES = 5


def remove_deleted(store: Store, found: Sequence[FoundLog]) -> None:
    """Takes out people who were erased from classes, histories and classes that were deleted, and runs that were
    deleted, also from older builds.

    Args:
        store: the tables of this lab.
        found: all logs of this lab that exist (`lab.analytics.build.logs.every_log`).

    Raises ConflictError if other builds were always published first, NotErasedError if a person is still in a file.
    """
    erase_gone(store, found, is_all=True)
    build = store.newest()
    if build is None:
        return
    gone = {entry.branch for entry in build.ledger().values() if entry.unit == "branch" and _is_deleted(entry)}
    if gone:
        drop(store, build, gone)
        vacuum(store, keep=1, young_s=0)


def _is_deleted(entry: BranchEntry) -> bool:
    """Whether a recording was one of this lab's and is no longer there."""
    if is_object_store(entry.place):
        return False
    place = Path(entry.place)
    return place.is_relative_to(settings.RUNS) and not place.is_dir()


def remove_old(store: Store, every: Iterable[FoundLog]) -> int:
    """Takes out the runs and logs of which nothing was recorded for HIGHWATER_TABLE_DAYS. Returns how many branches and
    logs these are. Older builds are not changed.

    Raises the same errors as `remove_deleted`.
    """
    build = store.newest() if settings.TABLE_DAYS else None
    if build is None:
        return 0
    ledger = build.ledger()
    found = [Found(folder_at(entry.place), entry) for entry in ledger.values() if entry.unit == "branch"]
    branches = {one.entry.branch for one in found} - {one.entry.branch for one in kept(found)}
    if branches:
        drop(store, build, branches)
    known = {name for name, entry in ledger.items() if entry.unit == "log"}
    old = known & {one.entry.branch for one in every if not is_kept(one.folder, settings.TABLE_DAYS)}
    newest = store.newest()
    if old and newest is not None:
        erase(store, newest, frozenset(), old)
    return len(branches) + len(old)


def kept(every: Sequence[Found]) -> list[Found]:
    """The recordings that tables keep (HIGHWATER_TABLE_DAYS), with what they were forked from."""
    return with_ancestors([one for one in every if is_kept(one.folder, settings.TABLE_DAYS)], every)


def drop(store: Store, build: Build, branches: set[str]) -> None:
    """Removes branches from the tables. Raises ConflictError if other builds of them were always published first."""
    for tries in range(MAX_TRIES):
        changes = drop_units(build, dict.fromkeys(build.tables, branches))
        changes.dropped |= branches
        try:
            with attempted(store):
                publish(store, build, changes)
        except ConflictError:
            newest = store.newest()
            if newest is None or tries == MAX_TRIES - 1:
                raise
            build = newest
        else:
            return
