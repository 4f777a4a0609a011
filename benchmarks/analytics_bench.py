"""From the click to the first chart, and to the last one, of a run of 100,000 events: with the worker, its JVM and
Spark still to be started (cold), started and warmed up as by the page (ahead), and running (warm); the memory of the
JVM after that; and a question in SQL about 1,700,000 messages. Prints JSON: medians, and the rounds that they are
of.

Each round begins without tables. The archive of Spark's classes, which a lab makes beside its first start, is made
before.
"""

import asyncio
import json
import math
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import django
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.ending import run
from devtools.processes import ProcessUse, process_tree

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
django.setup()

from benchmarks.loads.recordings import record  # noqa: E402
from lab.analytics.class_archive import make_class_archive  # noqa: E402  (needs the settings)
from lab.analytics.figures.stored import STAGES  # noqa: E402
from lab.analytics.jobs import Analyst, Job  # noqa: E402
from lab.analytics.orders import BuildTask  # noqa: E402
from lab.analytics.serve.sql_box import ask  # noqa: E402
from lab.analytics.serve.visible import EVERYTHING  # noqa: E402
from lab.analytics.store.builds import Store, StoredFile, TableState  # noqa: E402
from lab.analytics.store.ledger import BranchEntry  # noqa: E402
from lab.analytics.store.publish import Changes, TableChange, publish  # noqa: E402
from lab.analytics.tables.registry import TABLES  # noqa: E402
from lab.recordings.folder import BranchFolder, branch_folder  # noqa: E402

COLD_ROUNDS = 3
WARM_ROUNDS = 5
MESSAGES = 1_700_000
APIS = 20
QUESTION = "select api, count(*) as n, avg(sent_us) as sent_us from silver.rpcs group by api"
SQL_ROUNDS = 3


def start(analyst: Analyst) -> None:
    """Has the worker start Spark, as the page does before it asks for tables."""
    job = analyst.start()
    assert job is not None
    _until(job, lambda: job.is_over, time.perf_counter())
    if job.error:
        sys.exit(f"Spark did not start: {job.error}")


def jvm_mb() -> float:
    """The resident memory of the JVM below this process. One of an earlier round may end meanwhile."""
    found = [ProcessUse(each.pid).rss_mb() for each in process_tree(os.getpid()) if each.name == "java"]
    return round(sum(mib for mib in found if not math.isnan(mib)) * (1 << 20) / 1e6, 1)


def measure(analyst: Analyst, folder: BranchFolder, tables_at: Path) -> dict[str, float]:
    """Seconds from the click to the first chart and to all."""
    log = str(folder.recording / "events-0")
    task = BuildTask(str(tables_at), ((log, BranchEntry("bench/main", "bench", log)),), STAGES)
    began_s = time.perf_counter()
    job = analyst.build(folder, task)
    first_s = _until(job, lambda: job.published > 0, began_s)
    all_s = _until(job, lambda: job.is_over, began_s)
    if job.error:
        sys.exit(f"the analysis failed: {job.error}")
    return {"first_chart_s": round(first_s, 3), "all_charts_s": round(all_s, 3)}


def _until(job: Job, holds: Any, began_s: float) -> float:
    while not holds() and not job.is_over:
        time.sleep(0.005)
    return time.perf_counter() - began_s


def question(tables_at: Path) -> list[dict[str, float]]:
    """Seconds from the question to its answer, and CPU seconds of the process that gives it, in each round."""
    store, table = Store.at(str(tables_at)), TABLES["silver.rpcs"]
    path = tables_at / table.name / "messages.parquet"
    path.parent.mkdir(parents=True)
    apis = [f"Api{number}" for number in range(APIS)]
    # A generator that is the same everywhere: neither column is sorted.
    drawn = [number * 48_271 % 2_147_483_647 for number in range(MESSAGES)]
    columns = {"branch": ["b"] * MESSAGES, "api": [apis[one % APIS] for one in drawn], "sent_us": drawn}
    pq.write_table(pa.table(columns), path, compression="zstd")
    file = StoredFile(f"{table.name}/{path.name}", MESSAGES, path.stat().st_size, {"b": 1}, 1)
    state = TableState((), table.unit, table.key, table.sort, ())
    changes = Changes({table.name: TableChange(state, [file], set())}, {"b": BranchEntry("b", "r", "")})
    build = publish(store, None, changes)
    rounds = []
    for _ in range(SQL_ROUNDS):
        began_s, before_s = time.perf_counter(), _children_cpu_s()
        answer = asyncio.run(ask(store, build, QUESTION, EVERYTHING))
        rounds.append({"s": round(time.perf_counter() - began_s, 3), "cpu_s": round(_children_cpu_s() - before_s, 3)})
        if sum(row[1] for row in answer.rows) != MESSAGES:
            sys.exit(f"the answer is wrong: {answer.rows}")
    return rounds


def _children_cpu_s() -> float:
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def main() -> None:
    make_class_archive()
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as name:
        folder = branch_folder("bench", "main", runs=Path(name))
        last_seq = record(folder)
        analyst = Analyst(Path(name) / "spark.log")
        cold, ahead, warm = [], [], []
        for number in range(COLD_ROUNDS):
            analyst.stop()
            cold.append(measure(analyst, folder, Path(name) / f"cold-{number}"))
        for number in range(COLD_ROUNDS):
            analyst.stop()
            start(analyst)
            ahead.append(measure(analyst, folder, Path(name) / f"ahead-{number}"))
        for number in range(WARM_ROUNDS):
            warm.append(measure(analyst, folder, Path(name) / f"warm-{number}"))
        jvm = jvm_mb()
        analyst.stop()
        sql = question(Path(name) / "sql")
    found: dict[str, Any] = {"events": last_seq, "cold": cold, "ahead": ahead, "warm": warm, "jvm_mb": jvm, "sql": sql}
    for what in ("s", "cpu_s"):
        found[f"sql_{what}"] = statistics.median(one[what] for one in sql)
    for kind, rounds in (("cold", cold), ("ahead", ahead), ("warm", warm)):
        for what in ("first_chart_s", "all_charts_s"):
            found[f"{kind}_{what}"] = statistics.median(one[what] for one in rounds)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    run(main)
