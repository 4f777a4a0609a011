"""The outgoing queue of one page: three lanes, none of which blocks on a slow page.

*Answers* are sent first; a page with 64 unread ones is closed. *Events* are not queued: while the page's window of
unacknowledged frames and bytes allows, it gets everything since the last frame in one frame; a page that is too far
behind gets a snapshot. *Volatile* topics have one slot each, which keeps the newest frame; tiles have one per learner,
and are sent in one frame.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Protocol

from lab.classroom.audience import Viewer
from lab.classroom.frames import encode_tiles

MAX_ANSWERS = 64
WINDOW_FRAMES = 16
WINDOW_BYTES = 128 * 1024


class Frames(Protocol):
    """The part of the board that a lane needs."""

    last_seq: int

    def has_since(self, seq: int) -> bool: ...

    def has_news(self, viewer: Viewer, after: int) -> bool: ...

    def frame(self, viewer: Viewer, after: int) -> bytes: ...

    def snap(self, viewer: Viewer) -> bytes: ...


class TooManyAnswers(Exception):
    """The page sends acts without reading the answers."""


class Outbox:
    """The lanes of one socket. Use it from one event loop."""

    def __init__(self, board: Frames, viewer: Viewer, have: int) -> None:
        """`have`: the last seq that the page holds of this start of the server; -1 for nothing."""
        self.viewer = viewer
        self._board = board
        self._sent = have
        self._answers: deque[bytes] = deque()
        self._volatile: dict[str, bytes] = {}
        self._tiles: dict[str, bytes] = {}
        self._tiles_us = 0
        self._unacknowledged: deque[tuple[int, int]] = deque()
        self._unacknowledged_bytes = 0
        self._is_due = True
        self._wake = asyncio.Event()
        self._wake.set()

    def answer(self, frame: bytes) -> None:
        """A frame that is sent before all others. Raises TooManyAnswers."""
        if len(self._answers) >= MAX_ANSWERS:
            raise TooManyAnswers
        self._answers.append(frame)
        self._wake.set()

    def set(self, topic: str, frame: bytes) -> None:
        """The newest frame of a volatile topic."""
        self._volatile[topic] = frame
        self._wake.set()

    def set_tiles(self, class_us: int, rows: Mapping[str, bytes]) -> None:
        """Adds the newest tiles, encoded, by participant."""
        self._tiles |= rows
        self._tiles_us = class_us
        self._wake.set()

    def notify(self) -> None:
        """New events may be available for the page."""
        if not self._is_due and self._has_news:
            self._is_due = True
            self._wake.set()

    def acknowledge(self, upto: int) -> bool:
        """The page has everything up to `upto`. Returns whether a frame was waiting for that."""
        waiting = len(self._unacknowledged)
        while self._unacknowledged and self._unacknowledged[0][0] <= upto:
            self._unacknowledged_bytes -= self._unacknowledged.popleft()[1]
        if len(self._unacknowledged) == waiting:
            return False
        if self._is_due:
            self._wake.set()
        return True

    def restart(self, viewer: Viewer) -> None:
        """The person's rights have changed: the page starts again with a snapshot."""
        self.viewer = viewer
        self._sent = -1
        self.notify()

    def take_answers(self) -> list[bytes]:
        """The answers that wait, for a page that is about to be closed."""
        answers = list(self._answers)
        self._answers.clear()
        return answers

    async def next(self) -> bytes:
        """The next frame to send."""
        while True:
            frame = self._next()
            if frame is not None:
                return frame
            self._wake.clear()
            await self._wake.wait()

    def _next(self) -> bytes | None:
        if self._answers:
            return self._answers.popleft()
        if self._is_due and self._has_window:
            self._is_due = False
            if self._has_news:
                return self._events()
        if self._volatile:
            return self._volatile.pop(next(iter(self._volatile)))
        if self._tiles:
            rows, self._tiles = self._tiles, {}
            return encode_tiles(self._tiles_us, rows)
        return None

    @property
    def _has_news(self) -> bool:
        return self._sent < 0 or self._board.has_news(self.viewer, self._sent)

    @property
    def _has_window(self) -> bool:
        return len(self._unacknowledged) < WINDOW_FRAMES and self._unacknowledged_bytes < WINDOW_BYTES

    def _events(self) -> bytes:
        board = self._board
        is_near = self._sent >= 0 and board.has_since(self._sent)
        frame = board.frame(self.viewer, self._sent) if is_near else board.snap(self.viewer)
        self._sent = board.last_seq
        self._unacknowledged.append((self._sent, len(frame)))
        self._unacknowledged_bytes += len(frame)
        return frame
