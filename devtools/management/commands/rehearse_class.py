"""`manage.py rehearse_class`: a class of scripted participants, to fill a wall, to demonstrate, to measure."""

import argparse
import asyncio
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from benchmarks.bars import BARS, judge, show, statement_of
from devtools.rehearsal.figures import Figures
from devtools.rehearsal.rehearsal import CHAPTER, Plan, Rehearsal
from devtools.rehearsal.visitor import Refused
from devtools.tour.lab_process import LabProcess, NoLab, running_lab
from lab.actions.classes.lessons.start import lesson_of
from lab.classroom.limits import JOINS_WINDOW_S, MAX_JOINS

ROOM = ("--host", "0.0.0.0")
"""Options with which `make class` serves: frames are deflated."""
NAMES = tuple(field.name for field in fields(Plan) if field.name != "waits")


class Command(BaseCommand):
    """Prints the address of the board, and what it measured at the end."""

    help = "Rehearse a class with scripted learners and observers, on the running lab or on one that it starts."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--learners", type=int, default=40)
        parser.add_argument(
            "--observers",
            type=int,
            default=200,
            help=f"default 200; a running lab accepts {MAX_JOINS:,} joins from one address in "
            f"{JOINS_WINDOW_S / 60:.0f} minutes, those of earlier rehearsals included",
        )
        parser.add_argument("--minutes", type=float, default=5.0)
        parser.add_argument("--active", type=int, default=15, help="learners who are quick (default 15)")
        parser.add_argument("--stuck", type=int, default=4, help="learners who get stuck (default 4)")
        parser.add_argument("--leaving", type=int, default=3, help="learners who leave and come back (default 3)")
        parser.add_argument("--following", type=int, default=0, help="observers who also show the leading lab")
        parser.add_argument(
            "--chapter", default=CHAPTER, help=f"slug of a chapter or lesson to teach (default {CHAPTER}; '': none)"
        )
        parser.add_argument("--analytics", action="store_true", help="also look at the analytics of the class")
        parser.add_argument(
            "--room", action="store_true", help="serve a lab that it starts to the network, as make class does"
        )
        parser.add_argument("--faults", action="store_true", help="also break the class, and say what held")

    def handle(self, *args: Any, **options: Any) -> None:
        plan = Plan(**{name: options[name] for name in NAMES})
        if plan.chapter and lesson_of(plan.chapter) is None:
            raise CommandError(f"The course has no chapter and no lesson {plan.chapter!r}. Expected a slug of one.")
        if plan.learners < 1 or plan.observers < 0 or plan.minutes <= 0:
            raise CommandError("Expected at least one learner, no negative number of observers, and a time above 0.")
        try:
            found = running_lab(settings.DATA)
            if found is not None:
                self._rehearse(found.address, found.pid, plan)
                return
            # So that the lab that is started here also ends.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit("the rehearsal was terminated"))
            with tempfile.TemporaryDirectory(prefix="highwater-rehearsal-") as folder:
                process = LabProcess(Path(folder), *(ROOM if options["room"] else ()))
                address = process.start()
                started = running_lab(Path(folder))
                assert started is not None
                try:
                    self._rehearse(address, started.pid, plan, process)
                except Refused as error:
                    raise CommandError(f"{error}\nThe lab's last output:\n{process.last_output()}") from error
                finally:
                    process.stop()
        except (NoLab, Refused, OSError) as error:
            raise CommandError(str(error)) from error

    def _rehearse(self, address: str, pid: int, plan: Plan, own: LabProcess | None = None) -> None:
        figures = asyncio.run(Rehearsal(address, pid, plan, self.stdout.write, own).run())
        for line in [*figures.lines(), *statement_lines(figures)]:
            self.stdout.write(line)


def statement_lines(figures: Figures) -> Iterator[str]:
    """The measured figures that belong to acceptance statements (docs/CLASSES.md), each with its bar; the bars are for
    a class of 40 learners, 15 of whom are active, and 200 observers.
    """
    found = figures.as_json()
    rows = [judge(bar, found) for bar in BARS if bar.bench == "class" and statement_of(bar)]
    for row in sorted(rows, key=lambda one: one.statement):
        # A rehearsal measures less than the bench: no crowd, and without observers nothing of them.
        measured = "not measured" if row.measured is None else f"{show(row.measured)} {row.unit}".strip()
        verdict = "" if row.measured is None else f" {row.verdict}"
        yield f"statement {row.statement:>2}: {row.name}: {measured} ({row.bar}){verdict}"
