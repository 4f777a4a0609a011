"""The state of one producer id in a log (`ProducerStateEntry`), and of its transaction's verification."""

from collections import deque
from typing import NamedTuple

from broker_core.records.record_batch import (
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    increment_sequence,
)

NO_COORDINATOR_EPOCH = -1
_REMEMBERED_BATCHES = 5


class BatchMetadata(NamedTuple):
    """One of a producer's last batches."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_offset(self) -> int:
        """The offset of its first record."""
        return self.last_offset - self.offset_delta

    @property
    def first_sequence(self) -> int:
        """The sequence number of its first record, counted back with the wrap at 2147483647."""
        return increment_sequence(self.last_sequence, -self.offset_delta)


class ProducerStateEntry:
    """The state of one producer id (`ProducerStateEntry`)."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_transaction_first_offset",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.coordinator_epoch = NO_COORDINATOR_EPOCH
        self.last_timestamp = NO_TIMESTAMP
        self.current_transaction_first_offset: int | None = None
        self.batches: deque[BatchMetadata] = deque(maxlen=_REMEMBERED_BATCHES)

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record, -1 if there are no batches."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
        """The cached batch that `header` duplicates."""
        if header.producer_epoch != self.producer_epoch:
            return None
        first, last = header.base_sequence, header.last_sequence
        for batch in self.batches:
            if batch.last_sequence == last and batch.first_sequence == first:
                return batch
        return None

    def set_epoch(self, epoch: int) -> None:
        """Sets a new epoch; batches of the old one are no longer recognised as duplicates."""
        if epoch != self.producer_epoch:
            self.batches.clear()
            self.producer_epoch = epoch


class VerificationStateEntry(NamedTuple):
    """A producer's transaction that is being verified with the coordinator (`VerificationStateEntry`, KIP-890); its
    number is the verification guard, valid while this entry exists.
    """

    guard: int
    producer_epoch: int
    lowest_sequence: int
