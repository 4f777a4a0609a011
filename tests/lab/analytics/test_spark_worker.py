"""The worker between two tasks: it waits for orders, and returns memory, also that of its JVM."""

import io
import queue
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import cast

import msgspec
import pytest

from lab.analytics import worker
from lab.analytics.build import live, run
from lab.analytics.orders import BuildTask, LiveTask, Order, Report, StartTask
from lab.analytics.session import Spark
from tests.support.lab_server import PATIENCE_S
from tests.support.paths import ROOT

ORDER = Order("j1", BuildTask("tables", ()))
MANY_BYTES = 100_000_000


class Freed(worker.Worker):
    """Counts how often memory is returned; the last time, an order comes in."""

    def __init__(self, orders: "queue.SimpleQueue[Order | None]") -> None:
        self.orders = orders
        self.times = 0

    def free(self) -> None:
        self.times += 1
        if self.times == worker.FREE_TIMES:
            self.orders.put(ORDER)


def test_memory_is_returned_while_there_is_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "FREE_AFTER_S", 0.001)
    orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
    freed = Freed(orders)
    assert worker._next(orders, freed) is ORDER
    assert freed.times == worker.FREE_TIMES


def test_waiting_order_does_not_wait_for_memory() -> None:
    orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
    orders.put(ORDER)
    freed = Freed(orders)
    assert worker._next(orders, freed) is ORDER
    assert not freed.times


class FreedSpark:
    """Counts the reports that were sent before its memory is returned."""

    is_alive = True
    session = None

    def __init__(self, out: io.BytesIO) -> None:
        self._out = out
        self.reports_before: list[int] = []

    def free(self) -> None:
        self.reports_before.append(len(self._out.getvalue().splitlines()))


@pytest.mark.parametrize("published", [[], [7]])
def test_memory_is_returned_before_a_build_with_new_tables_is_done(
    monkeypatch: pytest.MonkeyPatch, published: list[int]
) -> None:
    out = io.BytesIO()
    one = worker.Worker(Path("spark.log"), out)
    freed = FreedSpark(out)
    one._spark = cast(Spark, freed)
    monkeypatch.setattr(run, "build", lambda session, store, wanted: run.Outcome(None, published))
    one.do(ORDER)
    reports = [msgspec.json.decode(line, type=Report) for line in out.getvalue().splitlines()]
    assert [report.done for report in reports] == [False] * (len(reports) - 1) + [True]
    assert freed.reports_before == ([len(reports) - 1] if published else [])


class CountedSpark:
    """Each look at the clock is three CPU seconds after the one before."""

    is_alive = True
    session = None

    def __init__(self) -> None:
        self._used = count(0, 3)

    def cpu_s(self) -> float:
        return next(self._used)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_look_that_fails_reports_what_it_has_used(monkeypatch: pytest.MonkeyPatch, is_cancelled: bool) -> None:
    out = io.BytesIO()
    one = worker.Worker(Path("spark.log"), out)
    one._spark = cast(Spark, CountedSpark())

    def fail(*_: object) -> None:
        if is_cancelled:
            one._cancelled.add("j1")
        raise ValueError

    monkeypatch.setattr(live, "LiveClasses", fail)
    one.do(Order("j1", LiveTask("kite", ())))
    report = msgspec.json.decode(out.getvalue(), type=Report)
    assert report.cpu_s == 3 and report.cancelled == is_cancelled == (report.error is None)
    # The next task is not a look.
    monkeypatch.setattr(run, "build", fail)
    one.do(ORDER)
    assert msgspec.json.decode(out.getvalue().splitlines()[-1], type=Report).cpu_s == 0


def test_heap_of_the_jvm_shrinks_immediately(tmp_path: Path) -> None:
    spark = Spark.start(tmp_path / "spark.log")
    try:
        context = spark.session.sparkContext
        virtual_machine = context._jvm
        assert virtual_machine is not None
        runtime = virtual_machine.java.lang.Runtime.getRuntime()
        many = virtual_machine.java.nio.ByteBuffer.allocate(MANY_BYTES)
        before = runtime.totalMemory()
        # PySpark tells the JVM in the background what is not used any more.
        del many
        deadline_s = time.monotonic() + 60
        while before - runtime.totalMemory() < MANY_BYTES / 2 and time.monotonic() < deadline_s:
            spark.free()
        assert before - runtime.totalMemory() > MANY_BYTES / 2
    finally:
        spark.stop()


def test_worker_continues_after_a_job_that_was_cancelled_before_spark_started(tmp_path: Path) -> None:
    out = io.BytesIO()
    started = worker.Worker(tmp_path / "spark.log", out)
    started.cancel("j1")
    assert started.do(Order("j1", StartTask()))
    assert msgspec.json.decode(out.getvalue(), type=Report).cancelled
    assert not (tmp_path / "spark.log").exists()  # no JVM


def test_worker_ends_although_more_orders_may_come() -> None:
    """Its code tells whether waiting jobs get another one."""
    code = (
        "import threading, queue; from lab.analytics.worker import _listen;"
        "orders = queue.SimpleQueue();"
        "threading.Thread(target=_listen, args=(None, orders), daemon=True).start();"
        "orders.get()"
    )
    started = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, cwd=ROOT)
    assert started.stdin is not None
    try:
        started.stdin.write(msgspec.json.encode(Order("j1", StartTask())) + b"\n")
        started.stdin.flush()
        assert started.wait(PATIENCE_S) == 0
    finally:
        started.stdin.close()
        started.kill()
