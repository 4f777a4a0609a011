"""`manage.py tour`: a browser walks through a running lab, checks what it sees, and leaves pictures."""

import argparse
import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from devtools.tour.chapters import CHAPTERS
from devtools.tour.chapters.runs import delete
from devtools.tour.chromium import chromium
from devtools.tour.lab_process import LabProcess, NoLab, running_lab
from devtools.tour.photographer import LANGUAGES, Photographer
from devtools.tour.tour import Tour
from tools.ensure_chromium import NoChromium

TITLES = [chapter.TITLE for chapter in CHAPTERS]


class Command(BaseCommand):
    """One line a stop. Exits with 1 when a stop does not show what it should."""

    help = "Walk through the running lab in a browser; where none runs, through one that it starts and ends."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--shots", type=Path, help="folder of the pictures (default: tour/ in the data folder)")
        parser.add_argument("--no-shots", action="store_true", help="pictures of failures alone")
        parser.add_argument("--only", help=f"chapters, with commas between: {', '.join(TITLES)}")
        parser.add_argument("--keep", action="store_true", help="keep the runs that it makes")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = options["only"].split(",") if options["only"] else TITLES
        for title in wanted:
            if title not in TITLES:
                raise CommandError(f"There is no chapter {title!r}. Expected: {', '.join(TITLES)}.")
        began_s = time.monotonic()
        try:
            with a_lab() as (address, data, process), chromium() as browser:
                folder = (options["shots"] or settings.DATA / "tour").resolve()
                shots = Photographer(browser, folder, languages=() if options["no_shots"] else tuple(LANGUAGES))
                tour = Tour(browser, address, data, say=self._say, shots=shots, process=process)
                for chapter in CHAPTERS:
                    if chapter.TITLE in wanted:
                        with tour.chapter(chapter.TITLE):
                            chapter.walk(tour)
                if not options["keep"]:
                    remove_runs(tour)
        except (NoLab, NoChromium) as error:
            raise CommandError(str(error)) from error
        if shots.taken:
            self._say(f"{len(shots.taken)} pictures in {folder}")
        self._say(f"{tour.stops} stops, {len(tour.failures)} failed, {time.monotonic() - began_s:.0f} s")
        if tour.failures:
            raise SystemExit(1)

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


@contextlib.contextmanager
def a_lab() -> Iterator[tuple[str, Path, LabProcess | None]]:
    """The lab that runs with this data folder, else one with a folder of its own: address, folder, process."""
    found = running_lab(settings.DATA)
    if found:
        yield found.address, settings.DATA, None
        return
    with tempfile.TemporaryDirectory(prefix="highwater-tour-") as folder:
        process = LabProcess(Path(folder))
        try:
            yield process.start(), process.data, process
        finally:
            process.stop()


def remove_runs(tour: Tour) -> None:
    """Leaves the list of runs as it was."""
    page = tour.page()
    for run in tour.runs:
        page.goto(f"{tour.origin}/runs/")
        delete(page, run)
    tour.close_pages()
