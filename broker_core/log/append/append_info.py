"""The results of appends and reads, as plain values; a replica emits events from them."""

import msgspec

from broker_core.log.index.transaction_index import AbortedTransaction
from broker_core.log.local_log import RollFact
from broker_core.log.segment_facts import BatchFact
from broker_core.records.control_record import ControlRecordType


class ProducerFact(msgspec.Struct, frozen=True, gc=False):
    """A batch of a producer with an id. `marker` ends its transaction and carries the coordinator's epoch.

    `transaction_first_offset`: first offset of the transaction that a marker ends; None if it has no records here.
    """

    producer_id: int
    producer_epoch: int
    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    is_transactional: bool
    marker: tuple[ControlRecordType, int] | None = None
    transaction_first_offset: int | None = None


class AppendInfo(msgspec.Struct, frozen=True, gc=False):
    """The result of an append (`LogAppendInfo`). Offsets are those of the log, timestamps ms, sizes and positions
    bytes.
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    record_count: int
    byte_count: int
    segment_base: int
    position: int
    batches: tuple[BatchFact, ...]
    rolled: tuple[RollFact, ...] = ()
    index_entries: tuple[tuple[int, int], ...] = ()
    time_index_entries: tuple[tuple[int, int], ...] = ()
    epoch_entries: tuple[tuple[int, int], ...] = ()
    """(epoch, start offset) of each leader epoch that was new to the log."""
    aborted_transactions: tuple[AbortedTransaction, ...] = ()
    """The entries that ABORT markers in the batches added to the transaction index."""
    is_duplicate: bool = False
    """The batch is a duplicate: nothing was written, and the offsets are those of the first append."""
    producers: tuple[ProducerFact, ...] = ()
    """The batches that updated the producer state."""


class ReadInfo(msgspec.Struct, frozen=True, gc=False):
    """The result of a read: complete batches, the first of which may begin below the requested offset."""

    data: bytes
    segment_base: int
    position: int
    """Position of `data` in the segment's `.log`."""
    first_offset: int
    """The base offset of the first batch; the requested offset if there is no data."""
    next_offset: int
    """The offset after the last batch, where the next fetch starts."""
