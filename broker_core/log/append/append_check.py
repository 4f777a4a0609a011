"""Checks that bytes to append are well-formed batches (`ByteBufferLogInputStream`, `analyzeAndValidateRecords`).

Checks framing, size and CRC; `LogValidator` checks the contents of the batches.
"""

from collections.abc import Sequence
from struct import Struct

import msgspec

from broker_core.config_defs import INT_MAX
from broker_core.errors import Errors, KafkaException
from broker_core.records.compression import CompressionType, UnreadableRecords
from broker_core.records.legacy import MIN_SIZE, read_message
from broker_core.records.record_batch import (
    COMPRESSION_MASK,
    HEADER,
    HEADER_BYTES,
    LENGTH_OVERHEAD,
    MAGIC_POSITION,
    MAGIC_V2,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptRecord,
    ensure_valid,
    parse_header,
)
from broker_core.texts import text

# In a batch that is too short, the last offset delta is the first field that Kafka fails to read.
_LAST_OFFSET_DELTA_END = 27
_LENGTH_POSITION = 8
# (base offset,) length, (leader epoch,) magic
_LENGTH_AND_MAGIC = Struct(">i4xb")


class AnalyzedBatches(msgspec.Struct, frozen=True, gc=False):
    """(position, header) of each complete batch, and the codec of the compressed ones."""

    batches: Sequence[tuple[int, BatchHeader]]
    codec: CompressionType


def batch_size_at(data: bytes, position: int, *, checks_cut_off: bool = True) -> int | None:
    """The size of the batch of any magic at `position`; None when it is incomplete or there is none.

    Raises CORRUPT_MESSAGE for an invalid length or magic; without `checks_cut_off` the magic of an incomplete batch may
    be any.
    """
    left = len(data) - position
    if left > MAGIC_POSITION:
        length, magic = _LENGTH_AND_MAGIC.unpack_from(data, position + _LENGTH_POSITION)
        if MIN_SIZE <= length <= INT_MAX - LENGTH_OVERHEAD and 0 <= magic <= MAGIC_V2:
            return length + LENGTH_OVERHEAD if length + LENGTH_OVERHEAD <= left else None
    elif left < LENGTH_OVERHEAD:
        return None
    _check_framing(data, position, left, checks_cut_off)
    return None


def _check_framing(data: bytes, position: int, left: int, checks_cut_off: bool) -> None:
    """Raises CORRUPT_MESSAGE for an invalid length or magic; an incomplete magic is not checked."""
    length = int.from_bytes(data[position + 8 : position + LENGTH_OVERHEAD], "big", signed=True)
    if length < MIN_SIZE:
        raise KafkaException(
            Errors.CORRUPT_MESSAGE,
            text("refused.record_size", size=length, min=MIN_SIZE),
        )
    if left <= MAGIC_POSITION or (not checks_cut_off and left - LENGTH_OVERHEAD < length <= INT_MAX - LENGTH_OVERHEAD):
        return
    magic = data[position + MAGIC_POSITION]
    if magic > MAGIC_V2 and (checks_cut_off or length <= INT_MAX - LENGTH_OVERHEAD):
        signed = magic - 0x100 if magic >= 0x80 else magic
        raise KafkaException(Errors.CORRUPT_MESSAGE, text("refused.magic", magic=signed))
    # The size with the bytes before the length field overflows an int; Kafka has no message for that.
    raise KafkaException(Errors.UNKNOWN_SERVER_ERROR)


def analyze(
    data: bytes, max_message_bytes: int, is_client: bool, *, knows_zstd: bool = True, checks_cut_off: bool = True
) -> AnalyzedBatches:
    """The batches in `data`; bytes after the last complete one are ignored.

    `is_client` is false for batches of the broker's own coordinators; without `knows_zstd` that codec is unknown;
    `checks_cut_off` as in `batch_size_at`. Raises INVALID_RECORD (a base offset that is not 0), MESSAGE_TOO_LARGE,
    CORRUPT_MESSAGE, UNKNOWN_SERVER_ERROR (unknown codec, incomplete header).
    """
    batches = []
    codec = CompressionType.NONE
    position = 0
    while position < len(data) and (size := batch_size_at(data, position, checks_cut_off=checks_cut_off)) is not None:
        is_message = data[position + MAGIC_POSITION] < MAGIC_V2
        header = None if is_message else _check_start(data, position, size, is_client)
        if size > max_message_bytes:
            raise KafkaException(
                Errors.MESSAGE_TOO_LARGE, text("refused.batch_too_large", size=size, max=max_message_bytes)
            )
        try:
            if header is not None:
                ensure_valid(data, header, position)
            else:
                header = _message_header(data, position)
            batch_codec = header.attributes & COMPRESSION_MASK
            if batch_codec:
                codec = CompressionType(batch_codec)
                if codec is CompressionType.ZSTD and not knows_zstd:
                    raise ValueError(codec)
        except CorruptRecord as error:
            raise KafkaException(Errors.CORRUPT_MESSAGE, error.rule) from error
        except UnreadableRecords as error:
            raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, error.rule) from error
        except ValueError:
            raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, text("refused.codec", codec=batch_codec)) from None
        batches.append((position, header))
        position += size
    return AnalyzedBatches(batches, codec)


def _check_start(data: bytes, position: int, size: int, is_client: bool) -> BatchHeader:
    """Checks the fields of a batch of magic 2 that Kafka checks before its CRC; returns the header."""
    if size < HEADER_BYTES:
        header = BatchHeader(*HEADER.unpack(data[position : position + size].ljust(HEADER_BYTES, b"\x00")))
    else:
        header = BatchHeader(*HEADER.unpack_from(data, position))
    if is_client and header.base_offset != 0:
        raise KafkaException(Errors.INVALID_RECORD, text("refused.base_offset", offset=header.base_offset))
    if size < _LAST_OFFSET_DELTA_END:
        raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, text("refused.header_cut_off", size=size))
    return header


def _message_header(data: bytes, position: int) -> BatchHeader:
    read_message(data, position).ensure_valid()
    return parse_header(data, position)


def check_copied(
    data: bytes, batches: Sequence[tuple[int, BatchHeader]], log_end_offset: int, max_message_bytes: int
) -> tuple[int, int]:
    """Checks the batches that a follower copies: their order, size and CRC. Returns (newest timestamp, record count).

    Raises UNKNOWN_SERVER_ERROR for offsets that do not increase, MESSAGE_TOO_LARGE, CORRUPT_MESSAGE.
    """
    expected = log_end_offset
    max_timestamp = NO_TIMESTAMP
    record_count = 0
    for position, header in batches:
        base_offset = header.base_offset
        if base_offset < expected:
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR,
                text("refused.offsets_order", offset=base_offset, last=expected - 1),
            )
        if header.length + LENGTH_OVERHEAD > max_message_bytes:
            raise KafkaException(
                Errors.MESSAGE_TOO_LARGE,
                text("refused.batch_too_large", size=header.size, max=max_message_bytes),
            )
        try:
            ensure_valid(data, header, position)
        except CorruptRecord as error:
            raise KafkaException(Errors.CORRUPT_MESSAGE, error.rule) from error
        expected = base_offset + header.last_offset_delta + 1
        if header.max_timestamp > max_timestamp:
            max_timestamp = header.max_timestamp
        record_count += header.record_count
    return max_timestamp, record_count
