"""What a producer knows of its id and its transaction (`clients.producer.internals.TransactionManager`).

A producer with idempotence asks for an id before its first batch. With a transactional id it finds the coordinator,
adds each partition before it writes there, and ends what it has begun; one request is under way at a time.
"""

from typing import Any, Protocol

from broker_core.clients.exceptions import exception_class, exception_message
from broker_core.clients.metadata import ClientMetadata, backoff_us
from broker_core.errors import Errors, KafkaError
from broker_core.events.transaction import ProducerStateChanged
from broker_core.sim.kernel import Kernel, Subjects, applies
from broker_core.wire.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
)

APIS = frozenset({"FindCoordinator", "InitProducerId", "AddPartitionsToTxn", "EndTxn"})
RETRY_TIMER = "transaction"
ADD_PARTITIONS_RETRY_US = 20_000
TRANSACTION = 1
ADD_PARTITIONS_VERSION = 3
EPOCH_MAX = 32_767
"""The last one of clients."""

_MOVED = frozenset({Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE})
_AGAIN = frozenset(
    {Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.CONCURRENT_TRANSACTIONS, Errors.UNKNOWN_TOPIC_OR_PARTITION}
)
_FENCED = frozenset({Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_EPOCH})


class TransactionalProducer(Protocol):
    """The producer."""

    kernel: Kernel
    name: str
    metadata: ClientMetadata

    def ids_changed(self) -> None:
        """It has an id now, or a partition was added: what waited for that may go."""

    def request_timeout_us(self) -> int: ...

    @property
    def has_unsent(self) -> bool:
        """Whether batches of the transaction are queued or under way."""


class TransactionManager:
    """See the module. `state`, `producer_id` and `producer_epoch` change by events alone.

    States: "" (not begun), initializing, ready, in transaction, committing, aborting, abortable error, fatal error.
    `error` is (exception class, message) of the last failure.
    """

    def __init__(self, producer: TransactionalProducer, transactional_id: str, timeout_ms: int) -> None:
        self.producer = producer
        self.transactional_id = transactional_id
        self.timeout_ms = timeout_ms
        self.state = ""
        self.why = ""
        self.producer_id = -1
        self.producer_epoch = -1
        self.error: tuple[str, str] | None = None
        #: partition -> sequence number of its next record
        self.sequences: dict[str, int] = {}
        #: the partitions of the transaction, and those still to be added
        self.added: dict[str, None] = {}
        self.to_add: dict[str, None] = {}
        self._coordinator: str | None = None
        self._is_asking = False
        self._attempts = 0
        #: the id and epoch that the next InitProducerId names: a batch was lost, so that numbers begin anew (KIP-360)
        self._raises: tuple[int, int] | None = None

    @property
    def is_broken(self) -> bool:
        """Whether nothing may be sent: the transaction can only be aborted, or the producer only be closed."""
        return self.state in ("fatal error", "abortable error")

    @property
    def has_ids(self) -> bool:
        """Whether batches can be numbered."""
        return self.producer_id >= 0

    def begin(self) -> None:
        """Asks for an id (`initTransactions`, or the first batch of a producer that is only idempotent)."""
        if not self.state:
            self._change("initializing", "it asks for a producer id")
            self._go_on()

    def begin_transaction(self) -> None:
        """What is sent from now on belongs to a transaction."""
        self.error = None
        self._change("in transaction", "the application begins a transaction")

    def end_transaction(self, *, commits: bool) -> None:
        """Commits, or aborts: once all batches are through."""
        self._change("committing" if commits else "aborting", "the application ends the transaction")
        self._go_on()

    def may_send(self, partition: str) -> bool:
        """Whether a batch for a partition may go now; what it needs first is asked for."""
        if not self.has_ids:
            self.begin()
            return False
        if not self.transactional_id or partition in self.added:
            return True
        if partition not in self.to_add:
            self.to_add[partition] = None
            self._go_on()
        return False

    def next_sequence(self, partition: str, count: int) -> int:
        """The sequence number of the first of `count` records."""
        sequence = self.sequences.get(partition, 0)
        self.sequences[partition] = (sequence + count) & 0x7FFFFFFF
        return sequence

    def batch_failed(self, error: KafkaError, message: str) -> None:
        """A batch is lost: its transaction can only be aborted; a fenced producer can do nothing any more."""
        self.error = (exception_class(error), self._fenced_text if error in _FENCED else message)
        if not self.transactional_id:
            self._begin_anew()
        elif error is Errors.PRODUCER_FENCED:
            self._change("fatal error", self.error[0])
        elif self.state in ("in transaction", "committing"):
            self._raises = (self.producer_id, self.producer_epoch)
            self._change("abortable error", self.error[0])

    def _begin_anew(self) -> None:
        """What comes next would leave a gap: numbers begin anew, in the next epoch (KIP-360)."""
        self.sequences.clear()
        why = "a batch is lost, so it begins anew"
        if self.producer_epoch < EPOCH_MAX:
            self._state("ready", why, self.producer_id, self.producer_epoch + 1)
        else:
            self._state("initializing", why, -1, -1)
            self._go_on()

    def batches_through(self) -> None:
        """Nothing is queued or under way any more."""
        if self.state in ("committing", "aborting"):
            self._go_on()

    # one request at a time

    def _go_on(self) -> None:
        if self._is_asking or self.state == "fatal error":
            return
        if self.state == "initializing":
            if self.transactional_id and self._coordinator is None:
                self._find_coordinator()
            else:
                node = self._coordinator or self.producer.metadata.node_to_ask()
                ids = self._raises or (-1, -1)
                request = InitProducerIdRequest(self.transactional_id or None, self.timeout_ms, *ids)
                self._ask(node, "InitProducerId", request)
        elif self.to_add or (self.state in ("committing", "aborting") and not self.producer.has_unsent):
            if not self.to_add and not self.added:
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
                is_commit = self.state == "committing"
                end = EndTxnRequest(self.transactional_id, self.producer_id, self.producer_epoch, is_commit)
                self._ask(self._coordinator, "EndTxn", end)

    def _find_coordinator(self) -> None:
        node = self.producer.metadata.node_to_ask()
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
        """A pause is over."""
        self._go_on()

    def on_disconnect(self, node: str) -> None:
        """A broker is gone, or does not answer in time."""
        self._is_asking = False
        self._coordinator = None
        self.producer.metadata.unreachable(node)
        self._later()

    def on_response(self, api: str, body: Any) -> None:
        """A broker answers."""
        self._is_asking = False
        error: KafkaError = body.error
        if api == "AddPartitionsToTxn":
            error = next((each for _, each in body.results_by_transaction[0][1] if each is not Errors.NONE), error)
        if error in _MOVED:
            self._coordinator = None
            self._later()
        elif error in _AGAIN:
            is_first = api == "AddPartitionsToTxn" and not self.added
            self._later(ADD_PARTITIONS_RETRY_US if is_first else None)
        elif error is not Errors.NONE:
            self._refused(error)
        else:
            self._attempts = 0
            self._succeeded(api, body)

    def _refused(self, error: KafkaError) -> None:
        self.error = (exception_class(error), exception_message(error))
        is_abortable = error is Errors.TRANSACTION_ABORTABLE
        self._change("abortable error" if is_abortable else "fatal error", self.error[0])
        self.producer.ids_changed()

    def _succeeded(self, api: str, body: Any) -> None:
        if api == "FindCoordinator":
            self._coordinator = f"b{body.node_id}"
        elif api == "InitProducerId":
            self._raises = None
            self._state("ready", "it has a producer id", body.producer_id, body.producer_epoch)
            self.sequences.clear()
            self.producer.ids_changed()
        elif api == "AddPartitionsToTxn":
            for name, _ in body.results_by_transaction[0][1]:
                self.to_add.pop(name, None)
                self.added[name] = None
            self.producer.ids_changed()
        else:
            self._ended()
        self._go_on()

    def _ended(self) -> None:
        self.added.clear()
        if self._raises is None:
            self._change("ready", "the transaction has ended")
        else:
            self._change("initializing", "a batch was lost, so it asks for the next epoch")
            self._go_on()

    @property
    def _fenced_text(self) -> str:
        return (
            f"Producer with transactionalId '{self.transactional_id}' and (producerId={self.producer_id}, "
            f"epoch={self.producer_epoch}) attempted to produce with an old epoch"
        )

    # facts

    def _change(self, state: str, why: str) -> None:
        self._state(state, why, self.producer_id, self.producer_epoch)

    def _state(self, state: str, why: str, producer_id: int, producer_epoch: int) -> None:
        self.producer.kernel.emit(
            ProducerStateChanged(
                client=self.producer.name,
                state=state,
                transactional_id=self.transactional_id,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                why=why,
            ),
            self.producer.name,
        )

    def description(self) -> dict[str, object]:
        """As the view shows it."""
        return {
            "state": self.state,
            "transactional_id": self.transactional_id if self.state else "",
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
            "why": self.why,
        }


@applies(ProducerStateChanged)
def _state_changed(subjects: Subjects, event: ProducerStateChanged, at_us: int) -> None:
    manager: TransactionManager = subjects[event.client].transactions
    manager.state = event.state
    manager.why = event.why
    manager.producer_id = event.producer_id
    manager.producer_epoch = event.producer_epoch
