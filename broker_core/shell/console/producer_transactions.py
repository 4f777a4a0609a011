"""Transactions of the lab's producers in the shell, with the exceptions and messages of `KafkaProducer`."""

from collections.abc import Callable

from broker_core.clients.producer.producer import Producer
from broker_core.clients.producer.states import ProducerState
from broker_core.clients.producer.transaction_manager import TransactionManager
from broker_core.shell.admin.requests import Asking
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.process import Process, Running, Until
from broker_core.shell.grammar.registry import refuse
from broker_core.texts import text

_AFTER = {
    "begin": ProducerState.IN_TRANSACTION,
    "commit": ProducerState.COMMITTING_TRANSACTION,
    "abort": ProducerState.ABORTING_TRANSACTION,
}
_ABORTABLE = (ProducerState.IN_TRANSACTION, ProducerState.ABORTABLE_ERROR)
_BEFORE = {"begin": (ProducerState.READY,), "commit": (ProducerState.IN_TRANSACTION,), "abort": _ABORTABLE}
NOT_TRANSACTIONAL = (
    "IllegalStateException: Cannot use transactional methods without enabling transactions by setting the "
    "transactional.id configuration property"
)
_METHODS = {"begin": "beginTransaction", "commit": "commitTransaction", "abort": "abortTransaction"}
INIT = "initTransactions"
_ONLY_IDEMPOTENT = "IllegalStateException: Transactional method invoked on a non-transactional producer."


def limit_us(process: Process, producer: Producer) -> int:
    return process.now_us + producer.settings.max_block_ms * 1_000


def late(producer: Producer, what: str) -> str:
    return f"TimeoutException: Timeout expired after {producer.settings.max_block_ms}ms while awaiting {what}"


def init_transactions(process: Process, producer: Producer) -> Asking[None]:
    """Waits for the producer's id and epoch, and reports why there are none."""
    manager = producer.transactions
    manager.begin()
    deadline_us = limit_us(process, producer)
    yield Until(lambda _: manager.state is not ProducerState.INITIALIZING, deadline_us, poll_us=1_000)
    if manager.state is ProducerState.INITIALIZING:
        manager.timed_out = INIT
        process.out(late(producer, "InitProducerId"))
        refuse(process, text("shell.producer_without_id", name=producer.name))
    elif manager.error is not None:
        process.out(": ".join(manager.error))


def await_initialization(process: Process, producer: Producer) -> Asking[None]:
    """Waits while `initTransactions` of another command is in progress: an application calls one method at a time."""
    manager = producer.transactions
    if manager.transactional_id and manager.state is ProducerState.INITIALIZING and not manager.timed_out:
        yield Until(
            lambda _: manager.state is not ProducerState.INITIALIZING, limit_us(process, producer), poll_us=1_000
        )


def is_spent(producer: Producer) -> bool:
    """Whether a producer can only be replaced by another one: it never got its id, or was fenced."""
    return producer.transactions.timed_out == INIT or producer.transactions.state is ProducerState.FATAL_ERROR


def no_such_producer(process: Process, name: str) -> int:
    """Prints the error for a producer that is not open; returns the exit code."""
    process.out(f"no such producer: {name}")
    refuse(process, text("shell.no_producer", name=name))
    return 1


def end_or_begin(process: Process, name: str, verb: str) -> Running:
    """Begins a transaction, or ends it and waits for the coordinator's response."""
    producer = process.cluster.clients.producers.get(name)
    if producer is None:
        return no_such_producer(process, name)
    yield from await_initialization(process, producer)
    manager = producer.transactions
    if not manager.transactional_id:
        process.out(_ONLY_IDEMPOTENT if producer.settings.enable_idempotence else NOT_TRANSACTIONAL)
    elif manager.timed_out:
        if manager.timed_out != _METHODS[verb]:
            process.out(must_retry(manager, _METHODS[verb]))
        else:
            yield from _await_end(process, producer, verb)
    elif manager.state not in _BEFORE[verb]:
        if manager.is_broken:
            process.out(failed_before(manager))
        else:
            process.out(f"IllegalStateException: {manager.invalid_transition(_AFTER[verb])}")
    elif verb == "begin":
        manager.begin_transaction()
    else:
        yield from _end(process, producer, verb)
    return 0


def _end(process: Process, producer: Producer, verb: str) -> Asking[None]:
    producer.end_transaction(commits=verb == "commit")
    yield from _await_end(process, producer, verb)


def _await_end(process: Process, producer: Producer, verb: str) -> Asking[None]:
    manager = producer.transactions
    deadline_us = limit_us(process, producer)
    yield Until(lambda _: manager.state not in (_AFTER[verb], ProducerState.INITIALIZING), deadline_us, poll_us=1_000)
    waits_for = {
        _AFTER[verb]: f"EndTxn({str(verb == 'commit').lower()})",
        ProducerState.INITIALIZING: "InitProducerId",
    }.get(manager.state, "")
    manager.timed_out = _METHODS[verb] if waits_for else ""
    if waits_for:
        process.out(late(producer, waits_for))
    elif manager.is_broken and manager.error is not None:
        process.out(": ".join(manager.error))


def abort_open_transaction(process: Process, producer: Producer) -> Asking[None]:
    """Aborts the open transaction of a producer that is closed (`Sender.run`)."""
    manager = producer.transactions
    if manager.transactional_id and manager.state in _ABORTABLE:
        producer.end_transaction(commits=False)
        ending = (ProducerState.ABORTING_TRANSACTION, ProducerState.INITIALIZING)
        yield Until(lambda _: manager.state not in ending, limit_us(process, producer), 1_000)


def failed_before(manager: TransactionManager) -> str:
    """The exception that every call throws after an error (`TransactionManager.maybeFailWithError`)."""
    name, message = manager.error or ("", "")
    who = (
        f"Producer with transactionalId '{manager.transactional_id}' and (producerId={manager.producer_id}, "
        f"epoch={manager.producer_epoch})"
    )
    if name == "ProducerFencedException":
        return f"{name}: {who} has been fenced by another producer with the same transactionalId"
    if name == "InvalidProducerEpochException":
        return f"{name}: {who} attempted to produce with an old epoch"
    if name == "IllegalStateException":
        why = "cannot execute transactional method because of previous invalid state transition attempt"
        return f"{name}: {who} {why} / {name}: {message}"
    what = "KafkaException: Cannot execute transactional method because we are in an error state"
    return f"{what} / {name}: {message}"


def must_retry(manager: TransactionManager, method: str) -> str:
    """The error of any other method while the one that timed out has not been called again
    (`TransactionManager.throwIfPendingState`).
    """
    return (
        f"IllegalStateException: Cannot attempt operation `{method}` because the previous call to "
        f"`{manager.timed_out}` timed out and must be retried"
    )


def why_not(producer: Producer, partition: str) -> str:
    """The exception of `KafkaProducer.send` if the transaction's state does not allow records; else empty."""
    manager = producer.transactions
    if not manager.transactional_id or manager.state is ProducerState.IN_TRANSACTION:
        return ""
    if manager.is_broken:
        return failed_before(manager)
    if manager.timed_out:
        return must_retry(manager, "send")
    if not manager.has_ids:
        why = "before completing a call to initTransactions"
    else:
        # Kafka has two spaces here.
        why = f"while in state  {manager.state.name}"
    return f"IllegalStateException: Cannot add partition {partition} to transaction {why}"


def result_is_in(producer: Producer, sequence: int) -> Callable[[ClusterApi], bool]:
    """Whether a batch that was sent with `keep_result` is complete."""
    return lambda cluster: sequence in producer.results
