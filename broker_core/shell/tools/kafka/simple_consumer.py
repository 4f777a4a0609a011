"""kafka-simple-consumer-shell.sh (`kafka.tools.SimpleConsumerShell`), which Kafka had until 1.1: it reads one partition
from one replica, without a group. Older texts name it; here it works in each era, with a hint at the current tool.
"""

from broker_core.clients.consumer.consumer import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, isolation_id, visible_records
from broker_core.config_defs import INT_MAX
from broker_core.errors import Errors
from broker_core.partitions import TopicPartition
from broker_core.records.record_batch import Record
from broker_core.shell.admin.admin_client import check_address
from broker_core.shell.admin.group_admin import list_offsets
from broker_core.shell.admin.requests import Asking, metadata
from broker_core.shell.console.console_formatters import DEFAULT_FORMATTER, MessageFormatter, formatter_of
from broker_core.shell.console.console_unreadable import UnreadableRecord
from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions, quoted
from broker_core.shell.grammar.process import Call, Disconnected, Process, Running
from broker_core.shell.grammar.registry import Command, refuse
from broker_core.shell.java.errors import (
    JavaException,
    TerseException,
    ToolUsageError,
    check_required,
    key_values,
    log_error,
    print_usage,
)
from broker_core.texts import text
from broker_core.topics import OFFSETS_TOPIC
from broker_core.wire.messages import FetchPartition, FetchRequest

_ABOUT = "A low-level tool for fetching data directly from a particular replica."
_LOGGER = "kafka.tools.SimpleConsumerShell$"
_LEADER = -1
_OFFSETS_FORMATTER = "org.apache.kafka.tools.consumer.OffsetsMessageFormatter"
_FORMATTERS = {
    "kafka.tools.DefaultMessageFormatter": DEFAULT_FORMATTER,
    "kafka.coordinator.GroupMetadataManager$OffsetsMessageFormatter": _OFFSETS_FORMATTER,
    "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter": _OFFSETS_FORMATTER,
    "kafka.server.OffsetManager$OffsetsMessageFormatter": _OFFSETS_FORMATTER,
}

OPTIONS = (
    Option("broker-list", "The brokers to connect to; the lab adds those that are up.", "hostname:port,..."),
    Option("clientId", "The ID of this client.", "clientId"),
    Option("fetchsize", "The fetch size of each request.", "fetchsize", "Integer"),
    Option(
        "formatter",
        "The class that prints records; without a name that of the topic.",
        "class",
        optional=True,
    ),
    Option("max-messages", "Stop after this many records.", "max-messages", "Integer"),
    Option("max-wait-ms", "The max amount of time each fetch request waits.", "ms", "Integer"),
    Option("no-wait-at-logend", "Stop at the end of the log."),
    Option("offset", "Where to start: an offset, -2 for the beginning, -1 for the end.", "consume offset", "Long"),
    Option("partition", "The partition to read; 0 unless given.", "partition", "Integer"),
    Option("print-offsets", "Print the offset that comes next, before each record."),
    Option("property", "How records are printed, as kafka-console-consumer.sh has it.", "prop", repeats=True),
    Option("replica", "The broker to read from; -1, the leader, unless given.", "replica id", "Integer"),
    Option("skip-message-on-error", "Skip a record that cannot be printed."),
    Option("topic", "REQUIRED: The topic to read.", "topic", values="topic"),
)


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    try:
        if not arguments:
            raise ToolUsageError(_ABOUT)
        options.parse(arguments)
        check_required(options, "topic")
        check_address(options.value("broker-list"))
        refuse(process, text("shell.tool_removed", line=_today(options)))
        yield from _read(process, options)
    except ToolUsageError as error:
        return print_usage(process, error, OPTIONS)
    except TerseException as complaint:
        process.err(str(complaint))
        return 1
    except (JavaException, OptionError) as error:
        exception = JavaException.thrown(error)
        for line in exception.stack_trace():
            process.err(line)
        return 1
    return 0


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _formatter(options: ParsedOptions) -> str:
    name = options.value("formatter")
    if name is None:
        is_bare = "formatter" in options and options.value("topic") == OFFSETS_TOPIC
        return _OFFSETS_FORMATTER if is_bare else DEFAULT_FORMATTER
    return _FORMATTERS.get(name, name)


def _today(options: ParsedOptions) -> str:
    """The command line of kafka-console-consumer.sh that prints the same records."""
    start = _or(options.integer("offset"), EARLIEST_TIMESTAMP)
    offset = {EARLIEST_TIMESTAMP: "earliest", LATEST_TIMESTAMP: "latest"}.get(start, str(start))
    words = ["kafka-console-consumer.sh", "--topic", options.value("topic") or ""]
    words += ["--partition", str(_or(options.integer("partition"), 0)), "--offset", offset]
    if "max-messages" in options:
        words += ["--max-messages", str(options.integer("max-messages"))]
    if _formatter(options) != DEFAULT_FORMATTER:
        words += ["--formatter", _formatter(options)]
    properties = ["print.offset=true"] if "print-offsets" in options else []
    for each in [*properties, *options.values("property")]:
        words += ["--property", each]
    return " ".join(map(quoted, words))


def _read(process: Process, options: ParsedOptions) -> Asking[None]:
    """Prints records up to the limit. Raises TerseException, ToolUsageError and JavaException."""
    partition = options.partition(default=0)
    broker_id = yield from _replica(process, partition, _or(options.integer("replica"), _LEADER))
    offset = _or(options.integer("offset"), EARLIEST_TIMESTAMP)
    if offset < EARLIEST_TIMESTAMP:
        raise TerseException(f"Invalid starting offset: {offset}")
    formatter = formatter_of(process, _formatter(options), key_values(options.values("property")))
    if offset < 0:
        offset = (yield from list_offsets(process, [partition], offset))[partition]
    left = _or(options.integer("max-messages"), INT_MAX)
    while left > 0:
        records, next_offset = yield from _fetch(process, options, broker_id, partition, offset)
        if next_offset == offset and "no-wait-at-logend" in options:
            topic, number = TopicPartition.parse(partition)
            process.out(f"Terminating. Reached the end of partition ({topic}, {number}) at offset {offset}")
            return
        for record in records[:left]:
            if "print-offsets" in options:
                process.out(f"next offset = {record.offset + 1}")
            _print(process, options, formatter, partition, record)
        left -= len(records)
        offset = next_offset


def _print(
    process: Process, options: ParsedOptions, formatter: MessageFormatter, partition: str, record: Record
) -> None:
    """Raises JavaException for a record that cannot be printed, unless such records are skipped."""
    try:
        text = formatter.text(partition, record)
    except UnreadableRecord as error:
        if "skip-message-on-error" not in options:
            raise
        log_error(process, ["Error processing message, skipping this message: "], _LOGGER)
        process.err(error.stack_trace()[0])
        return
    if text:
        for line in text.removesuffix("\n").split("\n"):
            process.out(line)


def _replica(process: Process, partition: str, replica: int) -> Asking[int]:
    """The broker to read from. Raises TerseException if there is none."""
    topic, number = TopicPartition.parse(partition)
    known = yield from metadata(process, (topic,), "metadata")
    rows = {row[0]: row for row in known.partitions}
    if not rows:
        raise TerseException(f"Error: no valid topic metadata for topic: {topic}")
    if partition not in rows:
        raise TerseException(f"Error: partition {number} does not exist for topic {topic}")
    _, leader, _, replicas, *_ = rows[partition]
    if replica == _LEADER:
        if leader < 0:
            raise TerseException(
                f"Error: user specifies to fetch from leader for partition ({topic}, {number}) which has not been "
                "elected yet"
            )
        return leader
    if replica not in replicas:
        raise TerseException(f"Error: replica {replica} does not exist for partition ({topic}, {number})")
    return replica


def _fetch(
    process: Process, options: ParsedOptions, broker_id: int, partition: str, offset: int
) -> Asking[tuple[list[Record], int]]:
    """Records, and the next offset. Raises JavaException for an error of the broker, or if it is down."""
    size = _or(options.integer("fetchsize"), 1 << 20)
    wait_ms = _or(options.integer("max-wait-ms"), 1_000)
    wanted = (FetchPartition(partition, offset, partition_max_bytes=size),)
    # As a debugging consumer, in Kafka's terms, it may read from any replica.
    body = FetchRequest(
        -1, wait_ms, 1, size, wanted, isolation_level=isolation_id("read_uncommitted"), from_follower=True
    )
    response = yield Call(broker_id, "Fetch", body, f"Fetch {partition}@{offset}")
    if isinstance(response, Disconnected):
        raise JavaException("java.io.EOFException", "")
    (answer,) = response.partitions
    if answer.error is not Errors.NONE:
        raise JavaException.of(answer.error)
    return visible_records(answer.records, offset, answer.aborted_transactions)


COMMAND = Command(
    "kafka-simple-consumer-shell.sh",
    text("help.kafka_simple_consumer_shell"),
    (
        (
            "kafka-simple-consumer-shell.sh --topic T --partition P [--offset N] [--replica BROKER] "
            "[--no-wait-at-logend]",
            text("help.kafka_simple_consumer_shell_partition"),
        ),
    ),
    _run,
    OPTIONS,
)
