"""The charts of a class of 40 learners during the class: how late what a learner does is in the charts that staff see,
and what Spark takes of a core for it. Prints JSON.

The participants are in this process and share the machine with the server and with Spark.
"""

import asyncio
import json
import os
import sys

import django

from benchmarks.class_bench import server
from benchmarks.ending import run

MINUTES = 4.0
"""About 40 rounds of at least 5 s."""


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
    django.setup()
    from devtools.rehearsal.figures import percentile
    from devtools.rehearsal.rehearsal import Plan, Rehearsal
    from devtools.rehearsal.visitor import Refused
    from devtools.tour.lab_process import running_lab

    try:
        with server() as (address, process):
            started = running_lab(process.data)
            assert started is not None
            plan = Plan(observers=0, minutes=MINUTES, analytics=True)
            rehearsal = Rehearsal(address, started.pid, plan, lambda line: print(line, file=sys.stderr), process)
            figures = asyncio.run(rehearsal.run())
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    found = {
        "acts": len(figures.learned),
        "rounds": figures.rounds,
        "behind_p50_s": round(percentile(figures.learned, 0.5) / 1_000, 2),
        "behind_p95_s": round(percentile(figures.learned, 0.95) / 1_000, 2),
        "core_percent": round(100 * figures.rounds_share, 1),
    }
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    run(main)
