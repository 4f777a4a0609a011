"""kafka-leader-election.sh (`org.apache.kafka.tools.LeaderElectionCommand`)."""

from broker_core.config_defs.java_text import hash_map_order, partition_code
from broker_core.errors import Errors
from broker_core.partitions import partition_name
from broker_core.shell.admin.admin_client import open_admin_client
from broker_core.shell.admin.requests import Asking, query_controller
from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions
from broker_core.shell.grammar.process import Process, Running, settled
from broker_core.shell.grammar.registry import Command
from broker_core.shell.java import json_values as java_json
from broker_core.shell.java.errors import HELP, VERSION, JavaException, ToolUsageError, check_help, print_usage
from broker_core.texts import text
from broker_core.wire.messages import ElectionType, ElectLeadersRequest, ElectLeadersResponse, PartitionResult

COMMON = "org.apache.kafka.server.common."
CHOICES = ("topic", "all-topic-partitions", "path-to-json-file")

OPTIONS = (
    Option("all-topic-partitions", "Elect for all partitions that need it."),
    Option("admin.config", "A file of configurations of the admin client.", "config file", values="file"),
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "host:port"),
    Option(
        "election-type",
        "preferred: the first replica shall lead if another one does. unclean: a replica that is not in sync may lead "
        "if there is no leader.",
        "election type",
        values="preferred|unclean",
    ),
    HELP,
    VERSION,
    Option("partition", "The partition's number; with topic.", "partition id", "Integer"),
    Option(
        "path-to-json-file",
        'The file with the partitions: {"partitions":[{"topic":"foo","partition":1}]}.',
        "Path to JSON file",
        values="file",
    ),
    Option("topic", "The topic of the partition.", "topic name", values="topic"),
)

TIMEOUTS = {"default.api.timeout.ms": "30000", "request.timeout.ms": "15000"}
"""The configuration of the tool's client."""


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    try:
        options.parse(arguments)
        check_help(
            options,
            "This tool attempts to elect a new leader for a set of topic partitions. The type of elections supported "
            "are preferred replicas and unclean replicas.",
        )
        _check(options)
        kind = _kind(options.value("election-type") or "")
        body = ElectLeadersRequest(kind, _partitions(process, options))
        open_admin_client(process, options, "admin.config", TIMEOUTS)
        response = yield from _elect(process, body)
        failed = _report(process, kind, response)
        yield from settled(process)
    except ToolUsageError as error:
        return print_usage(process, error, OPTIONS)
    except (OptionError, JavaException) as error:
        return _failed(process, JavaException.thrown(error), [])
    if failed:
        message = f"{len(failed)} replica(s) could not be elected"
        return _failed(process, JavaException(COMMON + "AdminCommandFailedException", message), failed)
    return 0


def _elect(process: Process, body: ElectLeadersRequest) -> Asking[ElectLeadersResponse]:
    try:
        response: ElectLeadersResponse = yield from query_controller(process, "ElectLeaders", body, "electLeaders")
    except JavaException as late:
        message = "Timeout waiting for election results"
        process.out(message)
        raise JavaException(COMMON + "AdminCommandFailedException", message, late.stack_trace()) from None
    return response


def _failed(process: Process, error: JavaException, suppressed: list[str]) -> int:
    process.err(error.message)
    first, *causes = error.stack_trace()
    for line in (first, *(f"\tSuppressed: {each}" for each in suppressed), *causes):
        process.err(line)
    return 1


def _check(options: ParsedOptions) -> None:
    """Raises JavaException for conflicting options, in the tool's order."""

    def complaint(message: str) -> JavaException:
        return JavaException(COMMON + "AdminCommandFailedException", message)

    if "election-type" not in options:
        raise complaint("Missing required option(s): election-type")
    if sum(choice in options for choice in CHOICES) != 1:
        raise complaint(f"One and only one of the following options is required: {', '.join(CHOICES)}")
    if "topic" in options and "partition" not in options:
        raise complaint("Missing required option(s): partition")
    if "topic" not in options and "partition" in options:
        raise complaint("Option partition is only allowed if topic is used")


def _kind(text: str) -> ElectionType:
    if text.upper() == "PREFERRED":
        return "PREFERRED"
    if text.upper() == "UNCLEAN":
        return "UNCLEAN"
    raise OptionError(
        "joptsimple.OptionArgumentConversionException",
        f"Cannot parse argument '{text}' of option election-type",
        (f"joptsimple.ValueConversionException: Value [{text}] is not one of [[PREFERRED,UNCLEAN]]",),
    )


def _partitions(process: Process, options: ParsedOptions) -> tuple[str, ...] | None:
    """The selected partitions; None = all."""
    path = options.value("path-to-json-file")
    if path is not None:
        try:
            return _election_data(_read(process, path))
        except JavaException as error:
            if not error.java_class.startswith(("java.io", java_json.MAPPING_EXCEPTION)):
                raise
            cause = f"{error.java_class}: {error.message}"
            raise JavaException("java.lang.RuntimeException", cause, (cause, *error.causes)) from None
    if "topic" in options:
        return (options.partition(),)
    return None


def _read(process: Process, name: str) -> str:
    if name not in process.files:
        raise JavaException(
            "java.io.IOException", f"Unable to read file {name}", (f"java.nio.file.NoSuchFileException: {name}",)
        )
    return process.files[name]


def _election_data(text: str) -> tuple[str, ...]:
    try:
        root = java_json.parse(text)
    except java_json.NotJson:
        raise JavaException(COMMON + "AdminOperationException", "Replica election data is empty") from None
    root = java_json.as_object(root)
    if "partitions" not in root:
        why = 'Replica election data is missing "partitions" field'
        raise JavaException(COMMON + "AdminOperationException", why)
    partitions = []
    for element in java_json.as_array(root["partitions"]):
        entry = java_json.as_object(element)
        topic = java_json.as_string(java_json.field(entry, "topic"))
        partitions.append(partition_name(topic, java_json.as_int(java_json.field(entry, "partition"))))
    twice = list(dict.fromkeys(each for at, each in enumerate(partitions) if each in partitions[:at]))
    if twice:
        named = ", ".join(hash_map_order(twice, code=partition_code))
        why = f"Replica election data contains duplicate partitions: [{named}]"
        raise JavaException(COMMON + "AdminOperationException", why)
    return tuple(partitions)


def _report(process: Process, kind: ElectionType, response: ElectLeadersResponse) -> list[str]:
    """Prints the outcomes; returns the exceptions of those partitions that failed."""
    if response.error is not Errors.NONE:
        raise JavaException.in_future(response.error)
    results = {result.partition: result for result in response.partitions}
    ordered = [results[name] for name in hash_map_order(list(results), code=partition_code)]
    elected = [each.partition for each in ordered if each.error is Errors.NONE]
    not_needed = [each.partition for each in ordered if each.error is Errors.ELECTION_NOT_NEEDED]
    if elected:
        process.out(f"Successfully completed leader election ({kind}) for partitions {', '.join(elected)}")
    if not_needed:
        process.out(f"Valid replica already elected for partitions {', '.join(not_needed)}")
    failed = [each for each in ordered if each.error not in (Errors.NONE, Errors.ELECTION_NOT_NEEDED)]
    for each in failed:
        process.out(f"Error completing leader election ({kind}) for partition: {each.partition}: {_exception(each)}")
    return [_exception(each) for each in failed]


def _exception(result: PartitionResult) -> str:
    return JavaException.of(result.error, result.message).stack_trace()[0]


COMMAND = Command(
    "kafka-leader-election.sh",
    text("help.kafka_leader_election"),
    (
        (
            "kafka-leader-election.sh --election-type preferred --topic T --partition P",
            text("help.kafka_leader_election_preferred"),
        ),
        (
            "kafka-leader-election.sh --election-type preferred --all-topic-partitions",
            text("help.kafka_leader_election_all"),
        ),
        (
            "kafka-leader-election.sh --election-type unclean --topic T --partition P",
            text("help.kafka_leader_election_unclean"),
        ),
    ),
    _run,
    OPTIONS,
)
