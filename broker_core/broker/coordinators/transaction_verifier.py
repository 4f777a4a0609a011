"""Verifies that a partition was added to the transaction of a producer (`AddPartitionsToTxnManager`, KIP-890).

Before a leader appends the first batch of a transaction, it asks the coordinator. Otherwise a batch that arrives after
the end of its transaction would begin one that never ends.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import msgspec

from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.replicas.replica_manager import ReplicaManager
from broker_core.eras import Era
from broker_core.errors import Errors
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.partitions import broker_node
from broker_core.records.record_batch import BatchHeader
from broker_core.sim.handlers import ResponseHandler
from broker_core.sim.kernel import Kernel, Message
from broker_core.texts import escape
from broker_core.transactions.coordinator import TransactionCoordinator
from broker_core.wire.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTransaction,
    ProducePartitionResponse,
    ProduceRequest,
    TxnOffsetCommitRequest,
)

CONTEXT = "verifier"
KNOWS_ABORTABLE = {"Produce": 11, "TxnOffsetCommit": 4}
"""From this version on clients know TRANSACTION_ABORTABLE."""
_NOT_ADDED = "Partition was not added to the transaction"
_NOT_VERIFIED = "Unable to verify the partition has been added to the transaction. Underlying error: {error}"
_RETRIABLE_AS_REPLICAS = frozenset(
    {
        Errors.CONCURRENT_TRANSACTIONS,
        Errors.NETWORK_EXCEPTION,
        Errors.COORDINATOR_LOAD_IN_PROGRESS,
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.NOT_COORDINATOR,
    }
)
"""Older producers would misinterpret these errors; NOT_ENOUGH_REPLICAS makes them retry, which is right."""


class ProducerSequence(NamedTuple):
    """The producer of a batch, and the first sequence number (-1 for a coordinator's batch)."""

    producer_id: int
    producer_epoch: int
    sequence: int

    @staticmethod
    def of(header: BatchHeader) -> "ProducerSequence":
        """What has to be verified of a batch."""
        return ProducerSequence(header.producer_id, header.producer_epoch, header.base_sequence)


class PendingVerification(msgspec.Struct, frozen=True):
    """A verification request, and the operation that waits for its response. `guards`: the partitions to verify, each
    with its verification guard, which a marker that arrives in the meantime invalidates.
    """

    message: Message
    guards: dict[str, tuple[int, int]]
    refused: Mapping[str, ProducePartitionResponse]


class VerifierHost(Protocol):
    """What the verifier needs of its broker."""

    kernel: Kernel
    name: str
    config: BrokerConfig
    era: Era
    metadata: MetadataCache
    replicas: ReplicaManager
    groups: GroupCoordinator


class TransactionVerifier:
    """The verification requests of one broker."""

    def __init__(self, host: VerifierHost, coordinator: TransactionCoordinator) -> None:
        self._host = host
        self._coordinator = coordinator

    @property
    def responses(self) -> dict[str, ResponseHandler]:
        """The handlers of responses to its requests, by context."""
        return {CONTEXT: ResponseHandler(self._on_response, self._on_disconnect)}

    @property
    def is_on(self) -> bool:
        """Whether transactions are verified."""
        host = self._host
        return host.era.transactions.are_verified and host.config.transactions.transaction_partition_verification_enable

    def guard(self, name: str, batch: ProducerSequence) -> tuple[int, int] | None:
        """The verification that must precede an append: (producer id, guard); None = none."""
        partition = self._host.replicas.partitions.get(name)
        if not self.is_on or partition is None or not partition.is_leader:
            return None
        guard = partition.log.producer_state.start_verification(*batch)
        return None if guard is None else (batch.producer_id, guard)

    def verify(self, verification: PendingVerification, transactional_id: str, batch: ProducerSequence) -> None:
        """Sends the verification; `verified` continues."""
        host = self._host
        state = host.metadata.partitions.get(self._coordinator.partition_of(transactional_id))
        if state is None or state.leader < 0:
            self._verified(verification, dict.fromkeys(verification.guards, Errors.COORDINATOR_NOT_AVAILABLE))
            return
        transaction = AddPartitionsToTxnTransaction(
            transactional_id, batch.producer_id, batch.producer_epoch, tuple(verification.guards), verify_only=True
        )
        host.kernel.request(
            host.name,
            broker_node(state.leader),
            "AddPartitionsToTxn",
            AddPartitionsToTxnRequest((transaction,)),
            label=f"label.verify?transaction={escape(transactional_id)}",
            fields=tuple((name, "label.is_added") for name in verification.guards),
            context=(CONTEXT, verification),
            timeout_us=host.config.request_timeout_ms * 1_000,
        )

    def _on_response(self, verification: PendingVerification, response: AddPartitionsToTxnResponse) -> None:
        knows = verification.message.body.version >= KNOWS_ABORTABLE[verification.message.api]
        errors = {name: _for_producer(error, knows) for name, error in response.results_by_transaction[0][1]}
        self._verified(verification, errors)

    def _on_disconnect(self, verification: PendingVerification) -> None:
        self._verified(verification, dict.fromkeys(verification.guards, Errors.NETWORK_EXCEPTION))

    def _verified(self, verification: PendingVerification, errors: dict[str, Errors]) -> None:
        for name, guard in verification.guards.items():
            if errors[name] is Errors.NONE and not self._holds(name, *guard):
                errors[name] = Errors.INVALID_TXN_STATE
        message = verification.message
        body: ProduceRequest | TxnOffsetCommitRequest = message.body
        if isinstance(body, ProduceRequest):
            refused = dict(verification.refused)
            refused |= {name: _refusal(name, error) for name, error in errors.items() if error is not Errors.NONE}
            self._host.replicas.produces.take(message, body, refused)
        else:
            (error,) = errors.values()
            self._host.groups.commit_in_transaction(message, body, error)

    def _holds(self, name: str, producer_id: int, guard: int) -> bool:
        partition = self._host.replicas.partitions.get(name)
        return partition is None or partition.log.producer_state.holds_guard(producer_id, guard)


def _for_producer(error: Errors, knows_abortable: bool) -> Errors:
    if error is Errors.PRODUCER_FENCED:
        return Errors.INVALID_PRODUCER_EPOCH
    if error is Errors.TRANSACTION_ABORTABLE and not knows_abortable:
        return Errors.INVALID_TXN_STATE
    return error


def _refusal(name: str, error: Errors) -> ProducePartitionResponse:
    if error in _RETRIABLE_AS_REPLICAS:
        text = _NOT_VERIFIED.format(error=error.name)
        return ProducePartitionResponse(name, Errors.NOT_ENOUGH_REPLICAS, message=text)
    return ProducePartitionResponse(name, error, message=_NOT_ADDED if error is Errors.INVALID_TXN_STATE else None)
