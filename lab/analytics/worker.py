"""The process that runs Spark: reads orders, writes reports (orders.py).

It ends when its standard input is closed, and so does the JVM.
"""

import contextlib
import gc
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from lab.analytics import place
from lab.analytics.failures import explained
from lab.analytics.jvm import SparkError, start_gateway
from lab.analytics.orders import BuildTask, Cancel, LiveTask, LogOrder, LogsTask, Order, Report, StartTask
from lab.runtime.processes import standard_input

if TYPE_CHECKING:
    from lab.analytics.build.acts import FoundLog
    from lab.analytics.build.live import LiveClasses
    from lab.analytics.session import Spark
    from lab.analytics.store.builds import CheckResult

STARTED = 0.3
"""How much of a job's progress is starting Spark."""
FREE_AFTER_S = 10.0
"""How long after a task its memory is returned: longer than the pause between two looks at a live class."""
FREE_TIMES = 3
"""Spark notices by one collection what it can remove before the next one."""


class Worker:
    """Runs one task after the other; Spark is started with the first one, once per process."""

    def __init__(self, log: Path, out: BinaryIO) -> None:
        self._log = log
        self._out = out
        self._lock = threading.Lock()
        self._spark: Spark | None = None
        self._live: LiveClasses | None = None
        self._looked_from_s: float | None = None
        """The CPU seconds used before the current look at a live class."""
        self._cancelled: set[str] = set()
        """Jobs that have been cancelled."""
        self._doing = ""
        self._is_warming = False

    def cancel(self, job: str) -> None:
        """Cancels a job from any thread: interrupts Spark, and makes no further table. Warming up is not interrupted: a
        table that is being made is one that the next job will profit from.
        """
        # The lock is held until Spark is interrupted, so that this is the job, and not the next one.
        with self._lock:
            self._cancelled.add(job)
            if self._doing == job and self._spark is not None and not self._is_warming:
                # Without a running session there is nothing to interrupt.
                with contextlib.suppress(Exception):
                    self._spark.session.interruptAll()

    def do(self, order: Order) -> bool:
        """Runs one task, from its first report to its last. Returns whether another task can follow: not if Spark did
        not start, or has ended.
        """
        can_follow = False
        self._looked_from_s = None
        with self._lock:
            self._doing, self._is_warming = order.job, isinstance(order.task, StartTask)
        try:
            self._do(order)
        except Exception as error:
            if order.job in self._cancelled:
                # Perhaps before Spark was started.
                can_follow = self._spark is None
                self._say(Report(order.job, cancelled=True, cpu_s=self._used_s()))
            else:
                at = getattr(order.task, "tables_at", "")
                self._say(Report(order.job, error=explained(error, at, self._log).codes, cpu_s=self._used_s()))
        with self._lock:
            self._doing = ""
            self._cancelled.discard(order.job)
        return can_follow or (self._spark is not None and self._spark.is_alive)

    def _do(self, order: Order) -> None:
        """Runs one task. Raises CancelledError if it was cancelled."""
        self._insist_on_wanted(order.job)
        if self._spark is None:
            self._say(Report(order.job, stage="start", progress=0.02))
            self._spark = _start_spark(self._log)
        self._insist_on_wanted(order.job)
        match order.task:
            case StartTask():
                self._warm(order.job, self._spark)
            case BuildTask():
                self._build(order.job, order.task, self._spark)
            case LogsTask():
                self._build_logs(order.job, order.task, self._spark)
            case LiveTask():
                self._look(order.job, order.task, self._spark)

    def _insist_on_wanted(self, job: str) -> None:
        if job in self._cancelled:
            from lab.analytics.build.run import CancelledError

            raise CancelledError

    def _is_cancelled(self, job: str) -> Callable[[], bool]:
        return lambda: job in self._cancelled

    def free(self) -> None:
        """Returns memory of finished tasks to the system: Python's objects keep their counterparts in the JVM."""
        gc.collect()
        if self._spark is not None:
            self._spark.free()

    def stop(self) -> None:
        """Ends Spark."""
        if self._spark is not None:
            self._spark.stop()

    def _warm(self, job: str, spark: "Spark") -> None:
        """Runs once what the first charts of a run need."""
        from lab.analytics.warm import warm

        self._say(Report(job, stage="start", progress=STARTED))
        warm(spark.session, self._is_cancelled(job))
        self._say(Report(job, stage="done", progress=1.0, done=True))

    def _build(self, job: str, task: BuildTask, spark: "Spark") -> None:
        """Updates the tables from recordings, reporting each table."""
        from lab.analytics.build.found import Found
        from lab.analytics.build.held import Held
        from lab.analytics.build.run import Wanted, build
        from lab.analytics.store.builds import Store
        from lab.analytics.store.objects import folder_at
        from lab.analytics.tables.registry import TABLES

        table_done = self._counter(job, sum(table.unit == "branch" for table in TABLES.values()))
        found = [Found(folder_at(folder), entry) for folder, entry in task.found]
        store = Store.at(task.tables_at)
        published = 0
        broken: list[CheckResult] = []
        held = Held()
        for stage, tables in enumerate(task.stages, 1):
            wanted = Wanted(
                found, tables or None, say=table_done, held=held, is_cancelled=self._is_cancelled(job),
                is_first=stage == 1 and len(task.stages) > 1,
            )  # fmt: skip
            outcome = build(lambda: spark.session, store, wanted)
            broken, published = outcome.held, published + len(outcome.published)
            self._say(Report(job, stage="tables", published=published))
        if published:
            # All charts are published. What this build leaves behind would otherwise be kept beside the next one's.
            self.free()
        for result in broken:
            problem = f"{result.table}: {result.rule} does not hold in {result.failed} of {result.rows} rows"
            raise SparkError("refusal.analysis_failed", problem=problem, log=str(self._log))
        self._say(Report(job, stage="done", progress=1.0, done=True))

    def _build_logs(self, job: str, task: LogsTask, spark: "Spark") -> None:
        """Removes people who have left, and updates the tables of learning from logs."""
        from lab.analytics.build.gone import erase_gone
        from lab.analytics.build.log_run import WantedLogs, build_logs
        from lab.analytics.store.builds import Store
        from lab.analytics.tables.registry import upstream

        table_done = self._counter(job, len(upstream(task.tables)))
        found = [_found_log(one) for one in task.found]
        store = Store.at(task.tables_at)
        erase_gone(store, found, is_all=False)
        wanted = WantedLogs(found, task.tables, say=table_done, is_cancelled=self._is_cancelled(job))
        build_logs(lambda: spark.session, store, wanted)
        self._say(Report(job, stage="done", progress=1.0, done=True))

    def _look(self, job: str, task: LiveTask, spark: "Spark") -> None:
        """Makes the tables of a live class from what has changed since the last time."""
        from lab.analytics.build.live import LiveClasses

        self._looked_from_s = spark.cpu_s()
        if self._live is None:
            self._live = LiveClasses(spark.session)
        found = [_found_log(one) for one in task.found]
        tables = self._live.tables(task.classroom, found)
        self._say(Report(job, stage="done", progress=1.0, done=True, tables=tables, cpu_s=self._used_s()))

    def _used_s(self) -> float:
        """The CPU seconds that a look at a live class has used; 0 if that is not known, as when the JVM has ended."""
        if self._looked_from_s is None or self._spark is None or not self._spark.is_alive:
            return 0.0
        return self._spark.cpu_s() - self._looked_from_s

    def _counter(self, job: str, count: int) -> Callable[[object], None]:
        """Reports how many of `count` tables have been made, after each."""
        made = 0

        def table_done(_: object) -> None:
            nonlocal made
            made += 1
            progress = STARTED + (1 - STARTED) * min(1.0, made / count)
            self._say(Report(job, stage="tables", progress=progress))

        self._say(Report(job, stage="read", progress=STARTED))
        return table_done

    def _say(self, report: Report) -> None:
        with self._lock:
            self._out.write(msgspec.json.encode(report) + b"\n")
            self._out.flush()


def _found_log(order: LogOrder) -> "FoundLog":
    from lab.analytics.build.acts import FoundLog

    return FoundLog(Path(order.folder), order.entry, order.people, order.rooms)


def _start_spark(log: Path) -> "Spark":
    """Importing Spark's Python side takes as long as starting its JVM, so both run concurrently. Most of the import is
    pandas, which Spark requires for `mapInArrow` although it is not used here.
    """
    if not place.is_local():
        from lab.analytics import session

        return session.Spark.start(log)
    with ThreadPoolExecutor(1) as pool:
        gateway = pool.submit(start_gateway, log)
        from lab.analytics import session
        from lab.analytics.build import run  # noqa: F401  (for `_build`)

        import_module("pandas")
    return session.Spark(log, gateway.result())


def main() -> None:
    """Serves the parent process. Argument: the file for Spark's output."""
    # Other output must not mix with the reports.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    worker = Worker(Path(sys.argv[1]), out)
    orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(worker, orders), daemon=True, name="orders").start()
    try:
        while (order := _next(orders, worker)) is not None:
            if not worker.do(order):
                break
    finally:
        worker.stop()


def _next(orders: "queue.SimpleQueue[Order | None]", worker: Worker) -> Order | None:
    """The next order, None at the end. While there is none, memory is returned."""
    for _ in range(FREE_TIMES):
        try:
            return orders.get(timeout=FREE_AFTER_S)
        except queue.Empty:
            worker.free()
    return orders.get()


def _listen(worker: Worker, orders: "queue.SimpleQueue[Order | None]") -> None:
    """Queues orders; cancellations are processed at once."""
    decode = msgspec.json.Decoder(Order | Cancel).decode
    for line in _lines():
        match decode(line):
            case Cancel(job):
                worker.cancel(job)
            case order:
                orders.put(order)
    orders.put(None)


def _lines() -> Iterator[bytes]:
    """The lines of standard input."""
    rest = b""
    for data in standard_input.chunks():
        *lines, rest = (rest + data).split(b"\n")
        yield from lines


if __name__ == "__main__":
    main()
