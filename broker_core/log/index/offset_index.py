"""The sparse index from offsets to positions, `.index` (`OffsetIndex`).

An entry of 8 bytes holds the last offset of a batch, relative to the segment's base, and the position where that batch
begins.
"""

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right

from broker_core.errors import Errors, KafkaException
from broker_core.log.index.abstract_index import AbstractIndex
from broker_core.sim.disk import Disk
from broker_core.texts import text

ENTRY_BYTES = 8
_ENTRY = struct.Struct(">ii")


class OffsetIndex(AbstractIndex):
    """The `.index` file of one segment."""

    __slots__ = ("positions",)

    entry_bytes = ENTRY_BYTES

    def __init__(self, disk: Disk, path: str, base_offset: int, max_index_bytes: int) -> None:
        super().__init__(disk, path, base_offset, max_index_bytes)
        self.positions = array("i")

    def _keep(self, kept: int) -> None:
        super()._keep(kept)
        del self.positions[kept:]

    def _decode(self, data: bytes) -> None:
        columns = array("i", data)
        if sys.byteorder == "little":
            columns.byteswap()
        self.relative_offsets = columns[0::2]
        self.positions = columns[1::2]

    @property
    def is_full(self) -> bool:
        """Whether the next entry would not fit; the segment rolls before that."""
        return len(self.positions) >= self.max_entries

    @property
    def last_offset(self) -> int:
        """The offset of the last entry, the segment's base offset without entries."""
        return self.base_offset + self.relative_offsets[-1] if self.relative_offsets else self.base_offset

    def append(self, offset: int, position: int) -> bool:
        """Adds an entry; returns False if the index is full.

        Raises UNKNOWN_SERVER_ERROR for an offset that is not above the last entry's, as in a damaged index.
        """
        count = len(self.positions)
        if count >= self.max_entries:
            return False
        relative = self.file.relative(offset, self.base_offset)
        if count and relative <= self.relative_offsets[-1]:
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR,
                text("refused.index_order", offset=offset, slot=count, last=self.last_offset, file=self.file.path),
            )
        self.file.use().write_at(count * ENTRY_BYTES, _ENTRY.pack(relative, position))
        self.relative_offsets.append(relative)
        self.positions.append(position)
        self.rest_bytes = 0
        return True

    def lookup(self, offset: int) -> int:
        """The position of the entry with the greatest offset at or below `offset`; 0 without one."""
        # An index that was read is trimmed to complete entries when it is closed.
        self.rest_bytes = 0
        slot = bisect_right(self.relative_offsets, offset - self.base_offset)
        return self.positions[slot - 1] if slot else 0

    def offset_from(self, position: int) -> int | None:
        """The offset of the first entry whose batch begins at or after `position` (`fetchUpperBoundOffset`)."""
        slot = bisect_left(self.positions, position)
        return self.base_offset + self.relative_offsets[slot] if slot < len(self.positions) else None
