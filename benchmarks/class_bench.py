"""A class of 40 learners, 15 of whose labs play, and 200 observers, while one lab leads at 200 records a second. Prints
JSON: how late acts reach the board, events the observers and frames the page that leads; what the server takes.

The participants are in this process and share the machine with the server: on two cores they take one of them.
"""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

import django

MINUTES = 2.0
"""About 200 acts: of fewer, p99 is the worst."""


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
    django.setup()
    from devtools.rehearsal.rehearsal import Plan, Rehearsal
    from devtools.tour.lab_process import LabProcess, running_lab

    with tempfile.TemporaryDirectory(prefix="highwater-class-bench-") as folder:
        process = LabProcess(Path(folder))
        address = process.start()
        started = running_lab(Path(folder))
        assert started is not None
        try:
            plan = Plan(learners=40, observers=200, minutes=MINUTES, active=15)
            figures = asyncio.run(
                Rehearsal(address, started.pid, plan, lambda line: print(line, file=sys.stderr)).run()
            )
        finally:
            process.stop()
    print(json.dumps(figures.as_json()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
