"""Checks every exercise: none starts solved, each solution passes, texts in both languages, terms in the glossary."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from lab.exercises.compiler import problems
from lab.exercises.glossary import glossary
from lab.exercises.loader import ContentError, exercises, outside
from lab.management.verdicts import check_each


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
        wrong = len(outside().faults) + check_each(self.stdout, checked, _faults)
        self.stdout.write(f"{len(checked) - wrong + len(outside().faults)} passed, {wrong} failed")
        if wrong:
            raise CommandError("At least one exercise failed.")


def _faults(slug: str) -> list[str]:
    return list(problems(exercises()[slug], glossary()))
