"""One segment of a log: a `.log` file and its two indexes (`LogSegment`).

The segment's name is its base offset, the offset that its first record has or would have. Offsets are looked up by the
sparse index and a scan of batch headers from there; the positions of the last appended batches are cached, because
followers read close to the end.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress

from broker_core.config_defs import INT_MAX, LONG_MAX
from broker_core.errors import KafkaException
from broker_core.log.batch_scan import scan_batches
from broker_core.log.config import LogConfig
from broker_core.log.files.deleted_files import DeletedFile, mark_deleted
from broker_core.log.index.index_capacity import ensure_capacity
from broker_core.log.index.lazy_file import LazyFile
from broker_core.log.index.offset_index import OffsetIndex
from broker_core.log.index.time_index import NoTimeIndex, TimeIndex
from broker_core.log.index.transaction_index import TransactionIndex
from broker_core.log.segment_facts import (
    NO_ENTRIES,
    SEGMENT_SUFFIXES,
    BatchFact,
    IndexEntries,
    TimestampAndOffset,
    roll_jitter_ms,
    segment_path,
)
from broker_core.records.legacy import MIN_SIZE
from broker_core.records.record import CorruptRecord
from broker_core.records.record_batch import (
    HEADER_BYTES,
    LENGTH_OVERHEAD,
    NO_TIMESTAMP,
    OFFSET_AND_LENGTH,
    BatchHeader,
    iterate_records,
    parse_header,
)
from broker_core.sim.disk import CutFact, Disk, File

_REMEMBERED_BATCHES = 1024


class LogSegment:
    """One segment. `size` is the number of bytes of batches, even if the file is preallocated."""

    def __init__(
        self, disk: Disk, directory: str, base_offset: int, config: LogConfig, now_ms: int, suffix: str = ""
    ) -> None:
        """Opens the `.log`, or creates it. Entries of existing indexes are not read: see `load` and `recover`.

        `suffix` is appended to the file names while the segment is not part of the log yet: ".cleaned", ".swap".
        """
        self.base_offset = base_offset
        self.config = config
        self.created_ms = now_ms
        self.roll_jitter_ms = roll_jitter_ms(directory, base_offset, config)
        log, index, time_index, transactions = (
            segment_path(directory, base_offset, kind + suffix) for kind in SEGMENT_SUFFIXES
        )
        self.log = disk.open(log)
        self.offset_index = OffsetIndex(disk, index, base_offset, config.segment_index_bytes)
        self.time_index: TimeIndex | NoTimeIndex = NoTimeIndex(base_offset)
        if config.behaviour.has_time_index:
            self.time_index = TimeIndex(disk, time_index, base_offset, config.segment_index_bytes)
        self.transaction_index = TransactionIndex(disk, transactions, base_offset)
        self.size = self.log.size
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        self._is_max_timestamp_known = True
        self.rolling_based_timestamp: int | None = None
        self._disk = disk
        self._refused_from: int | None = None
        self._bytes_since_last_index_entry = 0
        # The batches appended last: last offsets and positions, all with offsets at or above _tail_start_offset.
        self._tail_last_offsets = array("q")
        self._tail_positions = array("q")
        self._tail_start_offset = base_offset
        # (offset, position) of the end of the last read, where a reader that follows the log continues.
        self._read_end = (-1, 0)

    @property
    def files(self) -> tuple[File, ...]:
        """The segment's files; indexes are included once their files exist."""
        indexes = tuple(file.open() for file in self._lazy_files if file.exists)
        transactions = self.transaction_index.file
        return (self.log, *indexes) if transactions is None else (self.log, *indexes, transactions)

    @property
    def _lazy_files(self) -> tuple[LazyFile, ...]:
        if isinstance(self.time_index, TimeIndex):
            return self.offset_index.file, self.time_index.file
        return (self.offset_index.file,)

    @property
    def end(self) -> int:
        """The end of what readers see: below appends that were rejected after the write, until the next write."""
        return self.size if self._refused_from is None else self._refused_from

    def load(self) -> None:
        """Reads the entries of the indexes, which are trusted."""
        self.offset_index.load()
        self.time_index.load()
        self.max_timestamp, self.offset_of_max_timestamp = self.time_index.last_entry
        self._is_max_timestamp_known = self.config.behaviour.reads_max_timestamp_on_open

    def load_max_timestamp(self) -> int:
        """Returns the newest timestamp and caches it, even if its entry in the time index is truncated later."""
        self._is_max_timestamp_known = True
        return self.max_timestamp

    def preallocate(self) -> None:
        """Preallocates the `.log` of a new segment if the topic is configured so."""
        if self.config.preallocate:
            self.log.allocate(self.config.segment_bytes)

    def allocate_indexes(self) -> None:
        """Extends the index files for the entries of appends (`resizeIndexes`)."""
        self.offset_index.allocate()
        self.time_index.allocate()

    def should_roll(self, config: LogConfig, size: int, max_timestamp: int, last_offset: int, now_ms: int) -> bool:
        """Whether an append of `size` bytes up to `last_offset` must go to a new segment (`shouldRoll`).

        `config` is the log's at this instant, which may have changed since the segment was created.
        """
        if self.size > config.segment_bytes - size:
            return True
        if self.size > 0:
            first = self.rolling_based_timestamp
            if first is None:
                first = self._read_first_timestamp()
            waited_ms = max_timestamp - first if first >= 0 else now_ms - self.created_ms
            if waited_ms > config.max_segment_ms - self.roll_jitter_ms:
                return True
        # Reading an index creates its file, even if the append is then rejected.
        self.offset_index.use()
        if self.offset_index.is_full:
            return True
        self.time_index.use()
        if self.time_index.is_full:
            return True
        return not 0 <= last_offset - self.base_offset <= INT_MAX

    def append(
        self, parts: Sequence[bytes | memoryview], batches: Sequence[BatchFact], first_offset: int | None = None
    ) -> IndexEntries:
        """Writes `parts`, which together are `batches` that begin at `size`, and adds the index entries that are due.

        `first_offset` is the append's first offset if that is not the first batch's. Raises
        UNKNOWN_SERVER_ERROR if the indexes have no capacity for all batches that are due; then nothing was written. If
        a trusted index has entries past the log's end, it raises that after the write, as Kafka does.
        """
        position, config = self.size, self.config
        rule = config.behaviour.index_rule
        is_by_batch = rule == "batch"
        # A full index makes a log roll before a single batch; the cleaner's new segments do not roll.
        if is_by_batch and (len(batches) > 1 or self.offset_index.is_full or self.time_index.is_full):
            written = (self.max_timestamp, self._bytes_since_last_index_entry, config.index_interval_bytes)
            ensure_capacity(self.offset_index, self.time_index, written, batches)
        if position == 0:
            self._begin(batches)
        if self.log.size == position:
            self.log.append(*parts)
        else:
            self.log.write_at(position, b"".join(parts))
        self.size = position + sum(map(len, parts))
        self._is_max_timestamp_known = True
        last_offsets, positions = self._tail_last_offsets, self._tail_positions
        if not positions:
            # Batches appended by an earlier process, or kept by a truncation, are found through the index alone.
            self._tail_start_offset = batches[0].base_offset
        entries = NO_ENTRIES
        unindexed_bytes = self._bytes_since_last_index_entry
        is_append_due = not is_by_batch and unindexed_bytes > config.index_interval_bytes
        interval_bytes = config.index_interval_bytes if is_by_batch else LONG_MAX
        try:
            for batch in batches:
                last_offset = batch.last_offset
                if batch.max_timestamp > self.max_timestamp:
                    self.max_timestamp = batch.max_timestamp
                    self.offset_of_max_timestamp = last_offset
                if unindexed_bytes > interval_bytes:
                    entries = self._index(last_offset, batch.position, entries)
                    unindexed_bytes = 0
                unindexed_bytes += batch.size
                last_offsets.append(last_offset)
                positions.append(batch.position)
            if is_append_due:
                first = batches[0].base_offset if first_offset is None else first_offset
                entries = self._index(first if rule == "append start" else last_offset, position, entries)
                unindexed_bytes = self.size - position
        except KafkaException:
            # The file holds the append nevertheless; the next append is written after it.
            if self._refused_from is None:
                self._refused_from = position
            del last_offsets[:], positions[:]
            raise
        finally:
            self._bytes_since_last_index_entry = unindexed_bytes
        self._refused_from = None
        if len(positions) > 2 * _REMEMBERED_BATCHES:
            self._forget_old_batches()
        return entries

    def _begin(self, batches: Sequence[BatchFact]) -> None:
        """Before the first batches: they set the time from which the segment's age counts."""
        self.rolling_based_timestamp = max(batch.max_timestamp for batch in batches)
        self.offset_index.use()
        self.time_index.use()

    def _forget_old_batches(self) -> None:
        last_offsets, positions = self._tail_last_offsets, self._tail_positions
        self._tail_start_offset = last_offsets[-_REMEMBERED_BATCHES - 1] + 1
        del last_offsets[:-_REMEMBERED_BATCHES]
        del positions[:-_REMEMBERED_BATCHES]

    def find(self, offset: int) -> int | None:
        """The position of the first batch whose last offset is at or above `offset`; None if there is none."""
        tail = self._tail_last_offsets
        if tail and offset >= self._tail_start_offset:
            slot = bisect_left(tail, offset)
            return self._tail_positions[slot] if slot < len(tail) else None
        if offset == self._read_end[0] and self._read_end[1] < self.size:
            return self._read_end[1]
        start = self.offset_index.lookup(offset)
        for position, base_offset, _, last_offset_delta in scan_batches(self.log, self.size, start):
            if base_offset + last_offset_delta >= offset:
                return position
        return None

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Yields (position, header) of each complete batch from `position`."""
        for start, _, _, _ in scan_batches(self.log, self.size, position):
            yield start, parse_header(self.log.read(start, HEADER_BYTES))

    def last_headers(self, count: int, end_offset: int) -> list[tuple[int, BatchHeader]]:
        """(position, header) of the last `count` batches below `end_offset`, in order; fewer if there are no more.

        A file may hold appends that were rejected after the write: of overlapping batches the last one counts.
        """
        tail, entries = self._tail_positions, self.offset_index.positions
        if len(tail) >= count > 0:
            return list(self.headers(tail[-count]))
        steps_back = 1
        while True:
            start = entries[-steps_back] if steps_back <= len(entries) else 0
            found = []
            below = end_offset
            for position, header in reversed(list(self.headers(start))):
                if header.base_offset < below:
                    found.append((position, header))
                    below = header.base_offset
            if len(found) >= count or start == 0:
                return found[:count][::-1]
            steps_back *= 2

    def read(
        self,
        position: int,
        max_bytes: int,
        end: int,
        min_one_message: bool,
        cuts_batches: bool = False,
        cuts_first: bool = False,
    ) -> tuple[bytes, int | None]:
        """(bytes, offset after the whole batches): those from `position` to `end`, as many as fit into `max_bytes`.

        `position` and `end` are batch boundaries. With `min_one_message` the first batch is returned even if it alone
        is larger; with `cuts_batches` the beginning of one more fills the rest, with `cuts_first` also if no other
        fits. The offset is None if nothing fits.
        """
        stop = end
        if end - position > max_bytes:
            end = self._last_boundary(position, position + max_bytes, min_one_message)
            if end == position:
                return self.log.read(position, max_bytes) if cuts_first else b"", None
            stop = max(end, position + max_bytes) if cuts_batches else end
        data = self.log.read(position, stop - position)
        tail = self._tail_positions
        if tail and position >= tail[0]:
            return data, self._tail_last_offsets[bisect_left(tail, end) - 1] + 1
        before = at = next_at = 0
        last_start = len(data) - LENGTH_OVERHEAD
        while next_at <= last_start:
            length = OFFSET_AND_LENGTH.unpack_from(data, next_at)[1]
            if length < MIN_SIZE:
                break
            before, at = at, next_at
            next_at += length + LENGTH_OVERHEAD
        if next_at > len(data):
            # A torn end of a trusted file is returned as it is, and has no offset.
            at = before
        try:
            next_offset = parse_header(data, at).next_offset
        except CorruptRecord:
            return data, None
        self._read_end = (next_offset, end)
        return data, next_offset

    def next_offset(self) -> int:
        """The offset after the last complete batch; the base offset if there is none, or none at the indexed position.

        Source: `readNextOffset`.
        """
        if self._tail_last_offsets:
            return self._tail_last_offsets[-1] + 1
        offset = None
        indexed = self.offset_index.last_offset
        start = self.offset_index.lookup(indexed)
        for _, base_offset, _, last_offset_delta in scan_batches(self.log, self.size, start):
            last_offset = base_offset + last_offset_delta
            if offset is not None or last_offset >= indexed:
                offset = last_offset + 1
        return self.base_offset if offset is None else offset

    def find_by_timestamp(self, timestamp: int, start_offset: int) -> TimestampAndOffset | None:
        """The first record at or above `start_offset` whose timestamp is at or above `timestamp`."""
        _, floor_offset = self.time_index.lookup(timestamp)
        for position, header in self.headers(self.offset_index.lookup(max(floor_offset, start_offset))):
            if header.max_timestamp < timestamp or header.last_offset < start_offset:
                continue
            data = self.log.read(position, header.size)
            for record in iterate_records(data, header):
                found = header.max_timestamp if header.has_append_time else record.timestamp
                if found >= timestamp and record.offset >= start_offset:
                    return TimestampAndOffset(found, record.offset, header.partition_leader_epoch)
        return None

    def truncate_to(self, offset: int, now_ms: int) -> tuple[CutFact, ...]:
        """Removes the batches that hold offsets at or above `offset`, and their index entries (`truncateTo`)."""
        position = self.find(offset)
        cuts = self.offset_index.truncate_to(offset) + self.time_index.truncate_to(offset)
        cuts += self.transaction_index.truncate_to(offset)
        self.allocate_indexes()
        if position is not None:
            cuts = (*self.cut_log(position), *cuts)
        if self.size == 0:
            self.created_ms = now_ms
            self.rolling_based_timestamp = None
        self._bytes_since_last_index_entry = 0
        self._read_end = (-1, 0)
        kept = bisect_left(self._tail_last_offsets, offset)
        del self._tail_last_offsets[kept:]
        del self._tail_positions[kept:]
        if not self._is_max_timestamp_known:
            # Kafka reads the last entry lazily (`maxTimestampSoFar`): by then it may be truncated.
            self.max_timestamp, self.offset_of_max_timestamp = self.time_index.last_entry
            self._is_max_timestamp_known = True
        if self.max_timestamp >= 0:
            self._read_largest_timestamp()
        return cuts

    def cut_log(self, position: int) -> tuple[CutFact, ...]:
        """Truncates the `.log` at `position`; the caller has to correct the indexes."""
        length = self.size - position
        self.log.release(self.size)
        digest = self.log.truncate(position)
        self.size = position
        self._refused_from = None
        return (CutFact(self.log.path, position, length, digest),) if length else ()

    def become_inactive(self) -> tuple[tuple[int, int], ...]:
        """Closes the segment for appends: adds a last time index entry, trims files. Returns that entry if written."""
        timestamp, offset = self.load_max_timestamp(), self.offset_of_max_timestamp
        entry = self.time_index.maybe_append(timestamp, offset, is_final=True)
        self.offset_index.trim()
        self.time_index.trim()
        self.log.release(self.size)
        self._refused_from = None
        del self._tail_last_offsets[:]
        del self._tail_positions[:]
        return ((timestamp, offset),) if entry else ()

    def trim(self) -> None:
        """Trims all existing files to their written length."""
        if self.offset_index.file.exists:
            self.offset_index.trim()
        if isinstance(self.time_index, TimeIndex) and self.time_index.file.exists:
            self.time_index.trim()
        self.log.release(self.size)

    def close(self) -> None:
        """Closes the segment in a clean shutdown: adds a last time index entry, trims and flushes the files."""
        with suppress(KafkaException):
            # An error from a damaged index does not prevent a shutdown.
            self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp, is_final=True)
        self.offset_index.trim()
        self.time_index.trim()
        self.log.release(self.size)
        self.flush()
        for file in self.files:
            file.close()

    def flush(self) -> None:
        """Fsyncs the segment's files."""
        self.log.fsync()
        self.offset_index.flush()
        self.time_index.flush()
        self.transaction_index.flush()

    @property
    def flushed(self) -> tuple[int, int, int]:
        """What survives a power loss: bytes of the `.log`, entries of the `.index` and of the `.timeindex`."""
        return (
            min(self.size, self.log.synced_size),
            self.offset_index.flushed_entries,
            self.time_index.flushed_entries,
        )

    @property
    def largest_timestamp(self) -> int:
        """The largest timestamp (ms) of its records; without any, the time of the last write."""
        return self.max_timestamp if self.load_max_timestamp() >= 0 else self.log.modified_ms

    def mark_deleted(self) -> tuple[DeletedFile, ...]:
        """Renames the segment's files to `.deleted`; they are unlinked later."""
        self.trim()
        return tuple(mark_deleted(self._disk, file.path) for file in self.files)

    def change_suffix(self, old: str, new: str) -> None:
        """Changes the suffix of the segment's files, the `.log` first (`changeFileSuffixes`)."""
        self._disk.rename(self.log.path, self.log.path.removesuffix(old) + new)
        for file in self._lazy_files:
            file.change_suffix(old, new)
        self.transaction_index.change_suffix(old, new)

    def discard(self) -> None:
        """Deletes the files of a segment that was never part of the log; the archive does not keep them."""
        for file in self.files:
            file.release(0)
            self._disk.delete(file.path)

    def _last_boundary(self, position: int, limit: int, min_one_message: bool) -> int:
        """The greatest batch boundary at or below `limit`; at least the end of the first batch, if requested."""
        tail = self._tail_positions
        if tail and position >= tail[0]:
            slot = bisect_right(tail, limit) - 1
            boundary = tail[slot]
            if boundary > position or not min_one_message:
                return boundary
            return tail[slot + 1] if slot + 1 < len(tail) else self.size
        boundary = position
        for start, _, length, _ in scan_batches(self.log, self.size, position):
            after = start + length + LENGTH_OVERHEAD
            if after > limit:
                return after if min_one_message and start == position else boundary
            boundary = after
        return boundary

    def _read_first_timestamp(self) -> int:
        """Sets `rolling_based_timestamp` after a start from the first batch. A trusted file may hold bytes, but no
        batch.
        """
        first = next((header.max_timestamp for _, header in self.headers()), None)
        self.rolling_based_timestamp = first
        return NO_TIMESTAMP if first is None else first

    def _index(self, offset: int, position: int, entries: IndexEntries) -> IndexEntries:
        offsets, timestamps = entries.offsets, entries.timestamps
        if self.offset_index.append(offset, position):
            offsets += ((offset, position),)
        if self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp):
            timestamps += ((self.max_timestamp, self.offset_of_max_timestamp),)
        return IndexEntries(offsets, timestamps)

    def _read_largest_timestamp(self) -> None:
        self.max_timestamp, self.offset_of_max_timestamp = self.time_index.last_entry
        for _, header in self.headers(self.offset_index.lookup(self.offset_of_max_timestamp)):
            if header.max_timestamp > self.max_timestamp:
                self.max_timestamp, self.offset_of_max_timestamp = header.max_timestamp, header.last_offset
