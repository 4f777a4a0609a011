"""The process that Spark runs in: orders come in, reports go out (orders.py).

It ends when its standard input does, and the JVM with it.
"""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from lab.analytics.jvm import SparkError, start_gateway
from lab.analytics.orders import CHARTS, BuildTask, Order, Report

if TYPE_CHECKING:
    from lab.analytics.session import Spark

STARTED = 0.3
"""How much of a job's progress is starting Spark."""
POLL_S = 0.25


class Worker:
    """Does one task after the other; Spark starts with the first one, and a process starts it once."""

    def __init__(self, log: Path, out: BinaryIO) -> None:
        self._log = log
        self._out = out
        self._lock = threading.Lock()
        self._spark: Spark | None = None

    def do(self, order: Order) -> bool:
        """One task, from its first report to its last. Says whether another one can follow: without Spark none can."""
        try:
            if self._spark is None:
                self._say(Report(order.job, stage="start", progress=0.02))
                self._spark = _start_spark(self._log)
            self._run(order, self._spark)
        except SparkError as error:
            self._say(Report(order.job, error=error.codes))
        except Exception as error:
            self._say(Report(order.job, error=self._failed(error)))
        return self._spark is not None and self._spark.is_alive

    def stop(self) -> None:
        """Ends Spark."""
        if self._spark is not None:
            self._spark.stop()

    def _run(self, order: Order, spark: "Spark") -> None:
        if isinstance(order.task, BuildTask):
            self._build(order.job, order.task, spark)
            return
        from lab.analytics.pipeline import run

        share = (1 - STARTED) / len(CHARTS)
        watched = _Watched(spark, lambda stage, progress: self._say(Report(order.job, stage=stage, progress=progress)))
        watched.now("read", STARTED, share)
        try:
            for place, (name, rows) in enumerate(run(spark.session, order.task), 1):
                self._say(Report(order.job, chart=name, rows=rows))
                if place < len(CHARTS):
                    watched.now("charts", STARTED + place * share, share)
        finally:
            watched.end()
        self._say(Report(order.job, stage="done", progress=1.0, done=True))

    def _build(self, job: str, task: BuildTask, spark: "Spark") -> None:
        """Brings the tables up to some recordings, telling each table that is made."""
        from lab.analytics.build.found import Found
        from lab.analytics.build.run import Wanted, build
        from lab.analytics.store.builds import Store
        from lab.analytics.tables.registry import TABLES

        made = 0

        def told(_: object) -> None:
            nonlocal made
            made += 1
            progress = STARTED + (1 - STARTED) * min(1.0, made / len(TABLES))
            self._say(Report(job, stage="tables", progress=progress))

        self._say(Report(job, stage="read", progress=STARTED))
        found = [Found(Path(folder), entry) for folder, entry in task.found]
        outcome = build(lambda: spark.session, Store.at(task.tables_at), Wanted(found, say=told))
        for result in outcome.held:
            problem = f"{result.table}: {result.rule} does not hold in {result.failed} of {result.rows} rows"
            raise SparkError("refusal.analysis_failed", problem=problem, log=str(self._log))
        self._say(Report(job, stage="done", progress=1.0, done=True))

    def _say(self, report: Report) -> None:
        with self._lock:
            self._out.write(msgspec.json.encode(report) + b"\n")
            self._out.flush()

    def _failed(self, error: Exception) -> dict[str, str]:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return SparkError("refusal.analysis_failed", problem=first, log=str(self._log)).codes


def _start_spark(log: Path) -> "Spark":
    """Importing Spark's Python side takes as long as its JVM takes to listen: both at once. Most of that is pandas,
    which Spark wants to be there for `mapInArrow`, though nothing here asks it for anything.
    """
    with ThreadPoolExecutor(1) as pool:
        gateway = pool.submit(start_gateway, log)
        from lab.analytics import pipeline, session  # noqa: F401  (the pipeline for `_run`)

        import_module("pandas")
    return session.Spark(gateway.result(), log)


class _Watched:
    """Tells how far Spark's running stages are, a few times a second."""

    def __init__(self, spark: "Spark", say: Callable[[str, float], None]) -> None:
        self._tracker = spark.session.sparkContext.statusTracker()
        self._say = say
        self._ended = threading.Event()
        self._stage, self._from, self._share = "", 0.0, 0.0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def now(self, stage: str, progress: float, share: float) -> None:
        """A stage begins at `progress`; all of it is worth `share`."""
        self._stage, self._from, self._share = stage, progress, share
        self._say(stage, progress)

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(POLL_S):
            stages = [self._tracker.getStageInfo(stage) for stage in self._tracker.getActiveStageIds()]
            tasks = sum(stage.numTasks for stage in stages if stage)
            completed = sum(stage.numCompletedTasks for stage in stages if stage)
            if completed:
                self._say(self._stage, self._from + self._share * completed / tasks)


def main() -> None:
    """Serves the process that started this one. Argument: the file for what Spark says."""
    # Whatever prints must not get between the reports.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    worker = Worker(Path(sys.argv[1]), out)
    decode = msgspec.json.Decoder(Order).decode
    try:
        for line in sys.stdin.buffer:
            if not worker.do(decode(line)):
                break
    finally:
        worker.stop()


if __name__ == "__main__":
    main()
