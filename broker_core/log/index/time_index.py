"""The sparse index from timestamps to offsets, `.timeindex` (`TimeIndex`).

An entry of 12 bytes says: no record of this segment up to this offset (relative to the segment's base) has a timestamp
above this one (ms). One slot is reserved for the entry that is written when the segment is rolled.
"""

import struct
import sys
from array import array
from bisect import bisect_right

from broker_core.errors import Errors, KafkaException
from broker_core.log.index.abstract_index import AbstractIndex
from broker_core.records.record_batch import NO_TIMESTAMP
from broker_core.sim.disk import CutFact, Disk
from broker_core.texts import text

ENTRY_BYTES = 12
_ENTRY = struct.Struct(">qi")


class TimeIndex(AbstractIndex):
    """The `.timeindex` file of one segment."""

    __slots__ = ("timestamps",)

    entry_bytes = ENTRY_BYTES

    def __init__(self, disk: Disk, path: str, base_offset: int, max_index_bytes: int) -> None:
        super().__init__(disk, path, base_offset, max_index_bytes)
        self.timestamps = array("q")

    def _keep(self, kept: int) -> None:
        super()._keep(kept)
        del self.timestamps[kept:]

    def _decode(self, data: bytes) -> None:
        words = array("i", data)
        # An entry is three words, two of them a timestamp. Columns are sliced as arrays, because this dominates opening
        # a log.
        halves = array("i", bytes(len(words) // 3 * 8))
        halves[0::2], halves[1::2] = words[0::3], words[1::3]
        self.timestamps = array("q", halves.tobytes())
        self.relative_offsets = words[2::3]
        if sys.byteorder == "little":
            self.timestamps.byteswap()
            self.relative_offsets.byteswap()

    @property
    def is_full(self) -> bool:
        """Whether only the slot of the final entry is left; the segment rolls before it is needed."""
        return len(self.timestamps) >= self.max_entries - 1

    @property
    def last_entry(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; (-1, base offset) without entries."""
        if not self.timestamps:
            return NO_TIMESTAMP, self.base_offset
        return self.timestamps[-1], self.base_offset + self.relative_offsets[-1]

    def maybe_append(self, timestamp: int, offset: int, is_final: bool = False) -> bool:
        """Adds an entry if its timestamp is above the last one's; returns whether it did. The final entry always fits.

        Raises UNKNOWN_SERVER_ERROR for an offset below the last entry's, as in a damaged index.
        """
        count = len(self.timestamps)
        if count and offset - self.base_offset < self.relative_offsets[-1]:
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR,
                text(
                    "refused.time_index_order",
                    offset=offset,
                    slot=count,
                    last=self.last_entry[1],
                    file=self.file.path,
                ),
            )
        last_timestamp = self.timestamps[-1] if count else NO_TIMESTAMP
        if timestamp <= last_timestamp or (not is_final and count >= self.max_entries):
            return False
        relative = self.file.relative(offset, self.base_offset)
        self.file.use().write_at(count * ENTRY_BYTES, _ENTRY.pack(timestamp, relative))
        self.timestamps.append(timestamp)
        self.relative_offsets.append(relative)
        self.rest_bytes = 0
        return True

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """(timestamp, offset) of the greatest entry at or below `timestamp`; (-1, base offset) without one."""
        slot = bisect_right(self.timestamps, timestamp)
        if not slot:
            return NO_TIMESTAMP, self.base_offset
        return self.timestamps[slot - 1], self.base_offset + self.relative_offsets[slot - 1]


class NoTimeIndex:
    """The time index of segments before 0.10.1: it has neither entries nor a file."""

    entries = 0
    flushed_entries = 0
    is_full = False

    def __init__(self, base_offset: int) -> None:
        self.last_entry = (NO_TIMESTAMP, base_offset)

    def maybe_append(self, timestamp: int, offset: int, is_final: bool = False) -> bool:
        """Does nothing."""
        return False

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """Returns the segment's start, where the search begins."""
        return self.last_entry

    def truncate_to(self, offset: int) -> tuple[CutFact, ...]:
        """Does nothing."""
        return ()

    def load(self) -> None:
        """Does nothing."""

    clear = allocate = flush = trim = use = load
