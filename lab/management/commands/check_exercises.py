"""Checks every exercise: none starts solved, each solution passes, texts in both languages, terms in the glossary."""

import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from lab.exercises.compiler import problems
from lab.exercises.glossary import glossary
from lab.exercises.loader import ContentError, exercises, outside


class Command(BaseCommand):
    help = "Check the exercises: texts, terms, setups and solutions."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--only", default="", metavar="TEXT", help="check the lessons whose name contains this")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            glossary()
            checked = [slug for slug in exercises() if options["only"] in slug]
        except (ContentError, ValueError) as error:
            raise CommandError(str(error)) from None
        for fault in outside().faults.values():
            self.stdout.write(f"FAIL {fault}")
        wrong = len(outside().faults)
        # Each is played over several seeds, and has nothing to do with the others.
        with ProcessPoolExecutor(min(os.cpu_count() or 1, max(len(checked), 1))) as pool:
            for slug, faults in zip(checked, pool.map(_faults, checked), strict=True):
                self.stdout.write(f"{'FAIL' if faults else 'ok'} {slug}")
                for fault in faults:
                    self.stdout.write(f"  {fault}")
                wrong += bool(faults)
        self.stdout.write(f"{len(checked) - wrong + len(outside().faults)} passed, {wrong} failed")
        if wrong:
            raise CommandError("At least one exercise failed.")


def _faults(slug: str) -> list[str]:
    return list(problems(exercises()[slug], glossary()))
