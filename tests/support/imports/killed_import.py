"""`python -m tests.support.imports.killed_import FILE SLUG`: imports a run below HIGHWATER_DATA until it is killed.

It prints each stage when it begins, and `enter` when the run would be entered in the database.
"""

import asyncio
import sys
import threading
from pathlib import Path

import django

django.setup()

from django.conf import settings  # noqa: E402

from lab.actions.execution import ImportProgress, imported  # noqa: E402
from lab.actions.import_run import _rebuild  # noqa: E402
from lab.archives.progress import Stage  # noqa: E402
from lab.archives.unfinished import UnfinishedFolder  # noqa: E402

USER = 1


class Printed(ImportProgress):
    """Prints each stage once."""

    def report(self, stage: Stage, done: int, of: int) -> None:
        if self.now[0] != stage:
            print(stage, flush=True)
        super().report(stage, done, of)


def enter(_: object) -> None:
    print("enter", flush=True)
    threading.Event().wait()


async def main(file: Path, slug: str) -> None:
    with file.open("rb") as source:
        folder = UnfinishedFolder(settings.RUNS / slug)
        await imported(USER, folder, lambda progress: _rebuild(source, slug, progress), enter, Printed())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
