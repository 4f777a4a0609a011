"""`manage.py lesson try SLUG`: plays a lesson's solution in a lab that one can watch."""

import argparse
import os
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from playwright.sync_api import sync_playwright

from devtools.management.commands.tour import BROWSER_ARGS, a_lab
from devtools.tour.lab_process import NoLab
from devtools.tour.lesson_player import play_lesson
from lab.exercises.loader import exercises
from tools.ensure_chromium import NoChromium, ensure_chromium


class Command(BaseCommand):
    """One line a lesson. Exits with 1 when one does not reach its debrief without an error in the browser."""

    help = "Play lessons in a browser to their debriefs, in the running lab or in one that is started for it."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("what", choices=["try"])
        parser.add_argument("slugs", nargs="*", metavar="SLUG", help="lessons; with --all not needed")
        parser.add_argument("--all", action="store_true", help="every lesson")
        parser.add_argument("--hidden", action="store_true", help="without a window")

    def handle(self, *args: Any, **options: Any) -> None:
        slugs = list(exercises()) if options["all"] else options["slugs"]
        for slug in slugs:
            if slug not in exercises():
                raise CommandError(f"There is no lesson {slug!r}. Expected one of: {', '.join(exercises())}.")
        if not slugs:
            raise CommandError("Which lesson? Expected: manage.py lesson try SLUG, or --all.")
        failed = 0
        hidden = options["hidden"] or not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
        try:
            with a_lab() as (address, _data, _process), sync_playwright() as playwright:
                path, _ = ensure_chromium()
                browser = playwright.chromium.launch(executable_path=path, args=BROWSER_ARGS, headless=hidden)
                page = browser.new_page(viewport={"width": 1440, "height": 900}, locale="en-US")
                page.goto(address)
                for slug in slugs:
                    played = play_lesson(page, address.split("/sign-in/")[0], slug)
                    failed += bool(played.problem)
                    said = f"FAILED: {played.problem}" if played.problem else "ok"
                    self.stdout.write(f"{slug}  {played.steps} steps  {played.seconds:.0f} s  {said}")
                    self.stdout.flush()
                browser.close()
        except (NoLab, NoChromium) as error:
            raise CommandError(str(error)) from error
        if failed:
            raise SystemExit(1)
