"""Named, seeded streams of random numbers.

A stream is a separate generator, seeded by the run's seed and its name, so that an extra draw in one part of the core
does not change the others. The generator is SplitMix64: 64 bits of state, the same on every machine.
"""

from hashlib import blake2b
from struct import Struct

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
# The states are an arithmetic sequence, so several numbers are mixed at once: as lanes of one large integer, each with
# room for the product of two 64-bit numbers.
_LANES = 64
_ONES = sum(1 << 128 * lane for lane in range(_LANES))
_STEPS = sum(((lane + 1) * _GAMMA & _MASK) << 128 * lane for lane in range(_LANES))
_LOW_HALVES = _MASK * _ONES
_UNPACK = Struct("<" + "Q8x" * _LANES).unpack


def _mix(state: int) -> list[int]:
    """The numbers that follow a state, the last one first."""
    lanes = (state * _ONES + _STEPS) & _LOW_HALVES
    lanes = ((lanes ^ (lanes >> 30)) & _LOW_HALVES) * 0xBF58476D1CE4E5B9 & _LOW_HALVES
    lanes = ((lanes ^ (lanes >> 27)) & _LOW_HALVES) * 0x94D049BB133111EB & _LOW_HALVES
    lanes = (lanes ^ (lanes >> 31)) & _LOW_HALVES
    return list(reversed(_UNPACK(lanes.to_bytes(16 * _LANES, "little"))))


class RandomStream:
    """One stream. All draws are integers; there are no floats to round differently elsewhere."""

    __slots__ = ("_ahead", "_state")

    def __init__(self, seed: int, name: str) -> None:
        self._state = int.from_bytes(blake2b(f"{seed}/{name}".encode(), digest_size=8).digest(), "big")
        self._ahead: list[int] = []

    def next_u64(self) -> int:
        """The next 64 bits."""
        return (self._ahead or self._mix_more()).pop()

    def _mix_more(self) -> list[int]:
        self._ahead = _mix(self._state)
        self._state = (self._state + _LANES * _GAMMA) & _MASK
        return self._ahead

    def below(self, bound: int) -> int:
        """An integer in `[0, bound)`. Raises ValueError for a bound below 1."""
        if bound < 1:
            raise ValueError(f"bound is {bound}, expected at least 1")
        # Every message draws its latency, so this is inlined.
        return ((self._ahead or self._mix_more()).pop() * bound) >> 64

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
        self._streams: dict[str, RandomStream] = {}

    def __getitem__(self, name: str) -> RandomStream:
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = RandomStream(self.seed, name)
        return stream
