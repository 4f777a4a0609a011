"""kafka-delete-records.sh (`org.apache.kafka.tools.DeleteRecordsCommand`)."""

from typing import NamedTuple

from broker_core.config_defs.java_text import hash_map_order, partition_code
from broker_core.errors import Errors
from broker_core.partitions import partition_name, topic_of
from broker_core.shell.admin.admin_client import COMMAND_CONFIG, open_admin_client
from broker_core.shell.admin.requests import REQUEST_TIMEOUT_US, RETRY_BACKOFF_US, Asking, metadata, until_ready
from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions
from broker_core.shell.grammar.process import Call, Disconnected, Process, Running, Sleep, up_brokers
from broker_core.shell.grammar.registry import Command
from broker_core.shell.java import json_values as java_json
from broker_core.shell.java.errors import (
    ERRORS_PACKAGE,
    HELP,
    VERSION,
    JavaException,
    ToolUsageError,
    check_help,
    check_required,
    print_usage,
)
from broker_core.texts import text
from broker_core.wire.messages import DeleteRecordsRequest, DeleteRecordsResponse, MetadataResponse

COMMON_PACKAGE = "org.apache.kafka.server.common."
ADMIN_PACKAGE = "org.apache.kafka.clients.admin.internals."
FILE_VERSION = 1
RETRY_BACKOFF_MAX_US = 1_000_000

OPTIONS = (
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "server(s) to use"),
    COMMAND_CONFIG,
    HELP,
    VERSION,
    Option(
        "offset-json-file",
        'The file with an offset for each partition: {"partitions":[{"topic":"foo","partition":1,"offset":1}],'
        '"version":1}. Records below the offset go; -1 is the high watermark.',
        "Offset json file path",
        values="file",
    ),
)


class Outcome(NamedTuple):
    """The result of one partition: the low watermark, or the error as Java prints it."""

    low_watermark: int
    error: str = ""


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    try:
        options.parse(arguments)
        check_help(options, "This tool helps to delete records of the given partitions down to the specified offset.")
        check_required(options, "offset-json-file")
        open_admin_client(process, options)
        offsets = _offsets(_read(process, options.value("offset-json-file") or ""))
    except ToolUsageError as error:
        return print_usage(process, error, OPTIONS)
    except (OptionError, JavaException) as error:
        return _failed(process, JavaException.thrown(error))
    process.out("Executing records delete operation")
    logged: list[str] = []
    outcomes = yield from _delete(process, offsets, logged)
    process.out("Records delete operation completed:")
    for partition, outcome in outcomes.items():
        said = f"error: {outcome.error}" if outcome.error else f"low_watermark: {outcome.low_watermark}"
        process.out(f"partition: {partition}\t{said}")
    for line in logged:
        process.err(line)
    return 0


def _failed(process: Process, error: JavaException) -> int:
    process.err(error.message)
    for line in error.stack_trace():
        process.err(line)
    return 1


def _read(process: Process, name: str) -> str:
    if name not in process.files:
        raise JavaException(
            "java.io.IOException",
            f"Unable to read file {name}",
            (f"java.nio.file.NoSuchFileException: {name}",),
        )
    return process.files[name]


def _offsets(text: str) -> dict[str, int]:
    """Partition -> offset, in the order of the tool's map. Raises JavaException."""
    try:
        root = java_json.parse(text)
    except java_json.NotJson:
        raise JavaException(
            COMMON_PACKAGE + "AdminOperationException", "The input string is not a valid JSON"
        ) from None
    root = java_json.as_object(root)
    version = java_json.as_int(root["version"]) if "version" in root else FILE_VERSION
    if version != FILE_VERSION:
        raise JavaException(COMMON_PACKAGE + "AdminOperationException", f"Not supported version field value {version}")
    if "partitions" not in root:
        raise JavaException(COMMON_PACKAGE + "AdminOperationException", "Missing partitions field")
    found: dict[str, int] = {}
    twice: list[str] = []
    for element in java_json.as_array(root["partitions"]):
        entry = java_json.as_object(element)
        topic = java_json.as_string(java_json.field(entry, "topic"))
        partition = partition_name(topic, java_json.as_int(java_json.field(entry, "partition")))
        offset = java_json.as_long(java_json.field(entry, "offset"))
        if partition in found:
            twice.append(partition)
        found.setdefault(partition, offset)
    if twice:
        named = ",".join(_in_map_order(list(dict.fromkeys(twice))))
        raise JavaException(
            COMMON_PACKAGE + "AdminCommandFailedException",
            f"Offset json file contains duplicate topic partitions: {named}",
        )
    return {partition: found[partition] for partition in _in_map_order(list(found))}


def _in_map_order(partitions: list[str]) -> list[str]:
    return hash_map_order(partitions, code=partition_code)


def _delete(process: Process, offsets: dict[str, int], logged: list[str]) -> Asking[dict[str, Outcome]]:
    """Sends to the leader of each partition, and retries until the deadline (`DeleteRecordsHandler`)."""
    deadline_us = process.now_us + process.api_timeout_us
    outcomes: dict[str, Outcome] = {}
    waiting = dict(offsets)
    backoff_us = RETRY_BACKOFF_US
    unassigned = _timed_out("Timed out waiting for a node assignment. Call: deleteRecords(api=METADATA)")
    late = dict.fromkeys(offsets, unassigned)
    while waiting and process.now_us < deadline_us:
        topics = tuple(dict.fromkeys(topic_of(partition) for partition in waiting))
        try:
            known = yield from metadata(process, topics, "deleteRecords(api=METADATA)")
        except JavaException:
            break
        late |= dict.fromkeys(waiting, _late_error(process, "METADATA", deadline_us, backoff_us))
        outcomes |= _invalid(waiting, known, logged)
        waiting = {partition: offset for partition, offset in waiting.items() if partition not in outcomes}
        by_leader = _by_leader(waiting, known)
        for leader in sorted(by_leader, key=lambda each: each not in up_brokers(process.cluster)):
            partitions = by_leader[leader]
            names = [name for name, _ in partitions]
            try:
                yield from until_ready(process, leader, deadline_us, "deleteRecords(api=DELETE_RECORDS)")
            except JavaException as unsent:
                late |= dict.fromkeys(names, _timed_out(unsent.message))
                continue
            body = DeleteRecordsRequest(process.api_timeout_us // 1_000, partitions)
            timeout_us = min(REQUEST_TIMEOUT_US, deadline_us - process.now_us)
            response: DeleteRecordsResponse | Disconnected = yield Call(
                leader, "DeleteRecords", body, f"DeleteRecords {', '.join(names)}", timeout_us
            )
            if isinstance(response, Disconnected):
                late |= dict.fromkeys(names, _late_error(process, "DELETE_RECORDS", deadline_us, backoff_us))
            else:
                outcomes |= _answered(response, logged)
        waiting = {partition: offset for partition, offset in waiting.items() if partition not in outcomes}
        if waiting:
            yield Sleep(min(backoff_us, max(deadline_us - process.now_us, 0)))
            backoff_us = min(2 * backoff_us, RETRY_BACKOFF_MAX_US)
    return {partition: outcomes.get(partition) or late[partition] for partition in offsets}


def _invalid(waiting: dict[str, int], known: MetadataResponse, logged: list[str]) -> dict[str, Outcome]:
    """The partitions whose topic name is invalid: any other unknown topic may still be created."""
    found: dict[str, Outcome] = {}
    for topic, _, error in known.topics:
        if error is Errors.INVALID_TOPIC_EXCEPTION:
            refused = JavaException.of(error)
            said = f"Received invalid topic error for topic {topic} in `Metadata` response"
            log(logged, f"{said} ({ADMIN_PACKAGE}PartitionLeaderStrategy)")
            logged.append(f"{refused.java_class}: {refused.message}")
            for partition in waiting:
                if topic_of(partition) == topic:
                    why = f"Failed to fetch metadata for partition {partition} due to invalid topic `{topic}`"
                    found[partition] = Outcome(-1, f"{refused.java_class}: {why}")
    return found


def _by_leader(waiting: dict[str, int], known: MetadataResponse) -> dict[int, tuple[tuple[str, int], ...]]:
    """Leader -> its partitions, by broker id."""
    leaders = {row[0]: row[1] for row in known.partitions if row[1] in known.brokers}
    requested: dict[int, tuple[tuple[str, int], ...]] = {}
    for partition, offset in waiting.items():
        if partition in leaders:
            leader = leaders[partition]
            requested[leader] = (*requested.get(leader, ()), (partition, offset))
    return dict(sorted(requested.items()))


def _answered(response: DeleteRecordsResponse, logged: list[str]) -> dict[str, Outcome]:
    """The final results of a leader; retriable errors are retried."""
    found: dict[str, Outcome] = {}
    for result in response.partitions:
        if result.error is Errors.NONE:
            found[result.partition] = Outcome(result.low_watermark)
        elif not result.error.retriable:
            refused = JavaException.of(result.error)
            found[result.partition] = Outcome(-1, f"{refused.java_class}: {refused.message}")
            said = f"DeleteRecords request for topic partition {result.partition} failed due to an unexpected error"
            log(logged, f"{said} {result.error.name} ({ADMIN_PACKAGE}DeleteRecordsHandler)")
    return found


def log(logged: list[str], said: str) -> None:
    """Prints a line of the admin client's log."""
    logged.append(f"ERROR [AdminClient clientId=adminclient-1] {said}")


def _late_error(process: Process, api: str, deadline_us: int, backoff_us: int) -> Outcome:
    """The admin client's error for a call that was retried until the deadline; times in calendar ms."""
    deadline_ms = process.wall_ms + (deadline_us - process.now_us) // 1_000
    return _timed_out(
        f"Call(callName=deleteRecords(api={api}), deadlineMs={deadline_ms}, tries=1, "
        f"nextAllowedTryMs={deadline_ms + backoff_us // 1_000}) timed out at {deadline_ms} after 1 attempt(s)"
    )


def _timed_out(message: str) -> Outcome:
    return Outcome(-1, f"{ERRORS_PACKAGE}TimeoutException: {message}")


COMMAND = Command(
    "kafka-delete-records.sh",
    text("help.kafka_delete_records"),
    (
        (
            "kafka-delete-records.sh --offset-json-file FILE",
            text("help.kafka_delete_records_file"),
        ),
    ),
    _run,
    OPTIONS,
)
