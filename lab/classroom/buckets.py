"""Token buckets, which limit rates. Time is an argument."""

US = 1_000_000


class Bucket:
    """`rate` per second, `burst` at once."""

    __slots__ = ("_burst", "_filled_us", "_rate", "_tokens")

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._filled_us = 0

    def take(self, now_us: int) -> bool:
        """Takes a token; returns whether there was one."""
        passed_us = max(0, now_us - self._filled_us)
        self._filled_us = max(self._filled_us, now_us)
        self._tokens = min(self._burst, self._tokens + passed_us * self._rate / US)
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def again_ms(self) -> int:
        """Time until the next token."""
        return max(0, int((1 - self._tokens) / self._rate * 1000) + 1)


class ActLimits:
    """The limits of one person across all their sockets; acts, votes and strokes have separate buckets. Refusals are
    sent at most once a second; two hundred in ten seconds close a socket.
    """

    RATE, BURST = 10, 30
    MAX_REFUSED, REFUSED_IN_US = 200, 10 * US

    def __init__(self) -> None:
        self._buckets = {"act": Bucket(self.RATE, self.BURST), "vote": Bucket(2, 10), "draw": Bucket(20, 40)}
        self._answers = Bucket(1, 1)
        self._refused = 0
        self._refused_since_us = 0

    def take(self, kind: str, now_us: int) -> bool:
        """Whether an act is allowed now. `kind`: act, vote, draw."""
        return self._buckets[kind].take(now_us)

    def again_ms(self, kind: str) -> int:
        return self._buckets[kind].again_ms()

    def is_answered(self, now_us: int) -> bool:
        """Whether a refusal for the limit is sent: at most once a second."""
        return self._answers.take(now_us)

    def closes(self, now_us: int) -> bool:
        """Counts a refusal; returns whether it closes the socket."""
        if now_us - self._refused_since_us > self.REFUSED_IN_US:
            self._refused, self._refused_since_us = 0, now_us
        self._refused += 1
        return self._refused >= self.MAX_REFUSED
