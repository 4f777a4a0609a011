"""`manage.py check_challenges [--seeds N] [slug...]`: the par entry of each challenge passes, its bad entry fails."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from broker_core.texts import render
from lab.challenges.judge import entry_of, judge
from lab.challenges.loader import challenges

SEEDS = 20


class Command(BaseCommand):
    help = "Judges the par entry and the planted bad entry of each challenge."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slugs", nargs="*", help="challenges; default: all")
        parser.add_argument("--seeds", type=int, default=SEEDS, help=f"seeds of each entry (default: {SEEDS})")

    def handle(self, *args: Any, **options: Any) -> None:
        wrong = 0
        for slug, challenge in challenges().items():
            if options["slugs"] and slug not in options["slugs"]:
                continue
            seeds = range(1, min(options["seeds"], challenge.seeds) + 1)
            for name, entry, wanted in (("par", challenge.par, True), ("bad", challenge.bad, False)):
                verdict = judge(challenge, entry_of(challenge, entry), seeds)
                is_right = verdict.passed is wanted
                wrong += not is_right
                self.stdout.write(
                    f"{'ok' if is_right else 'WRONG'} {slug} {name}: {verdict.passes} of {verdict.seeds}"
                    f"{f', marked {verdict.marked_passes} of {verdict.marked}' if verdict.marked else ''}, "
                    f"{verdict.scores}, {verdict.cpu_s} s: seed {verdict.shown.seed}: {render(verdict.shown.why)}"
                )
        if wrong:
            sys.exit(1)
