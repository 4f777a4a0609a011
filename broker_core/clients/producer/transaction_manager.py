"""A producer's id and transaction (`clients.producer.internals.TransactionManager`).

An idempotent producer requests an id before its first batch. With a transactional id it finds the coordinator, adds
each partition before writing to it, and ends its transactions; one request is in flight at a time.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from broker_core.clients.exceptions import COORDINATOR_MOVED, exception_class, exception_message
from broker_core.clients.metadata import ClientMetadata, backoff_us
from broker_core.clients.producer.accumulator import ProducerBatch
from broker_core.clients.producer.sequence_numbers import SequenceNumbers
from broker_core.clients.producer.states import ProducerState
from broker_core.clients.producer.transactional_offsets import (
    MEMBER_EXCEPTION,
    TransactionalOffsets,
    commit_error,
    is_mismatch,
    mismatch_text,
)
from broker_core.errors import Errors
from broker_core.events.transaction import ProducerStateChanged
from broker_core.partitions import broker_node
from broker_core.sim.kernel import Kernel, Subjects, applies
from broker_core.wire.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
)

APIS = frozenset(
    {"FindCoordinator", "InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"}
)
RETRY_TIMER = "transaction"
ADD_PARTITIONS_RETRY_US = 20_000
TRANSACTION = 1
MAX_EPOCH = 32_767
"""The last epoch of clients."""
ADD_PARTITIONS_VERSION = 3

_AGAIN = frozenset(
    {Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.CONCURRENT_TRANSACTIONS, Errors.UNKNOWN_TOPIC_OR_PARTITION}
)
_FORESEEN = frozenset({Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_EPOCH, Errors.TRANSACTION_ABORTABLE})
"""Errors for which the client has its own message in InitProducerId."""
_UNKNOWN_IDS = frozenset({Errors.INVALID_PRODUCER_ID_MAPPING, Errors.UNKNOWN_PRODUCER_ID})
"""The coordinator has no such id any more: the producer gets another one, once the transaction is aborted."""
_FENCED = frozenset({Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_EPOCH})
_ENDING = (ProducerState.COMMITTING_TRANSACTION, ProducerState.ABORTING_TRANSACTION)


class TransactionalProducer(Protocol):
    """The producer."""

    kernel: Kernel
    name: str
    metadata: ClientMetadata

    def ids_changed(self) -> None:
        """It has an id now, or a partition was added: batches that waited for that may be sent."""

    def request_timeout_us(self) -> int: ...

    @property
    def has_unsent(self) -> bool:
        """Whether batches of the transaction are queued or in flight."""

    def numbered_batches(self, partition: str) -> Sequence[ProducerBatch]:
        """The batches of a partition that have sequence numbers and are not complete, oldest first."""


class TransactionManager:
    """See the module. `state`, `producer_id` and `producer_epoch` are changed only by events.

    `error` is (exception class, message) of the last failure.
    """

    def __init__(self, producer: TransactionalProducer, transactional_id: str, timeout_ms: int) -> None:
        self.producer = producer
        self.transactional_id = transactional_id
        self.timeout_ms = timeout_ms
        self.state = ProducerState.UNINITIALIZED
        self.why = ""
        self.producer_id = -1
        self.producer_epoch = -1
        self.error: tuple[str, str] | None = None
        self.numbers = SequenceNumbers()
        #: The partitions of the transaction, and those still to be added.
        self.added: dict[str, None] = {}
        self.to_add: dict[str, None] = {}
        #: The last call of sendOffsetsToTransaction in this transaction.
        self.offsets: TransactionalOffsets | None = None
        #: The method whose caller has timed out, and must call it again before any other.
        self.timed_out = ""
        self._coordinator: str | None = None
        self._is_asking = False
        self._attempts = 0
        #: The id and epoch that the next InitProducerId names: a batch failed, so sequence numbers restart (KIP-360).
        self._raises: tuple[int, int] | None = None

    @property
    def is_broken(self) -> bool:
        """Whether nothing may be sent: the transaction can only be aborted, or the producer only be closed."""
        return self.state in (ProducerState.FATAL_ERROR, ProducerState.ABORTABLE_ERROR)

    @property
    def has_ids(self) -> bool:
        """Whether batches can get sequence numbers."""
        return self.producer_id >= 0

    def begin(self) -> None:
        """Requests an id (`initTransactions`, or the first batch of a producer that is only idempotent)."""
        if self.state is ProducerState.UNINITIALIZED:
            self._change(ProducerState.INITIALIZING, "reason.wants_producer_id")
            self._continue()

    def begin_transaction(self) -> None:
        """Records sent from now on belong to a transaction."""
        self.error = None
        self._change(ProducerState.IN_TRANSACTION, "reason.transaction_begun")

    def send_offsets(self, offsets: TransactionalOffsets) -> None:
        """Commits offsets of a group with the transaction."""
        self.offsets = offsets
        self._continue()

    def note(self, partition: str) -> None:
        """A record for a partition was appended (`maybeAddPartition`). One appended outside of a transaction waits
        until the next transaction writes to that partition, or until it expires.
        """
        if self.state is ProducerState.IN_TRANSACTION and partition not in self.added and partition not in self.to_add:
            self.to_add[partition] = None
            self._continue()

    def send_failed(self, exception: str, message: str) -> str:
        """A record was rejected: its transaction can only be aborted. Returns the text of another exception that is
        thrown instead if there is no transaction to abort.
        """
        self._raises = (self.producer_id, self.producer_epoch)
        if self.state is not ProducerState.IN_TRANSACTION:
            return f"IllegalStateException: {self.invalid_transition(ProducerState.ABORTABLE_ERROR)}"
        self.error = (exception, message)
        self._change(ProducerState.ABORTABLE_ERROR, exception)
        return ""

    def invalid_transition(self, state: ProducerState) -> str:
        """Kafka's message for an invalid state transition."""
        return (
            f"TransactionalId {self.transactional_id}: Invalid transition attempted from state "
            f"{self.state.name} to state {state.name}"
        )

    def end_transaction(self, *, commits: bool) -> None:
        """Commits or aborts, once all batches are complete."""
        ending = ProducerState.COMMITTING_TRANSACTION if commits else ProducerState.ABORTING_TRANSACTION
        self._change(ending, "reason.transaction_end_requested")
        if self.error is not None and self.error[0] == exception_class(Errors.INVALID_PRODUCER_ID_MAPPING):
            # A coordinator that does not know the id would not end its transaction.
            self.to_add.clear()
            self._ended()
        else:
            self._continue()

    def why_not_send(self, partition: str) -> str:
        """What a new batch for a partition has to wait for, as in RecordsGathered; empty if it may be sent. Requests
        what it needs.
        """
        if not self.has_ids:
            if not self.transactional_id:
                self.begin()  # A transactional producer calls initTransactions for that.
            return "producer id"
        if self.transactional_id and partition not in self.added:
            return "transaction"
        ids = (self.producer_id, self.producer_epoch)
        is_stale = self.numbers.is_stale(partition, ids) and bool(self.producer.numbered_batches(partition))
        return "numbers" if is_stale or partition in self.numbers.unresolved else ""

    def numbers_of(self, batch: ProducerBatch) -> tuple[int, int, int]:
        """The producer's id, epoch and next number, for a batch that is being closed."""
        first = self.numbers.take(batch.partition, batch.count, (self.producer_id, self.producer_epoch))
        return self.producer_id, self.producer_epoch, first

    def may_repeat(self, batch: ProducerBatch, sent: tuple[int, int]) -> bool:
        """Whether a batch refused as out of order is retried (`TransactionManager.canRetry`). `sent`: the epoch and
        sequence number it was sent with.
        """
        partition = batch.partition
        is_renumbered = sent != (batch.producer_epoch, batch.base_sequence)
        if partition not in self.numbers.unresolved and (
            is_renumbered or not self.numbers.follows_acknowledged(partition, batch.base_sequence)
        ):
            return True
        if self.transactional_id:
            return False
        self._restart_sequences(partition, batch)
        return True

    def batch_failed(self, batch: ProducerBatch, error: Errors, message: str) -> None:
        """A batch has failed: its transaction can only be aborted; without one, if it had sequence numbers, those of
        the partition restart as soon as none of its batches is in flight. A fenced producer can do nothing more, nor
        can one that failed with a fatal error outside of a transaction (`shouldPoisonState`).
        """
        if not self.transactional_id:
            if batch.base_sequence < 0:
                return
            if error is Errors.REQUEST_TIMED_OUT:
                self.numbers.unresolved[batch.partition] = None
            else:
                self._restart_sequences(batch.partition)
            return
        self.error = (exception_class(error), self._fenced_text if error in _FENCED else message)
        if error is Errors.PRODUCER_FENCED:
            self._change(ProducerState.FATAL_ERROR, self.error[0])
        elif self.state in (ProducerState.IN_TRANSACTION, ProducerState.COMMITTING_TRANSACTION):
            if self.state is ProducerState.IN_TRANSACTION:
                self._raises = (self.producer_id, self.producer_epoch)
            self._change(ProducerState.ABORTABLE_ERROR, self.error[0])
        elif self.state in (ProducerState.UNINITIALIZED, ProducerState.READY):
            self.error = ("IllegalStateException", self.invalid_transition(ProducerState.ABORTABLE_ERROR))
            self._change(ProducerState.FATAL_ERROR, self.error[0])

    def resolve(self) -> None:
        """Resolves batches that expired, once no batch of their partitions is in flight."""
        for partition in list(self.numbers.unresolved):
            if self.producer.numbered_batches(partition):
                continue
            if self.numbers.nothing_is_missing(partition):
                del self.numbers.unresolved[partition]
            elif not self.transactional_id:
                self._restart_sequences(partition)

    def _restart_sequences(self, partition: str, refused: ProducerBatch | None = None) -> None:
        """Increments the epoch locally (`bumpIdempotentProducerEpoch`); after the last epoch it requests another id."""
        if self.producer_epoch >= MAX_EPOCH:
            self._state(ProducerState.INITIALIZING, "reason.epochs_exhausted", -1, -1)
            self.numbers.unresolved.pop(partition, None)
            self._continue()
            return
        epoch = self.producer_epoch + 1
        self._state(ProducerState.READY, f"reason.sequence_reset?partition={partition}", self.producer_id, epoch)
        in_flight = [*([] if refused is None else [refused]), *self.producer.numbered_batches(partition)]
        in_flight.sort(key=lambda batch: batch.sequence)
        self.numbers.restart(partition, in_flight, (self.producer_id, epoch))

    def all_batches_done(self) -> None:
        """Called when no batch is queued or in flight: a transaction that is ending can send EndTxn."""
        if self.state in _ENDING:
            self._continue()

    # Requests, one at a time.

    def _continue(self) -> None:
        if self._is_asking or self.state is ProducerState.FATAL_ERROR:
            return
        if self.state is ProducerState.INITIALIZING:
            if self.transactional_id and self._coordinator is None:
                self._find_coordinator()
            else:
                node = self._coordinator or self.producer.metadata.node_for_request()
                ids = self._raises or (-1, -1)
                request = InitProducerIdRequest(self.transactional_id or None, self.timeout_ms, *ids)
                self._ask(node, "InitProducerId", request)
        elif self._waiting_offsets is not None and not self.to_add:
            self._send_offsets(self._waiting_offsets)
        elif self.to_add or (self.state in _ENDING and not self.producer.has_unsent):
            if not self.to_add and not self.added and self.offsets is None:
                self._ended()
            elif self._coordinator is None:
                self._find_coordinator()
            elif self.to_add:
                transaction = AddPartitionsToTxnTransaction(
                    self.transactional_id, self.producer_id, self.producer_epoch, tuple(self.to_add)
                )
                to_add = AddPartitionsToTxnRequest((transaction,), ADD_PARTITIONS_VERSION)
                self._ask(self._coordinator, "AddPartitionsToTxn", to_add)
            else:
                is_commit = self.state is ProducerState.COMMITTING_TRANSACTION
                end = EndTxnRequest(self.transactional_id, self.producer_id, self.producer_epoch, is_commit)
                self._ask(self._coordinator, "EndTxn", end)

    @property
    def _waiting_offsets(self) -> TransactionalOffsets | None:
        offsets = self.offsets
        return None if offsets is None or offsets.is_done or self.state is not ProducerState.IN_TRANSACTION else offsets

    def _send_offsets(self, offsets: TransactionalOffsets) -> None:
        if self._coordinator is None:
            self._find_coordinator()
            return
        api, body = offsets.next_request(self.transactional_id, self.producer_id, self.producer_epoch)
        nodes = {"AddOffsetsToTxn": self._coordinator, "FindCoordinator": self.producer.metadata.node_for_request()}
        self._ask(nodes.get(api) or str(offsets.coordinator), api, body)

    def _find_coordinator(self) -> None:
        node = self.producer.metadata.node_for_request()
        self._ask(node, "FindCoordinator", FindCoordinatorRequest(self.transactional_id, TRANSACTION))

    def _ask(self, node: str, api: str, body: object) -> None:
        self._is_asking = True
        self.producer.kernel.request(
            self.producer.name,
            node,
            api,
            body,
            label=f"{api} {self.transactional_id}".strip(),
            context=node,
            timeout_us=self.producer.request_timeout_us(),
        )

    def _later(self, delay_us: int | None = None) -> None:
        self._attempts += 1
        due_us = self.producer.kernel.now_us + (delay_us or backoff_us(self._attempts))
        self.producer.kernel.timer(self.producer.name, due_us, RETRY_TIMER)

    def on_timer(self) -> None:
        """Called when a backoff has ended."""
        self._continue()

    def on_disconnect(self, node: str) -> None:
        """Called when a broker has closed the connection, or did not respond in time."""
        self._is_asking = False
        self._coordinator = None
        if self.offsets is not None:
            self.offsets.coordinator = None
        self.producer.metadata.unreachable(node)
        self._later()

    def on_response(self, api: str, body: Any) -> None:
        """A broker answers."""
        self._is_asking = False
        if api == "TxnOffsetCommit":
            self._offsets_answered(commit_error(body))
            return
        error: Errors = body.error
        if api == "AddPartitionsToTxn":
            error = next((each for _, each in body.results_by_transaction[0][1] if each is not Errors.NONE), error)
        if error in COORDINATOR_MOVED:
            self._coordinator = None
            self._later()
        elif error in _AGAIN:
            is_first = api == "AddPartitionsToTxn" and not self.added
            self._later(ADD_PARTITIONS_RETRY_US if is_first else None)
        elif error is not Errors.NONE:
            self._refused(error, api)
        else:
            self._attempts = 0
            self._succeeded(api, body)

    def _offsets_answered(self, error: Errors) -> None:
        offsets = self.offsets
        if offsets is None:
            return
        if error in COORDINATOR_MOVED:
            offsets.coordinator = None
            self._later()
        elif error in _AGAIN:
            self._later()
        elif is_mismatch(error):
            self.error = (MEMBER_EXCEPTION, mismatch_text(error))
            self._change(ProducerState.ABORTABLE_ERROR, MEMBER_EXCEPTION)
        elif error is not Errors.NONE:
            self._refused(error, "TxnOffsetCommit")
        else:
            self._attempts = 0
            offsets.is_done = True
            self._continue()

    def _refused(self, error: Errors, api: str) -> None:
        self.error = (exception_class(error), exception_message(error))
        if api == "InitProducerId" and error not in _FORESEEN:
            self.error = ("KafkaException", f"Unexpected error in InitProducerIdResponse; {self.error[1]}")
        is_abortable = error is Errors.TRANSACTION_ABORTABLE
        if error in _UNKNOWN_IDS and api != "InitProducerId":
            self._raises = (self.producer_id, self.producer_epoch)
            is_abortable = True
        self._change(ProducerState.ABORTABLE_ERROR if is_abortable else ProducerState.FATAL_ERROR, self.error[0])
        self.producer.ids_changed()

    def _succeeded(self, api: str, body: Any) -> None:
        if api == "FindCoordinator":
            if self._waiting_offsets is not None and self._coordinator is not None:
                self._waiting_offsets.coordinator = broker_node(body.node_id)
            else:
                self._coordinator = broker_node(body.node_id)
        elif api == "AddOffsetsToTxn":
            if self.offsets is not None:
                self.offsets.is_added = True
        elif api == "InitProducerId":
            self._raises = None
            self._state(ProducerState.READY, "reason.producer_id_received", body.producer_id, body.producer_epoch)
            if self.transactional_id:
                self.numbers.clear()
            self.producer.ids_changed()
        elif api == "AddPartitionsToTxn":
            for name, _ in body.results_by_transaction[0][1]:
                self.to_add.pop(name, None)
                self.added[name] = None
            self.producer.ids_changed()
        else:
            self._ended()
        self._continue()

    def _ended(self) -> None:
        self.added.clear()
        self.offsets = None
        if self._raises is None:
            self._change(ProducerState.READY, "reason.transaction_ended")
        else:
            self._change(ProducerState.INITIALIZING, "reason.wants_next_epoch")
            self._continue()

    @property
    def _fenced_text(self) -> str:
        return (
            f"Producer with transactionalId '{self.transactional_id}' and (producerId={self.producer_id}, "
            f"epoch={self.producer_epoch}) attempted to produce with an old epoch"
        )

    # Events.

    def _change(self, state: ProducerState, why: str) -> None:
        self._state(state, why, self.producer_id, self.producer_epoch)

    def _state(self, state: ProducerState, why: str, producer_id: int, producer_epoch: int) -> None:
        self.producer.kernel.emit(
            ProducerStateChanged(
                client=self.producer.name,
                state=state.value,
                transactional_id=self.transactional_id,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                why=why,
            ),
            self.producer.name,
        )

    def description(self) -> dict[str, object]:
        """This producer's transaction as shown in the view."""
        return {
            "state": self.state.value,
            "transactional_id": self.transactional_id if self.state else "",
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
            "why": self.why,
        }


@applies(ProducerStateChanged)
def _state_changed(subjects: Subjects, event: ProducerStateChanged, at_us: int) -> None:
    manager: TransactionManager = subjects[event.client].transactions
    manager.state = ProducerState(event.state)
    manager.why = event.why
    manager.producer_id = event.producer_id
    manager.producer_epoch = event.producer_epoch
