"""The LZ4 frame format as Kafka writes and reads it (`Lz4BlockOutputStream`, `Lz4BlockInputStream`).

A frame is a header, blocks prefixed by their lengths, and a length of 0. Kafka writes independent blocks of at most
64 KiB without checksums. It reads any frame whose blocks are independent, up to its end mark: bytes after that are
ignored, and a content checksum is not checked. For messages of magic 0 the checksum of the header includes the magic
number, as in Kafka's first clients, and is not checked.
"""

import struct

import cramjam

from broker_core.records.faults import RecordFault
from broker_core.texts import text

MAGIC_NUMBER = b"\x04\x22\x4d\x18"
_VERSION_MASK, _VERSION = 0xC0, 0x40
_INDEPENDENT_BLOCKS = 0x20
_BLOCK_CHECKSUMS = 0x10
_CONTENT_SIZE = 0x08
_CONTENT_CHECKSUM = 0x04
_RESERVED_FLAGS = 0x03
# Bits 4 to 6 of the header hold the block size, 4 to 7: 64 KiB, 256 KiB, 1 MiB, 4 MiB.
_BLOCK_SIZES = {number << 4: 1 << (8 + 2 * number) for number in range(4, 8)}
_PLAIN_BLOCK = 0x80000000
_LENGTH = struct.Struct("<I")

_DESCRIPTOR = bytes((_VERSION | _INDEPENDENT_BLOCKS, 4 << 4))
_BLOCK_BYTES = _BLOCK_SIZES[_DESCRIPTOR[1]]

# The level of the fast compressor; every other one is a level of the high compressor (`LZ4_compress_HC`).
_FAST_LEVEL = 9
# The library's frames use the high compressor from this level on.
_LEAST_THOROUGH_LEVEL = 3

_WORD = 0xFFFFFFFF
_PRIMES = (2654435761, 2246822519, 3266489917, 668265263, 374761393)


class FrameError(RecordFault):
    """The bytes are not a frame that Kafka can read; the message says what is wrong."""


def compress_frame(data: bytes, magic: int, level: int | None = None) -> bytes:
    """One frame of `data`, to the same bytes as Kafka's, for a batch or message of this magic.

    `level` is that of compression.lz4.level, None its default. Levels 1 and 2 give the same result as level 3.
    """
    checked = MAGIC_NUMBER + _DESCRIPTOR if magic == 0 else _DESCRIPTOR
    parts = [MAGIC_NUMBER, _DESCRIPTOR, _header_checksum(checked)]
    for start in range(0, len(data), _BLOCK_BYTES):
        plain = data[start : start + _BLOCK_BYTES]
        block = _compress_block(plain, _FAST_LEVEL if level is None else level)
        if len(block) < len(plain):
            parts += (_LENGTH.pack(len(block)), block)
        else:
            parts += (_LENGTH.pack(len(plain) | _PLAIN_BLOCK), plain)
    parts.append(_LENGTH.pack(0))
    return b"".join(parts)


def _compress_block(plain: bytes, level: int) -> bytes:
    if level == _FAST_LEVEL:
        return bytes(cramjam.lz4.compress_block(plain, store_size=False))
    frame = cramjam.lz4.Compressor(level=max(level, _LEAST_THOROUGH_LEVEL), block_linked=False, content_checksum=False)
    frame.compress(plain)
    written = bytes(frame.finish())
    at = len(MAGIC_NUMBER) + len(_DESCRIPTOR) + 1
    length = _read_length(written, at)
    return plain if length & _PLAIN_BLOCK else written[at + _LENGTH.size : at + _LENGTH.size + length]


def decompress_frame(data: bytes, magic: int) -> bytes:
    """The content of the frame at the start of `data`. Raises FrameError, cramjam.DecompressionError for a block."""
    if len(data) < len(MAGIC_NUMBER) + len(_DESCRIPTOR) + 1 or not data.startswith(MAGIC_NUMBER):
        raise FrameError(text("fault.lz4_magic"))
    flags, block_size = data[4], data[5]
    if flags & (_VERSION_MASK | _INDEPENDENT_BLOCKS | _RESERVED_FLAGS) != _VERSION | _INDEPENDENT_BLOCKS:
        raise FrameError(text("fault.lz4_flags", flags=f"{flags:#04x}"))
    if block_size not in _BLOCK_SIZES:
        raise FrameError(text("fault.lz4_block_size", size=f"{block_size:#04x}"))
    at = 14 if flags & _CONTENT_SIZE else 6
    if magic and data[at : at + 1] != _header_checksum(data[4:at]):
        raise FrameError(text("fault.lz4_header_checksum"))
    at += 1
    largest = _BLOCK_SIZES[block_size]
    descriptor = bytes((_VERSION | _INDEPENDENT_BLOCKS, block_size))
    # The same blocks without the parts that are ignored.
    parts = [MAGIC_NUMBER, descriptor, _header_checksum(descriptor)]
    while length := _read_length(data, at) & ~_PLAIN_BLOCK:
        if length > largest:
            raise FrameError(text("fault.lz4_block_length", length=length, max=largest))
        end = at + 4 + length
        if end > len(data):
            raise FrameError(text("fault.lz4_cut_off_block"))
        parts.append(data[at:end])
        if flags & _BLOCK_CHECKSUMS:
            if _read_length(data, end) != xxh32(data[at + 4 : end]):
                raise FrameError(text("fault.lz4_block_checksum"))
            end += 4
        at = end
    if flags & _CONTENT_CHECKSUM:
        _read_length(data, at + 4)
    parts.append(_LENGTH.pack(0))
    return bytes(cramjam.lz4.decompress(b"".join(parts)))


def xxh32(data: bytes) -> int:
    """The 32-bit xxHash with seed 0, which the frame format uses for all its checksums."""
    size = len(data)
    if size < 16:
        digest = _PRIMES[4]
    else:
        lanes = [_PRIMES[0] + _PRIMES[1] & _WORD, _PRIMES[1], 0, -_PRIMES[0] & _WORD]
        for at in range(0, size - 15, 16):
            for lane, word in enumerate(struct.unpack_from("<4I", data, at)):
                lanes[lane] = _rotate(lanes[lane] + word * _PRIMES[1] & _WORD, 13) * _PRIMES[0] & _WORD
        digest = sum(_rotate(value, by) for value, by in zip(lanes, (1, 7, 12, 18), strict=True))
    digest = digest + size & _WORD
    for at in range(size - size % 16, size - 3, 4):
        digest = _rotate(digest + _LENGTH.unpack_from(data, at)[0] * _PRIMES[2] & _WORD, 17) * _PRIMES[3] & _WORD
    for byte in data[size - size % 4 :]:
        digest = _rotate(digest + byte * _PRIMES[4] & _WORD, 11) * _PRIMES[0] & _WORD
    digest = (digest ^ digest >> 15) * _PRIMES[1] & _WORD
    digest = (digest ^ digest >> 13) * _PRIMES[2] & _WORD
    return digest ^ digest >> 16


def _header_checksum(checked: bytes) -> bytes:
    return bytes((xxh32(checked) >> 8 & 0xFF,))


def _read_length(data: bytes, at: int) -> int:
    if at + 4 > len(data):
        raise FrameError(text("fault.lz4_cut_off"))
    length: int = _LENGTH.unpack_from(data, at)[0]
    return length


def _rotate(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & _WORD
