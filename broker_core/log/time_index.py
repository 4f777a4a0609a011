"""The sparse index from timestamps to offsets, `.timeindex` (`TimeIndex`).

An entry of 12 bytes says: no record of this segment up to this offset (relative to the segment's base) has a timestamp
above this one (ms). Both columns rise. One slot stays free for the entry that is written when the segment is rolled.
"""

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right

from broker_core.log.lazy_file import LazyFile
from broker_core.records.record_batch import NO_TIMESTAMP
from broker_core.sim.disk import CutFact, Disk

ENTRY_BYTES = 12
_ENTRY = struct.Struct(">qi")


class TimeIndex:
    """The `.timeindex` file of one segment, with its entries in memory as two columns."""

    __slots__ = (
        "base_offset",
        "file",
        "flushed_entries",
        "max_entries",
        "relative_offsets",
        "rest_bytes",
        "timestamps",
    )

    def __init__(self, disk: Disk, path: str, base_offset: int, max_index_bytes: int) -> None:
        self.base_offset = base_offset
        self.max_entries = max_index_bytes // ENTRY_BYTES
        self.file = LazyFile(disk, path, self.max_entries * ENTRY_BYTES)
        self.timestamps = array("q")
        self.relative_offsets = array("i")
        self.flushed_entries = 0
        """How many of them a power loss would leave."""
        self.rest_bytes = 0
        """What stands behind the last entry in a file that was found so, until something is written to it."""

    def load(self) -> None:
        """Reads the entries of a file that was trimmed; a part of an entry at its end is left out."""
        file = self.file.open()
        words = array("i", file.read(0, file.size // ENTRY_BYTES * ENTRY_BYTES))
        # An entry is three words, two of them a timestamp. Columns are cut out whole: this is what opening a log costs.
        halves = array("i", bytes(len(words) // 3 * 8))
        halves[0::2], halves[1::2] = words[0::3], words[1::3]
        self.timestamps = array("q", halves.tobytes())
        self.relative_offsets = words[2::3]
        if sys.byteorder == "little":
            self.timestamps.byteswap()
            self.relative_offsets.byteswap()
        self.flushed_entries = min(self.entries, file.synced_size // ENTRY_BYTES)
        self.rest_bytes = file.size % ENTRY_BYTES

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return len(self.timestamps)

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
        """Adds an entry if its timestamp is above the last one's; says whether it did. The final entry always fits."""
        count = len(self.timestamps)
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

    def truncate_to(self, offset: int) -> tuple[CutFact, ...]:
        """Drops the entries at or above `offset`. Their bytes go to the archive; in the file they are written over."""
        kept = bisect_left(self.relative_offsets, offset - self.base_offset)
        dropped = len(self.timestamps) - kept
        if not dropped:
            return ()
        digest = self.file.use().keep(kept * ENTRY_BYTES, dropped * ENTRY_BYTES)
        del self.timestamps[kept:]
        del self.relative_offsets[kept:]
        self.flushed_entries = min(self.flushed_entries, kept)
        self.rest_bytes = 0
        return (CutFact(self.file.path, kept * ENTRY_BYTES, dropped * ENTRY_BYTES, digest),)

    def use(self) -> None:
        """Makes the file if there is none."""
        self.file.use()

    def clear(self) -> None:
        """Drops all entries, also where they make no sense."""
        del self.timestamps[:]
        del self.relative_offsets[:]
        self.flushed_entries = self.rest_bytes = 0

    def allocate(self) -> None:
        """Gives the file of an active segment its full length."""
        self.file.allocate()
        self.rest_bytes = 0

    def flush(self) -> None:
        """Makes all entries survive a power loss."""
        self.file.use().fsync()
        self.flushed_entries = len(self.timestamps)

    def trim(self) -> None:
        """Cuts the file to its entries; one that nobody wrote to stays as it was found."""
        self.file.use().release(len(self.timestamps) * ENTRY_BYTES + self.rest_bytes)


class NoTimeIndex:
    """What segments have in place of a time index under brokers that knew none: it never has an entry, and no file."""

    entries = 0
    flushed_entries = 0
    is_full = False

    def __init__(self, base_offset: int) -> None:
        self.last_entry = (NO_TIMESTAMP, base_offset)

    def maybe_append(self, timestamp: int, offset: int, is_final: bool = False) -> bool:
        """Nothing is noted."""
        return False

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """The search begins at the segment's start."""
        return self.last_entry

    def truncate_to(self, offset: int) -> tuple[CutFact, ...]:
        """Nothing goes."""
        return ()

    def load(self) -> None:
        """There is nothing to read."""

    clear = allocate = flush = trim = use = load
