"""The second half of a cleaning pass: neighbouring segments are rewritten as one (`Cleaner.cleanSegments`)."""

import struct

from broker_core.config_defs import INT_MAX
from broker_core.log.cleaner.batch_cleaner import BatchCleaner
from broker_core.log.cleaner.segment_batches import CHUNK_BYTES, aborted_transactions, batches_of, is_full_after
from broker_core.log.config import LogConfig
from broker_core.log.index.offset_index import ENTRY_BYTES as OFFSET_ENTRY_BYTES
from broker_core.log.index.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from broker_core.log.recovery.slices import Work
from broker_core.log.segment import LogSegment
from broker_core.log.segment_facts import BatchFact
from broker_core.log.unified_log import UnifiedLog
from broker_core.records.record_batch import MAGIC_V2, MAX_TIMESTAMP_POSITION, BatchHeader, parse_header

_MAX_TIMESTAMP = struct.Struct(">q")


def group_segments(
    segments: list[LogSegment], config: LogConfig, first_uncleanable_offset: int
) -> list[list[LogSegment]]:
    """Neighbours that become one segment: together they fit into segment.bytes and segment.index.bytes, and their
    offsets into 31 bits (`groupSegmentsBySize`).
    """
    groups: list[list[LogSegment]] = []
    ends = [*(segment.base_offset for segment in segments[1:]), first_uncleanable_offset]
    size = index_bytes = time_index_bytes = 0
    for segment, end in zip(segments, ends, strict=False):
        size += segment.size
        index_bytes += segment.offset_index.entries * OFFSET_ENTRY_BYTES
        time_index_bytes += segment.time_index.entries * TIME_ENTRY_BYTES
        if (
            groups
            and size <= config.segment_bytes
            and index_bytes <= config.segment_index_bytes
            and time_index_bytes <= config.segment_index_bytes
            and (segment.size == 0 or end - 1 - groups[-1][0].base_offset <= INT_MAX)
        ):
            groups[-1].append(segment)
        else:
            groups.append([segment])
            size = segment.size
            index_bytes = segment.offset_index.entries * OFFSET_ENTRY_BYTES
            time_index_bytes = segment.time_index.entries * TIME_ENTRY_BYTES
    return groups


class GroupRewriting:
    """Writes the kept records of adjacent segments to one new segment, `cleaned`, and flushes it. Pickled with its
    broker.
    """

    def __init__(
        self, log: UnifiedLog, group: list[LogSegment], cleaner: BatchCleaner, now_ms: int, legacy_horizon_ms: int
    ) -> None:
        self.group = group
        self.cleaned = log.new_cleaned_segment(group[0].base_offset, now_ms)
        self._log = log
        self._cleaner = cleaner
        self._legacy_horizon_ms = legacy_horizon_ms
        self._number = 0
        """The index in the group of the segment that is read next."""
        self._position = 0
        """Where its next batch begins."""
        self._parts: list[bytes] = []
        self._facts: list[BatchFact] = []
        self._end = 0
        """The size of the new segment together with the `_parts` that are not written yet."""

    def run_slice(self, work: Work) -> bool:
        """Continues; returns whether the new segment is complete and on disk. Raises as `clean` does."""
        cleaner = self._cleaner
        while self._number < len(self.group):
            segment = self.group[self._number]
            if self._position == 0:
                cleaner.transactions.add_aborted(
                    aborted_transactions(self._log, segment.base_offset, self._end_of_next())
                )
                cleaner.keeps_legacy_tombstones = segment.log.modified_ms > self._legacy_horizon_ms
            for data, at, header in batches_of(segment, self._position):
                self._take(cleaner.clean(data, at, header), header)
                self._position += header.size
                if is_full_after(work, header):
                    return False
            self._write()
            self._number += 1
            self._position = 0
        self._complete()
        return True

    def _end_of_next(self) -> int:
        """The end offset of the segment that is read next."""
        following = self._number + 1
        return self.group[following].base_offset if following < len(self.group) else self.group[-1].next_offset()

    def _take(self, part: bytes | None, header: BatchHeader) -> None:
        """Adds a cleaned batch, if anything of it is kept; `header`: as it was before."""
        if part is None:
            return
        if header.magic < MAGIC_V2:
            header = parse_header(part)
            max_timestamp = header.max_timestamp
        else:
            (max_timestamp,) = _MAX_TIMESTAMP.unpack_from(part, MAX_TIMESTAMP_POSITION)
        epoch = header.partition_leader_epoch
        self._facts.append(
            BatchFact(header.base_offset, header.last_offset, epoch, self._end, len(part), max_timestamp)
        )
        self._parts.append(part)
        self._end += len(part)
        if self._end - self.cleaned.size >= CHUNK_BYTES:
            self._write()

    def _write(self) -> None:
        if self._parts:
            self.cleaned.append((b"".join(self._parts),), self._facts)
            self._parts, self._facts = [], []

    def _complete(self) -> None:
        cleaned = self.cleaned
        for transaction in self._cleaner.transactions.take_still_aborted():
            cleaned.transaction_index.append(transaction)
        cleaned.become_inactive()
        cleaned.flush()
        cleaned.log.modified_ms = self.group[-1].log.modified_ms
