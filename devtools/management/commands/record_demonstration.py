"""`manage.py record_demonstration`: gives the class that newcomers replay, and stores its recording."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from devtools.rehearsal.demonstration import Demonstration, store_deflated
from devtools.rehearsal.visitor import Refused
from devtools.tour.lab_process import NoLab, started_lab
from lab.actions.classes.demonstration import DEMONSTRATION


class Command(BaseCommand):
    """Takes two minutes. Needed when the kinds of events have changed, so that the stored recording cannot be read."""

    help = "Give the demonstration class on a lab of its own, and store its recording."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        with tempfile.TemporaryDirectory(prefix="highwater-demonstration-") as folder:
            try:
                with started_lab(Path(folder)) as address:
                    data = asyncio.run(Demonstration(address, self.stdout.write).run())
            except (NoLab, Refused, OSError) as error:
                raise CommandError(str(error)) from error
        size = store_deflated(data, DEMONSTRATION)
        self.stdout.write(f"wrote {DEMONSTRATION} ({size} bytes)")
