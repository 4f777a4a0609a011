"""The four codecs of Kafka's batches (`org.apache.kafka.common.compress`).

gzip and zstd are plain streams, lz4 is the LZ4 frame format, snappy is either xerial's block framing, which the Java
client writes, or one raw block, which librdkafka sends. Bytes after the end of a stream are read, ignored or rejected
as by the libraries of the Java broker.
"""

import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from enum import IntEnum

import cramjam

from broker_core.records.faults import RecordFault, rule_of
from broker_core.records.lz4_frame import FrameError, compress_frame, decompress_frame
from broker_core.records.snappy import compress_block
from broker_core.texts import Text, text


class UnreadableRecords(RecordFault):
    """The codec of a batch is unknown, or cannot decompress its bytes. `read`: the output before the fault."""

    def __init__(self, rule: Text | str, read: bytes = b"") -> None:
        super().__init__(rule)
        self.read = read


class CompressionType(IntEnum):
    """The codec in the lowest three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @staticmethod
    def for_name(name: str) -> "CompressionType":
        """The codec of a value of `compression.type`. Raises ValueError for an unknown name."""
        try:
            return _BY_NAME[name]
        except KeyError:
            raise ValueError(f"unknown compression type {name!r}: expected one of {', '.join(_BY_NAME)}") from None


_BY_NAME = {
    "uncompressed": CompressionType.NONE,
    "none": CompressionType.NONE,
    "gzip": CompressionType.GZIP,
    "snappy": CompressionType.SNAPPY,
    "lz4": CompressionType.LZ4,
    "zstd": CompressionType.ZSTD,
}

_GZIP_FORMAT = 31
# The bytes that may follow a gzip stream without being read: fewer than a gzip header has.
_GZIP_LEFT_OUT_BYTES = 18
# Magic, deflate, no flags, no time, no hint; the operating system is unknown to Java.
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_ZSTD_DEFAULT_LEVEL = 3
# Magic "\x82SNAPPY\0", then version and lowest compatible version.
_XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 * 1024
# Snappy's densest element is a copy of 64 bytes in 3.
_MAX_SNAPPY_RATIO = 22
_LENGTH = struct.Struct(">i")


def compress(codec: CompressionType, data: bytes, magic: int = 2, level: int | None = None) -> bytes:
    """Compresses the records of one batch, to the same bytes as Kafka 3.9's libraries.

    `magic` is that of the batch or message that will hold the result. `level` is that of compression.gzip.level,
    compression.lz4.level or compression.zstd.level (KIP-390), None the codec's default. Two cases are known in which
    the libraries differ by a few bytes: zstd's levels 0, 3 and 4 beyond some KiB, lz4's levels 1 and 2.
    """
    if codec is CompressionType.GZIP:
        return _compress_gzip(data, zlib.Z_DEFAULT_COMPRESSION if level is None else level)
    if codec is CompressionType.SNAPPY:
        return _compress_xerial(data)
    if codec is CompressionType.LZ4:
        return compress_frame(data, magic, level)
    if codec is CompressionType.ZSTD:
        return _compress_zstd(data, _ZSTD_DEFAULT_LEVEL if level is None else level)
    return data


def decompress(codec: int, data: bytes, magic: int = 2) -> bytes:
    """The records of a batch or message of this magic. Raises UnreadableRecords."""
    if codec == CompressionType.NONE:
        return data
    try:
        if codec == CompressionType.GZIP:
            return _decompress_gzip(data)
        if codec == CompressionType.SNAPPY:
            return _decompress_snappy(data)
        if codec == CompressionType.LZ4:
            return decompress_frame(data, magic)
        if codec == CompressionType.ZSTD:
            return bytes(cramjam.zstd.decompress(data)) if data else b""
    except (cramjam.DecompressionError, zlib.error, FrameError) as error:
        name = CompressionType(codec).name.lower()
        raise UnreadableRecords(text("fault.codec", codec=name, rule=rule_of(error))) from error
    raise UnreadableRecords(text("fault.unknown_codec", codec=codec))


def _compress_gzip(data: bytes, level: int) -> bytes:
    stream = zlib.compressobj(level, wbits=_GZIP_FORMAT)
    return b"".join((_GZIP_HEADER, (stream.compress(data) + stream.flush())[len(_GZIP_HEADER) :]))


def _decompress_gzip(data: bytes) -> bytes:
    """Decompresses one stream or several; bytes after the first that do not begin a stream are ignored
    (`GZIPInputStream`).
    """
    parts = []
    while True:
        stream = zlib.decompressobj(_GZIP_FORMAT)
        try:
            parts.append(stream.decompress(data))
        except zlib.error as error:
            read, name = b"".join((*parts, *_until_the_fault(data))), CompressionType.GZIP.name.lower()
            raise UnreadableRecords(text("fault.codec", codec=name, rule=rule_of(error)), read) from error
        if not stream.eof:
            raise UnreadableRecords(text("fault.gzip_truncated"), b"".join(parts))
        data = stream.unused_data
        if len(data) <= _GZIP_LEFT_OUT_BYTES or data[:3] != _GZIP_HEADER[:3]:
            return b"".join(parts)


def _until_the_fault(data: bytes) -> Iterator[bytes]:
    stream = zlib.decompressobj(_GZIP_FORMAT)
    with suppress(zlib.error):
        for at in range(len(data)):
            yield stream.decompress(data[at : at + 1])


def _compress_zstd(data: bytes, level: int) -> bytes:
    stream = cramjam.zstd.Compressor(level=level)
    stream.compress(data)
    # Java flushes before it closes: the last block is an empty one.
    return bytes(stream.flush()) + bytes(stream.finish())


def _compress_xerial(data: bytes) -> bytes:
    framed = bytearray(_XERIAL_HEADER)
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = compress_block(data[start : start + _XERIAL_BLOCK_BYTES])
        framed += _LENGTH.pack(len(block))
        framed += block
    return bytes(framed)


def _decompress_snappy(data: bytes) -> bytes:
    magic, header_bytes = _XERIAL_HEADER[:8], len(_XERIAL_HEADER)
    if len(data) < header_bytes or not data.startswith(magic):
        return _decompress_block(data)
    parts = []
    at = header_bytes
    # Fewer bytes than a length field are ignored (`SnappyInputStream`).
    while at + _LENGTH.size <= len(data):
        if data.startswith(magic, at):
            # Streams may follow one another.
            at += header_bytes
            continue
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        if length < 0 or at + length > len(data):
            raise UnreadableRecords(text("fault.snappy_truncated"))
        parts.append(_decompress_block(data[at : at + length]))
        at += length
    return b"".join(parts)


def _decompress_block(block: bytes) -> bytes:
    # The block states the length of its content: a damaged one must not allocate gigabytes.
    length = cramjam.snappy.decompress_raw_len(block)
    if length > _MAX_SNAPPY_RATIO * len(block):
        raise UnreadableRecords(text("fault.snappy_length", size=len(block), length=length))
    return bytes(cramjam.snappy.decompress_raw(block))
