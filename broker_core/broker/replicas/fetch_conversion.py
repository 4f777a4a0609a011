"""Conversion of fetch responses for versions older than the log's message format (`KafkaApis.handleFetchRequest`)."""

from msgspec import structs

from broker_core.errors import Errors
from broker_core.log import LogConfig
from broker_core.records.compression import CompressionType, UnreadableRecords
from broker_core.records.down_conversion import UnsupportedCompression, down_convert
from broker_core.records.record import CorruptRecord, InvalidRecord
from broker_core.wire.messages import FetchPartition, FetchPartitionResponse

CONVERSION_ENDS = 10
"""From this version on responses are not converted: its readers support every message format."""
SOFT_LIMIT_VERSION = 3
"""From this version on a first batch larger than requested is returned all the same (KIP-74)."""
_ZSTD_VERSION = 10
_STORAGE_ERROR_VERSION = 6
_MAGIC_2_VERSION, _MAGIC_1_VERSION = 4, 2


def convert(
    answer: FetchPartitionResponse, requested: FetchPartition, config: LogConfig, version: int, is_follower: bool
) -> FetchPartitionResponse:
    """The response as a reader of this version of Fetch supports it. `config` is the log's."""
    keeps_size = config.behaviour.converts_in_pieces
    if config.target_compression is CompressionType.ZSTD and version < _ZSTD_VERSION:
        return _unreadable(answer, Errors.UNSUPPORTED_COMPRESSION_TYPE)
    if answer.error is Errors.KAFKA_STORAGE_ERROR and version < _STORAGE_ERROR_VERSION:
        answer = structs.replace(answer, error=Errors.NOT_LEADER_OR_FOLLOWER)
    magic = 0 if version < _MAGIC_1_VERSION else 1 if version < _MAGIC_2_VERSION else 2
    if config.magic <= magic:
        return answer
    if not (is_follower or config.message_downconversion_enable):
        return _unreadable(answer, Errors.UNSUPPORTED_VERSION)
    try:
        records = down_convert(answer.records, magic, requested.fetch_offset, keeps_size=keeps_size)
    except UnsupportedCompression:
        return _unreadable(answer, Errors.UNSUPPORTED_COMPRESSION_TYPE)
    except CorruptRecord:
        return _unreadable(answer, Errors.CORRUPT_MESSAGE)
    except (InvalidRecord, UnreadableRecords):
        return _unreadable(answer, Errors.UNKNOWN_SERVER_ERROR)
    return structs.replace(answer, records=records)


def _unreadable(answer: FetchPartitionResponse, error: Errors) -> FetchPartitionResponse:
    """There are records, but not in a form that a reader of this version supports: no list of them, not even an empty
    one, and no aborted transactions.
    """
    return FetchPartitionResponse(answer.partition, error, aborted_transactions=(), unconverted=answer)
