"""The queue of class labs that wake: building an engine takes a core for up to half a second."""

import asyncio
from collections import deque
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
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Waits for a turn, which lasts until the block ends."""
        if self._waking >= self._at_once() or self._waiting:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._end()
                raise
        else:
            self._waking += 1
        try:
            yield
        finally:
            self._end()

    def _end(self) -> None:
        self._waking -= 1
        while self._waiting and self._waking < self._at_once():
            turn = self._waiting.popleft()
            if not turn.cancelled():
                self._waking += 1
                turn.set_result(None)
