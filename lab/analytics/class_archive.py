"""Makes the archive of the classes that Spark loads, which halves the time to the first chart.

    python -m lab.analytics.class_archive [--for-stdin]

The first charts of a small recording are made while Java records the loaded classes; then Java writes them to a file in
the environment with the jars. This takes half a minute of one core, once per Java: `manage.py lab` starts it in the
background (background.py) with `--for-stdin`: only one of several labs makes it, and it is cancelled when the lab ends
for any reason.
"""

import contextlib
import fcntl
import os
import signal
import sys
import tempfile
from pathlib import Path

from lab.analytics.build.run import Wanted, build
from lab.analytics.figures.stored import FIRST_TABLES
from lab.analytics.jvm import TUNING, SparkError, archive_path, class_path, working_java
from lab.analytics.session import Spark
from lab.analytics.store.builds import Store
from lab.analytics.warm import found_in
from lab.runtime.headless.rehearsal import rehearsal_run
from lab.runtime.machine.java import Java
from lab.runtime.processes.standard_input import end_with_stdin

DUMP_TIMEOUT_S = 1_200
"""Beside other work, with the least priority, it takes its time."""


class AlreadyBeingMadeError(Exception):
    """Another process is making the archive."""


def make_class_archive() -> Path:
    """Makes the archive if it does not exist. Raises AlreadyBeingMadeError, SparkError if Spark does not run, OSError
    if the file cannot be written.
    """
    java = working_java()
    archive = archive_path(java)
    if archive.exists():
        return archive
    archive.parent.mkdir(parents=True, exist_ok=True)
    # The lock ends with the process. Its file is kept: deleting it might delete the lock of another process.
    with archive.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyBeingMadeError(str(archive)) from None
        return archive if archive.exists() else _make(java, archive)


def _make(java: Java, archive: Path) -> Path:
    with tempfile.TemporaryDirectory(prefix="highwater-spark-") as name:
        folder = Path(name)
        noted, made = folder / "classes", folder / "archive.jsa"
        _run_once(folder, f"-XX:DumpLoadedClassList={noted}")
        if not java.dump_classes(noted, made, class_path(), TUNING, DUMP_TIMEOUT_S):
            raise SparkError("refusal.spark_class_archive", java=str(java.executable))
        beside = archive.with_suffix(f".{os.getpid()}")
        with beside.open("wb") as to, made.open("rb") as source:
            while chunk := source.read(1 << 20):
                to.write(chunk)
        beside.replace(archive)
    return archive


def _run_once(folder: Path, *flags: str) -> None:
    events = rehearsal_run(1)
    events.submit("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3")
    events.advance(events.now_us + 1_000_000)
    events.submit("producer open p1")
    events.submit("producer burst p1 orders-0 3")
    events.advance(events.now_us + 1_000_000)
    found = found_in(folder, (made[0] for made in events.take()))
    spark = Spark.start(folder / "spark.log", *flags)
    try:
        build(lambda: spark.session, Store.at(str(folder / "tables")), Wanted([found], FIRST_TABLES))
    finally:
        spark.stop()


def end_with_lab() -> None:
    """Ends this process and its Java when the lab has ended."""
    end_with_stdin(lambda: os.killpg(0, signal.SIGKILL))


if __name__ == "__main__":
    if "--for-stdin" in sys.argv[1:]:
        end_with_lab()
    # No request waits for it.
    os.nice(19)
    with contextlib.suppress(AlreadyBeingMadeError):
        make_class_archive()
