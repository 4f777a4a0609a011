"""One build from start to end: read, make, check, publish."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from lab.analytics import place
from lab.analytics.build.checks import CheckError
from lab.analytics.build.code import digests
from lab.analytics.build.current import Current
from lab.analytics.build.events import EVENTS
from lab.analytics.build.found import Found
from lab.analytics.build.held import Held, is_few
from lab.analytics.build.ingest import Unread, hold, is_unwritten, read_bronze, unread
from lab.analytics.build.lineage import descendants
from lab.analytics.build.plan import Dirty, Plan, dirty_branches, groups
from lab.analytics.build.sizes import sized
from lab.analytics.build.unit import Job, Made, make_for_branches
from lab.analytics.build.vocabularies import kept
from lab.analytics.shipping import insist_on_shared
from lab.analytics.store import attempts
from lab.analytics.store.builds import Build, CheckResult, Store
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.objects import folder_at
from lab.analytics.store.publish import Changes, ConflictError, publish
from lab.analytics.tables import Table
from lab.analytics.tables.registry import TABLES, upstream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_TRIES = 5
AT_ONCE = 2
"""Number of tables of a small build that are made at a time: planning one leaves a core free."""
BRONZE_FORMAT = "3"
"""Changes with how events are stored: then all recordings are read again."""


class CancelledError(Exception):
    """The build was cancelled."""


@dataclass
class Wanted:
    """The request for a build.

    `found` are the recordings to read; `tables` the names of the requested tables besides that of the events, by
    default all; `is_full` makes everything again; `is_cancelled` is called between tables. `held` is what the previous
    build has in memory.
    """

    found: Sequence[Found]
    tables: Sequence[str] | None = None
    registry: Mapping[str, Table] = field(default_factory=lambda: TABLES)
    is_full: bool = False
    is_first: bool = False
    is_cancelled: Callable[[], bool] = lambda: False
    say: Callable[[Made], None] = lambda made: None
    at: Callable[[str], None] = lambda step: None
    held: Held = field(default_factory=Held)


@dataclass
class Outcome:
    """The result of a build. `build` is the newest build, `published` those published by this one, one for each group
    of branches.
    """

    build: Build | None
    published: list[int] = field(default_factory=list)
    events: int = 0
    held: list[CheckResult] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)


def build(session: "Callable[[], SparkSession]", store: Store, wanted: Wanted) -> Outcome:
    """Updates the tables from the recordings. `session` is called only if there is work to do.

    Raises:
        CheckError: a rule with severity `stop` is violated in all units.
        ConflictError: other builds always published first.
        CancelledError: `wanted.is_cancelled` returned true.
        OSError: the files cannot be written. What was published before is kept.
    """
    return until_published(store, lambda outcome: _build(session, store, wanted, outcome))


def until_published(store: Store, attempt: Callable[[Outcome], None]) -> Outcome:
    """Builds again if another build published first. Raises ConflictError after several attempts."""
    attempts.sweep(store)
    outcome = Outcome(store.newest())
    for tries in range(MAX_TRIES):
        try:
            attempt(outcome)
        except ConflictError:
            if tries == MAX_TRIES - 1:
                raise
            continue
        break
    outcome.build = store.newest()
    return outcome


def _build(session: "Callable[[], SparkSession]", store: Store, wanted: Wanted, outcome: Outcome) -> None:
    tables = upstream(wanted.registry if wanted.tables is None else wanted.tables, wanted.registry)
    codes = {EVENTS.name: BRONZE_FORMAT, **digests(tables)}
    base = store.newest()
    number = 1 if base is None else base.number + 1
    ledger = {} if base is None else base.ledger()
    stale = set() if base is None else ledger.keys() - base.made_to(EVENTS.name, BRONZE_FORMAT).keys()
    unwritten = set() if base is None else stale - base.made_to(EVENTS.name).keys()
    given = {one.entry.branch for one in wanted.found}
    # Forks see the events of their parents, which have to be there.
    others = [
        Found(folder_at(ledger[one].place), msgspec.structs.replace(ledger[one], people={}))
        for one in sorted(unwritten - given)
    ]
    todo = unread(store, [*wanted.found, *others], ledger, number, stale, unwritten)
    outcome.gone |= todo.gone
    _note_gone(store, base, ledger, todo.gone)
    every = {**ledger, **todo.entries}
    restarted = descendants(todo.restarted, every)
    chosen = (given & set(every)) | todo.entries.keys() | restarted
    plan = dirty_branches(base, every, tables, codes, chosen, restarted=restarted, is_full=wanted.is_full)
    wanted.at("planned")
    broken: set[str] = set()
    order = groups(_with(plan, todo), every)
    if order:
        insist_on_shared(session(), store.files.address, [span.path for _, span in todo.spans])
    is_one = len(order) == 1
    while order:
        held = wanted.held if is_one else Held()
        group = [branch for branch in order.pop(0) if branch not in broken]
        if not group:
            continue
        again = restarted & set(group)
        try:
            with attempts.attempted(store) as attempt:
                made = _group(session(), store, wanted, group, tables, codes, todo, again, attempt, held)
        except CheckError as error:
            outcome.held += error.results
            broken |= error.units
            order.insert(0, group)
            if not error.units & set(group):
                raise
            continue
        outcome.published.append(made.number)


def _group(
    session: "SparkSession",
    store: Store,
    wanted: Wanted,
    group: Sequence[str],
    tables: Sequence[Table],
    codes: Mapping[str, str],
    todo: Unread,
    restarted: set[str],
    attempt: attempts.Attempt,
    memory: Held,
) -> Build:
    """Reads, makes and publishes some branches."""
    began_ms = int(time.time() * 1_000)
    base = store.newest()
    number = 1 if base is None else base.number + 1
    ledger: dict[str, BranchEntry] = {} if base is None else base.ledger()
    mine = set(group)
    # `publish` only detects conflicts with builds published after this point.
    read = sorted(one for one in mine & todo.entries.keys() if ledger.get(one) != todo.before.get(one))
    if read:
        raise ConflictError(f"another build has read {', '.join(read[:3])} since this one was planned")
    part = Unread(
        {branch: entry for branch, entry in todo.entries.items() if branch in mine},
        spans=[(branch, span) for branch, span in todo.spans if branch in mine],
        restarted=todo.restarted & mine,
    )
    every = {**ledger, **part.entries}
    # On a cluster, the workers read and write.
    held = memory if place.is_local() and is_few(every[branch] for branch in mine) else None
    current = Current(session, store, base, held)
    layouts = kept(store, every.values())
    job = Job(session, store, current, every, codes, attempt.id, number, wanted.registry, layouts, held)

    def planned(entries: Mapping[str, BranchEntry]) -> tuple[Job, Plan]:
        known = job._replace(ledger={**ledger, **entries})
        return known, dirty_branches(
            base, known.ledger, tables, codes, mine, restarted=restarted, is_full=wanted.is_full
        )

    with sized(session, sum(every[branch].last_seq for branch in mine), is_held=held is not None), closing(current):
        entries, warnings = _read_and_make(job, part, planned, wanted, attempt)
    wanted.at("tables written")
    changes = Changes(current.changes, entries, touched=mine, checks=warnings, began_ms=began_ms)
    wanted.at("checked")
    return publish(store, base, changes, wanted.at)


def _read_and_make(
    job: Job,
    part: Unread,
    planned: Callable[[Mapping[str, BranchEntry]], tuple[Job, Plan]],
    wanted: Wanted,
    attempt: attempts.Attempt,
) -> tuple[dict[str, BranchEntry], list[CheckResult]]:
    """Reads new events and makes tables; returns the updated ledger entries, and the violated rules.

    `planned` returns the plan and the job for such entries.
    """
    if job.held is None or not part.spans:
        entries = read_bronze(job, part) if part.entries else {}
        wanted.at("bronze written")
        return entries, _make(*planned(entries), wanted, attempt)
    if wanted.is_first and is_unwritten(job, part.entries):
        # A page waits: parsing and writing all events takes longer than the tables that it waits for.
        _, plan = planned(part.entries)
        entries = hold(job, part, {kind for dirty in plan.tables for kind in dirty.table.kinds})
        job.current.being_written = EVENTS.name
        return entries, _make(*planned(entries), wanted, attempt)
    entries = hold(job, part)
    known, plan = planned(entries)
    job.current.being_written = EVENTS.name
    # Tables are made from memory while the events are being written.
    with ThreadPoolExecutor(1) as pool:
        bronze = pool.submit(read_bronze, job, part)
        warnings = _make(known, plan, wanted, attempt)
        entries = bronze.result()
    wanted.at("bronze written")
    return entries, warnings


def _note_gone(store: Store, base: Build | None, ledger: Mapping[str, BranchEntry], gone: set[str]) -> None:
    """Deleted recordings get the state `gone` and keep their rows until they are dropped."""
    noted = {
        branch: msgspec.structs.replace(ledger[branch], state="gone")
        for branch in gone & ledger.keys()
        if ledger[branch].state != "gone"
    }
    if noted:
        with attempts.attempted(store):
            publish(store, base, Changes(ledger=noted, touched=set(noted), began_ms=int(time.time() * 1_000)))


def _make(job: Job, plan: Plan, wanted: Wanted, attempt: attempts.Attempt) -> list[CheckResult]:
    """Makes the tables of a plan, each after those that it needs; several at a time where the driver has the work."""
    if job.held is None:
        return [warning for dirty in plan.tables for warning in _one(job, dirty, wanted, attempt)]
    waiting = {dirty.table.name: dirty for dirty in plan.tables}
    doing: dict[Future[list[CheckResult]], str] = {}
    made: dict[str, list[CheckResult]] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while waiting or doing:
            open_ = waiting.keys() | set(doing.values())
            for name in [name for name, dirty in waiting.items() if not open_ & set(dirty.table.needs)]:
                if len(doing) < AT_ONCE:
                    doing[pool.submit(_one, job, waiting.pop(name), wanted, attempt)] = name
            done, _ = wait(doing, return_when=FIRST_COMPLETED)
            for one in done:
                made[doing.pop(one)] = one.result()
    return [warning for dirty in plan.tables for warning in made[dirty.table.name]]


def _one(job: Job, dirty: Dirty, wanted: Wanted, attempt: attempts.Attempt) -> list[CheckResult]:
    if wanted.is_cancelled():
        raise CancelledError
    attempts.renew(job.store, attempt)
    return list(make_for_branches(job, dirty, wanted.say).warnings)


def _with(plan: Plan, todo: Unread) -> Plan:
    """A plan that also includes units with only new events."""
    return Plan([*plan.tables, Dirty(EVENTS, dict.fromkeys(todo.entries, 0))])
