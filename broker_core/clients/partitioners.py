"""Which partition a record goes to when nobody said so (`BuiltInPartitioner`, `Utils.murmur2`; KIP-794).

Records with a key go to the partition of the key's hash, over all partitions. Records without one stick to a
partition until `batch.size` bytes went there, then to another one, drawn with more weight where less waits to be sent.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from broker_core.sim.rng import Stream

_MASK = 0xFFFFFFFF
_M = 0x5BD1E995


def murmur2(data: bytes) -> int:
    """Kafka's hash of a key: 32 bits, signed."""
    length = len(data)
    h = 0x9747B28C ^ length
    whole = length & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if whole < length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    h ^= h >> 15
    return h - (1 << 32) if h >> 31 else h


def partition_for_key(key: bytes, partition_count: int) -> int:
    """The partition of a key (`BuiltInPartitioner.partitionForKey`)."""
    return (murmur2(key) & 0x7FFFFFFF) % partition_count


class StickyPartitioner:
    """The choice for records without a key, for one topic of one producer."""

    def __init__(self, stream: Stream, batch_size: int) -> None:
        self.stream = stream
        self.batch_size = batch_size
        self._partition: int | None = None
        self._produced_bytes = 0

    def partition(self, available: Sequence[int], queue_sizes: Sequence[int] = ()) -> int:
        """The partition for the next record.

        `available` are the partitions that have a leader. `queue_sizes`, if given, say of each how many batches wait
        for it.
        """
        if self._partition is None or self._partition not in available:
            self._partition = self._next(available, queue_sizes)
            self._produced_bytes = 0
        return self._partition

    def appended(self, byte_count: int, *, batch_completed: bool) -> None:
        """Takes note of what went to the current partition, and lets go of it after enough bytes."""
        self._produced_bytes += byte_count
        enough = self._produced_bytes >= self.batch_size
        if enough and (batch_completed or self._produced_bytes >= 2 * self.batch_size):
            self._partition = None

    def _next(self, available: Sequence[int], queue_sizes: Sequence[int]) -> int:
        if len(queue_sizes) < 2 or len(set(queue_sizes)) == 1:
            return available[self.stream.below(len(available))]
        ceiling = max(queue_sizes) + 1
        cumulative = list(accumulate(ceiling - size for size in queue_sizes))
        return available[bisect_right(cumulative, self.stream.below(cumulative[-1]))]
