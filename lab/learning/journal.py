"""The Kafka log of one learner: `DATA/learning/<learner>/learning-0`.

The offset of a record is the event's seq and its timestamp the wall time in milliseconds, so `kafka-dump-log.sh` reads
it. Offset 0 holds the header. A record is with the operating system when `append` returns: it survives `kill -9` at any
instant, and a torn end is cut off when the log is opened again.
"""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from broker_core.log import LONG_MAX, RECOVERY_POINT_CHECKPOINT, LogConfig, OffsetCheckpoint, UnifiedLog
from broker_core.partitions import TopicPartition
from broker_core.records.record_batch import build_batch, iterate, parse_header
from broker_core.sim.disk import RealDisk
from broker_core.texts import text
from lab.texts.refusal import Refusal

FORMAT = 1
TOPIC = "learning"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
_CONFIG = LogConfig(
    segment_bytes=16 * 1024 * 1024,
    # An event is kept as long as the learner wants: no age is a reason to roll.
    segment_ms=LONG_MAX,
    segment_index_bytes=256 * 1024,
    max_message_bytes=1024 * 1024,
    retention_ms=-1,
)
_READ_BYTES = 1024 * 1024


class Header(msgspec.Struct, frozen=True):
    """The record at offset 0."""

    format: int
    learner: str


class RawEvent(NamedTuple):
    seq: int
    at_ms: int
    record: bytes


class Journal:
    """One learner's log, open. Safe to use from several threads; one object a log in a process."""

    def __init__(self, folder: Path, learner: str) -> None:
        """Opens the log, or begins one. Raises Refusal for one of another format."""
        self.folder = folder
        self._lock = threading.RLock()
        self._disk = RealDisk(folder)
        self._recovery_points = OffsetCheckpoint(self._disk, RECOVERY_POINT_CHECKPOINT)
        was_clean = self._disk.exists(CLEAN_SHUTDOWN)
        self._log = UnifiedLog.load(
            self._disk,
            f"{TOPIC}-0",
            TOPIC,
            0,
            _CONFIG,
            now_ms=0,
            clean_shutdown=was_clean,
            recovery_point=self._recovery_points.read().get(TopicPartition(TOPIC, 0), 0),
        )
        self._disk.delete(CLEAN_SHUTDOWN)
        if self._log.log_end_offset == 0:
            self.append(msgspec.json.encode(Header(FORMAT, learner)), 0)
        self._check_header()

    @property
    def last_seq(self) -> int:
        """The seq of the last event; 0 when there is none."""
        return self._log.log_end_offset - 1

    @property
    def size_bytes(self) -> int:
        return self._log.size_bytes

    def append(self, record: bytes, at_ms: int) -> int:
        """Writes one event; returns its seq. Raises KafkaException (KAFKA_STORAGE_ERROR) when it cannot be written."""
        with self._lock:
            seq = self._log.log_end_offset
            batch = build_batch([(at_ms, None, record, ())], base_offset=seq, leader_epoch=0)
            self._log.append_built(parse_header(batch), [batch], at_ms)
            return seq

    def read(self, first_seq: int) -> Iterator[RawEvent]:
        """The events from `first_seq` to the end, in order."""
        offset = first_seq
        while offset < self._log.log_end_offset:
            with self._lock:
                data = self._log.read(offset, _READ_BYTES).data
            for record in iterate(data):
                if record.offset >= offset:
                    yield RawEvent(record.offset, record.timestamp, record.value or b"")
                    offset = record.offset + 1

    def close(self) -> None:
        """Closes the files as a clean shutdown does."""
        with self._lock:
            self._recovery_points.write({self._log.topic_partition: self._log.flush()})
            self._log.close()
            self._disk.replace_file(CLEAN_SHUTDOWN, b"")
            self._disk.close()

    def _check_header(self) -> None:
        first = next(self.read(0), None)
        try:
            header = msgspec.json.decode(first.record if first else b"", type=Header)
        except msgspec.MsgspecError as error:
            raise Refusal("refusal.learning_log", 500, folder=str(self.folder), problem=str(error)) from None
        if header.format != FORMAT:
            problem = text("refusal.learning_format", format=header.format)
            raise Refusal("refusal.learning_log", 500, folder=str(self.folder), problem=problem)


def remove_folder(folder: Path) -> None:
    """Deletes a learner's log. Renamed first, so that a crash leaves no half of it under its name."""
    if folder.exists():
        doomed = folder.with_name(f".deleted-{folder.name}")
        shutil.rmtree(doomed, ignore_errors=True)
        folder.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)
