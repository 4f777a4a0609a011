"""Reads all records of a log from its start, as coordinators do when they load a partition."""

from collections.abc import Iterator

from broker_core.log.recovery.slices import Work
from broker_core.log.unified_log import UnifiedLog
from broker_core.records.record_batch import BatchHeader, Record, iterate_batches, iterate_records

LOAD_BUFFER_SIZE = 5_242_880
"""`offsets.load.buffer.size` and `transaction.state.log.load.buffer.size`: the bytes of one read by Kafka."""
_READ_BYTES = 256 * 1024
RECORDS_PER_BATCH = 5
"""The cost of a batch that is loaded: as much as a batch that recovery checks for each of so many records."""


class StoredRecords:
    """The records of a log, in slices of bounded work. Appends between two slices are read as well. Pickled with its
    broker.
    """

    def __init__(self, log: UnifiedLog) -> None:
        self.is_done = False
        self._log = log
        self._offset = log.log_start_offset

    def next_slice(self) -> Iterator[tuple[BatchHeader, Record]]:
        """The next records, each with the header of its batch. `is_done` afterwards if these were the last ones."""
        log, work = self._log, Work()
        while self._offset < log.log_end_offset:
            data = log.read(max(self._offset, log.log_start_offset), _READ_BYTES).data
            if not data:
                break
            for position, header in iterate_batches(data):
                yield from ((header, record) for record in iterate_records(data, header, position))
                self._offset = header.next_offset
                if work.add(header.size, 1 + max(header.record_count, 0) // RECORDS_PER_BATCH):
                    return
        self.is_done = True
