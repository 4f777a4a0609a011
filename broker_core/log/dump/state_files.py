"""Dumps a segment's index of aborted transactions, and producer snapshots.

Source: `TransactionIndex`, `AbortedTxn`, `ProducerStateManager.readSnapshot`.
"""

import struct
from collections.abc import Callable, Iterator

import google_crc32c

from broker_core.config_defs import INT_MAX
from broker_core.log.dump.compressed_input import held
from broker_core.log.dump.files import CHUNK_BYTES, BufferedFile, Files, ReadableFile
from broker_core.log.dump.java import Thrown, int32, kafka, parse_long

TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
_ABORTED = struct.Struct(">bxqqqq")
_VERSION_AND_CRC = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_PRODUCER = struct.Struct(">qhiqiqiq")
_PRODUCER_FIELDS = (
    ("producer_id", 8),
    ("epoch", 2),
    ("last_sequence", 4),
    ("last_offset", 8),
    ("offset_delta", 4),
    ("timestamp", 8),
    ("coordinator_epoch", 4),
    ("current_txn_first_offset", 8),
)


def dump_transaction_index(files: Files, path: str) -> Iterator[str]:
    """The text of a `.txnindex`; one that is absent has no entries. Raises Thrown where the tool dies."""
    parse_long(path.rpartition("/")[2].partition(".")[0])
    try:
        file = files.open(path)
    except Thrown as thrown:
        if thrown.java_class == "java.nio.file.NoSuchFileException":
            return
        raise
    try:
        entries = held(file.size, "an index of aborted transactions") // _ABORTED.size
        window = BufferedFile(file)
        # All entries are checked before the first is shown.
        for number in range(entries):
            version = _ABORTED.unpack(window.read_exactly(number * _ABORTED.size, _ABORTED.size))[0]
            if version > 0:
                raise Thrown(
                    kafka("KafkaException"),
                    f"Unexpected aborted transaction version {version} in transaction index {files.absolute(path)}, "
                    "current version is 0",
                    f"the version of an entry is 0, this one has {version}",
                ).at(path, number * _ABORTED.size)
        for number in range(entries):
            version, producer_id, first, last, stable = _ABORTED.unpack(
                window.read_exactly(number * _ABORTED.size, _ABORTED.size)
            )
            yield (
                f"version: {version} producerId: {producer_id} firstOffset: {first} lastOffset: {last} "
                f"lastStableOffset: {stable}\n"
            )
    except Thrown as thrown:
        raise thrown.at(path) from None
    finally:
        file.close()


class _CorruptSnapshot(Exception):
    """The tool's message for a snapshot that it cannot read; it continues with the next file."""


def dump_producer_snapshot(files: Files, path: str, complain: Callable[[str], None]) -> Iterator[str]:
    """The text of a `.snapshot`. Passes errors in it to `complain`. Raises Thrown if it cannot be opened."""
    file = files.open(path)
    try:
        held(file.size, "a snapshot")
        try:
            count = _check_snapshot(file)
        except _CorruptSnapshot as problem:
            complain(str(problem))
            return
        window = BufferedFile(file)
        start = _VERSION_AND_CRC.size + _COUNT.size
        for number in range(count):
            yield _producer(window.read_exactly(start + number * _PRODUCER.size, _PRODUCER.size))
    except Thrown as thrown:
        raise thrown.at(path) from None
    finally:
        file.close()


def _producer(data: bytes) -> str:
    producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, first_offset = (
        _PRODUCER.unpack(data)
    )
    transaction = f"OptionalLong[{first_offset}]" if first_offset >= 0 else "OptionalLong.empty"
    text = (
        f"producerId: {producer_id} producerEpoch: {epoch} coordinatorEpoch: {coordinator_epoch} "
        f"currentTxnFirstOffset: {transaction} lastTimestamp: {timestamp} "
    )
    if last_offset >= 0:
        text += (
            f"firstSequence: {_first_sequence(last_sequence, delta)} lastSequence: {last_sequence} "
            f"lastOffset: {last_offset} offsetDelta: {delta} timestamp: {timestamp}"
        )
    return text + "\n"


def _first_sequence(last: int, delta: int) -> int:
    """`DefaultRecordBatch.decrementSequence`."""
    return int32(INT_MAX - (delta - last) + 1 if last < delta else last - delta)


def _check_snapshot(file: ReadableFile) -> int:
    """The number of producers in the snapshot. Raises _CorruptSnapshot."""
    head = file.read(0, _VERSION_AND_CRC.size + _COUNT.size)
    at = 0
    for field, size in (("version", 2), ("crc", 4), ("producer_entries", 4)):
        at += size
        if len(head) < at:
            raise _schema_fault(field)
    version, crc = _VERSION_AND_CRC.unpack_from(head)
    (count,) = _COUNT.unpack_from(head, _VERSION_AND_CRC.size)
    left = file.size - len(head)
    if count < 0:
        raise _schema_fault("producer_entries", f"Array size {count} cannot be negative")
    if count > left:
        message = f"Error reading array of size {count}, only {left} bytes available"
        raise _schema_fault("producer_entries", message)
    if count * _PRODUCER.size > left:
        raise _schema_fault("producer_entries", _entry_fault(left % _PRODUCER.size))
    if version != 1:
        raise _CorruptSnapshot(f"Snapshot contained an unknown file version {version}")
    computed = 0
    for position in range(_VERSION_AND_CRC.size, file.size, CHUNK_BYTES):
        computed = google_crc32c.extend(computed, file.read(position, min(CHUNK_BYTES, file.size - position)))
    if computed != crc:
        raise _CorruptSnapshot(
            f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc: {computed}"
        )
    return int(count)


def _entry_fault(left: int) -> str:
    """The error message for an entry with only `left` bytes."""
    end = 0
    for field, size in _PRODUCER_FIELDS:
        end += size
        if left < end:
            return f"Error reading field '{field}': java.nio.BufferUnderflowException"
    raise ValueError(f"an entry of {left} bytes is whole")


def _schema_fault(field: str, reason: str = "java.nio.BufferUnderflowException") -> _CorruptSnapshot:
    return _CorruptSnapshot(f"Snapshot failed schema validation: Error reading field '{field}': {reason}")
