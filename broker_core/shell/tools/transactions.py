"""kafka-transactions.sh (`org.apache.kafka.tools.TransactionsCommand`): who is in which transaction (KIP-664)."""

from collections.abc import Sequence
from typing import Any

from broker_core.clients.exceptions import exception_class, exception_message
from broker_core.errors import Errors, KafkaError
from broker_core.shell.admin import DEFAULT_API_TIMEOUT_US, RETRY_BACKOFF_US, Asking, ask_any, metadata
from broker_core.shell.cluster_api import ClusterApi
from broker_core.shell.commands import Command, register, usage_error
from broker_core.shell.completion_sources import topics
from broker_core.shell.parser import Option, OptionError, ParsedOptions
from broker_core.shell.process import Call, Disconnected, Process, Running, Sleep, up_brokers
from broker_core.wire.messages import (
    DescribedTransaction,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    FindCoordinatorRequest,
    ListTransactionsRequest,
)

OPTIONS = (
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "server to connect to"),
    Option("duration-filter", "list: only transactions that run for longer, in ms.", "ms", "Long"),
    Option("transactional-id", "describe: the transactional id.", "id"),
    Option("topic", "describe-producers: the topic.", "topic", values="topic"),
    Option("partition", "describe-producers: the partition.", "partition", "Integer"),
    Option("broker-id", "describe-producers: the replica to ask; the leader unless given.", "id", "Integer"),
)
VERBS = ("list", "describe", "describe-producers")
_TRANSACTION = 1
_AGAIN = frozenset({Errors.COORDINATOR_NOT_AVAILABLE, Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.NOT_COORDINATOR})
_NONE = "None"


class _Failed(Exception):
    """What the tool prints before it ends with exit code 1."""


def _run(process: Process, arguments: list[str]) -> Running:
    verb = next((word for word in arguments if word in VERBS), "")
    try:
        options = ParsedOptions(OPTIONS).parse([word for word in arguments if word != verb])
    except OptionError as error:
        raise usage_error("kafka-transactions.sh", error.message) from None
    try:
        if verb == "list":
            table = yield from _list(process, options)
        elif verb == "describe" and "transactional-id" in options:
            table = yield from _describe(process, options.value("transactional-id") or "")
        elif verb == "describe-producers" and "topic" in options and "partition" in options:
            partition = f"{options.value('topic')}-{options.integer('partition')}"
            table = yield from _describe_producers(process, partition, options.integer("broker-id"))
        else:
            raise usage_error("kafka-transactions.sh", f"kafka-transactions.sh {' '.join(arguments)} is not complete.")
    except _Failed as failed:
        process.err(f"{failed}. Enable debug logging for additional detail.")
        return 1
    for line in _lines(table):
        process.out(line)
    return 0


def _lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as the tool prints it: columns padded to the widest, tabs between."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["\t".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _list(process: Process, options: ParsedOptions) -> Asking[list[list[str]]]:
    known = yield from metadata(process, (), "listTransactions")
    longer_than_ms = options.integer("duration-filter")
    body = ListTransactionsRequest(duration_filter_ms=-1 if longer_than_ms is None else longer_than_ms)
    rows = []
    for broker_id in known.brokers:
        response = yield Call(broker_id, "ListTransactions", body, "ListTransactions")
        if not isinstance(response, Disconnected):
            rows += [[name, str(broker_id), str(id), state] for name, id, state in response.transaction_states]
    return [["TransactionalId", "Coordinator", "ProducerId", "TransactionState"], *sorted(rows)]


def _ask_coordinator(process: Process, transactional_id: str) -> Asking[tuple[int, DescribedTransaction]]:
    deadline_us = process.now_us + DEFAULT_API_TIMEOUT_US
    while process.now_us < deadline_us:
        asked = FindCoordinatorRequest(transactional_id, _TRANSACTION)
        found: Any = yield from ask_any(process, "FindCoordinator", asked, "findCoordinator")
        if found.error is Errors.NONE and found.node_id in up_brokers(process.cluster):
            body = DescribeTransactionsRequest((transactional_id,))
            response = yield Call(
                found.node_id, "DescribeTransactions", body, f"DescribeTransactions {transactional_id}"
            )
            if not isinstance(response, Disconnected) and response.transaction_states[0].error not in _AGAIN:
                return found.node_id, response.transaction_states[0]
        yield Sleep(RETRY_BACKOFF_US)
    raise _Failed(_could_not_describe(transactional_id, "Timed out waiting for a node assignment"))


def _could_not_describe(transactional_id: str, why: str) -> str:
    return f"Failed to describe transaction state of transactional-id `{transactional_id}`: {why}"


def _describe(process: Process, transactional_id: str) -> Asking[list[list[str]]]:
    coordinator, found = yield from _ask_coordinator(process, transactional_id)
    if found.error is Errors.TRANSACTIONAL_ID_NOT_FOUND:
        why = (
            f"DescribeTransactions request for transactionalId `{transactional_id}` failed because the ID could not "
            "be found"
        )
        raise _Failed(_could_not_describe(transactional_id, why))
    if found.error is not Errors.NONE:
        raise _Failed(_could_not_describe(transactional_id, exception_message(found.error)))
    start_ms = found.transaction_start_time_ms
    header = ["CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState"]
    header += ["TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions"]
    row = [str(coordinator), transactional_id, str(found.producer_id), str(found.producer_epoch)]
    row += [found.transaction_state, str(found.transaction_timeout_ms)]
    row += [_NONE, _NONE] if start_ms < 0 else [str(start_ms), str(process.wall_ms - start_ms)]
    return [header, [*row, ",".join(found.partitions)]]


def _describe_producers(process: Process, partition: str, broker_id: int | None) -> Asking[list[list[str]]]:
    deadline_us = process.now_us + DEFAULT_API_TIMEOUT_US
    error: KafkaError = Errors.UNKNOWN_TOPIC_OR_PARTITION
    while process.now_us < deadline_us:
        known = yield from metadata(process, (partition.rpartition("-")[0],), "describeProducers")
        leader = next((row[1] for row in known.partitions if row[0] == partition), -1)
        asked = leader if broker_id is None else broker_id
        if asked in up_brokers(process.cluster):
            body = DescribeProducersRequest((partition,))
            response = yield Call(asked, "DescribeProducers", body, f"DescribeProducers {partition}")
            if not isinstance(response, Disconnected):
                (found,) = response.partitions
                error = found.error
                if error is Errors.NONE:
                    return [_PRODUCERS, *(_producer_row(each) for each in found.active_producers)]
                if not error.retriable:
                    break
        yield Sleep(RETRY_BACKOFF_US)
    why = f"{exception_class(error)}: {exception_message(error)}"
    where = f"broker {broker_id}" if broker_id is not None else "the leader"
    raise _Failed(f"Failed to describe producers for partition {partition} on {where}: {why}")


_PRODUCERS = ["ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp"]
_PRODUCERS += ["CurrentTransactionStartOffset"]


def _producer_row(each: Any) -> list[str]:
    start = each.current_txn_start_offset
    numbers = (each.producer_id, each.producer_epoch, each.coordinator_epoch, each.last_sequence, each.last_timestamp)
    return [*map(str, numbers), _NONE if start < 0 else str(start)]


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return list(VERBS)
    if words[-2] == "--topic":
        return topics(cluster)
    if words[-2] == "--transactional-id":
        return sorted({manager.transactions.transactional_id for manager in cluster.clients.producers.values()} - {""})
    return [f"--{option.name}" for option in OPTIONS]


register(
    Command(
        "kafka-transactions.sh",
        "Transactional ids and their transactions.",
        (
            ("kafka-transactions.sh list", "all transactional ids"),
            ("kafka-transactions.sh describe --transactional-id ID", "one, with the partitions of its transaction"),
            (
                "kafka-transactions.sh describe-producers --topic T --partition P [--broker-id N]",
                "what a replica knows of its producers",
            ),
        ),
        _run,
        OPTIONS,
        complete=_complete,
    )
)
