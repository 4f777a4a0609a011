"""The partition of a record for which none was given (`BuiltInPartitioner`, `DefaultPartitioner`, `Utils.murmur2`).

Records with a key go to the partition of the key's hash, over all partitions, unless keys are ignored. The rule for
other records has changed four times; a producer of the lab can be configured with any of them.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol

from broker_core.config_defs.java_text import signed, string_code
from broker_core.sim.rng import RandomStream

_MASK = 0xFFFFFFFF
_M = 0x5BD1E995
RANDOM_FOR_US = 600_000_000
"""`topic.metadata.refresh.interval.ms` of the Scala producer."""


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
    return signed(h)


class PartitionChoice(NamedTuple):
    """A partition, and the rule that chose it: `rule` is "key", or for a record without one: "new" or "stays" (sticky),
    "next" (round robin), "random". `key_hash` is that of the key, None without one.
    """

    partition: int
    rule: str
    key_hash: int | None = None


class Queues(Protocol):
    """What a partitioner sees of the accumulator: the partitions of one topic, by number."""

    def waiting(self, partition: int) -> int | None:
        """The number of queued batches; None before the first one."""

    def takes_more(self, partition: int) -> bool:
        """Whether the last batch is open and has capacity left."""


class Partitioner:
    """The partitioner of one topic of one producer."""

    def __init__(self, stream: RandomStream, batch_size: int) -> None:
        self.stream = stream
        self.batch_size = batch_size

    def of_key(self, key: bytes, partition_count: int) -> PartitionChoice:
        """The partition of a record with a key (`BuiltInPartitioner.partitionForKey`)."""
        hashed = murmur2(key)
        return PartitionChoice((hashed & 0x7FFFFFFF) % partition_count, "key", hashed)

    def without_key(self, available: Sequence[int], queues: Queues, now_us: int) -> PartitionChoice:
        """The partition for the next record that has no key. `available` are the partitions that have a leader."""
        raise NotImplementedError

    def appended(self, byte_count: int, *, batch_completed: bool) -> None:
        """Counts bytes written to a partition chosen without a key; `batch_completed`: it has no open batch."""

    def _another(self, available: Sequence[int], current: int | None) -> int:
        others = [each for each in available if each != current] or list(available)
        return others[self.stream.below(len(others))]


class StickyPartitioner(Partitioner):
    """Since 3.3 (KIP-794): one partition until `batch.size` bytes were written to it, then another one, drawn at random
    with a preference for short queues.
    """

    def __init__(self, stream: RandomStream, batch_size: int) -> None:
        super().__init__(stream, batch_size)
        self._partition: int | None = None
        self._produced_bytes = 0

    def partition(self, available: Sequence[int], queue_sizes: Sequence[int] = ()) -> int:
        """The partition for the next record; `queue_sizes`, if given, has the number of queued batches of each."""
        if self._partition is None or self._partition not in available:
            self._partition = self._next(available, queue_sizes)
            self._produced_bytes = 0
        return self._partition

    def without_key(self, available: Sequence[int], queues: Queues, now_us: int) -> PartitionChoice:
        before = self._partition
        sizes = [queues.waiting(each) for each in available]
        known = [size for size in sizes if size is not None]
        number = self.partition(available, known if len(known) == len(sizes) else ())
        return PartitionChoice(number, "stays" if number == before else "new")

    def appended(self, byte_count: int, *, batch_completed: bool) -> None:
        """Chooses another partition after enough bytes."""
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


class StickyBatchPartitioner(Partitioner):
    """2.4 to 3.2 (KIP-480): one partition until a batch is full there, then another one at random."""

    def __init__(self, stream: RandomStream, batch_size: int) -> None:
        super().__init__(stream, batch_size)
        self._partition: int | None = None

    def without_key(self, available: Sequence[int], queues: Queues, now_us: int) -> PartitionChoice:
        current = self._partition
        if current is not None and current in available and queues.takes_more(current):
            return PartitionChoice(current, "stays")
        self._partition = self._another(available, self._partition)
        return PartitionChoice(self._partition, "new")


class RoundRobinPartitioner(Partitioner):
    """The Java producer until 2.3: partitions in turn, from a random start."""

    def __init__(self, stream: RandomStream, batch_size: int) -> None:
        super().__init__(stream, batch_size)
        self._counter: int | None = None

    def without_key(self, available: Sequence[int], queues: Queues, now_us: int) -> PartitionChoice:
        self._counter = self.stream.below(1 << 31) if self._counter is None else (self._counter + 1) & 0x7FFFFFFF
        return PartitionChoice(available[self._counter % len(available)], "next")


class RandomPartitioner(Partitioner):
    """The Scala producer, until 0.8: a random partition, for ten minutes. It takes Java's hash of a key."""

    def __init__(self, stream: RandomStream, batch_size: int) -> None:
        super().__init__(stream, batch_size)
        self._partition: int | None = None
        self._until_us = 0

    def of_key(self, key: bytes, partition_count: int) -> PartitionChoice:
        code = string_code(key.decode(errors="replace"))
        signed = code - (1 << 32) if code >> 31 else code
        return PartitionChoice((0 if signed == -(1 << 31) else abs(signed)) % partition_count, "key", signed)

    def without_key(self, available: Sequence[int], queues: Queues, now_us: int) -> PartitionChoice:
        current = self._partition
        if current is not None and current in available and now_us < self._until_us:
            return PartitionChoice(current, "stays")
        self._until_us = now_us + RANDOM_FOR_US
        self._partition = available[self.stream.below(len(available))]
        return PartitionChoice(self._partition, "random")


PARTITIONERS: dict[str, type[Partitioner]] = {
    "built-in": StickyPartitioner,
    "sticky": StickyBatchPartitioner,
    "round-robin": RoundRobinPartitioner,
    "random": RandomPartitioner,
}
"""By their names in the shell, newest first."""
