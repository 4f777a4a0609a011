"""kafka-get-offsets.sh (`org.apache.kafka.tools.GetOffsetShell`)."""

import re
from collections.abc import Callable

from broker_core.config_defs.java_text import parse_integer, split
from broker_core.config_defs.keys import INT_MAX
from broker_core.errors import Errors
from broker_core.partitions import TopicPartition, topic_of
from broker_core.shell.admin.admin_client import COMMAND_CONFIG, check_address, open_admin_client
from broker_core.shell.admin.requests import RETRY_BACKOFF_US, Asking, metadata, timed_out, until_ready
from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions
from broker_core.shell.grammar.process import Call, Disconnected, Process, Running, Sleep, up_brokers
from broker_core.shell.grammar.registry import Command
from broker_core.shell.java.errors import (
    HELP,
    VERSION,
    JavaException,
    TerseException,
    ToolUsageError,
    check_help,
    is_int,
    log_error,
    parse_int,
    print_usage,
)
from broker_core.shell.tools.kafka.topics import topic_filter
from broker_core.texts import text
from broker_core.topics import INTERNAL_TOPICS
from broker_core.wire.messages import ListOffsetsRequest, ListOffsetsResponse

NAMED_TIMES = {"latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5}
HANDLER_LOGGER = "org.apache.kafka.clients.admin.internals.ListOffsetsHandler"
_RULE = re.compile(r"([^:,]*)(?::(\d*)(?:-(\d*))?)?")

OPTIONS = (
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "HOST1:PORT1,..."),
    Option("broker-list", "The old name of bootstrap-server.", "broker-list"),
    COMMAND_CONFIG,
    Option("exclude-internal-topics", "Leave internal topics out."),
    Option("partitions", "Numbers of partitions, with commas; all unless given.", "partition ids"),
    HELP,
    VERSION,
    Option(
        "time",
        "latest, earliest, max-timestamp, or milliseconds since 1970.",
        "timestamp",
        values="latest|earliest|max-timestamp",
    ),
    Option("topic", "Topics, as a regular expression; all unless given.", "topic", values="topic"),
    Option("topic-partitions", "TOPIC:FROM-TO patterns, with commas.", "topic1:1,topic2:0-3"),
)

Filter = Callable[[str, int], bool]


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    try:
        _parse(options, arguments)
        check_help(options, "An interactive shell for getting topic-partition offsets.")
        # Kafka ignores --broker-list with --bootstrap-server, which the lab adds.
        servers = options.value("bootstrap-server")
        if servers == "":
            raise ToolUsageError("Error while validating the bootstrap address")
        check_address(servers)
        if "topic-partitions" in options and ("topic" in options or "partitions" in options):
            raise TerseException("--topic-partitions cannot be used with --topic or --partitions")
        wanted = _filter(options)
        timestamp = _timestamp("latest" if "time" not in options else options.value("time") or "")
        open_admin_client(process, options)
        yield from _print_offsets(process, options, wanted, timestamp)
    except ToolUsageError as error:
        return print_usage(process, error, OPTIONS)
    except TerseException as error:
        process.err(f"Error occurred: {error}")
        return 1
    except (OptionError, JavaException) as error:
        return _failed(process, JavaException.thrown(error))
    return 0


def _parse(options: ParsedOptions, arguments: list[str]) -> None:
    """Raises TerseException for invalid arguments."""
    try:
        options.parse(arguments)
    except OptionError as error:
        raise TerseException(error.message) from None


def _failed(process: Process, error: JavaException) -> int:
    process.err(f"Error occurred: {error.message}")
    for line in error.stack_trace():
        process.err(line)
    return 1


def _timestamp(text: str) -> int:
    if text in NAMED_TIMES:
        return NAMED_TIMES[text]
    timestamp_ms = parse_integer(text, 64)
    if timestamp_ms is None:
        raise TerseException(
            f"Malformed time argument {text}. Please use -1 or latest / -2 or earliest / -3 or max-timestamp / "
            "-4 or earliest-local / -5 or latest-tiered, or a specified long format timestamp"
        )
    return timestamp_ms


def _filter(options: ParsedOptions) -> Filter:
    rules = options.value("topic-partitions")
    if rules is not None:
        filters = [_rule(rule) for rule in split(rules, ",")]
        return lambda topic, number: any(each(topic, number) for each in filters)
    topic = options.value("topic")
    pattern = topic_filter(topic) if topic is not None else None
    numbers = _numbers(options.value("partitions") or "")
    return lambda topic, number: (
        (pattern is None or pattern.fullmatch(topic) is not None) and (not numbers or number in numbers)
    )


def _numbers(text: str) -> list[int]:
    words = [word for word in split(text, ",") if text]
    if not all(map(is_int, words)):
        raise TerseException(
            "--partitions expects a comma separated list of numeric partition ids, but received: " + text
        )
    return [parse_int(word) for word in words]


def _rule(text: str) -> Filter:
    """`topic`, `topic:3`, `topic:0-3` (the end is not included), `topic:2-`, `:1`."""
    match = _RULE.fullmatch(text)
    if match is None:
        cause = f"org.apache.kafka.tools.TerseException: Invalid rule specification: {text}"
        raise JavaException("java.lang.RuntimeException", cause, (cause,))
    name, first, last = match.groups()
    pattern = topic_filter(name) if name else None
    ranged = last is not None
    least, most = parse_int(first or "0"), parse_int(last or str(INT_MAX))

    def matches(topic: str, number: int) -> bool:
        if pattern is not None and pattern.fullmatch(topic) is None:
            return False
        if ranged:
            return least <= number < most
        return not first or number == least

    return matches


def _print_offsets(process: Process, options: ParsedOptions, wanted: Filter, timestamp: int) -> Asking[None]:
    known = yield from metadata(process, None, "listTopics")
    rows = [
        row
        for row in known.partitions
        if wanted(*TopicPartition.parse(row[0]))
        and not ("exclude-internal-topics" in options and topic_of(row[0]) in INTERNAL_TOPICS)
    ]
    if not rows:
        raise TerseException("Could not match any topic-partitions with the specified filters")
    offsets = yield from _offsets(process, [row[0] for row in rows], timestamp)
    for partition, *_ in rows:
        answer = offsets[partition]
        if isinstance(answer, JavaException):
            process.err(f"Skip getting offsets for topic-partition {partition} due to error: {answer.stack_trace()[0]}")
    for partition in sorted(offsets):
        answer = offsets[partition]
        if isinstance(answer, int) and answer >= 0:
            topic, number = TopicPartition.parse(partition)
            process.out(f"{topic}:{number}:{answer}")


def _offsets(process: Process, partitions: list[str], timestamp: int) -> Asking[dict[str, int | JavaException]]:
    """Sends to each partition's current leader; a timeout for those without a response in a minute."""
    deadline_us = process.now_us + process.api_timeout_us
    answers: dict[str, int | JavaException] = {}
    topics = tuple(dict.fromkeys(topic_of(partition) for partition in partitions))
    while process.now_us < deadline_us:
        known = yield from metadata(process, topics, "listOffsets(api=METADATA)")
        leaders = {row[0]: row[1] for row in known.partitions}
        pending = [partition for partition in partitions if partition not in answers]
        named = dict.fromkeys(leaders.get(partition, -1) for partition in pending)
        for leader in sorted(named, key=lambda each: each not in up_brokers(process.cluster)):
            if leader >= 0:
                requested = [partition for partition in pending if leaders.get(partition) == leader]
                try:
                    yield from until_ready(process, leader, deadline_us, "listOffsets(api=LIST_OFFSETS)")
                except JavaException as late:
                    answers |= dict.fromkeys(requested, late)
                else:
                    yield from _query_leader(process, leader, requested, timestamp, answers)
        if len(answers) == len(partitions):
            return answers
        yield Sleep(RETRY_BACKOFF_US)
    timeout = timed_out("listOffsets(api=METADATA)")
    return {partition: answers.get(partition, timeout) for partition in partitions}


def _query_leader(
    process: Process, leader: int, partitions: list[str], timestamp: int, answers: dict[str, int | JavaException]
) -> Asking[None]:
    """One request to a broker; final results are added to `answers`."""
    body = ListOffsetsRequest(-1, tuple((partition, -1, timestamp) for partition in partitions))
    response: ListOffsetsResponse | Disconnected = yield Call(
        leader, "ListOffsets", body, f"ListOffsets {', '.join(partitions)}"
    )
    if isinstance(response, Disconnected):
        return
    for answer in response.partitions:
        if answer.error is Errors.NONE:
            answers[answer.partition] = answer.offset
        elif not answer.error.retriable:
            answers[answer.partition] = JavaException.of(answer.error)
            log_error(
                process,
                [
                    f"[AdminClient clientId=GetOffsetShell] ListOffsets request for topic partition {answer.partition} "
                    f"failed due to an unexpected error {answer.error.name}"
                ],
                HANDLER_LOGGER,
            )


COMMAND = Command(
    "kafka-get-offsets.sh",
    text("help.kafka_get_offsets"),
    (("kafka-get-offsets.sh [--topic T] [--time latest|earliest|MS]", text("help.kafka_get_offsets_topic")),),
    _run,
    OPTIONS,
)
