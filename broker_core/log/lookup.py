"""How a log finds an offset or a timestamp, step by step: floor segment, binary search in the index, scan.

The steps are those of `UnifiedLog.read`, `UnifiedLog.fetchOffsetByTimestamp`, `AbstractIndex.indexSlotRangeFor` and
`FileRecords.searchForOffsetWithSize`, derived from the bytes of the files alone: for display, not for serving a fetch.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from struct import Struct

import msgspec
from msgspec.structs import replace

from broker_core.log.index.offset_index import ENTRY_BYTES as OFFSET_ENTRY_BYTES
from broker_core.log.index.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from broker_core.records.compression import UnreadableRecords
from broker_core.records.record_batch import (
    HEADER_BYTES,
    MAGIC_V2,
    BatchHeader,
    CorruptRecord,
    InvalidRecord,
    Record,
    iterate_records,
    parse_header,
    smallest_length,
)

MAX_SCANNED = 500
_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")
_WARM_BYTES = 8192
"""The warm section at the end of an index, which is searched first (KAFKA-6432)."""

ReadFile = Callable[[int, str, int, int], bytes]
"""(base offset, suffix of the file such as "index", position, length) -> bytes"""


class SegmentSizes(msgspec.Struct, frozen=True, gc=False):
    """A segment: sizes of its `.log` in bytes, of its indexes in entries."""

    base_offset: int
    log_bytes: int
    index_entries: int
    time_index_entries: int


class Probe(msgspec.Struct, frozen=True, gc=False):
    """One step of a binary search of slots `low` to `high`. `order` is -1 if the entry is below the target, 0 if equal,
    1 if above; then `low` and `high` become `next_low` and `next_high`.
    """

    low: int
    high: int
    slot: int
    key: int
    value: int
    order: int
    next_low: int
    next_high: int


class IndexSearch(msgspec.Struct, frozen=True, gc=False):
    """A binary search. `warm_from`: first slot of the warm section; `in_warm`: whether the target was there.
    `slot` is the entry found, -1 where all are above; `key` and `value` are its two columns, offsets absolute.
    """

    file: str
    entries: int
    warm_from: int
    in_warm: bool
    probes: list[Probe]
    slot: int
    key: int
    value: int


class ScannedBatch(msgspec.Struct, frozen=True, gc=False):
    """A batch whose header the scan has read. The header of a compressed message of magic 0 or 1 has the last offset
    only; `base_offset` is its first one if it is the target and has been read.
    """

    position: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    is_it: bool


class Lookup(msgspec.Struct, frozen=True, gc=False):
    """All steps. `segments` are the candidates, `floor` the base offset of the chosen one, -1 without one. `skipped`:
    records of the found batch before the requested one; the consumer discards them. `found` is the record's offset, -1
    if there is none; `cut_short` says that the scan was aborted.
    """

    offset: int
    timestamp: int
    segments: list[int]
    floor: int = -1
    time_search: IndexSearch | None = None
    search: IndexSearch | None = None
    scanned: list[ScannedBatch] = []
    found: int = -1
    found_timestamp: int = -1
    skipped: int = 0
    cut_short: bool = False


def look_up_offset(segments: Sequence[SegmentSizes], read: ReadFile, offset: int) -> Lookup:
    """The steps that find the batch with `offset`. `segments` are in order of their base offsets."""
    bases = [segment.base_offset for segment in segments]
    floor = bisect_right(bases, offset) - 1
    steps = Lookup(offset, -1, bases)
    # If the floor segment ends before the offset, the search continues in the next one.
    for segment in segments[floor:] if floor >= 0 else ():
        search = _search_offsets(segment, read, offset)
        scanned, cut_short = _scan(segment, read, search.value, lambda header: header.last_offset >= offset)
        steps = Lookup(
            offset,
            -1,
            bases,
            floor=segment.base_offset,
            search=search,
            scanned=scanned,
            cut_short=cut_short,
        )
        if scanned and scanned[-1].is_it:
            batch = _with_first_offset(segment, read, scanned[-1])
            found = max(offset, batch.base_offset)
            return replace(
                steps,
                scanned=[*scanned[:-1], batch],
                found=found,
                found_timestamp=batch.max_timestamp,
                skipped=found - batch.base_offset,
            )
        if cut_short:
            break
    return steps


def look_up_timestamp(
    segments: Sequence[SegmentSizes], read: ReadFile, timestamp: int, log_start_offset: int = 0
) -> Lookup:
    """The steps that find the first record with a timestamp at or above `timestamp` (ms)."""
    bases = [segment.base_offset for segment in segments]
    chosen = next((one for one in segments if _largest_timestamp(one, read) >= timestamp), None)
    if chosen is None:
        return Lookup(-1, timestamp, bases)
    time_search = _search_timestamps(chosen, read, timestamp)
    search = _search_offsets(chosen, read, max(time_search.value, log_start_offset))

    def is_it(header: BatchHeader) -> bool:
        return header.max_timestamp >= timestamp and header.last_offset >= log_start_offset

    scanned, cut_short = _scan(chosen, read, search.value, is_it)
    found, found_timestamp, skipped = -1, -1, 0
    if scanned and scanned[-1].is_it:
        found, found_timestamp, skipped = _first_record(chosen, read, scanned[-1], timestamp, log_start_offset)
    return Lookup(
        -1,
        timestamp,
        bases,
        chosen.base_offset,
        time_search,
        search,
        scanned,
        found,
        found_timestamp,
        skipped,
        cut_short,
    )


def _search_offsets(segment: SegmentSizes, read: ReadFile, offset: int) -> IndexSearch:
    base = segment.base_offset

    def entry(slot: int) -> tuple[int, int]:
        relative, position = _OFFSET_ENTRY.unpack(read(base, "index", slot * OFFSET_ENTRY_BYTES, OFFSET_ENTRY_BYTES))
        return base + relative, position

    return _binary_search("index", segment.index_entries, OFFSET_ENTRY_BYTES, entry, offset, (base, 0))


def _search_timestamps(segment: SegmentSizes, read: ReadFile, timestamp: int) -> IndexSearch:
    base = segment.base_offset

    def entry(slot: int) -> tuple[int, int]:
        found, relative = _TIME_ENTRY.unpack(read(base, "timeindex", slot * TIME_ENTRY_BYTES, TIME_ENTRY_BYTES))
        return found, base + relative

    return _binary_search("timeindex", segment.time_index_entries, TIME_ENTRY_BYTES, entry, timestamp, (-1, base))


def _binary_search(
    file: str,
    entries: int,
    entry_bytes: int,
    entry: Callable[[int], tuple[int, int]],
    target: int,
    without: tuple[int, int],
) -> IndexSearch:
    """The entry with the greatest key at or below `target` (`indexSlotRangeFor`); `without` if none is."""
    warm_from = max(0, entries - 1 - _WARM_BYTES // entry_bytes)
    if entries == 0:
        return IndexSearch(file, 0, 0, False, [], -1, *without)
    in_warm = entry(warm_from)[0] < target
    if not in_warm and entry(0)[0] > target:
        return IndexSearch(file, entries, warm_from, False, [], -1, *without)
    low, high = (warm_from, entries - 1) if in_warm else (0, warm_from)
    probes = []
    while low < high:
        slot = (low + high + 1) >> 1
        key, value = entry(slot)
        order = (key > target) - (key < target)
        after = (low, slot - 1) if order > 0 else (slot, high) if order < 0 else (slot, slot)
        probes.append(Probe(low, high, slot, key, value, order, *after))
        low, high = after
    return IndexSearch(file, entries, warm_from, in_warm, probes, low, *entry(low))


def _scan(
    segment: SegmentSizes, read: ReadFile, position: int, is_it: Callable[[BatchHeader], bool]
) -> tuple[list[ScannedBatch], bool]:
    """The batches from `position` up to the target, and whether there were too many."""
    scanned: list[ScannedBatch] = []
    while position < segment.log_bytes:
        length = min(HEADER_BYTES, segment.log_bytes - position)
        try:
            header = parse_header(read(segment.base_offset, "log", position, length))
        except CorruptRecord:
            break
        if header.magic > MAGIC_V2 or header.length < smallest_length(header.magic):
            break
        if len(scanned) == MAX_SCANNED:
            return scanned, True
        found = is_it(header)
        scanned.append(
            ScannedBatch(position, header.size, header.base_offset, header.last_offset, header.max_timestamp, found)
        )
        if found:
            break
        position += header.size
    return scanned, False


def _with_first_offset(segment: SegmentSizes, read: ReadFile, batch: ScannedBatch) -> ScannedBatch:
    records = _records(segment, read, batch) if batch.base_offset == batch.last_offset else []
    return replace(batch, base_offset=records[0].offset) if records else batch


def _records(segment: SegmentSizes, read: ReadFile, batch: ScannedBatch) -> list[Record]:
    """The records of a batch; none if they cannot be read."""
    data = read(segment.base_offset, "log", batch.position, batch.size)
    try:
        return list(iterate_records(data, parse_header(data)))
    except (InvalidRecord, CorruptRecord, UnreadableRecords):
        return []


def _largest_timestamp(segment: SegmentSizes, read: ReadFile) -> int:
    """The largest timestamp of a segment: of its last time index entry and the batches after it."""
    last = (-1, segment.base_offset)
    if segment.time_index_entries:
        at = (segment.time_index_entries - 1) * TIME_ENTRY_BYTES
        timestamp, relative = _TIME_ENTRY.unpack(read(segment.base_offset, "timeindex", at, TIME_ENTRY_BYTES))
        last = (timestamp, segment.base_offset + relative)
    start = _search_offsets(segment, read, last[1]).value
    scanned, _ = _scan(segment, read, start, lambda _: False)
    return max([last[0], *(batch.max_timestamp for batch in scanned)])


def _first_record(
    segment: SegmentSizes, read: ReadFile, batch: ScannedBatch, timestamp: int, start: int
) -> tuple[int, int, int]:
    """(offset, timestamp, records before it) of the first record of a batch that is late enough."""
    for skipped, record in enumerate(_records(segment, read, batch)):
        if record.timestamp >= timestamp and record.offset >= start:
            return record.offset, record.timestamp, skipped
    return -1, -1, 0
