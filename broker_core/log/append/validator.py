"""Validation and conversion of batches before the leader appends them (`LogValidator`).

There are three outcomes. Batches in the log's own format and codec are assigned offsets, the leader epoch and, with
LogAppendTime, the time; their records are not changed. Others are rebuilt in the format of the log (messages of magic 0
and 1 become batches or the reverse) and with the codec of compression.type. The rest is rejected, with a message for
each record that is invalid.

Like Kafka 3.9, it does not check the offset deltas of uncompressed records, the lengths of compressed ones, or unused
attribute bits. A wrong max timestamp is corrected without an error.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from broker_core.config_defs import LONG_MAX
from broker_core.errors import Errors, KafkaException, RecordValidationException
from broker_core.log.config import LogConfig
from broker_core.records.compression import CompressionType, UnreadableRecords
from broker_core.records.legacy import (
    EmptyWrapper,
    LegacyRecord,
    build_message_set,
    read_message,
    with_offset,
    with_timestamp,
)
from broker_core.records.record import (
    NO_TIMESTAMP,
    CorruptRecord,
    InvalidRecord,
    Outline,
    OverlongLength,
    SimpleRecord,
    check_until_fault,
    outline,
    skim,
)
from broker_core.records.record_batch import (
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    MAGIC_V2,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    BatchHeader,
    TimestampType,
    build_batch,
    iterate,
    iterate_batches,
    parse_header,
    records_bytes,
    stamped_header,
    with_max_timestamp,
)
from broker_core.records.record_runs import RecordsSummary, summarize
from broker_core.texts import text

_LONG_MIN = -LONG_MAX - 1
_ERRORS_SHOWN = 3


class Append(msgspec.Struct, frozen=True, gc=False):
    """The batches to append, and the context of the append.

    `batches` are (position, header) of the complete batches in `data`, at least one; `codec` is that of the compressed
    ones. `is_client` is false for batches that the broker's own coordinators write, such as markers.
    """

    data: bytes
    batches: Sequence[tuple[int, BatchHeader]]
    codec: CompressionType
    next_offset: int
    leader_epoch: int
    now_ms: int
    is_client: bool


class ValidBatches(msgspec.Struct, frozen=True, gc=False):
    """The batches to write, with offsets and epochs: the bytes, and (position, header) of each batch in them.

    If `start` is not empty, it replaces the bytes at the beginning of `data`, so that a large batch is not copied only
    to set its offset.
    """

    data: bytes
    batches: Sequence[tuple[int, BatchHeader]]
    record_count: int
    start: bytes = b""

    @property
    def parts(self) -> tuple[bytes | memoryview, ...]:
        """The bytes, in pieces."""
        return (self.start, memoryview(self.data)[len(self.start) :]) if self.start else (self.data,)


class _Examined(NamedTuple):
    """The fields of a record that are validated; `text` is its name in Kafka's messages."""

    offset: int
    timestamp: int
    has_key: bool
    text: str
    has_magic: bool = True
    """Whether it has the magic of the batch or wrapper that holds it."""


class LogValidator:
    """The rules of one log, which follow from its configuration."""

    def __init__(self, config: LogConfig, topic_partition: str) -> None:
        self.config = config
        self.topic_partition = topic_partition
        self.magic = config.magic
        self.target = config.target_compression
        self.level = config.compression_level
        self.timestamp_type = config.timestamp_type
        self.has_append_time = config.timestamp_type is TimestampType.LOG_APPEND_TIME
        self.is_compacted = config.is_compacted
        self.has_window = config.has_timestamp_window
        # Before 0.11 the CRC of a message in a wrapper is not checked if the wrapper is rebuilt.
        self.checks_rebuilt = config.behaviour.newest_magic == MAGIC_V2

    def validate(self, append: Append) -> ValidBatches:
        """Checks batches whose framing and CRC are right, and returns them as the leader will write them.

        Raises KafkaException: INVALID_RECORD, INVALID_TIMESTAMP, CORRUPT_MESSAGE (a CRC within a wrapper),
        MESSAGE_TOO_LARGE (rebuilt batches), UNSUPPORTED_FOR_MESSAGE_FORMAT (producer ids in an old format), and
        UNKNOWN_SERVER_ERROR for what Kafka's code does not expect: bytes that the codec cannot read, headers that an
        old format does not have, negative timestamps.
        """
        try:
            return self._validate(append)
        except CorruptRecord as error:
            raise KafkaException(Errors.CORRUPT_MESSAGE, error.rule) from error
        except UnreadableRecords as error:
            raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, error.rule) from error
        except InvalidRecord as error:
            is_unexpected = isinstance(error, OverlongLength) and not append.codec
            kind = Errors.UNKNOWN_SERVER_ERROR if is_unexpected else Errors.INVALID_RECORD
            raise KafkaException(kind, error.rule) from error

    def _validate(self, append: Append) -> ValidBatches:
        first = append.batches[0][1]
        source = append.codec
        target = source if self.target is None else self.target
        is_single = len(append.batches) == 1
        mixes = self.config.behaviour.mixes_batches and first.magic < MAGIC_V2
        if not is_single and (first.magic >= MAGIC_V2 or source) and not mixes:
            raise InvalidRecord("the append holds more than one batch, or more than one compressed message")
        if source or target:
            # Control records are compressed only if they arrived compressed.
            keeps_codec = source == target or (first.is_control and not source)
            if not keeps_codec or first.magic != self.magic or self.magic == 0 or not is_single:
                return self._rebuild(append, target)
            return self._keep_batch(append, first) if first.magic == MAGIC_V2 else self._keep_wrapper(append, first)
        is_foreign = first.magic != self.magic
        if is_foreign or not (is_single or all(header.magic == self.magic for _, header in append.batches)):
            # All records are read before any is checked, because Kafka estimates the size of the result.
            deque(iterate(append.data), maxlen=0)
            return self._rebuild(append, target)
        return self._keep_batch(append, first) if self.magic == MAGIC_V2 else self._keep_messages(append)

    # without conversion

    def _keep_batch(self, append: Append, header: BatchHeader) -> ValidBatches:
        self._check_header(append, header)
        data = append.data
        if header.size < len(data):
            data = data[: header.size]
        if append.codec:
            max_timestamp, is_dense = self._check_records(append, header, records_bytes(data, header), 0)
            if not is_dense:
                raise UnreadableRecords("the offset deltas of compressed records must be dense")
        else:
            max_timestamp, _ = self._check_records(append, header, data, HEADER_BYTES)
        if self.has_append_time:
            max_timestamp = append.now_ms
        if max_timestamp != header.max_timestamp or self.has_append_time != header.has_append_time:
            keeps_horizon = self.config.behaviour.knows_delete_horizons
            data = with_max_timestamp(data, self.timestamp_type, max_timestamp, keeps_horizon=keeps_horizon)
        start = stamped_header(data, append.next_offset, append.leader_epoch)
        return ValidBatches(data, ((0, parse_header(start)),), header.record_count, start)

    def _keep_messages(self, append: Append) -> ValidBatches:
        kept: list[bytes] = []
        for position, header in append.batches:
            self._check_header(append, header)
            message = read_message(append.data, position)
            self._refuse(append, header, self._examine_messages(header, [message]))
            stored = append.data[position : position + header.size]
            offset = append.next_offset + len(kept)
            kept.append(self._stamp_message(append, stored, header, message.timestamp, offset))
        return _valid(b"".join(kept), len(kept))

    def _keep_wrapper(self, append: Append, header: BatchHeader) -> ValidBatches:
        self._check_header(append, header)
        messages = self._read_wrapper(append, header)
        if any(message.offset != index for index, message in enumerate(messages)):
            # Some old clients do not count inner offsets from 0: their sets are corrected, not rejected.
            return self._rebuild(append, append.codec)
        if not self.checks_rebuilt:
            for message in messages:
                message.ensure_valid()
        max_timestamp = max(message.timestamp for message in messages)
        last_offset = append.next_offset + len(messages) - 1
        stored = self._stamp_message(append, append.data[: header.size], header, max_timestamp, last_offset)
        return _valid(stored, len(messages))

    def _stamp_message(
        self, append: Append, message: bytes, header: BatchHeader, max_timestamp: int, offset: int
    ) -> bytes:
        if header.magic:
            timestamp = append.now_ms if self.has_append_time else max(max_timestamp, NO_TIMESTAMP)
            if timestamp != header.max_timestamp or header.has_append_time != self.has_append_time:
                message = with_timestamp(message, timestamp, self.has_append_time)
        return with_offset(message, offset)

    # rebuilt

    def _rebuild(self, append: Append, target: CompressionType) -> ValidBatches:
        records: list[SimpleRecord] = []
        for position, header in append.batches:
            records += self._read_batch(append, position, header)
        if any(record.timestamp < NO_TIMESTAMP for record in records):
            raise UnreadableRecords("a record that has to be written anew has a negative timestamp")
        build = self._build_batch if self.magic == MAGIC_V2 else self._build_messages
        valid = _valid(build(append, records, target), len(records))
        limit = self.config.max_message_bytes
        for _, header in valid.batches:
            if header.size > limit:
                raise KafkaException(
                    Errors.MESSAGE_TOO_LARGE,
                    text("refused.rewritten_too_large", size=header.size, max=limit),
                )
        return valid

    def _read_batch(self, append: Append, position: int, header: BatchHeader) -> list[SimpleRecord]:
        self._check_header(append, header)
        if header.magic < MAGIC_V2:
            if header.compression:
                messages = self._read_wrapper(append, header, position)
            else:
                messages = [read_message(append.data, position)]
                self._refuse(append, header, self._examine_messages(header, messages))
            return [SimpleRecord(message.timestamp, message.key, message.value) for message in messages]
        try:
            body = records_bytes(append.data, header)
        except UnreadableRecords as fault:
            check_until_fault(fault.read, header.record_count)
            raise
        outlines = outline(body, header.record_count)
        examined = list(_examine(header, outlines))
        self._refuse(append, header, examined)
        return [
            SimpleRecord(
                record.timestamp,
                None if key_end < key_at else body[key_at:key_end],
                None if value_end < value_at else body[value_at:value_end],
                headers,
            )
            for record, (_, _, key_at, key_end, value_at, value_end, headers) in zip(examined, outlines, strict=True)
        ]

    def _build_batch(self, append: Append, records: list[SimpleRecord], target: CompressionType) -> bytes:
        first = append.batches[0][1]
        if first.producer_id == NO_PRODUCER_ID:
            if first.is_transactional:
                raise UnreadableRecords("a batch of a transaction that has to be written anew needs a producer id")
        elif first.producer_epoch == NO_PRODUCER_EPOCH or first.base_sequence < 0:
            raise UnreadableRecords(
                f"producer {first.producer_id} sent epoch {first.producer_epoch} and sequence number "
                f"{first.base_sequence}: a batch that has to be written anew needs both"
            )
        return build_batch(
            records,
            base_offset=append.next_offset,
            leader_epoch=append.leader_epoch,
            append_time=append.now_ms if self.has_append_time else None,
            compression=target,
            compression_level=self.level,
            producer_id=first.producer_id,
            producer_epoch=first.producer_epoch,
            base_sequence=first.base_sequence,
            is_transactional=first.is_transactional,
        )

    def _build_messages(self, append: Append, records: list[SimpleRecord], target: CompressionType) -> bytes:
        if any(record.headers for record in records):
            raise UnreadableRecords(f"messages of magic {self.magic} cannot hold record headers")
        next_offset = append.next_offset
        return build_message_set(
            [
                (offset, record.timestamp, record.key, record.value)
                for offset, record in enumerate(records, next_offset)
            ],
            self.magic,
            target,
            append.now_ms if self.has_append_time else None,
            self.level,
        )

    # the checks

    def _check_header(self, append: Append, header: BatchHeader) -> None:
        first = append.batches[0][1]
        if header.magic != first.magic and not self.config.behaviour.mixes_batches:
            raise InvalidRecord(f"a batch has magic {header.magic}, the first of the append {first.magic}")
        if header.magic >= MAGIC_V2:
            count = header.record_count
            if count <= 0:
                raise InvalidRecord(f"the batch claims {count} records")
            if count != header.last_offset_delta + 1:
                raise InvalidRecord(
                    f"the batch claims {count} records and a last offset delta of {header.last_offset_delta}"
                )
        if append.is_client:
            if header.is_control:
                raise InvalidRecord("a client may not write control batches")
            if header.has_producer_id and header.base_sequence < 0:
                raise InvalidRecord(f"producer {header.producer_id} sent the sequence number {header.base_sequence}")
        if self.magic < MAGIC_V2 and (header.is_transactional or header.has_producer_id):
            raise KafkaException(
                Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT,
                text("refused.old_format", magic=self.magic),
            )

    def _check_records(self, append: Append, header: BatchHeader, body: bytes, at: int) -> tuple[int, bool]:
        """The highest timestamp of the unchanged records from `at` of `body`, and whether their offset deltas are
        dense.
        """
        count = header.record_count
        try:
            summary = summarize(body, count, at)
        except InvalidRecord:
            if not append.codec:
                raise
            outlines = skim(body, count)
        else:
            lowest, highest = _timestamp_range(header, summary)
            if self._is_beyond_doubt(append, header, summary, lowest, highest):
                return max(highest, NO_TIMESTAMP), summary.is_dense
            outlines = outline(body[at:], count)
        examined = list(_examine(header, outlines, is_partial=bool(append.codec)))
        self._refuse(append, header, examined)
        is_dense = all(record[1] == index for index, record in enumerate(outlines))
        return max(NO_TIMESTAMP, *(record.timestamp for record in examined)), is_dense

    def _is_beyond_doubt(
        self, append: Append, header: BatchHeader, summary: RecordsSummary, lowest: int, highest: int
    ) -> bool:
        """Whether no record has to be checked individually."""
        if self.is_compacted and summary.has_null_key:
            return False
        if header.attributes & LOG_APPEND_TIME_FLAG and (
            self.has_append_time or highest == NO_TIMESTAMP or self.config.behaviour.refuses_append_time
        ):
            return False
        if lowest < _LONG_MIN or highest > LONG_MAX:
            return False
        return not self.has_window or (
            lowest >= append.now_ms - self.config.before_max_ms and highest <= append.now_ms + self.config.after_max_ms
        )

    def _read_wrapper(self, append: Append, header: BatchHeader, position: int = 0) -> list[LegacyRecord]:
        """The messages in a compressed message of the append, checked."""
        messages = self._unpack(read_message(append.data, position))
        for message in messages:
            if message.magic == header.magic and self.checks_rebuilt:
                message.ensure_valid()
        self._refuse(append, header, self._examine_messages(header, messages))
        return messages

    def _unpack(self, wrapper: LegacyRecord) -> list[LegacyRecord]:
        """Before 0.11 an offset of the wrapper that contradicts those in it does not count."""
        try:
            return wrapper.records()
        except EmptyWrapper as error:
            if self.checks_rebuilt:
                raise
            raise UnreadableRecords(error.rule) from error
        except InvalidRecord:
            if self.checks_rebuilt or not wrapper.offset:
                raise
            return LegacyRecord(0, wrapper.content).records()

    def _examine_messages(self, header: BatchHeader, messages: Iterable[LegacyRecord]) -> list[_Examined]:
        needs_key = self.is_compacted
        return [
            _Examined(
                message.offset,
                message.timestamp,
                not needs_key or message.has_key,
                f"LegacyRecordBatch(offset={message.offset})",
                message.magic == header.magic,
            )
            for message in messages
        ]

    def _refuse(self, append: Append, header: BatchHeader, examined: Iterable[_Examined]) -> None:
        """Raises RecordValidationException when any record breaks a rule of the topic."""
        errors = []
        kinds = set()
        for index, record in enumerate(examined):
            found = self._error_of(append, header, record)
            if found is not None:
                kinds.add(found[0])
                errors.append((index, found[1]))
                if not self.config.behaviour.collects_record_errors:
                    break
        if not errors:
            return
        if Errors.INVALID_TIMESTAMP in kinds:
            message = "One or more records have been rejected due to invalid timestamp"
            raise RecordValidationException(Errors.INVALID_TIMESTAMP, message, tuple(errors))
        shown = ", ".join(f"RecordError(batchIndex={index}, message='{why}')" for index, why in errors[:_ERRORS_SHOWN])
        message = (
            f"One or more records have been rejected due to {len(errors)} record errors in total, "
            f"and only showing the first three errors at most: [{shown}]"
        )
        raise RecordValidationException(Errors.INVALID_RECORD, message, tuple(errors))

    def _needs_timestamp(self, header: BatchHeader) -> bool:
        is_old = header.magic == 0 and (self.magic == 0 or header.compression)
        return self.config.behaviour.checks_missing_timestamps and not is_old

    def _error_of(self, append: Append, header: BatchHeader, record: _Examined) -> tuple[Errors, str] | None:
        config, now_ms = self.config, append.now_ms
        if not record.has_magic:
            text = f"Record {record.text}'s magic does not match outer magic {header.magic}"
            return Errors.INVALID_RECORD, text
        if self.is_compacted and not record.has_key:
            text = f"Compacted topic cannot accept message without key in topic partition {self.topic_partition}"
            return Errors.INVALID_RECORD, text
        if not self.has_append_time and (record.timestamp != NO_TIMESTAMP or self._needs_timestamp(header)):
            before, after = config.before_max_ms, config.after_max_ms
            age = _as_long(now_ms - record.timestamp)
            if age > before or _as_long(-age) > after:
                return Errors.INVALID_TIMESTAMP, (
                    f"Timestamp {record.timestamp} of message with offset {record.offset} is out of range. "
                    f"The timestamp should be within [{_as_long(now_ms - before)}, {_as_long(now_ms + after)}]"
                )
            if not config.behaviour.refuses_append_time:
                return None
        if header.has_append_time:
            return Errors.INVALID_TIMESTAMP, (
                f"Invalid timestamp type in message {record.text}. "
                "Producer should not set timestamp type to LogAppendTime."
            )
        return None


def _valid(data: bytes, record_count: int) -> ValidBatches:
    return ValidBatches(data, tuple(iterate_batches(data)), record_count)


def _timestamp_range(header: BatchHeader, summary: RecordsSummary) -> tuple[int, int]:
    if header.attributes & LOG_APPEND_TIME_FLAG:
        return header.max_timestamp, header.max_timestamp
    base = header.base_timestamp
    return base + summary.lowest_timestamp_delta, base + summary.highest_timestamp_delta


def _examine(header: BatchHeader, outlines: Iterable[Outline], is_partial: bool = False) -> Iterable[_Examined]:
    """The records of a batch of magic 2; `is_partial` where Kafka does not read their keys and values."""
    append_time = header.max_timestamp if header.has_append_time else None
    name, smallest = ("PartialDefaultRecord", _LONG_MIN) if is_partial else ("DefaultRecord", 0)
    for timestamp_delta, offset_delta, key_at, key_end, value_at, value_end, _ in outlines:
        offset = header.base_offset + offset_delta
        timestamp = _as_long(header.base_timestamp + timestamp_delta) if append_time is None else append_time
        key_bytes, value_bytes = max(key_end - key_at, smallest), max(value_end - value_at, smallest)
        text = f"{name}(offset={offset}, timestamp={timestamp}, key={key_bytes} bytes, value={value_bytes} bytes)"
        yield _Examined(offset, timestamp, key_end >= key_at, text)


def _as_long(number: int) -> int:
    """Wraps a sum or difference to 64 bits, as Java does."""
    return (number - _LONG_MIN) % 2**64 + _LONG_MIN
