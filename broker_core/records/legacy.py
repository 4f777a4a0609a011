"""Messages of magic 0 and 1, which Kafka wrote before there were batches (`LegacyRecord`, `AbstractLegacyRecordBatch`).

A message set is a sequence of messages: offset (8 bytes), size (4), then the message: CRC-32 of what follows it
(4), magic (1), attributes (1), with magic 1 a timestamp (8), key and value, each prefixed by its length (4, -1 for
null). A compressed set is the value of one message, the wrapper, whose offset is that of the last message in it. The
offsets inside are absolute with magic 0; with magic 1 they count from 0, so that a broker need not recompress.

As in Kafka, fields are read lazily: a leader may store a message whose key's length is wrong.
"""

import struct
import zlib
from collections.abc import Sequence

from broker_core.records.compression import CompressionType, UnreadableRecords, compress, decompress
from broker_core.records.record import NO_TIMESTAMP, CorruptRecord, InvalidRecord
from broker_core.texts import text

MIN_SIZE = 14
"""The size field of a message of magic 0 with neither key nor value: the minimum for every batch of any magic."""
LOG_OVERHEAD = 12
"""The bytes of offset and size, which the size does not count."""

_OFFSET_AND_SIZE = struct.Struct(">qi")
_CRC = struct.Struct(">I")
_LENGTH = struct.Struct(">i")
_TIMESTAMP = struct.Struct(">q")
_MAGIC_AT = 16
_OTHER_MAGIC = 0x7F
"""The magic byte given to a message that does not have the magic of its wrapper."""
_CODECS = (CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4)
_CODEC_MASK = 0x07
_LOG_APPEND_TIME = 0x08

KeyedRecord = tuple[int, int, bytes | None, bytes | None]
"""(offset, timestamp in ms, key, value)"""


class EmptyWrapper(InvalidRecord):
    """A compressed message without messages in it."""


class LegacyRecord:
    """One message: its offset, and its bytes from the CRC on.

    `append_time` is that of its wrapper, if a broker has set one. Accessors raise UnreadableRecords for bytes that the
    message does not have.
    """

    __slots__ = ("append_time", "content", "offset")

    def __init__(self, offset: int, content: bytes, append_time: int | None = None) -> None:
        self.offset = offset
        self.content = content
        self.append_time = append_time

    @property
    def magic(self) -> int:
        """The magic, 0 or 1; inside of a wrapper it may be any number."""
        return self.content[4]

    @property
    def codec(self) -> int:
        """The codec's number, 0 if the message is not a wrapper."""
        return self.content[5] & _CODEC_MASK

    @property
    def has_append_time(self) -> bool:
        """Whether the timestamp is the broker's."""
        return self.append_time is not None or (self.magic > 0 and bool(self.content[5] & _LOG_APPEND_TIME))

    @property
    def timestamp(self) -> int:
        """The timestamp in ms; -1 with magic 0."""
        if self.magic == 0:
            return NO_TIMESTAMP
        return self._unpack(_TIMESTAMP, 6) if self.append_time is None else self.append_time

    @property
    def has_key(self) -> bool:
        """Whether there is a key, which may be empty."""
        return self._unpack(_LENGTH, self._key_at) >= 0

    @property
    def key(self) -> bytes | None:
        """The key."""
        return self._read(self._key_at)

    @property
    def value(self) -> bytes | None:
        """The value; for a wrapper, the messages in it."""
        return self._read(self._key_at + _LENGTH.size + max(self._unpack(_LENGTH, self._key_at), 0))

    def ensure_valid(self) -> None:
        """Raises CorruptRecord if the CRC does not match."""
        if len(self.content) < MIN_SIZE:
            raise CorruptRecord(text("fault.message_too_short", size=len(self.content), min=MIN_SIZE))
        stored, found = _CRC.unpack_from(self.content)[0], zlib.crc32(self.content[4:])
        if stored != found:
            raise CorruptRecord(text("fault.message_crc", offset=self.offset, found=found, stored=stored))

    def records(self) -> list["LegacyRecord"]:
        """The messages in this wrapper with absolute offsets; the message itself if it is not a wrapper.

        Raises InvalidRecord if they contradict each other or the wrapper, CorruptRecord for an invalid size,
        UnreadableRecords.
        """
        if not self.codec:
            return [self]
        inner = self._decompress()
        if self.magic == 0:
            return inner
        last_offset = inner[-1].offset
        if self.offset and self.offset < last_offset:
            raise InvalidRecord(text("fault.wrapper_offset", offset=self.offset, last=last_offset))
        # Some old clients write 0 there.
        first_offset = self.offset - last_offset if self.offset else 0
        for message in inner:
            message.offset += first_offset
        return inner

    def _decompress(self) -> list["LegacyRecord"]:
        if self.codec == CompressionType.ZSTD:
            raise InvalidRecord(text("fault.zstd_in_old_formats"))
        data = self.value
        if data is None:
            raise EmptyWrapper(text("fault.wrapper_null", offset=self.offset))
        data = decompress(self.codec, data, self.magic)
        append_time = self.timestamp if self.has_append_time else None
        inner = []
        for offset, at, size in _split(data):
            message = LegacyRecord(offset, data[at : at + size])
            if message.codec:
                raise InvalidRecord(text("fault.wrapper_nested"))
            message.append_time = append_time
            inner.append(message)
        if not inner:
            raise EmptyWrapper(text("fault.wrapper_empty", offset=self.offset))
        return inner

    @property
    def _key_at(self) -> int:
        return 6 if self.magic == 0 else 14

    def _read(self, at: int) -> bytes | None:
        length = self._unpack(_LENGTH, at)
        if length < 0:
            return None
        end = at + _LENGTH.size + length
        if end > len(self.content):
            left = len(self.content) - at - _LENGTH.size
            raise UnreadableRecords(text("fault.field_cut_off", length=length, left=left))
        return self.content[at + _LENGTH.size : end]

    def _unpack(self, field: struct.Struct, at: int) -> int:
        try:
            number: int = field.unpack_from(self.content, at)[0]
        except struct.error:
            raise UnreadableRecords(text("fault.message_cut_off", magic=self.magic, size=len(self.content))) from None
        return number


def read_message(data: bytes, position: int = 0) -> LegacyRecord:
    """The message at `position`, which must be complete."""
    offset, size = _OFFSET_AND_SIZE.unpack_from(data, position)
    return LegacyRecord(offset, data[position + LOG_OVERHEAD : position + LOG_OVERHEAD + size])


def build_message_set(
    records: Sequence[KeyedRecord],
    magic: int,
    codec: CompressionType = CompressionType.NONE,
    append_time: int | None = None,
    level: int | None = None,
) -> bytes:
    """The messages of `records`, in one wrapper if there is a codec (`MemoryRecordsBuilder`).

    `level` is a compression level, None for the codec's default.

    `append_time` (ms) replaces the timestamps, as LogAppendTime does. With magic 0 there are none. Raises
    UnreadableRecords for zstd, which magic 0 and 1 do not support.
    """
    if codec is CompressionType.ZSTD:
        raise UnreadableRecords(text("fault.zstd_in_old_format", magic=magic))
    if append_time is not None:
        records = [(offset, append_time, key, value) for offset, _, key, value in records]
    attributes = 0 if append_time is None or not magic else _LOG_APPEND_TIME
    if codec is CompressionType.NONE:
        return b"".join(encode_message(magic, attributes, *record) for record in records)
    last_offset = records[-1][0]
    first_offset = records[0][0] if magic else 0
    inner = b"".join(
        encode_message(magic, attributes, offset - first_offset, timestamp, key, value)
        for offset, timestamp, key, value in records
    )
    highest = max(timestamp for _, timestamp, _, _ in records)
    wrapped = compress(codec, inner, magic, level)
    return encode_message(magic, attributes | codec, last_offset, highest, None, wrapped)


def encode_message(
    magic: int, attributes: int, offset: int, timestamp: int, key: bytes | None, value: bytes | None
) -> bytes:
    """One message, prefixed by offset and size."""
    parts = [bytes((magic, attributes)), _TIMESTAMP.pack(timestamp) if magic else b""]
    for field in (key, value):
        parts += (_LENGTH.pack(-1),) if field is None else (_LENGTH.pack(len(field)), field)
    checked = b"".join(parts)
    return _OFFSET_AND_SIZE.pack(offset, 4 + len(checked)) + _CRC.pack(zlib.crc32(checked)) + checked


def with_offset(message: bytes, offset: int) -> bytes:
    """The message with another offset, which the CRC does not cover."""
    return offset.to_bytes(8, "big", signed=True) + message[8:]


def with_timestamp(message: bytes, timestamp: int, is_append_time: bool) -> bytes:
    """The message of magic 1 with another timestamp and timestamp type (`setTimestampAndUpdateCrc`)."""
    changed = bytearray(message)
    flag = _LOG_APPEND_TIME if is_append_time else 0
    changed[17] = changed[17] & _CODEC_MASK | flag
    changed[18:26] = _TIMESTAMP.pack(timestamp)
    changed[12:16] = _CRC.pack(zlib.crc32(changed[16:]))
    return bytes(changed)


def as_known(data: bytes, newest: int) -> bytes:
    """Messages as a release reads them that does not look at the magic: those above its newest magic have the fields of
    that one. They get this magic, and a CRC that is as right or wrong as theirs. From a message on whose size is
    invalid nothing changes.
    """
    parts = []
    at = 0
    while at + LOG_OVERHEAD + MIN_SIZE <= len(data):
        size = _OFFSET_AND_SIZE.unpack_from(data, at)[1]
        end = at + LOG_OVERHEAD + size
        if size < MIN_SIZE or end > len(data):
            break
        message = data[at:end]
        parts.append(message if message[_MAGIC_AT] <= newest else _with_magic(message, newest))
        at = end
    return b"".join(parts) + data[at:]


def _with_magic(message: bytes, magic: int) -> bytes:
    content = bytearray(message[LOG_OVERHEAD:])
    is_valid = _CRC.unpack_from(content)[0] == zlib.crc32(content[4:])
    codec, was = content[5] & _CODEC_MASK, content[4]
    content[4] = magic
    if magic:
        content[5] &= _CODEC_MASK | _LOG_APPEND_TIME  # Such a message is converted, which clears the other attributes.
        if is_valid and codec in _CODECS:
            content = bytearray(_with_inner_magic(bytes(content), codec, was, magic))
    crc = zlib.crc32(content[4:])
    content[:4] = _CRC.pack(crc if is_valid else crc ^ 1)
    return message[:8] + len(content).to_bytes(4, "big") + bytes(content)


def _with_inner_magic(content: bytes, codec: int, was: int, magic: int) -> bytes:
    """The wrapper with the magic of the messages in it changed like its own, if they can be read."""
    wrapper = LegacyRecord(0, content)
    try:
        value = wrapper.value or b""
        inner = decompress(codec, value, magic)
        messages = [(inner[at - LOG_OVERHEAD : at + size], inner[at + 4]) for _, at, size in _split(inner)]
    except (CorruptRecord, UnreadableRecords):
        return content
    changed = [
        _with_magic(message, magic if found == was else _OTHER_MAGIC) if found in (was, magic) else message
        for message, found in messages
    ]
    packed = compress(CompressionType(codec), b"".join(changed), magic)
    head = content[: len(content) - len(value) - _LENGTH.size]
    return head + _LENGTH.pack(len(packed)) + packed if messages else content


def _split(data: bytes) -> list[tuple[int, int, int]]:
    """(offset, position, size) of each message in a wrapper; an incomplete one at the end is ignored."""
    found = []
    at = 0
    while at + LOG_OVERHEAD <= len(data):
        offset, size = _OFFSET_AND_SIZE.unpack_from(data, at)
        if size < MIN_SIZE:
            raise CorruptRecord(text("fault.message_too_short", size=size, min=MIN_SIZE))
        at += LOG_OVERHEAD
        if at + size > len(data):
            break
        found.append((offset, at, size))
        at += size
    return found
