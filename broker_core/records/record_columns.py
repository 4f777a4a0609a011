"""The keys and positions of a batch's records: all that the log cleaner needs of most batches.

Columns instead of records, because compaction reads every record of a log twice: values and headers are not parsed, and
only keys are copied.
"""

from typing import NamedTuple

from broker_core.records.faults import rule_of
from broker_core.records.record import InvalidRecord
from broker_core.records.record_runs import RECORDS_BETWEEN_LOOKS, SHORTEST_RUN, RecordRun, find_run
from broker_core.records.varint import VarintError, decode_varint
from broker_core.texts import text


class RecordColumns(NamedTuple):
    """One entry per record, in order."""

    keys: list[bytes | None]
    offset_deltas: list[int]
    ends: list[int]
    """The end position of each record, where the next one begins."""
    tombstones: list[int]
    """The indexes of the records with a null value."""


def read_columns(body: bytes, record_count: int) -> RecordColumns:
    """The columns of the decompressed records `body`. Raises InvalidRecord if lengths are inconsistent."""
    columns = RecordColumns([], [], [], [])
    at = index = 0
    try:
        while index < record_count:
            left = record_count - index
            run = find_run(body, at, left) if left >= SHORTEST_RUN else None
            if run is not None:
                _add_run(columns, run)
                at += run.record_count * run.size
                index += run.record_count
            else:
                some = min(left, RECORDS_BETWEEN_LOOKS)
                at = _add_records(columns, body, at, some)
                index += some
    except (VarintError, IndexError) as error:
        raise InvalidRecord(text("fault.record_ended", rule=rule_of(error))) from error
    if at != len(body):
        raise InvalidRecord(text("fault.bytes_left", n=len(body) - at, records=record_count))
    return columns


def _add_run(columns: RecordColumns, run: RecordRun) -> None:
    body, start, size, count = run.body, run.start, run.size, run.record_count
    if run.value_length < 0:
        columns.tombstones.extend(range(len(columns.keys), len(columns.keys) + count))
    if run.key_length < 0:
        columns.keys.extend([None] * count)
    else:
        first, length = start + run.key_at, run.key_length
        columns.keys.extend([body[at : at + length] for at in range(first, first + count * size, size)])
    columns.offset_deltas.extend(run.offset_deltas())
    columns.ends.extend(range(start + size, start + count * size + 1, size))


def _add_records(columns: RecordColumns, body: bytes, at: int, record_count: int) -> int:
    """Adds records one by one; returns the end position of the last one."""
    keys, deltas, ends, tombstones = columns
    add_key, add_delta, add_end = keys.append, deltas.append, ends.append
    for index in range(len(keys), len(keys) + record_count):
        # Integers of one or two bytes, which nearly all are, are decoded inline.
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
        # The timestamp delta follows the attributes byte; it is not needed.
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
            raise InvalidRecord(text("fault.record_key", record=index, end=end, key_end=at))
        add_end(end)
        at = end
    return at
