"""`manage.py play FILE...`: plays scripts of the shell grammar, and prints their transcripts."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from devtools.oracle.play import add_arguments, play_files


class Command(BaseCommand):
    help = "Play scripts of the shell grammar without a page, and print their transcripts."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        sys.exit(play_files(options["files"], options["store"], options["seed"], options["journal"]))
