"""The two Kafka logs of a branch: its events and its inputs.

In `events-0` the offset of a record is the event's seq and its timestamp the simulated time in microseconds, so that an
instant is found through the `.timeindex`, and a crash is recovered from as any log is. Offset 0 holds the header: what
the run was started with. In `inputs-0` offsets are merely dense. Large batches of both are compressed.
"""

import shutil
from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Any, NamedTuple, TypeAlias

import cramjam
import msgspec

from broker_core.log import (
    LEADER_EPOCH_CHECKPOINT,
    LONG_MAX,
    RECOVERY_POINT_CHECKPOINT,
    LogConfig,
    OffsetCheckpoint,
    UnifiedLog,
)
from broker_core.partitions import TopicPartition
from broker_core.records.compression import CompressionType, decompress
from broker_core.records.record_batch import (
    HEADER_BYTES,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    batch_parts,
    iterate_batches,
    parse_header,
)
from broker_core.records.varint import encode_varlong
from broker_core.sim.disk import RealDisk
from broker_core.texts import Text, text
from lab.recordings.base import read_base
from lab.recordings.copying import link
from lab.recordings.folder import BranchFolder
from lab.texts.refusal import Refusal

FORMAT = 1
EVENTS = "events"
INPUTS = "inputs"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LEADER_EPOCH = 0

_CONFIG = LogConfig(
    segment_bytes=16 * 1024 * 1024,
    # Timestamps are simulated microseconds: no age is a reason to roll.
    segment_ms=LONG_MAX,
    segment_index_bytes=1024 * 1024,
    max_message_bytes=15 * 1024 * 1024,
    retention_ms=-1,
)
# Each new segment waits for the hardware, and what clients send fills many.
_CONFIGS = {EVENTS: _CONFIG, INPUTS: msgspec.structs.replace(_CONFIG, segment_bytes=128 * 1024 * 1024)}
_BOUNDED_BYTES = {EVENTS: 4 * 1024 * 1024, INPUTS: 8 * 1024 * 1024}
"""Segments of a recording that forgets its oldest ones."""
_READ_BYTES = 64 * 1024
_FEW_PIECES = 64
"""Parts of this number are written one by one; more of them, which are small, are joined first."""
_COMPRESSED_BYTES = 16 * 1024
"""Batches of this size and more are compressed. Data of clients is in the brokers' logs, too, and the second copy would
take as long to write as the first; events take a tenth of the space. Smaller batches are not worth the cost.
"""
_LEVEL = 1
_MAX_BATCH_BYTES = 8 * 1024 * 1024
"""A batch of inputs, some of which are what clients send, fits into a segment."""


#: an instant, and the bytes that a record is to hold, in one piece or two
Stamped: TypeAlias = tuple[int, bytes] | tuple[int, bytes, bytes]


class Header(msgspec.Struct):
    """The record at offset 0. `config` is what the engine was given; its shape is the engine's."""

    format: int
    config: dict[str, Any]


class StoredEvent(NamedTuple):
    """An event as stored in the log: `record` is that of `broker_core.events.codec`."""

    seq: int
    record: bytes

    @property
    def at_us(self) -> int:
        """With this a record begins: `[at_us,"b1",...`."""
        return int(self.record[1 : self.record.index(b",")])


class RecordedLogs:
    """Both logs, open. One object a branch and process, one thread at a time."""

    def __init__(self, folder: BranchFolder, header: Header | None = None, *, is_bounded: bool = False) -> None:
        """Opens the recording; with a `header`, begins one. `is_bounded`: its oldest segments will be deleted. Raises
        Refusal when there is none, or none to be read.
        """
        self.folder = folder
        self._is_bounded = is_bounded
        if header is None and not (folder.recording / f"{EVENTS}-0").is_dir():
            raise _unreadable(folder, text("refusal.recording_empty"))
        self._disk = RealDisk(folder.recording)
        self._recovery_points = OffsetCheckpoint(self._disk, RECOVERY_POINT_CHECKPOINT)
        was_clean = self._disk.exists(CLEAN_SHUTDOWN)
        points = self._recovery_points.read()
        self._events = self._load(EVENTS, was_clean, points)
        self._inputs = self._load(INPUTS, was_clean, points)
        self._disk.delete(CLEAN_SHUTDOWN)
        if header is not None and self._events.log_end_offset == 0:
            self._append(self._events, [(0, msgspec.json.encode(header))])
        self.header = self._read_header()
        self.last_at_us = self._read(self.last_seq, self.last_seq)[0].at_us if self.last_seq else 0

    @property
    def last_seq(self) -> int:
        """The last event that is written; 0 when there is none."""
        return self._events.log_end_offset - 1

    @property
    def size_bytes(self) -> int:
        return self._events.size_bytes + self._inputs.size_bytes

    def append_events(self, events: Sequence[Stamped]) -> None:
        """Writes the events after `last_seq`, each (at_us, record)."""
        for batch, size in _batches(events):
            self._append(self._events, batch, is_compressed=size >= _COMPRESSED_BYTES)
        self.last_at_us = events[-1][0]

    def append_inputs(self, inputs: Sequence[Stamped]) -> None:
        """Writes inputs, each (at_us, bytes). They are with the operating system when this returns."""
        for batch, size in _batches(inputs):
            self._append(self._inputs, batch, is_compressed=size >= _COMPRESSED_BYTES)

    def events(self, first_seq: int, last_seq: int) -> list[StoredEvent]:
        """The written events from `first_seq` to `last_seq`, as far as there are."""
        return self._read(first_seq, min(last_seq, self.last_seq))

    @property
    def input_count(self) -> int:
        """How many inputs are written."""
        return self._inputs.log_end_offset

    def inputs(self, first: int = 0) -> list[bytes]:
        """All inputs but the `first` ones, in order, as far as they are kept."""
        found: list[bytes] = []
        offset = max(first, self._inputs.log_start_offset)
        while offset < self.input_count:
            data = self._inputs.read(offset, _READ_BYTES).data
            for position, batch in iterate_batches(data):
                body = decompress(batch.compression, data[position + HEADER_BYTES : position + batch.size])
                found += islice(_values(body, batch.record_count), max(0, offset - batch.base_offset), None)
                offset = batch.next_offset
        return found

    def seq_at(self, at_us: int) -> int:
        """The last written event at or before an instant; 0 before the first."""
        after = self._events.offset_for_timestamp(at_us + 1)
        return self.last_seq if after is None else max(0, after.offset - 1)

    def copy_events(self, last_seq: int, folder: BranchFolder) -> None:
        """Copies the events log up to `last_seq`. Segments that are full and all of which stays are linked."""
        target = folder.recording / f"{EVENTS}-0"
        target.mkdir(parents=True)
        source = self.folder.recording / f"{EVENTS}-0"
        found = self._events.read(last_seq + 1, 1)
        boundary = found.segment_base
        for segment in self._events.segments:
            name = f"{segment.base_offset:020d}"
            if segment.base_offset < boundary:
                for path in source.glob(f"{name}.*"):
                    link(path, target / path.name)
            elif segment.base_offset == boundary:
                # Without its indexes: opening the copy makes them again, at the right length.
                data = segment.log.read(0, found.position)
                (target / f"{name}.log").write_bytes(data)
        shutil.copyfile(source / LEADER_EPOCH_CHECKPOINT, target / LEADER_EPOCH_CHECKPOINT)
        # What is linked or copied needs no recovery, which would write to files that the two share.
        (folder.recording / CLEAN_SHUTDOWN).touch()
        rest = self._read(found.first_offset, last_seq) if found.first_offset <= last_seq else []
        copied = RecordedLogs(folder)
        if rest:
            copied.append_events([(event.at_us, event.record) for event in rest])
        copied.close()

    def forget(self, last_seq: int, input_count: int) -> None:
        """Deletes the segments of events up to `last_seq` and of the first `input_count` inputs."""
        for log, offset in ((self._events, last_seq + 1), (self._inputs, input_count)):
            log.increment_log_start_offset(min(offset, log.log_end_offset))
            doomed = log.segments[: sum(segment.base_offset <= offset for segment in log.segments[1:])]
            if doomed:
                log.delete_segments(doomed, 0)
                for file in log.take_deleted_files():
                    self._disk.delete(file.path)

    def sync(self) -> None:
        """Makes all that was written survive a power loss, and the next opening short."""
        self._recovery_points.write({log.topic_partition: log.flush() for log in (self._events, self._inputs)})

    def close(self) -> None:
        """Closes the files as a clean shutdown does."""
        self.sync()
        self._events.close()
        self._inputs.close()
        self._disk.replace_file(CLEAN_SHUTDOWN, b"")
        self._disk.close()

    def _load(self, topic: str, was_clean: bool, points: dict[TopicPartition, int]) -> UnifiedLog:
        return UnifiedLog.load(
            self._disk,
            f"{topic}-0",
            topic,
            0,
            self._config(topic),
            now_ms=0,
            clean_shutdown=was_clean,
            recovery_point=points.get(TopicPartition(topic, 0), 0),
            topic_id=None,
        )

    def _config(self, topic: str) -> LogConfig:
        config = _CONFIGS[topic]
        return msgspec.structs.replace(config, segment_bytes=_BOUNDED_BYTES[topic]) if self._is_bounded else config

    def _append(self, log: UnifiedLog, records: Sequence[Stamped], is_compressed: bool = False) -> None:
        first_us, last_us = records[0][0], records[-1][0]
        body = _plain_records(records, first_us)
        codec = CompressionType.ZSTD if is_compressed else CompressionType.NONE
        if len(body) > _FEW_PIECES:
            body = [b"".join(body)]
        if is_compressed:
            body = [_packed(body)]
        parts = batch_parts(
            *body,
            base_offset=log.log_end_offset,
            leader_epoch=LEADER_EPOCH,
            attributes=codec,
            last_offset_delta=len(records) - 1,
            base_timestamp=first_us,
            max_timestamp=last_us,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_PRODUCER_EPOCH,
            base_sequence=NO_SEQUENCE,
            record_count=len(records),
        )
        log.append_built(parse_header(parts[0]), parts, last_us)

    def _read(self, first_seq: int, last_seq: int) -> list[StoredEvent]:
        found: list[StoredEvent] = []
        seq = max(first_seq, self._events.log_start_offset)
        while seq <= last_seq:
            data = self._events.read(seq, _READ_BYTES).data
            if not data:
                # what is not there (yet) is left out
                break
            for position, batch in iterate_batches(data):
                if batch.base_offset > last_seq:
                    break
                body = decompress(batch.compression, data[position + HEADER_BYTES : position + batch.size])
                records = map(StoredEvent, count(batch.base_offset), _values(body, batch.record_count))
                found += islice(records, max(0, seq - batch.base_offset), last_seq + 1 - batch.base_offset)
            seq = found[-1].seq + 1
        return found

    def _read_header(self) -> Header:
        base = read_base(self.folder.recording)
        if base is not None:
            return msgspec.convert(base.header, Header)
        records = self._read(0, 0) if self._events.log_end_offset else []
        if not records:
            raise _unreadable(self.folder, text("refusal.recording_without_header"))
        try:
            header = msgspec.json.decode(records[0].record, type=Header)
        except msgspec.MsgspecError as error:
            raise _unreadable(self.folder, text("refusal.recording_header", problem=str(error))) from None
        if header.format != FORMAT:
            raise _unreadable(self.folder, text("refusal.recording_format", format=header.format))
        return header


def _batches(records: Sequence[Stamped]) -> Iterator[tuple[Sequence[Stamped], int]]:
    """Batches of records that fit into a segment, each with its bytes."""
    size = sum([len(record[1]) if len(record) == 2 else len(record[1]) + len(record[2]) for record in records])
    if size <= _MAX_BATCH_BYTES:
        if records:
            yield records, size
        return
    batch: list[Stamped] = []
    size = 0
    for given in records:
        given_size = sum(map(len, given[1:]))
        if batch and size + given_size > _MAX_BATCH_BYTES:
            yield batch, size
            batch, size = [], 0
        batch.append(given)
        size += given_size
    if batch:
        yield batch, size


def _unreadable(folder: BranchFolder, why: Text) -> Refusal:
    return Refusal(
        "refusal.recording_unreadable",
        409,
        run=folder.run,
        branch=folder.branch,
        problem=why,
        format=FORMAT,
        folder=str(folder.recording),
    )


_SHORT = [encode_varlong(number) for number in range(4096)]
"""Most numbers in the records of events."""


def _plain_records(records: Sequence[Stamped], first_us: int) -> list[bytes]:
    """What `record_parts` makes of records without key and headers, in a fraction of its time: each event becomes one.
    A value in two pieces is not copied, since it may be large.
    """
    body: list[bytes] = []
    stamped_us, stamp = first_us, _SHORT[0]
    for index, record in enumerate(records):
        if record[0] != stamped_us:
            stamped_us = record[0]
            stamp = encode_varlong(stamped_us - first_us)
        value = record[1]
        size = len(value) if len(record) == 2 else len(value) + len(record[2])
        number = _SHORT[index] if index < len(_SHORT) else encode_varlong(index)
        value_size = _SHORT[size] if size < len(_SHORT) else encode_varlong(size)
        length = encode_varlong(3 + len(stamp) + len(number) + len(value_size) + size)
        if len(record) == 2:
            body.append(b"%b\x00%b%b\x01%b%b\x00" % (length, stamp, number, value_size, value))
        else:
            body += (b"%b\x00%b%b\x01%b" % (length, stamp, number, value_size), value, record[2], b"\x00")
    return body


def _packed(pieces: Sequence[bytes]) -> bytes:
    """Records, compressed for a batch of `CompressionType.ZSTD` without being joined first."""
    stream = cramjam.zstd.Compressor(level=_LEVEL)
    for piece in pieces:
        stream.compress(piece)
    return bytes(stream.finish())


def _values(body: bytes, record_count: int) -> Iterator[bytes]:
    """The values of the records in a batch that `_append` wrote: records without key and headers.

    A third of the time that it takes to read them as records of any kind: each seek reads 1,000.
    """
    at = 0
    for _ in range(record_count):
        byte = body[at]
        length = byte & 0x7F
        shift = 7
        while byte >= 0x80:
            at += 1
            byte = body[at]
            length |= (byte & 0x7F) << shift
            shift += 7
        end = at + 1 + (length >> 1)
        at += 2  # the last byte of the length, and the attributes
        while body[at] >= 0x80:  # the timestamp
            at += 1
        at += 1
        while body[at] >= 0x80:  # the offset
            at += 1
        at += 2  # its last byte, and the null key
        while body[at] >= 0x80:  # the length of the value
            at += 1
        yield body[at + 1 : end - 1]  # before the number of headers, which is 0
        at = end
