"""kafka-consumer-groups.sh (`org.apache.kafka.tools.consumer.group.ConsumerGroupCommand`), as printed by 3.9.1, missing
line breaks included.
"""

from broker_core.config_defs.java_text import split
from broker_core.errors import Errors
from broker_core.partitions import TopicPartition, sorted_partitions, topic_of
from broker_core.shell.admin.admin_client import COMMAND_CONFIG, open_admin_client
from broker_core.shell.admin.group_admin import (
    list_groups,
    query_coordinator,
)
from broker_core.shell.admin.requests import Asking, metadata
from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions
from broker_core.shell.grammar.process import Process, Running, settled
from broker_core.shell.grammar.registry import Command, refuse
from broker_core.shell.java.errors import (
    HELP,
    NAMELESS_TOPIC,
    VERSION,
    JavaException,
    ToolUsageError,
    check_help,
    check_invalid,
    print_usage,
)
from broker_core.shell.tools.kafka.consumer_groups_describe import describe_groups
from broker_core.shell.tools.kafka.consumer_groups_reset import SCENARIOS, partitions_in, reset_offsets
from broker_core.texts import text
from broker_core.wire.messages import (
    DeleteGroupsRequest,
    OffsetDeleteRequest,
)

ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling")
TYPES = ("Consumer", "Classic")
DEFAULT_TIMEOUT_US = 5_000_000
_ONLY_WITH = {
    "verbose": ("describe",),
    "offsets": ("describe",),
    "members": ("describe",),
    "state": ("describe", "list"),
    "type": ("list",),
}
NOT_EXECUTED = (
    "WARN: No action will be performed as the --execute option is missing.In a future major release, the default "
    "behavior of this command will be to prompt the user before executing the reset rather than doing a dry run. You "
    "should add the --dry-run option explicitly if you are scripting this command and want to keep the current default "
    "behavior without prompting."
)

OPTIONS = (
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "server to connect to"),
    COMMAND_CONFIG,
    Option("all-groups", "All groups."),
    Option("all-topics", "All topics of the group, for reset-offsets."),
    Option("by-duration", "Reset to so long ago, such as PT1H.", "duration"),
    Option("delete", "Delete groups."),
    Option("delete-offsets", "Delete the offsets of a group for some topics."),
    Option("describe", "Describe groups."),
    Option("dry-run", "Only show what a reset would do."),
    Option("execute", "Do the reset."),
    Option("export", "Print the result of a reset as CSV."),
    Option("from-file", "Reset to what a CSV file says.", "path to CSV file", values="files"),
    Option("group", "The group.", "consumer group", repeats=True),
    HELP,
    VERSION,
    Option("list", "List all groups."),
    Option("members", "Describe the members."),
    Option("offsets", "Describe the offsets; this is what --describe does."),
    Option("reset-offsets", "Reset the offsets of a group."),
    Option("shift-by", "Reset by so many.", "number-of-offsets", "Long"),
    Option("state", "The state; with --list also a filter.", optional=True, argument="state"),
    Option("timeout", "How long to wait, in ms.", "timeout (ms)", "Long"),
    Option("to-current", "Reset to what is committed."),
    Option("to-datetime", "Reset to a time, such as 2026-01-01T00:00:00.000.", "datetime"),
    Option("to-earliest", "Reset to the first offset."),
    Option("to-latest", "Reset to the end."),
    Option("to-offset", "Reset to this offset.", "offset", "Long"),
    Option("topic", "Topics, or T:0,1 for some partitions.", "topic", repeats=True, values="topic"),
    Option("type", "The type; with --list also a filter.", optional=True, argument="type"),
    Option("verbose", "More about members or state."),
)


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    try:
        options.parse(arguments)
        _check_available(options)
    except OptionError as error:
        process.err(f"{error.java_class}: {error.message}")
        return 1
    try:
        _check(process, options)
    except OptionError as error:
        return print_usage(process, ToolUsageError(error.message), OPTIONS)
    except ToolUsageError as error:
        return print_usage(process, error, OPTIONS)
    if not process.cluster.era.coordinates_consumers:
        refuse(process, text("shell.old_groups", era=process.cluster.era.name))
        refuse(process, text("shell.old_groups_todo"))
        return 1
    try:
        _open_client(process, options)
        if "list" in options:
            yield from _list(process, options)
        elif "describe" in options:
            names = sorted((yield from _groups(process, options)))
            yield from describe_groups(process, options, names)
        elif "delete" in options:
            yield from _delete(process, options)
        elif "reset-offsets" in options:
            yield from reset_offsets(process, options)
        else:
            yield from _delete_offsets(process, options)
    except ToolUsageError as error:
        return print_usage(process, error, OPTIONS)
    except (JavaException, OptionError) as error:
        failed = JavaException.thrown(error)
        _error(process, f"Executing consumer group command failed due to {failed.message}")
        for line in failed.stack_trace():
            # Further lines of a message look like stack frames, which are left out.
            process.err(line.partition("\n")[0])
    if set(arguments) & {"--delete", "--execute"}:
        yield from settled(process)
    return 0


def _check_available(options: ParsedOptions) -> None:
    """Raises OptionError for options that require others."""
    forbidden = [
        name for name, actions in _ONLY_WITH.items() if name in options and not any(each in options for each in actions)
    ]
    if forbidden:
        raise OptionError(
            "joptsimple.UnavailableOptionException",
            f"Option(s) [{', '.join(forbidden)}] are unavailable given other options on the command line",
        )


def _open_client(process: Process, options: ParsedOptions) -> None:
    try:
        open_admin_client(process, options)
    except JavaException as error:
        if error.java_class == "java.nio.file.NoSuchFileException":
            raise error.wrapped_in("java.lang.RuntimeException") from None
        raise
    timeout_ms = options.integer("timeout")
    process.api_timeout_us = DEFAULT_TIMEOUT_US if timeout_ms is None else timeout_ms * 1_000


def _check(process: Process, options: ParsedOptions) -> None:
    """`ConsumerGroupCommandOptions.checkArgs`. Raises ToolUsageError."""
    check_help(
        options,
        "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, or reset "
        "consumer group offsets.",
    )
    has_scope = "group" in options or "all-groups" in options
    if "describe" in options:
        if not has_scope:
            raise ToolUsageError(
                "Option [describe] takes one of these options: [reset-offsets], [describe], [delete], [list]"
            )
        if sum(1 for name in ("members", "offsets", "state") if name in options) > 1:
            raise ToolUsageError("Option [describe] takes at most one of these options: [members], [offsets], [state]")
        if options.value("state"):
            raise ToolUsageError("Option [describe] does not take a value for [state]")
    if "delete" in options:
        if not has_scope:
            raise ToolUsageError("Option [delete] takes one of these options: [all-groups], [group]")
        if "topic" in options:
            raise ToolUsageError("The consumer does not support topic-specific offset deletion from a consumer group.")
    if "delete-offsets" in options and not ("group" in options and "topic" in options):
        raise ToolUsageError("Option [delete-offsets] takes the following options: [all-groups], [group]")
    if "reset-offsets" in options:
        if "dry-run" in options and "execute" in options:
            raise ToolUsageError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
        if "dry-run" not in options and "execute" not in options:
            process.err(NOT_EXECUTED)
        if not has_scope:
            raise ToolUsageError("Option [reset-offsets] takes one of these options: [all-groups], [group]")
        for scenario in SCENARIOS:
            check_invalid(options, scenario, [other for other in SCENARIOS if other != scenario])
    check_invalid(options, "group", ("all-groups", "list"))
    check_invalid(options, "topic", ("list", "describe"))
    if sum(1 for action in ACTIONS if action in options) != 1:
        raise ToolUsageError(
            "Command must include exactly one action: " + ", ".join(f"--{action}" for action in ACTIONS)
        )


def _error(process: Process, message: str) -> None:
    process.out("")
    process.out(f"Error: {message}")


def _groups(process: Process, options: ParsedOptions) -> Asking[list[str]]:
    if "all-groups" in options:
        rows = yield from list_groups(process)
        return [name for name, _, _ in rows]
    return list(dict.fromkeys(options.values("group")))


# List.


def _filter(options: ParsedOptions, name: str, known: tuple[str, ...], plural: str) -> set[str]:
    text = options.value(name)
    if not text:
        return set()
    by_name = {each.lower(): each for each in known}
    wanted = [word.strip().lower() for word in split(text, ",")]
    if any(word not in by_name for word in wanted):
        kind = plural if name == "type" else name
        raise ToolUsageError(f"Invalid {kind} list '{text}'. Valid {plural} are: {', '.join(known)}")
    return {by_name[word] for word in wanted}


def _list(process: Process, options: ParsedOptions) -> Asking[None]:
    states = _filter(options, "state", STATES, "states")
    types = _filter(options, "type", TYPES, "types")
    rows = yield from list_groups(process, is_filtered="state" in options or "type" in options)
    rows = [row for row in rows if (not states or row[2] in states) and (not types or "Classic" in types)]
    if "state" not in options and "type" not in options:
        for name, _, _ in rows:
            process.out(name)
        return
    width = max([15, *(len(name) for name, _, _ in rows)]) + 10
    header = ["GROUP"] + ["TYPE"] * ("type" in options) + ["STATE"] * ("state" in options)
    lines = [header]
    for name, _, state in rows:
        lines.append([name] + ["Classic"] * ("type" in options) + [state] * ("state" in options))
    for line in lines:
        process.out(" ".join([f"{line[0]:<{width}}", *(f"{cell:<20}" for cell in line[1:])]))


# Delete.


def _delete(process: Process, options: ParsedOptions) -> Asking[None]:
    failed: dict[str, str] = {}
    deleted: list[str] = []
    for name in (yield from _groups(process, options)):
        try:
            response = yield from query_coordinator(process, name, "DeleteGroups", DeleteGroupsRequest((name,)))
            error = response.results[0][1]
            if error is not Errors.NONE:
                raise JavaException.in_future(error)
            deleted.append(name)
        except JavaException as exception:
            failed[name] = f"{exception.java_class}: {exception.message}"
    if not failed:
        joined = ", ".join(deleted)
        process.out(f"Deletion of requested consumer groups ('{joined}') was successful.")
        return
    _error(process, "Deletion of some consumer groups failed:")
    for name, why in failed.items():
        process.out(f"* Group '{name}' could not be deleted due to: {why}")
    if deleted:
        joined = "', '".join(deleted)
        process.out("")
        process.out(f"These consumer groups were deleted successfully: '{joined}', '")


def _delete_offsets(process: Process, options: ParsedOptions) -> Asking[None]:
    group = options.value("group") or ""
    topics = options.values("topic")
    partitions, unknown = yield from _partitions_of(process, topics)
    body = OffsetDeleteRequest(group, tuple(partitions))
    late = ""
    decided: dict[str, Errors] = {}
    try:
        response = yield from query_coordinator(process, group, "OffsetDelete", body)
        decided, whole = dict(response.partitions), response.error
    except JavaException as exception:
        late, whole = exception.message, Errors.REQUEST_TIMED_OUT
    errors = {name: decided.get(name, whole) for name in partitions}
    first = next((error for error in errors.values() if error is not Errors.NONE), whole)
    rows = [(*TopicPartition.parse(name), _status(error, late)) for name, error in errors.items()]
    rows += [(topic, -1, f"Error: :{error.java_class}: {error.message}") for topic, error in unknown]
    rows.sort(key=lambda row: f"{row[0]}{row[1]}")
    said = {
        Errors.INVALID_GROUP_ID: f"'{group}' is not valid.",
        Errors.GROUP_ID_NOT_FOUND: f"'{group}' does not exist.",
        Errors.NON_EMPTY_GROUP: (
            f"Deleting offsets of a consumer group '{group}' is forbidden if the group is not empty."
        ),
        Errors.REQUEST_TIMED_OUT: "Encounter some unknown error: REQUEST_TIMED_OUT",
    }
    if first is Errors.NONE:
        process.out(f"Request succeed for deleting offsets with topic {', '.join(topics)} group {group}")
    else:
        _error(process, said.get(first, "Encounter some partition level error, see the follow-up details:"))
    process.out("")
    header = f"{'TOPIC':<30} {'PARTITION':<15} {'STATUS':<15}"
    cells = [(topic, number if number >= 0 else "Not Provided", status) for topic, number, status in rows]
    process.out(header + "".join(f"{topic:<30} {number:<15} {status:<15}" for topic, number, status in cells))


def _status(error: Errors, late: str) -> str:
    """The status of a deletion; `late`: the client's error if no broker responded."""
    if error is Errors.NONE:
        return "Successful"
    if error is Errors.REQUEST_TIMED_OUT and late:
        return f"Error: :{late}"
    exception = JavaException.of(error)
    return f"Error: :{exception.java_class}: {exception.message}"


def _partitions_of(process: Process, topics: list[str]) -> Asking[tuple[list[str], list[tuple[str, JavaException]]]]:
    """The partitions of topics such as `orders` or `orders:0,1`, and the topics that cannot be described."""
    named: list[str] = []
    whole: list[str] = []
    for given in topics:
        if ":" in given:
            named += partitions_in(given)
        else:
            whole.append(given)
    unknown: list[tuple[str, JavaException]] = [(name, NAMELESS_TOPIC) for name in whole if not name]
    whole = [name for name in whole if name]
    if whole:
        known = yield from metadata(process, tuple(whole), "describeTopics")
        unknown += [(name, JavaException.of(error)) for name, _, error in known.topics if error is not Errors.NONE]
        named += [row[0] for row in known.partitions if topic_of(row[0]) in whole]
    return sorted_partitions(named), unknown


COMMAND = Command(
    "kafka-consumer-groups.sh",
    text("help.kafka_consumer_groups"),
    (
        ("kafka-consumer-groups.sh --list [--state]", text("help.kafka_consumer_groups_list")),
        (
            "kafka-consumer-groups.sh --describe --group G [--members [--verbose]] [--state]",
            text("help.kafka_consumer_groups_describe"),
        ),
        (
            "kafka-consumer-groups.sh --reset-offsets --group G --topic T --to-earliest --execute",
            text("help.kafka_consumer_groups_reset"),
        ),
        ("kafka-consumer-groups.sh --delete --group G", text("help.kafka_consumer_groups_delete")),
        ("kafka-consumer-groups.sh --delete-offsets --group G --topic T", text("help.kafka_consumer_groups_offsets")),
    ),
    _run,
    OPTIONS,
)
