"""What the cleaner reads from segments: their batches, and the aborted transactions in them."""

from collections.abc import Iterator

from broker_core.log.cleaner.cleanable import segments_between
from broker_core.log.cleaner.facts import Uncleanable
from broker_core.log.index.transaction_index import AbortedTransaction
from broker_core.log.recovery.slices import Work
from broker_core.log.segment import LogSegment
from broker_core.log.unified_log import UnifiedLog
from broker_core.records.record_batch import (
    MAGIC_V2,
    BatchHeader,
    CorruptRecord,
    iterate_batches,
    parse_header,
    smallest_length,
)
from broker_core.texts import Text, text

CHUNK_BYTES = 256 * 1024
RECORDS_PER_BATCH = 5
"""The cost of a batch that is cleaned: as much as a batch that recovery checks for each of so many records."""


def batches_of(segment: LogSegment, position: int = 0) -> Iterator[tuple[bytes, int, BatchHeader]]:
    """The batches of a segment from a position on: the bytes that hold each, its position in them, its header.

    Messages of magic 0 and 1 count as batches. Raises Uncleanable if the segment holds an incomplete one.
    """
    while position < segment.size:
        data = segment.log.read(position, min(CHUNK_BYTES, segment.size - position))
        try:
            first = parse_header(data)
        except CorruptRecord:
            raise _unreadable(segment, position, text("fault.last_batch_incomplete")) from None
        if first.magic > MAGIC_V2:
            raise _unreadable(segment, position, text("fault.magic", magic=first.magic, max=MAGIC_V2))
        if first.length < smallest_length(first.magic) or position + first.size > segment.size:
            raise _unreadable(segment, position, text("fault.batch_size", size=first.size))
        if first.size > len(data):
            data = segment.log.read(position, first.size)
        consumed = 0
        for at, header in iterate_batches(data):
            if header.magic > MAGIC_V2:
                break
            yield data, at, header
            consumed = at + header.size
        position += consumed


def is_full_after(work: Work, header: BatchHeader) -> bool:
    """Adds a batch to the work of a slice; returns whether that is full."""
    return work.add(header.size, 1 + max(header.record_count, 0) // RECORDS_PER_BATCH)


def aborted_transactions(log: UnifiedLog, start: int, end: int) -> list[AbortedTransaction]:
    """The aborted transactions of the segments from the one that holds `start`, below `end` and aborted above the log's
    start (`collectAbortedTransactions`).
    """
    found = []
    for segment in segments_between(log, start, log.log_end_offset + 1):
        overlapping, is_complete = segment.transaction_index.collect(log.log_start_offset, end)
        found += overlapping
        if is_complete:
            break
    return found


def _unreadable(segment: LogSegment, position: int, rule: Text) -> Uncleanable:
    return Uncleanable(text("fault.at_byte", file=segment.log.path, position=position, rule=rule))
