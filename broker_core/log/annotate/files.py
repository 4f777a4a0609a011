"""The meaning of each byte of a log's files: the fields of a range of a file, with their values.

A file is a sequence of parts (batches, index entries, lines of text), and a part is a sequence of fields. A field has
Kafka's name, its position, its value, and the key of a sentence about it, which the page translates. This module covers
all files but the `.log`, which `annotate_log` covers.

Source: `OffsetIndex`, `TimeIndex`, `AbortedTxn`, `ProducerStateManager`, `CheckpointFile`.
"""

import struct
from collections.abc import Iterator, Sequence

import msgspec

from broker_core.log.annotate.annotations import AnnotatedField, Part, Row, fields_of, leftover, shown_text
from broker_core.records.record_batch import crc32c

_INDEX_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_ABORTED = struct.Struct(">hqqqq")
_SNAPSHOT_HEADER = struct.Struct(">hIi")
_PRODUCER = struct.Struct(">qhiqiqiq")


def annotate_index(data: bytes, start: int, base_offset: int) -> list[Part]:
    """The entries of an `.index`, from the entry at byte `start`."""
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
    """The entries of a `.timeindex`, from the entry at byte `start`."""
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
    """The aborted transactions of a `.txnindex` (`AbortedTxn`, version 0), from the entry at byte `start`."""
    parts = []
    for at, (version, producer_id, first, last, stable) in _entries(_ABORTED, data):
        rows: list[Row] = [
            ("version", 2, str(version), "txnindex.version", {}),
            ("producerId", 8, str(producer_id), "txnindex.producer", {}),
            ("firstOffset", 8, str(first), "txnindex.first", {"n": first}),
            ("lastOffset", 8, str(last), "txnindex.last", {"n": last}),
            ("lastStableOffset", 8, str(stable), "txnindex.stable", {"n": stable}),
        ]
        parts.append(Part("transaction", start + at, _ABORTED.size, fields_of(start + at, rows, first), first, last))
    return parts


def annotate_snapshot(data: bytes) -> list[Part]:
    """The parts of a `.snapshot`: version, checksum, and the state of each producer."""
    if len(data) < _SNAPSHOT_HEADER.size:
        return [leftover(data, 0)] if data else []
    version, crc, count = _SNAPSHOT_HEADER.unpack_from(data)
    is_ok = crc == crc32c(data[_SNAPSHOT_HEADER.size - 4 :])
    rows: list[Row] = [
        ("version", 2, str(version), "snapshot.version", {}),
        ("crc", 4, f"{crc:08x}", "snapshot.crc" if is_ok else "snapshot.crc_bad", {}),
        ("producers", 4, str(count), "snapshot.count", {"n": count}),
    ]
    fault = "" if is_ok else "crc"
    parts = [Part("header", 0, _SNAPSHOT_HEADER.size, fields_of(0, rows), fault=fault)]
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
            Part("producer", position, _PRODUCER.size, fields_of(position, rows), last_offset - delta, last_offset)
        )
    end = _SNAPSHOT_HEADER.size + len(body) // _PRODUCER.size * _PRODUCER.size
    return parts + ([leftover(data[end:], end)] if end < len(data) else [])


def annotate_checkpoint(data: bytes, columns: Sequence[str]) -> list[Part]:
    """The parts of a checkpoint file: version, number of entries, and the entries, whose fields are `columns`."""
    parts = []
    for number, (position, line) in enumerate(_lines(data)):
        names = {0: ["version"], 1: ["entries"]}.get(number, list(columns))
        parts.append(_text_line(position, line, b" ", names, "checkpoint"))
    return parts


def annotate_properties(data: bytes) -> list[Part]:
    """The parts of a text file of names and values (`meta.properties`, `partition.metadata`)."""
    parts = []
    for position, line in _lines(data):
        name, sign, value = _split_property(line)
        if not sign:
            field = AnnotatedField("comment", position, len(line), shown_text(line), "text.comment")
            parts.append(Part("line", position, len(line), [field]))
            continue
        at = len(line) - len(value)
        says = f"property.{name.decode('utf-8', 'replace')}"
        field = AnnotatedField(shown_text(name), position + at, len(value), shown_text(value), says)
        key = AnnotatedField("name", position, len(name), shown_text(name), "property.name")
        parts.append(Part("line", position, len(line), [key, field]))
    return parts


def _entry(position: int, rows: list[Row], offset: int, target: int | None = None) -> Part:
    fields = [msgspec.structs.replace(field, target=target) for field in fields_of(position, rows, offset)]
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
        shown = shown_text(word)
        fields.append(AnnotatedField(name, position + at, len(word), shown, f"{family}.{name}", {"n": shown}))
        at += len(word) + len(separator)
    return Part("line", position, len(line), fields)


def _split_property(line: bytes) -> tuple[bytes, bytes, bytes]:
    if line.startswith(b"#"):
        return line, b"", b""
    sign = b"=" if b"=" in line else b":"
    name, found, value = line.partition(sign)
    return name.strip(), found, value.lstrip()
