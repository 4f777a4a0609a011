"""The requests of idempotent and transactional producers, with Kafka's own field names (KIP-98, KIP-360, KIP-664,
KIP-890). `topic-partition` is one string.

Bodies have their `version` if it changes the response: older clients do not know PRODUCER_FENCED.
"""

import msgspec

from broker_core.errors import Errors

PartitionErrors = tuple[tuple[str, Errors], ...]
"""(topic-partition, its error)."""


class InitProducerIdRequest(msgspec.Struct, frozen=True, gc=False):
    """`transactional_id` None: a producer that is only idempotent. A producer that continues after an error sends its
    id and epoch (KIP-360).
    """

    transactional_id: str | None
    transaction_timeout_ms: int
    producer_id: int = -1
    producer_epoch: int = -1
    version: int = 5


class InitProducerIdResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE
    producer_id: int = -1
    producer_epoch: int = -1


class AddPartitionsToTxnTransaction(msgspec.Struct, frozen=True, gc=False):
    """One transaction. `verify_only`: nothing is added; the broker only checks which partitions were (KIP-890)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[str, ...]
    verify_only: bool = False


class AddPartitionsToTxnRequest(msgspec.Struct, frozen=True, gc=False):
    """Up to version 3 one transaction, from a client; from 4 on any number, from brokers."""

    transactions: tuple[AddPartitionsToTxnTransaction, ...]
    version: int = 4


class AddPartitionsToTxnResponse(msgspec.Struct, frozen=True, gc=False):
    """`results_by_transaction`: (transactional id, errors of its partitions), in the order of their decisions. `alike`:
    the indexes of the results with one error code, or none, for all requested partitions.
    """

    results_by_transaction: tuple[tuple[str, PartitionErrors], ...] = ()
    error: Errors = Errors.NONE
    alike: frozenset[int] = frozenset()


class AddOffsetsToTxnRequest(msgspec.Struct, frozen=True, gc=False):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str
    version: int = 4


class AddOffsetsToTxnResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE


class EndTxnRequest(msgspec.Struct, frozen=True, gc=False):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    version: int = 4


class EndTxnResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE


class TxnOffsetCommitRequest(msgspec.Struct, frozen=True, gc=False):
    """`partitions`: (topic-partition, offset of the next record, its leader epoch or -1, metadata)."""

    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[tuple[str, int, int, str], ...]
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    version: int = 4


class TxnOffsetCommitResponse(msgspec.Struct, frozen=True, gc=False):
    partitions: PartitionErrors


class WritableTxnMarker(msgspec.Struct, frozen=True, gc=False):
    """`transaction_result`: True = COMMIT."""

    producer_id: int
    producer_epoch: int
    transaction_result: bool
    partitions: tuple[str, ...]
    coordinator_epoch: int


class WriteTxnMarkersRequest(msgspec.Struct, frozen=True, gc=False):
    markers: tuple[WritableTxnMarker, ...]


class WriteTxnMarkersResponse(msgspec.Struct, frozen=True, gc=False):
    """`markers`: (producer id, errors of its partitions), in the order of the request."""

    markers: tuple[tuple[int, PartitionErrors], ...]


class DescribeTransactionsRequest(msgspec.Struct, frozen=True, gc=False):
    transactional_ids: tuple[str, ...]


class DescribedTransaction(msgspec.Struct, frozen=True, gc=False):
    """Times in ms; `transaction_start_time_ms` -1 = not started yet."""

    transactional_id: str
    error: Errors = Errors.NONE
    transaction_state: str = ""
    transaction_timeout_ms: int = 0
    transaction_start_time_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    partitions: tuple[str, ...] = ()


class DescribeTransactionsResponse(msgspec.Struct, frozen=True, gc=False):
    transaction_states: tuple[DescribedTransaction, ...]


class ListTransactionsRequest(msgspec.Struct, frozen=True, gc=False):
    """No filters = all. `duration_filter_ms`: only those open for longer (KIP-994); -1 = all."""

    state_filters: tuple[str, ...] = ()
    producer_id_filters: tuple[int, ...] = ()
    duration_filter_ms: int = -1


class ListTransactionsResponse(msgspec.Struct, frozen=True, gc=False):
    """`transaction_states`: (transactional id, producer id, state)."""

    error: Errors = Errors.NONE
    unknown_state_filters: tuple[str, ...] = ()
    transaction_states: tuple[tuple[str, int, str], ...] = ()


class DescribeProducersRequest(msgspec.Struct, frozen=True, gc=False):
    partitions: tuple[str, ...]


class ActiveProducer(msgspec.Struct, frozen=True, gc=False):
    """`last_timestamp` in ms; `coordinator_epoch` and `current_txn_start_offset` -1 = none."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_txn_start_offset: int


class DescribedProducers(msgspec.Struct, frozen=True, gc=False):
    partition: str
    error: Errors = Errors.NONE
    message: str | None = None
    active_producers: tuple[ActiveProducer, ...] = ()


class DescribeProducersResponse(msgspec.Struct, frozen=True, gc=False):
    partitions: tuple[DescribedProducers, ...]


class AllocateProducerIdsRequest(msgspec.Struct, frozen=True, gc=False):
    broker_id: int
    broker_epoch: int


class AllocateProducerIdsResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE
    producer_id_start: int = 0
    producer_id_len: int = 0
