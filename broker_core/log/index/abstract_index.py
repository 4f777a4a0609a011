"""What the two sparse indexes of a segment have in common (`AbstractIndex`).

An entry has an offset, relative to the segment's base, and something that the subclass says. Both columns rise. The
file of an active segment has its full length from its first use on, with zeros behind the entries; it is cut to its
entries when the segment is rolled or the log is closed.
"""

from array import array
from bisect import bisect_left
from typing import ClassVar

from broker_core.log.index.lazy_file import LazyFile
from broker_core.sim.disk import CutFact, Disk


class AbstractIndex:
    """An index file of one segment, with its entries in memory as two columns."""

    __slots__ = ("base_offset", "file", "flushed_entries", "max_entries", "relative_offsets", "rest_bytes")

    entry_bytes: ClassVar[int]

    def __init__(self, disk: Disk, path: str, base_offset: int, max_index_bytes: int) -> None:
        self.base_offset = base_offset
        self.max_entries = max_index_bytes // self.entry_bytes
        self.file = LazyFile(disk, path, self.max_entries * self.entry_bytes)
        self.relative_offsets = array("i")
        self.flushed_entries = 0
        """How many of them a power loss would leave."""
        self.rest_bytes = 0
        """What stands behind the last entry in a file that was found so, until something is written to it."""

    def _keep(self, kept: int) -> None:
        """Drops the entries behind the first `kept` ones from memory. A subclass drops those of its column, too."""
        del self.relative_offsets[kept:]
        self.flushed_entries = min(self.flushed_entries, kept)
        self.rest_bytes = 0

    def load(self) -> None:
        """Reads the entries of a file that was trimmed; a part of an entry at its end is left out."""
        file = self.file.open()
        self._decode(file.read(0, file.size // self.entry_bytes * self.entry_bytes))
        self.flushed_entries = min(self.entries, file.synced_size // self.entry_bytes)
        self.rest_bytes = file.size % self.entry_bytes

    def _decode(self, data: bytes) -> None:
        """Fills both columns from whole entries."""
        raise NotImplementedError

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return len(self.relative_offsets)

    def truncate_to(self, offset: int) -> tuple[CutFact, ...]:
        """Drops the entries at or above `offset`. Their bytes go to the archive; in the file they are written over."""
        kept = bisect_left(self.relative_offsets, offset - self.base_offset)
        dropped = self.entries - kept
        if not dropped:
            return ()
        position, size = kept * self.entry_bytes, dropped * self.entry_bytes
        digest = self.file.use().keep(position, size)
        self._keep(kept)
        return (CutFact(self.file.path, position, size, digest),)

    def use(self) -> None:
        """Makes the file if there is none."""
        self.file.use()

    def clear(self) -> None:
        """Drops all entries, also where they make no sense."""
        self._keep(0)

    def allocate(self) -> None:
        """Gives the file of an active segment its full length."""
        self.file.allocate()
        self.rest_bytes = 0

    def flush(self) -> None:
        """Makes all entries survive a power loss."""
        self.file.use().fsync()
        self.flushed_entries = self.entries

    def trim(self) -> None:
        """Cuts the file to its entries; one that nobody wrote to stays as it was found."""
        self.file.use().release(self.entries * self.entry_bytes + self.rest_bytes)
