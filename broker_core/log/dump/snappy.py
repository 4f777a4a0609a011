"""Snappy, in xerial's framing or as one raw block (`org.xerial.snappy.SnappyInputStream`)."""

import struct
from collections.abc import Iterator

import cramjam

from broker_core.log.dump.compressed_input import (
    ALLOCATABLE_BYTES,
    HELD_BYTES,
    CompressedInput,
    StreamFault,
    held,
    io_fault,
)
from broker_core.log.dump.java import Thrown, int32, out_of_memory

_MAGIC = b"\x82SNAPPY\0"
_HEADER_BYTES = 16
_INT = struct.Struct(">i")
_MAX_CHUNK_BYTES = 512 * 1024 * 1024
_SNAPPY_IO = "org.xerial.snappy.SnappyIOException"
# A block has at least 3 bytes for each 64 that it decompresses to.
_MAX_RATIO = 22
# Kafka fills a buffer of this size before it reads from it.
_FILL_BYTES = 2048


def read_snappy(source: CompressedInput, magic: int) -> Iterator[bytes]:
    """Yields an empty piece after the header, then the contents of the blocks. Raises StreamFault, Thrown."""
    header = source.take(_HEADER_BYTES)
    if not header:
        raise StreamFault(f"{_SNAPPY_IO}: [EMPTY_INPUT] Cannot decompress empty stream")
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        source.position = 0
        try:
            whole = _decompress(source.take(held(source.size, "the snappy data of a batch")))
        except Thrown as thrown:
            if thrown.java_class == _NEGATIVE_SIZE:
                raise StreamFault(str(thrown)) from None
            raise
        yield b""
        yield whole
        return
    yield b""
    # A fault discards the bytes read for the buffer that is being filled.
    pending = b""
    for block in _blocks(source):
        pending += block
        full = len(pending) // _FILL_BYTES * _FILL_BYTES
        if full:
            yield pending[:full]
            pending = pending[full:]
    if pending:
        yield pending


def _blocks(source: CompressedInput) -> Iterator[bytes]:
    while True:
        head = source.take(_INT.size)
        if len(head) < _INT.size:
            return
        if head == _MAGIC[: _INT.size]:
            if not _passes_header(source):
                return
            continue
        (length,) = _INT.unpack(head)
        if length < 0:
            raise _snappy_error("INVALID_CHUNK_SIZE", f"chunkSize is too big or negative : {length}")
        if length > _MAX_CHUNK_BYTES:
            said = f"Received chunkSize {length:,} is greater than max configured chunk size {_MAX_CHUNK_BYTES:,}"
            raise _snappy_error("FAILED_TO_UNCOMPRESS", said)
        if length > source.remaining:
            if length > ALLOCATABLE_BYTES:
                raise _snappy_error("INVALID_CHUNK_SIZE", "Java heap space")
            raise io_fault("failed to read chunk")
        yield _decompress(source.take(held(length, "a block of snappy data")))


def _passes_header(source: CompressedInput) -> bool:
    """Whether another stream begins here; skips its header."""
    rest = source.take(_HEADER_BYTES - _INT.size)
    if len(rest) < _HEADER_BYTES - _INT.size:
        said = "Insufficient header size in a concatenated block"
        raise StreamFault(f"{_SNAPPY_IO}: [FAILED_TO_UNCOMPRESS] {said}")
    version = _INT.unpack_from(rest, len(_MAGIC) - _INT.size)[0]
    if not rest.startswith(_MAGIC[_INT.size :]):
        return False
    if version < 1:
        said = f"Compressed with an incompatible codec version {version}. At least version 1 is required"
        raise StreamFault(f"{_SNAPPY_IO}: [INCOMPATIBLE_VERSION] {said}")
    return True


def _snappy_error(code: str, message: str) -> Thrown:
    # An Error in Java, which is not caught.
    rule = f"the snappy data of the batch is damaged ({message})"
    return Thrown("org.xerial.snappy.SnappyError", f"[{code}] {message}", rule)


_NEGATIVE_SIZE = "java.lang.NegativeArraySizeException"


def _decompress(block: bytes) -> bytes:
    length = _decompressed_length(block)
    if length < 0:
        raise Thrown(_NEGATIVE_SIZE, str(length), f"a block of snappy data claims {length} bytes decompressed")
    if length > ALLOCATABLE_BYTES or HELD_BYTES < length <= _MAX_RATIO * len(block):
        raise out_of_memory(f"a block of snappy data may have {HELD_BYTES} bytes decompressed, it claims {length}")
    if length > _MAX_RATIO * len(block):
        raise io_fault("FAILED_TO_UNCOMPRESS(5)")
    try:
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError:
        raise io_fault("FAILED_TO_UNCOMPRESS(5)") from None


def _decompressed_length(block: bytes) -> int:
    length = 0
    for at, byte in enumerate(block[:5]):
        length |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            if length > 0xFFFFFFFF:
                break
            return int32(length)
    raise io_fault("PARSING_ERROR(2)")
