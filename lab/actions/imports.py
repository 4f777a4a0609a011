"""Imports that a page begins, follows and cancels. They continue when it is closed, and the next page shows them."""

import asyncio
import io
import logging
import os
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import Context
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from django.contrib.auth.models import User

from lab.actions.execution import ExecutionEnded, ImportProgress
from lab.runtime.machine.space import disk_full, is_disk_full
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

Kind: TypeAlias = Literal["run", "class"]
State: TypeAlias = Literal["running", "done", "failed", "cancelled"]
Take: TypeAlias = Callable[[User, IO[bytes], ImportProgress], Awaitable[str]]
"""Imports a file of a user's, and returns the address of what was made. Raises Refusal."""


class Import:
    """One import. `address`: of what was made; `refusal`: why nothing was; `is_shown`: and a page has shown it."""

    def __init__(self, user_id: int, kind: Kind) -> None:
        self.id = secrets.token_hex(8)
        self.user_id = user_id
        self.kind = kind
        self.progress = ImportProgress()
        self.state: State = "running"
        self.address = ""
        self.refusal: Refusal | None = None
        self.is_shown = False
        self.task: asyncio.Task[None] | None = None


_newest: dict[int, Import] = {}
"""By user: there is one at a time."""


def begin_import(user: User, kind: Kind, source: IO[bytes], take: Take) -> Import:
    """Imports a file, which is closed at the end. Raises Refusal (409) during another import of the user's."""
    before = _newest.get(user.pk)
    if before is not None and before.state == "running":
        source.close()
        raise Refusal("refusal.import_running", 409, field="file")
    begun = _newest[user.pk] = Import(user.pk, kind)
    # Not in the request's context: its thread is that of another request afterwards.
    begun.task = asyncio.create_task(_run(begun, user, source, take), context=Context())
    return begun


def import_of(user: User, id: str) -> Import:
    """An import of the user's. Raises Refusal (404) if it is unknown, as after a restart of the lab."""
    found = _newest.get(user.pk)
    if found is None or found.id != id:
        raise Refusal("refusal.no_import", 404, field="file")
    return found


def running_import(user: User, kind: Kind) -> Import | None:
    """What the page that is opened must show."""
    found = _newest.get(user.pk)
    return found if found is not None and found.kind == kind and found.state == "running" else None


def followed_import(user: User, id: str) -> Import:
    """An import for the page that follows it, which shows the reason if it failed. Raises Refusal like `import_of`."""
    found = import_of(user, id)
    if found.state == "failed":
        found.is_shown = True
    return found


def refusal_to_show(user: User, kind: Kind) -> Refusal | None:
    """Why an import failed that no page has followed to its end. The list shows it once; a page that still follows the
    import gets it all the same.
    """
    found = _newest.get(user.pk)
    if found is None or found.kind != kind or found.state != "failed" or found.is_shown:
        return None
    found.is_shown = True
    return found.refusal


async def cancel_import(user: User, id: str) -> Import:
    """Ends an import and removes what it has stored, unless it is complete."""
    found = import_of(user, id)
    if found.task is not None and found.state == "running":
        found.progress.cancel()
        if found.progress.now[0] == "waits":
            found.task.cancel()
        await asyncio.wait([found.task])
    return found


def kept_file(given: IO[bytes]) -> IO[bytes]:
    """An uploaded file that stays open when its request ends. It has no name from now on: a process that is killed
    leaves nothing.
    """
    try:
        kept = os.fdopen(os.dup(given.fileno()), "rb")
    except OSError:
        # A small one, which is in memory.
        return io.BytesIO(given.read())
    with suppress(FileNotFoundError):
        Path(given.name).unlink()
    return kept


async def _run(job: Import, user: User, source: IO[bytes], take: Take) -> None:
    try:
        with source:
            job.address = await take(user, source, job.progress)
        job.state = "done"
    except (Refusal, ExecutionEnded) as ended:
        _failed(job, ended)
    except asyncio.CancelledError:
        job.state = "cancelled"
        if not job.progress.is_cancelled:
            raise
    except Exception as error:
        if is_disk_full(error):
            _failed(job, disk_full(error))
            return
        logger.exception("an import failed")
        _failed(job, Refusal("refusal.import_broken", 500, field="file"))


def _failed(job: Import, error: Any) -> None:
    """A cancelled import also ends with an error."""
    if job.progress.is_cancelled or not isinstance(error, Refusal):
        job.state = "cancelled"
    else:
        # The list shows it in the form in which the file was chosen.
        error.field = "file"
        job.state, job.refusal = "failed", error
