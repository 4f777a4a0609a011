"""Record batches of magic 2: the bytes that producers send, brokers store and fetches return.

A batch is a header of 61 bytes and the records, which alone may be compressed. Offset, length, leader epoch and magic
lie before the CRC, so a leader stamps the first and the third without touching the rest.

Source: `DefaultRecordBatch`, `DefaultRecord`, `MemoryRecordsBuilder`; KIP-82 (headers), KIP-98 (producer ids),
KIP-101 (leader epoch in the batch), KIP-534 (delete horizon).
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

import google_crc32c
import msgspec

from broker_core.records.compression import CompressionType, compress, decompress
from broker_core.records.varint import VarintError, decode_varint, decode_varlong, encode_varlong

MAGIC_V2 = 2
HEADER_BYTES = 61
LENGTH_OVERHEAD = 12
"""Bytes before those that the length field counts."""
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21
"""The CRC covers the batch from here to its end."""
MAX_TIMESTAMP_POSITION = 35
NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1

COMPRESSION_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40

HEADER = struct.Struct(">qiiBIhiqqqhii")
OFFSET_AND_LENGTH = struct.Struct(">qi")
LAST_OFFSET_DELTA = struct.Struct(">i")
LAST_OFFSET_DELTA_POSITION = 23
_STAMP = struct.Struct(">qii")
_AFTER_CRC = struct.Struct(">hiqqqhii")

crc32c = google_crc32c.value

Header = tuple[str, bytes | None]


class TimestampType(IntEnum):
    """Whose clock the timestamps of a batch show: the producer's or the broker's."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class CorruptRecord(ValueError):
    """The bytes are not a valid batch or record; the message says what was found. CORRUPT_MESSAGE for a client."""


class InvalidRecord(ValueError):
    """The batch is whole, but a record in it cannot be parsed. INVALID_RECORD for a client."""


class SimpleRecord(NamedTuple):
    """A record to be written: `timestamp` in ms since the epoch, -1 for none; a null value is a tombstone."""

    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()


class Record(msgspec.Struct, frozen=True, gc=False):
    """A record that was read, with its absolute offset and timestamp (ms)."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


class BatchHeader(msgspec.Struct, frozen=True, gc=False):
    """The 61 bytes before the records, field by field as they lie there."""

    base_offset: int
    length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        """The offset of the last record; compaction may have removed that record, but not its offset."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset after the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.length + LENGTH_OVERHEAD

    @property
    def compression(self) -> int:
        """The codec's number; the values that Kafka knows are those of `CompressionType`."""
        return self.attributes & COMPRESSION_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        """Whose clock stamped the records."""
        return TimestampType.LOG_APPEND_TIME if self.attributes & LOG_APPEND_TIME_FLAG else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL_FLAG)

    @property
    def is_control(self) -> bool:
        """Whether the batch is a marker of the broker, which applications never see."""
        return bool(self.attributes & CONTROL_FLAG)

    @property
    def delete_horizon_ms(self) -> int | None:
        """From when on the cleaner may drop the batch's tombstones; None when it has not set a time (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record, -1 without a producer; follows 2147483647 with 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)


def increment_sequence(sequence: int, increment: int) -> int:
    """Adds to a sequence number, wrapping after 2147483647 (`DefaultRecordBatch.incrementSequence`)."""
    return (sequence + increment) & 0x7FFFFFFF


def parse_header(data: bytes, position: int = 0) -> BatchHeader:
    """The header of the batch at `position`. Raises CorruptRecord when fewer than 61 bytes are left."""
    if len(data) - position < HEADER_BYTES:
        raise CorruptRecord(f"{len(data) - position} bytes are left, a batch header has {HEADER_BYTES}")
    return BatchHeader(*HEADER.unpack_from(data, position))


def ensure_valid(data: bytes, header: BatchHeader, position: int = 0) -> None:
    """Checks size and CRC of the batch at `position`. Raises CorruptRecord (`DefaultRecordBatch.ensureValid`)."""
    size = header.length + LENGTH_OVERHEAD
    if size < HEADER_BYTES:
        raise CorruptRecord(f"the batch claims {size} bytes, its header alone has {HEADER_BYTES}")
    end = position + size
    if end > len(data):
        raise CorruptRecord(f"the batch claims {size} bytes, only {len(data) - position} are there")
    found = crc32c(data[position + ATTRIBUTES_POSITION : end])
    if found != header.crc:
        raise CorruptRecord(f"the batch at offset {header.base_offset} has CRC {found}, its header says {header.crc}")


def iterate_batches(data: bytes, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """The position and header of each whole batch; a part of a batch at the end is left out. CRCs are not checked."""
    end = len(data)
    while position + HEADER_BYTES <= end:
        header = BatchHeader(*HEADER.unpack_from(data, position))
        if header.length < HEADER_BYTES - LENGTH_OVERHEAD or position + header.length + LENGTH_OVERHEAD > end:
            return
        yield position, header
        position += header.length + LENGTH_OVERHEAD


def iterate(data: bytes) -> Iterator[Record]:
    """The records of all whole batches in `data`, markers included. Raises InvalidRecord, UnreadableRecords."""
    for position, header in iterate_batches(data):
        yield from iterate_records(data, header, position)


def records_bytes(data: bytes, header: BatchHeader, position: int = 0) -> bytes:
    """The records of the batch at `position`, decompressed. Raises UnreadableRecords when they cannot be."""
    return decompress(header.compression, data[position + HEADER_BYTES : position + header.size])


def iterate_records(data: bytes, header: BatchHeader, position: int = 0) -> Iterator[Record]:
    """The records of the batch at `position`. Raises InvalidRecord where one breaks the format, UnreadableRecords."""
    body = records_bytes(data, header, position)
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_FLAG else None
    for timestamp_delta, offset_delta, key_at, key_end, value_at, value_end, headers in outline(
        body, header.record_count
    ):
        yield Record(
            base_offset + offset_delta,
            base_timestamp + timestamp_delta if append_time is None else append_time,
            None if key_end < key_at else body[key_at:key_end],
            None if value_end < value_at else body[value_at:value_end],
            headers,
        )


Outline = tuple[int, int, int, int, int, int, tuple[Header, ...]]


def outline(body: bytes, record_count: int) -> Iterator[Outline]:
    """Where the parts of each record lie in the decompressed records `body`; raises InvalidRecord.

    Each is (timestamp delta, offset delta, start and end of the key, start and end of the value, headers). A key or
    value that is null ends before it starts. Nothing is copied, so that a batch can be checked at little cost; the
    integers of one byte, which most are, are decoded right here.
    """
    at = 0
    size = len(body)
    try:
        for _ in range(record_count):
            length = body[at]
            if length < 0x80:
                length = (length >> 1) ^ -(length & 1)
                at += 1
            else:
                length, at = decode_varint(body, at)
            end = at + length
            if length < 0 or end > size:
                raise InvalidRecord(f"a record claims {length} bytes, {size - at} are left")
            # One byte of attributes, of which Kafka uses none.
            timestamp_delta, at = decode_varlong(body, at + 1)
            offset_delta, at = decode_varint(body, at)
            length = body[at]
            if length < 0x80:
                length = (length >> 1) ^ -(length & 1)
                key_at = at + 1
            else:
                length, key_at = decode_varint(body, at)
            key_end = key_at + length
            at = key_end if length > 0 else key_at
            length = body[at]
            if length < 0x80:
                length = (length >> 1) ^ -(length & 1)
                value_at = at + 1
            else:
                length, value_at = decode_varint(body, at)
            value_end = value_at + length
            at = value_end if length > 0 else value_at
            headers: tuple[Header, ...] = ()
            if body[at]:
                headers, at = _read_headers(body, at, end)
            else:
                at += 1
            if at != end:
                raise InvalidRecord(f"the fields of a record end {abs(end - at)} bytes {_side(at - end)} its end")
            yield timestamp_delta, offset_delta, key_at, key_end, value_at, value_end, headers
    except (VarintError, IndexError) as error:
        raise InvalidRecord(f"a record ends too early: {error}") from error
    if at != size:
        raise InvalidRecord(f"{size - at} bytes follow the last of {record_count} records")


def _side(distance: int) -> str:
    return "behind" if distance > 0 else "before"


def _read_headers(body: bytes, at: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, at = decode_varint(body, at)
    if not 0 <= count <= end - at:
        raise InvalidRecord(f"a record claims {count} headers, {end - at} bytes are left in it")
    headers = []
    for _ in range(count):
        name, at = _read_bytes(body, at)
        if name is None:
            raise InvalidRecord("a record header has no key")
        content, at = _read_bytes(body, at)
        headers.append((name.decode("utf-8", "replace"), content))
    return tuple(headers), at


def _read_bytes(body: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = decode_varint(body, at)
    if length < 0:
        return None, at
    end = at + length
    if end > len(body):
        raise InvalidRecord(f"a field claims {length} bytes, {len(body) - at} are left")
    return body[at:end], end


def build_batch(
    records: Iterable[tuple[int, bytes | None, bytes | None, Sequence[Header]] | SimpleRecord],
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    compression: CompressionType = CompressionType.NONE,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
) -> bytes:
    """One batch of `records`, each (timestamp, key, value, headers), with consecutive offsets from `base_offset`.

    The batch's base timestamp is that of its first record, as in the Java client. Raises ValueError without records.
    """
    body = bytearray()
    base_timestamp = max_timestamp = NO_TIMESTAMP
    count = 0
    for timestamp, key, value, headers in records:
        if not count:
            base_timestamp = max_timestamp = timestamp
        elif timestamp > max_timestamp:
            max_timestamp = timestamp
        body += encode_record(timestamp - base_timestamp, count, key, value, headers)
        count += 1
    if not count:
        raise ValueError("a batch needs at least one record")
    attributes = compression | timestamp_type << 3 | is_transactional << 4 | is_control << 5
    return assemble(
        compress(compression, bytes(body)),
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        attributes=attributes,
        last_offset_delta=count - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=count,
    )


def assemble(
    body: bytes,
    *,
    base_offset: int,
    leader_epoch: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    record_count: int,
) -> bytes:
    """A header with its CRC, and the records `body` (already compressed) behind it."""
    checked = (
        _AFTER_CRC.pack(
            attributes,
            last_offset_delta,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            record_count,
        )
        + body
    )
    length = ATTRIBUTES_POSITION - LENGTH_OVERHEAD + len(checked)
    return b"".join(
        (
            _STAMP.pack(base_offset, length, leader_epoch),
            b"\x02",
            crc32c(checked).to_bytes(4, "big"),
            checked,
        )
    )


def encode_record(
    timestamp_delta: int, offset_delta: int, key: bytes | None, value: bytes | None, headers: Sequence[Header] = ()
) -> bytes:
    """One record with its length in front."""
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
    encoded = b"".join(parts)
    return encode_varlong(len(encoded)) + encoded


def stamp(data: bytes, base_offset: int, leader_epoch: int) -> bytes:
    """The batch with another base offset and leader epoch; both lie outside the CRC."""
    return _STAMP.pack(base_offset, len(data) - LENGTH_OVERHEAD, leader_epoch) + data[16:]


def set_base_offset_and_epoch(data: bytearray, base_offset: int, leader_epoch: int, position: int = 0) -> None:
    """The same in place, for the batch at `position` of a larger buffer."""
    length = int.from_bytes(data[position + 8 : position + 12], "big")
    _STAMP.pack_into(data, position, base_offset, length, leader_epoch)


def with_max_timestamp(data: bytes, timestamp_type: TimestampType, max_timestamp: int) -> bytes:
    """The batch with another timestamp type and max timestamp, CRC included (`setMaxTimestamp`)."""
    changed = bytearray(data)
    changed[22] = changed[22] & ~LOG_APPEND_TIME_FLAG | timestamp_type << 3
    changed[MAX_TIMESTAMP_POSITION : MAX_TIMESTAMP_POSITION + 8] = max_timestamp.to_bytes(8, "big", signed=True)
    changed[CRC_POSITION : CRC_POSITION + 4] = crc32c(bytes(changed[ATTRIBUTES_POSITION:])).to_bytes(4, "big")
    return bytes(changed)
