"""The keys of a batch's records, and where each record lies: all that the log cleaner asks of most batches.

Columns instead of records, because compaction reads every record of a log twice: values and headers are not looked at,
nothing is copied but keys.
"""

from typing import NamedTuple

from broker_core.records.record_batch import InvalidRecord
from broker_core.records.varint import VarintError, decode_varint


class RecordColumns(NamedTuple):
    """One entry a record, in order."""

    keys: list[bytes | None]
    offset_deltas: list[int]
    ends: list[int]
    """Where the record ends; the next one begins there, the first at 0."""
    tombstones: list[int]
    """Which records have a null value, by their place in the batch."""


def read_columns(body: bytes, record_count: int) -> RecordColumns:
    """The columns of the decompressed records `body`. Raises InvalidRecord where lengths do not fit together."""
    keys: list[bytes | None] = []
    deltas: list[int] = []
    ends: list[int] = []
    tombstones: list[int] = []
    add_key, add_delta, add_end = keys.append, deltas.append, ends.append
    at = 0
    try:
        for index in range(record_count):
            # Integers of one or two bytes, which nearly all are, are decoded right here.
            length = body[at]
            if length < 0x80:
                end = at + 1 + ((length >> 1) ^ -(length & 1))
                at += 2
            elif (high := body[at + 1]) < 0x80:
                length += (high << 7) - 0x80
                end = at + 2 + ((length >> 1) ^ -(length & 1))
                at += 3
            else:
                length, at = decode_varint(body, at)
                end = at + length
                at += 1
            # Behind the byte of attributes stands the timestamp delta, which nobody asks for.
            while body[at] >= 0x80:
                at += 1
            delta = body[at + 1]
            if delta < 0x80:
                add_delta((delta >> 1) ^ -(delta & 1))
                at += 2
            elif (high := body[at + 2]) < 0x80:
                delta += (high << 7) - 0x80
                add_delta((delta >> 1) ^ -(delta & 1))
                at += 3
            else:
                delta, at = decode_varint(body, at + 1)
                add_delta(delta)
            length = body[at]
            if length < 0x80 and not length & 1:
                key_at = at + 1
                at = key_at + (length >> 1)
                add_key(body[key_at:at])
            else:
                length, at = decode_varint(body, at)
                if length < 0:
                    add_key(None)
                else:
                    key_at = at
                    at += length
                    add_key(body[key_at:at])
            length = body[at]
            if length == 1 or (length & 0x81 == 0x81 and decode_varint(body, at)[0] < 0):
                tombstones.append(index)
            if at >= end:
                raise InvalidRecord(f"record {index} claims to end at byte {end}, its key ends at {at}")
            add_end(end)
            at = end
    except (VarintError, IndexError) as error:
        raise InvalidRecord(f"a record ends too early: {error}") from error
    if at != len(body):
        raise InvalidRecord(f"{len(body) - at} bytes follow the last of {record_count} records")
    return RecordColumns(keys, deltas, ends, tombstones)
