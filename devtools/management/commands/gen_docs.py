"""`manage.py gen_docs`: the generated parts of docs/."""

from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from devtools.docs import course, fidelity, layers, state_charts, tables

PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "docs/FIDELITY.md": {"apis": fidelity.render},
    "docs/STATE_CHARTS.md": {"charts": state_charts.render},
    "docs/COURSE.md": {"lessons": course.lessons, "topics": course.topics, "errata": course.errata},
    "docs/TABLES.md": {"tables": tables.render},
    "docs/ARCHITECTURE.md": {
        "layers of broker_core": lambda: layers.render("broker_core"),
        "layers of lab": lambda: layers.render("lab"),
    },
}
"""File -> name of a part -> what it should be. A part is between `<!-- generated: NAME -->` and `<!-- end -->`."""


class Command(BaseCommand):
    """Writes the parts of docs/ that come from code; with `--check` writes nothing and fails when one is stale."""

    help = "Write the generated parts of docs/: the table of APIs, the layers, the state charts."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing, fail when a file is stale")

    def handle(self, *args: Any, **options: Any) -> None:
        root = Path(settings.BASE_DIR)
        stale = [path for path in PARTS if (root / path).read_text(encoding="utf-8") != updated(root, path)]
        if options["check"] and stale:
            raise CommandError(f"{', '.join(stale)} is stale. Run `manage.py gen_docs` and commit the result.")
        for path in stale:
            (root / path).write_text(updated(root, path), encoding="utf-8")
        self.stdout.write(f"wrote {', '.join(stale)}" if stale else "the generated parts of docs/ are up to date")


def updated(root: Path, path: str) -> str:
    """The file with its generated parts made again. Raises `CommandError` when it lacks a part's markers."""
    text = (root / path).read_text(encoding="utf-8")
    for name, render in PARTS[path].items():
        begin = f"<!-- generated: {name} -->"
        before, found, rest = text.partition(begin)
        _, ended, after = rest.partition("<!-- end -->")
        if not found or not ended:
            raise CommandError(f"{path} lacks the part `{name}`. Expected: {begin}, then <!-- end -->.")
        text = f"{before}{begin}\n{render()}\n<!-- end -->{after}"
    return text
