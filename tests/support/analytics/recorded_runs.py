"""Runs of the core in memory, and all tables that are made of them: the events of several runs are several branches, so
that each table is made once for all.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from broker_core.events import Envelope
from broker_core.run import Run
from broker_core.shell.grammar.parser import is_background
from broker_core.shell.grammar.transcript import ready_line
from broker_core.view.fold import Fold
from broker_core.view.tree import View
from broker_core.zk.memory_store import MemoryStore
from devtools.sim.draw import draw
from lab.analytics.build.events import field_types
from lab.analytics.tables import BRANCH, BRANCH_COLUMNS, Tables
from lab.analytics.tables.registry import TABLES
from lab.management.commands import dump_log
from lab.recordings.folder import branch_folder
from lab.runtime.engine import begin_recording
from lab.runtime.headless.rehearsal import pageless_run, rehearsal_run
from tests.support.analytics.made_tables import frame, together

#: (console line, milliseconds of simulated time that follow)
Script = Sequence[tuple[str, int]]

_HEAD = {BRANCH: "int", "seq": "bigint", "at_us": "bigint", "node": "string", "cause_seq": "bigint"}


class RecordedRun:
    """The events of one run."""

    def __init__(self, script: Script, *, seed: int = 5, **config: Any) -> None:
        """`config`: of `rehearsal_run`."""
        run = rehearsal_run(seed, **config)
        for line, then_ms in script:
            run.submit(line)
            run.advance(run.now_us + 100_000 + then_ms * 1_000)
        self._keep(run, seed)

    @staticmethod
    def drawn(seed: int, era: str, most: int) -> "RecordedRun":
        """A random schedule of `devtools.sim`, until there are `most` events, and a second more."""
        schedule = draw(seed, era)
        run = pageless_run(schedule.config, MemoryStore())
        for line in (ready_line(schedule.brokers), *schedule.lines):
            number = run.submit(line)
            if not is_background(line):
                run.finish(number)
            if run.seq > most:
                break
        run.advance(run.now_us + 1_000_000)
        made = RecordedRun.__new__(RecordedRun)
        made._keep(run, seed)
        return made

    def _keep(self, run: Run, seed: int) -> None:
        self.seed, self.era = seed, run.view["run"]["era"]
        self._config = run.config
        self._made = run.take()
        self.envelopes: list[Envelope] = [envelope for envelope, _, _ in self._made]

    def dump(self, folder: Path) -> str:
        """What `kafka-dump-log.sh` prints of its recording, which is kept below `folder`."""
        recording = begin_recording(branch_folder("run", "main", runs=folder), self._config)
        recording.append_events(self._made)
        recording.close()
        out, err = io.StringIO(), io.StringIO()
        files = ",".join(map(str, sorted((recording.folder.recording / "events-0").glob("*.log"))))
        assert dump_log.run(["--deep-iteration", "--print-data-log", "--files", files], out, err) == 0, err.getvalue()
        return out.getvalue()

    @staticmethod
    def with_events(envelopes: list[Envelope]) -> "RecordedRun":
        """A run with these events alone."""
        made = RecordedRun.__new__(RecordedRun)
        made.seed, made.era, made.envelopes = 1, "3.9", envelopes
        return made

    @property
    def end_us(self) -> int:
        """When the last event was; 0 without one."""
        return self.envelopes[-1][1] if self.envelopes else 0

    def of(self, kind: type) -> list[tuple[int, int, Any]]:
        """The events of a kind with their seq and their time."""
        return [(seq, at_us, event) for seq, at_us, _, _, event in self.envelopes if type(event) is kind]

    def views(self) -> Iterator[tuple[int, int, View]]:
        """The view after each event, with the event's seq and time. It is one object that changes."""
        fold = Fold()
        for envelope in self.envelopes:
            fold.fold(envelope)
            yield envelope[0], envelope[1], fold.view


class MadeTables:
    """All tables of branches, made of runs: branch 0 is the first run, ...

    What is made once stays as plain rows, so that the plan of a table does not hold those of all that it needs.
    """

    def __init__(self, spark: SparkSession, runs: Sequence[RecordedRun]) -> None:
        # Its stubs do not know tables of Arrow.
        self._spark: Any = spark
        self.runs = runs
        self._made: dict[str, pa.Table] = {}
        self._rows: dict[str, dict[int, list[dict[str, Any]]]] = {}
        self._kinds: dict[str, DataFrame] = {}

    def rows(self, name: str, branch: int = 0) -> list[dict[str, Any]]:
        """The rows of a table for one run, in the table's order."""
        if name not in self._rows:
            # Read many times: Python's values are made of a table once.
            by_branch: dict[int, list[dict[str, Any]]] = {}
            for row in self._arrow(name).to_pylist():
                by_branch.setdefault(row[BRANCH], []).append(row)
            self._rows[name] = by_branch
        return self._rows[name].get(branch, [])

    def columns(self, name: str) -> list[str]:
        """The columns that the function of a table makes, of those that are declared."""
        return [column for column in self._arrow(name).column_names if column != BRANCH]

    def broken(self, name: str) -> list[str]:
        """The rules of a table that a row breaks."""
        checks = TABLES[name].checks
        if not checks:
            return []
        rows = self._frame(name)
        failed = [F.count(F.when(F.expr(f"not ({check.condition})"), 1)) for check in checks]
        counts = rows.agg(F.count("*"), *failed).collect()[0][1:]
        return [check.rule for check, count in zip(checks, counts, strict=True) if count]

    def _arrow(self, name: str) -> pa.Table:
        if name not in self._made:
            table = TABLES[name]
            columns = (F.col(column.name).cast(column.type).alias(column.name) for column in table.columns)
            made = table.make(self.given(name)).select(BRANCH, *columns)
            self._made[name] = made.orderBy(BRANCH, *table.sort).toArrow()
        return self._made[name]

    def given(self, name: str) -> Tables:
        """What the function of a table gets."""
        table = TABLES[name]
        frames: Mapping[str, DataFrame] = {need: self._frame(need) for need in table.needs}
        return Tables(table, frames, lambda *kinds: together(self._kind, kinds), self._branches)

    def _frame(self, name: str) -> DataFrame:
        return self._spark.createDataFrame(self._arrow(name), f"{BRANCH} int, {TABLES[name].schema}")

    @cached_property
    def _branches(self) -> DataFrame:
        return frame(
            self._spark,
            BRANCH_COLUMNS,
            [
                {
                    BRANCH: number, "run": "run", "branch": f"branch{number}", "parent_seq": 0,
                    "last_seq": len(run.envelopes), "last_at_us": run.end_us, "era": run.era, "seed": run.seed,
                    "brokers": 3,
                }
                for number, run in enumerate(self.runs)
            ],
        )  # fmt: skip

    @cached_property
    def _events(self) -> dict[str, list[list[Any]]]:
        """By kind: head and fields, those that are variants as JSON."""
        found: dict[str, list[list[Any]]] = {}
        for number, run in enumerate(self.runs):
            for envelope in run.envelopes:
                kind, *fields = msgspec.to_builtins(envelope[4])
                types = field_types(kind).values()
                values = [
                    msgspec.json.encode(value).decode() if type == "variant" else value
                    for value, type in zip(fields, types, strict=True)
                ]
                found.setdefault(kind, []).append([number, *envelope[:4], *values])
        return found

    def _kind(self, kind: str) -> DataFrame:
        if kind not in self._kinds:
            fields = field_types(kind)
            # A field hides a head column of its name.
            head = [name if name not in fields else f"_{name}" for name in _HEAD]
            types = [*_HEAD.values(), *("string" if type == "variant" else type for type in fields.values())]
            names = [*head, *fields]
            schema = StructType.fromDDL(", ".join(f"{name} {type}" for name, type in zip(names, types, strict=True)))
            columns = zip(*self._events[kind], strict=True) if kind in self._events else ((),) * len(names)
            arrow = pa.Table.from_arrays(
                [
                    pa.array(values, one.type)
                    for values, one in zip(columns, to_arrow_schema(cast(StructType, schema)), strict=True)
                ],
                names=names,
            )
            shown = (F.parse_json(name).alias(name) if fields.get(name) == "variant" else name for name in names)
            self._kinds[kind] = self._spark.createDataFrame(arrow, schema).select(*shown)
        return self._kinds[kind]
