"""Executes the recorded inputs of an import: in a thread, for a limited time, and no longer than its request lasts."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from lab.texts.refusal import Refusal

MAX_EXECUTION_S = 120.0
"""Of all inputs of one import. The forms of imports tell it."""

T = TypeVar("T")


class TakesTooLong(Exception):
    """The inputs were not executed within the limit, or the request was cancelled."""


class ExecutionLimit:
    """The time that the inputs of an import have, from its first check on."""

    def __init__(self, max_s: float | None = None) -> None:
        self.max_s = MAX_EXECUTION_S if max_s is None else max_s
        self._end_s: float | None = None
        self._is_cancelled = threading.Event()

    def check(self) -> None:
        """Raises TakesTooLong when the time is over. Called in the thread that executes."""
        now_s = time.monotonic()
        if self._end_s is None:
            self._end_s = now_s + self.max_s
        if now_s >= self._end_s or self._is_cancelled.is_set():
            raise TakesTooLong

    def cancel(self) -> None:
        """Ends the execution at its next check."""
        self._is_cancelled.set()

    def refusal(self, branch: str, seq: int, last_seq: int) -> Refusal:
        """The reason for the user, with how far the execution came."""
        return Refusal(
            "refusal.import_too_long", field="file", branch=branch, seq=seq, events=last_seq, max=round(self.max_s)
        )


async def in_thread(work: Callable[[ExecutionLimit], T]) -> T:
    """The result of work that checks its limit. If the request is cancelled, because the page was closed for example,
    the work is ended first: otherwise it would go on writing files after they have been removed.
    """
    limit = ExecutionLimit()
    # No task: those are all cancelled when the lab ends, and their threads go on.
    working = asyncio.get_running_loop().run_in_executor(None, work, limit)
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        limit.cancel()
        await asyncio.wait([working])
        # Its refusal has no reader left.
        working.cancelled() or working.exception()
        raise
