"""The sequence numbers of an idempotent producer, by partition (`TxnPartitionMap`; KIP-98, KIP-360)."""

from collections.abc import Sequence
from typing import TypeAlias

from broker_core.clients.producer.accumulator import ProducerBatch
from broker_core.records.record_batch import increment_sequence

ProducerIds: TypeAlias = tuple[int, int]
"""Producer id and epoch."""


class SequenceNumbers:
    """The next number of each partition, and the last acknowledged one.

    `unresolved`: partitions with a batch that expired before its outcome was known; no new batch gets a number there
    until it is.
    """

    def __init__(self) -> None:
        self.unresolved: dict[str, None] = {}
        self._next: dict[str, int] = {}
        self._ids: dict[str, ProducerIds] = {}
        self._acknowledged: dict[str, int] = {}

    def clear(self) -> None:
        """Starts all partitions at 0 after a new id or epoch."""
        for numbers in (self.unresolved, self._next, self._ids, self._acknowledged):
            numbers.clear()

    def is_stale(self, partition: str, ids: ProducerIds) -> bool:
        """Whether a partition's numbers are of an earlier id or epoch."""
        return self._ids.get(partition, ids) != ids

    def take(self, partition: str, count: int, ids: ProducerIds) -> int:
        """The number of the first of `count` records."""
        if self.is_stale(partition, ids):
            self.restart(partition, (), ids)
        self._ids[partition] = ids
        first = self._next.get(partition, 0)
        self._next[partition] = increment_sequence(first, count)
        return first

    def restart(self, partition: str, in_flight: Sequence[ProducerBatch], ids: ProducerIds) -> None:
        """Restarts at 0 with a new epoch, from the batches in flight on (`startSequencesAtBeginning`)."""
        number = 0
        for batch in in_flight:
            batch.renumber(*ids, number)
            number = increment_sequence(number, batch.count)
        self._next[partition] = number
        self._ids[partition] = ids
        self._acknowledged.pop(partition, None)
        self.unresolved.pop(partition, None)

    def acknowledged(self, batch: ProducerBatch) -> None:
        """Records an acknowledged batch."""
        if self._ids.get(batch.partition) == (batch.producer_id, batch.producer_epoch):
            last = increment_sequence(batch.base_sequence, batch.count - 1)
            self._acknowledged[batch.partition] = max(last, self._acknowledged.get(batch.partition, -1))

    def follows_acknowledged(self, partition: str, first: int) -> bool:
        """Whether a number directly follows the last acknowledged one."""
        return first == increment_sequence(self._acknowledged.get(partition, -1), 1)

    def nothing_is_missing(self, partition: str) -> bool:
        """Whether all assigned numbers are acknowledged."""
        return self.follows_acknowledged(partition, self._next.get(partition, 0))
