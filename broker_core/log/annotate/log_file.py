"""The meaning of each byte of a `.log`: batches of magic 2, messages of magic 0 and 1, preallocated bytes, a torn end.

Source: `DefaultRecordBatch`, `DefaultRecord`, `LegacyRecord`.
"""

import struct
from collections.abc import Iterator

from broker_core.log.annotate.annotations import (
    AnnotatedField,
    Part,
    RecordSpan,
    Row,
    Value,
    fields_of,
    leftover,
    shown_text,
)
from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import (
    ATTRIBUTES_POSITION,
    HEADER_BYTES,
    LENGTH_OVERHEAD,
    MAGIC_V2,
    BatchHeader,
    TimestampType,
    crc32c,
    parse_header,
)
from broker_core.records.varint import VarintError, decode_varint, decode_varlong

_LENGTH_AT = 8
_MAGIC_AT = 16
_MIN_SIZE = 26
"""Size in bytes of the smallest message of any version (magic 0, neither key nor value)."""
_CONTROL_TYPES = {0: "ABORT", 1: "COMMIT"}
_MAX_PLACES = 1_000
"""Bound for compressed records, because a damaged header may claim any number."""


def annotate_log(data: bytes, start: int, window: range) -> list[Part]:
    """The parts of a `.log` from `start`, the start of a batch. Only fields that overlap `window` are annotated.

    `data` are the file's bytes from `start`. The bytes after the last complete batch are one part: preallocated if they
    are zeros, "torn" otherwise.
    """
    parts: list[Part] = []
    at = 0
    while at < len(data) and start + at < window.stop:
        size = _batch_size(data, at)
        if size is None:
            parts.append(leftover(data[at:], start + at))
            break
        batch = data[at : at + size]
        read = _batch if batch[_MAGIC_AT] == MAGIC_V2 else _legacy_message
        parts.append(read(batch, start + at, window))
        at += size
    return [part for part in parts if part.position + part.size > window.start]


def batch_starts(data: bytes) -> Iterator[tuple[int, int]]:
    """(position, size) of each complete batch or message in `data`, of any magic."""
    at = 0
    while (size := _batch_size(data, at)) is not None:
        yield at, size
        at += size


def _batch_size(data: bytes, at: int) -> int | None:
    """The size of the complete batch or message at `at`, None if there is none."""
    if at + LENGTH_OVERHEAD + 5 > len(data):
        return None
    size = int.from_bytes(data[at + _LENGTH_AT : at + _LENGTH_AT + 4], "big", signed=True) + LENGTH_OVERHEAD
    magic = data[at + _MAGIC_AT]
    smallest = HEADER_BYTES if magic == MAGIC_V2 else _MIN_SIZE
    if magic > MAGIC_V2 or size < smallest or at + size > len(data):
        return None
    return size


def _batch(batch: bytes, position: int, window: range) -> Part:
    header = parse_header(batch)
    is_ok = crc32c(batch[ATTRIBUTES_POSITION:]) == header.crc
    fields = fields_of(position, _header_rows(header, is_ok), header.base_offset, whole=True)
    records: list[RecordSpan] = []
    fault = "" if is_ok else "crc"
    body_at = position + HEADER_BYTES
    if header.compression:
        codec = CompressionType(header.compression).name.lower() if header.compression <= 4 else str(header.compression)
        values: dict[str, Value] = {"n": header.record_count, "codec": codec}
        body = AnnotatedField("records", body_at, len(batch) - HEADER_BYTES, codec, "batch.compressed", values)
        fields.append(body)
        count = min(header.last_offset_delta + 1, _MAX_PLACES)
        records = [RecordSpan(header.base_offset + n, body_at, 0) for n in range(count)]
        return Part("batch", position, len(batch), fields, header.base_offset, header.last_offset, records, fault)
    try:
        for place, record in _records(batch, header, position, window):
            records.append(place)
            fields += record
    except (VarintError, IndexError):
        fault = fault or "record"
        at = records[-1].position + records[-1].size if records else body_at
        fields.append(AnnotatedField("records", at, position + len(batch) - at, "?", "batch.unreadable"))
    return Part("batch", position, len(batch), fields, header.base_offset, header.last_offset, records, fault)


def _header_rows(header: BatchHeader, is_ok: bool) -> list[Row]:
    attributes = header.attributes
    bits = _attribute_words(header)
    has_producer = header.producer_id >= 0
    return [
        ("baseOffset", 8, str(header.base_offset), "batch.base_offset", {"n": header.base_offset}),
        ("batchLength", 4, str(header.length), "batch.length", {"n": header.length, "size": header.size}),
        (
            "partitionLeaderEpoch",
            4,
            str(header.partition_leader_epoch),
            "batch.epoch",
            {"n": header.partition_leader_epoch},
        ),
        ("magic", 1, str(header.magic), "batch.magic", {}),
        ("crc", 4, f"{header.crc:08x}", "batch.crc" if is_ok else "batch.crc_bad", {}),
        ("attributes", 2, f"0x{attributes:04x} {bits}".strip(), "batch.attributes", {"bits": bits or "0"}),
        ("lastOffsetDelta", 4, str(header.last_offset_delta), "batch.last_delta", {"n": header.last_offset}),
        (
            "baseTimestamp",
            8,
            str(header.base_timestamp),
            "batch.base_timestamp" if header.delete_horizon_ms is None else "batch.delete_horizon",
            {"ms": header.base_timestamp},
        ),
        ("maxTimestamp", 8, str(header.max_timestamp), "batch.max_timestamp", {"ms": header.max_timestamp}),
        ("producerId", 8, str(header.producer_id), "batch.producer" if has_producer else "batch.no_producer", {}),
        ("producerEpoch", 2, str(header.producer_epoch), "batch.producer_epoch", {}),
        ("baseSequence", 4, str(header.base_sequence), "batch.sequence" if has_producer else "batch.no_sequence", {}),
        ("recordsCount", 4, str(header.record_count), "batch.count", {"n": header.record_count}),
    ]


def _attribute_words(header: BatchHeader) -> str:
    """The names of the attribute bits that are set."""
    words = []
    if header.compression:
        words.append(CompressionType(header.compression).name.lower() if header.compression <= 4 else "codec?")
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        words.append("LogAppendTime")
    if header.is_transactional:
        words.append("transactional")
    if header.is_control:
        words.append("control")
    if header.delete_horizon_ms is not None:
        words.append("deleteHorizon")
    return " ".join(words)


def _records(
    batch: bytes, header: BatchHeader, position: int, window: range
) -> Iterator[tuple[RecordSpan, list[AnnotatedField]]]:
    at = HEADER_BYTES
    for _ in range(header.record_count):
        length, body = decode_varint(batch, at)
        end = body + length
        if length < 0 or end > len(batch):
            raise IndexError(end)
        _, after_time = decode_varlong(batch, body + 1)
        delta, _ = decode_varint(batch, after_time)
        place = RecordSpan(header.base_offset + delta, position + at, end - at)
        is_shown = position + end > window.start and position + at < window.stop
        yield place, _record_fields(batch[at:end], header, place) if is_shown else []
        at = end


def _record_fields(data: bytes, header: BatchHeader, place: RecordSpan) -> list[AnnotatedField]:
    reader = _Reader(data, place)
    length = reader.number("length")
    reader.finish("length", str(length), "record.length", {"n": length})
    reader.take(1)
    reader.finish("attributes", str(data[reader.at - 1]), "record.attributes")
    delta = reader.number("timestampDelta")
    reader.finish("timestampDelta", str(delta), "record.timestamp", {"ms": header.base_timestamp + delta})
    offset_delta = reader.number("offsetDelta")
    reader.finish("offsetDelta", str(offset_delta), "record.offset", {"n": place.offset})
    key = reader.sized("keyLength", "record.key_length", "record.null_key")
    if key is not None:
        shown = _control_type(key) if header.is_control else shown_text(key)
        reader.finish("key", shown, "record.control" if header.is_control else "record.key", {"text": shown})
    value = reader.sized("valueLength", "record.value_length", "record.tombstone")
    if value is not None:
        reader.finish("value", shown_text(value), "record.value", {"text": shown_text(value)})
    count = reader.number("headersCount")
    reader.finish("headersCount", str(count), "record.headers", {"n": count})
    for _ in range(count):
        name = reader.header_part()
        content = reader.header_part()
        shown = f"{shown_text(name or b'')}: {'null' if content is None else shown_text(content)}"
        reader.finish("header", shown, "record.header", {"text": shown})
    return reader.fields


class _Reader:
    """Reads the bytes of one record and turns them into fields."""

    def __init__(self, data: bytes, place: RecordSpan) -> None:
        self.at = 0
        self.fields: list[AnnotatedField] = []
        self._data = data
        self._place = place
        self._begin = 0

    def number(self, name: str) -> int:
        value, self.at = decode_varlong(self._data, self.at)
        return value

    def take(self, count: int) -> bytes:
        if self.at + count > len(self._data):
            raise IndexError(self.at + count)
        self.at += count
        return self._data[self.at - count : self.at]

    def sized(self, name: str, says: str, is_null_value: str) -> bytes | None:
        """Reads a length as a field; returns the bytes that it counts, None for a null."""
        length = self.number(name)
        self.finish(name, str(length), says if length >= 0 else is_null_value, {"n": length})
        return None if length < 0 else self.take(length)

    def header_part(self) -> bytes | None:
        length = self.number("")
        return None if length < 0 else self.take(length)

    def finish(self, name: str, value: str, says: str, values: dict[str, Value] | None = None) -> None:
        """Makes a field of the bytes read since the last field."""
        if self.at > self._begin:
            begin = self._place.position + self._begin
            length = self.at - self._begin
            self.fields.append(AnnotatedField(name, begin, length, value, says, values or {}, self._place.offset))
        self._begin = self.at


def _legacy_message(data: bytes, position: int, window: range) -> Part:
    """The part of a message of magic 0 or 1 (Kafka before 0.11), which may hold compressed messages."""
    magic = data[_MAGIC_AT]
    offset, size, crc = struct.unpack_from(">qiI", data)
    attributes = data[17]
    rows: list[Row] = [
        ("offset", 8, str(offset), "legacy.offset", {"n": offset}),
        ("size", 4, str(size), "legacy.size", {"n": size}),
        ("crc", 4, f"{crc:08x}", "legacy.crc", {}),
        ("magic", 1, str(magic), "legacy.magic", {"n": magic}),
        ("attributes", 1, f"0x{attributes:02x}", "legacy.attributes", {}),
    ]
    at = 18
    if magic == 1:
        (timestamp,) = struct.unpack_from(">q", data, at)
        rows.append(("timestamp", 8, str(timestamp), "legacy.timestamp", {"ms": timestamp}))
        at += 8
    fault = ""
    for name in ("key", "value"):
        length = int.from_bytes(data[at : at + 4], "big", signed=True)
        at += 4
        rows.append((f"{name}Length", 4, str(length), f"legacy.{name}_length", {"n": length}))
        if length < 0:
            continue
        if at + length > len(data):
            fault = "record"
            break
        shown = shown_text(data[at : at + length])
        if length:
            rows.append((name, length, shown, f"record.{name}", {"text": shown}))
        at += length
    place = RecordSpan(offset, position, len(data))
    return Part("batch", position, len(data), fields_of(position, rows, offset), offset, offset, [place], fault)


def _control_type(key: bytes) -> str:
    if len(key) < 4:
        return key.hex()
    kind = int.from_bytes(key[2:4], "big", signed=True)
    return _CONTROL_TYPES.get(kind, f"type {kind}")
