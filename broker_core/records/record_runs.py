"""Reads many records of a batch at once.

The records of a batch mostly have the same layout: keys of one length, values of one length. A run of such records is a
table with columns, which is checked and sliced column by column. `stretches` finds the runs; the records between them
are read one by one. The result equals that of `record.outline`.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from operator import lt
from typing import NamedTuple

import msgspec

from broker_core.records.record import ZIGZAG, Outline, Record, check_end, outline_from
from broker_core.records.varint import VarintError, decode_varint, decode_varlong

# The minimum length of a run; if none is found, that many records are read one by one before the next attempt.
SHORTEST_RUN = 8
RECORDS_BETWEEN_LOOKS = 16
# Attributes, two numbers, two lengths, the number of headers.
_MIN_BODY_BYTES = 6
# The varint lengths that always fit 64 and 32 bits.
_MAX_TIMESTAMP_BYTES = 9
_MAX_OFFSET_BYTES = 4
_LOW, _HIGH = bytes(range(0x80)), bytes(range(0x80, 0x100))
# The same byte with the continuation bit.
_GOES_ON = bytes(0x80 | byte for byte in range(0x100))
# The numbers, offset by the lowest, so that bytes sort as their numbers.
_RANK_OF_ZERO = 64
_RANKS = bytes(number + _RANK_OF_ZERO for number in ZIGZAG).ljust(0x100, b"\x00")
# The size of the varint table; larger batches are rare.
_DENSE_NUMBERS = 8192 * 16
# Maximum number of different numbers of a column that are found one by one, before the rest is put into a set.
_FEW_NUMBERS = 16
_SHORT_COLUMN = 256
# The varints of 0, 1, 2 and so on in one, two and three bytes, as columns of bytes.
_LOWEST, _MIDDLE, _UPPER = (
    b"".join(bytes((group,)) * pace for group in groups) * (_DENSE_NUMBERS // (len(groups) * pace))
    for groups, pace in ((range(0, 0x80, 2), 1), (range(0x80), 64), (range(16), 8192))
)
_DENSE = {
    1: (_LOWEST[:64],),
    2: (_LOWEST[:8192].translate(_GOES_ON), _MIDDLE[:8192]),
    3: (_LOWEST.translate(_GOES_ON), _MIDDLE.translate(_GOES_ON), _UPPER),
}


class RecordsSummary(msgspec.Struct, frozen=True, gc=False):
    """The summary of a batch's records that a leader validates."""

    lowest_timestamp_delta: int
    highest_timestamp_delta: int
    is_dense: bool
    """Whether the offset deltas are 0, 1, 2 and so on."""
    has_null_key: bool
    """Whether any record has no key."""


def summarize(body: bytes, record_count: int, at: int = 0) -> RecordsSummary:
    """Reads all records of a batch, at least one, from `at`; raises InvalidRecord for a malformed one."""
    if record_count < SHORTEST_RUN:
        outlines, at = outline_from(body, at, record_count)
        check_end(body, at, record_count)
        return _summarize_few(outlines)
    return _summarize(stretches(body, record_count, at))


def _summarize_few(outlines: list[Outline]) -> RecordsSummary:
    lowest = highest = outlines[0][0]
    is_dense, has_null_key = True, False
    for index, (timestamp_delta, offset_delta, key_at, key_end, _, _, _) in enumerate(outlines):
        if timestamp_delta < lowest:
            lowest = timestamp_delta
        elif timestamp_delta > highest:
            highest = timestamp_delta
        if offset_delta != index:
            is_dense = False
        if key_end < key_at:
            has_null_key = True
    return RecordsSummary(lowest, highest, is_dense, has_null_key)


def _summarize(stretches: "Iterable[RecordRun | list[Outline]]") -> RecordsSummary:
    lows: list[int] = []
    highs: list[int] = []
    is_dense, has_null_key = True, False
    index = 0
    for stretch in stretches:
        if isinstance(stretch, RecordRun):
            low, high = stretch.timestamp_delta_range()
            lows.append(low)
            highs.append(high)
            is_dense = is_dense and stretch.is_dense(index)
            has_null_key = has_null_key or stretch.key_length < 0
            index += stretch.record_count
            continue
        following = index + len(stretch)
        timestamp_deltas, offset_deltas, keys_at, keys_end, _, _, _ = zip(*stretch, strict=True)
        lows += timestamp_deltas
        is_dense = is_dense and offset_deltas == tuple(range(index, following))
        has_null_key = has_null_key or any(map(lt, keys_end, keys_at))
        index = following
    highs += lows
    return RecordsSummary(min(lows), max(highs), is_dense, has_null_key)


def read_records(
    body: bytes, record_count: int, base_offset: int, base_timestamp: int, append_time: int | None
) -> Iterator[Record]:
    """The records with absolute offsets and times; `append_time` (ms) replaces all timestamps if it is given.

    Raises InvalidRecord.
    """
    return chain.from_iterable(_read_stretches(body, record_count, base_offset, base_timestamp, append_time))


def _read_stretches(
    body: bytes, record_count: int, base_offset: int, base_timestamp: int, append_time: int | None
) -> Iterator[Iterable[Record]]:
    index = 0
    for stretch in stretches(body, record_count):
        if isinstance(stretch, RecordRun):
            following = index + stretch.record_count
            if stretch.is_dense(index):
                offsets: Iterable[int] = range(base_offset + index, base_offset + following)
            else:
                offsets = [base_offset + delta for delta in stretch.offset_deltas()]
            if append_time is None:
                timestamps: Iterable[int] = [base_timestamp + delta for delta in stretch.timestamp_deltas()]
            else:
                timestamps = repeat(append_time)
            index = following
            yield map(Record, offsets, timestamps, *stretch.keys_and_values())
        else:
            index += len(stretch)
            yield [
                Record(
                    base_offset + offset_delta,
                    base_timestamp + timestamp_delta if append_time is None else append_time,
                    None if key_end < key_at else body[key_at:key_end],
                    None if value_end < value_at else body[value_at:value_end],
                    headers,
                )
                for timestamp_delta, offset_delta, key_at, key_end, value_at, value_end, headers in stretch
            ]


class RecordRun(NamedTuple):
    """Consecutive records of `body` from `start`, each of `size` bytes and without headers.

    Positions count from the start of a record and hold for all of them; lengths of -1 mean null.
    """

    body: bytes
    start: int
    size: int
    record_count: int
    timestamp_at: int
    offset_at: int
    key_length_at: int
    key_at: int
    key_length: int
    value_at: int
    value_length: int

    def timestamp_deltas(self) -> Sequence[int]:
        """The timestamp delta of each record."""
        return self._numbers(self.timestamp_at, self.offset_at)

    def offset_deltas(self) -> Sequence[int]:
        """The offset delta of each record."""
        return self._numbers(self.offset_at, self.key_length_at)

    def timestamp_delta_range(self) -> tuple[int, int]:
        """The lowest and the highest of the timestamp deltas."""
        if self.offset_at - self.timestamp_at == 1:
            ranks = _distinct(self._column(self.timestamp_at).translate(_RANKS))
            return min(ranks) - _RANK_OF_ZERO, max(ranks) - _RANK_OF_ZERO
        if self.offset_at - self.timestamp_at == 2:
            # Most of them are equal.
            pairs = bytearray(2 * self.record_count)
            pairs[::2], pairs[1::2] = self._column(self.timestamp_at), self._column(self.timestamp_at + 1)
            groups = [pair & 0x7F | pair >> 8 << 7 for pair in set(struct.unpack(f"<{self.record_count}H", pairs))]
            deltas: Sequence[int] = [(group >> 1) ^ -(group & 1) for group in groups]
        else:
            deltas = self.timestamp_deltas()
        return min(deltas), max(deltas)

    def is_dense(self, index: int) -> bool:
        """Whether the offset deltas are consecutive from `index`."""
        offset_bytes = self.key_length_at - self.offset_at
        columns = _DENSE.get(offset_bytes)
        if columns is None:
            return self.offset_deltas() == list(range(index, index + self.record_count))
        return all(
            self._column(self.offset_at + at) == column[index : index + self.record_count]
            for at, column in enumerate(columns)
        )

    def keys_and_values(self) -> tuple[Iterable[bytes | None], Iterable[bytes | None]]:
        """The keys and the values of all records."""
        key_bytes, value_bytes = max(self.key_length, 0), max(self.value_length, 0)
        between = self.value_at - self.key_at - key_bytes
        row = struct.Struct(f"{self.key_at}x{key_bytes}s{between}x{value_bytes}sx")
        table = memoryview(self.body)[self.start : self.start + self.record_count * self.size]
        keys, values = zip(*row.iter_unpack(table), strict=True)
        return (
            repeat(None, self.record_count) if self.key_length < 0 else keys,
            repeat(None, self.record_count) if self.value_length < 0 else values,
        )

    def _column(self, at: int) -> bytes:
        """The byte at `at` of each record."""
        return self.body[self.start + at : self.start + self.record_count * self.size : self.size]

    def _numbers(self, at: int, end: int) -> Sequence[int]:
        """The varints between `at` and `end`."""
        if end - at == 1:
            return [ZIGZAG[byte] for byte in self._column(at)]
        if end - at == 2:
            # In a run the high bit is set in the low byte only.
            columns = zip(self._column(at), self._column(at + 1), strict=True)
            return [ZIGZAG[low & 0x7F] + (-high << 6 if low & 1 else high << 6) for low, high in columns]
        positions = range(self.start + at, self.start + self.record_count * self.size, self.size)
        return [decode_varlong(self.body, position)[0] for position in positions]


def stretches(body: bytes, record_count: int, at: int = 0) -> Iterator[RecordRun | list[Outline]]:
    """Yields all records of the decompressed `body` from `at`, as runs where their layout is equal, else one by one.

    Raises InvalidRecord if one is malformed or the batch does not end with the last one.
    """
    index = 0
    while index < record_count:
        left = record_count - index
        run = find_run(body, at, left) if left >= SHORTEST_RUN else None
        if run is not None:
            yield run
            at += run.record_count * run.size
            index += run.record_count
        else:
            outlines, at = outline_from(body, at, min(left, RECORDS_BETWEEN_LOOKS))
            yield outlines
            index += len(outlines)
    check_end(body, at, record_count)


def find_run(body: bytes, start: int, limit: int) -> RecordRun | None:
    """The run that begins at `start`, of at most `limit` records; None if it is too short or not recognised."""
    try:
        body_length, attributes_at = decode_varint(body, start)
        size = attributes_at - start + body_length
        # The byte where the last record of the shortest run would begin nearly always shows whether there is a run.
        last = (SHORTEST_RUN - 1) * size
        if body_length < _MIN_BODY_BYTES or body[start + last : attributes_at + last] != body[start:attributes_at]:
            return None
        timestamp_at = attributes_at + 1
        offset_at = _behind_varint(body, timestamp_at)
        key_length_at = _behind_varint(body, offset_at)
        key_length, key_at = decode_varint(body, key_length_at)
        value_length_at = key_at + max(key_length, 0)
        value_length, value_at = decode_varint(body, value_length_at)
    except (VarintError, IndexError):
        return None
    end = start + size
    has_usual_numbers = (
        offset_at - timestamp_at <= _MAX_TIMESTAMP_BYTES and key_length_at - offset_at <= _MAX_OFFSET_BYTES
    )
    if not has_usual_numbers or value_at + max(value_length, 0) + 1 != end or body[end - 1]:
        return None
    count = min(limit, (len(body) - start) // size)
    # Lengths and the number of headers are the same in all records of the run.
    stop = start + count * size
    for at in (*range(start, attributes_at), *range(key_length_at, key_at), *range(value_length_at, value_at), end - 1):
        column = body[at:stop:size]
        if column != column[:1] * count:
            count -= len(column.lstrip(column[:1]))
            stop = start + count * size
    # The varints have equal lengths: all bytes but the last have the high bit set.
    for first, behind in ((timestamp_at, offset_at), (offset_at, key_length_at)):
        for at in range(first, behind):
            column = body[at:stop:size]
            if at < behind - 1:
                count -= len(column.lstrip(_HIGH)) if column.translate(None, _HIGH) else 0
            elif not column.isascii():
                count -= len(column.lstrip(_LOW))
            stop = start + count * size
    if count < SHORTEST_RUN:
        return None
    return RecordRun(
        body,
        start,
        size,
        count,
        timestamp_at - start,
        offset_at - start,
        key_length_at - start,
        key_at - start,
        key_length,
        value_at - start,
        value_length,
    )


def _distinct(column: bytes) -> Iterable[int]:
    """The different bytes of a column, which mostly are few; a short one as it is."""
    if len(column) < _SHORT_COLUMN:
        return column
    found: list[int] = []
    for _ in range(_FEW_NUMBERS):
        if not column:
            return found
        found.append(column[0])
        column = column.translate(None, column[:1])
    return (*found, *set(column))


def _behind_varint(body: bytes, at: int) -> int:
    while body[at] >= 0x80:
        at += 1
    return at + 1
