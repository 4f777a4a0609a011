"""What the bytes of a replica's files mean, for the page."""

import struct
from typing import Any

from broker_core.log import OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES, decode_snapshot
from broker_core.records.record_batch import (
    HEADER_BYTES,
    BatchHeader,
    CorruptRecord,
    InvalidRecord,
    ensure_valid,
    iterate_batches,
    iterate_records,
)
from broker_core.records.varint import decode_varint
from broker_core.texts import Text, text
from lab.recordings.disk.replica_files import MAX_LENGTH, ReplicaFile, ReplicaFiles
from lab.texts.refusal import Refusal

_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_MAX_BATCH_BYTES = 2 * 1024 * 1024


def decoded(files: ReplicaFiles, file: ReplicaFile, start: int) -> dict[str, Any]:
    """The content of a file from `start` on, 64 KiB at a time. Raises Refusal where no batch or entry begins."""
    if file.kind == "log":
        return {"kind": "log", "batches": _batches(files, file, start)}
    data = files.read(file, start, MAX_LENGTH)
    if file.kind == "index":
        base = file.segment or 0
        entries = [
            [base + relative, position]
            for relative, position in _OFFSET_ENTRY.iter_unpack(_whole(data, OFFSET_ENTRY_BYTES))
        ]
        return {"kind": "index", "entries": entries}
    if file.kind == "timeindex":
        base = file.segment or 0
        rows = _TIME_ENTRY.iter_unpack(_whole(data, TIME_ENTRY_BYTES))
        return {"kind": "timeindex", "entries": [[timestamp, base + relative] for timestamp, relative in rows]}
    if file.kind == "snapshot":
        return {"kind": "text", **_producers(data)}
    return {"kind": "text", "lines": data.decode("utf-8", "backslashreplace").splitlines()}


def _producers(data: bytes) -> dict[str, Any]:
    """What a snapshot of the producers' state has: a message as `head`, a producer a line."""
    try:
        producers = decode_snapshot(data)
    except ValueError as error:
        rule = error.args[0]
        return {
            "head": text("snapshot_file.damaged", rule=rule if isinstance(rule, Text) else str(rule)).code,
            "lines": [],
        }
    head = text("snapshot_file.producers", n=len(producers))
    return {"head": head.code, "lines": [str(producer) for producer in producers]}


def _batches(files: ReplicaFiles, file: ReplicaFile, start: int) -> list[dict[str, Any]]:
    data = files.read(file, start, MAX_LENGTH)
    found = list(iterate_batches(data))
    if data and not found:
        # One batch may be larger than what is read at once.
        data = files.read(file, start, _MAX_BATCH_BYTES)
        found = list(iterate_batches(data))[:1]
        if not found:
            raise Refusal("refusal.no_batch_at", position=start, file=file.name)
    return [_batch(data, position, header, start) for position, header in found]


def _batch(data: bytes, position: int, header: BatchHeader, start: int) -> dict[str, Any]:
    try:
        ensure_valid(data, header, position)
        crc_ok = True
    except CorruptRecord:
        crc_ok = False
    return {
        "position": start + position,
        "size": header.size,
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "leader_epoch": header.partition_leader_epoch,
        "crc": header.crc,
        "crc_ok": crc_ok,
        "attributes": header.attributes,
        "producer_id": header.producer_id,
        "base_timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "records": _records(data, position, header, start) if crc_ok else [],
    }


def _records(data: bytes, position: int, header: BatchHeader, start: int) -> list[dict[str, Any]]:
    places = _places(data, position, header)
    try:
        records = list(iterate_records(data, header, position))
    except InvalidRecord:
        return []
    return [
        {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "key": _text(record.key),
            "value": _text(record.value),
            "headers": [[name, _text(value)] for name, value in record.headers],
            "position": start + places[index][0] if places else None,
            "size": places[index][1] if places else None,
        }
        for index, record in enumerate(records)
    ]


def _places(data: bytes, position: int, header: BatchHeader) -> list[tuple[int, int]]:
    """(position, size) of each record; none where they are compressed."""
    if header.compression:
        return []
    places = []
    at = position + HEADER_BYTES
    for _ in range(header.record_count):
        length, body = decode_varint(data, at)
        places.append((at, body + length - at))
        at = body + length
    return places


def _whole(data: bytes, size: int) -> bytes:
    return data[: len(data) // size * size]


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "backslashreplace")
