"""Message sets of magic 0 and 1: single messages, and compressed ones that wrap others.

Source: `AbstractLegacyRecordBatch`, `LegacyRecord`; KIP-31 (relative offsets), KIP-32 (timestamps).
"""

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from broker_core.log.dump.batches import LOG_APPEND_TIME, FileRecordBatch
from broker_core.log.dump.compressed_input import StreamFault
from broker_core.log.dump.java import Thrown, int32, int64, kafka, out_of_memory
from broker_core.log.dump.records import MAX_RECORD_BYTES, DumpedRecord, invalid, read_held
from broker_core.log.dump.stream import DecompressedStream, open_stream, unreadable
from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import COMPRESSION_MASK, LENGTH_OVERHEAD, NO_TIMESTAMP

_OFFSET_AND_SIZE = struct.Struct(">qi")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_MAGIC_POSITION = 4
_ATTRIBUTES_POSITION = 5
_TIMESTAMP_POSITION = 6
_MIN_RECORD_BYTES = 14
_HELD_MESSAGES_BYTES = 8 * 1024 * 1024


class DumpedMessage(NamedTuple):
    """A message with its bytes from the CRC on. `append_time` overrides its timestamp when its wrapper says so."""

    offset: int
    data: bytes
    append_time: int | None = None

    @property
    def magic(self) -> int:
        """The magic in the message itself, which its wrapper may contradict."""
        return self.data[_MAGIC_POSITION] - (self.data[_MAGIC_POSITION] >> 7 << 8)

    @property
    def is_compressed(self) -> bool:
        """Whether it wraps others. Raises Thrown for an unknown codec."""
        number = self.data[_ATTRIBUTES_POSITION] & COMPRESSION_MASK
        if number > CompressionType.ZSTD:
            rule = f"codecs have the numbers 0 to 4, a message names {number}"
            raise Thrown("java.lang.IllegalArgumentException", f"Unknown compression type id: {number}", rule)
        return number != CompressionType.NONE

    @property
    def timestamp(self) -> int:
        """The timestamp in ms; -1 in magic 0, which has none."""
        if self.magic == 0:
            return NO_TIMESTAMP
        return self._read(_LONG, _TIMESTAMP_POSITION) if self.append_time is None else self.append_time

    @property
    def _key_size_position(self) -> int:
        return _TIMESTAMP_POSITION if self.magic == 0 else _TIMESTAMP_POSITION + 8

    @property
    def _value_size_position(self) -> int:
        key_size = self._read(_INT, self._key_size_position)
        return int32(self._key_size_position + _INT.size + max(0, key_size))

    def record(self) -> DumpedRecord:
        """The message as the tool prints it."""
        crc = int.from_bytes(self.data[:4], "big")
        is_valid = zlib.crc32(memoryview(self.data)[_MAGIC_POSITION:]) == crc
        key_size = value_size = 0
        key = value = None
        sizes_fault = content_fault = None
        try:
            key_size = self._read(_INT, self._key_size_position)
            value_size = self._read(_INT, self._value_size_position)
        except Thrown as fault:
            sizes_fault = fault
        try:
            key = self._sized(self._key_size_position)
            value = self._sized(self._value_size_position)
        except Thrown as fault:
            content_fault = fault
        return DumpedRecord(
            self.offset,
            self.timestamp,
            key,
            value,
            key_size,
            value_size,
            legacy=(is_valid, crc),
            sizes_fault=sizes_fault,
            content_fault=content_fault,
        )

    def _read(self, field: struct.Struct, position: int) -> int:
        return int(field.unpack_from(self.data, _inside(position, field.size, len(self.data)))[0])

    def _sized(self, position: int) -> bytes | None:
        """A field prefixed by its length (`Utils.sizeDelimited`)."""
        size = self._read(_INT, position)
        if size < 0:
            return None
        _fits(size, len(self.data) - position - _INT.size)
        return self.data[position + _INT.size : position + _INT.size + size]


def _inside(position: int, size: int, end: int) -> int:
    if position < 0 or position + size > end:
        rule = f"a field of a message is at byte {position}, the message has {end} bytes"
        raise Thrown("java.lang.IndexOutOfBoundsException", None, rule)
    return position


def _fits(size: int, capacity: int) -> None:
    if size > capacity:
        rule = f"a field of a message claims {size} bytes, {capacity} are left"
        raise Thrown("java.lang.IllegalArgumentException", f"newLimit > capacity: ({size} > {capacity})", rule)


def read_messages(batch: FileRecordBatch) -> Iterator[DumpedRecord]:
    """The messages of a set. Raises Thrown at a fault; all of a compressed set are read before one is shown."""
    try:
        if batch.compression is CompressionType.NONE:
            yield _whole(batch).record()
        else:
            yield from _unwrapped(batch)
    except Thrown as thrown:
        raise batch.at(thrown) from None


def _whole(batch: FileRecordBatch) -> DumpedMessage:
    size = batch.size - LENGTH_OVERHEAD
    if size > MAX_RECORD_BYTES:
        raise out_of_memory(f"a message may have {MAX_RECORD_BYTES} bytes, this one has {size}")
    return DumpedMessage(batch.offset, batch.window.get(batch.position + LENGTH_OVERHEAD, size))


def _unwrapped(batch: FileRecordBatch) -> Iterator[DumpedRecord]:
    held: list[DumpedMessage] | None = []
    held_bytes = 0
    last: DumpedMessage | None = None
    for last in _inner(batch):
        if held is not None:
            held.append(last)
            held_bytes += len(last.data) + 100
            if held_bytes > _HELD_MESSAGES_BYTES:
                held = None
    if last is None:
        rule = "a compressed message holds at least one other, this one none"
        raise invalid("Found invalid compressed record set with no inner records", rule)
    base_offset = _base_offset(batch, last.offset)
    for message in held if held is not None else _inner(batch):
        if batch.magic == 1:
            message = message._replace(offset=int64(base_offset + message.offset))
        if message.is_compressed:
            raise invalid("Inner messages must not be compressed", "a compressed message holds a compressed one")
        yield message.record()


def _base_offset(batch: FileRecordBatch, last_inner_offset: int) -> int:
    """The base of inner offsets, which are relative in magic 1; the wrapper has the offset of the last one."""
    if batch.magic == 0 or batch.offset == 0:
        return 0
    if batch.offset < last_inner_offset:
        raise invalid(
            f"Found invalid wrapper offset in compressed v1 message set, wrapper offset '{batch.offset}' is less "
            f"than the last inner message offset '{last_inner_offset}' and it is not zero.",
            f"a compressed message has the offset of its last inner one, {batch.offset} is below {last_inner_offset}",
        )
    return int64(batch.offset - last_inner_offset)


def _inner(batch: FileRecordBatch) -> Iterator[DumpedMessage]:
    """The messages inside, with their offsets as written."""
    codec = batch.compression
    if codec is CompressionType.ZSTD:
        rule = "zstd needs magic 2"
        raise invalid(f"Invalid wrapper compressionType found in legacy deep record iterator {batch.magic}", rule)
    start, size = _value_place(batch)
    if size < 0:
        rule = "a compressed message has a value, this one has none"
        raise invalid(f"Found invalid compressed record set with null value (magic = {batch.magic})", rule)

    def fetch(position: int, length: int) -> bytes:
        return batch.window.get(start + position, length)

    stream = open_stream(codec, fetch, size, batch.magic)
    append_time = batch.legacy.timestamp if batch.timestamp_type == LOG_APPEND_TIME else None
    try:
        while True:
            message = _next_message(stream)
            if message is None:
                return
            yield message._replace(append_time=append_time) if message.magic == 1 else message
    except StreamFault as fault:
        raise unreadable(codec, str(fault), fault) from None


def _value_place(batch: FileRecordBatch) -> tuple[int, int]:
    """The position of a wrapper's value in the file, and its size."""
    end = batch.size - LENGTH_OVERHEAD

    def read(position: int) -> int:
        at = batch.position + LENGTH_OVERHEAD + _inside(position, _INT.size, end)
        return int(_INT.unpack(batch.window.get(at, _INT.size))[0])

    key_size_position = _TIMESTAMP_POSITION if batch.magic == 0 else _TIMESTAMP_POSITION + 8
    position = int32(key_size_position + 4 + max(0, read(key_size_position)))
    size = read(position)
    _fits(size, end - position - 4)
    return batch.position + LENGTH_OVERHEAD + position + 4, size


def _next_message(stream: DecompressedStream) -> DumpedMessage | None:
    head = stream.read(LENGTH_OVERHEAD)
    if len(head) < LENGTH_OVERHEAD:
        return None
    offset, size = _OFFSET_AND_SIZE.unpack(head)
    if size < _MIN_RECORD_BYTES:
        raise Thrown(
            kafka("CorruptRecordException"),
            f"Record size is less than the minimum record overhead ({_MIN_RECORD_BYTES})",
            f"a message has at least {_MIN_RECORD_BYTES} bytes, an inner one claims {size}",
        )
    data = read_held(stream, size, "a message")
    return DumpedMessage(offset, data) if len(data) == size else None
