"""Checks that the indexes of a segment have capacity for the entries of an append."""

from collections.abc import Sequence
from typing import Protocol

from broker_core.errors import Errors, KafkaException
from broker_core.log.index.offset_index import OffsetIndex
from broker_core.log.index.time_index import NoTimeIndex, TimeIndex
from broker_core.texts import text


class _Batch(Protocol):
    @property
    def max_timestamp(self) -> int: ...
    @property
    def size(self) -> int: ...


def ensure_capacity(
    offset_index: OffsetIndex,
    time_index: TimeIndex | NoTimeIndex,
    counters: tuple[int, int, int],
    batches: Sequence[_Batch],
) -> None:
    """Checks an append of `batches` as `LogSegment.append` indexes it, before anything is written.

    A segment rolls when an index is full before an append, and the append may bring several batches: those that a
    follower fetches, those that the cleaner keeps. If an index fills up in between, Kafka fails with this error after
    writing the batches to the file; here nothing is written. `counters`: the segment's largest timestamp, the bytes
    since its last index entry, index.interval.bytes. Raises UNKNOWN_SERVER_ERROR.
    """
    newest, unindexed_bytes, interval_bytes = counters
    offset_capacity = offset_index.max_entries - offset_index.entries
    time_capacity = len(batches)
    last_timestamp = time_index.last_entry[0]
    if isinstance(time_index, TimeIndex):
        # One slot is reserved for the final entry.
        time_capacity = time_index.max_entries - 1 - time_index.entries
    if min(offset_capacity, time_capacity) >= len(batches):
        return
    for batch in batches:
        newest = max(newest, batch.max_timestamp)
        if unindexed_bytes > interval_bytes:
            if offset_capacity <= 0:
                size, path = offset_index.max_entries, offset_index.file.path
                raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, text("refused.index_full", entries=size, file=path))
            offset_capacity -= 1
            if time_capacity <= 0 and isinstance(time_index, TimeIndex):
                size, path = time_index.max_entries - 1, time_index.file.path
                raise KafkaException(
                    Errors.UNKNOWN_SERVER_ERROR, text("refused.time_index_full", entries=size, file=path)
                )
            if newest > last_timestamp:
                time_capacity -= 1
                last_timestamp = newest
            unindexed_bytes = 0
        unindexed_bytes += batch.size
