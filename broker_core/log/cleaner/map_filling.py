"""The first half of a cleaning pass: the dirty section is read to find the last offset of each key
(`Cleaner.buildOffsetMap`).
"""

from broker_core.log.cleaner.cleanable import segments_between
from broker_core.log.cleaner.offset_map import OffsetMap
from broker_core.log.cleaner.segment_batches import aborted_transactions, batches_of, is_full_after
from broker_core.log.cleaner.transactions import CleanedTransactions
from broker_core.log.recovery.slices import Work
from broker_core.log.unified_log import UnifiedLog
from broker_core.records.legacy import read_message
from broker_core.records.record_batch import MAGIC_V2, BatchHeader, records_bytes
from broker_core.records.record_columns import read_columns


class MapFilling:
    """Reads the keys of the segments from the one that holds `start` up to `end`, until the map is full. Pickled with
    its broker.
    """

    def __init__(self, log: UnifiedLog, start: int, end: int, offset_map: OffsetMap) -> None:
        self._map = offset_map
        self._start = start
        self._transactions = CleanedTransactions()
        self._transactions.add_aborted(aborted_transactions(log, start, end))
        offset_map.advance(start - 1)
        dirty = segments_between(log, start, end)
        ends = [*(segment.base_offset for segment in dirty[1:]), end]
        self._left = list(zip(dirty, ends, strict=False))[::-1]
        """The segments that are not read yet, with their end offsets; the next one is the last."""
        self._position: int | None = None
        """Where the next batch of that segment begins; None before its first."""

    def run_slice(self, work: Work) -> bool:
        """Reads on; returns whether everything is read, or the map is full. Raises as `clean` does."""
        while self._left:
            segment, end = self._left[-1]
            if self._position is None:
                self._position = segment.offset_index.lookup(self._start)
            for data, at, header in batches_of(segment, self._position):
                if not self._take(data, at, header):
                    self._left.clear()
                    return True
                self._position += header.size
                if is_full_after(work, header):
                    return False
            self._map.advance(end - 1)
            self._left.pop()
            self._position = None
        return True

    def _take(self, data: bytes, position: int, header: BatchHeader) -> bool:
        """Adds the keys of a batch; returns False when the map is full."""
        if header.is_control:
            self._transactions.is_empty_marker(header, data, position)
        elif not self._transactions.is_aborted(header) and header.record_count:
            keys, offsets = _keys_and_offsets(data, position, header)
            if not self._map.put_all(keys, offsets, self._start):
                return False
        if header.last_offset >= self._start:
            self._map.advance(header.last_offset)
        return True


def _keys_and_offsets(data: bytes, position: int, header: BatchHeader) -> tuple[list[bytes | None], list[int]]:
    if header.magic < MAGIC_V2:
        messages = read_message(data, position).records()
        return [message.key for message in messages], [message.offset for message in messages]
    columns = read_columns(records_bytes(data, header, position), header.record_count)
    base_offset = header.base_offset
    return columns.keys, [base_offset + delta for delta in columns.offset_deltas]
