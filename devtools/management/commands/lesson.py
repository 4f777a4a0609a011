"""`manage.py lesson new SLUG`: a folder to begin a lesson with; `lesson try SLUG`: plays its solution in a lab."""

import argparse
import os
import shutil
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from devtools.management.commands.tour import a_lab
from devtools.tour.chromium import chromium
from devtools.tour.lab_process import NoLab
from devtools.tour.lesson_player import play_lesson
from lab.exercises.loader import CONTENT, OUTSIDE, ContentError, exercises, is_slug, load
from tools.ensure_chromium import NoChromium

SKELETON = Path(__file__).resolve().parent.parent.parent / "lesson_skeleton"


def new_lesson(slug: str) -> Path:
    """Makes the folder of a lesson that compiles, in the folder of `HIGHWATER_LESSONS` or in the course's. Raises
    CommandError for a name that no lesson can have, or that one has.
    """
    parent = Path(os.environ.get(OUTSIDE) or CONTENT)
    if not is_slug(slug):
        raise CommandError(f"Invalid name {slug!r}. Expected three digits and words, such as 101-my-lesson.")
    if slug in exercises() or (parent / slug).exists():
        raise CommandError(f"There is a lesson {slug!r} already. Choose another name.")
    if not parent.is_dir():
        raise CommandError(f"{OUTSIDE}: {parent} is not a folder. Create it first.")
    folder = Path(shutil.copytree(SKELETON, parent / slug))
    load(folder)
    return folder


class Command(BaseCommand):
    """`try` prints one line per lesson, and exits with 1 when one does not reach its debrief without an error in the
    browser.
    """

    help = "Begin a lesson (new), or play lessons in a browser to their debriefs (try), in a running lab or a new one."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("what", choices=["new", "try"])
        parser.add_argument("slugs", nargs="*", metavar="SLUG", help="lessons; with --all not needed")
        parser.add_argument("--all", action="store_true", help="every lesson")
        parser.add_argument("--hidden", action="store_true", help="without a window")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["what"] == "new":
            self._new(options["slugs"])
        else:
            self._try(options)

    def _new(self, slugs: list[str]) -> None:
        if len(slugs) != 1:
            raise CommandError("Which name? Expected: manage.py lesson new 101-my-lesson.")
        try:
            folder = new_lesson(slugs[0])
        except ContentError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{folder}")
        if folder.parent == CONTENT:
            self.stdout.write("Its place in the course is a line of lab/course/course.toml.")
        self.stdout.write(f"Check it with: manage.py check_exercises --only {slugs[0]}")
        self.stdout.write(f"See it played with: manage.py lesson try {slugs[0]}")

    def _try(self, options: dict[str, Any]) -> None:
        slugs = list(exercises()) if options["all"] else options["slugs"]
        for slug in slugs:
            if slug not in exercises():
                raise CommandError(f"There is no lesson {slug!r}. Expected one of: {', '.join(exercises())}.")
        if not slugs:
            raise CommandError("Which lesson? Expected: manage.py lesson try SLUG, or --all.")
        failed = 0
        hidden = options["hidden"] or not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
        try:
            with a_lab() as (address, _data, _process), chromium(headless=hidden) as browser:
                page = browser.new_page(viewport={"width": 1440, "height": 900}, locale="en-US")
                page.goto(address)
                for slug in slugs:
                    played = play_lesson(page, address.split("/sign-in/")[0], slug)
                    failed += bool(played.problem)
                    said = f"FAILED: {played.problem}" if played.problem else "ok"
                    self.stdout.write(f"{slug}  {played.steps} steps  {played.seconds:.0f} s  {said}")
                    self.stdout.flush()
        except (NoLab, NoChromium) as error:
            raise CommandError(str(error)) from error
        if failed:
            raise SystemExit(1)
