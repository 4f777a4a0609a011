"""Record batches: the bytes that producers send, brokers store and fetches return.

A batch of magic 2 is a header of 61 bytes and the records; only the records may be compressed. Offset, length, leader
epoch and magic precede the CRC, so a leader sets the first and the third without changing the rest.

Logs may hold messages of magic 0 and 1 as well. Length and magic are at the same positions there; a message, compressed
or not, counts as a batch whose header has only its last offset and timestamp (`legacy` has the rest).

Source: `DefaultRecordBatch`, `DefaultRecord`, `MemoryRecordsBuilder`; KIP-82 (headers), KIP-98 (producer ids),
KIP-101 (leader epoch in the batch), KIP-534 (delete horizon).
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import chain

import google_crc32c
import msgspec
from msgspec.structs import replace

from broker_core.records.compression import CompressionType, compress, decompress
from broker_core.records.legacy import MIN_SIZE, read_message
from broker_core.records.record import NO_TIMESTAMP as NO_TIMESTAMP
from broker_core.records.record import CorruptRecord as CorruptRecord
from broker_core.records.record import Header as Header
from broker_core.records.record import InvalidRecord as InvalidRecord
from broker_core.records.record import Record as Record
from broker_core.records.record import SimpleRecord as SimpleRecord
from broker_core.records.record import record_parts
from broker_core.records.record_runs import read_records
from broker_core.texts import text

MAGIC_V2 = 2
MAGIC_POSITION = 16
HEADER_BYTES = 61
LENGTH_OVERHEAD = 12
"""Bytes before those that the length field counts."""
_MIN_LENGTH = HEADER_BYTES - LENGTH_OVERHEAD
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21
"""The CRC covers the batch from here to its end."""
MAX_TIMESTAMP_POSITION = 35
PRODUCER_POSITION = 43
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1

COMPRESSION_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40
_KNOWN_ATTRIBUTES = 0x7F

HEADER = struct.Struct(">qiiBIhiqqqhii")
OFFSET_AND_LENGTH = struct.Struct(">qi")
_STAMP = struct.Struct(">qii")
_AFTER_CRC = struct.Struct(">hiqqqhii")
_PRODUCER = struct.Struct(">qhi")

# offset, size, CRC, magic, attributes, and with magic 1 the timestamp, which fits the smallest message
_MESSAGE = struct.Struct(">qiIBBq")

crc32c = google_crc32c.value
_CRC_PIECE_BYTES = 64 * 1024


def crc32c_of(data: bytes, start: int, end: int) -> int:
    """The CRC-32C of a part of `data`.

    The library accepts only complete objects: a large part is passed in pieces whose copies fit the processor's cache.
    """
    if end - start <= _CRC_PIECE_BYTES:
        return int(crc32c(data[start:end]))
    crc = 0
    for at in range(start, end, _CRC_PIECE_BYTES):
        crc = google_crc32c.extend(crc, data[at : min(at + _CRC_PIECE_BYTES, end)])
    return crc


class TimestampType(IntEnum):
    """Whether the timestamps of a batch are set by the producer or the broker."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader(msgspec.Struct, frozen=True, gc=False):
    """The fields of the 61 bytes before the records, in their order.

    For a message of magic 0 or 1, `base_offset` is its own, which is the last one of a compressed message, and
    `record_count` is -1 if it is compressed. Fields that such a message does not have are -1.
    """

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
        """The size of the whole batch in bytes."""
        return self.length + LENGTH_OVERHEAD

    @property
    def compression(self) -> int:
        """The codec's number; valid values are those of `CompressionType`."""
        return self.attributes & COMPRESSION_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        """The timestamp type: CreateTime or LogAppendTime."""
        return TimestampType.LOG_APPEND_TIME if self.attributes & LOG_APPEND_TIME_FLAG else TimestampType.CREATE_TIME

    @property
    def has_append_time(self) -> bool:
        """Whether a broker set the timestamps (LogAppendTime)."""
        return bool(self.attributes & LOG_APPEND_TIME_FLAG)

    @property
    def has_producer_id(self) -> bool:
        """Whether the producer is idempotent; Kafka treats any negative id as none."""
        return self.producer_id > NO_PRODUCER_ID

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL_FLAG)

    @property
    def is_control(self) -> bool:
        """Whether it is a control batch, which applications never see."""
        return bool(self.attributes & CONTROL_FLAG)

    @property
    def delete_horizon_ms(self) -> int | None:
        """The time from which the cleaner may drop the batch's tombstones; None if not set (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record, -1 without a producer; wraps from 2147483647 to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)


def increment_sequence(sequence: int, increment: int) -> int:
    """Adds to a sequence number, wrapping after 2147483647 (`DefaultRecordBatch.incrementSequence`)."""
    return (sequence + increment) & 0x7FFFFFFF


def parse_header(data: bytes, position: int = 0) -> BatchHeader:
    """The header of the batch at `position`. Raises CorruptRecord if fewer bytes are left than a header has."""
    left = len(data) - position
    if left > MAGIC_POSITION and data[position + MAGIC_POSITION] < MAGIC_V2:
        header = _message_header(data, position)
        if header is not None:
            return header
    if left < HEADER_BYTES:
        raise CorruptRecord(text("fault.batch_header", left=left, size=HEADER_BYTES))
    return BatchHeader(*HEADER.unpack_from(data, position))


def smallest_length(magic: int) -> int:
    """The minimum of the length field of a batch of this magic."""
    return _MIN_LENGTH if magic >= MAGIC_V2 else MIN_SIZE


def ensure_valid(data: bytes, header: BatchHeader, position: int = 0) -> None:
    """Checks size and CRC of the batch at `position`. Raises CorruptRecord (`DefaultRecordBatch.ensureValid`)."""
    length, magic = header.length, header.magic
    # Every append calls this, so the check of a batch of magic 2 is inlined.
    if length < _MIN_LENGTH and length < smallest_length(magic):
        smallest = smallest_length(magic) + LENGTH_OVERHEAD
        raise CorruptRecord(text("fault.batch_too_small", size=header.size, min=smallest))
    end = position + length + LENGTH_OVERHEAD
    if end > len(data):
        raise CorruptRecord(text("fault.batch_cut_off", size=header.size, left=len(data) - position))
    if magic < MAGIC_V2:
        read_message(data, position).ensure_valid()
        return
    found = crc32c_of(data, position + ATTRIBUTES_POSITION, end)
    if found != header.crc:
        raise CorruptRecord(text("fault.batch_crc", offset=header.base_offset, found=found, stored=header.crc))


def iterate_batches(data: bytes, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Yields position and header of each complete batch; ignores an incomplete one at the end. CRCs are not checked."""
    end = len(data)
    while position + MAGIC_POSITION < end:
        if data[position + MAGIC_POSITION] >= MAGIC_V2:
            if position + HEADER_BYTES > end:
                return
            header = BatchHeader(*HEADER.unpack_from(data, position))
            if header.length < _MIN_LENGTH:
                return
        else:
            message = _message_header(data, position)
            if message is None:
                return
            header = message
        if position + header.length + LENGTH_OVERHEAD > end:
            return
        yield position, header
        position += header.length + LENGTH_OVERHEAD


def batches_in(data: bytes) -> list[tuple[int, BatchHeader]]:
    """All results of `iterate_batches`, with a fast path for the common case of one batch."""
    if len(data) >= HEADER_BYTES and data[MAGIC_POSITION] >= MAGIC_V2:
        header = BatchHeader(*HEADER.unpack_from(data))
        if header.length + LENGTH_OVERHEAD == len(data):
            return [(0, header)]
    return list(iterate_batches(data))


def _message_header(data: bytes, position: int) -> BatchHeader | None:
    """The header of the message of magic 0 or 1 at `position`; None if its size is invalid."""
    if len(data) - position < _MESSAGE.size:
        return None
    offset, size, crc, magic, attributes, timestamp = _MESSAGE.unpack_from(data, position)
    if size < MIN_SIZE:
        return None
    if not magic:
        timestamp = NO_TIMESTAMP
        attributes &= COMPRESSION_MASK
    return BatchHeader(
        offset,
        size,
        NO_LEADER_EPOCH,
        magic,
        crc,
        attributes & (COMPRESSION_MASK | LOG_APPEND_TIME_FLAG),
        0,
        timestamp,
        timestamp,
        NO_PRODUCER_ID,
        NO_PRODUCER_EPOCH,
        NO_SEQUENCE,
        -1 if attributes & COMPRESSION_MASK else 1,
    )


def iterate(data: bytes) -> Iterator[Record]:
    """The records of all complete batches in `data`, markers included. Raises InvalidRecord, UnreadableRecords."""
    return chain.from_iterable(iterate_records(data, header, position) for position, header in iterate_batches(data))


def records_bytes(data: bytes, header: BatchHeader, position: int = 0) -> bytes:
    """The records of the batch at `position`, decompressed. Raises UnreadableRecords if that fails."""
    body = data[position + HEADER_BYTES : position + header.length + LENGTH_OVERHEAD]
    codec = header.attributes & COMPRESSION_MASK
    return decompress(codec, body) if codec else body


def iterate_records(data: bytes, header: BatchHeader, position: int = 0) -> Iterator[Record]:
    """The records of the batch at `position`. Raises InvalidRecord if one is malformed, UnreadableRecords."""
    if header.magic < MAGIC_V2:
        messages = read_message(data, position).records()
        return (
            Record(message.offset, message.timestamp, message.key, message.value, (), message.has_append_time)
            for message in messages
        )
    body = records_bytes(data, header, position)
    append_time = header.max_timestamp if header.has_append_time else None
    records = read_records(body, header.record_count, header.base_offset, header.base_timestamp, append_time)
    return records if append_time is None else (replace(record, has_append_time=True) for record in records)


def build_batch(
    records: Iterable[tuple[int, bytes | None, bytes | None, Sequence[Header]] | SimpleRecord],
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    append_time: int | None = None,
    compression: CompressionType = CompressionType.NONE,
    compression_level: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
) -> bytes:
    """One batch of `records`, each (timestamp, key, value, headers), with consecutive offsets from `base_offset`.

    The batch's base timestamp is that of its first record, as in the Java client. `append_time` (ms) is set by a broker
    with LogAppendTime. Raises ValueError without records.
    """
    parts: list[bytes] = []
    base_timestamp = max_timestamp = NO_TIMESTAMP
    count = 0
    for timestamp, key, value, headers in records:
        if not count:
            base_timestamp = max_timestamp = timestamp
        elif timestamp > max_timestamp:
            max_timestamp = timestamp
        parts += record_parts(timestamp - base_timestamp, count, key, value, headers)
        count += 1
    if not count:
        raise ValueError("a batch needs at least one record")
    if append_time is not None:
        timestamp_type, max_timestamp = TimestampType.LOG_APPEND_TIME, append_time
    attributes = compression | timestamp_type << 3 | is_transactional << 4 | is_control << 5
    return assemble(
        compress(compression, b"".join(parts), level=compression_level),
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


def assemble(*body: bytes, **fields: int) -> bytes:
    """A batch: `batch_parts`, joined."""
    return b"".join(batch_parts(*body, **fields))


def batch_parts(
    *body: bytes,
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
) -> tuple[bytes, ...]:
    """A header with its CRC, followed by the records `body` (already compressed, in pieces)."""
    after_crc = _AFTER_CRC.pack(
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    )
    crc = crc32c(after_crc)
    for piece in body:
        crc = google_crc32c.extend(crc, piece)
    start = _STAMP.pack(base_offset, _MIN_LENGTH + sum(map(len, body)), leader_epoch)
    return (b"".join((start, b"\x02", crc.to_bytes(4, "big"), after_crc)), *body)


def stamp(data: bytes, base_offset: int, leader_epoch: int) -> bytes:
    """The batch with another base offset and leader epoch; the CRC covers neither."""
    return stamped_header(data, base_offset, leader_epoch) + data[HEADER_BYTES:]


def stamped_header(data: bytes, base_offset: int, leader_epoch: int) -> bytes:
    """The header of the batch `data` with another base offset and leader epoch."""
    return _STAMP.pack(base_offset, len(data) - LENGTH_OVERHEAD, leader_epoch) + data[_STAMP.size : HEADER_BYTES]


def with_max_timestamp(
    data: bytes, timestamp_type: TimestampType, max_timestamp: int, *, keeps_horizon: bool = True
) -> bytes:
    """The batch with another timestamp type and max timestamp, CRC included (`setMaxTimestamp`).

    Attributes that Kafka does not know are lost, also the delete horizon unless `keeps_horizon`.
    """
    known = _KNOWN_ATTRIBUTES if keeps_horizon else _KNOWN_ATTRIBUTES & ~DELETE_HORIZON_FLAG
    changed = bytearray(data)
    changed[21] = 0
    changed[22] = changed[22] & known & ~LOG_APPEND_TIME_FLAG | timestamp_type << 3
    changed[MAX_TIMESTAMP_POSITION : MAX_TIMESTAMP_POSITION + 8] = max_timestamp.to_bytes(8, "big", signed=True)
    changed[CRC_POSITION : CRC_POSITION + 4] = crc32c(bytes(changed[ATTRIBUTES_POSITION:])).to_bytes(4, "big")
    return bytes(changed)


def with_producer(data: bytes, producer_id: int, epoch: int, base_sequence: int) -> bytes:
    """The batch with another producer id, epoch and sequence, CRC included (`ProducerBatch.resetProducerState`)."""
    changed = bytearray(data)
    _PRODUCER.pack_into(changed, PRODUCER_POSITION, producer_id, epoch, base_sequence)
    changed[CRC_POSITION : CRC_POSITION + 4] = crc32c(bytes(changed[ATTRIBUTES_POSITION:])).to_bytes(4, "big")
    return bytes(changed)
