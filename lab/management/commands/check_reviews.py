"""Checks the generators of review questions: 200 questions each, spread, fast, in both languages."""

import argparse
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from lab.management.verdicts import check_each
from lab.reviews.checks import ENOUGH, QUESTIONS, problems
from lab.reviews.registry import generators


class Command(BaseCommand):
    """Draws questions of all generators, or of those whose slug contains one of the given words."""

    help = "Check the review questions: speed, spread of right answers, misconceptions, texts."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("words", nargs="*", help="parts of slugs; without any, all generators are checked")
        said = f"how many questions each; speed and spread are judged from {ENOUGH} on (default: {QUESTIONS})"
        parser.add_argument("--questions", type=int, default=QUESTIONS, help=said)

    def handle(self, *args: Any, **options: Any) -> None:
        words: list[str] = options["words"]
        chosen = [slug for slug in generators() if not words or any(word in slug for word in words)]
        if not chosen:
            raise CommandError(f"No generator's slug contains {' or '.join(words)}.")
        if options["questions"] < 1:
            raise CommandError(f"--questions {options['questions']}: 1 or more was expected.")
        wrong = check_each(self.stdout, chosen, partial(_faults, questions=options["questions"]))
        self.stdout.write(f"{len(chosen) - wrong} passed, {wrong} failed")
        if wrong:
            raise CommandError("At least one generator failed.")


def _faults(slug: str, questions: int) -> list[str]:
    return list(dict.fromkeys(problems(generators()[slug], questions)))
