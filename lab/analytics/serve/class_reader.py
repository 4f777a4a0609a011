"""What pages show of a class or a lesson, from rows of live rounds or from stored rows."""

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from lab.analytics.build.acts import FoundLog
from lab.analytics.build.segments import appended
from lab.analytics.figures import classes, lessons
from lab.analytics.figures.parts import Figure, Row, Stored, Words
from lab.analytics.figures.stored import figure_of
from lab.analytics.serve.gold_reader import of_newest
from lab.analytics.serve.heads import with_heads
from lab.analytics.serve.learning_reader import Scene, only_tags, prepared, shown_tags
from lab.analytics.store import csv_text
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.reading import rows
from lab.texts.refusal import Refusal

OF_CLASS: Mapping[str, Stored] = {one.name: one for one in classes.FIGURES}
OF_LESSON: Mapping[str, Stored] = {one.name: one for one in lessons.FIGURES}
OWN: Mapping[str, Stored] = {one.name: one for one in lessons.OWN}
STEPS, ACTS, GROUPS, TAGS = "gold.attempt_steps", "silver.acts", "gold.mistake_groups", "gold.misconceptions"
CLASS_TABLES = tuple(dict.fromkeys(one.table for one in OF_CLASS.values()))
LESSON_TABLES = tuple(dict.fromkeys(one.table for one in OF_LESSON.values()))
OWN_TABLES = (STEPS,)
ALL = "all"
"""The unit of tables over all learners."""

Tables = Mapping[str, Sequence[Row]]


class StoredRows(NamedTuple):
    """Rows of a class or a lesson by table, up to `as_of_ms` of wall time (0: none); for a class also its clock."""

    tables: Tables
    as_of_ms: int = 0
    clock: Sequence[tuple[int, int]] = ()


def figures_of(which: Mapping[str, Stored], tables: Tables, scene: Scene) -> dict[str, Figure]:
    """The charts that have something to draw."""
    words, found = Words(scene.language), {}
    for name, stored in which.items():
        figure = figure_of(stored, ready(stored, tables, scene), words, internal=True)
        if figure is not None:
            found[name] = with_heads(figure, stored, scene.language)
    return found


def ready(stored: Stored, tables: Tables, scene: Scene) -> list[Row]:
    """The rows of a chart, as drawn and listed."""
    own = tables.get(stored.table, ())
    if stored.table == GROUPS:
        own = only_tags(own, shown_tags(tables.get(TAGS, ())))
    return prepared(stored.name, own, scene)


def csv_of(which: Mapping[str, Stored], name: str, tables: Tables, scene: Scene) -> str:
    """All rows of a chart's table as CSV. Raises Refusal (404) for an unknown chart."""
    stored = which.get(name)
    if stored is None:
        raise Refusal("refusal.no_chart", 404, chart=name[:40], charts=", ".join(which))
    found = ([row.get(column) for column in stored.columns] for row in ready(stored, tables, scene))
    return csv_text.csv_of(stored.columns, found)


def stored_class(slug: str, people: Collection[str]) -> StoredRows:
    """The stored rows of a class.

    Args:
        slug: the class.
        people: pseudonyms of the participants.
    """
    return of_newest(lambda store, build: _class(store, build, slug, people)) or StoredRows({})


def _class(store: Store, build: Build, slug: str, people: Collection[str]) -> StoredRows:
    logs = {f"learner:{one}" for one in people}
    found = {name: _rows(store, build, name, {slug}) for name in CLASS_TABLES if name != STEPS}
    found[STEPS] = [row for row in _rows(store, build, STEPS, logs) if row["class"] == slug]
    own = _rows(store, build, ACTS, {f"class:{slug}"}, ("at_ms", "class_us"))
    clock = sorted({(row["at_ms"], row["class_us"]) for row in own if row["class_us"] is not None})
    done_ms = [row["reached_ms"] or row["began_ms"] for row in found[STEPS]]
    return StoredRows(found, max([*done_ms, *(at_ms for at_ms, _ in clock)], default=0), clock)


def stored_lesson(lesson: str) -> StoredRows:
    """The stored rows of a lesson for all learners."""
    return of_newest(lambda store, build: _lesson(store, build, lesson)) or StoredRows({})


def _lesson(store: Store, build: Build, lesson: str) -> StoredRows:
    found = {
        name: [row for row in _rows(store, build, name, None) if row["lesson"] == lesson] for name in LESSON_TABLES
    }
    return StoredRows(found, build.file.began_ms)


def stored_own(person: str, lesson: str) -> StoredRows:
    """The stored rows of one learner in a lesson."""
    return of_newest(lambda store, build: _own(store, build, person, lesson)) or StoredRows({})


def _own(store: Store, build: Build, person: str, lesson: str) -> StoredRows:
    found = [row for row in _rows(store, build, STEPS, {f"learner:{person}"}) if row["lesson"] == lesson]
    return StoredRows({STEPS: found}, max((row["reached_ms"] or row["began_ms"] for row in found), default=0))


def instant_of(clock: Sequence[tuple[int, int]], at_ms: int | None) -> int | None:
    """The instant of a class, in microseconds, at an instant of wall time.

    Args:
        clock: pairs of both, in order.
        at_ms: wall time.
    """
    if at_ms is None or not clock:
        return None
    place = max(0, bisect_right(clock, (at_ms, 2**62)) - 1)
    wall_ms, class_us = clock[place]
    return max(0, class_us + (at_ms - wall_ms) * 1_000)


def is_behind(found: Sequence[FoundLog], tables: Collection[str], unit: str) -> bool:
    """Whether logs have records that the tables of a unit do not include. Reads only new records.

    Args:
        found: the logs that the unit is made from.
        tables: all tables of this unit.
        unit: a class, `all`, or the name of a log.
    """
    return of_newest(lambda store, build: _is_behind(build, found, tables, unit)) in (None, True)


def _is_behind(build: Build, found: Sequence[FoundLog], tables: Collection[str], unit: str) -> bool:
    ledger = build.ledger()
    logs = {name: entry.last_seq for name, entry in ledger.items() if entry.unit == "log"}
    # The same rule as in `lab.analytics.build.plan.dirty_logs`.
    made_of = sum(logs.values()) if unit == ALL else sum(logs.get(one.entry.branch, 0) for one in found)
    if any(build.made_to(table).get(unit) != made_of for table in tables):
        return True
    return any(_has_news(one, ledger.get(one.entry.branch)) for one in found)


def _has_news(found: FoundLog, entry: BranchEntry | None) -> bool:
    if entry is None:
        return True
    try:
        new = appended(found.folder, entry.ranges, entry.damage, entry.last_seq, 0)
    except FileNotFoundError:
        return False
    # A class log that was replaced with its recording has fewer events, which changes nothing.
    return bool(new.ranges) or (new.is_rewritten and bool(found.entry.learner))


def _rows(
    store: Store, build: Build, table: str, units: Collection[str] | None, columns: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    if table not in build.tables:
        return []
    found = rows(store, build, table, units, columns)
    listed: list[dict[str, Any]] = [] if found is None else found.to_pylist()
    return listed
