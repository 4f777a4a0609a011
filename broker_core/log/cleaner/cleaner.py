"""One pass of compaction over one log (`Cleaner.doClean`; KIP-58, KIP-354, KIP-534).

First the dirty section is read to find the last offset of each key. Then all closed segments from the log's start are
rewritten, small ones merged into one, without the records that are not the last of their key, and replace the old ones.
Offsets never change.
"""

import struct
from collections.abc import Iterator

from broker_core.config_defs import INT_MAX
from broker_core.errors import KafkaException
from broker_core.log.cleaner.batch_cleaner import BatchCleaner
from broker_core.log.cleaner.cleanable import LogToClean, segments_between
from broker_core.log.cleaner.facts import CleaningFacts, GroupFact, Uncleanable
from broker_core.log.cleaner.offset_map import OffsetMap
from broker_core.log.cleaner.transactions import CleanedTransactions
from broker_core.log.config import LogConfig
from broker_core.log.index.offset_index import ENTRY_BYTES as OFFSET_ENTRY_BYTES
from broker_core.log.index.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from broker_core.log.index.transaction_index import AbortedTransaction
from broker_core.log.segment import LogSegment
from broker_core.log.segment_facts import BatchFact
from broker_core.log.unified_log import UnifiedLog
from broker_core.records.compression import UnreadableRecords
from broker_core.records.legacy import read_message
from broker_core.records.record_batch import (
    MAGIC_V2,
    MAX_TIMESTAMP_POSITION,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptRecord,
    InvalidRecord,
    iterate_batches,
    parse_header,
    records_bytes,
    smallest_length,
)
from broker_core.records.record_columns import read_columns
from broker_core.sim.disk import CutFact
from broker_core.texts import Text, text

_CHUNK_BYTES = 256 * 1024
_MAX_TIMESTAMP = struct.Struct(">q")


def clean(cleanable: LogToClean, now_ms: int, offset_map: OffsetMap) -> CleaningFacts:
    """Cleans a log with an empty `offset_map`; `now_ms` decides which delete horizons have passed, and sets new ones.

    Raises Uncleanable for a log that cannot be read. Segments replaced before that are kept; they are consistent.
    """
    try:
        return _clean(cleanable, now_ms, offset_map)
    except KafkaException as error:
        raise Uncleanable(error.what or error.error.name) from error
    except (InvalidRecord, UnreadableRecords, CorruptRecord) as error:
        raise Uncleanable(error.rule) from error


def fill_offset_map(log: UnifiedLog, start: int, end: int, offset_map: OffsetMap) -> None:
    """Reads the keys of the segments from the one that holds `start` up to `end`, until the map is full."""
    transactions = CleanedTransactions()
    transactions.add_aborted(aborted_transactions(log, start, end))
    offset_map.advance(start - 1)
    dirty = segments_between(log, start, end)
    ends = [*(segment.base_offset for segment in dirty[1:]), end]
    for segment, segment_end in zip(dirty, ends, strict=False):
        for data, position, header in batches_of(segment, segment.offset_index.lookup(start)):
            if header.is_control:
                transactions.is_empty_marker(header, data, position)
            elif not transactions.is_aborted(header) and header.record_count:
                keys, offsets = _keys_and_offsets(data, position, header)
                if not offset_map.put_all(keys, offsets, start):
                    return
            if header.last_offset >= start:
                offset_map.advance(header.last_offset)
        offset_map.advance(segment_end - 1)


def _keys_and_offsets(data: bytes, position: int, header: BatchHeader) -> tuple[list[bytes | None], list[int]]:
    if header.magic < MAGIC_V2:
        messages = read_message(data, position).records()
        return [message.key for message in messages], [message.offset for message in messages]
    columns = read_columns(records_bytes(data, header, position), header.record_count)
    base_offset = header.base_offset
    return columns.keys, [base_offset + delta for delta in columns.offset_deltas]


def aborted_transactions(log: UnifiedLog, start: int, end: int) -> list[AbortedTransaction]:
    """The aborted transactions of the segments from the one that holds `start`, below `end` and aborted above the log's
    start (`collectAbortedTransactions`).
    """
    found = []
    for segment in segments_between(log, start, log.log_end_offset + 1):
        overlapping, is_complete = segment.transaction_index.collect(log.log_start_offset, end)
        found += overlapping
        if is_complete:
            break
    return found


def group_segments(
    segments: list[LogSegment], config: LogConfig, first_uncleanable_offset: int
) -> list[list[LogSegment]]:
    """Neighbours that become one segment: together they fit into segment.bytes and segment.index.bytes, and their
    offsets into 31 bits (`groupSegmentsBySize`).
    """
    groups: list[list[LogSegment]] = []
    ends = [*(segment.base_offset for segment in segments[1:]), first_uncleanable_offset]
    for segment, end in zip(segments, ends, strict=False):
        group = groups[-1] if groups else []
        if (
            group
            and sum(member.size for member in group) + segment.size <= config.segment_bytes
            and _index_bytes([*group, segment]) <= config.segment_index_bytes
            and _time_index_bytes([*group, segment]) <= config.segment_index_bytes
            and (segment.size == 0 or end - 1 - group[0].base_offset <= INT_MAX)
        ):
            group.append(segment)
        else:
            groups.append([segment])
    return groups


def batches_of(segment: LogSegment, position: int = 0) -> Iterator[tuple[bytes, int, BatchHeader]]:
    """The batches of a segment from a position on: the bytes that hold each, its position in them, its header.

    Messages of magic 0 and 1 count as batches. Raises Uncleanable if the segment holds an incomplete one.
    """
    while position < segment.size:
        data = segment.log.read(position, min(_CHUNK_BYTES, segment.size - position))
        try:
            first = parse_header(data)
        except CorruptRecord:
            raise _unreadable(segment, position, text("fault.last_batch_incomplete")) from None
        if first.magic > MAGIC_V2:
            raise _unreadable(segment, position, text("fault.magic", magic=first.magic, max=MAGIC_V2))
        if first.length < smallest_length(first.magic) or position + first.size > segment.size:
            raise _unreadable(segment, position, text("fault.batch_size", size=first.size))
        if first.size > len(data):
            data = segment.log.read(position, first.size)
        consumed = 0
        for at, header in iterate_batches(data):
            if header.magic > MAGIC_V2:
                break
            yield data, at, header
            consumed = at + header.size
        position += consumed


def _unreadable(segment: LogSegment, position: int, rule: Text) -> Uncleanable:
    return Uncleanable(text("fault.at_byte", file=segment.log.path, position=position, rule=rule))


def _index_bytes(segments: list[LogSegment]) -> int:
    return sum(segment.offset_index.entries for segment in segments) * OFFSET_ENTRY_BYTES


def _time_index_bytes(segments: list[LogSegment]) -> int:
    return sum(segment.time_index.entries for segment in segments) * TIME_ENTRY_BYTES


def _clean(cleanable: LogToClean, now_ms: int, offset_map: OffsetMap) -> CleaningFacts:
    log = cleanable.log
    fill_offset_map(log, cleanable.first_dirty_offset, cleanable.first_uncleanable_offset, offset_map)
    end_offset = offset_map.latest_offset + 1
    cleaner = BatchCleaner(offset_map, log.producer_state, now_ms, log.config.delete_retention_ms)
    legacy_horizon_ms = _legacy_delete_horizon_ms(log, cleanable.first_dirty_offset)
    groups: list[GroupFact] = []
    cuts: tuple[CutFact, ...] = ()
    bytes_after = 0
    segments = segments_between(log, 0, end_offset)
    for group in group_segments(segments, log.config, cleanable.first_uncleanable_offset):
        sources = tuple((segment.base_offset, segment.size) for segment in group)
        cleaned = _clean_group(log, group, cleaner, now_ms, legacy_horizon_ms)
        cuts += tuple(cut for segment in group for cut in _whole_files(segment))
        log.replace_segments(cleaned, group)
        groups.append(GroupFact(cleaned.base_offset, sources))
        bytes_after += cleaned.size
    return CleaningFacts(
        from_offset=cleanable.first_dirty_offset,
        to_offset=end_offset,
        groups=tuple(groups),
        bytes_before=sum(size for group in groups for _, size in group.sources),
        bytes_after=bytes_after,
        keys=len(offset_map.offsets),
        counts=cleaner.counts(),
        empty_batches=cleaner.empty_batches,
        delete_horizon_ms=cleaner.delete_horizon_ms if cleaner.has_set_horizon else NO_TIMESTAMP,
        fates=cleaner.fates(),
        cuts=cuts,
    )


def _whole_files(segment: LogSegment) -> list[CutFact]:
    """The contents of a segment's files, for the archive."""
    return [CutFact(file.path, 0, file.size, file.keep(0, file.size)) for file in segment.files if file.size]


def _legacy_delete_horizon_ms(log: UnifiedLog, first_dirty_offset: int) -> int:
    """Tombstones of magic 0 and 1 have no delete horizon: they are removed from segments last written
    delete.retention.ms before the newest segment that was already clean.
    """
    clean_segments = segments_between(log, 0, first_dirty_offset)
    return clean_segments[-1].log.modified_ms - log.config.delete_retention_ms if clean_segments else 0


def _clean_group(
    log: UnifiedLog, group: list[LogSegment], cleaner: BatchCleaner, now_ms: int, legacy_horizon_ms: int
) -> LogSegment:
    """Writes the kept records of adjacent segments to one new segment (`cleanSegments`) and flushes it."""
    cleaned = log.new_cleaned_segment(group[0].base_offset, now_ms)
    try:
        ends = [*(segment.base_offset for segment in group[1:]), group[-1].next_offset()]
        for segment, end in zip(group, ends, strict=True):
            cleaner.transactions.add_aborted(aborted_transactions(log, segment.base_offset, end))
            cleaner.keeps_legacy_tombstones = segment.log.modified_ms > legacy_horizon_ms
            _clean_into(cleaned, segment, cleaner)
        for transaction in cleaner.transactions.take_still_aborted():
            cleaned.transaction_index.append(transaction)
    except (Uncleanable, InvalidRecord, UnreadableRecords, CorruptRecord, KafkaException):
        cleaned.delete()
        raise
    cleaned.become_inactive()
    cleaned.flush()
    cleaned.log.modified_ms = group[-1].log.modified_ms
    return cleaned


def _clean_into(cleaned: LogSegment, source: LogSegment, cleaner: BatchCleaner) -> None:
    parts: list[bytes] = []
    facts: list[BatchFact] = []
    position = cleaned.size
    for data, at, header in batches_of(source):
        part = cleaner.clean(data, at, header)
        if part is None:
            continue
        if header.magic < MAGIC_V2:
            header = parse_header(part)
            max_timestamp = header.max_timestamp
        else:
            (max_timestamp,) = _MAX_TIMESTAMP.unpack_from(part, MAX_TIMESTAMP_POSITION)
        epoch = header.partition_leader_epoch
        facts.append(BatchFact(header.base_offset, header.last_offset, epoch, position, len(part), max_timestamp))
        parts.append(part)
        position += len(part)
        if position - cleaned.size >= _CHUNK_BYTES:
            cleaned.append((b"".join(parts),), facts)
            parts, facts = [], []
    if parts:
        cleaned.append((b"".join(parts),), facts)
