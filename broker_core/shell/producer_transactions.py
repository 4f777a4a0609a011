"""The transactions of the lab's producers at the shell, in the words of Kafka's own (`KafkaProducer`)."""

from broker_core.clients.producer import Producer
from broker_core.clients.transaction_manager import TransactionManager
from broker_core.shell.admin import Asking
from broker_core.shell.process import Process, Running, Until

JAVA_STATES = {
    "": "UNINITIALIZED",
    "initializing": "INITIALIZING",
    "ready": "READY",
    "in transaction": "IN_TRANSACTION",
    "committing": "COMMITTING_TRANSACTION",
    "aborting": "ABORTING_TRANSACTION",
    "abortable error": "ABORTABLE_ERROR",
    "fatal error": "FATAL_ERROR",
}
_AFTER = {"begin": "in transaction", "commit": "committing", "abort": "aborting"}
_BEFORE = {"begin": ("ready",), "commit": ("in transaction",), "abort": ("in transaction", "abortable error")}
NOT_TRANSACTIONAL = (
    "IllegalStateException: Cannot use transactional methods without enabling transactions by setting the "
    "transactional.id configuration property"
)


def limit_us(process: Process, producer: Producer) -> int:
    return process.now_us + producer.settings.max_block_ms * 1_000


def late(producer: Producer, what: str) -> str:
    return f"TimeoutException: Timeout expired after {producer.settings.max_block_ms}ms while awaiting {what}"


def init_transactions(process: Process, producer: Producer) -> Asking[None]:
    """Waits for the producer's id and epoch, and says why they do not come."""
    manager = producer.transactions
    manager.begin()
    yield Until(lambda _: manager.state != "initializing", limit_us(process, producer), poll_us=1_000)
    if manager.state == "initializing":
        process.out(late(producer, "InitProducerId"))
    elif manager.error is not None:
        process.out(": ".join(manager.error))


def end_or_begin(process: Process, name: str, verb: str) -> Running:
    """Begins a transaction, or ends it and waits for the coordinator's word."""
    producer = process.cluster.clients.producers.get(name)
    if producer is None:
        process.out(f"no such producer: {name}")
        return 1
    manager = producer.transactions
    if not manager.transactional_id:
        process.out(NOT_TRANSACTIONAL)
    elif manager.state not in _BEFORE[verb]:
        if manager.is_broken:
            process.out(failed_before(manager))
        else:
            process.out(
                f"IllegalStateException: TransactionalId {manager.transactional_id}: Invalid transition attempted from "
                f"state {JAVA_STATES[manager.state]} to state {JAVA_STATES[_AFTER[verb]]}"
            )
    elif verb == "begin":
        manager.begin_transaction()
    else:
        yield from _end(process, producer, verb)
    return 0


def _end(process: Process, producer: Producer, verb: str) -> Asking[None]:
    manager = producer.transactions
    commits = verb == "commit"
    producer.end_transaction(commits=commits)
    deadline_us = limit_us(process, producer)
    yield Until(lambda _: manager.state not in (_AFTER[verb], "initializing"), deadline_us, poll_us=1_000)
    if manager.state == _AFTER[verb]:
        process.out(late(producer, f"EndTxn({str(commits).lower()})"))
    elif manager.is_broken and manager.error is not None:
        process.out(": ".join(manager.error))


def abort_open_transaction(process: Process, producer: Producer) -> Asking[None]:
    """A producer that is closed leaves no transaction open (`Sender.run`)."""
    manager = producer.transactions
    if manager.transactional_id and manager.state in ("in transaction", "abortable error"):
        producer.end_transaction(commits=False)
        yield Until(lambda _: manager.state not in ("aborting", "initializing"), limit_us(process, producer), 1_000)


def failed_before(manager: TransactionManager) -> str:
    """What every call throws after an error (`TransactionManager.maybeFailWithError`)."""
    name, message = manager.error or ("", "")
    who = (
        f"Producer with transactionalId '{manager.transactional_id}' and (producerId={manager.producer_id}, "
        f"epoch={manager.producer_epoch})"
    )
    if name == "ProducerFencedException":
        return f"{name}: {who} has been fenced by another producer with the same transactionalId"
    if name == "InvalidProducerEpochException":
        return f"{name}: {who} attempted to produce with an old epoch"
    what = "KafkaException: Cannot execute transactional method because we are in an error state"
    return f"{what} / {name}: {message}"


def why_not(producer: Producer, partition: str) -> str:
    """What `KafkaProducer.send` throws where the state of the transaction allows no record; nothing where it does."""
    manager = producer.transactions
    if not manager.transactional_id or manager.state == "in transaction":
        return ""
    if manager.is_broken:
        return failed_before(manager)
    if not manager.has_ids:
        why = "before completing a call to initTransactions"
    else:
        # Kafka has two spaces here
        why = f"while in state  {JAVA_STATES[manager.state]}"
    return f"IllegalStateException: Cannot add partition {partition} to transaction {why}"
