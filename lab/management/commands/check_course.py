"""`manage.py check_course`: the chapters, the lessons' places, what they require."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from lab.course.check import gaps, misquoted, problems
from lab.course.loader import definition
from lab.exercises.loader import ContentError, exercises, outside


class Command(BaseCommand):
    """Reports what is wrong; with `--complete` also what is missing: topics and errata without a lesson, lessons; with
    `--notes` also quotes that differ from the notes.
    """

    help = "Check the course: chapters, places of the lessons, requirements."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--complete", action="store_true", help="fail where a topic, erratum or lesson is missing")
        parser.add_argument("--notes", type=Path, metavar="FOLDER", help="fail where a quote differs from its note")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            written, known = definition(), exercises()
        except ContentError as error:
            raise CommandError(str(error)) from None
        found = [*outside().faults.values(), *problems(written, known, outside().lessons)]
        if options["complete"]:
            found += gaps(written, known)
        if options["notes"] is not None:
            found += misquoted(known, options["notes"])
        for problem in found:
            self.stdout.write(problem)
        if found:
            raise CommandError(f"The course has {len(found)} problems.")
        self.stdout.write(f"{len(known)} lessons in {len(written.chapters)} chapters")
