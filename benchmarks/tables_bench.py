"""Tables of many recordings: what building them costs, what a new run adds, and what questions over all of them cost.
Prints JSON. CPU seconds are those of this process and of all below it.

    python -m benchmarks.tables_bench [--runs 100]

Each run has 100,000 events (`loads/recordings.py`). The JVM is the one of `manage.py analytics build`, and warm:
it has built the tables of one run before.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.ending import run
from devtools.processes import process_tree

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
django.setup()

from django.conf import settings  # noqa: E402

from benchmarks.loads import recordings  # noqa: E402  (needs the settings)
from lab.analytics.build.events import EVENTS  # noqa: E402
from lab.analytics.build.found import Found, recordings_at  # noqa: E402
from lab.analytics.build.run import Wanted, build  # noqa: E402
from lab.analytics.build.segments import appended, read  # noqa: E402
from lab.analytics.build.sizes import sized  # noqa: E402
from lab.analytics.jvm import MORE_MEMORY  # noqa: E402
from lab.analytics.serve.gold_reader import shown  # noqa: E402
from lab.analytics.session import Spark  # noqa: E402
from lab.analytics.store.builds import Build, Store, StoredFile  # noqa: E402
from lab.recordings.folder import branch_folder  # noqa: E402

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW = 10
"""Runs of the smaller side: a million events."""
ROUNDS = 5
ASKED_CHARTS = 60
#: Over silver tables, in SQL that Spark and DuckDB share but for the name of an exact percentile.
QUESTIONS = (
    """select branch, topic, partition, acks, count(*) as n, {percentile}(committed_us - at_us, 0.5) as p50,
    {percentile}(committed_us - at_us, 0.99) as p99 from {appends} group by branch, topic, partition, acks""",
    """select p.branch, p.topic, p.acks, count(*) as n, {percentile}(p.acknowledged_us - a.committed_us, 0.99) as p99
    from {produces} p join {appends} a on p.branch = a.branch and p.topic = a.topic and p.partition = a.partition
    and p.base_offset = a.base_offset group by p.branch, p.topic, p.acks""",
    """select branch, api, message, source, destination, count(*) as n, {percentile}(arrived_us - sent_us, 0.99) as p99
    from {rpcs} group by branch, api, message, source, destination""",
)
ASKED = ("appends", "produces", "rpcs")


def cpu_s() -> float:
    """CPU seconds of this process and of all that it started, those that have ended included."""
    return sum(each.cpu_s + each.waited_cpu_s for each in process_tree(os.getpid()))


def timed(do: Callable[[], object], cpu_s: Callable[[], float] = cpu_s) -> dict[str, float]:
    """What it took."""
    began_s, before_s = time.perf_counter(), cpu_s()
    do()
    return {"wall_s": round(time.perf_counter() - began_s, 3), "cpu_s": round(cpu_s() - before_s, 3)}


class Bench:
    """Builds of some runs in one warm JVM."""

    def __init__(self, spark: Spark, root: Path) -> None:
        self._spark, self._root = spark, root
        self._stores = 0

    def session(self) -> "SparkSession":
        """The session, for a build that has work to do."""
        return self._spark.session

    def store(self) -> Store:
        """A new place for tables."""
        self._stores += 1
        return Store.at(str(self._root / f"tables-{self._stores}"))

    def build(self, store: Store, found: Sequence[Found], tables: Sequence[str] | None = None) -> dict[str, float]:
        """What a build took; by default of all tables."""
        return timed(lambda: build(self.session, store, Wanted(found, tables)))

    def questions(self, store: Store) -> dict[str, Any]:
        """What the three questions took in Spark and in DuckDB: medians of rounds in turn."""
        files = {name: _newest(store).files(f"silver.{name}") for name in ASKED}
        events = sum(file.rows for file in _newest(store).files(EVENTS.name))
        for name, stored in files.items():
            paths = [store.files.for_spark(file.path) for file in stored]
            self.session().read.parquet(*paths).createOrReplaceTempView(name)
        of_spark = [text.format(percentile="percentile", **dict(zip(ASKED, ASKED, strict=True))) for text in QUESTIONS]
        lists = {name: f"read_parquet({[_parts(store, file) for file in stored]})" for name, stored in files.items()}
        of_duckdb = [text.format(percentile="quantile_cont", **lists) for text in QUESTIONS]

        def in_spark() -> list[int]:
            return [len(self.session().sql(text).toArrow()) for text in of_spark]

        def in_duckdb() -> list[int]:
            with duckdb.connect() as other:
                other.execute(f"set threads = {os.cpu_count()}")
                return [len(other.execute(text).fetchall()) for text in of_duckdb]

        with sized(self.session(), events):
            if (rows := in_spark()) != (others := in_duckdb()):
                raise SystemExit(f"the answers differ: {rows} and {others} rows")
            rounds = [(timed(in_spark), timed(in_duckdb, time.process_time)) for _ in range(ROUNDS)]
        ours, theirs = (
            {what: statistics.median(one[side][what] for one in rounds) for what in ("wall_s", "cpu_s")}
            for side in (0, 1)
        )
        return {"spark": ours, "duckdb": theirs, "cpu_by_duckdb": round(ours["cpu_s"] / theirs["cpu_s"], 2)}


def _parts(store: Store, file: StoredFile) -> str:
    """A file, or those of a folder, as DuckDB names them."""
    local = store.files.local(file.path)
    return f"{local}/*.parquet" if Path(local).is_dir() else local


def floor(found: Sequence[Found]) -> None:
    """Reads, sorts and writes events with pyarrow alone."""
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as folder:
        for number, one in enumerate(found):
            spans = appended(one.folder, (), (), 0, 0).spans
            batches = [batch for span in spans for batch in read(one.entry.branch, one.entry.run, 0, span)]
            events = pa.Table.from_batches(batches).sort_by([("kind", "ascending"), ("seq", "ascending")])
            pq.write_table(events, Path(folder) / f"{number}.parquet", compression="zstd")


def charts(runs: Path, names: Sequence[str], store: Store) -> float:
    """p95 of the seconds from a question of the page to all charts of a run, of one run after the other; from stored
    tables, without a JVM.
    """
    settings.TABLES = store.files.address
    took_s = []
    for _, name in zip(range(ASKED_CHARTS), cycle(names), strict=False):
        began_s = time.perf_counter()
        found = shown(branch_folder(name, "main", runs=runs), "en", internal=False)
        json.dumps([found.figures, found.bands])
        took_s.append(time.perf_counter() - began_s)
        if not found.figures:
            raise SystemExit(f"there are no charts of {name}")
    return statistics.quantiles(took_s, n=20)[-1]


def _newest(store: Store) -> Build:
    found = store.newest()
    if found is None:
        raise SystemExit("the build published nothing")
    return found


def _bytes(store: Store, *tables: str) -> int:
    newest = _newest(store)
    return sum(file.bytes for table in tables or newest.tables for file in newest.files(table))


def measure(bench: Bench, runs: Path, found: Sequence[Found]) -> dict[str, Any]:
    """The figures of all runs but the last, and what the last one, which then is new, adds to its tables."""
    old = found[:-1]
    only_events, store = bench.store(), bench.store()
    bronze = bench.build(only_events, old, ())
    by_floor = timed(lambda: floor(old))
    whole = bench.build(store, old)
    events = sum(entry.last_seq for entry in _newest(store).ledger().values())
    figures = {
        "events": events,
        "bronze": bronze,
        "bronze_events_per_cpu_s": round(events / bronze["cpu_s"]),
        "floor": by_floor,
        "bronze_by_floor": round(bronze["cpu_s"] / by_floor["cpu_s"], 2),
        "whole": whole,
        "whole_cpu_s_per_million": round(whole["cpu_s"] / events * 1e6, 2),
        "bronze_bytes_per_event": round(_bytes(store, EVENTS.name) / events, 1),
        "bytes_per_event": round(_bytes(store) / events, 1),
        "questions": bench.questions(store),
        "charts_p95_ms": round(charts(runs, [one.entry.run for one in old], store) * 1_000, 1),
    }
    more = bench.build(store, found)
    nothing = bench.build(store, found)
    return {
        **figures,
        "one_more": more,
        "one_more_part": round(more["cpu_s"] / whole["cpu_s"], 4),
        "nothing_new_s": nothing["wall_s"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    many = parser.parse_args().runs
    kept = recordings.kept(many + 1)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as name:
        root = Path(name)
        spark = Spark.start(root / "spark.log", *MORE_MEMORY)
        try:
            for side, count in (("warm", 1), ("few", min(FEW, many)), ("many", many)):
                runs = root / side
                recordings.link(kept[: count + 1], runs)
                bench = Bench(spark, root / f"tables-of-{side}")
                figures[side] = measure(bench, runs, recordings_at(str(runs)))
        finally:
            spark.stop()
    del figures["warm"]
    of_many, of_few = (figures[side]["whole_cpu_s_per_million"] for side in ("many", "few"))
    figures["many_by_few"] = round(of_many / of_few, 2)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    run(main)
