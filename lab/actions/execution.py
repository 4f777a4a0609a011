"""Executes the recorded inputs of imports: in threads of their own, for a limited time, and until they are cancelled.
What is left of imports whose process was killed is removed.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Literal, TypeVar

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection

from lab.actions.classes.live_class import classes_folder
from lab.archives.progress import Stage
from lab.archives.unfinished import UnfinishedFolder, abandoned
from lab.models import Class, Run
from lab.texts.refusal import Refusal

logger = logging.getLogger(__name__)

MAX_EXECUTION_S = 120.0
"""Maximum time for executing all inputs of one import; the import forms show it."""
THREADS = 2
"""Imports that are executed concurrently; others wait."""

_threads = ThreadPoolExecutor(THREADS, "import")
"""Not the loop's own executor: everything else that needs a thread, opening a lab for example, would wait for imports.
"""
_importing: set[int] = set()
"""The users whose imports are being executed, or wait."""

S = TypeVar("S")
T = TypeVar("T")


class ExecutionEnded(Exception):
    """The inputs were not executed within the limit, or the import was cancelled."""


class ImportProgress:
    """What the page and the thread of an import share: how far it is, the time that its inputs have from their first
    check on, and whether it is cancelled.
    """

    def __init__(self, max_s: float | None = None) -> None:
        self.max_s = MAX_EXECUTION_S if max_s is None else max_s
        self.now: tuple[Stage | Literal["waits"], int, int] = ("waits", 0, 0)
        """The stage, how much of it is done, and of how much. It waits for a thread at first."""
        self._end_s: float | None = None
        self._is_cancelled = threading.Event()

    def report(self, stage: Stage, done: int, of: int) -> None:
        """Notes how far the import is. Raises ExecutionEnded once cancelled."""
        self.now = (stage, min(done, of), of)
        self.check_cancelled()

    def check(self) -> None:
        """Raises ExecutionEnded after the time limit, or once cancelled. Called in the thread that executes."""
        now_s = time.monotonic()
        if self._end_s is None:
            self._end_s = now_s + self.max_s
        if now_s >= self._end_s:
            raise ExecutionEnded
        self.check_cancelled()

    def check_cancelled(self) -> None:
        """Raises ExecutionEnded once cancelled. Does not count the time: for what is done before the execution."""
        if self._is_cancelled.is_set():
            raise ExecutionEnded

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled.is_set()

    def cancel(self) -> None:
        """Ends the import at its next check."""
        self._is_cancelled.set()

    def refusal(self, branch: str, seq: int, last_seq: int) -> Refusal:
        """The reason for the user, with how far the execution came."""
        return Refusal(
            "refusal.import_too_long", field="file", branch=branch, seq=seq, events=last_seq, max=round(self.max_s)
        )


async def imported(
    user_id: int,
    folder: UnfinishedFolder,
    take: Callable[[ImportProgress], T],
    enter: Callable[[T], S],
    progress: ImportProgress | None = None,
) -> S:
    """The result of `enter`, which notes in the database what `take` has made in a thread. If either fails, or the
    request or the import is cancelled before `enter` has begun, the folder is removed. Raises Refusal while another
    import of the user's is being executed.
    """
    if user_id in _importing:
        raise Refusal("refusal.import_running", 409, field="file")
    _importing.add(user_id)
    progress = progress or ImportProgress()

    def begun(progress: ImportProgress) -> T:
        # In a thread of imports: removing a large folder would delay everything in the thread of sync_to_async.
        try:
            finish_imports()
        finally:
            connection.close()
        folder.begin()
        return take(progress)

    def entered(taken: T) -> S:
        progress.check_cancelled()
        made = enter(taken)
        folder.keep()
        return made

    try:
        taken = await in_thread(begun, folder.discard, progress)
        # What is committed is not removed, and what is refused is, also when the request is cancelled meanwhile.
        return await asyncio.shield(sync_to_async(_undone_on_failure)(lambda: entered(taken), folder.discard))
    finally:
        _importing.discard(user_id)


def finish_imports() -> None:
    """Removes what processes that were killed have left of imports. Complete imports are kept."""
    for parent, known in ((settings.RUNS, Run.objects), (classes_folder(), Class.objects)):
        for folder in abandoned(parent):
            if known.filter(slug=folder.path.name).exists():
                folder.keep()
            else:
                logger.info("removing what was left of an import: %s", folder.path)
                folder.discard()


async def in_thread(
    work: Callable[[ImportProgress], T], undo: Callable[[], None], progress: ImportProgress | None = None
) -> T:
    """The result of work that checks its progress. If the request is cancelled, because the page was closed for
    example, the work is ended first: otherwise it would go on writing files after they have been removed. If it fails,
    or its result is not taken, `undo` is called.
    """
    progress = progress or ImportProgress()
    job = _threads.submit(_undone_on_failure, lambda: work(progress), undo)
    # No task: those are all cancelled when the lab ends, and their threads go on.
    working = asyncio.wrap_future(job)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        progress.cancel()
        # One that has not begun need not be waited for.
        if not job.cancel():
            await _ended(working)
            if job.exception() is None:
                await _ended(asyncio.get_running_loop().run_in_executor(None, undo))
        raise


def _undone_on_failure(work: Callable[[], T], undo: Callable[[], None]) -> T:
    try:
        return work()
    except BaseException:
        undo()
        raise


async def _ended(working: asyncio.Future[Any]) -> None:
    """Waits for the end, also when cancelled again meanwhile."""
    while not working.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([working])
    # Marks its exception as retrieved: asyncio would log it.
    working.cancelled() or working.exception()
