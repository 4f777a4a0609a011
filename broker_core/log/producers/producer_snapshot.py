"""The bytes of a producer snapshot file, `OFFSET.snapshot` (`ProducerStateManager.writeSnapshot`, `readSnapshot`)."""

import struct

from broker_core.log.producers.producer_state_entry import BatchMetadata, ProducerStateEntry
from broker_core.records.record_batch import NO_SEQUENCE, NO_TIMESTAMP, crc32c
from broker_core.texts import text

SNAPSHOT_SUFFIX = ".snapshot"
SNAPSHOT_VERSION = 1
_PREFIX = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_ENTRY = struct.Struct(">qhiqiqiq")


def encode_snapshot(entries: list[ProducerStateEntry]) -> bytes:
    """The bytes of a snapshot file; only the newest batch of each producer is stored."""
    body = bytearray(_COUNT.pack(len(entries)))
    for entry in entries:
        last = entry.batches[-1] if entry.batches else BatchMetadata(NO_SEQUENCE, -1, 0, NO_TIMESTAMP)
        first_offset = entry.current_transaction_first_offset
        body += _ENTRY.pack(
            entry.producer_id,
            entry.producer_epoch,
            last.last_sequence,
            last.last_offset,
            last.offset_delta,
            entry.last_timestamp,
            entry.coordinator_epoch,
            -1 if first_offset is None else first_offset,
        )
    return _PREFIX.pack(SNAPSHOT_VERSION, crc32c(bytes(body))) + body


def decode_snapshot(data: bytes) -> list[ProducerStateEntry]:
    """The producers of a snapshot file, in its order. Raises ValueError if version, CRC or length are wrong."""
    smallest = _PREFIX.size + _COUNT.size
    if len(data) < smallest:
        raise ValueError(text("fault.snapshot_too_short", size=len(data), min=smallest))
    version, crc = _PREFIX.unpack_from(data)
    if version != SNAPSHOT_VERSION:
        raise ValueError(text("fault.snapshot_version", version=version, expected=SNAPSHOT_VERSION))
    if crc != crc32c(data[_PREFIX.size :]):
        raise ValueError(text("fault.snapshot_crc"))
    (count,) = _COUNT.unpack_from(data, _PREFIX.size)
    if len(data) != smallest + count * _ENTRY.size:
        raise ValueError(
            text("fault.snapshot_size", size=len(data), producers=count, expected=smallest + count * _ENTRY.size)
        )
    entries = []
    for row in _ENTRY.iter_unpack(data[smallest:]):
        producer_id, epoch, last_sequence, last_offset, offset_delta, timestamp, coordinator_epoch, first_offset = row
        entry = ProducerStateEntry(producer_id)
        entry.producer_epoch = epoch
        entry.last_timestamp = timestamp
        entry.coordinator_epoch = coordinator_epoch
        entry.current_transaction_first_offset = None if first_offset < 0 else first_offset
        if last_offset >= 0:
            entry.batches.append(BatchMetadata(last_sequence, last_offset, offset_delta, timestamp))
        entries.append(entry)
    return entries
