"""The four codecs of Kafka's batches (`org.apache.kafka.common.compress`).

gzip and zstd are plain streams, lz4 is the LZ4 frame format, snappy is either xerial's block framing, which the Java
client writes, or one raw block, which librdkafka sends.
"""

import struct
import zlib
from enum import IntEnum

import cramjam


class UnreadableRecords(ValueError):
    """The codec of a batch does not exist, or cannot read the batch's bytes."""


class CompressionType(IntEnum):
    """The codec in the lowest three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @staticmethod
    def for_name(name: str) -> "CompressionType":
        """The codec of a value of `compression.type`. Raises ValueError for a name that Kafka does not have."""
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
# Magic, deflate, no flags, no time, no hint; the operating system is unknown to Java.
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
# Magic "\x82SNAPPY\0", then version and lowest compatible version.
_XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 * 1024
# A bit of the byte after the LZ4 frame's magic number.
_LZ4_INDEPENDENT_BLOCKS = 0x20
# Version 1, independent blocks of at most 64 KiB, no checksums but the header's own.
_LZ4_HEADER = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_BLOCK_BYTES = 64 * 1024
_LZ4_PLAIN_BLOCK = 0x80000000
_LZ4_LENGTH = struct.Struct("<I")
_LENGTH = struct.Struct(">i")


def compress(codec: CompressionType, data: bytes) -> bytes:
    """Compresses the records of one batch, to the same bytes as the Java client and broker at their default levels."""
    if codec is CompressionType.GZIP:
        return _compress_gzip(data)
    if codec is CompressionType.SNAPPY:
        return _compress_xerial(data)
    if codec is CompressionType.LZ4:
        return _compress_lz4(data)
    if codec is CompressionType.ZSTD:
        return _compress_zstd(data)
    return data


def decompress(codec: int, data: bytes) -> bytes:
    """The records of a batch. Raises UnreadableRecords."""
    if codec == CompressionType.NONE:
        return data
    try:
        if codec == CompressionType.GZIP:
            return bytes(cramjam.gzip.decompress(data))
        if codec == CompressionType.SNAPPY:
            return _decompress_snappy(data)
        if codec == CompressionType.LZ4:
            return _decompress_lz4(data)
        if codec == CompressionType.ZSTD:
            return bytes(cramjam.zstd.decompress(data))
    except cramjam.DecompressionError as error:
        name = CompressionType(codec).name.lower()
        raise UnreadableRecords(f"the {name} data of the batch cannot be read") from error
    raise UnreadableRecords(f"unknown compression codec {codec}: expected 0 to 4")


def _decompress_lz4(data: bytes) -> bytes:
    if len(data) > 4 and not data[4] & _LZ4_INDEPENDENT_BLOCKS:
        raise UnreadableRecords("the lz4 data of the batch has linked blocks, which Kafka does not read")
    return bytes(cramjam.lz4.decompress(data))


def _compress_gzip(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=_GZIP_FORMAT)
    return b"".join((_GZIP_HEADER, (stream.compress(data) + stream.flush())[len(_GZIP_HEADER) :]))


def _compress_lz4(data: bytes) -> bytes:
    parts = [_LZ4_HEADER]
    for start in range(0, len(data), _LZ4_BLOCK_BYTES):
        plain = data[start : start + _LZ4_BLOCK_BYTES]
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            parts += (_LZ4_LENGTH.pack(len(block)), block)
        else:
            parts += (_LZ4_LENGTH.pack(len(plain) | _LZ4_PLAIN_BLOCK), plain)
    parts.append(_LZ4_LENGTH.pack(0))
    return b"".join(parts)


def _compress_zstd(data: bytes) -> bytes:
    stream = cramjam.zstd.Compressor(level=3)
    stream.compress(data)
    # Java flushes before it closes: the last block is an empty one.
    return bytes(stream.flush()) + bytes(stream.finish())


def _compress_xerial(data: bytes) -> bytes:
    framed = bytearray(_XERIAL_HEADER)
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        framed += _LENGTH.pack(len(block))
        framed += block
    return bytes(framed)


def _decompress_snappy(data: bytes) -> bytes:
    if not data.startswith(_XERIAL_HEADER[:8]):
        return bytes(cramjam.snappy.decompress_raw(data))
    plain = bytearray()
    position = len(_XERIAL_HEADER)
    while position < len(data):
        if position + 4 > len(data):
            raise UnreadableRecords("the snappy data of the batch ends within a block's length")
        (length,) = _LENGTH.unpack_from(data, position)
        position += 4
        if length < 0 or position + length > len(data):
            raise UnreadableRecords("the snappy data of the batch ends within a block")
        plain += bytes(cramjam.snappy.decompress_raw(data[position : position + length]))
        position += length
    return bytes(plain)
