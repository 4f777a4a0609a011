"""A study of 200 clusters on one and on two workers of Spark, in simulated clusters a second of wall time. Prints JSON.

Each side has a JVM of its own; a first batch, which is not counted, starts its Python processes.
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

from lab.analytics.session import Spark  # noqa: E402  (needs the settings)
from lab.studies.compiler import read_study  # noqa: E402
from lab.studies.runner import SparkWorkers  # noqa: E402
from lab.studies.shelf import SHIPPED  # noqa: E402

STUDY = SHIPPED.parent / "content" / "replicas-and-what-they-cost.toml"
CLUSTERS = 200


def measure(workers: int) -> dict[str, float]:
    """The wall time of the study on `workers` workers."""
    cells = read_study(STUDY).cells
    many = [cells[place % len(cells)] for place in range(CLUSTERS)]
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as folder:
        spark = Spark.start(Path(folder) / "spark.log")
        try:
            running = SparkWorkers(spark.session, workers)
            running.run(many[: 8 * workers], "warm")
            began_s = time.perf_counter()
            results = running.run(many, "bench")
            took_s = time.perf_counter() - began_s
        finally:
            spark.stop()
    assert all(result.state == "finished" for result in results)
    return {"wall_s": round(took_s, 2), "per_s": round(CLUSTERS / took_s, 2)}


def side(workers: int) -> dict[str, Any]:
    """The same in a separate process, with `workers` cores for Spark."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.studies_bench", "--workers", str(workers)],
        env=os.environ | {"SPARK_MASTER": f"local[{workers}]"}, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, help="measure one side")
    given = parser.parse_args()
    if given.workers:
        print(json.dumps(measure(given.workers)))
        return
    one, two = side(1), side(2)
    print(json.dumps({"one": one, "two": two, "ratio": round(two["per_s"] / one["per_s"], 2), "cores": os.cpu_count()}))


if __name__ == "__main__":
    run(main)
