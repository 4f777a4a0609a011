"""The errors that a dump finds, printed at its end: pairs of numbers by file.

There can be as many as batches in a file, so they are spilled to a temporary file.
"""

import struct
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile

from broker_core.log.dump.java import MIN_HASH_TABLE_SIZE, grown_hash_table, scala_hash_order, string_hash

_PAIR = struct.Struct(">qq")
_HELD_BYTES = 1024 * 1024
_BLOCK_PAIRS = 4096


class Pairs:
    """Pairs of numbers of up to 64 bits, in the order in which they were added."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_HELD_BYTES)  # noqa: SIM115  lives as long as the findings
        self._count = 0

    def add(self, first: int, second: int) -> None:
        """Adds a pair."""
        self._file.write(_PAIR.pack(first, second))
        self._count += 1

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for start in range(0, self._count, _BLOCK_PAIRS):
            yield from self._block(start)

    def __reversed__(self) -> Iterator[tuple[int, int]]:
        for start in reversed(range(0, self._count, _BLOCK_PAIRS)):
            yield from reversed(self._block(start))

    def _block(self, start: int) -> list[tuple[int, int]]:
        self._file.seek(start * _PAIR.size)
        return list(_PAIR.iter_unpack(self._file.read(min(_BLOCK_PAIRS, self._count - start) * _PAIR.size)))


class FindingsByFile:
    """The pairs of each file, in the order of the hash map that holds them in Kafka's tool.

    `puts_again`: Kafka's tool puts a longer list for the file each time, which may resize the map.
    """

    def __init__(self, *, puts_again: bool) -> None:
        self._pairs: dict[str, Pairs] = {}
        self._puts_again = puts_again
        self._table_size = MIN_HASH_TABLE_SIZE

    def add(self, path: str, first: int, second: int) -> None:
        """Adds a pair to those of a file."""
        is_new = path not in self._pairs
        if is_new or self._puts_again:
            self._table_size = grown_hash_table(self._table_size, len(self._pairs))
        if is_new:
            self._pairs[path] = Pairs()
        self._pairs[path].add(first, second)

    def __iter__(self) -> Iterator[tuple[str, Pairs]]:
        paths = list(self._pairs)
        for place in scala_hash_order([string_hash(path) for path in paths], self._table_size):
            yield paths[place], self._pairs[paths[place]]


class Findings:
    """All errors printed at the end (`DumpLogSegments.main`, `TimeIndexDumpErrors`)."""

    def __init__(self) -> None:
        self.index_mismatches = FindingsByFile(puts_again=True)
        """(offset in the index, offset in the log)"""
        self.timestamp_mismatches = FindingsByFile(puts_again=False)
        """(timestamp in the index, timestamp in the log)"""
        self.timestamps_out_of_order = FindingsByFile(puts_again=False)
        """(timestamp, previous timestamp)"""
        self.offsets_not_found = FindingsByFile(puts_again=False)
        """(offset in the index, offset found in the log, -1 for none)"""
        self.gaps = FindingsByFile(puts_again=True)
        """(offset, next offset)"""

    def lines(self) -> Iterator[str]:
        """The lines, in the order of Kafka's tool, which prepends to some of its lists."""
        for path, pairs in self.index_mismatches:
            yield f"Mismatches in :{path}"
            for offset, found in reversed(pairs):
                yield f"  Index offset: {offset}, log offset: {found}"
        for path, pairs in self.timestamp_mismatches:
            yield f"Found timestamp mismatch in :{path}"
            for timestamp, found in pairs:
                yield f"  Index timestamp: {timestamp}, log timestamp: {found}"
        for path, pairs in self.timestamps_out_of_order:
            yield f"Found out of order timestamp in :{path}"
            for timestamp, before in pairs:
                yield f"  Index timestamp: {timestamp}, Previously indexed timestamp: {before}"
        for _, pairs in self.offsets_not_found:
            yield "The following indexed offsets are not found in the log."
            for offset, found in pairs:
                yield f"Indexed offset: {offset}, found log offset: {found}"
        for path, pairs in self.gaps:
            yield f"Non-consecutive offsets in {path}"
            for first, second in reversed(pairs):
                yield f"  {first} is followed by {second}"
