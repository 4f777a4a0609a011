"""`manage.py gen_events`: the event vocabulary for the browser, written from the Python definitions."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from lab.classroom import page_types
from lab.protocol import event_schema
from lab.texts import keys


class Command(BaseCommand):
    """Writes what static/lab has of the server; with `--check` writes nothing and fails when a file is stale."""

    help = "Write what the page gets of the server's definitions: events, the empty view, limits, and keys in texts."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing, fail when a file is stale")

    def handle(self, *args: Any, **options: Any) -> None:
        root = Path(settings.BASE_DIR)
        files = event_schema.files() | page_types.files() | keys.files()
        stale = [path for path, text in files.items() if _read(root / path) != text]
        if options["check"] and stale:
            raise CommandError(
                f"{', '.join(stale)} are not what the server defines; run `manage.py gen_events` and commit."
            )
        for path in stale:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(files[path], encoding="utf-8")
        said = f"wrote {', '.join(stale)}" if stale else "the event vocabulary of the browser is up to date"
        self.stdout.write(f"{said} (schema {event_schema.schema_hash()})")


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None
