"""Checks every exercise: none starts solved, each solution passes, texts in both languages, terms in the glossary."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from lab.exercises.compiler import problems
from lab.exercises.glossary import glossary
from lab.exercises.loader import ContentError, exercises


class Command(BaseCommand):
    help = "Check the exercises: texts, terms, setups and solutions."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--only", default="", metavar="TEXT", help="check the lessons whose name contains this")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            terms = glossary()
            found = exercises()
        except (ContentError, ValueError) as error:
            raise CommandError(str(error)) from None
        wrong = 0
        checked = [one for one in found.values() if options["only"] in one.slug]
        for exercise in checked:
            faults = list(problems(exercise, terms))
            self.stdout.write(f"{'FAIL' if faults else 'ok'} {exercise.slug}")
            for fault in faults:
                self.stdout.write(f"  {fault}")
            wrong += bool(faults)
        self.stdout.write(f"{len(checked) - wrong} passed, {wrong} failed")
        if wrong:
            raise CommandError("At least one exercise failed.")
