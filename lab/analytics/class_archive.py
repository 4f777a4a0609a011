"""Makes the archive of the classes that Spark loads: with it the first chart comes in half the time.

    python -m lab.analytics.class_archive

The first charts of a small recording are made while Java notes the classes, then Java writes them to a file in
the environment that holds the jars. Takes half a minute of one core, once for each Java: `manage.py lab` has it done in
the background (background.py).
"""

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

from broker_core.events import Envelope, codec
from broker_core.records.record_batch import SimpleRecord, build_batch
from lab.analytics.build.found import Found, branch_id
from lab.analytics.build.run import Wanted, build
from lab.analytics.figures.stored import FIRST_TABLES
from lab.analytics.jvm import TUNING, SparkError, archive_path, class_path, working_java
from lab.analytics.session import Spark
from lab.analytics.store.builds import Store
from lab.analytics.store.ledger import BranchEntry
from lab.runtime.rehearsal import rehearsal_run

DUMP_TIMEOUT_S = 1_200
"""Beside other work, with the least priority, it takes its time."""


def make_class_archive() -> Path:
    """Makes the archive unless it is there. Raises SparkError when Spark does not run, OSError when no file can."""
    java = working_java()
    archive = archive_path(java)
    if archive.exists():
        return archive
    with tempfile.TemporaryDirectory(prefix="highwater-spark-") as name:
        folder = Path(name)
        noted, made = folder / "classes", folder / "archive.jsa"
        _run_once(folder, f"-XX:DumpLoadedClassList={noted}")
        command = [
            str(java.executable), *TUNING, "-Xshare:dump", f"-XX:SharedClassListFile={noted}",
            f"-XX:SharedArchiveFile={made}", "-cp", class_path(),
        ]  # fmt: skip
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                timeout=DUMP_TIMEOUT_S, check=False,
            )  # fmt: skip
        if not made.exists():
            raise SparkError("refusal.spark_class_archive", java=str(java.executable))
        archive.parent.mkdir(parents=True, exist_ok=True)
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
    log = folder / "events-0"
    _write_log(log, [made[0] for made in events.take()])
    found = Found(log, BranchEntry(branch_id("small", "main"), "small", str(log)))
    spark = Spark.start(folder / "spark.log", *flags)
    try:
        build(lambda: spark.session, Store.at(str(folder / "tables")), Wanted([found], FIRST_TABLES))
    finally:
        spark.stop()


def _write_log(folder: Path, envelopes: list[Envelope]) -> None:
    folder.mkdir()
    values = [b"", *(codec.encode(envelope) for envelope in envelopes)]
    log = folder / f"{0:020}.log"
    log.write_bytes(build_batch(SimpleRecord(0, None, value) for value in values))


if __name__ == "__main__":
    # No request waits for it.
    os.nice(19)
    make_class_archive()
