"""The options of kafka-console-consumer.sh (`ConsoleConsumerOptions`)."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from broker_core.clients.consumer.consumer import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from broker_core.clients.consumer.group_consumer_settings import GroupConsumerSettings
from broker_core.config_defs.java_text import hash_map_order, parse_integer
from broker_core.shell.console.console_formatters import DEFAULT_FORMATTER, MessageFormatter, formatter_of
from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions
from broker_core.shell.grammar.process import Process
from broker_core.shell.java.consumer_config import settings_of
from broker_core.shell.java.errors import (
    HELP,
    VERSION,
    JavaException,
    TerseException,
    ToolUsageError,
    check_help,
    key_values,
    load_properties,
)
from broker_core.shell.java.patterns import compiled

OPTIONS = (
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "server to connect to"),
    Option("consumer-property", "A consumer configuration.", "consumer_prop", repeats=True),
    Option("consumer.config", "A file of consumer configurations.", "config file", values="file"),
    Option("enable-systest-events", "Say so when the tool ends."),
    Option("formatter", "The class that prints records.", "class"),
    Option("formatter-config", "A file of properties for printing.", "config file", values="file"),
    Option("from-beginning", "Start with the earliest record instead of the latest."),
    Option("group", "The consumer group id of the consumer.", "consumer group id"),
    HELP,
    VERSION,
    Option("include", "A regular expression of topics.", "Java regex (String)"),
    Option(
        "isolation-level",
        "read_committed to pass over transactions that were aborted or have not ended; read_uncommitted else.",
        "isolation level",
        values="read_committed|read_uncommitted",
    ),
    Option("key-deserializer", "The class that reads keys.", "deserializer for key"),
    Option("max-messages", "Stop after this many records.", "num_messages", "Integer"),
    Option("offset", "Where to start: earliest, latest or an offset.", "consume offset", values="earliest|latest"),
    Option("partition", "The partition to read; all unless given.", "partition", "Integer"),
    Option(
        "property",
        "How records are printed: print.timestamp, print.partition, print.offset, print.headers, print.key, "
        "print.value, key.separator, line.separator, headers.separator, null.literal, key.deserializer, "
        "value.deserializer, headers.deserializer.",
        "prop",
        repeats=True,
    ),
    Option("skip-message-on-error", "Skip a record that cannot be printed."),
    Option("timeout-ms", "Stop when no record comes for so long.", "timeout_ms", "Long"),
    Option("topic", "The topic to read.", "topic", values="topic"),
    Option("value-deserializer", "The class that reads values.", "deserializer for values"),
    Option("whitelist", "The old name of include.", "Java regex (String)"),
)


RESETS: Mapping[str, int | None] = {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP, "none": None}


class ReadPlan(NamedTuple):
    """What to read: a partition, or all partitions of these topics.

    `start`: an offset, or EARLIEST_TIMESTAMP or LATEST_TIMESTAMP. `reset`: where to continue after an offset that is
    out of range; None = fail. `timeout_us` None = no timeout.
    """

    topics: re.Pattern[str]
    partition: int | None
    start: int
    reset: int | None
    timeout_us: int | None
    #: The topic whose metadata is requested, None = all topics.
    requested: tuple[str] | None
    settings: GroupConsumerSettings

    @property
    def isolation_level(self) -> str:
        """Whether records of open and aborted transactions are read."""
        return self.settings.isolation_level


class Properties(NamedTuple):
    """What the constructor of the tool's options determines, in its order."""

    consumer: dict[str, str]
    start: int
    timeout_us: int | None
    formatter: MessageFormatter


def properties_of(process: Process, options: ParsedOptions, random_group: str) -> Properties:
    """Validates the options in the tool's order. Raises ToolUsageError, OptionError, TerseException and
    JavaException.
    """
    check_help(options, "This tool helps to read data from Kafka topics and outputs it to standard output.")
    _check_required(options)
    from_file = {}
    config_file = options.value("consumer.config")
    if config_file is not None:
        from_file = load_properties(process, config_file)
    given = key_values(options.values("consumer-property"))
    consumer = _consumer_properties(options, from_file, given, random_group)
    start = _start(options.value("offset"), "from-beginning" in options)
    timeout_ms = options.integer("timeout-ms")
    try:
        name = options.value("formatter")
        formatter = formatter_of(
            process, DEFAULT_FORMATTER if name is None else name, _formatter_properties(process, options)
        )
    except (OptionError, JavaException) as error:
        raise ToolUsageError(error.message) from None
    return Properties(consumer, start, None if timeout_ms is None or timeout_ms < 0 else timeout_ms * 1000, formatter)


def plan_of(options: ParsedOptions, properties: Properties) -> ReadPlan:
    """What the tool reads. Raises ConfigException for an invalid consumer configuration, and JavaException for an
    invalid regular expression.
    """
    include = _included(options)
    topic = options.value("topic") or ""
    if include == "":
        raise _illegal("Topic pattern to subscribe to cannot be empty")
    if include is None and not topic.strip():
        what = (
            "collection to subscribe to cannot contain"
            if "partition" not in options
            else "partitions to assign to cannot have"
        )
        raise _illegal(f"Topic {what} null or empty topic")
    settings = settings_of(
        properties.consumer, (topic if include is None else include,), is_pattern=include is not None
    )
    return ReadPlan(
        re.compile(re.escape(topic)) if include is None else compiled(include),
        options.integer("partition"),
        properties.start,
        RESETS[settings.auto_offset_reset],
        properties.timeout_us,
        None if include is not None else (topic,),
        settings,
    )


def _illegal(message: str) -> JavaException:
    return JavaException("java.lang.IllegalArgumentException", message)


def _included(options: ParsedOptions) -> str | None:
    return options.value("include" if "include" in options else "whitelist")


def _check_required(options: ParsedOptions) -> None:
    options.value("topic")
    if ("topic" in options) == (_included(options) is not None):
        old = "--whitelist is DEPRECATED use --include instead; ignored if --include specified."
        raise ToolUsageError("Exactly one of --include/--topic is required. " + (old if "whitelist" in options else ""))
    if options.integer("partition") is not None:
        if "topic" not in options:
            raise ToolUsageError("The topic is required when partition is specified.")
        if "from-beginning" in options and "offset" in options:
            raise ToolUsageError("Options from-beginning and offset cannot be specified together.")
    elif "offset" in options:
        raise ToolUsageError("The partition is required when offset is specified.")


def _consumer_properties(
    options: ParsedOptions, from_file: Mapping[str, str], given: Mapping[str, str], random_group: str
) -> dict[str, str]:
    """The consumer's configurations. Raises ToolUsageError if different groups are named, or a group together with a
    partition.
    """
    named = [options.value("group"), from_file.get("group.id"), given.get("group.id")]
    groups = list(dict.fromkeys(group for group in named if group is not None))
    if len(groups) > 1:
        raise ToolUsageError(
            "The group ids provided in different places (directly using '--group', via '--consumer-property', or via "
            "'--consumer.config') do not match. Detected group ids: "
            + ", ".join(f"'{group}'" for group in hash_map_order(groups))
        )
    if groups and "partition" in options:
        raise ToolUsageError("Options group and partition cannot be specified together.")
    consumer = {**from_file, **given}
    reset = consumer.get("auto.offset.reset")
    if reset is None:
        consumer["auto.offset.reset"] = "earliest" if "from-beginning" in options else "latest"
    elif "from-beginning" in options and reset != "earliest":
        raise TerseException(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}', please remove one option"
        )
    consumer.setdefault("client.id", "console-consumer")
    if "isolation-level" in options or "isolation.level" not in consumer:
        consumer["isolation.level"] = options.value("isolation-level") or "read_uncommitted"
    if groups:
        consumer["group.id"] = groups[0]
    else:
        consumer["group.id"] = random_group
        consumer.setdefault("enable.auto.commit", "false")
    return consumer


def _formatter_properties(process: Process, options: ParsedOptions) -> dict[str, str]:
    config_file = options.value("formatter-config")
    properties = {} if config_file is None else load_properties(process, config_file)
    for part in ("key", "value"):
        deserializer = options.value(f"{part}-deserializer")
        if deserializer:
            properties[f"{part}.deserializer"] = deserializer
    return {**properties, **key_values(options.values("property"))}


def _start(offset: str | None, from_beginning: bool) -> int:
    if offset is None:
        return EARLIEST_TIMESTAMP if from_beginning else LATEST_TIMESTAMP
    named = {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP}.get(offset.lower())
    if named is not None:
        return named
    number = parse_integer(offset, 64)
    if number is None or number < 0:
        raise ToolUsageError(
            f"The provided offset value '{offset}' is incorrect. "
            "Valid values are 'earliest', 'latest', or a non-negative long."
        )
    return number
