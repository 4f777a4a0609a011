"""`manage.py make_hero`: the recording that plays on the front page."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from devtools.hero.recording import encoded
from lab.course.hero import HERO


class Command(BaseCommand):
    """Plays the story and writes the file; with `--check` writes nothing and fails when it is stale."""

    help = "Write the recording that plays on the front page."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing, fail when the file is stale")

    def handle(self, *args: Any, **options: Any) -> None:
        path = Path(settings.BASE_DIR) / HERO
        text = encoded()
        is_stale = not path.exists() or path.read_text(encoding="utf-8") != text
        if options["check"] and is_stale:
            raise CommandError(f"{HERO} is stale. Run `manage.py make_hero` and commit the result.")
        if is_stale:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.stdout.write(f"{'wrote' if is_stale else 'up to date:'} {HERO} ({len(text.encode())} bytes)")
