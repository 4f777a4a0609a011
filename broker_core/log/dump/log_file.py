"""Dumps a `.log`: a line per batch, and with deep iteration a line per record (`DumpLogSegments.dumpLog`)."""

from collections.abc import Iterator

from broker_core.config_defs import INT_MAX
from broker_core.log.dump.batches import FileRecordBatch, FileRecords
from broker_core.log.dump.control import control_text
from broker_core.log.dump.decoders import Parser
from broker_core.log.dump.files import BufferedFile, Files, open_log
from broker_core.log.dump.findings import FindingsByFile
from broker_core.log.dump.java import Thrown, int64, parse_long
from broker_core.log.dump.legacy import read_messages
from broker_core.log.dump.records import DumpedRecord, read_records

SUFFIX = ".log"
SNAPSHOT_SUFFIX = ".checkpoint"
_BOOTSTRAP_SNAPSHOT = "bootstrap.checkpoint"
_PIECES_AT_ONCE = 1000
_LARGE_PIECE = 4096
_OFFSET_DIGITS = 20
_EPOCH_DIGITS = 10


class LogDump:
    """The options of a dump: which parts of each record are shown. `parser` is None if contents are not shown."""

    def __init__(
        self, parser: Parser | None, *, deep: bool, skip_record_metadata: bool, max_bytes: int, gaps: FindingsByFile
    ) -> None:
        self._parser = parser
        self._deep = deep
        self._skip_record_metadata = skip_record_metadata
        self._max_bytes = max_bytes
        self._gaps = gaps
        self._last_offset = -1

    def lines(self, files: Files, path: str) -> Iterator[str]:
        """Yields the text in pieces. Raises Thrown where the tool dies, after yielding what it has printed before."""
        name = path.rpartition("/")[2]
        yield _title(name)
        file = open_log(files, path)
        try:
            records = FileRecords(file, path, BufferedFile(file)).slice(0, self._max_bytes)
            valid_bytes = 0
            for batch in records.batches():
                yield from self._batch(batch, files.absolute(path))
                valid_bytes += batch.size
            if records.size > valid_bytes and self._max_bytes == INT_MAX:
                yield f"Found {records.size - valid_bytes} invalid bytes at the end of {name}\n"
        except Thrown as thrown:
            raise thrown.at(path) from None
        finally:
            file.close()

    def _batch(self, batch: FileRecordBatch, path: str) -> Iterator[str]:
        try:
            yield from batch.summary()
            yield "\n"
            if self._deep:
                yield from self._records(batch, path)
        except Thrown as thrown:
            raise batch.at(thrown) from None

    def _records(self, batch: FileRecordBatch, path: str) -> Iterator[str]:
        # Most records are small: their lines are yielded together.
        held: list[str] = []
        try:
            for record in records_of(batch):
                if self._last_offset != -1 and record.offset != int64(self._last_offset + 1):
                    self._gaps.add(path, self._last_offset, record.offset)
                self._last_offset = record.offset
                for text in self._record(batch, record):
                    held.append(text)
                    if len(held) >= _PIECES_AT_ONCE or len(text) >= _LARGE_PIECE:
                        yield "".join(held)
                        held.clear()
        except Thrown:
            yield "".join(held)
            raise
        yield "".join(held)

    def _record(self, batch: FileRecordBatch, record: DumpedRecord) -> Iterator[str]:
        prefix = "| "
        if not self._skip_record_metadata:
            if record.sizes_fault is not None:
                raise record.sizes_fault
            text = (
                f"| offset: {record.offset} {batch.timestamp_type}: {record.timestamp} "
                f"keySize: {record.key_size} valueSize: {record.value_size}"
            )
            if not batch.is_legacy:
                text += f" sequence: {record.sequence} headerKeys: [{','.join(record.header_keys)}]"
            if record.legacy is not None:
                is_valid, crc = record.legacy
                # Kafka's tool also prints the second brace.
                text += f" isValid: {'true' if is_valid else 'false'} crc: {crc}}}"
            yield text
            prefix = " "
            if batch.is_control:
                yield control_text(record)
        if self._parser is not None and not batch.is_control:
            if record.content_fault is not None:
                raise record.content_fault
            key, payload = self._parser(record)
            if key is not None:
                yield f"{prefix}key: "
                yield from key
            if payload is not None:
                yield " payload: "
                yield from payload
        yield "\n"


def records_of(batch: FileRecordBatch) -> Iterator[DumpedRecord]:
    """The records of a batch of any magic. Raises Thrown."""
    return read_messages(batch) if batch.is_legacy else read_records(batch)


def _title(name: str) -> str:
    if name.endswith(SUFFIX):
        return f"Log starting offset: {parse_long(name.partition('.')[0])}\n"
    if name == _BOOTSTRAP_SNAPSHOT:
        return "KRaft bootstrap snapshot\n"
    if len(name) < _OFFSET_DIGITS:
        rule = f"a snapshot's name has an offset of {_OFFSET_DIGITS} digits and an epoch of {_EPOCH_DIGITS}"
        message = f"begin 0, end {_OFFSET_DIGITS}, length {len(name)}"
        raise Thrown("java.lang.StringIndexOutOfBoundsException", message, rule)
    offset = parse_long(name[:_OFFSET_DIGITS])
    start, end = _OFFSET_DIGITS + 1, _OFFSET_DIGITS + 1 + _EPOCH_DIGITS
    if len(name) < end:
        rule = f"a snapshot's name has an offset of {_OFFSET_DIGITS} digits and an epoch of {_EPOCH_DIGITS}"
        message = f"begin {start}, end {end}, length {len(name)}"
        raise Thrown("java.lang.StringIndexOutOfBoundsException", message, rule)
    return f"Snapshot end offset: {offset}, epoch: {parse_long(name[start:end])}\n"
