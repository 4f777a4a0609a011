"""EBML, the binary form of WebM (RFC 8794): elements of an id, a size and a body, read and written."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

MAX_SIZE_BYTES = 8


class BrokenElement(ValueError):
    """The bytes are not a valid element, or end within one."""


class Element(NamedTuple):
    """An element in `data[start:end]`. `is_open`: its size is unknown, as in streams; `end` is then the end of the
    data. `is_whole`: the data contains all of it.
    """

    id: int
    start: int
    end: int
    is_open: bool
    is_whole: bool


def elements(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Element]:
    """The elements in order. The last may be incomplete. Raises BrokenElement for an invalid element."""
    end = len(data) if end is None else end
    while start < end:
        try:
            id, after_id = _id(data, start, end)
            size, body = _size(data, after_id, end)
        except IndexError:
            return
        if size is None:
            yield Element(id, body, end, is_open=True, is_whole=True)
            return
        yield Element(id, body, min(body + size, end), is_open=False, is_whole=body + size <= end)
        start = body + size


def _id(data: bytes, at: int, end: int) -> tuple[int, int]:
    length = _length(data, at, end, 4)
    return int.from_bytes(data[at : at + length], "big"), at + length


def _size(data: bytes, at: int, end: int) -> tuple[int | None, int]:
    length = _length(data, at, end, MAX_SIZE_BYTES)
    mask = (1 << 7 * length) - 1
    size = int.from_bytes(data[at : at + length], "big") & mask
    return (None if size == mask else size), at + length


def _length(data: bytes, at: int, end: int, most: int) -> int:
    """The number of bytes of an id or a size: one more than its first byte has leading zero bits."""
    if at >= end:
        raise IndexError
    length = 9 - data[at].bit_length()
    if length > most:
        raise BrokenElement(f"no element at byte {at}")
    if at + length > end:
        raise IndexError
    return length


def unsigned(body: bytes) -> int:
    """The value of an unsigned integer. Raises BrokenElement for more than 8 bytes."""
    if len(body) > 8:
        raise BrokenElement(f"an integer of {len(body)} bytes")
    return int.from_bytes(body, "big")


def element(id: int, *bodies: bytes) -> bytes:
    """An element that contains other elements, or a value."""
    body = b"".join(bodies)
    head = id.to_bytes((id.bit_length() + 7) // 8, "big")
    length = next(n for n in range(1, 9) if len(body) < (1 << 7 * n) - 1)
    return head + (len(body) | 1 << 7 * length).to_bytes(length, "big") + body


def integer(id: int, value: int, width: int = 0) -> bytes:
    """An unsigned integer, in the minimum number of bytes or in `width` bytes."""
    return element(id, value.to_bytes(width or max(1, (value.bit_length() + 7) // 8), "big"))


def number(id: int, value: float) -> bytes:
    """A float of 8 bytes."""
    return element(id, struct.pack(">d", value))


def text(id: int, value: str) -> bytes:
    return element(id, value.encode())
