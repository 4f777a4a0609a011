"""Events of ten runs read into tables on one and on two workers of Spark, in events a second of wall time. Prints JSON.

Each side has a JVM of its own; reading another run, which is not counted, starts its Python processes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import django

from benchmarks.ending import run

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
django.setup()

from benchmarks.loads import recordings  # noqa: E402  (needs the settings)
from lab.analytics.build.found import recordings_at  # noqa: E402
from lab.analytics.build.run import Wanted, build  # noqa: E402
from lab.analytics.jvm import MORE_MEMORY  # noqa: E402
from lab.analytics.session import Spark  # noqa: E402
from lab.analytics.store.builds import Store  # noqa: E402

RUNS = 10


def measure() -> dict[str, float]:
    """The wall time of reading the runs with the cores that SPARK_MASTER gives."""
    kept = recordings.kept(RUNS + 1)
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as name:
        root = Path(name)
        recordings.link(kept[:1], root / "warm")
        recordings.link(kept[1:], root / "runs")
        spark = Spark.start(root / "spark.log", *MORE_MEMORY)
        try:
            build(lambda: spark.session, Store.at(str(root / "other")), Wanted(recordings_at(str(root / "warm")), ()))
            found = recordings_at(str(root / "runs"))
            began_s = time.perf_counter()
            done = build(lambda: spark.session, Store.at(str(root / "tables")), Wanted(found, ()))
            took_s = time.perf_counter() - began_s
            if done.build is None:
                raise SystemExit("the build published nothing")
            events = sum(entry.last_seq for entry in done.build.ledger().values())
        finally:
            spark.stop()
    return {"wall_s": round(took_s, 2), "events": events, "per_s": round(events / took_s)}


def side(workers: int) -> dict[str, Any]:
    """The same in a separate process, with `workers` cores for Spark."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.ingest_bench", "--side"],
        env=os.environ | {"SPARK_MASTER": f"local[{workers}]"}, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", action="store_true", help="measure one side")
    if parser.parse_args().side:
        print(json.dumps(measure()))
        return
    one, two = side(1), side(2)
    print(json.dumps({"one": one, "two": two, "ratio": round(two["per_s"] / one["per_s"], 2), "cores": os.cpu_count()}))


if __name__ == "__main__":
    run(main)
