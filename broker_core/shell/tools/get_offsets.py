"""kafka-get-offsets.sh (`org.apache.kafka.tools.GetOffsetShell`)."""

import re
from collections.abc import Callable

from broker_core.errors import Errors
from broker_core.shell.admin import RETRY_BACKOFF_US, Asking, metadata
from broker_core.shell.commands import Command, register
from broker_core.shell.java import HELP, JavaException, UsageError, check_help, print_usage
from broker_core.shell.parser import Option, OptionError, ParsedOptions
from broker_core.shell.process import Call, Disconnected, Process, Running, Sleep
from broker_core.shell.tools.topics import INTERNAL_TOPICS, topic_filter
from broker_core.wire.messages import ListOffsetsRequest, ListOffsetsResponse

NAMED_TIMES = {"latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5}
RETRIES_US = 60_000_000
_RULE = re.compile(r"([^:,]*)(?::(\d*)(?:-(\d*))?)?")

OPTIONS = (
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "HOST1:PORT1,..."),
    Option("exclude-internal-topics", "Leave internal topics out."),
    Option("partitions", "Numbers of partitions, with commas; all unless given.", "partition ids"),
    HELP,
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


class Terse(Exception):
    """A message that ends the tool (`TerseException`)."""


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    try:
        options.parse(arguments)
        check_help(options, "This tool gets topic-partition offsets.")
        if "topic-partitions" in options and ("topic" in options or "partitions" in options):
            raise Terse("--topic-partitions cannot be used with --topic or --partitions")
        wanted = _filter(options)
        timestamp = _timestamp(options.value("time") or "latest")
        yield from _print_offsets(process, options, wanted, timestamp)
    except OptionError as error:
        return print_usage(process, UsageError(error.message), OPTIONS)
    except UsageError as error:
        return print_usage(process, error, OPTIONS)
    except (Terse, JavaException) as error:
        process.err(f"Error occurred: {error.message if isinstance(error, JavaException) else error}")
        return 1
    return 0


def _timestamp(text: str) -> int:
    if text in NAMED_TIMES:
        return NAMED_TIMES[text]
    if re.fullmatch(r"[+-]?\d+", text) is None:
        raise Terse(
            f"Malformed time argument {text}. Please use -1 or latest / -2 or earliest / -3 or max-timestamp / "
            "-4 or earliest-local / -5 or latest-tiered, or a specified long format timestamp"
        )
    return int(text)


def _filter(options: ParsedOptions) -> Filter:
    rules = options.value("topic-partitions")
    if rules is not None:
        filters = [_rule(rule) for rule in rules.split(",")]
        return lambda topic, number: any(each(topic, number) for each in filters)
    topic = options.value("topic")
    pattern = topic_filter(topic) if topic is not None else None
    numbers = None
    if "partitions" in options:
        numbers = _numbers(options.value("partitions") or "")
    return lambda topic, number: (
        (pattern is None or pattern.fullmatch(topic) is not None) and (numbers is None or number in numbers)
    )


def _numbers(text: str) -> list[int]:
    if re.fullmatch(r"\d+(,\d+)*", text) is None:
        raise Terse("--partitions expects a comma separated list of numeric partition ids, but received: " + text)
    return [int(word) for word in text.split(",")]


def _rule(text: str) -> Filter:
    """`topic`, `topic:3`, `topic:0-3` (the end is not included), `topic:2-`, `:1`."""
    match = _RULE.fullmatch(text)
    if match is None:
        raise Terse(f"Invalid rule specification: {text}")
    name, first, last = match.groups()
    pattern = topic_filter(name) if name else None
    ranged = last is not None

    def matches(topic: str, number: int) -> bool:
        if pattern is not None and pattern.fullmatch(topic) is None:
            return False
        if ranged:
            return int(first or 0) <= number and (not last or number < int(last))
        return not first or number == int(first)

    return matches


def _print_offsets(process: Process, options: ParsedOptions, wanted: Filter, timestamp: int) -> Asking[None]:
    known = yield from metadata(process, None, "listTopics")
    rows = [
        row
        for row in known.partitions
        if wanted(row[0].rpartition("-")[0], int(row[0].rpartition("-")[2]))
        and not ("exclude-internal-topics" in options and row[0].rpartition("-")[0] in INTERNAL_TOPICS)
    ]
    if not rows:
        raise Terse("Could not match any topic-partitions with the specified filters")
    lines = []
    for partition, *_ in rows:
        offset = yield from _offset(process, partition, timestamp)
        topic, _, number = partition.rpartition("-")
        if offset is not None and offset >= 0:
            lines.append(f"{topic}:{number}:{offset}")
    for line in lines:
        process.out(line)


def _offset(process: Process, partition: str, timestamp: int) -> Asking[int | None]:
    """Asks the partition's leader, whoever that is by then; None after a minute without an answer."""
    deadline_us = process.now_us + RETRIES_US
    topic = partition.rpartition("-")[0]
    while process.now_us < deadline_us:
        known = yield from metadata(process, (topic,), "listOffsets")
        leader = next((row[1] for row in known.partitions if row[0] == partition), -1)
        if leader >= 0:
            body = ListOffsetsRequest(-1, ((partition, -1, timestamp),))
            response: ListOffsetsResponse | Disconnected = yield Call(
                leader, "ListOffsets", body, f"ListOffsets {partition}"
            )
            if not isinstance(response, Disconnected):
                (answer,) = response.partitions
                if answer.error is Errors.NONE:
                    return answer.offset
                if not answer.error.retriable:
                    raise JavaException.of(answer.error)
        yield Sleep(RETRY_BACKOFF_US)
    process.err(
        f"Skip getting offsets for topic-partition {partition} due to error: "
        "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: listOffsets"
    )
    return None


register(
    Command(
        "kafka-get-offsets.sh",
        "Offsets of partitions.",
        (("kafka-get-offsets.sh [--topic T] [--time latest|earliest|MS]", "a line TOPIC:PARTITION:OFFSET for each"),),
        _run,
        OPTIONS,
        missing=("command-config", "broker-list"),
    )
)
