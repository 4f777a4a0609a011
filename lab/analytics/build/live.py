"""The tables of a class that goes on: made of its logs in memory, again and again, and stored nowhere.

The same functions make them as those of a build. A round costs less: it has one partition and no file, reads what logs
have added, and makes only tables of acts that are new. After the class a build stores them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from lab.analytics.build.acts import ROWS, Clock, FoundLog, clock_of, rows_of
from lab.analytics.build.current import no_rows
from lab.analytics.build.segments import news
from lab.analytics.store.ledger import ReadRange
from lab.analytics.tables import BRANCH_COLUMNS, Table, Tables
from lab.analytics.tables.registry import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STEPS = "gold.attempt_steps"
OF_LESSONS = (
    STEPS,
    "gold.item_statistics",
    "gold.misconceptions",
    "gold.mistake_groups",
    "gold.calibration",
)
"""Made of what learners did in lessons."""
OF_CLASS = ("gold.stuck_points",)
"""Made of what the class itself noted."""
LIVE = (*OF_LESSONS, *OF_CLASS)
_LESSON = r'"lesson":"(?P<lesson>[^"]*)"'
_STUCK = ("StuckBegan", "StuckEnded")
_SETTINGS = {
    # One partition and no table to send round: each query is one task.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.constraintPropagation.enabled": "false",
}


@dataclass
class _Log:
    """What has been read of a log."""

    people: Mapping[str, str]
    rooms: Mapping[str, str]
    ranges: tuple[ReadRange, ...] = ()
    last_seq: int = 0
    clock: Clock = field(default_factory=Clock)
    rows: pa.Table = field(default_factory=lambda: ROWS.empty_table())


class LiveClasses:
    """Classes that are looked at while they go on."""

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark
        self._logs: dict[str, dict[str, _Log]] = {}
        self._made_of: dict[str, dict[str, tuple[tuple[str, ...], int]]] = {}
        self._no_branches = no_rows(spark, dict(column.strip().split(" ") for column in BRANCH_COLUMNS.split(",")))

    def tables(self, classroom: str, found: Sequence[FoundLog]) -> dict[str, list[dict[str, Any]]]:
        """The rows of each table that has changed since it was last asked for.

        Args:
            classroom: its slug.
            found: its log and those of who took part. A log that is not named any more is forgotten.
        """
        known = self._logs.get(classroom, {})
        logs = {one.entry.branch: _read(one, known.get(one.entry.branch)) for one in found}
        self._logs[classroom] = logs
        acts = pa.concat_tables([ROWS.empty_table(), *(one.rows for one in logs.values())])
        lessons, stuck = _of_lessons(acts, classroom), acts.filter(pc.is_in(acts["kind"], pa.array(_STUCK)))
        made_of = dict.fromkeys(OF_LESSONS, (tuple(logs), lessons.num_rows))
        made_of |= dict.fromkeys(OF_CLASS, (tuple(logs), stuck.num_rows))
        before = self._made_of.get(classroom, {})
        wanted = [name for name in LIVE if made_of[name] != before.get(name)]
        if not wanted:
            return {}
        opened = acts.filter(pc.equal(acts["kind"], "ClassOpened"))
        with _settings(self._spark):
            made = self._make(pa.concat_tables([lessons, stuck, opened]), wanted, classroom)
        self._made_of[classroom] = made_of
        return made

    def _make(self, acts: pa.Table, wanted: Sequence[str], classroom: str) -> dict[str, list[dict[str, Any]]]:
        frames = {"bronze.acts": self._frame(acts)}
        frames["silver.acts"] = self._frame(self._rows(TABLES["silver.acts"], frames))
        found = {}
        for name in wanted:
            # Those who took part did other things, too.
            found[name] = self._rows(TABLES[name], frames, classroom)
            if name == STEPS:
                frames[name] = self._frame(found[name])
        return {name: rows.to_pylist() for name, rows in found.items()}

    def _rows(self, table: Table, frames: Mapping[str, "DataFrame"], classroom: str = "") -> pa.Table:
        given = Tables(table, {name: frames[name] for name in table.needs}, _no_events, self._no_branches)
        made = table.make(given)
        if classroom:
            made = made.where(F.col("class") == classroom)
        columns = (F.col(column.name).cast(column.type).alias(column.name) for column in table.columns)
        return made.select(*columns).toArrow()

    def _frame(self, rows: pa.Table) -> "DataFrame":
        # In one piece: Spark takes an empty one, of a log without acts, for the end of all.
        return self._spark.createDataFrame(rows.combine_chunks()).coalesce(1)


def _of_lessons(acts: pa.Table, classroom: str) -> pa.Table:
    """What learners did in the lessons of a class, outside of it, too: attempts are counted through all of it."""
    own = acts.filter(pc.is_null(acts["class_us"]))
    lessons = pc.struct_field(pc.extract_regex(own["payload"], _LESSON), "lesson")
    here = pc.unique(pc.filter(lessons, pc.equal(own["class"], classroom)))
    return own.filter(pc.is_in(lessons, pc.drop_null(here)))


def _read(found: FoundLog, known: _Log | None) -> _Log:
    """What a log holds now: what was known and what is new. From the beginning where it names others than before."""
    if known is None or known.people != found.people or known.rooms != found.rooms:
        known = _Log(found.people, found.rooms)
    try:
        new = news(found.folder, known.ranges, (), known.last_seq, 0)
        if new.is_rewritten:
            known = _Log(found.people, found.rooms)
            new = news(found.folder, (), (), 0, 0)
    except FileNotFoundError:
        return _Log(found.people, found.rooms)
    if not new.ranges:
        return known
    clock = known.clock if new.first is None else clock_of(new.first)
    rows, clock = rows_of(found, new.spans, clock)
    return _Log(
        found.people,
        found.rooms,
        (*known.ranges, *new.ranges),
        new.last_seq,
        clock,
        pa.concat_tables([known.rows, rows]),
    )


@contextmanager
def _settings(spark: "SparkSession") -> Iterator[None]:
    before = {name: str(spark.conf.get(name)) for name in _SETTINGS}
    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def _no_events(name: str) -> "DataFrame":
    raise KeyError(f"{name}: only tables of branches read events of runs")
