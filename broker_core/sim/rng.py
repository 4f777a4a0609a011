"""Named, seeded streams of random numbers.

A stream is its own generator, keyed by the run's seed and its name, so that one part of the core drawing one number
more changes nothing for the others. The generator is SplitMix64: 64 bits of state, the same on every machine.
"""

from hashlib import blake2b

_MASK = (1 << 64) - 1


class Stream:
    """One stream. All draws are integers; there are no floats to round differently elsewhere."""

    __slots__ = ("_state",)

    def __init__(self, seed: int, name: str) -> None:
        self._state = int.from_bytes(blake2b(f"{seed}/{name}".encode(), digest_size=8).digest(), "big")

    def next_u64(self) -> int:
        """The next 64 bits."""
        self._state = state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        return state ^ (state >> 31)

    def below(self, bound: int) -> int:
        """An integer in `[0, bound)`. Raises ValueError for a bound below 1."""
        if bound < 1:
            raise ValueError(f"bound is {bound}, expected at least 1")
        # `next_u64`, written out: every message of a run draws its latency here.
        self._state = state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((state ^ (state >> 31)) * bound) >> 64

    def between(self, low: int, high: int) -> int:
        """An integer in `[low, high]`."""
        return low + self.below(high - low + 1)

    def bytes(self, count: int) -> bytes:
        """`count` random bytes."""
        drawn = b"".join(self.next_u64().to_bytes(8, "big") for _ in range((count + 7) // 8))
        return drawn[:count]


class Streams:
    """All streams of a run, made on first use."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[str, Stream] = {}

    def __getitem__(self, name: str) -> Stream:
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = Stream(self.seed, name)
        return stream
