"""Takes out of the tables what was deleted, and what is older than HIGHWATER_TABLE_DAYS. Does not start Spark."""

import logging
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model

from lab.analytics.build.acts import FoundLog
from lab.analytics.build.found import Found, branch_id, is_kept, with_ancestors
from lab.analytics.build.gone import erase_gone, erase_named
from lab.analytics.build.logs import every_log
from lab.analytics.build.people import lab_id
from lab.analytics.store.attempts import attempted
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.erase import erase, newer
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.objects import folder_at, is_object_store
from lab.analytics.store.owner import claim, owner
from lab.analytics.store.publish import Changes, ConflictError, publish
from lab.analytics.store.rewrite import remove_branches
from lab.analytics.store.unfinished import Pending, begun, unfinished
from lab.analytics.store.vacuum import leave_newest
from lab.models import Branch

logger = logging.getLogger(__name__)

MAX_TRIES = 5
_WARNED: set[str] = set()
"""Places of tables of other labs that have been reported."""


@dataclass(frozen=True)
class Known:
    """What this lab has.

    Attributes:
        logs: all logs that exist.
        branches: the names of all branches of its database.
        has_people: whether the database has any account.
    """

    logs: Sequence[FoundLog]
    branches: Set[str]
    has_people: bool


def known() -> Known:
    """What this lab has, however old it is."""
    branches = {branch_id(*names) for names in Branch.objects.values_list("run__slug", "name")}
    return Known(every_log(), branches, get_user_model().objects.exists())


def remove_deleted(store: Store, lab: Known, people: Set[str] = frozenset(), logs: Set[str] = frozenset()) -> None:
    """Takes out people who were erased from classes, histories and classes that were deleted, and runs that were
    deleted, also from older builds. Of tables that belong to another lab, only `people` and `logs` are taken out.

    Args:
        store: the tables.
        lab: what exists.
        people: pseudonyms of people who have just been erased.
        logs: names of logs that have just been deleted.

    Raises ConflictError if other builds were always published first, NotErasedError if a person is still in a file.
    """
    finish_erasures(store)
    if (people or logs) and store.newest() is not None:
        # From the beginning: whom the database has forgotten cannot be found again.
        with unfinished(store, Pending(tuple(sorted(people)), tuple(sorted(logs)))):
            erase_named(store, people, logs)
    if not is_own(store, lab):
        return
    erase_gone(store, lab.logs, is_all=lab.has_people)
    build = store.newest()
    if build is None:
        return
    gone = {entry.branch for entry in build.ledger().values() if _is_deleted(entry, lab)}
    if gone:
        with unfinished(store, Pending()):
            drop(store, build, gone)
            leave_newest(store)


def finish_erasures(store: Store) -> None:
    """Does erasures again that have begun and not ended."""
    for name, pending in begun(store):
        build = store.newest()
        if build is not None and (pending.people or pending.logs):
            erase(store, build, set(pending.people), set(pending.logs))
        elif build is not None:
            leave_newest(store)
        store.files.delete(name)


def is_own(store: Store, lab: Known) -> bool:
    """Whether tables belong to this lab, which is recorded in them: other labs that use the same place do not know what
    has been deleted here. Tables without an owner belong to this lab if it has everything that they are about.
    """
    here, said = lab_id(Path(settings.DATA)), owner(store)
    if not said:
        build = store.newest()
        if build is None or _is_about(build, lab):
            return claim(store, here)
    if said != here and store.files.address not in _WARNED:
        _WARNED.add(store.files.address)
        logger.warning(
            "the tables at %s contain what this lab does not have, or belong to another lab; what is deleted here"
            " is not looked for in them. `manage.py analytics build` adopts tables without an owner",
            store.files.address,
        )
    return said == here


def adopt(store: Store) -> None:
    """Records this lab as the owner of tables that have none."""
    claim(store, lab_id(Path(settings.DATA)))


def _is_about(build: Build, lab: Known) -> bool:
    """Whether a build is about this lab: it has something of it, and nothing that may be of another one. Recordings at
    other places are never deleted here, and do not matter.
    """
    logs = {one.entry.branch for one in lab.logs}
    entries = build.ledger().values()
    ours = [
        entry.branch in logs if entry.unit == "log" else entry.branch in lab.branches
        for entry in entries
        if entry.unit == "log" or _is_below_runs(entry)
    ]
    return bool(ours) and all(ours)


def _is_deleted(entry: BranchEntry, lab: Known) -> bool:
    """Whether a recording was one of this lab's and is no longer there."""
    if entry.unit != "branch" or not _is_below_runs(entry) or entry.branch in lab.branches:
        return False
    return Path(settings.RUNS).is_dir() and not Path(entry.place).is_dir()


def _is_below_runs(entry: BranchEntry) -> bool:
    return not is_object_store(entry.place) and Path(entry.place).is_relative_to(settings.RUNS)


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
    read = {name for name, entry in ledger.items() if entry.unit == "log"}
    old = read & {one.entry.branch for one in every if not is_kept(one.folder, settings.TABLE_DAYS)}
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
        changes = Changes()
        try:
            with attempted(store) as attempt:
                remove_branches(store, build, branches, changes, attempt.id)
                publish(store, build, changes)
            return
        except (ConflictError, FileNotFoundError) as error:
            build = newer(store, build, error, is_last=tries == MAX_TRIES - 1)
