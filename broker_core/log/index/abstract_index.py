"""The base of the two sparse indexes of a segment (`AbstractIndex`).

An entry has an offset, relative to the segment's base, and a column that the subclass defines. Both columns increase.
The file of an active segment has its full length from its first use on, with zeros after the entries; it is trimmed to
its entries when the segment is rolled or the log is closed.
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
        """The number of entries that survive a power loss."""
        self.rest_bytes = 0
        """The bytes after the last entry in an existing file, until the file is written to."""

    def _keep(self, kept: int) -> None:
        """Drops the entries after the first `kept` ones from memory. A subclass also drops those of its column."""
        del self.relative_offsets[kept:]
        self.flushed_entries = min(self.flushed_entries, kept)
        self.rest_bytes = 0

    def load(self) -> None:
        """Reads the entries of a trimmed file; an incomplete entry at its end is ignored."""
        file = self.file.open()
        self._decode(file.read(0, file.size // self.entry_bytes * self.entry_bytes))
        self.flushed_entries = min(self.entries, file.synced_size // self.entry_bytes)
        self.rest_bytes = file.size % self.entry_bytes

    def _decode(self, data: bytes) -> None:
        """Fills both columns from complete entries."""
        raise NotImplementedError

    @property
    def entries(self) -> int:
        """The number of entries."""
        return len(self.relative_offsets)

    def truncate_to(self, offset: int) -> tuple[CutFact, ...]:
        """Drops the entries at or above `offset`. Their bytes are kept in the archive; in the file they are
        overwritten.
        """
        kept = bisect_left(self.relative_offsets, offset - self.base_offset)
        dropped = self.entries - kept
        if not dropped:
            return ()
        position, size = kept * self.entry_bytes, dropped * self.entry_bytes
        digest = self.file.use().keep(position, size)
        self._keep(kept)
        return (CutFact(self.file.path, position, size, digest),)

    def use(self) -> None:
        """Creates the file if there is none."""
        self.file.use()

    def clear(self) -> None:
        """Drops all entries, corrupt ones included."""
        self._keep(0)

    def allocate(self) -> None:
        """Gives the file of an active segment its full length."""
        self.file.allocate()
        self.rest_bytes = 0

    def flush(self) -> None:
        """Fsyncs all entries."""
        self.file.use().fsync()
        self.flushed_entries = self.entries

    def trim(self) -> None:
        """Trims the file to its entries; one that was not written to is not changed."""
        self.file.use().release(self.entries * self.entry_bytes + self.rest_bytes)
