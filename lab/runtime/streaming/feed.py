"""Decides what one socket gets next: deltas while it keeps up, a snapshot when it is too far behind.

The server never queues for a socket. It stores the last seq sent to the socket, and a window of unacknowledged frames;
a slow page closes its window and gets the newest state when it opens again.
"""

from collections import deque

from lab.runtime.streaming.ring import Ring
from lab.runtime.streaming.shared import Deltas, SharedFrames

MAX_UNACKED_BYTES = 256 * 1024
MIN_UNACKED_BYTES = 16 * 1024
FIRST_UNACKED_BYTES = 64 * 1024
"""Until it is known how fast the link is."""
MAX_UNACKED_FRAMES = 8
SLOW_S, FAST_S = 0.75, 0.2
"""A frame that is acknowledged later than after `SLOW_S` halves the window in bytes; sooner than `FAST_S` it doubles a
window of which at least half was used. What waits in front of a slow link is old when it arrives.
"""
MAX_MISSED_EVENTS = 2_000
"""A page that missed this number of events while the window was closed gets a snapshot instead."""


class Window:
    """Frames in flight to a page. Instants are in seconds of any clock that does not jump."""

    def __init__(self) -> None:
        self._frames: deque[tuple[int, int, float]] = deque()
        self._bytes = 0
        self.max_bytes = FIRST_UNACKED_BYTES
        """The most bytes of all frames in flight, and so of one: a page that keeps up gets a beat in one frame."""

    @property
    def is_open(self) -> bool:
        return len(self._frames) < MAX_UNACKED_FRAMES and self._bytes < self.max_bytes

    def sent(self, seq: int, size: int, now_s: float) -> None:
        """A frame of `size` bytes was sent whose last event is `seq`."""
        self._frames.append((seq, size, now_s))
        self._bytes += size

    def acknowledged(self, seq: int, now_s: float) -> None:
        """The page has everything up to `seq`."""
        delay_s, in_flight = None, self._bytes
        while self._frames and self._frames[0][0] <= seq:
            _, size, sent_s = self._frames.popleft()
            self._bytes -= size
            delay_s = now_s - sent_s
        if delay_s is None:
            return
        if delay_s > SLOW_S:
            self.max_bytes = max(MIN_UNACKED_BYTES, self.max_bytes // 2)
        elif delay_s < FAST_S and in_flight * 2 >= self.max_bytes:
            self.max_bytes = min(MAX_UNACKED_BYTES, self.max_bytes * 2)


class SnapshotNeeded:
    """The socket has to start from a whole view."""


class Feed:
    """The position of one socket in a branch."""

    def __init__(self, have: int | None, shared: SharedFrames) -> None:
        """`have`: the last seq that the page holds; None when it must start from a snapshot. `shared`: the frames of
        the branch.
        """
        self.position = have
        self._shared = shared
        self.window = Window()
        self._dirty = False

    @property
    def is_dirty(self) -> bool:
        """Whether there was something to send while the window was closed."""
        return self._dirty

    def next(self, ring: Ring, sent_ms: int, clock: bytes | None = None) -> Deltas | SnapshotNeeded | None:
        """What to send now; None if there is nothing, or the window is closed. Call `sent` or `snapped` after it.
        `clock`: encoded, to be sent with the newest event.
        """
        position = self.position
        if position == ring.last_seq:
            return None
        if not self.window.is_open:
            self._dirty = True
            return None
        if position is None or not ring.follows(position):
            return SnapshotNeeded()
        if self._dirty and ring.last_seq - position >= MAX_MISSED_EVENTS:
            return SnapshotNeeded()
        self._dirty = False
        return self._shared.deltas(ring, position, sent_ms, clock, self.window.max_bytes)

    def sent(self, deltas: Deltas, now_s: float) -> None:
        self.position = deltas.last_seq
        self.window.sent(deltas.last_seq, len(deltas.frame), now_s)

    def snapped(self, seq: int, size: int, now_s: float) -> int:
        """A snapshot of the state after `seq` was sent. Returns how many events the page skips."""
        skipped = 0 if self.position is None else max(0, seq - self.position)
        self.position = seq
        self._dirty = False
        self.window.sent(seq, size, now_s)
        return skipped
