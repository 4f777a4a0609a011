"""The queue of class labs that wake: building an engine takes a core for up to half a second."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from lab.runtime.sharing.load import load


class WakeQueue:
    """Limits the labs that wake at the same time to the number given by `load`, in order of arrival. Use it from one
    event loop.
    """

    def __init__(self, at_once: Callable[[], int] = lambda: load.wakes_at_once) -> None:
        self._at_once = at_once
        self._waking = 0
        self._waiting: dict[asyncio.Future[None], Callable[[int | None], None]] = {}

    @asynccontextmanager
    async def turn(self, tell: Callable[[int | None], None] = lambda before: None) -> AsyncIterator[None]:
        """Waits for a turn, which lasts until the block ends. `tell` is called with the number of labs that wake before
        this one whenever it changes, with 0 when the turn begins, and with None when it ends.
        """
        try:
            await self._wait(tell)
            try:
                tell(0)
                yield
            finally:
                self._end()
        finally:
            tell(None)

    async def _wait(self, tell: Callable[[int | None], None]) -> None:
        if self._waking < self._at_once() and not self._waiting:
            self._waking += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        tell(self._waking + len(self._waiting))
        self._waiting[turn] = tell
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._end()
            elif self._waiting.pop(turn, None) is not None:
                self._tell()
            raise

    def _end(self) -> None:
        self._waking -= 1
        while self._waiting and self._waking < self._at_once():
            turn = next(iter(self._waiting))
            del self._waiting[turn]
            if not turn.cancelled():
                self._waking += 1
                turn.set_result(None)
        self._tell()

    def _tell(self) -> None:
        for before, tell in enumerate(self._waiting.values(), self._waking):
            tell(before)
