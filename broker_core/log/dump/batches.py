"""The batches of a `.log` as Kafka's tool reads them: headers as stored, valid or not.

Nothing that the tool shows is rejected, and no batch is held in memory completely.
Source: `FileRecords`, `FileLogInputStream`, `DefaultRecordBatch`, `AbstractLegacyRecordBatch`.
"""

import struct
import zlib
from collections.abc import Iterator
from functools import cached_property

import google_crc32c
import msgspec

from broker_core.config_defs import INT_MAX
from broker_core.log.dump.files import CHUNK_BYTES, BufferedFile, ReadableFile
from broker_core.log.dump.java import Thrown, int32, int64, kafka
from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import (
    ATTRIBUTES_POSITION,
    COMPRESSION_MASK,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER,
    HEADER_BYTES,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME_FLAG,
    MAGIC_V2,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
)

HEADER_UP_TO_MAGIC_BYTES = 17
MIN_RECORD_BYTES = 14
"""The minimum size of a record of magic 0, without offset and size."""
_LEGACY_CHECKED_POSITION = 16
_LEGACY_HEADER_BYTES = {0: 18, 1: 26}
_OFFSET_SIZE_MAGIC = struct.Struct(">qi4xb")
_LEGACY_V0 = struct.Struct(">IbB")
_LEGACY_V1 = struct.Struct(">IbBq")
CREATE_TIME = "CreateTime"
LOG_APPEND_TIME = "LogAppendTime"
NO_TIMESTAMP_TYPE = "NoTimestampType"


class FileRecords:
    """A range of a `.log` that batches are read from. `path` is the file's name in messages."""

    def __init__(
        self, file: ReadableFile, path: str, window: BufferedFile, start: int = 0, end: int | None = None
    ) -> None:
        self.file = file
        self.path = path
        self.window = window
        self.start = start
        self._is_slice = end is not None
        self.end = INT_MAX if end is None else end
        self.size = file.size if end is None else end - start

    def slice(self, position: int, size: int) -> "FileRecords":
        """The range of `size` bytes from `position`, or up to the file's end. Raises Thrown outside of the file."""
        problem = None
        if position < 0:
            problem = f"Invalid position: {position} in read from {self}"
            rule = f"position {position} is negative"
        elif position > self.size - self.start:
            problem = f"Slice from position {position} exceeds end position of {self}"
            rule = f"position {position} is past the end of the log, which has {self.size} bytes"
        elif size < 0:
            problem = f"Invalid size: {size} in read from {self}"
            rule = f"a size must not be negative, {size} is"
        if problem is not None:
            raise Thrown("java.lang.IllegalArgumentException", problem, rule)
        end = min(self.start + position + size, self.start + self.size)
        return FileRecords(self.file, self.path, self.window, self.start + position, end)

    def batches(self) -> Iterator["FileRecordBatch"]:
        """Yields each batch that is completely inside. Raises Thrown where the sequence of batches breaks."""
        end = self.end if self._is_slice else self.size
        position = self.start
        while position < end - HEADER_UP_TO_MAGIC_BYTES:
            head = self.window.get(position, HEADER_UP_TO_MAGIC_BYTES)
            if len(head) < HEADER_UP_TO_MAGIC_BYTES:
                message = "Unexpected EOF while attempting to read the next batch"
                raise Thrown(kafka("CorruptRecordException"), message, "the file shrank while it was read").at(
                    self.path, position
                )
            offset, size, magic = _OFFSET_SIZE_MAGIC.unpack(head)
            if size < MIN_RECORD_BYTES:
                raise Thrown(
                    kafka("CorruptRecordException"),
                    f"Found record size {size} smaller than minimum record overhead ({MIN_RECORD_BYTES}) "
                    f"in file {self.path}.",
                    f"the length field of a batch says at least {MIN_RECORD_BYTES}, this one says {size}",
                ).at(self.path, position)
            if position > end - LENGTH_OVERHEAD - size:
                return
            yield FileRecordBatch(self, offset, magic, position, size + LENGTH_OVERHEAD)
            position += size + LENGTH_OVERHEAD

    def __str__(self) -> str:
        return f"FileRecords(size={self.size}, file={self.path}, start={self.start}, end={self.end})"


class FileRecordBatch:
    """A batch of any magic. `position` is its position in the file, `size` its bytes with offset and length field.

    Fields come from the header; they raise Thrown where it cannot be read.
    """

    def __init__(self, records: FileRecords, offset: int, magic: int, position: int, size: int) -> None:
        self.records = records
        self.window = records.window
        self.offset = offset
        self.magic = magic
        self.is_legacy = magic < MAGIC_V2
        """Whether it is a message set of magic 0 or 1 (or an invalid magic below these)."""
        self.position = position
        self.size = size
        self._header: BatchHeader | None = None
        self._legacy: LegacyHeader | None = None

    @property
    def header(self) -> BatchHeader:
        """The header of a batch of magic 2 or above; it may reach beyond the batch's own end."""
        if self._header is None:
            self._header = BatchHeader(*HEADER.unpack(self._load(HEADER_BYTES)))
        return self._header

    @property
    def legacy(self) -> "LegacyHeader":
        """The header of a message set."""
        if self._legacy is None:
            if self.magic not in _LEGACY_HEADER_BYTES:
                raise Thrown(
                    "java.lang.IllegalArgumentException",
                    f"Invalid magic used in LegacyRecord: {self.magic}",
                    f"magic is 0, 1 or 2, this batch has {self.magic}",
                )
            data = self._load(_LEGACY_HEADER_BYTES[self.magic])
            if self.magic == 0:
                self._legacy = LegacyHeader(*_LEGACY_V0.unpack_from(data, LENGTH_OVERHEAD))
            else:
                self._legacy = LegacyHeader(*_LEGACY_V1.unpack_from(data, LENGTH_OVERHEAD))
        return self._legacy

    @property
    def attributes(self) -> int:
        """The lowest byte of the attributes, the only one in use."""
        return self.legacy.attributes if self.is_legacy else self.header.attributes & 0xFF

    @property
    def last_offset(self) -> int:
        """The offset of the last record."""
        if self.is_legacy:
            return self.offset
        return int64(self.offset + self.header.last_offset_delta)

    @cached_property
    def timestamp_type(self) -> str:
        """The timestamp type: CreateTime or LogAppendTime."""
        if self.is_legacy and self.legacy.magic == 0:
            return NO_TIMESTAMP_TYPE
        return LOG_APPEND_TIME if self.attributes & LOG_APPEND_TIME_FLAG else CREATE_TIME

    @property
    def max_timestamp(self) -> int:
        """The greatest timestamp, in ms."""
        return self.legacy.timestamp if self.is_legacy else self.header.max_timestamp

    @property
    def compression(self) -> CompressionType:
        """The codec. Raises Thrown for a number that no codec has."""
        number = self.attributes & COMPRESSION_MASK
        if number > CompressionType.ZSTD:
            rule = f"codecs have the numbers 0 to 4, the batch names {number}"
            raise Thrown("java.lang.IllegalArgumentException", f"Unknown compression type id: {number}", rule)
        return CompressionType(number)

    @property
    def checksum(self) -> int:
        """The CRC in the header."""
        return self.legacy.crc if self.is_legacy else self.header.crc

    @property
    def is_valid(self) -> bool:
        """Whether the CRC in the header matches the bytes."""
        if self.is_legacy:
            return self._crc32(_LEGACY_CHECKED_POSITION) == self.checksum
        return self.size >= HEADER_BYTES and self._crc32c(ATTRIBUTES_POSITION) == self.checksum

    @cached_property
    def is_control(self) -> bool:
        """Whether it is a control batch."""
        return not self.is_legacy and bool(self.attributes & CONTROL_FLAG)

    def summary(self) -> Iterator[str]:
        """The line of the batch without its end, in the two parts in which the tool prints it."""
        if self.is_legacy:
            yield f"offset: {self.offset}"
        else:
            header, attributes = self.header, self.attributes
            horizon = f"OptionalLong[{header.base_timestamp}]" if attributes & DELETE_HORIZON_FLAG else None
            yield (
                f"baseOffset: {self.offset} lastOffset: {self.last_offset} count: {header.record_count} "
                f"baseSequence: {header.base_sequence} lastSequence: {self.sequence(header.last_offset_delta)} "
                f"producerId: {header.producer_id} producerEpoch: {header.producer_epoch} "
                f"partitionLeaderEpoch: {header.partition_leader_epoch} "
                f"isTransactional: {_java(attributes & TRANSACTIONAL_FLAG)} isControl: {_java(self.is_control)} "
                f"deleteHorizonMs: {horizon or 'OptionalLong.empty'}"
            )
        yield (
            f" position: {self.position} {self.timestamp_type}: {self.max_timestamp} size: {self.size} "
            f"magic: {self.magic} compresscodec: {self.compression.name.lower()} crc: {self.checksum} "
            f"isvalid: {_java(self.is_valid)}"
        )

    def sequence(self, offset_delta: int) -> int:
        """The sequence number at an offset of the batch, -1 without a producer (`incrementSequence`)."""
        base = self.header.base_sequence
        if base == NO_SEQUENCE:
            return NO_SEQUENCE
        if base > int32(INT_MAX - offset_delta):
            return int32(offset_delta - (INT_MAX - base) - 1)
        return int32(base + offset_delta)

    def at(self, thrown: Thrown) -> Thrown:
        """Adds the file and this batch's position to an exception."""
        return thrown.at(self.records.path, self.position)

    def _load(self, size: int) -> bytes:
        data = self.window.get(self.position, size)
        if len(data) < size:
            raise Thrown(
                kafka("KafkaException"),
                f"Failed to load record batch at position {self.position} from {self.records}",
                f"a header of magic {self.magic} has {size} bytes, {len(data)} are left in the file",
                (
                    f"java.io.EOFException: Failed to read `record batch header` from file channel "
                    f"`{self.records.path}`. Expected to read {size} bytes, but reached end of file after reading "
                    f"{len(data)} bytes. Started read from position {self.position}.",
                ),
            )
        return data

    def _crc32(self, start: int) -> int:
        crc = 0
        for chunk in self.chunks(start):
            crc = zlib.crc32(chunk, crc)
        return crc

    def _crc32c(self, start: int) -> int:
        crc = 0
        for chunk in self.chunks(start):
            crc = google_crc32c.extend(crc, chunk)
        return crc

    def chunks(self, start: int, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
        """The bytes of the batch from `start` on, counted from its own start, piece by piece."""
        at, end = self.position + start, self.position + self.size
        while at < end:
            chunk = self.window.get(at, min(chunk_bytes, end - at))
            if not chunk:
                return
            yield chunk
            at += len(chunk)


class LegacyHeader(msgspec.Struct, frozen=True):
    """The fields after offset and size of a message set; `timestamp` only in magic 1."""

    crc: int
    magic: int
    attributes: int
    timestamp: int = NO_TIMESTAMP


def _java(flag: int) -> str:
    return "true" if flag else "false"
