"""What a leader demands of a batch before it is written (`LogValidator`, `UnifiedLog.analyzeAndValidateRecords`).

Some things that one would expect are not checked, because Kafka 3.9 does not check them either: the offset deltas of
uncompressed records, unused attribute bits, the delete horizon bit. A wrong max timestamp is corrected silently.
"""

from broker_core.errors import KafkaError, KafkaException
from broker_core.log.config import LogConfig
from broker_core.records.compression import CompressionType, UnreadableRecords, compress
from broker_core.records.record import outline
from broker_core.records.record_batch import (
    HEADER,
    HEADER_BYTES,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME_FLAG,
    MAGIC_V2,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptRecord,
    InvalidRecord,
    TimestampType,
    assemble,
    encode_record,
    ensure_valid,
    iterate_records,
    records_bytes,
    with_max_timestamp,
)
from broker_core.records.varint import VarintTooLong

_SMALLEST_LENGTH_FIELD = 14


def read_single_batch(data: bytes, config: LogConfig) -> tuple[BatchHeader, bytes]:
    """The header of the one batch that a produce request brings, and its bytes without what follows them.

    Raises INVALID_RECORD, CORRUPT_MESSAGE or MESSAGE_TOO_LARGE.
    """
    length = int.from_bytes(data[8:12], "big", signed=True) if len(data) >= LENGTH_OVERHEAD else None
    if length is not None and length < _SMALLEST_LENGTH_FIELD:
        raise KafkaException(
            KafkaError.CORRUPT_MESSAGE,
            f"the batch's length field is {length}, at least {_SMALLEST_LENGTH_FIELD} expected",
        )
    if length is None or len(data) < length + LENGTH_OVERHEAD:
        raise KafkaException(KafkaError.INVALID_RECORD, "the request holds no complete batch")
    if data[16] != MAGIC_V2:
        kind = KafkaError.INVALID_RECORD if data[16] < MAGIC_V2 else KafkaError.CORRUPT_MESSAGE
        raise KafkaException(kind, f"the batch has magic {data[16]}, expected {MAGIC_V2}")
    size = length + LENGTH_OVERHEAD
    if len(data) > size:
        _refuse_second_batch(data, size)
        data = data[:size]
    if size < HEADER_BYTES:
        raise KafkaException(
            KafkaError.CORRUPT_MESSAGE, f"the batch claims {size} bytes, its header alone has {HEADER_BYTES}"
        )
    header = BatchHeader(*HEADER.unpack_from(data))
    if header.base_offset != 0:
        raise KafkaException(
            KafkaError.INVALID_RECORD, f"the batch's base offset is {header.base_offset}, a producer must send 0"
        )
    if size > config.max_message_bytes:
        raise KafkaException(
            KafkaError.MESSAGE_TOO_LARGE, f"the batch has {size} bytes, max.message.bytes is {config.max_message_bytes}"
        )
    check_crc(data, header)
    return header, data


def check_crc(data: bytes, header: BatchHeader, position: int = 0) -> None:
    """Raises CORRUPT_MESSAGE when the batch at `position` is damaged."""
    try:
        ensure_valid(data, header, position)
    except CorruptRecord as error:
        raise KafkaException(KafkaError.CORRUPT_MESSAGE, str(error)) from error


def validate(
    data: bytes, header: BatchHeader, config: LogConfig, now_ms: int, is_client: bool
) -> tuple[BatchHeader, bytes]:
    """Checks a batch's header and records; returns both as the leader will write them, offset and epoch not yet set.

    LogAppendTime puts `now_ms` into the batch; compression.type may change its codec. `is_client` is false for batches
    that the broker's own coordinators write, such as markers. Raises INVALID_RECORD, INVALID_TIMESTAMP,
    UNKNOWN_SERVER_ERROR (bytes that the codec cannot read) or MESSAGE_TOO_LARGE.
    """
    _check_header(header, config, is_client)
    target = config.target_compression
    if header.is_control or target is None or target == header.compression:
        max_timestamp = _check_records(data, header, config, now_ms)
        if config.timestamp_type is TimestampType.LOG_APPEND_TIME:
            max_timestamp = now_ms
        elif max_timestamp == header.max_timestamp and header.timestamp_type is TimestampType.CREATE_TIME:
            return header, data
        data = with_max_timestamp(data, config.timestamp_type, max_timestamp)
    else:
        data = _recompress(data, header, config, target, now_ms)
        if len(data) > config.max_message_bytes:
            raise KafkaException(
                KafkaError.MESSAGE_TOO_LARGE,
                f"the batch has {len(data)} bytes as {target.name.lower()}, "
                f"max.message.bytes is {config.max_message_bytes}",
            )
    return BatchHeader(*HEADER.unpack_from(data)), data


def _refuse_second_batch(data: bytes, position: int) -> None:
    """Bytes behind the first batch are dropped, unless they are a batch: a produce request may bring only one."""
    if len(data) < position + LENGTH_OVERHEAD + _SMALLEST_LENGTH_FIELD:
        return
    length = int.from_bytes(data[position + 8 : position + 12], "big", signed=True)
    if length < _SMALLEST_LENGTH_FIELD:
        raise KafkaException(
            KafkaError.CORRUPT_MESSAGE, f"the second batch's length field is {length}, which cannot be"
        )
    if position + length + LENGTH_OVERHEAD <= len(data):
        raise KafkaException(KafkaError.INVALID_RECORD, "the request holds more than one batch for the partition")


def _check_header(header: BatchHeader, config: LogConfig, is_client: bool) -> None:
    problem = ""
    if header.record_count <= 0:
        problem = f"the batch claims {header.record_count} records"
    elif header.record_count != header.last_offset_delta + 1:
        problem = (
            f"the batch claims {header.record_count} records and a last offset delta of {header.last_offset_delta}"
        )
    elif is_client and header.is_control:
        problem = "a client may not write control batches"
    elif is_client and header.producer_id != NO_PRODUCER_ID and header.base_sequence < 0:
        problem = f"producer {header.producer_id} sent the sequence number {header.base_sequence}"
    if problem:
        raise KafkaException(KafkaError.INVALID_RECORD, problem)
    if (
        config.timestamp_type is TimestampType.LOG_APPEND_TIME
        and header.timestamp_type is TimestampType.LOG_APPEND_TIME
        and is_client
    ):
        raise KafkaException(KafkaError.INVALID_TIMESTAMP, "a client may not claim LogAppendTime")


def _check_records(data: bytes, header: BatchHeader, config: LogConfig, now_ms: int) -> int:
    """Checks each record; returns the greatest of their timestamps."""
    try:
        outlines = list(outline(records_bytes(data, header), header.record_count))
    except UnreadableRecords as error:
        raise KafkaException(KafkaError.UNKNOWN_SERVER_ERROR, str(error)) from error
    except InvalidRecord as error:
        is_too_long = isinstance(error.__cause__, VarintTooLong)
        kind = KafkaError.UNKNOWN_SERVER_ERROR if is_too_long else KafkaError.INVALID_RECORD
        raise KafkaException(kind, str(error)) from error
    if header.compression and any(record[1] != delta for delta, record in enumerate(outlines)):
        raise KafkaException(KafkaError.UNKNOWN_SERVER_ERROR, "the offset deltas of compressed records must be dense")
    if config.is_compacted and not header.is_control:
        without_key = [index for index, record in enumerate(outlines) if record[3] < record[2]]
        if without_key:
            raise KafkaException(
                KafkaError.INVALID_RECORD, f"records {without_key} have no key, which a compacted topic needs"
            )
    if header.attributes & LOG_APPEND_TIME_FLAG:
        timestamps = [header.max_timestamp]
    else:
        timestamps = [header.base_timestamp + record[0] for record in outlines]
    if config.has_timestamp_window:
        _check_window(timestamps, config, now_ms)
    return max(NO_TIMESTAMP, *timestamps)


def _check_window(timestamps: list[int], config: LogConfig, now_ms: int) -> None:
    earliest = now_ms - config.message_timestamp_before_max_ms
    latest = now_ms + config.message_timestamp_after_max_ms
    for index, timestamp in enumerate(timestamps):
        if timestamp != NO_TIMESTAMP and not earliest <= timestamp <= latest:
            raise KafkaException(
                KafkaError.INVALID_TIMESTAMP,
                f"record {index} has timestamp {timestamp}, the topic allows {earliest} to {latest}",
            )


def _recompress(data: bytes, header: BatchHeader, config: LogConfig, target: CompressionType, now_ms: int) -> bytes:
    max_timestamp = _check_records(data, header, config, now_ms)
    records = list(iterate_records(data, header))
    base_timestamp = records[0].timestamp
    body = b"".join(
        encode_record(record.timestamp - base_timestamp, delta, record.key, record.value, record.headers)
        for delta, record in enumerate(records)
    )
    is_append_time = config.timestamp_type is TimestampType.LOG_APPEND_TIME
    return assemble(
        compress(target, body),
        base_offset=0,
        leader_epoch=header.partition_leader_epoch,
        attributes=header.attributes & 0x70 | config.timestamp_type << 3 | target,
        last_offset_delta=len(records) - 1,
        base_timestamp=base_timestamp,
        max_timestamp=now_ms if is_append_time else max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=len(records),
    )
