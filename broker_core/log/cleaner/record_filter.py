"""Rebuilding a batch without some of its records (`MemoryRecords.filterTo`, `MemoryRecordsBuilder`; KIP-534).

Offsets, the last offset delta, the producer's fields and the leader epoch are kept, so that readers see a gap and the
producer's sequence numbers survive. Timestamps are kept, but the base timestamp becomes that of the first kept record,
or the delete horizon, and the deltas change with it.
"""

from itertools import pairwise

from broker_core.log.cleaner.facts import Uncleanable
from broker_core.records.compression import CompressionType, compress
from broker_core.records.record_batch import (
    COMPRESSION_MASK,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    LOG_APPEND_TIME_FLAG,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    assemble,
)
from broker_core.records.record_columns import RecordColumns
from broker_core.records.varint import decode_varlong, encode_varlong
from broker_core.texts import text

_REBUILT_ATTRIBUTES = COMPRESSION_MASK | LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG


def empty_batch(header: BatchHeader) -> bytes:
    """The empty batch that keeps a producer's last sequence number if all records are removed (`writeEmptyHeader`)."""
    return assemble(
        b"",
        base_offset=header.base_offset,
        leader_epoch=header.partition_leader_epoch,
        attributes=header.attributes & (LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG),
        last_offset_delta=header.last_offset_delta,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=header.max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=0,
    )


def rebuild(
    header: BatchHeader, body: bytes, columns: RecordColumns, kept: list[int], delete_horizon_ms: int | None
) -> bytes:
    """The batch with only the records `kept` (increasing indexes, at least one) of its decompressed records `body`.

    `delete_horizon_ms` is the time after which its tombstones or its marker may be removed, or None. Raises
    Uncleanable for records that no builder accepts.
    """
    spans = [(columns.ends[place - 1] if place else 0, columns.ends[place]) for place in kept]
    deltas = [_timestamp_delta(body, start) for start, _ in spans]
    _check(header, [columns.offset_deltas[place] for place in kept], deltas)
    if header.attributes & LOG_APPEND_TIME_FLAG:
        max_timestamp = header.max_timestamp
        timestamps = [max_timestamp] * len(kept)
    else:
        timestamps = [header.base_timestamp + delta for delta, _ in deltas]
        max_timestamp = max(NO_TIMESTAMP, *timestamps)
    base_timestamp = timestamps[0] if delete_horizon_ms is None else delete_horizon_ms
    attributes = header.attributes & _REBUILT_ATTRIBUTES
    if delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON_FLAG
    if base_timestamp == header.base_timestamp and not header.attributes & LOG_APPEND_TIME_FLAG:
        records = b"".join([body[start:end] for start, end in spans])
    else:
        records = b"".join(
            [
                _with_timestamp_delta(body[rest:end], timestamp - base_timestamp)
                for (_, end), (_, rest), timestamp in zip(spans, deltas, timestamps, strict=True)
            ]
        )
    return assemble(
        compress(CompressionType(header.compression), records),
        base_offset=header.base_offset,
        leader_epoch=header.partition_leader_epoch,
        attributes=attributes,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=len(kept),
    )


def _timestamp_delta(body: bytes, start: int) -> tuple[int, int]:
    """(timestamp delta of the record that begins at `start`, position after it)."""
    at = start
    while body[at] >= 0x80:
        at += 1
    # The attributes byte follows the length.
    return decode_varlong(body, at + 2)


def _with_timestamp_delta(rest: bytes, timestamp_delta: int) -> bytes:
    """A record with another timestamp delta; `rest` is what follows the delta."""
    encoded = encode_varlong(timestamp_delta)
    return b"".join((encode_varlong(1 + len(encoded) + len(rest)), b"\x00", encoded, rest))


def _check(header: BatchHeader, offset_deltas: list[int], deltas: list[tuple[int, int]]) -> None:
    """Raises Uncleanable for records that a builder rejects although a broker has stored them."""
    if any(after <= before for before, after in pairwise(offset_deltas)):
        raise Uncleanable(text("fault.offsets_not_increasing", offset=header.base_offset))
    if not header.attributes & LOG_APPEND_TIME_FLAG:
        for delta, _ in deltas:
            if header.base_timestamp + delta < NO_TIMESTAMP:
                raise Uncleanable(
                    text("fault.timestamp_too_low", offset=header.base_offset, timestamp=header.base_timestamp + delta)
                )
    if (
        header.producer_id != NO_PRODUCER_ID
        and header.base_sequence == NO_SEQUENCE
        and not header.attributes & CONTROL_FLAG
    ):
        raise Uncleanable(text("fault.no_sequence", offset=header.base_offset))
