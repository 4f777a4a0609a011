"""Dumps the indexes of a segment, and checks each entry against the log (`dumpIndex`, `dumpTimeIndex`)."""

import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from broker_core.config_defs import INT_MAX
from broker_core.log.dump.batches import FileRecordBatch, FileRecords
from broker_core.log.dump.files import BufferedFile, Files, ReadableFile, open_index, open_log
from broker_core.log.dump.findings import Findings
from broker_core.log.dump.java import Thrown, int64, parse_long
from broker_core.log.dump.log_file import records_of
from broker_core.records.record_batch import NO_TIMESTAMP

OFFSET_INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_CORRUPT_INDEX = "org.apache.kafka.storage.internals.log.CorruptIndexException"
_WINDOW_BYTES = 64 * 1024
_WARM_BYTES = 8192
_BATCHES_PER_MARK = 16


class IndexChecks(NamedTuple):
    """The options for checking indexes."""

    sanity_only: bool
    verify_only: bool
    max_message_size: int
    findings: Findings
    first_offsets: bool = False
    """Whether entries of a `.index` hold first offsets, as those of brokers before 2.0 do."""


class _Entries:
    """The entries of an index file: (first column, second column)."""

    def __init__(self, file: ReadableFile, entry: struct.Struct) -> None:
        self._window = BufferedFile(file, _WINDOW_BYTES)
        self._entry = entry
        self.count = file.size // entry.size

    def __getitem__(self, number: int) -> tuple[int, int]:
        first, second = self._entry.unpack(self._window.read_exactly(number * self._entry.size, self._entry.size))
        return first, second

    def floor(self, relative_offset: int) -> int | None:
        """The slot of an entry as found by `AbstractIndex.indexSlotRangeFor`, which assumes that the file is sorted."""
        if not self.count:
            return None
        first_warm = max(0, self.count - 1 - _WARM_BYTES // self._entry.size)
        if self[first_warm][0] < relative_offset:
            low, high = first_warm, self.count - 1
        elif self[0][0] > relative_offset:
            return None
        else:
            low, high = 0, first_warm
        while low < high:
            middle = (low + high + 1) // 2
            found = self[middle][0]
            if found == relative_offset:
                return middle
            if found > relative_offset:
                high = middle - 1
            else:
                low = middle
        return low


def dump_offset_index(files: Files, path: str, checks: IndexChecks) -> Iterator[str]:
    """The text of a `.index`. Raises Thrown where the tool dies."""
    base_offset = parse_long(_stem(path))
    log_path = _beside(files, path, ".log")
    log = open_log(files, log_path)
    try:
        index = open_index(files, path)
        try:
            entries = _Entries(index, _OFFSET_ENTRY)
            if not entries.count:
                yield f"{path} is empty.\n"
            elif checks.sanity_only:
                _check_offset_index(files.absolute(path), index.size, entries, base_offset)
                yield f"{path} passed sanity check.\n"
            else:
                records = FileRecords(log, log_path, BufferedFile(log, _WINDOW_BYTES))
                yield from _offset_entries(path, files.absolute(path), entries, base_offset, records, checks)
        except Thrown as thrown:
            raise thrown.at(path) from None
        finally:
            index.close()
    finally:
        log.close()


def _offset_entries(
    path: str, absolute: str, entries: _Entries, base_offset: int, records: FileRecords, checks: IndexChecks
) -> Iterator[str]:
    for number in range(entries.count):
        relative_offset, position = entries[number]
        # After a crash there may be zeros after the entries.
        if relative_offset == 0 and number > 0:
            return
        offset = int64(base_offset + relative_offset)
        try:
            batch = next(records.slice(position, checks.max_message_size).batches(), None)
            if batch is None:
                rule = f"a batch of up to {checks.max_message_size} bytes begins at position {position}, none is there"
                raise Thrown("java.util.NoSuchElementException", None, rule)
            found = next(records_of(batch)).offset if checks.first_offsets else batch.last_offset
        except Thrown as thrown:
            thrown.rule = f"the entry says offset {offset} is at position {position} of the log: {thrown.rule}"
            thrown.file, thrown.position = path, number * _OFFSET_ENTRY.size
            raise
        if found != offset:
            checks.findings.index_mismatches.add(absolute, offset, found)
        if not checks.verify_only:
            yield f"offset: {offset} position: {position}\n"


def dump_time_index(files: Files, path: str, checks: IndexChecks) -> Iterator[str]:
    """The text of a `.timeindex`. Raises Thrown where the tool dies."""
    base_offset = parse_long(_stem(path))
    log_path, index_path = _beside(files, path, ".log"), _beside(files, path, OFFSET_INDEX_SUFFIX)
    opened: list[ReadableFile] = []
    try:
        opened.append(open_log(files, log_path))
        opened.append(open_index(files, index_path))
        opened.append(open_index(files, path))
        log, index, time_index = opened
        entries = _Entries(time_index, _TIME_ENTRY)
        if checks.sanity_only:
            _check_time_index(files.absolute(path), time_index.size, entries, base_offset)
            yield f"{path} passed sanity check.\n"
            return
        finder = _BatchFinder(
            FileRecords(log, log_path, BufferedFile(log, _WINDOW_BYTES)), _Entries(index, _OFFSET_ENTRY), base_offset
        )
        yield from _time_entries(path, files.absolute(path), entries, base_offset, finder, checks)
    except Thrown as thrown:
        raise thrown.at(path) from None
    finally:
        for file in opened:
            file.close()


def _time_entries(
    path: str, absolute: str, entries: _Entries, base_offset: int, finder: "_BatchFinder", checks: IndexChecks
) -> Iterator[str]:
    findings = checks.findings
    previous = NO_TIMESTAMP
    for number in range(entries.count):
        timestamp, relative_offset = entries[number]
        if relative_offset == 0 and number > 0:
            return
        offset = int64(base_offset + relative_offset)
        try:
            found = finder.find(offset)
            if found is None or found.last_offset != offset:
                findings.offsets_not_found.add(absolute, offset, -1 if found is None else found.last_offset)
            else:
                logged = finder.max_timestamp(found)
                if logged != timestamp:
                    findings.timestamp_mismatches.add(absolute, timestamp, logged)
                if previous >= timestamp:
                    findings.timestamps_out_of_order.add(absolute, timestamp, previous)
        except Thrown as thrown:
            thrown.rule = f"the entry says timestamp {timestamp} is at offset {offset}: {thrown.rule}"
            thrown.file, thrown.position = path, number * _TIME_ENTRY.size
            raise
        if not checks.verify_only:
            yield f"timestamp: {timestamp} offset: {offset}\n"
        previous = timestamp


class _BatchFinder:
    """Finds batches by offset, starting at the position from the offset index.

    Entries of a time index increase, so that scans would read the same batches again and again. Each scan caches the
    highest last offset before a position.
    """

    def __init__(self, records: FileRecords, index: _Entries, base_offset: int) -> None:
        self._records = records
        self._index = index
        self._base_offset = base_offset
        self._start = -1
        self._mark_offsets = array("q")
        self._mark_positions = array("q")
        self._last: tuple[int, int] | None = None

    def find(self, offset: int) -> FileRecordBatch | None:
        """The first batch whose last offset is at or above `offset`. Raises Thrown."""
        number = self._index.floor(offset - self._base_offset)
        start = 0 if number is None else self._index[number][1]
        if start != self._start:
            # The slice raises the error for an invalid position.
            self._records.slice(start, INT_MAX)
            self._start, self._mark_offsets, self._mark_positions = start, array("q"), array("q")
        mark = bisect_left(self._mark_offsets, offset)
        position = self._mark_positions[mark - 1] if mark else start
        highest = self._mark_offsets[mark - 1] if mark else -(1 << 63)
        knows_more = mark < len(self._mark_offsets)
        for count, batch in enumerate(self._records.slice(position, INT_MAX).batches(), 1):
            if batch.last_offset >= offset:
                return batch
            highest = max(highest, batch.last_offset)
            if not knows_more and count % _BATCHES_PER_MARK == 0:
                self._mark_offsets.append(highest)
                self._mark_positions.append(batch.position + batch.size)
        return None

    def max_timestamp(self, batch: FileRecordBatch) -> int:
        """The greatest timestamp of its records, -1 without any. Raises Thrown."""
        if self._last is None or self._last[0] != batch.position:
            self._last = batch.position, max((record.timestamp for record in records_of(batch)), default=NO_TIMESTAMP)
            self._last = batch.position, max(self._last[1], NO_TIMESTAMP)
        return self._last[1]


def _check_offset_index(path: str, size: int, entries: _Entries, base_offset: int) -> None:
    """`OffsetIndex.sanityCheck`."""
    last_offset = int64(base_offset + entries[entries.count - 1][0])
    if last_offset < base_offset:
        raise Thrown(
            _CORRUPT_INDEX,
            f"Corrupt index found, index file {path} has non-zero size but the last offset is {last_offset} which is "
            f"less than the base offset {base_offset}",
            f"offsets are at or above the base offset {base_offset}, the last one is {last_offset}",
        ).at(path, (entries.count - 1) * _OFFSET_ENTRY.size)
    _check_length("Index", path, size, _OFFSET_ENTRY.size)


def _check_time_index(path: str, size: int, entries: _Entries, base_offset: int) -> None:
    """`TimeIndex.sanityCheck`."""
    if entries.count:
        last_timestamp, relative_offset = entries[entries.count - 1]
        first_timestamp = entries[0][0]
        found = f"Corrupt time index found, time index file ({path}) has non-zero size but the last"
        position = (entries.count - 1) * _TIME_ENTRY.size
        if last_timestamp < first_timestamp:
            message = f"{found} timestamp is {last_timestamp} which is less than the first timestamp {first_timestamp}"
            rule = f"timestamps rise, the last one, {last_timestamp}, is below the first one, {first_timestamp}"
            raise Thrown(_CORRUPT_INDEX, message, rule).at(path, position)
        last_offset = int64(base_offset + relative_offset)
        if last_offset < base_offset:
            message = f"{found} offset is {last_offset} which is less than the first offset {base_offset}"
            rule = f"offsets are at or above the base offset {base_offset}, the last one is {last_offset}"
            raise Thrown(_CORRUPT_INDEX, message, rule).at(path, position)
    _check_length("Time index", path, size, _TIME_ENTRY.size)


def _check_length(kind: str, path: str, size: int, entry_bytes: int) -> None:
    if size % entry_bytes:
        raise Thrown(
            _CORRUPT_INDEX,
            f"{kind} file {path} is corrupt, found {size} bytes which is neither positive nor a multiple of "
            f"{entry_bytes}",
            f"the file has whole entries of {entry_bytes} bytes, {size} is no multiple of that",
        ).at(path, size - size % entry_bytes)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _beside(files: Files, path: str, suffix: str) -> str:
    folder = files.absolute(path).rpartition("/")[0]
    return f"{folder}/{_stem(path)}{suffix}"
