"""The records of a batch of magic 2 and their bytes (`DefaultRecord`; KIP-82 for headers).

A record is its length, a byte of attributes that Kafka does not use, deltas to the batch's base timestamp and base
offset, key, value and headers. All numbers are varints, so the positions of a record's parts are known only after
reading it from its start.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from broker_core.records.faults import RecordFault, rule_of
from broker_core.records.varint import VarintError, VarintTooLong, decode_varint, decode_varlong, encode_varlong
from broker_core.texts import text

NO_TIMESTAMP = -1

Header = tuple[str, bytes | None]


class CorruptRecord(RecordFault):
    """The bytes are not a valid batch or record; the message says why. Clients get CORRUPT_MESSAGE."""


class InvalidRecord(RecordFault):
    """The batch is complete, but a record in it cannot be parsed. Clients get INVALID_RECORD."""


class OverlongLength(InvalidRecord):
    """The length of a record does not end within the bytes of a varint."""


class SimpleRecord(NamedTuple):
    """A record to be written: `timestamp` in ms since the epoch, -1 for none; a null value is a tombstone."""

    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()


class Record(msgspec.Struct, frozen=True, gc=False):
    """A record that was read, with its absolute offset and timestamp (ms). `has_append_time`: the broker has set the
    timestamp.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    has_append_time: bool = False


Outline = tuple[int, int, int, int, int, int, tuple[Header, ...]]
"""The positions of the parts of one record: (timestamp delta, offset delta, start and end of the key, start and end of
the value, headers). A null key or value ends before it starts.
"""


# The values of one-byte varints.
ZIGZAG = [(byte >> 1) ^ -(byte & 1) for byte in range(0x80)]


def record_parts(
    timestamp_delta: int, offset_delta: int, key: bytes | None, value: bytes | None, headers: Sequence[Header] = ()
) -> list[bytes]:
    """One record prefixed by its length, in pieces: keys and values are not copied."""
    parts = [
        b"\x00",
        encode_varlong(timestamp_delta),
        encode_varlong(offset_delta),
        b"\x01" if key is None else encode_varlong(len(key)),
        key or b"",
        b"\x01" if value is None else encode_varlong(len(value)),
        value or b"",
        encode_varlong(len(headers)),
    ]
    for name, content in headers:
        encoded_name = name.encode()
        parts += (
            encode_varlong(len(encoded_name)),
            encoded_name,
            b"\x01" if content is None else encode_varlong(len(content)),
            content or b"",
        )
    return [encode_varlong(sum(map(len, parts))), *parts]


def outline(body: bytes, record_count: int) -> list[Outline]:
    """The positions of the parts of each record in the decompressed records `body`; raises InvalidRecord.

    Only headers are copied.
    """
    outlines, at = outline_from(body, 0, record_count)
    check_end(body, at, record_count)
    return outlines


def skim(body: bytes, record_count: int) -> list[Outline]:
    """As `outline`, but a record's length need not match its parts (`PartialDefaultRecord`).

    A leader that stores compressed records unchanged reads them like this. Raises InvalidRecord.
    """
    outlines, at = outline_from(body, 0, record_count, has_lengths=False)
    check_end(body, at, record_count)
    return outlines


def outline_from(body: bytes, at: int, record_count: int, has_lengths: bool = True) -> tuple[list[Outline], int]:
    """The outlines of `record_count` records from `at`, and the position after them. Raises InvalidRecord.

    Integers of one byte, and of two where they are common, are decoded inline, because they dominate the cost.
    """
    outlines: list[Outline] = []
    add = outlines.append
    size = len(body)
    zigzag = ZIGZAG
    try:
        for _ in range(record_count):
            low = body[at]
            if low < 0x80:
                end, at = at + 1 + zigzag[low], at + 1
            elif (high := body[at + 1]) < 0x80:
                end, at = at + 2 + zigzag[low & 0x7F] + (-high << 6 if low & 1 else high << 6), at + 2
            else:
                length, at = _decode_length(body, at)
                end = at + length
            if has_lengths and not at <= end <= size:
                raise InvalidRecord(text("fault.record_cut_off", length=end - at, left=size - at))
            # One byte of attributes, which Kafka does not use.
            low = body[at + 1]
            if low < 0x80:
                timestamp_delta, at = zigzag[low], at + 2
            else:
                timestamp_delta, at = decode_varlong(body, at + 1)
            low = body[at]
            if low < 0x80:
                offset_delta, at = zigzag[low], at + 1
            elif (high := body[at + 1]) < 0x80:
                offset_delta, at = zigzag[low & 0x7F] + (-high << 6 if low & 1 else high << 6), at + 2
            else:
                offset_delta, at = decode_varint(body, at)
            low = body[at]
            if low < 0x80:
                key_at, key_end = at + 1, at + 1 + zigzag[low]
            else:
                length, key_at = decode_varint(body, at)
                key_end = key_at + length
            at = key_end if key_end > key_at else key_at
            low = body[at]
            if low < 0x80:
                value_at, value_end = at + 1, at + 1 + zigzag[low]
            elif (high := body[at + 1]) < 0x80:
                value_at, value_end = at + 2, at + 2 + zigzag[low & 0x7F] + (-high << 6 if low & 1 else high << 6)
            else:
                length, value_at = decode_varint(body, at)
                value_end = value_at + length
            at = value_end if value_end > value_at else value_at
            if body[at]:
                headers, at = _read_headers(body, at, end if has_lengths else size)
            else:
                headers, at = (), at + 1
            if at != end and has_lengths:
                raise InvalidRecord(text("fault.record_length", fields=at, record=end))
            add((timestamp_delta, offset_delta, key_at, key_end, value_at, value_end, headers))
    except (VarintError, IndexError) as error:
        raise InvalidRecord(text("fault.record_ended", rule=rule_of(error))) from error
    return outlines, at


def _decode_length(body: bytes, at: int) -> tuple[int, int]:
    try:
        return decode_varint(body, at)
    except VarintTooLong as error:
        raise OverlongLength(text("fault.record_length_varint", rule=rule_of(error))) from error


def check_end(body: bytes, at: int, record_count: int) -> None:
    """Raises InvalidRecord if the last record of a batch does not end with the batch's bytes."""
    if at != len(body):
        raise InvalidRecord(text("fault.bytes_left", n=len(body) - at, records=record_count))


def check_until_fault(read: bytes, record_count: int) -> None:
    """Checks the complete records decompressed before a codec failed: a stream reader finds a bad record first.

    Raises InvalidRecord.
    """
    at = 0
    for _ in range(record_count):
        try:
            length, start = decode_varint(read, at)
        except (VarintError, IndexError):
            return
        if start + length > len(read):
            return
        outline(read[at : max(start + length, start)], 1)
        at = start + length
    if at < len(read):
        check_end(read, at, record_count)


def _read_headers(body: bytes, at: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, at = decode_varint(body, at)
    if not 0 <= count <= end - at:
        raise InvalidRecord(text("fault.header_count", headers=count, left=end - at))
    headers = []
    for _ in range(count):
        name, at = _read_bytes(body, at)
        if name is None:
            raise InvalidRecord(text("fault.header_key"))
        content, at = _read_bytes(body, at)
        headers.append((name.decode("utf-8", "replace"), content))
    return tuple(headers), at


def _read_bytes(body: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = decode_varint(body, at)
    if length < 0:
        return None, at
    end = at + length
    if end > len(body):
        raise InvalidRecord(text("fault.field_cut_off", length=length, left=len(body) - at))
    return body[at:end], end
