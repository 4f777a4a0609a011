"""kafka-transactions.sh abort and find-hanging: transactions that their coordinator does not know (KIP-664)."""

from collections.abc import Callable
from typing import Any

from broker_core.clients.exceptions import exception_message
from broker_core.errors import Errors
from broker_core.partitions import TopicPartition, partition_name
from broker_core.shell.admin.requests import Asking, metadata, query_replica
from broker_core.shell.grammar.parser import ParsedOptions
from broker_core.shell.grammar.process import Call, Disconnected, Process
from broker_core.shell.java.errors import JavaException, log_error
from broker_core.wire.messages import (
    ActiveProducer,
    ListTransactionsRequest,
    WritableTxnMarker,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

HEADERS = ["Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp"]
HEADERS += ["Duration(min)"]
MAX_TIMEOUT_MIN = 15

_ABORT_LOGGER = "org.apache.kafka.clients.admin.internals.AbortTransactionHandler"
DescribeProducers = Callable[[Process, str, int | None, str], Asking[tuple[ActiveProducer, ...]]]
"""Requests the producers of a partition from its leader or a broker; the last argument is the beginning of the
error.
"""
DescribePartitions = Callable[[Process, str], Asking[tuple[str, ...]]]


class FindHangingError(Exception):
    """The error that the tool prints before it exits with code 1."""


def detailed(message: str) -> str:
    """The details at the end of the tool's error."""
    return f"{message}. Enable debug logging for additional detail."


def abort(process: Process, options: ParsedOptions, describe: DescribeProducers) -> Asking[None]:
    """Writes an abort marker for a transaction, without its coordinator. Raises FindHangingError."""
    partition = options.partition()
    start_offset = options.integer("start-offset")
    producer_id = options.integer("producer-id")
    if start_offset is None and producer_id is None:
        raise FindHangingError(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or "
            "with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    if start_offset is None:
        for name in ("producer-epoch", "coordinator-epoch"):
            if name not in options:
                raise FindHangingError(f"Missing required argument --{name}")
        ids = (producer_id or 0, options.integer("producer-epoch") or 0, options.integer("coordinator-epoch") or 0)
    else:
        producers = yield from describe(
            process, partition, None, f"Failed to validate producer state for partition {partition}"
        )
        found = next((each for each in producers if each.current_txn_start_offset == start_offset), None)
        if found is None:
            raise FindHangingError(
                f"Could not find any open transactions starting at offset {start_offset} on partition {partition}"
            )
        ids = (found.producer_id, found.producer_epoch, found.coordinator_epoch)
    yield from _write_marker(process, partition, ids[0], ids[1], max(0, ids[2]))


def _write_marker(
    process: Process, partition: str, producer_id: int, producer_epoch: int, coordinator_epoch: int
) -> Asking[None]:
    marker = WritableTxnMarker(producer_id, producer_epoch, False, (partition,), coordinator_epoch)
    spec = (
        f"AbortTransactionSpec(topicPartition={partition}, producerId={producer_id}, producerEpoch={producer_epoch}, "
        f"coordinatorEpoch={coordinator_epoch})"
    )
    body = WriteTxnMarkersRequest((marker,))
    try:
        response = yield from query_replica(
            process, partition, None, "WriteTxnMarkers", body, "abortTransaction", _marker_error
        )
    except JavaException as late:
        raise FindHangingError(detailed(f"Failed to abort transaction {spec}: {late.message}")) from None
    error = _marker_error(response)
    if error is not Errors.NONE:
        why = _why_not_aborted(process, spec, coordinator_epoch, error)
        raise FindHangingError(detailed(f"Failed to abort transaction {spec}: {why}"))


def _why_not_aborted(process: Process, spec: str, coordinator_epoch: int, error: Errors) -> str:
    """The admin client's message for an error of WriteTxnMarkers, after what it logs (`AbortTransactionHandler`)."""
    if error is Errors.INVALID_PRODUCER_EPOCH:
        logged, thrown = "due to an invalid producer epoch", "due an invalid producer epoch"
    elif error is Errors.TRANSACTION_COORDINATOR_FENCED:
        logged = "because the coordinator epoch is fenced"
        thrown = f"since the provided coordinator epoch {coordinator_epoch} has been fenced by the active coordinator"
    else:
        logged = f"due to an unexpected error {error.name}"
        thrown = f"due to unexpected error: {exception_message(error)}"
    said = f"[AdminClient clientId=adminclient-1] WriteTxnMarkers request for abort spec {spec} failed {logged}"
    log_error(process, [said], _ABORT_LOGGER)
    return f"WriteTxnMarkers request with {spec} failed {thrown}"


def _marker_error(response: WriteTxnMarkersResponse) -> Errors:
    return response.markers[0][1][0][1]


def find_hanging(
    process: Process, options: ParsedOptions, describe: DescribeProducers, partitions_of: DescribePartitions
) -> Asking[list[list[str]]]:
    """Open transactions that are old and have no coordinator that would end them. Raises FindHangingError."""
    topic, number, broker_id = options.value("topic"), options.integer("partition"), options.integer("broker-id")
    if topic is None and broker_id is None:
        raise FindHangingError(
            "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"
        )
    if number is not None and topic is None:
        raise FindHangingError("The --partition argument requires --topic to be provided")
    minutes = options.integer("max-transaction-timeout")
    limit_ms = (MAX_TIMEOUT_MIN if minutes is None else minutes) * 60_000
    if topic is not None and number is not None:
        partitions = [partition_name(topic, number)]
    else:
        known = yield from metadata(process, None if topic is None else (topic,), "describeTopics")
        error = next((error for _, _, error in known.topics if topic is not None), Errors.NONE)
        if error is not Errors.NONE:
            why = exception_message(error)
            raise FindHangingError(detailed(f"Failed to describe 1 topics: {why}"))
        partitions = [row[0] for row in known.partitions if broker_id is None or broker_id in row[3]]
    rows = [HEADERS]
    transactional_ids = yield from _transactional_ids(process)
    where = "Optional.empty" if broker_id is None else f"Optional[{broker_id}]"
    failed = f"Failed to describe producers for {len(partitions)} partitions on broker {where}"
    for partition in partitions:
        for each in (yield from describe(process, partition, broker_id, failed)):
            age_ms = process.wall_ms - each.last_timestamp
            if each.current_txn_start_offset < 0 or age_ms <= limit_ms:
                continue
            name = transactional_ids.get(each.producer_id)
            if name is None or partition not in (yield from partitions_of(process, name)):
                rows.append(_row(partition, each, age_ms))
    return rows


def _row(partition: str, each: ActiveProducer, age_ms: int) -> list[str]:
    topic, number = TopicPartition.parse(partition)
    numbers = (each.producer_id, each.producer_epoch, each.coordinator_epoch, each.current_txn_start_offset)
    return [topic, str(number), *map(str, numbers), str(each.last_timestamp), str(age_ms // 60_000)]


def _transactional_ids(process: Process) -> Asking[dict[int, str]]:
    """By producer id."""
    known = yield from metadata(process, (), "listTransactions")
    found: dict[int, str] = {}
    for broker_id in known.brokers:
        response: Any = yield Call(broker_id, "ListTransactions", ListTransactionsRequest(), "ListTransactions")
        if not isinstance(response, Disconnected):
            found |= {producer_id: name for name, producer_id, _ in response.transaction_states}
    return found
