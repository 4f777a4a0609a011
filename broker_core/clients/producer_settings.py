"""Configuration of a producer (`ProducerConfig`), and how one of its batches ends."""

import msgspec

from broker_core.errors import Errors
from broker_core.records.compression import CompressionType


class ProducerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The producer configurations that act here: Kafka's names with `_` for `.`, Kafka's defaults; ms and bytes.

    `partitioner` is one of `partitioners.PARTITIONERS`; Kafka's newest is what a partitioner.class of null gives.
    """

    acks: int = -1
    retries: int = 2147483647
    linger_ms: int = 0
    request_timeout_ms: int = 30_000
    delivery_timeout_ms: int = 120_000
    max_block_ms: int = 60_000
    max_in_flight_requests_per_connection: int = 5
    batch_size: int = 16_384
    buffer_memory: int = 33_554_432
    max_request_size: int = 1_048_576
    metadata_max_age_ms: int = 300_000
    partitioner: str = "built-in"
    partitioner_ignore_keys: bool = False
    enable_idempotence: bool = False
    transactional_id: str = ""
    transaction_timeout_ms: int = 60_000
    compression: CompressionType = CompressionType.NONE
    #: of the codec, None = its default
    compression_level: int | None = None
    #: whether it says from which node it was disconnected, and whether by a timeout, as clients do since 3.5
    names_disconnected_nodes: bool = True


class ProduceResult(msgspec.Struct, frozen=True, gc=False):
    """How a batch ended. `exception`: the error's Java class, empty after a success. `base_offset` -1 with acks=0."""

    base_offset: int = -1
    exception: str = ""
    message: str = ""
    error: Errors = Errors.NONE
