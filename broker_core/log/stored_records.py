"""Reads all records of a log from its start, as coordinators do when they load a partition."""

from collections.abc import Iterator

from broker_core.log.unified_log import UnifiedLog
from broker_core.records.record_batch import BatchHeader, Record, iterate_batches, iterate_records

LOAD_BUFFER_SIZE = 5_242_880
"""`offsets.load.buffer.size` and `transaction.state.log.load.buffer.size`: the bytes of one read."""


def stored_records(log: UnifiedLog) -> Iterator[tuple[BatchHeader, Record]]:
    """The records of a log from its log start offset, each with the header of its batch."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, LOAD_BUFFER_SIZE).data
        if not data:
            return
        for position, header in iterate_batches(data):
            for record in iterate_records(data, header, position):
                yield header, record
            offset = header.next_offset
