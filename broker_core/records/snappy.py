"""Snappy blocks as the Java client's library writes them (snappy-java 1.1.10, which carries Google's snappy 1.1.10).

The format does not define which repetitions a compressor finds, so two libraries rarely produce the same bytes. The
table of positions decides: its size, the bits of the hash that index it, and the positions that are added to it. A
block is the length of its content as a varint, then elements: literals, and copies of bytes up to 64 KiB back.
"""

import struct

_HASH_FACTOR = 0x1E35A7BD
_HASH_SHIFT = 18
_WORD = 0xFFFFFFFF
_TABLE_SMALLEST, _TABLE_LARGEST = 1 << 8, 1 << 14
# This close to the end no repetition is searched.
_MARGIN_BYTES = 15
_COPY_LARGEST = 64
_COPY_SHORT_OFFSETS, _COPY_SHORT_LENGTHS = 1 << 11, 12
_LITERAL_SHORT_LENGTHS = 60


def compress_block(data: bytes) -> bytes:
    """One block of `data`, at most 64 KiB."""
    out = bytearray()
    size = len(data)
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    limit = len(data) - _MARGIN_BYTES
    end = _compress_repetitions(out, data, limit) if limit >= 0 else 0
    if end < len(data):
        _emit_literal(out, data, end, len(data))
    return bytes(out)


def _compress_repetitions(out: bytearray, data: bytes, limit: int) -> int:
    """Writes elements for the beginning of `data`; returns the start of the last literal."""
    words = _words(data)
    mask = _table_size(len(data)) - 1
    slots = [(word * _HASH_FACTOR & _WORD) >> _HASH_SHIFT & mask for word in words]
    table = [0] * (mask + 1)
    at = 0
    while True:
        literal_at = at
        at += 1
        # The step grows while nothing repeats.
        skip = 32
        while True:
            next_at = at + (skip >> 5)
            if next_at > limit:
                return literal_at
            skip += skip >> 5
            candidate = table[slots[at]]
            table[slots[at]] = at
            if words[candidate] == words[at]:
                break
            at = next_at
        _emit_literal(out, data, literal_at, at)
        while words[candidate] == words[at]:
            length = _match_length(data, candidate, at)
            _emit_copy(out, at - candidate, length)
            at += length
            if at >= limit:
                return at
            table[slots[at - 1]] = at - 1
            candidate = table[slots[at]]
            table[slots[at]] = at


def _words(data: bytes) -> list[int]:
    """The four bytes at each position, as a number."""
    count = len(data) - 3
    words = [0] * count
    for lane in range(4):
        words[lane::4] = struct.unpack_from(f"<{(count - lane + 3) // 4}I", data, lane)
    return words


def _table_size(size: int) -> int:
    return min(max(1 << (size - 1).bit_length(), _TABLE_SMALLEST), _TABLE_LARGEST)


def _match_length(data: bytes, candidate: int, at: int) -> int:
    length, step, size = 4, 8, len(data)
    while step:
        end = length + step
        if at + end <= size and data[candidate + length : candidate + end] == data[at + length : at + end]:
            length = end
            step *= 2
        else:
            step //= 2
    return length


def _emit_literal(out: bytearray, data: bytes, start: int, end: int) -> None:
    last = end - start - 1
    if last < _LITERAL_SHORT_LENGTHS:
        out.append(last << 2)
    else:
        size = (last.bit_length() + 7) // 8
        out.append(_LITERAL_SHORT_LENGTHS - 1 + size << 2)
        out += last.to_bytes(size, "little")
    out += data[start:end]


def _emit_copy(out: bytearray, offset: int, length: int) -> None:
    # The rest must be long enough for a copy of its own.
    while length >= _COPY_LARGEST + 4:
        _emit_long_copy(out, offset, _COPY_LARGEST)
        length -= _COPY_LARGEST
    if length > _COPY_LARGEST:
        _emit_long_copy(out, offset, _COPY_LARGEST - 4)
        length -= _COPY_LARGEST - 4
    if length < _COPY_SHORT_LENGTHS and offset < _COPY_SHORT_OFFSETS:
        out += bytes((offset >> 8 << 5 | length - 4 << 2 | 1, offset & 0xFF))
    else:
        _emit_long_copy(out, offset, length)


def _emit_long_copy(out: bytearray, offset: int, length: int) -> None:
    out.append(length - 1 << 2 | 2)
    out += offset.to_bytes(2, "little")
