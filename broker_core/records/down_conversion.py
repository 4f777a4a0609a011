"""Conversion of batches for consumers of older formats (`LazyDownConversionRecords`, `RecordsUtil`; KIP-283).

Kafka sends the size of the response before it has converted more than the first batch: the size of what it read, or of
the converted first batch if that is larger. Then it converts chunk by chunk until that many bytes are sent. The last
message is truncated if it is too large, and a batch that readers ignore fills the rest.
"""

import struct
from collections.abc import Iterator, Sequence

from broker_core.records.compression import CompressionType
from broker_core.records.legacy import build_message_set
from broker_core.records.record import NO_TIMESTAMP, InvalidRecord
from broker_core.records.record_batch import (
    HEADER_BYTES,
    BatchHeader,
    iterate_batches,
    iterate_records,
)
from broker_core.texts import text

_PIECE_BYTES = 128 * 1024
_OVERFLOW = struct.Struct(">qi")


class UnsupportedCompression(ValueError):
    """The first batch is compressed with zstd, which old consumers do not support."""


def down_convert(data: bytes, magic: int, first_offset: int, *, keeps_size: bool = True) -> bytes:
    """The batches of `data` as messages of `magic` (0 or 1), as sent in response to a fetch at `first_offset`.

    With `keeps_size` the result is filled up to the size of `data`, which Kafka has announced by then. Without it an
    incomplete batch at the end is left out, and `data` is returned as it is if no record in it is converted.

    Raises UnsupportedCompression, InvalidRecord and UnreadableRecords for the contents of the first batch.
    """
    batches = list(iterate_batches(data))
    if not keeps_size:
        old = [batch for batch in batches if batch[1].magic <= magic]
        converted = b"".join(_pieces(data, batches, magic, first_offset, _PIECE_BYTES))
        return data if len(converted) == sum(header.size for _, header in old) else converted
    first = next(_pieces(data, batches, magic, first_offset, 0), b"")
    if not first:
        size = _OVERFLOW.size if batches else 0
    else:
        size = max(len(data), len(first))
    sent = bytearray(first[:size])
    try:
        # Kafka converts one batch first, even if that one has nothing to convert.
        for piece in _pieces(data, batches[1:] if first else batches, magic, first_offset, _PIECE_BYTES):
            if len(sent) == size:
                break
            sent += piece[: size - len(sent)]
    except UnsupportedCompression:
        # The consumer fetches that batch next, and gets the error then.
        pass
    while len(sent) < size:
        sent += _overflow(size - len(sent))
    return bytes(sent)


def _pieces(
    data: bytes, batches: Sequence[tuple[int, BatchHeader]], magic: int, first_offset: int, most_bytes: int
) -> Iterator[bytes]:
    """Yields converted batches, several at once if they are at most `most_bytes` together; omits empty ones."""
    at = 0
    while at < len(batches):
        end, size = at + 1, batches[at][1].size
        while end < len(batches) and size + batches[end][1].size <= most_bytes:
            size += batches[end][1].size
            end += 1
        piece = [batch for batch in batches[at:end] if not batch[1].is_control]
        if any(header.compression == CompressionType.ZSTD for _, header in piece):
            raise UnsupportedCompression("batches that are compressed with zstd cannot be converted down")
        converted = b"".join(_convert(data, position, header, magic, first_offset) for position, header in piece)
        if converted:
            yield converted
        at = end


def _convert(data: bytes, position: int, header: BatchHeader, magic: int, first_offset: int) -> bytes:
    if header.magic <= magic:
        return data[position : position + header.size]
    compression = CompressionType(header.compression)
    records = [
        (record.offset, record.timestamp, record.key, record.value)
        for record in iterate_records(data, header, position)
        # Without a wrapper each message is a batch of its own, and some consumers rely on that.
        if compression or record.offset >= first_offset
    ]
    if not records:
        return b""
    if any(timestamp < NO_TIMESTAMP for _, timestamp, _, _ in records):
        raise InvalidRecord(text("fault.old_timestamp"))
    return build_message_set(records, magic, compression, header.max_timestamp if header.has_append_time else None)


def _overflow(size: int) -> bytes:
    """The beginning of a batch whose stated length exceeds the bytes left to send; at most one chunk."""
    claimed = max(size + 1, HEADER_BYTES)
    batch = _OVERFLOW.pack(-1, claimed) + bytes(max(min(size + 1, _PIECE_BYTES) - _OVERFLOW.size, 0))
    return batch[:size]
