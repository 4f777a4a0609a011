"""Recovery of a segment: checks its batches one by one, truncates it at a damaged one, rebuilds its indexes.

Source: `LogSegment.recover`.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from broker_core.config_defs import INT_MAX
from broker_core.log.files.storage_fault import StorageFault
from broker_core.log.index.offset_index import OffsetIndex
from broker_core.log.index.time_index import TimeIndex
from broker_core.log.recovery.slices import Slices, Work
from broker_core.log.segment import LogSegment
from broker_core.log.segment_facts import BatchFact
from broker_core.records.compression import UnreadableRecords
from broker_core.records.record_batch import (
    HEADER_BYTES,
    MAGIC_POSITION,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptRecord,
    InvalidRecord,
    ensure_valid,
    iterate_batches,
    iterate_records,
    parse_header,
    smallest_length,
)
from broker_core.sim.disk import CutFact
from broker_core.texts import Text, text

_CHUNK_BYTES = 1024 * 1024


_MIN_LENGTH_FIELD = 14
"""The minimum size of a batch of any version (`LegacyRecord.RECORD_OVERHEAD_V0`)."""


class RecoveredSegment(NamedTuple):
    """The bytes cut off the `.log`, and the rule that the first invalid batch broke ("" if there is none)."""

    cuts: tuple[CutFact, ...]
    rule: Text | str


class InvalidOffset(Exception):
    """The batches of a segment are complete, but their offsets do not increase, so they cannot be indexed.

    Kafka throws `InvalidOffsetException`.
    """

    def __init__(self, position: int, offset: int, last_offset: int) -> None:
        self.rule = text("fault.index_order", offset=offset, last=last_offset)
        super().__init__(self.rule)
        self.position = position


class OffsetOverflow(Exception):
    """A batch's offset is too far from the segment's base for its indexes (`LogSegmentOffsetOverflowException`)."""

    def __init__(self, segment: LogSegment, position: int, offset: int) -> None:
        self.rule = text("fault.offset_overflow", offset=offset, segment=segment.base_offset)
        super().__init__(self.rule)
        self.segment = segment
        self.position = position


def split_ranges(overflow: OffsetOverflow) -> list[tuple[int, int, int]]:
    """(base offset, first position, position after) of each segment into which one is split so that all offsets are in
    range (`LocalLog.splitOverflowedSegment`).

    Raises StorageFault if a split does not help, because the last batch is in range or a batch fits nowhere. Kafka does
    not start in that case.
    """
    segment = overflow.segment
    headers = list(segment.headers())
    last_offset = headers[-1][1].last_offset
    if last_offset < segment.base_offset or last_offset - segment.base_offset <= INT_MAX:
        raise StorageFault(segment.log.path, overflow.rule, overflow.position, is_io_error=False)
    starts = [headers[0]]
    for position, header in headers:
        if header.last_offset < header.base_offset:
            rule = text("fault.last_offset", last=header.last_offset, first=header.base_offset)
            raise StorageFault(segment.log.path, rule, position, is_io_error=False)
        if not 0 <= header.last_offset - starts[-1][1].base_offset <= INT_MAX:
            starts.append((position, header))
    ends = [position for position, _ in starts[1:]] + [segment.size]
    return [(header.base_offset, position, end) for (position, header), end in zip(starts, ends, strict=True)]


def facts_of(data: bytes) -> list[BatchFact]:
    """The batches of a new segment, as arguments of its `append`."""
    return [
        BatchFact(
            header.base_offset,
            header.last_offset,
            header.partition_leader_epoch,
            position,
            header.size,
            header.max_timestamp,
        )
        for position, header in iterate_batches(data)
    ]


def recover(segment: LogSegment, on_batch: Callable[[BatchHeader, int], None], work: Work) -> Slices[RecoveredSegment]:
    """Passes each valid batch with its position to `on_batch`, and truncates the `.log` at the first invalid one.

    A batch is indexed if it begins more than index.interval.bytes after the last indexed one, so that an index may
    differ from the lost one. Raises InvalidOffset if the offsets of indexed batches do not increase, OffsetOverflow for
    a batch whose offset is out of the segment's range, and StorageFault if more batches than before have to be indexed
    than the index has capacity for, in which case Kafka does not start.
    """
    segment.offset_index.clear()
    segment.time_index.clear()
    segment.transaction_index.clear()
    segment.offset_index.allocate()
    segment.time_index.allocate()
    segment.max_timestamp, segment.offset_of_max_timestamp = NO_TIMESTAMP, segment.base_offset
    segment.load_max_timestamp()
    valid_bytes = last_index_entry = 0
    rule: Text | str = ""
    try:
        for position, header in _valid_batches(segment):
            if header.max_timestamp > segment.max_timestamp:
                segment.max_timestamp, segment.offset_of_max_timestamp = header.max_timestamp, header.last_offset
            if position - last_index_entry > segment.config.index_interval_bytes:
                index = segment.offset_index
                _ensure_capacity(index, position)
                offset = header.last_offset
                if segment.config.behaviour.index_rule == "append start":
                    offset = _first_offset(segment, position, header)
                if index.entries and offset <= index.last_offset:
                    raise InvalidOffset(position, offset, index.last_offset)
                index.append(offset, position)
                _index_largest_timestamp(segment, position, is_final=False)
                last_index_entry = position
            valid_bytes = position + header.size
            on_batch(header, position)
            if work.add(header.size):
                yield
    except CorruptRecord as fault:
        rule = fault.rule
    cuts = segment.cut_log(valid_bytes) if valid_bytes < segment.size else ()
    segment.offset_index.trim()
    _index_largest_timestamp(segment, valid_bytes, is_final=True)
    segment.time_index.trim()
    return RecoveredSegment(cuts, rule)


def _first_offset(segment: LogSegment, position: int, header: BatchHeader) -> int:
    """The offset of a batch's first record; decompresses a compressed message. Raises StorageFault."""
    if header.record_count >= 0:
        return header.base_offset
    try:
        for record in iterate_records(segment.log.read(position, header.size), header):
            return record.offset
    except (InvalidRecord, UnreadableRecords) as unreadable:
        raise StorageFault(segment.log.path, unreadable.rule, position, is_io_error=False) from None
    return header.base_offset


def _index_largest_timestamp(segment: LogSegment, position: int, is_final: bool) -> None:
    index = segment.time_index
    if not is_final and isinstance(index, TimeIndex):
        _ensure_capacity(index, position)
    _, last_offset = index.last_entry
    if index.entries and segment.offset_of_max_timestamp < last_offset:
        raise InvalidOffset(position, segment.offset_of_max_timestamp, last_offset)
    index.maybe_append(segment.max_timestamp, segment.offset_of_max_timestamp, is_final)


def _ensure_capacity(index: OffsetIndex | TimeIndex, position: int) -> None:
    if index.is_full:
        rule = text("fault.index_full", entries=index.entries, position=position)
        raise StorageFault(index.file.path, rule, is_io_error=False)


def _valid_batches(segment: LogSegment) -> Iterator[tuple[int, BatchHeader]]:
    """Yields all batches from the start. Raises CorruptRecord at the first that is incomplete or has a wrong CRC,
    OffsetOverflow at one whose offset does not fit this segment's indexes.
    """
    position = 0
    buffer = b""
    buffer_start = 0
    while position < segment.size:
        left = segment.size - position
        at = position - buffer_start
        if at + HEADER_BYTES > len(buffer):
            buffer, buffer_start, at = segment.log.read(position, min(left, _CHUNK_BYTES)), position, 0
        header = parse_header(buffer, at)
        smallest = smallest_length(header.magic)
        if header.length < smallest:
            raise CorruptRecord(text("fault.batch_length", length=header.length, min=smallest))
        if header.size > left:
            raise CorruptRecord(text("fault.batch_cut_off", size=header.size, left=left))
        if at + header.size > len(buffer):
            size = min(left, max(_CHUNK_BYTES, header.size))
            buffer, buffer_start, at = segment.log.read(position, size), position, 0
        ensure_valid(buffer, header, at)
        if not 0 <= header.last_offset - segment.base_offset <= INT_MAX:
            raise OffsetOverflow(segment, position, header.last_offset)
        yield position, header
        position += header.size


def check_end(segment: LogSegment, position: int) -> None:
    """Checks the end of a trusted segment: an incomplete batch at `position` is accepted, other bytes are not.

    Raises StorageFault for them: Kafka does not start.
    """
    if segment.size - position > MAGIC_POSITION:
        length = int.from_bytes(segment.log.read(position + 8, 4), "big", signed=True)
        if length < _MIN_LENGTH_FIELD:
            rule = text("fault.batch_length", length=length, min=_MIN_LENGTH_FIELD)
            raise StorageFault(segment.log.path, rule, position, is_io_error=False)


def check_readable(segment: LogSegment, offset: int, to_end: bool = False) -> None:
    """Reads from the indexed position up to the batch that holds `offset`, or `to_end`. Raises StorageFault."""
    after = segment.offset_index.lookup(offset)
    for position, header in segment.headers(after):
        if header.last_offset >= offset and not to_end:
            return
        after = position + header.size
    check_end(segment, after)
