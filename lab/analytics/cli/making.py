"""Verbs that change the tables: build, vacuum, pin, forget."""

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stderr, suppress
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth import get_user_model

from broker_core.texts import render
from lab.analytics.build.events import EVENTS, STORED
from lab.analytics.build.found import Found, recordings_at, with_ancestors
from lab.analytics.build.gone import erase_gone
from lab.analytics.build.log_run import WantedLogs, build_logs
from lab.analytics.build.logs import every_log, logs
from lab.analytics.build.people import forget, pseudonym
from lab.analytics.build.recordings import recordings
from lab.analytics.build.run import Outcome, Wanted, build
from lab.analytics.build.unit import Made
from lab.analytics.failures import explained
from lab.analytics.jvm import MORE_MEMORY, SparkError
from lab.analytics.limits import adopt, drop, kept, remove_old
from lab.analytics.session import Spark
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.erase import erase
from lab.analytics.store.objects import PlaceError, is_object_store
from lab.analytics.tables.registry import matching

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class AnalyticsError(Exception):
    """The request cannot be fulfilled; the message is for the user."""


def store_at(place: str | None = None) -> Store:
    """The tables of this lab, or those at another place."""
    return Store.at(place or str(settings.TABLES))


@contextmanager
def spark() -> "Iterator[Callable[[], SparkSession]]":
    """Starts Spark on demand, and stops it at the end. Ctrl-C raises KeyboardInterrupt, even if it comes during a call
    to the JVM. What py4j and PySpark report about that call is not printed.
    """
    started: list[Spark] = []
    interrupts: list[int] = []
    quiet = ExitStack()

    def interrupted(number: int, _: object) -> None:
        if not interrupts:
            quiet.enter_context(redirect_stderr(StringIO()))
            logging.disable()
            quiet.callback(logging.disable, logging.NOTSET)
        interrupts.append(number)
        raise KeyboardInterrupt

    def session() -> "SparkSession":
        if not started:
            settings.DATA.mkdir(parents=True, exist_ok=True)
            started.append(Spark.start(Path(settings.DATA) / "spark.log", *MORE_MEMORY, has_own_group=True))
            if is_main:
                # PySpark's handler calls the JVM, also in the middle of another call.
                signal.signal(signal.SIGINT, interrupted)
        return started[0].session

    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield session
    except Exception:
        if interrupts:
            # The interrupted call may fail in another way.
            raise KeyboardInterrupt from None
        raise
    finally:
        for one in started:
            with suppress(Exception) if interrupts else nullcontext():
                one.stop()
        quiet.close()
        if is_main:
            signal.signal(signal.SIGINT, handler)


def build_tables(
    runs: Sequence[str] | None,
    patterns: Sequence[str],
    say: Callable[[str], None],
    *,
    classes: Sequence[str] | None = None,
    is_full: bool,
    place: str | None,
    recorded_at: str | None = None,
) -> tuple[Outcome, float]:
    """Updates the tables from the recordings and logs, with a line for each table. With `runs` or `classes` only those
    are read; with `recorded_at` the recordings at that place instead of those of this lab. Returns the result and the
    elapsed seconds.

    Raises AnalyticsError for a run, a class or a table that does not exist.
    """
    if classes is not None and runs is None:
        runs = []
    every = recordings() if recorded_at is None else _recordings_at(recorded_at)
    fresh = every if recorded_at is not None else kept(every)
    chosen = fresh if runs is None else [one for one in every if one.entry.run in runs]
    if runs is not None and (unknown := sorted(set(runs) - {one.entry.run for one in every})):
        raise AnalyticsError(
            f"There is no recording of run {unknown[0]}. Expected the short name in the run's address."
        )
    is_all = runs is None and recorded_at is None
    found_logs = [] if classes is None and not is_all else logs(classes)
    if classes is not None and (unknown := sorted(set(classes) - {one.entry.class_ for one in found_logs})):
        raise AnalyticsError(f"There is no log of class {unknown[0]}. Expected the short name in the class's address.")
    began_s = last_s = time.monotonic()

    def table_done(made: Made) -> None:
        nonlocal last_s
        now_s = time.monotonic()
        say(f"{made.table.name:<28}{made.written.rows:>12,} rows {now_s - last_s:>8.1f} s")
        last_s = now_s

    names = [name for pattern in patterns for name in named(pattern) if name != EVENTS.name] if patterns else None
    with spark() as session:
        wanted = Wanted(with_ancestors(chosen, every), names, is_full=is_full, say=table_done)
        store = store_at(place)
        with _explained(place):
            outcome = build(session, store, wanted)
        if found_logs:
            erase_gone(store, found_logs, is_all=is_all)
            of_logs = WantedLogs(found_logs, names, is_full=is_full, say=table_done)
            with _explained(place):
                outcome = _both(outcome, build_logs(session, store, of_logs))
    if is_all and outcome.build is not None:
        adopt(store)
        read = {name for name, entry in outcome.build.ledger().items() if entry.unit == "branch"}
        gone = read - {one.entry.branch for one in fresh}
        if gone:
            # Their runs have been deleted, or are so old that tables do not keep them.
            drop(store, outcome.build, gone)
            outcome.gone |= gone
    return outcome, time.monotonic() - began_s


@contextmanager
def _explained(place: str | None) -> Iterator[None]:
    """Raises AnalyticsError for what fails within, while the JVM can still tell what it was."""
    try:
        yield
    except (SparkError, PlaceError):
        raise
    except Exception as error:
        refusal = explained(error, place or str(settings.TABLES), Path(settings.DATA) / "spark.log")
        raise AnalyticsError(" ".join(map(render, refusal.codes.values()))) from error


def expire(place: str | None) -> int:
    """Takes out of the tables what is older than HIGHWATER_TABLE_DAYS. Returns how many branches and logs went."""
    return remove_old(store_at(place), every_log())


def _recordings_at(place: str) -> list[Found]:
    found = recordings_at(place) if is_object_store(place) or Path(place).is_dir() else []
    if not found:
        raise AnalyticsError(
            f"There are no recordings at {place}. Expected RUN/BRANCH/recording below it, as in data/runs."
        )
    return found


def _both(one: Outcome, other: Outcome) -> Outcome:
    return Outcome(
        other.build, [*one.published, *other.published], one.events, [*one.held, *other.held], one.gone | other.gone
    )


def forget_person(name: str, place: str | None) -> int:
    """Permanently removes a person from all tables, including later builds. Returns the number of removed acts.

    Raises AnalyticsError for an unknown account.
    """
    user = get_user_model().objects.filter(username=name).first()
    if user is None:
        raise AnalyticsError(f"There is no account {name}. Expected the name that the person signs in with.")
    data = Path(settings.DATA)
    person = pseudonym(data, user.pk)
    forget(data, person)
    store = store_at(place)
    found = store.newest()
    return 0 if found is None else erase(store, found, {person})


def named(pattern: str) -> list[str]:
    """The tables that match a name or a pattern. Raises AnalyticsError."""
    try:
        return matching(pattern, STORED)
    except KeyError:
        raise AnalyticsError(f"There is no table {pattern}. `manage.py analytics tables` lists them.") from None


def newest(place: str | None = None) -> tuple[Store, Build]:
    """The newest build. Raises AnalyticsError if there is none."""
    store = store_at(place)
    found = store.newest()
    if found is None:
        raise AnalyticsError("There are no tables yet. `manage.py analytics build` makes them.")
    return store, found


def forget_run(run: str, place: str | None) -> int:
    """Removes a run from the tables; returns the number of its branches. Raises AnalyticsError."""
    store, found = newest(place)
    units = {branch for branch, entry in found.ledger().items() if entry.run == run}
    if not units:
        raise AnalyticsError(f"The tables know no run {run}. `manage.py analytics status` lists the runs.")
    drop(store, found, units)
    return len(units)
