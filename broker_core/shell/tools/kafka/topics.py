"""kafka-topics.sh (`org.apache.kafka.tools.TopicCommand`)."""

import re
from collections.abc import Sequence

from broker_core.config_defs import ConfigException, InvalidConfigurationException, validate_topic_configs
from broker_core.config_defs.java_text import split
from broker_core.errors import Errors
from broker_core.partitions import topic_of
from broker_core.shell.admin.admin_client import COMMAND_CONFIG, open_admin_client
from broker_core.shell.admin.requests import Asking, metadata, query_controller, raise_first_error
from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions
from broker_core.shell.grammar.process import Process, Running, settled
from broker_core.shell.grammar.registry import Command
from broker_core.shell.java.errors import (
    ERRORS_PACKAGE,
    HELP,
    NAMELESS_TOPIC,
    VERSION,
    ZERO_UUID,
    JavaException,
    ToolUsageError,
    check_help,
    check_invalid,
    check_required,
    log_error,
    parse_int,
    parse_uuid,
    print_usage,
)
from broker_core.shell.java.patterns import compiled_list
from broker_core.shell.tools.kafka.topics_describe import REPORTS, describe_topics
from broker_core.texts import text
from broker_core.topics import INTERNAL_TOPICS
from broker_core.wire.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsSpec,
    CreateTopicSpec,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

LOGGER = "org.apache.kafka.tools.TopicCommand"
ACTIONS = ("alter", "create", "describe", "list", "delete")
COLLISION_WARNING = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)
BOTH_WARNING = (
    "Only topic id will be used when both --topic and --topic-id are specified and topicId is not Uuid.ZERO_UUID"
)
FORMAT_WARNING = (
    "WARNING: The configuration message.format.version={} is specified. This configuration will be ignored if the "
    "version "
    "is newer than the inter.broker.protocol.version specified in the broker or if the inter.broker.protocol.version "
    "is "
    "3.0 or newer. This configuration is deprecated and it will be removed in Apache Kafka 4.0."
)

OPTIONS = (
    Option("alter", "Alter the number of partitions and replica assignment."),
    Option(
        "at-min-isr-partitions", "With describe: only partitions whose ISR count is equal to the configured minimum."
    ),
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "server to connect to"),
    COMMAND_CONFIG,
    Option("config", "A topic configuration override for the topic being created.", "name=value", repeats=True),
    Option("create", "Create a new topic."),
    Option("delete", "Delete a topic."),
    Option("delete-config", "Nothing: kafka-configs.sh removes configurations of topics.", "name", repeats=True),
    Option("describe", "List details for the given topics."),
    Option("exclude-internal", "With list or describe: leave internal topics out."),
    HELP,
    VERSION,
    Option("if-exists", "With alter, delete or describe: do nothing when the topic does not exist."),
    Option("if-not-exists", "With create: do nothing when the topic exists already."),
    Option("list", "List all available topics."),
    Option(
        "partition-size-limit-per-response",
        "How many partitions a response may tell of.",
        "maximum number of partitions per response",
        "Integer",
    ),
    Option("partitions", "The number of partitions.", "# of partitions", "Integer"),
    Option("replica-assignment", "Replicas of each partition by hand, such as 1:2:3,2:3:1.", "broker:broker,..."),
    Option("replication-factor", "The replication factor of each partition.", "replication factor", "Integer"),
    Option("topic", "The topic; a regular expression except with create.", "topic", values="topic"),
    Option("topic-id", "With describe: the topic with this id.", "topic-id"),
    Option("topics-with-overrides", "With describe: only topics that have configurations of their own."),
    Option("unavailable-partitions", "With describe: only partitions whose leader is not available."),
    Option("under-min-isr-partitions", "With describe: only partitions whose ISR count is less than the minimum."),
    Option("under-replicated-partitions", "With describe: only partitions that are not fully replicated."),
)


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    try:
        options.parse(arguments)
        _check(process, options)
        open_admin_client(process, options)
    except (OptionError, JavaException) as error:
        return _died(process, JavaException.thrown(error))
    except ToolUsageError as error:
        return print_usage(process, error, OPTIONS)
    try:
        if "create" in options:
            yield from _create(process, options)
        elif "alter" in options:
            yield from _alter(process, options)
        elif "list" in options:
            yield from _list(process, options)
        elif "describe" in options:
            yield from _describe(process, options)
        else:
            yield from _delete(process, options)
    except (OptionError, JavaException) as error:
        return _failed(process, JavaException.thrown(error))
    if {"create", "alter", "delete"} & set(arguments_given(options)):
        yield from settled(process)
    return 0


def arguments_given(options: ParsedOptions) -> list[str]:
    """The given actions."""
    return [action for action in ACTIONS if action in options]


def _died(process: Process, error: JavaException) -> int:
    process.err(error.message)
    for line in error.stack_trace():
        process.err(line)
    return 1


def _failed(process: Process, error: JavaException) -> int:
    process.out(f"Error while executing topic command : {error.message}")
    log_error(process, [*error.stack_trace(), ""], LOGGER)
    return 1


def _check(process: Process, options: ParsedOptions) -> None:
    """Raises ToolUsageError for conflicting options, in the tool's order."""
    check_help(options, "This tool helps to create, delete, describe, or change a topic.")
    if len(arguments_given(options)) != 1:
        raise ToolUsageError(
            "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
        )
    if "describe" in options and "if-exists" in options:
        if "topic" not in options and "topic-id" not in options:
            raise ToolUsageError("--topic or --topic-id is required to describe a topic")
        if "topic" in options and "topic-id" in options:
            process.out(BOTH_WARNING)
    if "list" not in options and "describe" not in options:
        check_required(options, "topic")
    if "alter" in options:
        if "config" in options:
            raise ToolUsageError(
                'Option combination "[[bootstrap-server], [config]]" can\'t be used with option "[alter]" '
                "(the kafka-configs CLI supports altering topic configs with a --bootstrap-server option)"
            )
        check_required(options, "partitions")
    for name, allowed in (
        ("config", ("alter", "create")),
        ("partitions", ("alter", "create")),
        ("replication-factor", ("create",)),
        ("replica-assignment", ("alter", "create")),
    ):
        check_invalid(options, name, _actions_but(allowed))
        if name == "config" and "delete-config" in options:
            check_invalid(options, "delete-config", _actions_but(("alter",)))
            # Kafka requires --bootstrap-server, which the lab adds itself.
            raise ToolUsageError('Option "[delete-config]" can\'t be used with option "[bootstrap-server]"')
    if "create" in options:
        check_invalid(options, "replica-assignment", ("partitions", "replication-factor"))
    for report in REPORTS:
        check_invalid(options, report, [*_actions_but(("describe",)), "topics-with-overrides"])
    check_invalid(options, "topics-with-overrides", [*_actions_but(("describe",)), *REPORTS])
    check_invalid(options, "if-exists", _actions_but(("alter", "delete", "describe")))
    check_invalid(options, "if-not-exists", _actions_but(("create",)))
    check_invalid(options, "exclude-internal", _actions_but(("list", "describe")))


def _actions_but(allowed: Sequence[str]) -> list[str]:
    return [action for action in ACTIONS if action not in allowed]


def _assignment(text: str) -> tuple[tuple[int, ...], ...]:
    """`1:2,2:3` as replicas of each partition. Raises JavaException."""
    assignment: list[tuple[int, ...]] = []
    for number, replicas in enumerate(split(text, ",")):
        ids = []
        for word in split(replicas, ":"):
            ids.append(parse_int(word.strip()))
        duplicates = [str(broker_id) for broker_id in dict.fromkeys(ids) if ids.count(broker_id) > 1]
        if duplicates:
            raise JavaException(
                "org.apache.kafka.server.common.AdminCommandFailedException",
                "Partition replica lists may not contain duplicate entries: " + ",".join(duplicates),
            )
        if assignment and len(ids) != len(assignment[0]):
            raise JavaException(
                "org.apache.kafka.server.common.AdminOperationException",
                f"Partition {number} has different replication factor: [{', '.join(map(str, ids))}]",
            )
        assignment.append(tuple(ids))
    return tuple(assignment)


def _configs(process: Process, options: ParsedOptions) -> dict[str, str]:
    """The configurations of a new topic. Raises JavaException for invalid ones."""
    configs: dict[str, str] = {}
    for given in options.values("config"):
        parts = re.split(r"\s*=\s*", given)
        while parts and not parts[-1]:
            parts.pop()
        if len(parts) != 2:
            raise JavaException(
                "java.lang.IllegalArgumentException",
                'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".',
            )
        configs[parts[0].strip()] = parts[1].strip()
    try:
        validate_topic_configs(configs)
    except InvalidConfigurationException as error:
        raise JavaException(ERRORS_PACKAGE + "InvalidConfigurationException", str(error)) from None
    except ConfigException as error:
        raise JavaException("org.apache.kafka.common.config.ConfigException", str(error)) from None
    if "message.format.version" in configs:
        process.out(FORMAT_WARNING.format(configs["message.format.version"]))
    return configs


def _create(process: Process, options: ParsedOptions) -> Asking[None]:
    name = options.value("topic") or ""
    partitions = options.integer("partitions")
    replication_factor = options.integer("replication-factor")
    manually = options.value("replica-assignment")
    assignment = _assignment(manually) if manually else ()
    configs = _configs(process, options)
    if "." in name or "_" in name:
        process.out(COLLISION_WARNING)
    if replication_factor is not None and not 1 <= replication_factor <= 32767:
        raise JavaException(
            "java.lang.IllegalArgumentException", "The replication factor must be between 1 and 32767 inclusive"
        )
    if partitions is not None and partitions < 1:
        raise JavaException("java.lang.IllegalArgumentException", "The partitions must be greater than 0")
    if not name:
        raise NAMELESS_TOPIC
    spec = CreateTopicSpec(
        name,
        -1 if partitions is None else partitions,
        -1 if replication_factor is None else replication_factor,
        dict(enumerate(assignment)),
        tuple(configs.items()),
    )
    response: CreateTopicsResponse = yield from query_controller(
        process, "CreateTopics", CreateTopicsRequest((spec,)), "createTopics"
    )
    (result,) = response.topics
    if result.error is Errors.TOPIC_ALREADY_EXISTS and "if-not-exists" in options:
        return
    raise_first_error(response.topics)
    process.out(f"Created topic {name}.")


def _found(process: Process, options: ParsedOptions, call: str) -> Asking[list[str]]:
    """The topics that match --topic, sorted. Raises JavaException if none matches but one must."""
    wanted = options.value("topic")
    known = yield from metadata(process, None, call)
    names = sorted(name for name, _, error in known.topics if error is Errors.NONE)
    if "exclude-internal" in options:
        names = [name for name in names if name not in INTERNAL_TOPICS]
    if wanted is not None:
        pattern = topic_filter(wanted)
        names = [name for name in names if pattern.fullmatch(name)]
    return names


def topic_filter(text: str) -> re.Pattern[str]:
    """Names or regular expressions, separated by commas (`IncludeList`). Raises JavaException for an invalid one."""
    pattern = text.strip().replace(",", "|").replace(" ", "").strip("\"'")
    return compiled_list(pattern, f"{pattern} is an invalid regex.")


def _ensure_found(options: ParsedOptions, names: list[str]) -> None:
    wanted = options.value("topic")
    if wanted and not names and "if-exists" not in options:
        raise JavaException(
            "java.lang.IllegalArgumentException", f"Topic 'Optional[{wanted}]' does not exist as expected"
        )


def _list(process: Process, options: ParsedOptions) -> Asking[None]:
    names = yield from _found(process, options, "listTopics")
    for name in names:
        process.out(name)


def _alter(process: Process, options: ParsedOptions) -> Asking[None]:
    count = options.integer("partitions")
    options.integer("replication-factor")
    manually = options.value("replica-assignment")
    assignment = _assignment(manually) if manually else None
    _configs(process, options)
    names = yield from _found(process, options, "listTopics")
    _ensure_found(options, names)
    if not names:
        return
    known = yield from metadata(process, tuple(names), "describeTopics")
    specs = []
    for name in names:
        existing = sum(1 for row in known.partitions if topic_of(row[0]) == name)
        specs.append(CreatePartitionsSpec(name, count or 0, None if assignment is None else assignment[existing:]))
    response: CreatePartitionsResponse = yield from query_controller(
        process, "CreatePartitions", CreatePartitionsRequest(tuple(specs)), "createPartitions"
    )
    raise_first_error(response.topics)


def _delete(process: Process, options: ParsedOptions) -> Asking[None]:
    names = yield from _found(process, options, "listTopics")
    _ensure_found(options, names)
    if names:
        response: DeleteTopicsResponse = yield from query_controller(
            process, "DeleteTopics", DeleteTopicsRequest(tuple(names)), "deleteTopics"
        )
        raise_first_error(response.topics)


def _named_by_id(process: Process, options: ParsedOptions, topic_id: str) -> Asking[list[str]]:
    """The topic of an id. Raises JavaException if it must exist and does not."""
    known = yield from metadata(process, None, "listTopics")
    names = [name for name, its_id, error in known.topics if error is Errors.NONE and its_id == topic_id]
    if "exclude-internal" in options:
        names = [name for name in names if name not in INTERNAL_TOPICS]
    if not names and "if-exists" not in options:
        raise JavaException("java.lang.IllegalArgumentException", f"TopicId '{topic_id}' does not exist as expected")
    return names


def _describe(process: Process, options: ParsedOptions) -> Asking[None]:
    given_id = options.value("topic-id")
    topic_id = ZERO_UUID if given_id is None else parse_uuid(given_id)
    if topic_id != ZERO_UUID:
        names = yield from _named_by_id(process, options, topic_id)
    else:
        names = yield from _found(process, options, "listTopics")
        _ensure_found(options, names)
    options.integer("partition-size-limit-per-response")
    yield from describe_topics(process, options, names)


COMMAND = Command(
    "kafka-topics.sh",
    text("help.kafka_topics"),
    (
        (
            "kafka-topics.sh --create --topic T [--partitions P] [--replication-factor R]",
            text("help.kafka_topics_create"),
        ),
        ("kafka-topics.sh --create --topic T --replica-assignment 1:2:3,2:3:1", text("help.kafka_topics_assign")),
        ("kafka-topics.sh --list", text("help.kafka_topics_list")),
        ("kafka-topics.sh --describe [--topic T]", text("help.kafka_topics_describe")),
        ("kafka-topics.sh --delete --topic T", text("help.kafka_topics_delete")),
    ),
    _run,
    OPTIONS,
)
