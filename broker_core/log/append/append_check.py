"""Whether bytes that shall be appended are batches at all (`ByteBufferLogInputStream`, `analyzeAndValidateRecords`).

Framing, size and CRC. What is in the batches is the validator's business.
"""

from collections.abc import Sequence
from struct import Struct

import msgspec

from broker_core.errors import Errors, KafkaException
from broker_core.log.config import INT_MAX
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

# The last offset delta is the first thing of a short batch that Kafka does not find.
_LAST_OFFSET_DELTA_END = 27
_LENGTH_POSITION = 8
# (base offset,) length, (leader epoch,) magic
_LENGTH_AND_MAGIC = Struct(">i4xb")


class AnalyzedBatches(msgspec.Struct, frozen=True, gc=False):
    """(position, header) of each whole batch, and the codec of those that are compressed."""

    batches: Sequence[tuple[int, BatchHeader]]
    codec: CompressionType


def batch_size_at(data: bytes, position: int) -> int | None:
    """The bytes of the batch of any magic that begins at `position`; None when it is cut off, or nothing is there.

    Raises CORRUPT_MESSAGE for a length or a magic that cannot be.
    """
    left = len(data) - position
    if left > MAGIC_POSITION:
        length, magic = _LENGTH_AND_MAGIC.unpack_from(data, position + _LENGTH_POSITION)
        if MIN_SIZE <= length <= INT_MAX - LENGTH_OVERHEAD and 0 <= magic <= MAGIC_V2:
            return length + LENGTH_OVERHEAD if length + LENGTH_OVERHEAD <= left else None
    elif left < LENGTH_OVERHEAD:
        return None
    _check_framing(data, position, left)
    return None


def _check_framing(data: bytes, position: int, left: int) -> None:
    """What is wrong with a length or a magic; nothing is where the magic is cut off."""
    length = int.from_bytes(data[position + 8 : position + LENGTH_OVERHEAD], "big", signed=True)
    if length < MIN_SIZE:
        raise KafkaException(
            Errors.CORRUPT_MESSAGE,
            f"Record size {length} is less than the minimum record overhead ({MIN_SIZE})",
        )
    if left <= MAGIC_POSITION:
        return
    magic = data[position + MAGIC_POSITION]
    if magic > MAGIC_V2:
        signed = magic - 0x100 if magic >= 0x80 else magic
        raise KafkaException(Errors.CORRUPT_MESSAGE, f"Invalid magic found in record: {signed}")
    # With what precedes the length field, the size has no place in an int any more: Kafka has no text for that.
    raise KafkaException(Errors.UNKNOWN_SERVER_ERROR)


def analyze(data: bytes, max_message_bytes: int, is_client: bool) -> AnalyzedBatches:
    """The batches in `data`; bytes behind the last whole one do not count.

    `is_client` is false for batches of the broker's own coordinators. Raises INVALID_RECORD (a base offset that is not
    0), MESSAGE_TOO_LARGE, CORRUPT_MESSAGE, UNKNOWN_SERVER_ERROR (no such codec, a header that is cut off).
    """
    batches = []
    codec = CompressionType.NONE
    position = 0
    while position < len(data) and (size := batch_size_at(data, position)) is not None:
        is_message = data[position + MAGIC_POSITION] < MAGIC_V2
        header = None if is_message else _check_start(data, position, size, is_client)
        if size > max_message_bytes:
            raise KafkaException(
                Errors.MESSAGE_TOO_LARGE, f"a batch has {size} bytes, max.message.bytes is {max_message_bytes}"
            )
        try:
            if header is not None:
                ensure_valid(data, header, position)
            else:
                header = _message_header(data, position)
            batch_codec = header.attributes & COMPRESSION_MASK
            if batch_codec:
                codec = CompressionType(batch_codec)
        except CorruptRecord as error:
            raise KafkaException(Errors.CORRUPT_MESSAGE, str(error)) from error
        except UnreadableRecords as error:
            raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, str(error)) from error
        except ValueError:
            raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, f"unknown compression codec {batch_codec}") from None
        batches.append((position, header))
        position += size
    return AnalyzedBatches(batches, codec)


def _check_start(data: bytes, position: int, size: int, is_client: bool) -> BatchHeader:
    """What is asked of a batch of magic 2 before its CRC is looked at; returns its header."""
    if size < HEADER_BYTES:
        header = BatchHeader(*HEADER.unpack(data[position : position + size].ljust(HEADER_BYTES, b"\x00")))
    else:
        header = BatchHeader(*HEADER.unpack_from(data, position))
    if is_client and header.base_offset != 0:
        raise KafkaException(
            Errors.INVALID_RECORD, f"the batch's base offset is {header.base_offset}, a producer must send 0"
        )
    if size < _LAST_OFFSET_DELTA_END:
        raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, f"the header of a batch ends after {size} bytes")
    return header


def _message_header(data: bytes, position: int) -> BatchHeader:
    read_message(data, position).ensure_valid()
    return parse_header(data, position)


def check_copied(
    data: bytes, batches: Sequence[tuple[int, BatchHeader]], log_end_offset: int, max_message_bytes: int
) -> tuple[int, int]:
    """Checks the batches that a follower copies: their order, size and CRC. Returns (newest timestamp, record count).

    Raises UNKNOWN_SERVER_ERROR for offsets that do not rise, MESSAGE_TOO_LARGE, CORRUPT_MESSAGE.
    """
    expected = log_end_offset
    max_timestamp = NO_TIMESTAMP
    record_count = 0
    for position, header in batches:
        base_offset = header.base_offset
        if base_offset < expected:
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR,
                f"offsets do not rise: a batch at {base_offset} follows one that ends at {expected - 1}",
            )
        if header.length + LENGTH_OVERHEAD > max_message_bytes:
            raise KafkaException(
                Errors.MESSAGE_TOO_LARGE,
                f"a batch has {header.size} bytes, max.message.bytes is {max_message_bytes}",
            )
        try:
            ensure_valid(data, header, position)
        except CorruptRecord as error:
            raise KafkaException(Errors.CORRUPT_MESSAGE, str(error)) from error
        expected = base_offset + header.last_offset_delta + 1
        if header.max_timestamp > max_timestamp:
            max_timestamp = header.max_timestamp
        record_count += header.record_count
    return max_timestamp, record_count
