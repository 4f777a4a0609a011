"""The records of a batch of magic 2, read as strictly as Kafka reads them, with its error messages.

Valid batches of usual size are read by `broker_core.records`; those that it rejects and large ones are read again byte
by byte as `DefaultRecord` does, in bounded memory.
"""

from collections.abc import Callable, Iterator

import msgspec

from broker_core.config_defs import INT_MAX, LONG_MAX
from broker_core.log.dump.batches import LOG_APPEND_TIME, FileRecordBatch
from broker_core.log.dump.compressed_input import ALLOCATABLE_BYTES, StreamFault
from broker_core.log.dump.java import Thrown, decode, int32, int64, kafka, out_of_memory
from broker_core.log.dump.stream import DecompressedStream, open_stream, unreadable
from broker_core.records.compression import CompressionType
from broker_core.records.record import InvalidRecord, outline
from broker_core.records.record_batch import HEADER_BYTES
from broker_core.records.varint import VARINT_MAX_BYTES, VARLONG_MAX_BYTES

SMALL_BATCH_BYTES = 1024 * 1024
"""Records of up to this size are read at once."""
MAX_RECORD_BYTES = 64 * 1024 * 1024
"""The maximum size of one record. Kafka's tool, with its 256 MB, fails on less: it holds several copies."""
_MAX_RECORD_COUNT = 64_000_000
"""The record count of a compressed batch up to which Kafka's tool can allocate even an empty list."""
_HEADER_KEY_BYTES = 64
"""The memory of a header key besides its text."""
_HELD_RECORDS_BYTES = 8 * 1024 * 1024


class DumpedRecord(msgspec.Struct, frozen=True, gc=False):
    """A record as the tool prints it; a negative size means null. `legacy` is (is valid, crc) in a message set.

    A message of a set may be too short for its fields: the faults are what reading sizes or contents raises.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    key_size: int
    value_size: int
    sequence: int = -1
    header_keys: tuple[str, ...] = ()
    legacy: tuple[bool, int] | None = None
    sizes_fault: Thrown | None = None
    content_fault: Thrown | None = None


def read_records(batch: FileRecordBatch) -> Iterator[DumpedRecord]:
    """Yields the records of a batch of magic 2 or above, those before a fault included. Raises Thrown at a fault.

    Kafka reads all records of a compressed batch before it shows any, so none is shown if there is a fault.
    """
    if batch.size < HEADER_BYTES:
        rule = f"a batch of magic {batch.magic} has at least {HEADER_BYTES} bytes, this one has {batch.size}"
        raise batch.at(Thrown("java.lang.IndexOutOfBoundsException", None, rule))
    if batch.header.record_count == 0:
        return
    try:
        if batch.compression is CompressionType.NONE:
            yield from _uncompressed(batch)
        else:
            yield from _compressed(batch)
    except Thrown as thrown:
        raise batch.at(thrown) from None


def _uncompressed(batch: FileRecordBatch) -> Iterator[DumpedRecord]:
    size = batch.size - HEADER_BYTES
    if size <= SMALL_BATCH_BYTES:
        records = _at_once(batch, batch.window.get(batch.position + HEADER_BYTES, size))
        if records is not None:
            yield from records
            return
    yield from _strictly(batch)


def _at_once(batch: FileRecordBatch, body: bytes) -> list[DumpedRecord] | None:
    """The records, None unless all of them are valid."""
    header = batch.header
    if header.record_count < 0:
        return None
    append_time = header.max_timestamp if batch.timestamp_type == LOG_APPEND_TIME else None
    base_timestamp, has_sequence = header.base_timestamp, header.base_sequence >= 0
    records = []
    try:
        outlines = outline(body, header.record_count)
    except InvalidRecord:
        return None
    for timestamp_delta, delta, key_at, key_end, value_at, value_end, headers in outlines:
        timestamp = base_timestamp + timestamp_delta
        header_keys = tuple([name for name, _ in headers]) if headers else ()
        if not -LONG_MAX <= timestamp <= LONG_MAX or any("\ufffd" in key for key in header_keys):
            return None
        has_key, has_value = key_end >= key_at, value_end >= value_at
        records.append(
            DumpedRecord(
                int64(batch.offset + delta),
                timestamp if append_time is None else append_time,
                body[key_at:key_end] if has_key else None,
                body[value_at:value_end] if has_value else None,
                key_end - key_at if has_key else -1,
                value_end - value_at if has_value else -1,
                batch.sequence(delta) if has_sequence else -1,
                header_keys,
            )
        )
    return records


def _strictly(batch: FileRecordBatch) -> Iterator[DumpedRecord]:
    count = _count(batch)
    buffer = Buffer(batch.window.get, batch.position + HEADER_BYTES, batch.position + batch.size)
    for number in range(1, count + 1):
        try:
            size = buffer.varint()
        except Underflow:
            raise invalid("Incorrect declared batch size, premature EOF reached", _ENDS_EARLY) from None
        except IllegalArgument as illegal:
            # This is outside of the reading of a record, so it does not become an InvalidRecordException.
            raise Thrown("java.lang.IllegalArgumentException", str(illegal), _LONG_VARINT) from None
        record = read_record(batch, buffer, size)
        if number == count and buffer.remaining:
            raise invalid("Incorrect declared batch size, records still remaining in file", _more_than(count))
        yield record


def _compressed(batch: FileRecordBatch) -> Iterator[DumpedRecord]:
    body = _small_body(batch)
    records = None if body is None else _at_once(batch, body)
    if records is not None:
        yield from records
        return
    held: list[DumpedRecord] | None = []
    held_bytes = 0
    for record in _decompressed(batch):
        if held is not None:
            held.append(record)
            held_bytes += len(record.key or b"") + len(record.value or b"") + 100
            if held_bytes > _HELD_RECORDS_BYTES:
                held = None
    yield from held if held is not None else _decompressed(batch)


def _small_body(batch: FileRecordBatch) -> bytes | None:
    """The decompressed records of a batch; None if they are damaged or too large to read at once."""
    try:
        body = _open(batch).read(SMALL_BATCH_BYTES + 1)
    except (StreamFault, Thrown):
        return None
    return body if len(body) <= SMALL_BATCH_BYTES else None


def _open(batch: FileRecordBatch) -> DecompressedStream:
    def fetch(position: int, length: int) -> bytes:
        return batch.window.get(batch.position + HEADER_BYTES + position, length)

    return open_stream(batch.compression, fetch, batch.size - HEADER_BYTES, batch.magic)


def _decompressed(batch: FileRecordBatch) -> Iterator[DumpedRecord]:
    codec = batch.compression
    stream = _open(batch)
    count = _count(batch)
    if count > _MAX_RECORD_COUNT:
        message = "Requested array size exceeds VM limit" if count >= INT_MAX - 1 else "Java heap space"
        rule = f"a compressed batch may hold {_MAX_RECORD_COUNT} records, this one claims {count}"
        raise Thrown("java.lang.OutOfMemoryError", message, rule)
    try:
        for _ in range(count - 1):
            yield _next_record(batch, stream)
        last = _next_record(batch, stream)
    except StreamFault as fault:
        raise unreadable(codec, "Failed to decompress record stream", fault) from None
    try:
        if stream.read(1):
            raise invalid("Incorrect declared batch size, records still remaining in file", _more_than(count))
    except StreamFault as fault:
        raise unreadable(codec, "Error checking for remaining bytes after reading batch", fault) from None
    yield last


def _next_record(batch: FileRecordBatch, stream: DecompressedStream) -> DumpedRecord:
    try:
        size = _stream_varint(stream)
        if size < 0:
            raise IllegalArgument(f"capacity < 0: ({size} < 0)")
    except IllegalArgument as illegal:
        message = "Incorrect declared batch size, premature EOF reached"
        raise invalid(message, _ENDS_EARLY, f"java.lang.IllegalArgumentException: {illegal}") from None
    body = read_held(stream, size, "a record")
    if len(body) < size:
        raise invalid(
            f"Invalid record size: expected {size} bytes in record payload, but the record payload reached EOF.",
            f"a record claims {size} bytes, {len(body)} are left",
        )
    return read_record(batch, Buffer(lambda at, length: body[at : at + length], 0, size), size)


def read_held(stream: DecompressedStream, size: int, what: str) -> bytes:
    """The next `size` bytes, fewer at the end. Raises Thrown if they exceed the memory bound.

    A size above what Kafka's tool could allocate is rejected at once.
    """
    held = b"" if size > ALLOCATABLE_BYTES else stream.read(min(size, MAX_RECORD_BYTES + 1))
    if size > ALLOCATABLE_BYTES or len(held) > MAX_RECORD_BYTES:
        raise out_of_memory(f"{what} may have {MAX_RECORD_BYTES} bytes, this one claims {size}")
    return held


def _stream_varint(stream: DecompressedStream) -> int:
    """`ByteUtils.readVarint(InputStream)`, which reads the end of the stream as a byte 0xff."""
    raw = 0
    for index in range(VARINT_MAX_BYTES):
        byte = (stream.read(1) or b"\xff")[0]
        raw |= (byte & 0x7F if index < VARINT_MAX_BYTES - 1 else byte) << 7 * index
        if byte < 0x80:
            return _zigzag(raw, 32)
    raise IllegalArgument(_too_long("Varint", "5th", raw & 0xFFFFFFFF))


def _count(batch: FileRecordBatch) -> int:
    count = batch.header.record_count
    if count < 0:
        message = f"Found invalid record count {count} in magic v{batch.magic} batch"
        raise invalid(message, f"a batch has 0 records or more, this one claims {count}")
    return count


# one record

_ENDS_EARLY = "the batch ends before its last record"
_LONG_VARINT = "a variable-length integer is longer than its type allows"


def _more_than(count: int) -> str:
    return f"bytes follow the last of {count} records"


class Underflow(Exception):
    """A `java.nio.BufferUnderflowException`."""


class IllegalArgument(Exception):
    """A `java.lang.IllegalArgumentException`; the text is its message."""


class Buffer:
    """A `java.nio.ByteBuffer` for reading. Its bytes are read lazily."""

    def __init__(self, fetch: Callable[[int, int], bytes], position: int, limit: int) -> None:
        self._fetch = fetch
        self.position = position
        self.limit = limit

    @property
    def remaining(self) -> int:
        """The number of bytes up to the limit."""
        return self.limit - self.position

    def byte(self) -> int:
        """The next byte. Raises Underflow."""
        if self.position >= self.limit:
            raise Underflow
        data = self._fetch(self.position, 1)
        if not data:
            raise Underflow
        self.position += 1
        return data[0]

    def varint(self) -> int:
        """`ByteUtils.readVarint`. Raises Underflow, IllegalArgument."""
        raw = 0
        for index in range(VARINT_MAX_BYTES):
            byte = self.byte()
            raw |= (byte & 0x7F if index < VARINT_MAX_BYTES - 1 else byte) << 7 * index
            if byte < 0x80:
                return _zigzag(raw, 32)
        raise IllegalArgument(_too_long("Varint", "5th", raw & 0xFFFFFFFF))

    def varlong(self) -> int:
        """`ByteUtils.readVarlong`. Raises Underflow, IllegalArgument."""
        raw = 0
        for index in range(VARLONG_MAX_BYTES):
            byte = self.byte()
            raw |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                return _zigzag(raw, 64)
        raise IllegalArgument(_too_long("Varlong", "10th", raw & 0xFFFFFFFFFFFFFFFF))

    def skip(self, size: int) -> tuple[int, int] | None:
        """Skips a field of `size` bytes (`Utils.readBytes`); returns its position, None for a null.

        Raises IllegalArgument.
        """
        if size < 0:
            return None
        if size > self.remaining:
            raise IllegalArgument(f"newLimit > capacity: ({size} > {self.remaining})")
        start = self.position
        self.position += size
        return start, size

    def bytes_at(self, place: tuple[int, int] | None) -> bytes | None:
        """The bytes of a field that was skipped."""
        return None if place is None else self._fetch(*place)


def _zigzag(raw: int, bits: int) -> int:
    raw &= (1 << bits) - 1
    return raw >> 1 ^ -(raw & 1)


def _too_long(kind: str, which: str, raw: int) -> str:
    the = "the " if kind == "Varint" else ""
    return f"{kind} is too long, {the}most significant bit in the {which} byte is set, converted value: {raw:x}"


def invalid(message: str, rule: str, cause: str | None = None) -> Thrown:
    """An InvalidRecordException."""
    return Thrown(kafka("InvalidRecordException"), message, rule, () if cause is None else (cause,))


def read_record(batch: FileRecordBatch, buffer: Buffer, size: int) -> DumpedRecord:
    """The record at the buffer's position, which claims `size` bytes (`DefaultRecord.readFrom`). Raises Thrown."""
    if buffer.remaining < size:
        raise invalid(
            f"Invalid record size: expected {size} bytes in record payload, but instead the buffer has only "
            f"{buffer.remaining} remaining bytes.",
            f"a record claims {size} bytes, {buffer.remaining} are left",
        )
    start = buffer.position
    try:
        buffer.byte()
        timestamp_delta = buffer.varlong()
        offset_delta = buffer.varint()
        key = buffer.skip(buffer.varint())
        value = buffer.skip(buffer.varint())
        header_keys = _read_header_keys(buffer)
    except (Underflow, IllegalArgument) as fault:
        cause = "java.nio.BufferUnderflowException"
        if isinstance(fault, IllegalArgument):
            cause = f"java.lang.IllegalArgumentException: {fault}"
        rule = "a field of a record is longer than what is left of it"
        raise invalid("Found invalid record structure", rule, cause) from None
    read = buffer.position - start
    if read != size:
        raise invalid(
            f"Invalid record size: expected to read {size} bytes in record payload, but instead read {read}",
            f"a record claims {size} bytes, its fields take {read}",
        )
    if size > MAX_RECORD_BYTES:
        raise out_of_memory(f"a record may have {MAX_RECORD_BYTES} bytes, this one has {size}")
    header = batch.header
    if batch.timestamp_type == LOG_APPEND_TIME:
        timestamp = header.max_timestamp
    else:
        timestamp = int64(header.base_timestamp + timestamp_delta)
    return DumpedRecord(
        int64(batch.offset + int32(offset_delta)),
        timestamp,
        buffer.bytes_at(key),
        buffer.bytes_at(value),
        -1 if key is None else key[1],
        -1 if value is None else value[1],
        batch.sequence(offset_delta) if header.base_sequence >= 0 else -1,
        header_keys,
    )


def _read_header_keys(buffer: Buffer) -> tuple[str, ...]:
    count = buffer.varint()
    if count < 0:
        rule = f"a record has 0 headers or more, this one claims {count}"
        raise invalid(f"Found invalid number of record headers {count}", rule)
    if count > buffer.remaining:
        raise invalid(
            f"Found invalid number of record headers. {count} is larger than the remaining size of the buffer",
            f"a record claims {count} headers, {buffer.remaining} bytes are left",
        )
    keys = []
    held_bytes = 0
    for _ in range(count):
        size = buffer.varint()
        if size < 0:
            raise invalid(f"Invalid negative header key size {size}", "a header of a record has no key")
        place = buffer.skip(size)
        held_bytes += size + _HEADER_KEY_BYTES
        if held_bytes > MAX_RECORD_BYTES:
            raise out_of_memory(f"the header keys of a record may take {MAX_RECORD_BYTES} bytes, these take more")
        keys.append(decode(buffer.bytes_at(place) or b""))
        buffer.skip(buffer.varint())
    return tuple(keys)
