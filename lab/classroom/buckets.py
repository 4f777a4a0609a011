"""Token buckets, which limit rates. Time is an argument."""

from typing import Protocol

US = 1_000_000


class Bucket:
    """`rate` per second, `burst` at once."""

    __slots__ = ("_burst", "_filled_us", "_tokens", "rate")

    def __init__(self, rate: float, burst: int) -> None:
        self.rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._filled_us = 0

    def take(self, now_us: int) -> bool:
        """Takes a token; returns whether there was one."""
        passed_us = max(0, now_us - self._filled_us)
        self._filled_us = max(self._filled_us, now_us)
        self._tokens = min(self._burst, self._tokens + passed_us * self.rate / US)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def again_ms(self) -> int:
        """Time until the next token."""
        return max(0, int((1 - self._tokens) / self.rate * 1000) + 1)


class Page(Protocol):
    """A socket of a person."""

    def make_room(self) -> None:
        """Ends it, since the person has opened too many others. Must not wait for its network."""


class ActLimits:
    """The limits of one person across all their sockets. Acts, votes and strokes have separate buckets; all other
    frames share one, and of those some have a smaller one as well. Refusals are sent at most once a second; two hundred
    in ten seconds close a socket, and the person may not open another one for thirty seconds.
    """

    RATE, BURST = 10, 30
    FRAME_RATE, FRAME_BURST = 60, 120
    """The frames of one page: at most 10 views and 17 points per second, and a measurement of time with each `here`."""
    MAX_REFUSED, REFUSED_IN_US = 200, 10 * US
    HELD_OFF_US = 30 * US
    MAX_SOCKETS = 24
    """At once: several pages on two devices, with some whose network is gone and which have not timed out yet."""

    def __init__(self) -> None:
        self._buckets = {
            "act": Bucket(self.RATE, self.BURST),
            "vote": Bucket(2, 10),
            "draw": Bucket(20, 40),
            "frame": Bucket(self.FRAME_RATE, self.FRAME_BURST),
            "here": Bucket(10, 30),
            "front": Bucket(1, 10),
            "view": Bucket(10, 10),
        }
        self._answers = Bucket(1, 1)
        self._refused = 0
        self._refused_since_us = 0
        self._sockets: dict[Page, None] = {}
        self._held_off_until_us = 0

    def take(self, kind: str, now_us: int) -> bool:
        """Whether a frame is allowed now. `kind`: act, vote, draw; frame for all others, of which some also take here,
        front (another lab in front) or view.
        """
        return self._buckets[kind].take(now_us)

    def again_ms(self, kind: str) -> int:
        return self._buckets[kind].again_ms()

    def rate(self, kind: str) -> float:
        """Frames of a kind per second, for the refusal."""
        return self._buckets[kind].rate

    def is_answered(self, now_us: int) -> bool:
        """Whether a refusal for the limit is sent: at most once a second."""
        return self._answers.take(now_us)

    def closes(self, now_us: int) -> bool:
        """Counts a refusal; returns whether it closes the socket."""
        if now_us - self._refused_since_us > self.REFUSED_IN_US:
            self._refused, self._refused_since_us = 0, now_us
        self._refused += 1
        return self._refused >= self.MAX_REFUSED

    # Sockets

    def hold_off(self, now_us: int) -> None:
        """A socket was closed for a flood: the person may not open another one for a while."""
        self._held_off_until_us = now_us + self.HELD_OFF_US

    def is_held_off(self, now_us: int) -> bool:
        return now_us < self._held_off_until_us

    def open_socket(self, socket: Page) -> None:
        """Notes a socket. Of too many the oldest ends: it may be one whose network is gone."""
        self._sockets[socket] = None
        if len(self._sockets) > self.MAX_SOCKETS:
            oldest = next(iter(self._sockets))
            del self._sockets[oldest]
            oldest.make_room()

    def close_socket(self, socket: Page) -> None:
        self._sockets.pop(socket, None)
