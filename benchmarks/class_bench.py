"""A class of 40 learners, 15 of whose labs play, and 200 observers who show the leading lab, which gets 200 records a
second. Then, on another server, 300 people join a class within five seconds. Prints JSON: how late acts reach the
board, events the observers and frames the page that leads; what the server takes; how long all who join wait.

The participants are in this process and share the machine with the server: on two cores they take one of them.
"""

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import django

from benchmarks.ending import run

MINUTES = 2.0
"""About 200 acts: of fewer, p99 is the worst."""
OBSERVERS = 200


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
    django.setup()
    from devtools.rehearsal.crowd import Crowd
    from devtools.rehearsal.rehearsal import Plan, Rehearsal
    from devtools.rehearsal.visitor import Refused

    try:
        with server() as (address, pid):
            plan = Plan(learners=40, observers=OBSERVERS, minutes=MINUTES, active=15, following=OBSERVERS)
            rehearsal = Rehearsal(address, pid, plan, lambda line: print(line, file=sys.stderr))
            figures = asyncio.run(rehearsal.run())
        with server() as (address, _):
            asyncio.run(Crowd(address, figures).run())
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(figures.as_json()))
    return 0


@contextlib.contextmanager
def server() -> Iterator[tuple[str, int]]:
    """A lab with data of its own: the address that signs the instructor in, and its process. Of a class that fails, its
    last output is printed.
    """
    from devtools.rehearsal.visitor import Refused
    from devtools.tour.lab_process import LabProcess, running_lab

    with tempfile.TemporaryDirectory(prefix="highwater-class-bench-") as folder:
        process = LabProcess(Path(folder))
        try:
            address = process.start()
            started = running_lab(Path(folder))
            assert started is not None
            yield address, started.pid
        except Refused:
            print(f"The lab's last output:\n{process.last_output()}", file=sys.stderr)
            raise
        finally:
            process.stop()


if __name__ == "__main__":
    run(main)
