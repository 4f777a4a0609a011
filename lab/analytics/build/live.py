"""The tables of a live class: made from its logs in memory, repeatedly, and not stored.

They are made by the same functions as in a build. A round is cheaper: its queries are planned already, it reads only
new log records, and makes only tables with new acts. After the class a build stores them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lab.analytics.build.acts import ROWS, Clock, FoundLog, clock_of, rows_of
from lab.analytics.build.segments import appended
from lab.analytics.standing import StandingQueries
from lab.analytics.store.ledger import ReadRange
from lab.analytics.tables.registry import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS = "gold.attempt_steps"
ITEMS = "gold.item_statistics"
OF_ANSWERS = ("gold.misconceptions", "gold.mistake_groups", "gold.calibration")
"""Tables made from answers, wrong states and the number of learners."""
OF_CLASS = ("gold.stuck_points",)
"""Tables made from the class's own events."""
LIVE = (STEPS, ITEMS, *OF_ANSWERS, *OF_CLASS)
_ANSWERED = ("PredictionSettled", "AnswerGiven", "TransferAnswered", "WrongStateShown")
_STUCK = ("StuckBegan", "StuckEnded")
_NOTED = (*_STUCK, "ClassOpened", "LessonBegan")
ACTS = "silver.acts"


@dataclass
class _Log:
    """The part of a log that has been read."""

    people: Mapping[str, str]
    rooms: Mapping[str, str]
    ranges: tuple[ReadRange, ...] = ()
    last_seq: int = 0
    clock: Clock = field(default_factory=Clock)
    fresh: pa.Table = field(default_factory=lambda: ROWS.empty_table())
    """The acts that the last round added."""
    is_restarted: bool = True
    """Whether `fresh` is the whole log."""


@dataclass
class _Class:
    """The state of a class: its logs, the acts and steps of learners, and the class's own events."""

    logs: dict[str, _Log] = field(default_factory=dict)
    acts: pa.Table | None = None
    steps: pa.Table | None = None
    noted: pa.Table = field(default_factory=lambda: ROWS.empty_table())
    people: int = 0
    """How many learners have done something in it."""


class LiveClasses:
    """Classes that are viewed while they are live."""

    def __init__(self, spark: "SparkSession") -> None:
        self.queries = StandingQueries(spark)
        self._classes: dict[str, _Class] = {}

    def tables(self, classroom: str, found: Sequence[FoundLog]) -> dict[str, list[dict[str, Any]]]:
        """The rows of each table that has changed since it was last asked for.

        Args:
            classroom: its slug.
            found: its log and those of its participants. A log that is no longer listed is dropped.
        """
        known = self._classes.pop(classroom, _Class())
        logs = {one.entry.branch: _read(one, known.logs.get(one.entry.branch)) for one in found}
        own = {one.entry.branch for one in found if one.entry.learner}
        gone = {name for name in known.logs if name not in logs}
        changed = gone | {name for name in own if logs[name].is_restarted or logs[name].fresh.num_rows}
        noted, is_noted = _noted(known, [log for name, log in logs.items() if name not in own])
        now = _Class(logs, known.acts, known.steps, noted, known.people)
        made: dict[str, pa.Table] = {}
        try:
            if changed or is_noted:
                fresh = [logs[name].fresh for name in sorted(changed - gone)]
                # One query for both.
                acts = self._silver(pa.concat_tables([ROWS.empty_table(), *fresh, *((noted,) if is_noted else ())]))
                is_own = pc.is_null(acts["class_us"])
                if changed:
                    learnt = acts.filter(is_own)
                    self._learn(now, learnt, changed, gone, classroom)
                    made = self._of_lessons(now, learnt, classroom)
                if is_noted:
                    self.queries.give("noted", acts.filter(pc.invert(is_own)))
                    made |= {name: self._rows(name, classroom, {ACTS: "noted"}) for name in OF_CLASS}
        finally:
            self.queries.forget()
        # After a failure the next round starts from the beginning.
        self._classes[classroom] = now
        return {name: rows.to_pylist() for name, rows in made.items()}

    def _learn(self, now: _Class, acts: pa.Table, changed: set[str], gone: set[str], classroom: str) -> None:
        """Adds new acts of learners, and updates the steps of these learners."""
        restarted = gone | {name for name in changed - gone if now.logs[name].is_restarted}
        now.acts = acts if now.acts is None else pa.concat_tables([_without(now.acts, restarted), acts])
        theirs = now.acts.filter(pc.is_in(now.acts["log"], pa.array(sorted(changed), pa.string())))
        here = pc.unique(pc.filter(theirs["lesson"], pc.equal(theirs["class"], classroom)))
        # Attempts at a lesson are counted over all work in it, including outside the class.
        self.queries.give("changed", theirs.filter(pc.is_in(theirs["lesson"], pc.drop_null(here))))
        steps = self._rows(STEPS, classroom, {ACTS: "changed"})
        now.steps = steps if now.steps is None else pa.concat_tables([_without(now.steps, changed), steps])

    def _of_lessons(self, now: _Class, newest: pa.Table, classroom: str) -> dict[str, pa.Table]:
        """The tables of learners' acts; those of answers only if the newest acts include answers."""
        assert now.acts is not None and now.steps is not None
        in_class = now.acts.filter(pc.equal(now.acts["class"], classroom))
        people = pc.count_distinct(in_class["learner"]).as_py()
        is_answered = pc.any(pc.is_in(newest["kind"], pa.array(_ANSWERED))).as_py() or people != now.people
        now.people = people
        self.queries.give("steps", now.steps)
        wanted = [ITEMS]
        if is_answered:
            self.queries.give("acts", in_class)
            wanted += OF_ANSWERS
        rows = {name: self._rows(name, classroom, {ACTS: "acts", STEPS: "steps"}) for name in wanted}
        return {STEPS: now.steps, **rows}

    def _silver(self, acts: pa.Table) -> pa.Table:
        self.queries.give("fresh", acts)
        return self.queries.rows(TABLES[ACTS], {"bronze.acts": "fresh"})

    def _rows(self, table: str, classroom: str, sets: Mapping[str, str]) -> pa.Table:
        """The rows of a table for a class."""
        rows = self.queries.rows(TABLES[table], sets)
        return rows.filter(pc.equal(rows["class"], classroom))


def _without(table: pa.Table, logs: set[str]) -> pa.Table:
    return table.filter(pc.invert(pc.is_in(table["log"], pa.array(sorted(logs), pa.string())))) if logs else table


def _noted(known: _Class, logs: Sequence[_Log]) -> tuple[pa.Table, bool]:
    """The relevant contents of the class's own log, and whether they have changed."""
    if any(log.is_restarted for log in logs):
        known.noted = ROWS.empty_table()
    rows = pa.concat_tables([ROWS.empty_table(), *(log.fresh for log in logs)])
    fresh = rows.filter(pc.is_in(rows["kind"], pa.array(_NOTED)))
    is_new = any(log.is_restarted for log in logs) or pc.any(pc.is_in(fresh["kind"], pa.array(_STUCK))).as_py()
    return pa.concat_tables([known.noted, fresh]), bool(is_new)


def _read(found: FoundLog, known: _Log | None) -> _Log:
    """The current contents of a log: known and new records. Read from the start if its people have changed."""
    is_restarted = known is None or known.people != found.people or known.rooms != found.rooms
    before = _Log(found.people, found.rooms) if known is None or is_restarted else known
    try:
        new = appended(found.folder, before.ranges, (), before.last_seq, 0)
        if new.is_rewritten:
            before, is_restarted = _Log(found.people, found.rooms), True
            new = appended(found.folder, (), (), 0, 0)
    except FileNotFoundError:
        return _Log(found.people, found.rooms)
    clock = before.clock if new.first is None else clock_of(new.first)
    rows, clock = rows_of(found, new.spans, clock)
    ranges = (*before.ranges, *new.ranges)
    return _Log(found.people, found.rooms, ranges, max(before.last_seq, new.last_seq), clock, rows, is_restarted)
