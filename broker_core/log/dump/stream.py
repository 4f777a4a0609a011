"""The records of a batch, decompressed piece by piece, with the error messages of Kafka's libraries.

A damaged stream fails exactly when the damage is reached, as with Kafka's input streams.
Source: `Compression.wrapForInput`, `GzipCompression` with `java.util.zip.GZIPInputStream`, `ZstdCompression`.
"""

import struct
import zlib
from collections.abc import Callable, Iterator

import cramjam

from broker_core.log.dump.compressed_input import HELD_BYTES, CompressedInput, Fetch, StreamFault, held
from broker_core.log.dump.files import CHUNK_BYTES
from broker_core.log.dump.java import Thrown, kafka, out_of_memory
from broker_core.log.dump.lz4 import read_lz4
from broker_core.log.dump.snappy import read_snappy
from broker_core.records.compression import CompressionType


class DecompressedStream:
    """A decompressed stream that is read from its start to its end."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""
        self._at = 0

    def read(self, length: int) -> bytes:
        """`length` bytes, fewer only at the end of the stream. Raises StreamFault, Thrown."""
        at, end = self._at, self._at + length
        if end <= len(self._held):
            self._at = end
            return self._held[at:end]
        parts = [self._held[at:]]
        missing = length - len(parts[0])
        while missing > 0:
            piece = next(self._pieces, b"")
            self._held, self._at = piece, min(missing, len(piece))
            if not piece:
                break
            parts.append(piece[: self._at])
            missing -= self._at
        return b"".join(parts)


def open_stream(codec: CompressionType, fetch: Fetch, size: int, magic: int) -> DecompressedStream:
    """The decompressed records of `size` compressed bytes in a batch of this magic.

    Raises Thrown if the stream's header cannot be read: Kafka opens the stream before it reads records.
    """
    pieces = _READERS[codec](CompressedInput(fetch, size), magic)
    try:
        # The readers yield an empty piece after the header.
        next(pieces)
    except StreamFault as fault:
        raise unreadable(codec, str(fault), fault) from None
    return DecompressedStream(pieces)


def unreadable(codec: CompressionType, message: str, fault: StreamFault) -> Thrown:
    """The exception for records whose compressed data is incomplete or damaged."""
    rule = f"the {codec.name.lower()} data of the batch is damaged ({fault.reason})"
    return Thrown(kafka("KafkaException"), message, rule, (str(fault),))


_GZIP_INPUT_BYTES = 8 * 1024
_GZIP_OUTPUT_BYTES = 16 * 1024
_ZIP_EXCEPTION = "java.util.zip.ZipException"
_END_OF_FILE = "java.io.EOFException"
_LITTLE_INT = struct.Struct("<I")


def _read_gzip(source: CompressedInput, magic: int) -> Iterator[bytes]:
    _read_gzip_header(source)
    yield b""
    while True:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        crc = length = 0
        data = b""
        while not inflater.eof:
            if not data:
                data = source.take(_GZIP_INPUT_BYTES)
                if not data:
                    raise StreamFault(f"{_END_OF_FILE}: Unexpected end of ZLIB input stream")
            try:
                piece = inflater.decompress(data, _GZIP_OUTPUT_BYTES)
            except zlib.error as error:
                raise StreamFault(f"{_ZIP_EXCEPTION}: {str(error).rpartition(': ')[2]}") from None
            data = inflater.unconsumed_tail
            if piece:
                crc, length = zlib.crc32(piece, crc), length + len(piece)
                yield piece
        source.position -= len(inflater.unused_data)
        for expected in (crc, length & 0xFFFFFFFF):
            found = source.take(_LITTLE_INT.size)
            if len(found) < _LITTLE_INT.size:
                raise StreamFault(_END_OF_FILE)
            if _LITTLE_INT.unpack(found)[0] != expected:
                raise StreamFault(f"{_ZIP_EXCEPTION}: Corrupt GZIP trailer")
        try:
            _read_gzip_header(source)
        except StreamFault:
            # Bytes after a member that are not a member are ignored.
            return


def _read_gzip_header(source: CompressedInput) -> None:
    def byte() -> int:
        data = source.take(1)
        if not data:
            raise StreamFault(_END_OF_FILE)
        return data[0]

    start = source.position
    if (byte(), byte()) != (0x1F, 0x8B):
        raise StreamFault(f"{_ZIP_EXCEPTION}: Not in GZIP format")
    if byte() != 8:
        raise StreamFault(f"{_ZIP_EXCEPTION}: Unsupported compression method")
    flags = byte()
    for _ in range(6):
        byte()
    if flags & 4:
        for _ in range(byte() | byte() << 8):
            byte()
    for flag in (8, 16):
        while flags & flag and byte():
            pass
    if flags & 2:
        crc = zlib.crc32(source.taken()[start:]) & 0xFFFF
        if crc != byte() | byte() << 8:
            raise StreamFault(f"{_ZIP_EXCEPTION}: Corrupt GZIP header")


# If a stream is incomplete or a frame is followed by invalid bytes, the bytes before are read first.
_AFTER_SOUND_ZSTD = ("incomplete frame", "Unknown frame descriptor")


def _read_zstd(source: CompressedInput, magic: int) -> Iterator[bytes]:
    yield b""
    data = source.take(held(source.size, "the zstd data of a batch"))
    room = max(CHUNK_BYTES, 4 * len(data))
    while data:
        room = min(room, HELD_BYTES)
        plain = cramjam.Buffer(bytearray(room), copy=False)
        fault = None
        try:
            cramjam.zstd.decompress_into(data, plain)
        except cramjam.DecompressionError as error:
            fault = str(error)
        if fault is not None and "too much to write" in fault.lower():
            if room == HELD_BYTES:
                raise out_of_memory(f"the zstd data of a batch may have {HELD_BYTES} bytes decompressed, it has more")
            room *= 4
            continue
        length = plain.tell()
        if length and (fault is None or any(each in fault for each in _AFTER_SOUND_ZSTD)):
            plain.seek(0)
            yield bytes(plain.read(length))
        if fault is not None:
            said = "Truncated source" if "incomplete frame" in fault else fault.partition("OSError: ")[2] or fault
            raise StreamFault(f"com.github.luben.zstd.ZstdIOException: {said}")
        return


_READERS: dict[CompressionType, Callable[[CompressedInput, int], Iterator[bytes]]] = {
    CompressionType.GZIP: _read_gzip,
    CompressionType.SNAPPY: read_snappy,
    CompressionType.LZ4: read_lz4,
    CompressionType.ZSTD: _read_zstd,
}
