"""kafka-transactions.sh (`org.apache.kafka.tools.TransactionsCommand`): transactions and their producers (KIP-664)."""

from collections.abc import Sequence
from typing import Any

from broker_core.clients.exceptions import exception_message
from broker_core.config_defs.java_text import hash_map_order, partition_code
from broker_core.errors import Errors
from broker_core.shell.admin.admin_client import COMMAND_CONFIG, check_client
from broker_core.shell.admin.requests import (
    RETRY_BACKOFF_US,
    Asking,
    metadata,
    query_any,
    query_replica,
    timed_out,
    until_ready,
)
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.completion_sources import topics
from broker_core.shell.grammar.parser import Option, ParsedOptions
from broker_core.shell.grammar.process import Call, Disconnected, Process, Running, Sleep
from broker_core.shell.grammar.registry import Command
from broker_core.shell.java import argparse_help
from broker_core.shell.java.argparse4j import BadArguments, Tool, complain, parse
from broker_core.shell.java.errors import JavaException, load_properties, log_error
from broker_core.shell.tools.kafka.transactions_hanging import FindHangingError, abort, detailed, find_hanging
from broker_core.texts import text
from broker_core.wire.messages import (
    ActiveProducer,
    DescribedTransaction,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    FindCoordinatorRequest,
    ListTransactionsRequest,
)

_TOPIC = Option("topic", "The topic.", "topic", values="topic")
_PARTITION = Option("partition", "The partition.", "partition", "Integer")
_BROKER = Option("broker-id", "The replica to ask; the leader unless given.", "id", "Integer")
COMMANDS: dict[str, tuple[Option, ...]] = {
    "list": (Option("duration-filter", "Only transactions that run for longer, in ms.", "ms", "Long"),),
    "describe": (Option("transactional-id", "The transactional id.", "id"),),
    "describe-producers": (_BROKER, _TOPIC, _PARTITION),
    "abort": (
        _TOPIC,
        _PARTITION,
        Option("start-offset", "Where the transaction begins.", "offset", "Long"),
        Option("producer-id", "Its producer's id.", "id", "Long"),
        Option("producer-epoch", "Its producer's epoch.", "epoch", "Short"),
        Option("coordinator-epoch", "Its coordinator's epoch.", "epoch", "Integer"),
    ),
    "find-hanging": (
        _BROKER,
        Option("max-transaction-timeout", "How old a transaction must be, in minutes.", "minutes", "Integer"),
        _TOPIC,
        _PARTITION,
    ),
}
REQUIRED = {
    "describe": ("transactional-id",),
    "describe-producers": ("topic", "partition"),
    "abort": ("topic", "partition"),
}
OPTIONS = (
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "server to connect to"),
    COMMAND_CONFIG,
    *dict.fromkeys(option for options in COMMANDS.values() for option in options),
)
USAGE = {
    "": (
        "usage: kafka-transactions.sh [-h] [-v] [--command-config FILE]",
        "                             --bootstrap-server host:port COMMAND ...",
    ),
    "list": (
        "usage: kafka-transactions.sh --bootstrap-server host:port list [-h]",
        "                             [--duration-filter DURATION_FILTER]",
    ),
    "describe": (
        "usage: kafka-transactions.sh --bootstrap-server host:port describe [-h]",
        "                             --transactional-id TRANSACTIONAL_ID",
    ),
    "describe-producers": (
        "usage: kafka-transactions.sh --bootstrap-server host:port",
        "                             describe-producers [-h]",
        "                             [--broker-id BROKER_ID] --topic TOPIC",
        "                             --partition PARTITION",
    ),
    "abort": (
        "usage: kafka-transactions.sh --bootstrap-server host:port abort [-h]",
        "                             --topic TOPIC --partition PARTITION",
        "                             [--start-offset START_OFFSET]",
        "                             [--producer-id PRODUCER_ID]",
        "                             [--producer-epoch PRODUCER_EPOCH]",
        "                             [--coordinator-epoch COORDINATOR_EPOCH]",
    ),
    "find-hanging": (
        "usage: kafka-transactions.sh --bootstrap-server host:port find-hanging [-h]",
        "                             [--broker-id BROKER_ID]",
        "                             [--max-transaction-timeout MAX_TRANSACTION_TIMEOUT]",
        "                             [--topic TOPIC] [--partition PARTITION]",
    ),
}
HANDLER_LOGGER = "org.apache.kafka.clients.admin.internals.DescribeProducersHandler"
_TRANSACTION = 1
_AGAIN = frozenset({Errors.COORDINATOR_NOT_AVAILABLE, Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.NOT_COORDINATOR})
_NONE = "None"
_START_US = 20_000
"""The minimum time that the tool takes to start and connect."""


_TOOL = Tool(
    "kafka-transactions.sh",
    ("--command-config", "--bootstrap-server"),
    COMMANDS,
    REQUIRED,
    USAGE,
    argparse_help.TRANSACTIONS,
    {},
    has_version=True,
)


def _run(process: Process, arguments: list[str]) -> Running:
    try:
        command, options, before = parse(_TOOL, arguments)
        check_client(process, _admin_properties(process, before), before.get("--bootstrap-server"))
    except BadArguments as error:
        return complain(process, _TOOL, error)
    except FindHangingError as failed:
        process.err(str(failed))
        return 1
    except JavaException as error:
        for line in error.stack_trace():
            process.err(line)
        return 1
    # In the meantime brokers continue work of an earlier command, for example a coordinator that writes markers.
    yield Sleep(_START_US)
    try:
        if command == "list":
            table = yield from _list(process, options)
        elif command == "describe":
            table = yield from _describe(process, options.value("transactional-id") or "")
        elif command == "describe-producers":
            partition = options.partition()
            broker_id = options.integer("broker-id")
            where = "leader" if broker_id is None else f"broker {broker_id}"
            what = f"Failed to describe producers for partition {partition} on {where}"
            producers = yield from _producers(process, partition, broker_id, what)
            table = [_PRODUCERS, *map(_producer_row, producers)]
        elif command == "abort":
            yield from abort(process, options, _producers)
            return 0
        else:
            table = yield from find_hanging(process, options, _producers, _partitions_of)
    except FindHangingError as failed:
        process.err(str(failed))
        return 1
    for line in _lines(table):
        process.out(line)
    return 0


def _admin_properties(process: Process, before: dict[str, str]) -> dict[str, str]:
    """The properties in the file before the command. Raises FindHangingError if it does not exist."""
    name = before.get("--command-config")
    try:
        return {} if name is None else load_properties(process, name)
    except JavaException as error:
        raise FindHangingError(detailed(f"Failed to load admin client properties: {error.message}")) from None


def _lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as the tool prints it: columns padded to the widest, tabs between."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["\t".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _list(process: Process, options: ParsedOptions) -> Asking[list[list[str]]]:
    known = yield from metadata(process, (), "listTransactions")
    longer_than_ms = options.integer("duration-filter")
    body = ListTransactionsRequest(duration_filter_ms=-1 if longer_than_ms is None else longer_than_ms)
    rows = []
    deadline_us = process.now_us + process.api_timeout_us
    for broker_id in known.brokers:
        try:
            yield from until_ready(process, broker_id, deadline_us, "listTransactions(api=LIST_TRANSACTIONS)")
        except JavaException as late:
            raise FindHangingError(detailed(f"Failed to list transactions: {late.message}")) from None
        response = yield Call(broker_id, "ListTransactions", body, "ListTransactions")
        if not isinstance(response, Disconnected):
            rows += [[name, str(broker_id), str(id), state] for name, id, state in response.transaction_states]
    return [["TransactionalId", "Coordinator", "ProducerId", "TransactionState"], *sorted(rows)]


def _query_coordinator(process: Process, transactional_id: str) -> Asking[tuple[int, DescribedTransaction]]:
    deadline_us = process.now_us + process.api_timeout_us
    while process.now_us < deadline_us:
        requested = FindCoordinatorRequest(transactional_id, _TRANSACTION)
        found: Any = yield from query_any(process, "FindCoordinator", requested, "findCoordinator")
        if found.error is Errors.NONE:
            try:
                call = "describeTransactions(api=DESCRIBE_TRANSACTIONS)"
                yield from until_ready(process, found.node_id, deadline_us, call)
            except JavaException as unsent:
                raise FindHangingError(_could_not_describe(transactional_id, unsent.message)) from None
            body = DescribeTransactionsRequest((transactional_id,))
            response = yield Call(
                found.node_id, "DescribeTransactions", body, f"DescribeTransactions {transactional_id}"
            )
            if not isinstance(response, Disconnected) and response.transaction_states[0].error not in _AGAIN:
                return found.node_id, response.transaction_states[0]
        yield Sleep(RETRY_BACKOFF_US)
    late = timed_out("describeTransactions(api=FIND_COORDINATOR)")
    raise FindHangingError(_could_not_describe(transactional_id, late.message))


def _could_not_describe(transactional_id: str, why: str) -> str:
    return detailed(f"Failed to describe transaction state of transactional-id `{transactional_id}`: {why}")


def _describe(process: Process, transactional_id: str) -> Asking[list[list[str]]]:
    coordinator, found = yield from _query_coordinator(process, transactional_id)
    if found.error is Errors.TRANSACTIONAL_ID_NOT_FOUND:
        why = (
            f"DescribeTransactions request for transactionalId `{transactional_id}` failed because the ID could not "
            "be found"
        )
        raise FindHangingError(_could_not_describe(transactional_id, why))
    if found.error is not Errors.NONE:
        why = f"DescribeTransactions request for transactionalId `{transactional_id}` failed due to unexpected error"
        raise FindHangingError(_could_not_describe(transactional_id, why))
    start_ms = found.transaction_start_time_ms
    header = ["CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState"]
    header += ["TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions"]
    row = [str(coordinator), transactional_id, str(found.producer_id), str(found.producer_epoch)]
    row += [found.transaction_state, str(found.transaction_timeout_ms)]
    row += [_NONE, _NONE] if start_ms < 0 else [str(start_ms), str(process.wall_ms - start_ms)]
    return [header, [*row, ",".join(hash_map_order(found.partitions, code=partition_code))]]


def _partitions_of(process: Process, transactional_id: str) -> Asking[tuple[str, ...]]:
    """The partitions of a transaction."""
    _, found = yield from _query_coordinator(process, transactional_id)
    return found.partitions


def _producers(
    process: Process, partition: str, broker_id: int | None, failed: str
) -> Asking[tuple[ActiveProducer, ...]]:
    """The producer states of a replica. Raises Failed, whose message begins with `failed`."""
    body = DescribeProducersRequest((partition,))
    try:
        response = yield from query_replica(
            process, partition, broker_id, "DescribeProducers", body, "describeProducers", _describing_error
        )
    except JavaException as late:
        raise FindHangingError(detailed(f"{failed}: {late.message}")) from None
    (found,) = response.partitions
    if found.error is Errors.NONE:
        producers: tuple[ActiveProducer, ...] = found.active_producers
        return producers
    if found.error is Errors.NOT_LEADER_OR_FOLLOWER and broker_id is not None:
        why = _not_there(process, partition, broker_id)
    else:
        why = exception_message(found.error, found.message)
    raise FindHangingError(detailed(f"{failed}: {why}"))


def _describing_error(response: DescribeProducersResponse) -> Errors:
    return response.partitions[0].error


def _not_there(process: Process, partition: str, broker_id: int) -> str:
    log_error(
        process,
        [
            f"[AdminClient clientId=adminclient-1] Not leader error in `DescribeProducers` response for partition "
            f"{partition} for brokerId {broker_id} set in options"
        ],
        HANDLER_LOGGER,
    )
    process.err(JavaException.of(Errors.NOT_LEADER_OR_FOLLOWER).stack_trace()[0])
    return f"Failed to describe active producers for partition {partition} on brokerId {broker_id}"


_PRODUCERS = ["ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp"]
_PRODUCERS += ["CurrentTransactionStartOffset"]


def _producer_row(each: Any) -> list[str]:
    start = each.current_txn_start_offset
    numbers = (each.producer_id, each.producer_epoch, each.coordinator_epoch, each.last_sequence, each.last_timestamp)
    return [*map(str, numbers), _NONE if start < 0 else str(start)]


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return list(COMMANDS)
    if words[-2] == "--topic":
        return topics(cluster)
    if words[-2] == "--transactional-id":
        return sorted({manager.transactions.transactional_id for manager in cluster.clients.producers.values()} - {""})
    return [f"--{option.name}" for option in COMMANDS.get(words[0], ())]


COMMAND = Command(
    "kafka-transactions.sh",
    text("help.kafka_transactions"),
    (
        ("kafka-transactions.sh list", text("help.kafka_transactions_list")),
        ("kafka-transactions.sh describe --transactional-id ID", text("help.kafka_transactions_describe")),
        (
            "kafka-transactions.sh describe-producers --topic T --partition P [--broker-id N]",
            text("help.kafka_transactions_producers"),
        ),
        ("kafka-transactions.sh abort --topic T --partition P --start-offset N", text("help.kafka_transactions_abort")),
        ("kafka-transactions.sh find-hanging --topic T | --broker-id N", text("help.kafka_transactions_hanging")),
    ),
    _run,
    OPTIONS,
    complete=_complete,
)
