"""The sparse index from offsets to positions, `.index` (`OffsetIndex`, `AbstractIndex`).

An entry of 8 bytes holds the last offset of a batch, relative to the segment's base, and the position where that batch
begins. Both columns rise. The file of an active segment has its full length from its first use on, with zeros behind
the entries; it is cut to its entries when the segment is rolled or the log is closed.
"""

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right

from broker_core.log.lazy_file import LazyFile
from broker_core.sim.disk import CutFact, Disk

ENTRY_BYTES = 8
_ENTRY = struct.Struct(">ii")


class OffsetIndex:
    """The `.index` file of one segment, with its entries in memory as two columns."""

    __slots__ = ("base_offset", "file", "flushed_entries", "max_entries", "positions", "relative_offsets", "rest_bytes")

    def __init__(self, disk: Disk, path: str, base_offset: int, max_index_bytes: int) -> None:
        self.base_offset = base_offset
        self.max_entries = max_index_bytes // ENTRY_BYTES
        self.file = LazyFile(disk, path, self.max_entries * ENTRY_BYTES)
        self.relative_offsets = array("i")
        self.positions = array("i")
        self.flushed_entries = 0
        """How many of them a power loss would leave."""
        self.rest_bytes = 0
        """What stands behind the last entry in a file that was found so, until something is written to it."""

    def load(self) -> None:
        """Reads the entries of a file that was trimmed; a part of an entry at its end is left out."""
        file = self.file.open()
        columns = array("i", file.read(0, file.size // ENTRY_BYTES * ENTRY_BYTES))
        if sys.byteorder == "little":
            columns.byteswap()
        self.relative_offsets = columns[0::2]
        self.positions = columns[1::2]
        self.flushed_entries = min(self.entries, file.synced_size // ENTRY_BYTES)
        self.rest_bytes = file.size % ENTRY_BYTES

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return len(self.positions)

    @property
    def is_full(self) -> bool:
        """Whether the next entry would not fit; the segment rolls before that."""
        return len(self.positions) >= self.max_entries

    @property
    def last_offset(self) -> int:
        """The offset of the last entry, the segment's base offset without entries."""
        return self.base_offset + self.relative_offsets[-1] if self.relative_offsets else self.base_offset

    def append(self, offset: int, position: int) -> bool:
        """Adds an entry; says whether there was room. `offset` must be above that of the last entry."""
        count = len(self.positions)
        if count >= self.max_entries:
            return False
        relative = self.file.relative(offset, self.base_offset)
        self.file.use().write_at(count * ENTRY_BYTES, _ENTRY.pack(relative, position))
        self.relative_offsets.append(relative)
        self.positions.append(position)
        self.rest_bytes = 0
        return True

    def lookup(self, offset: int) -> int:
        """The position of the entry with the greatest offset at or below `offset`; 0 without one."""
        slot = bisect_right(self.relative_offsets, offset - self.base_offset)
        return self.positions[slot - 1] if slot else 0

    def offset_from(self, position: int) -> int | None:
        """The offset of the first entry whose batch begins at or behind `position` (`fetchUpperBoundOffset`)."""
        slot = bisect_left(self.positions, position)
        return self.base_offset + self.relative_offsets[slot] if slot < len(self.positions) else None

    def truncate_to(self, offset: int) -> tuple[CutFact, ...]:
        """Drops the entries at or above `offset`. Their bytes go to the archive; in the file they are written over."""
        kept = bisect_left(self.relative_offsets, offset - self.base_offset)
        dropped = len(self.positions) - kept
        if not dropped:
            return ()
        digest = self.file.use().keep(kept * ENTRY_BYTES, dropped * ENTRY_BYTES)
        del self.relative_offsets[kept:]
        del self.positions[kept:]
        self.flushed_entries = min(self.flushed_entries, kept)
        self.rest_bytes = 0
        return (CutFact(self.file.path, kept * ENTRY_BYTES, dropped * ENTRY_BYTES, digest),)

    def use(self) -> None:
        """Makes the file if there is none."""
        self.file.use()

    def clear(self) -> None:
        """Drops all entries, also where they make no sense."""
        del self.relative_offsets[:]
        del self.positions[:]
        self.flushed_entries = self.rest_bytes = 0

    def allocate(self) -> None:
        """Gives the file of an active segment its full length."""
        self.file.allocate()
        self.rest_bytes = 0

    def flush(self) -> None:
        """Makes all entries survive a power loss."""
        self.file.use().fsync()
        self.flushed_entries = len(self.positions)

    def trim(self) -> None:
        """Cuts the file to its entries; one that nobody wrote to stays as it was found."""
        self.file.use().release(len(self.positions) * ENTRY_BYTES + self.rest_bytes)
