"""A journal: one Kafka log whose records are the lab's own.

The offset of a record is its seq. Offset 0 holds a header, whose shape is that of the journal's owner. A record is in
the page cache when `append` returns: it survives `kill -9` at any instant, and a torn end is cut off when the
journal is opened again. `kafka-dump-log.sh` reads it.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from broker_core.config_defs import LONG_MAX
from broker_core.log import RECOVERY_POINT_CHECKPOINT, LogConfig, LogSegment, OffsetCheckpoint, UnifiedLog
from broker_core.partitions import TopicPartition
from broker_core.records.compression import CompressionType, decompress
from broker_core.records.record_batch import (
    HEADER_BYTES,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    batch_parts,
    iterate,
    iterate_batches,
    parse_header,
)
from broker_core.sim.disk import RealDisk
from lab.journals.records import Stamped, batches, compressed, decode_values, encode_records

__all__ = ["CLEAN_SHUTDOWN", "Journal", "JournalFolder", "Stamped", "StampedRecord", "journal_config"]

CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LEADER_EPOCH = 0
_READ_BYTES = 64 * 1024
_FEW_PIECES = 64
"""Parts of this number are written one by one; more of them, which are small, are joined first."""

T = TypeVar("T")


class StampedRecord(NamedTuple):
    """A record with the timestamp that it was appended with, in the unit of the journal's owner."""

    seq: int
    at: int
    record: bytes


def journal_config(segment_bytes: int, segment_index_bytes: int, max_message_bytes: int) -> LogConfig:
    """The configuration of a log that keeps everything."""
    return LogConfig(
        segment_bytes=segment_bytes,
        # A journal is kept whole, and timestamps need not be of the wall: no age is a reason to roll.
        segment_ms=LONG_MAX,
        segment_index_bytes=segment_index_bytes,
        max_message_bytes=max_message_bytes,
        retention_ms=-1,
    )


class Journal:
    """One log, opened by its folder. One thread at a time."""

    def __init__(self, log: UnifiedLog, disk: RealDisk, compressed_bytes: int | None) -> None:
        self._log = log
        self._disk = disk
        self._compressed_bytes = compressed_bytes

    @property
    def end(self) -> int:
        """The offset that the next record gets."""
        return self._log.log_end_offset

    @property
    def start(self) -> int:
        """The first offset that is kept."""
        return self._log.log_start_offset

    @property
    def last_seq(self) -> int:
        """The last record; 0 when there is none but the header."""
        return self._log.log_end_offset - 1

    @property
    def size_bytes(self) -> int:
        return self._log.size_bytes

    @property
    def segments(self) -> Sequence[LogSegment]:
        return self._log.segments

    def append(self, records: Sequence[Stamped]) -> int:
        """Writes records, each (timestamp, bytes), in one batch or, if they are large, in several; returns the seq of
        the last one. Raises KafkaException (KAFKA_STORAGE_ERROR) when they cannot be written.
        """
        limit = self._compressed_bytes
        for batch, size in batches(records):
            self._append(batch, is_compressed=limit is not None and size >= limit)
        return self.last_seq

    def _append(self, records: Sequence[Stamped], *, is_compressed: bool) -> None:
        first, last = records[0][0], records[-1][0]
        body = encode_records(records, first)
        codec = CompressionType.ZSTD if is_compressed else CompressionType.NONE
        if len(body) > _FEW_PIECES:
            body = [b"".join(body)]
        if is_compressed:
            body = [compressed(body)]
        parts = batch_parts(
            *body,
            base_offset=self._log.log_end_offset,
            leader_epoch=LEADER_EPOCH,
            attributes=codec,
            last_offset_delta=len(records) - 1,
            base_timestamp=first,
            max_timestamp=last,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_PRODUCER_EPOCH,
            base_sequence=NO_SEQUENCE,
            record_count=len(records),
        )
        self._log.append_built(parse_header(parts[0]), parts, last)

    def header(self) -> bytes | None:
        """The record at offset 0; None if there is none, or if it was deleted."""
        if self.start > 0 or self.end == 0:
            return None
        return self.read(0, 0, lambda _, record: record)[0]

    def read(self, first_seq: int, last_seq: int, make: Callable[[int, bytes], T]) -> list[T]:
        """The results of `make` for each (seq, record) from `first_seq` to `last_seq`, as far as they exist."""
        found: list[T] = []
        for base_offset, values in self._batches(first_seq, last_seq):
            made = map(make, count(base_offset), values)
            found += islice(made, max(0, first_seq - base_offset), last_seq + 1 - base_offset)
        return found

    def values(self, first_seq: int = 0) -> list[bytes]:
        """All records from `first_seq` on, as far as they are kept."""
        found: list[bytes] = []
        for base_offset, values in self._batches(first_seq, self.last_seq):
            found += islice(values, max(0, first_seq - base_offset), None)
        return found

    def stamped(self, first_seq: int, max_bytes: int) -> list[StampedRecord]:
        """Records from `first_seq` with their timestamps: about `max_bytes` of them, none at the end."""
        data = self._log.read(first_seq, max_bytes).data if first_seq < self.end else b""
        return [
            StampedRecord(record.offset, record.timestamp, record.value or b"")
            for record in iterate(data)
            if record.offset >= first_seq
        ]

    def seq_at(self, at: int) -> int:
        """The last record whose timestamp is at or before `at`; 0 before the first. Found through the time index."""
        after = self._log.offset_for_timestamp(at + 1)
        return self.last_seq if after is None else max(0, after.offset - 1)

    def place_of(self, seq: int) -> tuple[int, int, int]:
        """The batch that holds a record, or would: base offset of its segment, its byte there, its first offset."""
        found = self._log.read(seq, 1)
        return found.segment_base, found.position, found.first_offset

    def forget(self, end: int) -> None:
        """Deletes the segments all of whose records are before `end`."""
        self._log.increment_log_start_offset(min(end, self.end))
        doomed = self._log.segments[: sum(segment.base_offset <= end for segment in self._log.segments[1:])]
        if doomed:
            self._log.delete_segments(doomed, 0)
            for file in self._log.take_deleted_files():
                self._disk.delete(file.path)

    def roll(self) -> None:
        """Begins a new segment: those before it never change again."""
        self._log.roll(0)

    def flush(self) -> int:
        """Makes all that was written survive a power loss; returns the recovery point."""
        return self._log.flush()

    def close(self) -> None:
        self._log.close()

    def _batches(self, first_seq: int, last_seq: int) -> Iterator[tuple[int, Iterator[bytes]]]:
        """Batches with the records of a range: base offset, and the values from it on."""
        seq = max(first_seq, self.start)
        while seq <= last_seq:
            data = self._log.read(seq, _READ_BYTES).data
            if not data:
                # what is not there (yet) is left out
                return
            for position, batch in iterate_batches(data):
                if batch.base_offset > last_seq:
                    return
                body = decompress(batch.compression, data[position + HEADER_BYTES : position + batch.size])
                yield batch.base_offset, decode_values(body, batch.record_count)
                seq = batch.next_offset


class FolderSync:
    """What was written to the journals of a folder until it was begun, and is to survive a power loss."""

    def __init__(self, files: Sequence[Path], finish: Callable[[], None]) -> None:
        self._files = files
        self._finish = finish

    def run(self) -> None:
        """Fsyncs it. Any thread may call it, and appends go on meanwhile: a disk may take a quarter of a second. The
        folder must not be synced or closed until it returns. Raises OSError and KafkaException; then the next sync
        includes it.
        """
        for path in self._files:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        self._finish()


class JournalFolder:
    """A folder with journals, `<topic>-0` each, which are opened, synced and closed together. Different threads may
    use different journals.
    """

    def __init__(self, path: Path, configs: Mapping[str, LogConfig], *, compressed_bytes: int | None = None) -> None:
        """Opens the journals, or creates empty ones; cuts off a torn end unless they were closed.

        `configs`: that of each topic. `compressed_bytes`: batches of this size and more are compressed; None: never.
        """
        self._disk = RealDisk(path)
        # A disk closes files when too many are open, so each journal has one of its own.
        self._disks = {topic: RealDisk(path) for topic in configs}
        self._recovery_points = OffsetCheckpoint(self._disk, RECOVERY_POINT_CHECKPOINT)
        was_clean = self._disk.exists(CLEAN_SHUTDOWN)
        points = self._recovery_points.read()
        self._logs = {
            topic: UnifiedLog.load(
                self._disks[topic],
                f"{topic}-0",
                topic,
                0,
                config,
                now_ms=0,
                clean_shutdown=was_clean,
                recovery_point=points.get(TopicPartition(topic, 0), 0),
            )
            for topic, config in configs.items()
        }
        self._disk.delete(CLEAN_SHUTDOWN)
        #: the ends of the logs that the last sync of `begin_sync` has made safe
        self._sync_ends: Mapping[TopicPartition, int] = points
        self._journals = {
            topic: Journal(log, self._disks[topic], compressed_bytes) for topic, log in self._logs.items()
        }

    def __getitem__(self, topic: str) -> Journal:
        return self._journals[topic]

    def sync(self) -> None:
        """Makes all that was written survive a power loss, and the next opening short."""
        self._recovery_points.write({log.topic_partition: log.flush() for log in self._logs.values()})

    def begin_sync(self) -> FolderSync:
        """The same in two steps, of which the second, `run`, may be in another thread. Called by the thread that
        appends.
        """
        ends = {log.topic_partition: log.log_end_offset for log in self._logs.values()}
        files = [
            self._disk.root / file.path
            for log in self._logs.values()
            for segment in _segments_from(log, self._sync_ends.get(log.topic_partition, 0) - 1)
            for file in segment.files
        ]

        def finish() -> None:
            self._recovery_points.write(ends)
            self._sync_ends = ends

        return FolderSync(files, finish)

    def abandon(self) -> None:
        """Closes the files as they are: the next opening checks them."""
        self._close_files()

    def close(self) -> None:
        """Closes the files as a clean shutdown does."""
        self.sync()
        for journal in self._journals.values():
            journal.close()
        self._disk.replace_file(CLEAN_SHUTDOWN, b"")
        self._close_files()

    def _close_files(self) -> None:
        for disk in (self._disk, *self._disks.values()):
            disk.close()


def _segments_from(log: UnifiedLog, offset: int) -> Sequence[LogSegment]:
    """The segment with this offset, to whose index a roll may have written, and those after it."""
    earlier = sum(segment.base_offset <= offset for segment in log.segments)
    return log.segments[max(0, earlier - 1) :]
