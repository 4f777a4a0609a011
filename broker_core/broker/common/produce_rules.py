"""Rules for a Produce request as a whole, and how its kind is determined from its first batches."""

from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.errors import Errors, KafkaException
from broker_core.log.append.append_check import batch_size_at
from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import COMPRESSION_MASK, MAGIC_POSITION, MAGIC_V2, TRANSACTIONAL_FLAG
from broker_core.wire.messages import ProduceRequest

ONE_BATCH_VERSION = 3
"""From this version on a producer sends one batch of magic 2 per partition."""
ZSTD_VERSION = 7
ATTRIBUTES_LOW_BYTE = 22


def has_fatal_null(metadata: MetadataCache, body: ProduceRequest) -> bool:
    """Whether the request has null records where Kafka fails on them without an error response: in an existing
    partition, and in any partition of a request that is rejected as a whole.
    """
    without = [name for name, data in body.partitions if data is None]
    if not without:
        return False
    return any(name in metadata.partitions for name in without) or refusal_of(metadata, body) is not None


def refusal_of(
    metadata: MetadataCache,
    body: ProduceRequest,
    *,
    checks_ids: bool = True,
    looks_for_zstd: bool = True,
    reads_old_versions: bool = True,
) -> KafkaException | None:
    """Why the request as a whole is rejected. `checks_ids`: a transactional batch needs the id in the request.
    `looks_for_zstd`: old versions fail on a codec without a name. `reads_old_versions`: batches are parsed before they
    are appended also in versions that allow several.
    """
    if body.version < ONE_BATCH_VERSION and not reads_old_versions:
        return None
    try:
        transactional = is_transactional(body)
    except KafkaException as unreadable:
        return unreadable
    if transactional and checks_ids and body.transactional_id is None:
        return KafkaException(Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if looks_for_zstd and ONE_BATCH_VERSION <= body.version < ZSTD_VERSION:
        known = (data for name, data in body.partitions if data and name in metadata.partitions)
        if any(map(_has_unknown_codec, known)):
            # These versions look for zstd, and fail on a codec without a name.
            return KafkaException(Errors.UNKNOWN_SERVER_ERROR)
    return None


def is_transactional(body: ProduceRequest) -> bool:
    """Raises KafkaException if no batch can be parsed."""
    return any(begins_transactional(data) for _, data in body.partitions if data is not None)


def _has_unknown_codec(data: bytes) -> bool:
    if batch_size_at(data, 0) is None or data[MAGIC_POSITION] != MAGIC_V2:
        return False
    return data[ATTRIBUTES_LOW_BYTE] & COMPRESSION_MASK > max(CompressionType)


def begins_transactional(data: bytes) -> bool:
    """Whether the first batch belongs to a transaction. Raises KafkaException if no batch can be parsed."""
    size = batch_size_at(data, 0)
    return (
        size is not None and data[MAGIC_POSITION] == MAGIC_V2 and bool(data[ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_FLAG)
    )


def check_single_batch(data: bytes, version: int, knows_zstd: bool = True) -> None:
    """The rules of `ProduceRequest.validateRecords` from version 3 on. Raises KafkaException."""
    size = batch_size_at(data, 0)
    if size is None:
        raise KafkaException(Errors.INVALID_RECORD, "the request holds no whole batch for the partition")
    if data[MAGIC_POSITION] != MAGIC_V2:
        raise KafkaException(Errors.INVALID_RECORD, f"the batch has magic {data[MAGIC_POSITION]}, expected 2")
    if knows_zstd and version < ZSTD_VERSION and data[ATTRIBUTES_LOW_BYTE] & COMPRESSION_MASK == CompressionType.ZSTD:
        raise KafkaException(Errors.UNSUPPORTED_COMPRESSION_TYPE)
    if batch_size_at(data, size) is not None:
        raise KafkaException(Errors.INVALID_RECORD, "the request holds more than one batch for the partition")
