"""The facts that an append or a read hands to its caller. They are plain values: a replica turns them into events."""

import msgspec

from broker_core.log.index.transaction_index import AbortedTransaction
from broker_core.log.local_log import RollFact
from broker_core.log.segment_facts import BatchFact
from broker_core.records.control_record import ControlRecordType


class ProducerFact(msgspec.Struct, frozen=True, gc=False):
    """A batch of a producer that has an id; `marker`: what ends its transaction, by a coordinator of this epoch.

    `transaction_first_offset`: where the transaction began that a marker ends; None = it had written nothing here.
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
    """What an append did (`LogAppendInfo`). Offsets are those of the log, timestamps ms, sizes and positions bytes."""

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
    """What ABORT markers among the batches added to the transaction index."""
    is_duplicate: bool = False
    """The producer had sent this batch before: nothing was written, the offsets are those of the first time."""
    producers: tuple[ProducerFact, ...] = ()
    """What the producers' state took note of."""


class ReadInfo(msgspec.Struct, frozen=True, gc=False):
    """What a read found: whole batches, the first of which may begin below the offset that was asked for."""

    data: bytes
    segment_base: int
    position: int
    """Where `data` begins in the segment's `.log`."""
    first_offset: int
    """The base offset of the first batch; the offset asked for when there is no data."""
    next_offset: int
    """The offset after the last batch: where the next fetch goes on."""
