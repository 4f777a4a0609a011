"""Executes the recorded inputs of imports: in threads of their own, for a limited time, and no longer than the request
lasts.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from asgiref.sync import sync_to_async

from lab.texts.refusal import Refusal

MAX_EXECUTION_S = 120.0
"""Of all inputs of one import. Shown in the import forms."""
THREADS = 2
"""So many imports are executed at once; more wait."""

_threads = ThreadPoolExecutor(THREADS, "import")
"""Not the loop's own executor: everything else that needs a thread, opening a lab for example, would wait for imports.
"""
_importing: set[int] = set()
"""The users whose imports are being executed, or wait."""

S = TypeVar("S")
T = TypeVar("T")


class ExecutionEnded(Exception):
    """The inputs were not executed within the limit, or the request was cancelled."""


class ExecutionLimit:
    """The time that the inputs of an import have, from its first check on."""

    def __init__(self, max_s: float | None = None) -> None:
        self.max_s = MAX_EXECUTION_S if max_s is None else max_s
        self._end_s: float | None = None
        self._is_cancelled = threading.Event()

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

    def cancel(self) -> None:
        """Ends the execution at its next check."""
        self._is_cancelled.set()

    def refusal(self, branch: str, seq: int, last_seq: int) -> Refusal:
        """The reason for the user, with how far the execution came."""
        return Refusal(
            "refusal.import_too_long", field="file", branch=branch, seq=seq, events=last_seq, max=round(self.max_s)
        )


async def imported(
    user_id: int, take: Callable[[ExecutionLimit], T], enter: Callable[[T], S], undo: Callable[[], None]
) -> S:
    """The result of `enter`, which notes in the database what `take` has made in a thread. If either fails, or the
    request is cancelled before `enter` has begun, `undo` removes the files. Raises Refusal while another import of the
    user's is being executed.
    """
    if user_id in _importing:
        raise Refusal("refusal.import_running", 409, field="file")
    _importing.add(user_id)
    try:
        taken = await in_thread(take, undo)
        # What is committed is not removed, and what is refused is, also when the request is cancelled meanwhile.
        return await asyncio.shield(sync_to_async(_undone_on_failure)(lambda: enter(taken), undo))
    finally:
        _importing.discard(user_id)


async def in_thread(work: Callable[[ExecutionLimit], T], undo: Callable[[], None]) -> T:
    """The result of work that checks its limit. If the request is cancelled, because the page was closed for example,
    the work is ended first: otherwise it would go on writing files after they have been removed. If it fails, or its
    result is not taken, `undo` is called.
    """
    limit = ExecutionLimit()
    job = _threads.submit(_undone_on_failure, lambda: work(limit), undo)
    # No task: those are all cancelled when the lab ends, and their threads go on.
    working = asyncio.wrap_future(job)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        limit.cancel()
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
