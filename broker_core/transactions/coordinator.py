"""The transaction coordinator of a broker (`kafka.coordinator.transaction.TransactionCoordinator`).

It manages the transactional ids whose partition of `__transaction_state` this broker leads. Each transition is written
there first; it takes effect, and its request is answered, once the record is committed. On election the log is replayed
and decided transactions are completed; on resignation the state is dropped.
"""

from typing import Any

import msgspec

from broker_core.errors import Errors
from broker_core.events.envelope import Event
from broker_core.events.transaction import TransactionsUnloaded, TransactionTransitioned
from broker_core.groups.offsets import partition_for
from broker_core.partitions import partition_name
from broker_core.records.record_batch import build_batch
from broker_core.sim.handlers import TimerHandler, Unpacked
from broker_core.sim.kernel import Message, Subjects, applies
from broker_core.texts import escape
from broker_core.topics import TRANSACTION_TOPIC
from broker_core.transactions.host import AddRequest, Then, TransactionHost, TransactionStore
from broker_core.transactions.loading import TIMER_PREFIX, Partitions
from broker_core.transactions.log import encode_key, encode_value
from broker_core.transactions.metadata import (
    LAST_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TransactionMetadata,
    Transit,
)
from broker_core.transactions.states import PREPARED, TransactionState
from broker_core.wire.messages import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTransaction,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    PartitionErrors,
)

_State = TransactionState

_TRANSLATED = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.REQUEST_TIMED_OUT: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_LEADER_OR_FOLLOWER: Errors.NOT_COORDINATOR,
    Errors.KAFKA_STORAGE_ERROR: Errors.NOT_COORDINATOR,
    Errors.MESSAGE_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.RECORD_LIST_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
}
_DECISIONS = {True: _State.PREPARE_COMMIT, False: _State.PREPARE_ABORT}
ABORT_TIMED_OUT_TIMER = TIMER_PREFIX + "abort_timed_out"
REMOVE_EXPIRED_TIMER = TIMER_PREFIX + "remove_expired"
COMPLETE_AGAIN_TIMER = TIMER_PREFIX + "complete_again"


class TransactionCoordinator:
    """See the module."""

    def __init__(self, host: TransactionHost) -> None:
        self.host = host
        self.transactions: dict[str, TransactionMetadata] = {}
        self.partitions = Partitions(host, self._take_in)
        self._is_watching = False

    # elections and resignations

    def on_election(self, partition: str, leader_epoch: int) -> None:
        """Starts coordinating a partition of `__transaction_state`: replays its log."""
        if not self.partitions.knows(partition, leader_epoch):
            self.on_resignation(partition)
            self.partitions.begin(partition, leader_epoch)

    def _take_in(self, loaded: dict[str, Transit], leader_epoch: int) -> None:
        """Adds the ids of a loaded partition, and completes decided transactions."""
        for transactional_id, transit in loaded.items():
            metadata = self._create(transactional_id, transit.timeout_ms)
            metadata.current = msgspec.structs.replace(transit, state=_State.EMPTY)
            self._transitioned(metadata, transit, "reason.loaded", from_state="")
        for transactional_id, transit in loaded.items():
            if transit.state in PREPARED:
                metadata = self.transactions[transactional_id]
                metadata.complete(self.host.wall_ms)
                self.host.send_markers(metadata, leader_epoch)
        if not self._is_watching:
            self._is_watching = True
            self._watch_timeouts()
            self._watch_expiry()

    def on_resignation(self, partition: str) -> None:
        """Stops coordinating a partition: drops its transactional ids."""
        if self.partitions.status(partition) is Errors.NOT_COORDINATOR:
            return
        gone = tuple(each.transactional_id for each in self.transactions.values() if each.log_partition == partition)
        self.partitions.end(partition)
        self.host.forget_markers(partition)
        self._emit(TransactionsUnloaded(broker=self.host.name, partition=partition, transactional_ids=gone))

    def partition_of(self, transactional_id: str) -> str:
        """The partition of a transactional id, whether it exists or not."""
        return partition_name(TRANSACTION_TOPIC, partition_for(transactional_id, self.host.transaction_partition_count))

    def status(self, transactional_id: str) -> Errors:
        """The error for any request for a transactional id; NONE if it is coordinated here."""
        if not transactional_id:
            return Errors.INVALID_REQUEST
        return self.partitions.status(self.partition_of(transactional_id))

    # InitProducerId

    def init_producer_id(self, message: Message, request: InitProducerIdRequest) -> None:
        """Allocates an id and an epoch to a producer; with a transactional id, fences the earlier producer."""
        if request.transactional_id is None:
            producer_id = self.host.producer_ids.generate()
            if producer_id is None:
                self._respond_init(message, InitProducerIdResponse(Errors.COORDINATOR_LOAD_IN_PROGRESS))
            else:
                self._respond_init(message, InitProducerIdResponse(Errors.NONE, producer_id, 0))
            return
        error = self._init_transactional(message, request.transactional_id, request)
        if error is not Errors.NONE:
            self._respond_init(message, InitProducerIdResponse(error))

    def _init_transactional(self, message: Message, transactional_id: str, request: InitProducerIdRequest) -> Errors:
        """Handles InitProducerId with a transactional id; NONE if the response follows later."""
        timeout_ms = request.transaction_timeout_ms
        if not transactional_id:
            return Errors.INVALID_REQUEST
        if not 0 < timeout_ms <= self.host.transaction_settings.transaction_max_timeout_ms:
            return Errors.INVALID_TRANSACTION_TIMEOUT
        error = self.status(transactional_id)
        if error is not Errors.NONE:
            return error
        metadata = self.transactions.get(transactional_id)
        if metadata is None:
            producer_id = self.host.producer_ids.generate()
            if producer_id is None:
                return Errors.COORDINATOR_LOAD_IN_PROGRESS
            metadata = self._create(transactional_id, timeout_ms, producer_id)
        expected = None if request.producer_id == NO_PRODUCER_ID else (request.producer_id, request.producer_epoch)
        transit = self._prepare_init(metadata, timeout_ms, expected)
        if isinstance(transit, Errors):
            return transit
        if transit.state is _State.PREPARE_EPOCH_FENCE:
            why = "reason.producer_replaced"
            return self._end(metadata, transit.producer_epoch, False, message, "fence", why) or Errors.NONE
        self._write(metadata, transit, "init", "reason.producer_initialized", message)
        return Errors.NONE

    def _prepare_init(
        self, metadata: TransactionMetadata, timeout_ms: int, expected: tuple[int, int] | None
    ) -> Transit | Errors:
        now = metadata.current
        if metadata.pending is not None:
            return Errors.CONCURRENT_TRANSACTIONS
        if expected is not None and now.producer_epoch != NO_PRODUCER_EPOCH:
            # a retry of the request that exhausted the epochs of the previous id carries that id
            is_retry = expected[0] == now.previous_producer_id and expected[1] >= LAST_EPOCH
            if expected[0] != now.producer_id and not is_retry:
                return Errors.PRODUCER_FENCED
        if metadata.state in PREPARED:
            return Errors.CONCURRENT_TRANSACTIONS
        if metadata.state is _State.ONGOING:
            return metadata.fence_epoch()
        expected_epoch = None if expected is None else expected[1]
        if metadata.is_epoch_exhausted and expected_epoch in (None, now.producer_epoch):
            producer_id = self.host.producer_ids.generate()
            if producer_id is None:
                return Errors.COORDINATOR_LOAD_IN_PROGRESS
            return metadata.rotate_producer_id(producer_id, timeout_ms, expected is not None, self.host.wall_ms)
        return metadata.increment_epoch(timeout_ms, expected_epoch, self.host.wall_ms)

    # partitions of a transaction

    def _known(self, transactional_id: str, producer_id: int, producer_epoch: int) -> TransactionMetadata | Errors:
        """The transactional id, if the producer is its current owner."""
        error = self.status(transactional_id)
        if error is not Errors.NONE:
            return error
        metadata = self.transactions.get(transactional_id)
        if metadata is None or metadata.current.producer_id != producer_id:
            return Errors.INVALID_PRODUCER_ID_MAPPING
        if metadata.producer_epoch != producer_epoch:
            return Errors.PRODUCER_FENCED
        return metadata

    def add_partitions(
        self, transaction: AddPartitionsToTxnTransaction, waiting: Message | AddRequest, then: Then
    ) -> Errors | None:
        """AddPartitionsToTxn and AddOffsetsToTxn: None if the response follows after the commit."""
        metadata = self._known(transaction.transactional_id, transaction.producer_id, transaction.producer_epoch)
        if isinstance(metadata, Errors):
            return metadata
        if metadata.pending is not None or metadata.state in PREPARED:
            return Errors.CONCURRENT_TRANSACTIONS
        is_ongoing = metadata.state is _State.ONGOING
        if is_ongoing and all(name in metadata.current.partitions for name in transaction.partitions):
            return Errors.NONE
        transit = metadata.add_partitions(transaction.partitions, self.host.wall_ms)
        added = ", ".join(transaction.partitions)
        self._write(metadata, transit, then, f"reason.partition_added?partitions={escape(added)}", waiting)
        return None

    def verify_partitions(self, transaction: AddPartitionsToTxnTransaction) -> PartitionErrors:
        """Returns which partitions belong to the transaction (KIP-890)."""
        metadata = self._known(transaction.transactional_id, transaction.producer_id, transaction.producer_epoch)
        if isinstance(metadata, TransactionMetadata) and metadata.state in PREPARED:
            metadata = Errors.CONCURRENT_TRANSACTIONS
        if isinstance(metadata, Errors):
            return tuple((name, metadata) for name in transaction.partitions)
        added = metadata.current.partitions
        return tuple(
            (name, Errors.NONE if name in added else Errors.TRANSACTION_ABORTABLE) for name in transaction.partitions
        )

    # EndTxn

    def end_transaction(
        self, message: Message, transactional_id: str, producer_id: int, producer_epoch: int, committed: bool
    ) -> Errors | None:
        """EndTxn: None if the response follows after the decision is committed."""
        known = self.transactions.get(transactional_id)
        then: Then = "end"
        if self.host.era.transactions.checks_state_before_epoch and known:
            # Only an epoch below that of the producer is fenced before the state is looked at.
            if producer_epoch > known.producer_epoch and known.state is _State.ONGOING:
                then = "end without markers"
            producer_epoch = min(producer_epoch, known.producer_epoch)
        metadata = self._known(transactional_id, producer_id, producer_epoch)
        if isinstance(metadata, Errors):
            return metadata
        why = "reason.producer_commits" if committed else "reason.producer_aborts"
        return self._end(metadata, producer_epoch, committed, message, then, why)

    def _end(
        self,
        metadata: TransactionMetadata,
        producer_epoch: int,
        committed: bool,
        waiting: Message | None,
        then: Then,
        why: str,
    ) -> Errors | None:
        """Writes the decision and returns None; NONE if the same decision was made already."""
        pending = metadata.pending
        if pending is not None and pending.state is not _State.PREPARE_EPOCH_FENCE:
            return Errors.CONCURRENT_TRANSACTIONS
        decision = _DECISIONS[committed]
        if metadata.state is _State.ONGOING:
            last_epoch = metadata.current.last_producer_epoch
            if pending is not None:
                metadata.pending = None
                metadata.fencing_epoch, last_epoch = producer_epoch, NO_PRODUCER_EPOCH
            transit = metadata.end(decision, producer_epoch, last_epoch, self.host.wall_ms)
            self._write(metadata, transit, then, why, waiting)
            return None
        if metadata.state is decision:
            return Errors.CONCURRENT_TRANSACTIONS
        return Errors.NONE if metadata.state is PREPARED[decision] else Errors.INVALID_TXN_STATE

    def markers_written(self, transactional_id: str, coordinator_epoch: int) -> None:
        """Completes a transaction after all its partitions have their markers."""
        metadata = self.transactions.get(transactional_id)
        if metadata is None or metadata.pending is None:
            return
        if self.partitions.owned.get(metadata.log_partition) != coordinator_epoch:
            return
        self._write(metadata, metadata.pending, "complete", "reason.markers_written")

    # the log

    def _write(
        self,
        metadata: TransactionMetadata,
        transit: Transit,
        then: Then,
        why: str,
        waiting: Message | AddRequest | None = None,
    ) -> None:
        partition = metadata.log_partition
        store = TransactionStore(
            metadata.transactional_id, partition, self.partitions.owned[partition], transit, why, then, waiting
        )
        records = [(self.host.wall_ms, encode_key(metadata.transactional_id), encode_value(transit), ())]
        error = self.host.append_to_transaction_log(partition, build_batch(records), store, transit.timeout_ms)
        if error is not Errors.NONE:
            self.stored(store, error)

    def stored(self, store: TransactionStore, error: Errors) -> None:
        """Continues after a write is committed or has failed."""
        error = _TRANSLATED.get(error, error)
        metadata = self.transactions.get(store.transactional_id)
        if metadata is None or self.partitions.owned.get(store.log_partition) != store.coordinator_epoch:
            error = Errors.NOT_COORDINATOR
        elif error is Errors.NONE:
            metadata.pending = metadata.fencing_epoch = None
            self._transitioned(metadata, store.transit, store.why)
            if store.then == "end without markers":
                error = Errors.INVALID_PRODUCER_EPOCH  # The decision remains without markers until it is loaded.
            elif metadata.state in PREPARED:
                metadata.complete(self.host.wall_ms)
                self.host.send_markers(metadata, store.coordinator_epoch)
        elif store.then == "complete":
            # decided transactions are completed, even after retries
            if error is Errors.COORDINATOR_NOT_AVAILABLE:
                self._timer(100, COMPLETE_AGAIN_TIMER, (store.transactional_id, store.coordinator_epoch))
            else:
                metadata.pending = None
        else:
            metadata.pending = None
        self._answer(store, error)

    def _answer(self, store: TransactionStore, error: Errors) -> None:
        waiting = store.waiting
        if isinstance(waiting, AddRequest):
            self.added(waiting, store.transactional_id, error)
        elif waiting is None:
            return
        elif store.then == "init":
            ids = (store.transit.producer_id, store.transit.producer_epoch) if error is Errors.NONE else (-1, -1)
            self._respond_init(waiting, InitProducerIdResponse(error, *ids))
        elif store.then == "fence":
            again = Errors.CONCURRENT_TRANSACTIONS if error is Errors.NONE else error
            self._respond_init(waiting, InitProducerIdResponse(again))
        else:
            response = AddOffsetsToTxnResponse(error) if store.then == "offsets" else EndTxnResponse(error)
            self.host.kernel.respond(waiting, response, label=_label(error, "label.done"))

    def added(self, request: AddRequest, transactional_id: str, outcome: Errors | PartitionErrors) -> None:
        """Records the result of one transaction of an AddPartitionsToTxn; the last one sends the response.

        The result is one error for all its partitions or one for each.
        """
        body = request.message.body
        requested = next(each for each in body.transactions if each.transactional_id == transactional_id)
        if isinstance(outcome, Errors):
            error = for_client(outcome, body.version, 2)
            outcome = tuple((name, error) for name in requested.partitions)
            request.alike |= {len(request.results)}
        request.results.append((transactional_id, outcome))
        request.left -= 1
        if request.left:
            return
        results = tuple(request.results)
        first = next((error for _, rows in results for _, error in rows if error is not Errors.NONE), Errors.NONE)
        label = "label.in_transaction" if requested.verify_only else "label.added"
        response = AddPartitionsToTxnResponse(results, alike=request.alike)
        self.host.kernel.respond(request.message, response, label=_label(first, label))

    def _respond_init(self, message: Message, response: InitProducerIdResponse) -> None:
        error = for_client(response.error, message.body.version, 4)
        if error is not response.error:
            response = InitProducerIdResponse(error)
        label = f"label.producer_id?epoch={response.producer_epoch}&id={response.producer_id}"
        fields = (("producer_id", response.producer_id), ("producer_epoch", response.producer_epoch))
        self.host.kernel.respond(message, response, label=_label(error, label), fields=fields)

    # events

    def _emit(self, event: Event) -> None:
        self.host.kernel.emit(event, self.host.name)

    def _create(self, transactional_id: str, timeout_ms: int, producer_id: int = NO_PRODUCER_ID) -> TransactionMetadata:
        """A transactional id without a record yet."""
        current = Transit(
            _State.EMPTY, producer_id, NO_PRODUCER_EPOCH, NO_PRODUCER_EPOCH, timeout_ms, (), -1, self.host.wall_ms
        )
        metadata = TransactionMetadata(
            transactional_id,
            self.partition_of(transactional_id),
            current,
            raises_again=self.host.era.transactions.raises_failed_epochs,
        )
        self.transactions[transactional_id] = metadata
        return metadata

    def _transitioned(
        self, metadata: TransactionMetadata, transit: Transit, why: str, *, from_state: str | None = None
    ) -> None:
        is_new = metadata.current.producer_epoch == NO_PRODUCER_EPOCH
        known_state = "" if is_new else metadata.state.value
        self._emit(
            TransactionTransitioned(
                broker=self.host.name,
                transactional_id=metadata.transactional_id,
                log_partition=metadata.log_partition,
                from_state=known_state if from_state is None else from_state,
                to_state=transit.state.value,
                producer_id=transit.producer_id,
                producer_epoch=transit.producer_epoch,
                last_producer_epoch=transit.last_producer_epoch,
                previous_producer_id=transit.previous_producer_id,
                timeout_ms=transit.timeout_ms,
                partitions=transit.partitions,
                # a reinitialised id keeps the start time of its last transaction (`completeTransitionTo`)
                start_ms=metadata.current.start_ms if transit.state is _State.EMPTY else transit.start_ms,
                update_ms=transit.update_ms,
                why=why,
            )
        )

    def description(self) -> dict[str, dict[str, Any]]:
        """All transactional ids as shown in the view; equals the result of folding the events."""
        return {
            f"{each.transactional_id}@{self.host.name}": {
                "state": each.state.value,
                "producer_id": each.current.producer_id,
                "producer_epoch": each.current.producer_epoch,
                "partitions": list(each.current.partitions),
            }
            for each in self.transactions.values()
            if each.current.producer_epoch != NO_PRODUCER_EPOCH
        }

    # time

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {
            **self.partitions.timers,
            ABORT_TIMED_OUT_TIMER: self._look_for_timeouts,
            REMOVE_EXPIRED_TIMER: self._look_for_expired,
            COMPLETE_AGAIN_TIMER: Unpacked(self.markers_written),
        }

    def _look_for_timeouts(self, _: None) -> None:
        self._abort_timed_out()
        self._watch_timeouts()

    def _look_for_expired(self, _: None) -> None:
        self._remove_expired()
        self._watch_expiry()

    def _timer(self, delay_ms: int, name: str, data: object = None) -> None:
        self.host.timer(delay_ms * 1_000, name, data)

    def _watch_timeouts(self) -> None:
        interval_ms = self.host.transaction_settings.transaction_abort_timed_out_transaction_cleanup_interval_ms
        self._timer(interval_ms, ABORT_TIMED_OUT_TIMER)

    def _watch_expiry(self) -> None:
        interval_ms = self.host.transaction_settings.transaction_remove_expired_transaction_cleanup_interval_ms
        self._timer(interval_ms, REMOVE_EXPIRED_TIMER)

    def _abort_timed_out(self) -> None:
        now_ms = self.host.wall_ms
        for metadata in list(self.transactions.values()):
            now = metadata.current
            if metadata.pending is None and now.state is _State.ONGOING and now.start_ms + now.timeout_ms < now_ms:
                transit = metadata.fence_epoch()
                why = f"reason.transaction_timeout?timeout={now.timeout_ms}"
                self._end(metadata, transit.producer_epoch, False, None, "timeout", why)

    def _remove_expired(self) -> None:
        """Writes tombstones for transactional ids that have not been used for transactional.id.expiration.ms."""
        now_ms = self.host.wall_ms
        expiration_ms = self.host.transaction_settings.transactional_id_expiration_ms
        for metadata in list(self.transactions.values()):
            now = metadata.current
            is_idle = now.state in (_State.EMPTY, _State.COMPLETE_COMMIT, _State.COMPLETE_ABORT)
            if metadata.pending is None and is_idle and now.update_ms + expiration_ms <= now_ms:
                tombstone = build_batch([(now_ms, encode_key(metadata.transactional_id), None, ())])
                error = self.host.append_to_transaction_log(metadata.log_partition, tombstone, None, now.timeout_ms)
                if error is Errors.NONE:
                    dead = msgspec.structs.replace(now, state=_State.DEAD)
                    self._transitioned(metadata, dead, "reason.transactional_id_expired")


def for_client(error: Errors, version: int, knows_fenced_from: int) -> Errors:
    """The error for a client of this version: older ones do not know PRODUCER_FENCED."""
    is_unknown = error is Errors.PRODUCER_FENCED and version < knows_fenced_from
    return Errors.INVALID_PRODUCER_EPOCH if is_unknown else error


def _label(error: Errors, label: str) -> str:
    return label if error is Errors.NONE else error.name


@applies(TransactionTransitioned)
def _apply_transition(subjects: Subjects, event: TransactionTransitioned, at_us: int) -> None:
    coordinator: TransactionCoordinator = subjects[f"transactions@{event.broker}"]
    if event.to_state == _State.DEAD:
        del coordinator.transactions[event.transactional_id]
        return
    coordinator.transactions[event.transactional_id].current = Transit(
        _State(event.to_state),
        event.producer_id,
        event.producer_epoch,
        event.last_producer_epoch,
        event.timeout_ms,
        event.partitions,
        event.start_ms,
        event.update_ms,
        event.previous_producer_id,
    )
