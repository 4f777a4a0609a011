"""Checks the generators of review questions: 200 questions each, spread, fast, in both languages."""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError

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
        chosen = [one for slug, one in generators().items() if not words or any(word in slug for word in words)]
        if not chosen:
            raise CommandError(f"No generator's slug contains {' or '.join(words)}.")
        if options["questions"] < 1:
            raise CommandError(f"--questions {options['questions']}: 1 or more was expected.")
        wrong = 0
        # Each plays clusters of its own, and has nothing to do with the others.
        with ProcessPoolExecutor(min(os.cpu_count() or 1, len(chosen))) as pool:
            found = pool.map(partial(_faults, questions=options["questions"]), [one.slug for one in chosen])
            for generator, faults in zip(chosen, found, strict=True):
                self.stdout.write(f"{'FAIL' if faults else 'ok'} {generator.slug}")
                for fault in faults:
                    self.stdout.write(f"  {fault}")
                wrong += bool(faults)
        self.stdout.write(f"{len(chosen) - wrong} passed, {wrong} failed")
        if wrong:
            raise CommandError("At least one generator failed.")


def _faults(slug: str, questions: int) -> list[str]:
    return list(dict.fromkeys(problems(generators()[slug], questions)))
