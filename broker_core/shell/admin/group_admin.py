"""Requests of the tools about groups: each is sent to the group's current coordinator."""

from typing import Any

from broker_core.config_defs.java_text import hash_map_order, partition_code
from broker_core.errors import Errors
from broker_core.partitions import topic_of
from broker_core.shell.admin.requests import RETRY_BACKOFF_US, Asking, api_key, metadata, query_any, until_ready
from broker_core.shell.grammar.process import Call, Disconnected, Process, Sleep
from broker_core.shell.java.errors import ERRORS_PACKAGE, EXECUTION_EXCEPTION, JavaException, log_error
from broker_core.wire.messages import (
    DescribedGroup,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    ListGroupsRequest,
    ListOffsetsRequest,
    ListOffsetsResult,
    OffsetFetchRequest,
)

_CALLS = {"DescribeGroups": "describeConsumerGroups", "DeleteGroups": "deleteConsumerGroups"}
"""The admin client's names of requests that differ from the name of the API."""
_FIRST_APIS = {"DescribeGroups": "CONSUMER_GROUP_DESCRIBE"}
"""The request that it would send first to a broker whose API versions it knew."""
OFFSETS_LOGGER = "org.apache.kafka.clients.admin.internals.ListOffsetsHandler"
LEADER_LOGGER = "org.apache.kafka.clients.admin.internals.PartitionLeaderStrategy"
_NO_TOPIC = frozenset({Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.INVALID_TOPIC_EXCEPTION})
_RETRIED = frozenset({Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE, Errors.COORDINATOR_LOAD_IN_PROGRESS})


def find_coordinator(
    process: Process, group: str, limit_us: int | None = None, call: str = "findCoordinator"
) -> Asking[int | None]:
    """The coordinator of a group; None if none was found in time. The first lookup in a cluster creates
    `__consumer_offsets`. `call`: the client's name of the request.
    """
    deadline_us = process.now_us + (process.api_timeout_us if limit_us is None else limit_us)
    while process.now_us < deadline_us:
        response = yield from query_any(process, "FindCoordinator", FindCoordinatorRequest(group), call)
        if response.error is Errors.NONE:
            node: int = response.node_id
            return node
        if response.error not in _RETRIED:
            raise JavaException.of(response.error)
        yield Sleep(RETRY_BACKOFF_US)
    return None


def _error_of(response: Any) -> Errors:
    """The error that shows whether the broker is still the coordinator."""
    whole: Errors | None = getattr(response, "error", None)
    if whole is not None:
        return whole
    rows: Any = getattr(response, "groups", None) or getattr(response, "results", None) or response.partitions
    first = rows[0] if rows else (None, Errors.NONE)
    error: Errors = first.error if isinstance(first, DescribedGroup) else first[1]
    return error


def query_coordinator(process: Process, group: str, api: str, body: Any) -> Asking[Any]:
    """Sends a request to the group's coordinator. Raises JavaException if no response arrives in time."""
    deadline_us = process.now_us + process.api_timeout_us
    name = _CALLS.get(api, api[0].lower() + api[1:])
    call = f"{name}(api=FIND_COORDINATOR)"
    while process.now_us < deadline_us:
        try:
            node = yield from find_coordinator(process, group, deadline_us - process.now_us, call)
        except JavaException as late:
            raise late.wrapped_in(EXECUTION_EXCEPTION) from None
        if node is not None:
            try:
                yield from until_ready(process, node, deadline_us, f"{name}(api={_FIRST_APIS.get(api, api_key(api))})")
            except JavaException as late:
                raise late.wrapped_in(EXECUTION_EXCEPTION) from None
            response = yield Call(node, api, body, f"{api} {group}")
            if not isinstance(response, Disconnected) and _error_of(response) not in _RETRIED:
                return response
        yield Sleep(RETRY_BACKOFF_US)
    raise JavaException.in_future(Errors.REQUEST_TIMED_OUT, f"Timed out waiting for a node assignment. Call: {call}")


def describe_group(process: Process, group: str) -> Asking[DescribedGroup]:
    """A group as described by its coordinator; an unknown one is Dead."""
    response = yield from query_coordinator(process, group, "DescribeGroups", DescribeGroupsRequest((group,)))
    described: DescribedGroup = response.groups[0]
    if described.error is not Errors.NONE:
        raise JavaException.in_future(described.error)
    return described


def committed_offsets(process: Process, group: str) -> Asking[dict[str, int]]:
    """All committed offsets of a group."""
    response = yield from query_coordinator(process, group, "OffsetFetch", OffsetFetchRequest(group))
    return {name: offset for name, offset, *_ in response.partitions}


def list_groups(process: Process, *, is_filtered: bool = False) -> Asking[list[tuple[str, str, str]]]:
    """All groups of all brokers: (group, protocol type, state).

    Raises JavaException if one of them does not respond: when the tool filters, it does not wrap the future's
    exception.
    """
    known = yield from metadata(process, (), "listConsumerGroups")
    found: dict[str, tuple[str, str, str]] = {}
    deadline_us = process.now_us + process.api_timeout_us
    for broker_id in known.brokers:
        try:
            yield from until_ready(process, broker_id, deadline_us, "listConsumerGroups")
        except JavaException as late:
            node = f"127.0.0.1:{process.cluster.broker_port(broker_id)} (id: {broker_id} rack: null)"
            failed = JavaException(late.java_class, f"Error listing groups on {node}: {late.message}")
            failed = failed.wrapped_in(EXECUTION_EXCEPTION)
            raise (failed if is_filtered else failed.wrapped_in("java.lang.RuntimeException")) from None
        response = yield Call(broker_id, "ListGroups", ListGroupsRequest(), "ListGroups")
        if not isinstance(response, Disconnected):
            found |= {row[0]: row for row in response.groups}
    return [found[name] for name in sorted(found)]


def list_offsets(process: Process, partitions: list[str], timestamp: int) -> Asking[dict[str, int]]:
    """Offsets of partitions by time (-1 latest, -2 earliest); -1 if no record is as late.

    Raises JavaException for an unknown topic, and for a partition without a leader until the tool's timeout.
    """
    found: dict[str, int] = {}
    failed: dict[str, JavaException] = {}
    deadline_us = process.now_us + process.api_timeout_us
    while requested := [name for name in dict.fromkeys(partitions) if name not in found and name not in failed]:
        topics = tuple(dict.fromkeys(topic_of(name) for name in requested))
        known = yield from metadata(process, topics, "listOffsets")
        errors = {name: error for name, _, error in known.topics}
        for name in requested:
            error = errors.get(topic_of(name), Errors.NONE)
            if error in _NO_TOPIC:
                failed[name] = _no_topic(process, name, error)
        requested = [name for name in requested if name not in failed]
        leaders = {row[0]: row[1] for row in known.partitions}
        for leader in sorted({leaders.get(name, -1) for name in requested}):
            names = [name for name in requested if leaders.get(name) == leader]
            if leader < 0 or not names:
                continue
            try:
                yield from until_ready(process, leader, deadline_us, "listOffsets(api=LIST_OFFSETS)")
            except JavaException as unsent:
                raise _in_futures(unsent.stack_trace()[0]) from None
            body = ListOffsetsRequest(-1, tuple((name, -1, timestamp) for name in names))
            response = yield Call(leader, "ListOffsets", body, "ListOffsets " + ", ".join(names))
            if not isinstance(response, Disconnected):
                found |= {row.partition: row.offset for row in response.partitions if row.error is Errors.NONE}
                refused = [row for row in response.partitions if row.error is not Errors.NONE]
                failed |= {row.partition: _unexpected(process, row) for row in refused if not row.error.retriable}
        unanswered = [name for name in requested if name not in found and name not in failed]
        if unanswered and process.now_us >= deadline_us:
            late = "Timed out waiting for a node assignment. Call: listOffsets(api=METADATA)"
            failed |= dict.fromkeys(unanswered, _in_futures(f"{ERRORS_PACKAGE}TimeoutException: {late}"))
        elif unanswered:
            yield Sleep(RETRY_BACKOFF_US)
    # The tool returns when all of them have ended, with the first failure.
    for name in hash_map_order(list(dict.fromkeys(partitions)), code=partition_code):
        if name in failed:
            raise failed[name]
    return found


def _unexpected(process: Process, row: ListOffsetsResult) -> JavaException:
    """The error of a partition that the client does not ask for again (`ListOffsetsHandler`)."""
    what = f"ListOffsets request for topic partition {row.partition} failed due to an unexpected error {row.error.name}"
    log_error(process, [f"[AdminClient clientId=adminclient-1] {what}"], OFFSETS_LOGGER)
    return _in_futures(JavaException.of(row.error).stack_trace()[0])


def _no_topic(process: Process, partition: str, error: Errors) -> JavaException:
    topic = topic_of(partition)
    is_invalid = error is Errors.INVALID_TOPIC_EXCEPTION
    what = (
        "invalid topic error for topic {} in `Metadata` response" if is_invalid else "unknown topic error for topic {}"
    )
    log_error(process, [f"[AdminClient clientId=adminclient-1] Received {what.format(topic)}"], LEADER_LOGGER)
    exception = JavaException.of(error)
    process.err(exception.stack_trace()[0])
    why = (
        f"due to invalid topic `{topic}`" if is_invalid else f"because metadata for topic `{topic}` could not be found"
    )
    return _in_futures(f"{exception.java_class}: Failed to fetch metadata for partition {partition} {why}")


def _in_futures(cause: str) -> JavaException:
    """An exception as the tool wraps it: once in the future, once itself."""
    outer = f"java.util.concurrent.ExecutionException: {cause}"
    return JavaException("java.lang.RuntimeException", outer, (outer, cause))
