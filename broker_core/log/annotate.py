"""What each byte of a log's files is for: the fields of a stretch of a file, with their values, for people to read.

A file is a row of parts (batches, index entries, lines of text), and a part is a row of fields. A field has Kafka's
name, where it lies, its value, and the key of a sentence about it, which whoever shows it has in its reader's language.

Source: `DefaultRecordBatch`, `DefaultRecord`, `LegacyRecord`, `OffsetIndex`, `TimeIndex`, `AbortedTxn`,
`ProducerStateManager`, `CheckpointFile`.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

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

PartKind = Literal["batch", "entry", "producer", "transaction", "line", "header", "room", "torn"]
Value = str | int
Row = tuple[str, int, str, str, dict[str, Value]]
"""(name, length, value, key of the sentence, values in it)"""

_LENGTH_AT = 8
_MAGIC_AT = 16
_SMALLEST_SIZE = 26
"""Bytes of the smallest message that Kafka has ever written (magic 0, neither key nor value)."""
_CONTROL_TYPES = {0: "ABORT", 1: "COMMIT"}
_SHOWN_BYTES = 120
_MOST_PLACES = 1_000
"""Of compressed records, of which a damaged header may claim any number."""
_INDEX_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_ABORTED = struct.Struct(">hqqqq")
_SNAPSHOT_HEADER = struct.Struct(">hIi")
_PRODUCER = struct.Struct(">qhiqiqiq")


class Field(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """`length` bytes at `position` of the file. `says` is the key of the sentence, `values` what it mentions.
    `offset`: the record that the field belongs to. `target`: the position in the .log that an index entry names."""

    name: str
    position: int
    length: int
    value: str
    says: str
    values: dict[str, Value] = {}
    offset: int | None = None
    target: int | None = None


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a record lies. `size` is 0 where it is compressed together with its neighbours."""

    offset: int
    position: int
    size: int


class Part(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A batch, an entry, a line. Offsets are absolute; `fault` is the key of a sentence about what is wrong with it."""

    kind: PartKind
    position: int
    size: int
    fields: list[Field]
    first_offset: int | None = None
    last_offset: int | None = None
    records: list[Place] = []
    fault: str = ""


def annotate_log(data: bytes, start: int, window: range) -> list[Part]:
    """The parts of a `.log` from `start`, where a batch begins, on. Only fields that touch `window` are told apart.

    `data` are the file's bytes from `start`. What follows the last whole batch is one part, "room" where it is zeros
    (a file that was allocated in advance) and "torn" otherwise.
    """
    parts: list[Part] = []
    at = 0
    while at < len(data) and start + at < window.stop:
        size = _batch_size(data, at)
        if size is None:
            parts.append(_leftover(data[at:], start + at))
            break
        batch = data[at : at + size]
        read = _batch if batch[_MAGIC_AT] == MAGIC_V2 else _legacy_message
        parts.append(read(batch, start + at, window))
        at += size
    return [part for part in parts if part.position + part.size > window.start]


def batch_starts(data: bytes) -> Iterator[tuple[int, int]]:
    """(position, size) of each whole batch or message in `data`, of whatever magic."""
    at = 0
    while (size := _batch_size(data, at)) is not None:
        yield at, size
        at += size


def annotate_index(data: bytes, start: int, base_offset: int) -> list[Part]:
    """The entries of an `.index`; `start` is that of an entry."""
    return [
        _entry(
            start + at,
            [
                (
                    "relativeOffset",
                    4,
                    str(relative),
                    "index.offset",
                    {"base": base_offset, "n": base_offset + relative},
                ),
                ("position", 4, str(position), "index.position", {"at": position, "n": base_offset + relative}),
            ],
            base_offset + relative,
            target=position,
        )
        for at, (relative, position) in _entries(_INDEX_ENTRY, data)
    ]


def annotate_time_index(data: bytes, start: int, base_offset: int) -> list[Part]:
    """The entries of a `.timeindex`; `start` is that of an entry."""
    return [
        _entry(
            start + at,
            [
                ("timestamp", 8, str(timestamp), "timeindex.timestamp", {"ms": timestamp, "n": base_offset + relative}),
                (
                    "relativeOffset",
                    4,
                    str(relative),
                    "timeindex.offset",
                    {"base": base_offset, "n": base_offset + relative},
                ),
            ],
            base_offset + relative,
        )
        for at, (timestamp, relative) in _entries(_TIME_ENTRY, data)
    ]


def annotate_transaction_index(data: bytes, start: int) -> list[Part]:
    """The aborted transactions of a `.txnindex` (`AbortedTxn`, version 0); `start` is that of an entry."""
    parts = []
    for at, (version, producer_id, first, last, stable) in _entries(_ABORTED, data):
        rows: list[Row] = [
            ("version", 2, str(version), "txnindex.version", {}),
            ("producerId", 8, str(producer_id), "txnindex.producer", {}),
            ("firstOffset", 8, str(first), "txnindex.first", {"n": first}),
            ("lastOffset", 8, str(last), "txnindex.last", {"n": last}),
            ("lastStableOffset", 8, str(stable), "txnindex.stable", {"n": stable}),
        ]
        parts.append(Part("transaction", start + at, _ABORTED.size, _fields(start + at, rows, first), first, last))
    return parts


def annotate_snapshot(data: bytes) -> list[Part]:
    """The whole of a `.snapshot`: version, checksum, and what is remembered of each producer."""
    if len(data) < _SNAPSHOT_HEADER.size:
        return [_leftover(data, 0)] if data else []
    version, crc, count = _SNAPSHOT_HEADER.unpack_from(data)
    is_ok = crc == crc32c(data[_SNAPSHOT_HEADER.size - 4 :])
    rows: list[Row] = [
        ("version", 2, str(version), "snapshot.version", {}),
        ("crc", 4, f"{crc:08x}", "snapshot.crc" if is_ok else "snapshot.crc_bad", {}),
        ("producers", 4, str(count), "snapshot.count", {"n": count}),
    ]
    fault = "" if is_ok else "crc"
    parts = [Part("header", 0, _SNAPSHOT_HEADER.size, _fields(0, rows), fault=fault)]
    body = data[_SNAPSHOT_HEADER.size :]
    for at, row in _entries(_PRODUCER, body):
        producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, first = row
        rows = [
            ("producerId", 8, str(producer_id), "snapshot.producer", {}),
            ("epoch", 2, str(epoch), "snapshot.epoch", {}),
            ("lastSequence", 4, str(last_sequence), "snapshot.sequence", {"n": last_sequence}),
            ("lastOffset", 8, str(last_offset), "snapshot.last_offset", {"n": last_offset}),
            ("offsetDelta", 4, str(delta), "snapshot.delta", {"n": last_offset - delta}),
            ("timestamp", 8, str(timestamp), "snapshot.timestamp", {"ms": timestamp}),
            ("coordinatorEpoch", 4, str(coordinator_epoch), "snapshot.coordinator", {}),
            (
                "currentTxnFirstOffset",
                8,
                str(first),
                "snapshot.open" if first >= 0 else "snapshot.no_open",
                {"n": first},
            ),
        ]
        position = _SNAPSHOT_HEADER.size + at
        parts.append(
            Part("producer", position, _PRODUCER.size, _fields(position, rows), last_offset - delta, last_offset)
        )
    end = _SNAPSHOT_HEADER.size + len(body) // _PRODUCER.size * _PRODUCER.size
    return parts + ([_leftover(data[end:], end)] if end < len(data) else [])


def annotate_checkpoint(data: bytes, columns: Sequence[str]) -> list[Part]:
    """The whole of a checkpoint file: version, number of entries, and entries of which `columns` are the names."""
    parts = []
    for number, (position, line) in enumerate(_lines(data)):
        names = {0: ["version"], 1: ["entries"]}.get(number, list(columns))
        parts.append(_text_line(position, line, b" ", names, "checkpoint"))
    return parts


def annotate_properties(data: bytes) -> list[Part]:
    """The whole of a small text file of names and values (`meta.properties`, `partition.metadata`)."""
    parts = []
    for position, line in _lines(data):
        name, sign, value = _split_property(line)
        if not sign:
            field = Field("comment", position, len(line), _text(line), "text.comment")
            parts.append(Part("line", position, len(line), [field]))
            continue
        at = len(line) - len(value)
        says = f"property.{name.decode('utf-8', 'replace')}"
        field = Field(_text(name), position + at, len(value), _text(value), says)
        key = Field("name", position, len(name), _text(name), "property.name")
        parts.append(Part("line", position, len(line), [key, field]))
    return parts


def _batch_size(data: bytes, at: int) -> int | None:
    """The size of the whole batch or message at `at`; None where there is none."""
    if at + LENGTH_OVERHEAD + 5 > len(data):
        return None
    size = int.from_bytes(data[at + _LENGTH_AT : at + _LENGTH_AT + 4], "big", signed=True) + LENGTH_OVERHEAD
    magic = data[at + _MAGIC_AT]
    smallest = HEADER_BYTES if magic == MAGIC_V2 else _SMALLEST_SIZE
    if magic > MAGIC_V2 or size < smallest or at + size > len(data):
        return None
    return size


def _batch(batch: bytes, position: int, window: range) -> Part:
    header = parse_header(batch)
    is_ok = crc32c(batch[ATTRIBUTES_POSITION:]) == header.crc
    fields = _fields(position, _header_rows(header, is_ok), header.base_offset, whole=True)
    records: list[Place] = []
    fault = "" if is_ok else "crc"
    body_at = position + HEADER_BYTES
    if header.compression:
        codec = CompressionType(header.compression).name.lower() if header.compression <= 4 else str(header.compression)
        values: dict[str, Value] = {"n": header.record_count, "codec": codec}
        body = Field("records", body_at, len(batch) - HEADER_BYTES, codec, "batch.compressed", values)
        fields.append(body)
        count = min(header.last_offset_delta + 1, _MOST_PLACES)
        records = [Place(header.base_offset + n, body_at, 0) for n in range(count)]
        return Part("batch", position, len(batch), fields, header.base_offset, header.last_offset, records, fault)
    try:
        for place, record in _records(batch, header, position, window):
            records.append(place)
            fields += record
    except (VarintError, IndexError):
        fault = fault or "record"
        at = records[-1].position + records[-1].size if records else body_at
        fields.append(Field("records", at, position + len(batch) - at, "?", "batch.unreadable"))
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
    """The set bits of the attributes, by their names."""
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


def _records(batch: bytes, header: BatchHeader, position: int, window: range) -> Iterator[tuple[Place, list[Field]]]:
    at = HEADER_BYTES
    for _ in range(header.record_count):
        length, body = decode_varint(batch, at)
        end = body + length
        if length < 0 or end > len(batch):
            raise IndexError(end)
        _, after_time = decode_varlong(batch, body + 1)
        delta, _ = decode_varint(batch, after_time)
        place = Place(header.base_offset + delta, position + at, end - at)
        is_shown = position + end > window.start and position + at < window.stop
        yield place, _record_fields(batch[at:end], header, place) if is_shown else []
        at = end


def _record_fields(data: bytes, header: BatchHeader, place: Place) -> list[Field]:
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
        shown = _control_type(key) if header.is_control else _text(key)
        reader.finish("key", shown, "record.control" if header.is_control else "record.key", {"text": shown})
    value = reader.sized("valueLength", "record.value_length", "record.tombstone")
    if value is not None:
        reader.finish("value", _text(value), "record.value", {"text": _text(value)})
    count = reader.number("headersCount")
    reader.finish("headersCount", str(count), "record.headers", {"n": count})
    for _ in range(count):
        name = reader.header_part()
        content = reader.header_part()
        shown = f"{_text(name or b'')}: {'null' if content is None else _text(content)}"
        reader.finish("header", shown, "record.header", {"text": shown})
    return reader.fields


class _Reader:
    """Goes through the bytes of one record, and turns what it passed into fields."""

    def __init__(self, data: bytes, place: Place) -> None:
        self.at = 0
        self.fields: list[Field] = []
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

    def sized(self, name: str, says: str, says_null: str) -> bytes | None:
        """A length, which becomes a field, and what it counts, which is left to become one; None where it is null."""
        length = self.number(name)
        self.finish(name, str(length), says if length >= 0 else says_null, {"n": length})
        return None if length < 0 else self.take(length)

    def header_part(self) -> bytes | None:
        length = self.number("")
        return None if length < 0 else self.take(length)

    def finish(self, name: str, value: str, says: str, values: dict[str, Value] | None = None) -> None:
        """What was passed since the last field is a field."""
        if self.at > self._begin:
            begin = self._place.position + self._begin
            length = self.at - self._begin
            self.fields.append(Field(name, begin, length, value, says, values or {}, self._place.offset))
        self._begin = self.at


def _legacy_message(data: bytes, position: int, window: range) -> Part:
    """A message of magic 0 or 1 (Kafka before 0.11), which may hold compressed messages."""
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
        shown = _text(data[at : at + length])
        if length:
            rows.append((name, length, shown, f"record.{name}", {"text": shown}))
        at += length
    place = Place(offset, position, len(data))
    return Part("batch", position, len(data), _fields(position, rows, offset), offset, offset, [place], fault)


def _leftover(data: bytes, position: int) -> Part:
    if not any(data):
        field = Field("room", position, len(data), f"{len(data)} × 00", "log.room", {"n": len(data)})
        return Part("room", position, len(data), [field])
    field = Field("torn", position, len(data), f"{len(data)} B", "log.torn", {"n": len(data)})
    return Part("torn", position, len(data), [field], fault="torn")


def _fields(position: int, rows: list[Row], offset: int | None = None, whole: bool = False) -> list[Field]:
    """Fields that lie one behind the other. With `whole`, they belong to all of a batch, not to one record."""
    fields = []
    for name, length, value, says, values in rows:
        fields.append(Field(name, position, length, value, says, values, None if whole else offset))
        position += length
    return fields


def _entry(position: int, rows: list[Row], offset: int, target: int | None = None) -> Part:
    fields = [msgspec.structs.replace(field, target=target) for field in _fields(position, rows, offset)]
    return Part("entry", position, sum(row[1] for row in rows), fields, offset, offset)


def _entries(layout: struct.Struct, data: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    whole = len(data) // layout.size * layout.size
    yield from zip(range(0, whole, layout.size), layout.iter_unpack(data[:whole]), strict=True)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    for line in data.splitlines(keepends=True):
        text = line.rstrip(b"\r\n")
        if text:
            yield at, text
        at += len(line)


def _text_line(position: int, line: bytes, separator: bytes, names: Sequence[str], family: str) -> Part:
    fields = []
    at = 0
    for place, word in enumerate(line.split(separator)):
        name = names[place] if place < len(names) else "more"
        fields.append(Field(name, position + at, len(word), _text(word), f"{family}.{name}", {"n": _text(word)}))
        at += len(word) + len(separator)
    return Part("line", position, len(line), fields)


def _split_property(line: bytes) -> tuple[bytes, bytes, bytes]:
    if line.startswith(b"#"):
        return line, b"", b""
    sign = b"=" if b"=" in line else b":"
    name, found, value = line.partition(sign)
    return name.strip(), found, value.lstrip()


def _control_type(key: bytes) -> str:
    if len(key) < 4:
        return key.hex()
    kind = int.from_bytes(key[2:4], "big", signed=True)
    return _CONTROL_TYPES.get(kind, f"type {kind}")


def _text(data: bytes) -> str:
    text = data[:_SHOWN_BYTES].decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() else "·" for letter in text) + (
        "…" if len(data) > _SHOWN_BYTES else ""
    )
