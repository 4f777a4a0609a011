"""Configuration of a producer (`ProducerConfig`), and the outcome of its batches."""

from collections.abc import Sequence

import msgspec

from broker_core.errors import Errors
from broker_core.records.compression import CompressionType


class ProducerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The producer configurations in use: Kafka's names with `_` for `.`, Kafka's defaults; ms and bytes.

    `partitioner` is one of `partitioners.PARTITIONERS`; Kafka's newest is the one for a partitioner.class of null.
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
    #: The level of the codec, None = its default.
    compression_level: int | None = None
    #: Whether exceptions name the disconnected node, and say if it was a timeout, as clients do since 3.5.
    names_disconnected_nodes: bool = True


class ProduceResult(msgspec.Struct, frozen=True, gc=False):
    """The outcome of a batch. `exception`: the error's Java class, empty after a success. `base_offset` -1 with
    acks=0.
    """

    base_offset: int = -1
    exception: str = ""
    message: str = ""
    error: Errors = Errors.NONE


class SplitOutcomes:
    """Outcomes of batches whose result is kept. A split batch is complete when all its parts are: with the first
    failure, else with the first offset.
    """

    def __init__(self) -> None:
        self._whole: dict[int, int] = {}
        self._open: dict[int, int] = {}
        self._results: dict[int, ProduceResult] = {}

    def split(self, sequence: int, parts: Sequence[int]) -> None:
        """Records the parts of a batch, or of a part of one."""
        whole = self._whole.pop(sequence, sequence)
        self._open[whole] = self._open.get(whole, 1) - 1 + len(parts)
        self._whole |= dict.fromkeys(parts, whole)

    def ended(self, sequence: int, result: ProduceResult) -> tuple[int, ProduceResult] | None:
        """Records the outcome of a batch or part: returns the original batch and its outcome; None while parts are
        pending.
        """
        whole = self._whole.pop(sequence, None)
        if whole is None:
            return sequence, result
        known = self._results.setdefault(whole, result)
        if result.exception and not known.exception:
            self._results[whole] = result
        self._open[whole] -= 1
        if self._open[whole]:
            return None
        del self._open[whole]
        return whole, self._results.pop(whole)
