"""A class of 40 learners in a lesson, 15 of whose labs play, and 200 observers who show the leading lab, which gets 200
records a second. Then the class is broken: a page does not read, learners flood the class, codes are guessed, the
server is killed. Then, on another server, which deflates frames, 300 people join a lesson within five seconds, and a
page at 200 kbit/s follows. Prints JSON: how late acts reach the board, events the observers and frames the page that
leads; what the server takes; what a fault does to the others; how long all who join wait.

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
from typing import TYPE_CHECKING

import django

from benchmarks.ending import run

if TYPE_CHECKING:
    from devtools.tour.lab_process import LabProcess

MINUTES = 2.0
"""About 200 acts: of fewer, p99 is the worst."""
OBSERVERS = 200
ROOM = ("--host", "0.0.0.0")
"""Options with which `make class` serves: frames are deflated."""


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
    django.setup()
    from devtools.rehearsal.crowd import Crowd
    from devtools.rehearsal.rehearsal import Plan, Rehearsal
    from devtools.rehearsal.visitor import Refused
    from devtools.tour.lab_process import running_lab

    def say(line: str) -> None:
        print(line, file=sys.stderr)

    try:
        with server() as (address, process):
            started = running_lab(process.data)
            assert started is not None
            plan = Plan(observers=OBSERVERS, following=OBSERVERS, minutes=MINUTES, faults=True, waits=True)
            rehearsal = Rehearsal(address, started.pid, plan, say, process)
            figures = asyncio.run(rehearsal.run())
        with server(*ROOM) as (address, _):
            asyncio.run(Crowd(address, figures, say).run())
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(figures.as_json()))
    return 0


@contextlib.contextmanager
def server(*options: str) -> "Iterator[tuple[str, LabProcess]]":
    """A lab with data of its own: the address that signs the instructor in, and its process. Of a class that fails, its
    last output is printed.
    """
    from devtools.rehearsal.visitor import Refused
    from devtools.tour.lab_process import LabProcess

    with tempfile.TemporaryDirectory(prefix="highwater-class-bench-") as folder:
        process = LabProcess(Path(folder), *options)
        try:
            yield process.start(), process
        except Refused:
            print(f"The lab's last output:\n{process.last_output()}", file=sys.stderr)
            raise
        finally:
            process.stop()


if __name__ == "__main__":
    run(main)
