"""Requests of the tools, as sent by Kafka's admin client: metadata from any broker, changes to the controller."""

import re
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

from broker_core.errors import Errors
from broker_core.partitions import topic_of
from broker_core.shell.grammar.process import Call, Disconnected, Process, Sleep, Wait, up_brokers
from broker_core.shell.java.errors import ERRORS_PACKAGE, JavaException
from broker_core.wire.messages import MetadataRequest, MetadataResponse, TopicResult

T = TypeVar("T")
Asking = Generator[Wait, Any, T]

REQUEST_TIMEOUT_US = 30_000_000
ANSWER_TIME_US = 10_000_000
"""The margin by which the shell waits longer than the broker's timeout, so that the broker's own error is reported."""
RETRY_BACKOFF_US = 100_000


def api_key(api: str) -> str:
    """The API's name in the admin client: `OFFSET_FETCH` for `OffsetFetch`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", api).upper()


def timed_out(call: str) -> JavaException:
    """The admin client's error for a call for which no broker was available in time."""
    return JavaException(ERRORS_PACKAGE + "TimeoutException", f"Timed out waiting for a node assignment. Call: {call}")


def metadata(
    process: Process, topics: tuple[str, ...] | None, call: str, *, create: bool = False
) -> Asking[MetadataResponse]:
    """Metadata of these topics, or of all (None), from the first broker that responds. `create`: missing ones are
    created.

    Raises JavaException if none responds in time; it names the `call` that needed it.
    """
    deadline_us = process.now_us + process.api_timeout_us
    label = (
        "label.metadata_all"
        if topics is None
        else "Metadata " + ", ".join(topics)
        if topics
        else "label.metadata_brokers"
    )
    while process.now_us < deadline_us:
        for broker_id in up_brokers(process.cluster):
            left_us = min(REQUEST_TIMEOUT_US, deadline_us - process.now_us)
            response: MetadataResponse | Disconnected = yield Call(
                broker_id, "Metadata", MetadataRequest(topics, create), label, left_us
            )
            if not isinstance(response, Disconnected):
                return response
        yield Sleep(RETRY_BACKOFF_US)
    raise timed_out(call)


def until_ready(process: Process, broker_id: int, deadline_us: int, call: str) -> Asking[None]:
    """Waits for a broker from the metadata: the client sends nothing before it has that broker's API versions, and uses
    no other broker in the meantime. A frozen broker accepts the connection and does not respond.

    Raises JavaException at the deadline.
    """
    while process.cluster.broker_state(broker_id) != "up":
        if process.now_us >= deadline_us:
            is_connected = process.cluster.broker_state(broker_id) == "frozen"
            raise _unsent(call) if is_connected else timed_out(call)
        yield Sleep(min(RETRY_BACKOFF_US, deadline_us - process.now_us))


def _unsent(call: str) -> JavaException:
    return JavaException(ERRORS_PACKAGE + "TimeoutException", f"Timed out waiting to send the call. Call: {call}")


def late_for(process: Process, broker_id: int, call: str) -> JavaException:
    """The client's error for a call that only this broker could have answered. A frozen broker stays connected while
    the others know it.
    """
    cluster = process.cluster
    is_known = any(broker_id in cluster.metadata_of(each).brokers for each in up_brokers(cluster))
    if is_known and cluster.broker_state(broker_id) == "frozen":
        return _unsent(call)
    return timed_out(call)


def query_controller(process: Process, api: str, body: Any, call: str) -> Asking[Any]:
    """Sends a request to the current controller. Raises JavaException if no broker responds in time."""
    deadline_us = process.now_us + process.api_timeout_us
    while process.now_us < deadline_us:
        known = yield from metadata(process, (), call)
        if known.controller in known.brokers:
            if process.cluster.broker_state(known.controller) == "frozen":
                yield from until_ready(process, known.controller, deadline_us, call)
            response = yield Call(known.controller, api, body, api, REQUEST_TIMEOUT_US + ANSWER_TIME_US)
            if not isinstance(response, Disconnected) and _error_of(response) is not Errors.NOT_CONTROLLER:
                return response
        yield Sleep(RETRY_BACKOFF_US)
    raise timed_out(call)


def _error_of(response: Any) -> Errors:
    """The error of the controller's whole response, or the first one of a topic."""
    results: tuple[TopicResult, ...] = getattr(response, "topics", ())
    whole: Errors = getattr(response, "error", Errors.NONE)
    return next((result.error for result in results if result.error is not Errors.NONE), whole)


def query_any(process: Process, api: str, body: Any, call: str) -> Asking[Any]:
    """Sends a request to the first broker that responds. Raises JavaException if none responds in time."""
    deadline_us = process.now_us + process.api_timeout_us
    while process.now_us < deadline_us:
        for broker_id in up_brokers(process.cluster):
            left_us = min(REQUEST_TIMEOUT_US, deadline_us - process.now_us)
            response = yield Call(broker_id, api, body, api, left_us)
            if not isinstance(response, Disconnected):
                return response
        yield Sleep(RETRY_BACKOFF_US)
    raise timed_out(call)


def query_replica(
    process: Process,
    partition: str,
    broker_id: int | None,
    api: str,
    body: Any,
    call: str,
    error_of: Callable[[Any], Errors],
) -> Asking[Any]:
    """Sends to the leader of a partition, or to the given broker, until the result is not a retriable error; the caller
    checks the result. `call`: the name of the admin client's method.

    Raises JavaException on a timeout.
    """
    deadline_us = process.now_us + process.api_timeout_us
    its_own = f"{call}(api={api_key(api)})"
    while process.now_us < deadline_us:
        known = yield from metadata(process, (topic_of(partition),), f"{call}(api=METADATA)")
        leader = next((row[1] for row in known.partitions if row[0] == partition), -1)
        requested = leader if broker_id is None else broker_id
        if requested in known.brokers:
            yield from until_ready(process, requested, deadline_us, its_own)
            response = yield Call(requested, api, body, f"{api} {partition}")
            if not isinstance(response, Disconnected):
                error = error_of(response)
                # The leader may move; a broker that is named does not.
                if not error.retriable or (requested == broker_id and error is Errors.NOT_LEADER_OR_FOLLOWER):
                    return response
        yield Sleep(RETRY_BACKOFF_US)
    raise timed_out(f"{call}(api=METADATA)" if broker_id is None else its_own)


def query_broker(process: Process, broker_id: int, api: str, body: Any, timeout_us: int) -> Asking[Any]:
    """Sends a request to one broker, which may have to start first; None if it does not respond in time."""
    deadline_us = process.now_us + timeout_us
    while process.now_us < deadline_us:
        if broker_id in up_brokers(process.cluster):
            response = yield Call(broker_id, api, body, api, deadline_us - process.now_us)
            if not isinstance(response, Disconnected):
                return response
        yield Sleep(min(RETRY_BACKOFF_US, max(deadline_us - process.now_us, 1)))
    return None


def bootstrap(process: Process, arguments: Sequence[str]) -> str:
    """The command line with the brokers that are up as bootstrap servers."""
    if any(word.partition("=")[0] == "--bootstrap-server" for word in arguments):
        return " ".join(arguments)
    cluster = process.cluster
    servers = ",".join(f"127.0.0.1:{cluster.broker_port(broker_id)}" for broker_id in up_brokers(cluster))
    return " ".join(["--bootstrap-server", servers, *arguments])


def raise_first_error(results: tuple[TopicResult, ...]) -> None:
    """Raises JavaException for the first rejected topic."""
    for result in results:
        if result.error is not Errors.NONE:
            raise JavaException.of(result.error, result.message)
