"""Verbs that change the tables: build, vacuum, pin, forget."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from lab.analytics.build.found import with_ancestors
from lab.analytics.build.recordings import recordings
from lab.analytics.build.run import Outcome, Wanted, build
from lab.analytics.build.unit import Made
from lab.analytics.session import Spark
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.publish import drop_units, publish
from lab.analytics.tables.registry import matching

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class AnalyticsError(Exception):
    """What was asked cannot be done: a sentence for whoever asked."""


def store_at(place: str | None = None) -> Store:
    """The tables of this lab, or those at another place."""
    return Store.at(place or str(settings.TABLES))


@contextmanager
def spark() -> "Iterator[Callable[[], SparkSession]]":
    """Starts Spark when it is asked for, and stops it at the end."""
    started: list[Spark] = []

    def session() -> "SparkSession":
        if not started:
            settings.DATA.mkdir(parents=True, exist_ok=True)
            started.append(Spark.start(Path(settings.DATA) / "spark.log"))
        return started[0].session

    try:
        yield session
    finally:
        for one in started:
            one.stop()


def build_tables(
    runs: Sequence[str] | None, patterns: Sequence[str], say: Callable[[str], None], *, is_full: bool, place: str | None
) -> tuple[Outcome, float]:
    """Brings the tables up to the recordings, a line for each table. Returns what was done and the seconds it took.

    Raises AnalyticsError for a run or a table that does not exist.
    """
    every = recordings()
    chosen = every if runs is None else [one for one in every if one.entry.run in runs]
    if runs is not None and (unknown := sorted(set(runs) - {one.entry.run for one in every})):
        raise AnalyticsError(
            f"There is no recording of run {unknown[0]}. Expected the short name in the run's address."
        )
    began_s = last_s = time.monotonic()

    def told(made: Made) -> None:
        nonlocal last_s
        now_s = time.monotonic()
        say(f"{made.table.name:<28}{made.written.rows:>12,} rows {now_s - last_s:>8.1f} s")
        last_s = now_s

    names = [name for pattern in patterns for name in named(pattern)]
    with spark() as session:
        wanted = Wanted(with_ancestors(chosen, every), names or None, is_full=is_full, say=told)
        store = store_at(place)
        outcome = build(session, store, wanted)
    if runs is None and outcome.build is not None:
        gone = set(outcome.build.ledger()) - {one.entry.branch for one in every}
        if gone:
            # Their runs have been deleted.
            _drop(store, outcome.build, gone)
            outcome.gone |= gone
    return outcome, time.monotonic() - began_s


def named(pattern: str) -> list[str]:
    """The tables that a name or a pattern stands for. Raises AnalyticsError."""
    try:
        return matching(pattern)
    except KeyError:
        raise AnalyticsError(f"There is no table {pattern}. `manage.py analytics tables` lists them.") from None


def newest(place: str | None = None) -> tuple[Store, Build]:
    """The newest build. Raises AnalyticsError before the first."""
    store = store_at(place)
    found = store.newest()
    if found is None:
        raise AnalyticsError("There are no tables yet. `manage.py analytics build` makes them.")
    return store, found


def forget_run(run: str, place: str | None) -> int:
    """Takes a run out of the tables; returns how many branches that were. Raises AnalyticsError."""
    store, found = newest(place)
    units = {branch for branch, entry in found.ledger().items() if entry.run == run}
    if not units:
        raise AnalyticsError(f"The tables know no run {run}. `manage.py analytics status` lists the runs.")
    _drop(store, found, units)
    return len(units)


def _drop(store: Store, found: Build, branches: set[str]) -> None:
    changes = drop_units(found, dict.fromkeys(found.tables, branches))
    changes.dropped |= branches
    publish(store, found, changes)
