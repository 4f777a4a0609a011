"""kafka-reassign-partitions.sh (`org.apache.kafka.tools.reassign.ReassignPartitionsCommand`)."""

from collections.abc import Collection, Iterable

from broker_core.config_defs.java_text import hash_map_order, split
from broker_core.controller.assignment import assign_replicas
from broker_core.errors import Errors, KafkaException
from broker_core.partitions import TopicPartition, partition_name, topic_of
from broker_core.shell.admin.admin_client import COMMAND_CONFIG, open_admin_client
from broker_core.shell.admin.reassignment_json import (
    COMMON,
    Plan,
    as_json,
    duplicates,
    plan_entries,
    plan_to_execute,
    topics_to_move,
)
from broker_core.shell.admin.requests import Asking, metadata, query_controller
from broker_core.shell.admin.throttles import (
    LOG_DIR_RATE,
    alter_brokers,
    clear_brokers,
    clear_topic,
    moves,
    set_throttles,
)
from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions
from broker_core.shell.grammar.process import Process, Running, settled
from broker_core.shell.grammar.registry import Command
from broker_core.shell.java.errors import (
    ERRORS_PACKAGE,
    EXECUTION_EXCEPTION,
    HELP,
    VERSION,
    JavaException,
    TerseException,
    ToolUsageError,
    check_help,
    check_required,
    parse_int,
    print_usage,
)
from broker_core.texts import text
from broker_core.wire.messages import (
    AlterConfigOp,
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
    PartitionResult,
)

ACTIONS = ("generate", "execute", "verify", "cancel", "list")
REQUIRED = {
    "generate": ("topics-to-move-json-file", "broker-list"),
    "execute": ("reassignment-json-file",),
    "verify": ("reassignment-json-file",),
    "cancel": ("reassignment-json-file",),
    "list": (),
}
PERMITTED = {
    "generate": ("disable-rack-aware",),
    "execute": ("additional", "throttle", "replica-alter-log-dirs-throttle", "timeout"),
    "verify": ("preserve-throttles",),
    "cancel": ("preserve-throttles", "timeout"),
    "list": (),
}
ONGOING = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a "
    "new partition assignment in addition to the existing one. The --additional flag can also be used to change the "
    "throttle by resubmitting the current reassignment."
)
RUN_VERIFY = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed."
)

OPTIONS = (
    Option("additional", "With execute: although other partitions move already; or to change the throttle."),
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "Server(s) to use"),
    COMMAND_CONFIG,
    Option("broker-list", "With generate: the brokers that the partitions shall go to.", "brokerlist"),
    Option("cancel", "Cancel the moves of a plan."),
    Option("disable-rack-aware", "With generate: take no account of racks."),
    Option("execute", "Move partitions as a plan says."),
    Option("generate", "Propose a plan for topics and brokers. Nothing moves."),
    HELP,
    VERSION,
    Option("list", "List the moves that are under way."),
    Option("preserve-throttles", "With verify or cancel: leave the throttles as they are."),
    Option(
        "reassignment-json-file",
        'The plan: {"partitions":[{"topic":"foo","partition":1,"replicas":[1,2,3]}],"version":1}.',
        "manual assignment json file path",
        values="file",
    ),
    Option(
        "replica-alter-log-dirs-throttle", "Bytes a second between the log directories of a broker.", "limit", "Long"
    ),
    Option("throttle", "Bytes a second between brokers.", "throttle", "Long"),
    Option("timeout", "How long to wait for log directories, in ms.", "timeout", "Long"),
    Option(
        "topics-to-move-json-file",
        'With generate: {"topics":[{"topic":"foo"}],"version":1}.',
        "topics to reassign json file path",
        values="file",
    ),
    Option("verify", "Say how far the moves of a plan are, and take the throttles away when all is done."),
)


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    try:
        options.parse(arguments)
        action = _check(options)
    except OptionError as error:
        process.err(f"{error.java_class}: {error.message}")
        return 1
    except ToolUsageError as error:
        return print_usage(process, error, OPTIONS)
    try:
        open_admin_client(process, options)
        yield from _ACTIONS[action](process, options)
    except TerseException as error:
        return _print(process, str(error))
    except (OptionError, JavaException) as error:
        return _failed(process, JavaException.thrown(error))
    if action in ("execute", "cancel"):
        yield from settled(process)
    return 0


def _print(process: Process, text: str) -> int:
    for line in text.split("\n"):
        process.out(line)
    return 1


def _failed(process: Process, error: JavaException) -> int:
    return _print(process, "\n".join([f"Error: {error.message}", *error.stack_trace()]))


def _check(options: ParsedOptions) -> str:
    """The action. Raises ToolUsageError for options that do not fit it."""
    check_help(options, "This tool helps to move topic partitions between replicas.")
    given = [action for action in ACTIONS if action in options]
    if len(given) != 1:
        actions = ", ".join(f"--{action}" for action in ACTIONS)
        raise ToolUsageError(f"Command must include exactly one action: {actions}")
    (action,) = given
    check_required(options, *REQUIRED[action])
    allowed = {action, "bootstrap-server", "command-config", *REQUIRED[action], *PERMITTED[action]}
    for option in OPTIONS:
        if option.name in options and option.name not in allowed:
            raise ToolUsageError(f'Option "[{option.name}]" can\'t be used with action "[{action}]"')
    return action


def _file(process: Process, options: ParsedOptions, name: str) -> str:
    path = options.value(name) or ""
    if path not in process.files:
        raise JavaException(
            "java.io.IOException", f"Unable to read file {path}", (f"java.nio.file.NoSuchFileException: {path}",)
        )
    return process.files[path]


# Generate.


def _generate(process: Process, options: ParsedOptions) -> Asking[None]:
    text = _file(process, options, "topics-to-move-json-file")
    brokers = _broker_list(options.value("broker-list") or "")
    topics = topics_to_move(text)
    current = yield from _replicas_of_topics(process, topics)
    known = yield from metadata(process, (), "describeCluster")
    usable: dict[int, str | None] = {broker: None for broker in sorted(brokers) if broker in known.brokers}
    proposed: Plan = {}
    for topic in hash_map_order(list(dict.fromkeys(topic_of(partition) for partition in current))):
        numbers = [partition for partition in current if topic_of(partition) == topic]
        try:
            assigned = assign_replicas(
                usable, len(numbers), len(current[numbers[0]]), stream=process.cluster.kernel.streams["reassignment"]
            )
        except KafkaException as refused:
            raise JavaException.of(refused.error, refused.message) from None
        proposed |= {partition_name(topic, number): replicas for number, replicas in assigned.items()}
    _print(process, f"Current partition replica assignment\n{as_json(current)}\n")
    _print(process, f"Proposed partition reassignment configuration\n{as_json(proposed)}")


def _broker_list(text: str) -> list[int]:
    brokers = [parse_int(word) for word in split(text, ",")]
    twice = duplicates(brokers)
    if twice:
        why = f"Broker list contains duplicate entries: [{', '.join(map(str, sorted(twice)))}]"
        raise JavaException(COMMON + "AdminCommandFailedException", why)
    return brokers


def _replicas_of_topics(process: Process, topics: list[str]) -> Asking[Plan]:
    """The replicas of all partitions of these topics. Raises JavaException for an unknown topic."""
    known = yield from metadata(process, tuple(topics), "describeTopics")
    for topic, _, error in known.topics:
        if error is Errors.UNKNOWN_TOPIC_OR_PARTITION:
            raise JavaException.in_future(error, f"Topic {topic} not found.")
        if error is not Errors.NONE:
            raise JavaException.in_future(error)
    return {row[0]: row[3] for row in known.partitions}


# Execute.


def _execute(process: Process, options: ParsedOptions) -> Asking[None]:
    text = _file(process, options, "reassignment-json-file")
    throttle, log_dir_throttle = options.integer("throttle"), options.integer("replica-alter-log-dirs-throttle")
    options.integer("timeout")
    throttle = -1 if throttle is None else throttle
    log_dir_throttle = -1 if log_dir_throttle is None else log_dir_throttle
    proposed, log_dirs = plan_to_execute(text)
    ongoing = yield from _ongoing(process)
    if ongoing and "additional" not in options:
        raise TerseException(ONGOING)
    yield from _check_brokers(process, proposed)
    current = yield from _replicas_of(process, list(proposed))
    _print(process, f"Current partition replica assignment\n\n{as_json(current)}\n")
    process.out("Save this to use as the --reassignment-json-file option during rollback")
    if throttle >= 0 or log_dir_throttle >= 0:
        process.out(RUN_VERIFY)
    if throttle >= 0:
        yield from set_throttles(process, moves(ongoing.values(), proposed, current), throttle)
    if log_dir_throttle >= 0:
        yield from _throttle_log_dirs(process, sorted({broker for _, broker in log_dirs}), log_dir_throttle)
    failed = yield from _alter(process, proposed)
    if failed:
        raise TerseException("\n".join(["Error reassigning partition(s):", *failed]))
    process.out(f"Successfully started partition reassignment{_plural(proposed)} for {_named(proposed)}")
    _check_log_dirs(process, log_dirs)


def _throttle_log_dirs(process: Process, brokers: list[int], rate: int) -> Asking[None]:
    yield from alter_brokers(process, brokers, AlterConfigOp(LOG_DIR_RATE, str(rate)))
    process.out(f"The replica-alter-dir throttle limit was set to {rate} B/s")


def _check_log_dirs(process: Process, log_dirs: dict[tuple[str, int], str]) -> None:
    """A broker of the lab has one log directory: no replica can be moved to another one."""
    for (partition, broker), log_dir in log_dirs.items():
        if log_dir != process.cluster.log_directory(broker):
            why = "The user-specified log directory is not found in the broker config."
            cause = f"{ERRORS_PACKAGE}LogDirNotFoundException: {why}"
            raise JavaException(
                COMMON + "AdminCommandFailedException",
                f"Failed to alter dir for {partition}-{broker}",
                (f"java.util.concurrent.ExecutionException: {cause}", cause),
            )


def _check_brokers(process: Process, proposed: Plan) -> Asking[None]:
    known = yield from metadata(process, (), "describeCluster")
    unknown = [broker for replicas in proposed.values() for broker in replicas if broker not in known.brokers]
    if unknown:
        raise JavaException(COMMON + "AdminCommandFailedException", f"Unknown broker id {unknown[0]}")


def _replicas_of(process: Process, partitions: list[str]) -> Asking[Plan]:
    """The replicas of these partitions. Raises JavaException for an unknown partition."""
    topics = list(dict.fromkeys(topic_of(partition) for partition in partitions))
    known = yield from _replicas_of_topics(process, topics)
    absent = [partition for partition in partitions if partition not in known]
    if absent:
        why = f"Unable to find partition: {', '.join(absent)}"
        raise JavaException.in_future(Errors.UNKNOWN_TOPIC_OR_PARTITION, why)
    return {partition: known[partition] for partition in partitions}


def _alter(process: Process, wanted: dict[str, tuple[int, ...]] | dict[str, None]) -> Asking[list[str]]:
    """Asks the controller to start or cancel reassignments; returns what it rejects, one line each."""
    body = AlterPartitionReassignmentsRequest(tuple(wanted.items()))
    response: AlterPartitionReassignmentsResponse = yield from query_controller(
        process, "AlterPartitionReassignments", body, "alterPartitionReassignments"
    )
    refused = [result for result in response.partitions if result.error is not Errors.NONE]
    return [_refusal(result) for result in sorted(refused, key=lambda result: TopicPartition.parse(result.partition))]


def _refusal(result: PartitionResult) -> str:
    return f"{result.partition}: {JavaException.of(result.error, result.message).message}"


def _ongoing(process: Process) -> Asking[dict[str, OngoingReassignment]]:
    body = ListPartitionReassignmentsRequest()
    try:
        response: ListPartitionReassignmentsResponse = yield from query_controller(
            process, "ListPartitionReassignments", body, "listPartitionReassignments"
        )
    except JavaException as late:
        raise late.wrapped_in(EXECUTION_EXCEPTION) from None
    return {each.partition: each for each in response.partitions}


# Verify, cancel, list.


def _verify(process: Process, options: ParsedOptions) -> Asking[None]:
    entries, log_dirs = plan_entries(_file(process, options, "reassignment-json-file"))
    ongoing = yield from _ongoing(process)
    targets = dict(entries)
    topics = tuple(dict.fromkeys(topic_of(name) for name in targets if name not in ongoing))
    known = yield from metadata(process, topics, "describeTopics")
    current = {row[0]: row[3] for row in known.partitions}
    process.out("Status of partition reassignment:")
    for partition in sorted(targets, key=TopicPartition.parse):
        if partition in ongoing:
            process.out(f"Reassignment of partition {partition} is still in progress.")
        elif current.get(partition, ()) == targets[partition]:
            process.out(f"Reassignment of partition {partition} is completed.")
        else:
            found, wanted = (",".join(map(str, each)) for each in (current.get(partition, ()), targets[partition]))
            process.out(
                f"There is no active reassignment of partition {partition}, but replica set is {found} rather than "
                f"{wanted}."
            )
    _print(process, _log_dir_states(process, log_dirs, current))
    if not ongoing and "preserve-throttles" not in options:
        yield from _clear_throttles(process, targets)


def _log_dir_states(process: Process, log_dirs: dict[tuple[str, int], str], current: Plan) -> str:
    lines = []
    for (partition, broker), wanted in sorted(
        log_dirs.items(), key=lambda item: (*TopicPartition.parse(item[0][0]), item[0][1])
    ):
        found = process.cluster.log_directory(broker)
        if broker not in current.get(partition, ()):
            lines.append(f"Partition {partition} cannot be found in any live log directory on broker {broker}.")
        elif found == wanted:
            lines.append(f"Reassignment of replica {partition}-{broker} completed successfully.")
        else:
            lines.append(
                f"Partition {partition} on broker {broker} is not being moved from log dir {found} to {wanted}."
            )
    return "\n".join(lines)


def _cancel(process: Process, options: ParsedOptions) -> Asking[None]:
    text = _file(process, options, "reassignment-json-file")
    options.integer("timeout")
    entries, _ = plan_entries(text)
    targets = dict(entries)
    ongoing = yield from _ongoing(process)
    # As in the tool, a reassignment that only adds replicas is not cancelled.
    moving = [
        name
        for name, each in ongoing.items()
        if name in targets and (not each.adding_replicas or each.removing_replicas)
    ]
    if moving:
        failed = yield from _alter(process, dict.fromkeys(moving))
        if failed:
            many = "" if len(failed) == 1 else "s"
            raise TerseException("\n".join([f"Error cancelling partition reassignment{many} for:", *failed]))
        process.out(f"Successfully cancelled partition reassignment{_plural(moving)} for: {_named(moving)}")
    else:
        process.out("None of the specified partition reassignments are active.")
    nothing_moves = "None of the specified partition moves are active."
    if "preserve-throttles" in options:
        process.out(nothing_moves)
    else:
        yield from _clear_throttles(process, targets, said_before=nothing_moves)


def _clear_throttles(process: Process, targets: Plan, said_before: str = "") -> Asking[None]:
    known = yield from metadata(process, (), "describeCluster")
    brokers = sorted({*known.brokers, *(broker for replicas in targets.values() for broker in replicas)})
    shown = ",".join(map(str, brokers))
    process.out(f"{said_before}Clearing broker-level throttles on broker{_plural(brokers)} {shown}")
    yield from clear_brokers(process, brokers)
    topics = hash_map_order(list(dict.fromkeys(topic_of(partition) for partition in targets)))
    process.out(f"Clearing topic-level throttles on topic{_plural(topics)} {','.join(topics)}")
    for topic in topics:
        yield from clear_topic(process, topic)


def _list(process: Process, options: ParsedOptions) -> Asking[None]:
    ongoing = yield from _ongoing(process)
    if not ongoing:
        process.out("No partition reassignments found.")
        return
    process.out("Current partition reassignments:")
    for partition in sorted(ongoing, key=TopicPartition.parse):
        each = ongoing[partition]
        line = f"{partition}: replicas: {','.join(map(str, each.replicas))}."
        if each.adding_replicas:
            line += f" adding: {','.join(map(str, each.adding_replicas))}."
        if each.removing_replicas:
            line += f" removing: {','.join(map(str, each.removing_replicas))}."
        process.out(line)


def _plural(things: Collection[object]) -> str:
    return "" if len(things) == 1 else "s"


def _named(partitions: Iterable[str]) -> str:
    return ",".join(sorted(partitions, key=TopicPartition.parse))


_ACTIONS = {"generate": _generate, "execute": _execute, "verify": _verify, "cancel": _cancel, "list": _list}

COMMAND = Command(
    "kafka-reassign-partitions.sh",
    text("help.kafka_reassign_partitions"),
    (
        (
            "kafka-reassign-partitions.sh --generate --topics-to-move-json-file FILE --broker-list N,N",
            text("help.kafka_reassign_partitions_generate"),
        ),
        (
            "kafka-reassign-partitions.sh --execute --reassignment-json-file FILE [--throttle BYTES]",
            text("help.kafka_reassign_partitions_execute"),
        ),
        (
            "kafka-reassign-partitions.sh --verify --reassignment-json-file FILE",
            text("help.kafka_reassign_partitions_verify"),
        ),
        (
            "kafka-reassign-partitions.sh --cancel --reassignment-json-file FILE",
            text("help.kafka_reassign_partitions_cancel"),
        ),
        ("kafka-reassign-partitions.sh --list", text("help.kafka_reassign_partitions_list")),
    ),
    _run,
    OPTIONS,
)
