"""LZ4 frames, block by block (`org.apache.kafka.common.compress.Lz4BlockInputStream`)."""

import struct
from collections.abc import Iterator

import cramjam

from broker_core.log.dump.compressed_input import CompressedInput, StreamFault, io_fault
from broker_core.log.dump.java import Thrown
from broker_core.records.lz4_frame import MAGIC_NUMBER, xxh32

_LENGTH = struct.Struct("<I")
_UNCOMPRESSED = 0x80000000
_MIN_FRAME_BYTES = 6
_PREMATURE_END = "Stream ended prematurely"


def read_lz4(source: CompressedInput, magic: int) -> Iterator[bytes]:
    """Yields an empty piece after the frame's header, then its blocks. Raises StreamFault, Thrown."""
    flags, block_bytes = _read_header(source, checks=magic > 0)
    yield b""
    has_block_checksums, has_content_checksum = bool(flags & 0x10), bool(flags & 0x04)
    while True:
        head = source.take(_LENGTH.size)
        if len(head) < _LENGTH.size:
            raise io_fault(_PREMATURE_END)
        (length,) = _LENGTH.unpack(head)
        is_compressed, length = not length & _UNCOMPRESSED, length & ~_UNCOMPRESSED
        if not length:
            if has_content_checksum:
                _take_checksum(source)
            return
        if length > block_bytes:
            raise io_fault(f"Block size {length} exceeded max: {block_bytes}")
        block = source.take(length)
        if len(block) < length:
            raise io_fault(_PREMATURE_END)
        piece = _decompress(block, block_bytes) if is_compressed else block
        if has_block_checksums and _take_checksum(source) != xxh32(block):
            raise io_fault("Block checksum mismatch")
        if piece:
            yield piece


def _take_checksum(source: CompressedInput) -> int:
    data = source.take(_LENGTH.size)
    if len(data) < _LENGTH.size:
        raise Thrown("java.nio.BufferUnderflowException", None, "the lz4 data of the batch ends within a checksum")
    return int(_LENGTH.unpack(data)[0])


def _read_header(source: CompressedInput, checks: bool) -> tuple[int, int]:
    """(flags, largest size of a block). In magic 0 the header's own checksum was wrong, and is not checked."""
    if source.size < _MIN_FRAME_BYTES:
        raise io_fault(_PREMATURE_END)
    if source.take(len(MAGIC_NUMBER)) != MAGIC_NUMBER:
        raise io_fault("Stream unsupported (invalid magic bytes)")
    descriptor = source.take(2)
    flags, block_size = descriptor
    problem = None
    if flags & 3:
        problem = "Reserved bits must be 0"
    elif not flags & 0x20:
        problem = "Dependent block stream is unsupported"
    elif flags >> 6 != 1:
        problem = f"Version {flags >> 6} is unsupported"
    elif block_size & 15:
        problem = "Reserved2 field must be 0"
    elif block_size & 0x40 == 0:
        problem = "Block size value must be between 4 and 7"
    elif block_size & 0x80:
        problem = "Reserved3 field must be 0"
    if problem is not None:
        raise StreamFault(f"java.lang.RuntimeException: {problem}")
    if flags & 0x08:
        content_size = source.take(8)
        if len(content_size) < 8:
            raise io_fault(_PREMATURE_END)
        descriptor += content_size
    checksum = source.take(1)
    if not checksum:
        if checks:
            raise StreamFault("java.nio.BufferUnderflowException")
        limit = source.size
        raise StreamFault(f"java.lang.IllegalArgumentException: newPosition > limit: ({limit + 1} > {limit})")
    if checks and checksum[0] != xxh32(descriptor) >> 8 & 0xFF:
        raise io_fault("Stream frame descriptor corrupted")
    return flags, 1 << 2 * (block_size >> 4) + 8


def _decompress(block: bytes, block_bytes: int) -> bytes:
    # The library limits the output of a frame's blocks, so each block is decoded as a separate frame.
    descriptor = bytes((0x60, (block_bytes.bit_length() - 9) // 2 << 4))
    checksum = xxh32(descriptor) >> 8 & 0xFF
    frame = MAGIC_NUMBER + descriptor + bytes((checksum,)) + _LENGTH.pack(len(block)) + block + bytes(_LENGTH.size)
    try:
        return bytes(cramjam.lz4.decompress(frame))
    except cramjam.DecompressionError:
        raise io_fault("net.jpountz.lz4.LZ4Exception: Malformed input") from None
