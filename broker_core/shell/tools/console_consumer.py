"""kafka-console-consumer.sh (`org.apache.kafka.tools.consumer.ConsoleConsumer`, `DefaultMessageFormatter`).

It reads one partition, or all partitions of a topic, without a consumer group unless --group names one.
"""

import re
from typing import NamedTuple

from broker_core.clients.consumer import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, isolation_id, visible_records
from broker_core.clients.group_consumer_settings import GroupConsumerSettings
from broker_core.clients.producer import STALE_METADATA_ERRORS
from broker_core.errors import Errors
from broker_core.records.record_batch import Record
from broker_core.shell.admin import RETRY_BACKOFF_US, Asking, metadata
from broker_core.shell.commands import Command, register
from broker_core.shell.java import ERRORS_PACKAGE, HELP, JavaException, UsageError, check_help, log_error, print_usage
from broker_core.shell.parser import Option, OptionError, ParsedOptions
from broker_core.shell.process import Call, Disconnected, Process, Running, Sleep
from broker_core.shell.tools.console_group import GroupReader
from broker_core.shell.tools.console_producer import key_values
from broker_core.shell.tools.topics import topic_filter
from broker_core.wire.messages import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataResponse,
)

LOGGER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
FETCH_MAX_WAIT_MS = 500
FETCH_MAX_BYTES = 52_428_800
MAX_PARTITION_FETCH_BYTES = 1_048_576

OPTIONS = (
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "server to connect to"),
    Option("consumer-property", "A consumer configuration; auto.offset.reset acts.", "consumer_prop", repeats=True),
    Option("from-beginning", "Start with the earliest record instead of the latest."),
    Option("group", "The consumer group id of the consumer.", "consumer group id"),
    HELP,
    Option("include", "A regular expression of topics.", "Java regex (String)"),
    Option(
        "isolation-level",
        "read_committed to pass over transactions that were aborted or have not ended; read_uncommitted else.",
        "isolation level",
        values="read_committed|read_uncommitted",
    ),
    Option("max-messages", "Stop after this many records.", "num_messages", "Integer"),
    Option("offset", "Where to start: earliest, latest or an offset.", "consume offset", values="earliest|latest"),
    Option("partition", "The partition to read; all unless given.", "partition", "Integer"),
    Option(
        "property",
        "How records are printed: print.timestamp, print.partition, print.offset, print.headers, print.key, "
        "print.value, "
        "key.separator, headers.separator, null.literal.",
        "prop",
        repeats=True,
    ),
    Option("skip-message-on-error", "Skip a record that cannot be printed."),
    Option("timeout-ms", "Stop when no record comes for so long.", "timeout_ms", "Long"),
    Option("topic", "The topic to read.", "topic", values="topic"),
)


class Formatter:
    """Records into lines (`DefaultMessageFormatter`)."""

    def __init__(self, properties: dict[str, str]) -> None:
        self.prints = {
            name: properties.get(f"print.{name}", "true" if name == "value" else "false").strip().lower() == "true"
            for name in ("timestamp", "partition", "offset", "headers", "key", "value")
        }
        self.separator = properties.get("key.separator", "\t")
        self.headers_separator = properties.get("headers.separator", ",")
        self.null_literal = properties.get("null.literal", "null")

    def line(self, partition: str, record: Record) -> str:
        """The record as it is printed."""
        parts = []
        if self.prints["timestamp"]:
            parts.append(f"CreateTime:{record.timestamp}" if record.timestamp >= 0 else "NO_TIMESTAMP")
        if self.prints["partition"]:
            parts.append(f"Partition:{partition.rpartition('-')[2]}")
        if self.prints["offset"]:
            parts.append(f"Offset:{record.offset}")
        if self.prints["headers"]:
            headers = self.headers_separator.join(f"{name}:{self._text(value)}" for name, value in record.headers)
            parts.append(headers or "NO_HEADERS")
        if self.prints["key"]:
            parts.append(self._text(record.key))
        if self.prints["value"]:
            parts.append(self._text(record.value))
        return self.separator.join(parts)

    def _text(self, data: bytes | None) -> str:
        return self.null_literal if data is None else data.decode("utf-8", "backslashreplace")


class Plan(NamedTuple):
    """What is to be read: the topics of these names.

    `start`: an offset, or EARLIEST_TIMESTAMP or LATEST_TIMESTAMP. `reset`: where to go on after an offset that is out
    of range; None = nowhere. `max_messages`, `timeout_us` None = without end.
    """

    topics: re.Pattern[str]
    partition: int | None
    start: int
    reset: int | None
    max_messages: int | None
    timeout_us: int | None
    #: the topic to ask for, None = look through all
    asked: tuple[str] | None
    isolation_level: str


def _plan(options: ParsedOptions) -> Plan:
    """Checks the options in the tool's order. Raises UsageError and OptionError."""
    check_help(options, "This tool helps to read data from Kafka topics and outputs it to standard output.")
    if ("topic" in options) == ("include" in options):
        raise UsageError("Exactly one of --include/--topic is required.")
    from_beginning = "from-beginning" in options
    partition = options.integer("partition")
    if partition is not None:
        if "topic" not in options:
            raise UsageError("The topic is required when partition is specified.")
        if from_beginning and "offset" in options:
            raise UsageError("Options from-beginning and offset cannot be specified together.")
    elif "offset" in options:
        raise UsageError("The partition is required when offset is specified.")
    reset = key_values(options.values("consumer-property")).get("auto.offset.reset")
    if reset is not None and from_beginning and reset != "earliest":
        raise UsageError(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}', please remove one option"
        )
    resets = {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP, "none": None}
    if reset is not None and reset not in resets:
        raise JavaException(
            "org.apache.kafka.common.config.ConfigException",
            f"Invalid value {reset} for configuration auto.offset.reset: String must be one of: latest, earliest, none",
        )
    reset_to = resets[reset or ("earliest" if from_beginning else "latest")]
    start = _start(options.value("offset"), from_beginning or reset == "earliest")
    timeout_ms = options.integer("timeout-ms")
    max_messages = options.integer("max-messages")
    return Plan(
        _topics(options),
        partition,
        start,
        reset_to,
        None if max_messages is None or max_messages < 0 else max_messages,
        None if timeout_ms is None or timeout_ms < 0 else timeout_ms * 1000,
        (options.value("topic") or "",) if "topic" in options else None,
        options.value("isolation-level") or "read_uncommitted",
    )


def _topics(options: ParsedOptions) -> re.Pattern[str]:
    """Raises JavaException for a regular expression that is none."""
    include = options.value("include")
    return topic_filter(include) if include is not None else re.compile(re.escape(options.value("topic") or ""))


def _start(offset: str | None, from_beginning: bool) -> int:
    if offset is None:
        return EARLIEST_TIMESTAMP if from_beginning else LATEST_TIMESTAMP
    named = {"earliest": EARLIEST_TIMESTAMP, "latest": LATEST_TIMESTAMP}.get(offset.lower())
    if named is not None:
        return named
    if not offset.isdigit() or int(offset) >= 1 << 63:
        raise UsageError(
            f"The provided offset value '{offset}' is incorrect. "
            "Valid values are 'earliest', 'latest', or a non-negative long."
        )
    return int(offset)


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    try:
        plan = _plan(options.parse(arguments))
        formatter = Formatter(key_values(options.values("property")))
    except OptionError as error:
        return print_usage(process, UsageError(error.message), OPTIONS)
    except UsageError as error:
        return print_usage(process, error, OPTIONS)
    except JavaException as error:
        for line in error.stack_trace():
            process.err(line)
        return 1
    group = options.value("group")
    if group is not None and plan.partition is None:
        return (yield from _run_in_group(process, options, plan, formatter, group))
    count = 0
    reader = Reader(process, plan)
    try:
        while plan.max_messages is None or count < plan.max_messages:
            records = yield from reader.poll()
            for partition, record in records[: None if plan.max_messages is None else plan.max_messages - count]:
                process.out(formatter.line(partition, record))
                count += 1
    except JavaException as error:
        log_error(process, ["Error processing message, terminating consumer process: "], LOGGER)
        process.err(f"{error.java_class}: {error.message}" if error.message else error.java_class)
    finally:
        process.err(f"Processed a total of {count} messages")
    return 0


def _run_in_group(process: Process, options: ParsedOptions, plan: Plan, formatter: Formatter, group: str) -> Running:
    include = options.value("include")
    settings = GroupConsumerSettings(
        group_id=group,
        topics=(plan.topics.pattern if include is not None else options.value("topic") or "",),
        is_pattern=include is not None,
        auto_offset_reset="earliest" if plan.reset == EARLIEST_TIMESTAMP else "latest",
        isolation_level=plan.isolation_level,
    )
    reader = GroupReader(process, settings, plan.timeout_us)
    count = 0
    unread: list[tuple[str, Record]] = []
    try:
        while plan.max_messages is None or count < plan.max_messages:
            records = yield from reader.poll()
            left = len(records) if plan.max_messages is None else plan.max_messages - count
            unread = records[left:]
            for partition, record in records[:left]:
                process.out(formatter.line(partition, record))
                count += 1
    except JavaException as error:
        log_error(process, ["Error processing message, terminating consumer process: "], LOGGER)
        process.err(f"{error.java_class}: {error.message}" if error.message else error.java_class)
    except GeneratorExit:
        reader.drop()
        raise
    yield from reader.close(unread)
    process.err(f"Processed a total of {count} messages")
    return 0


class Reader:
    """Reads the partitions of a plan, leader after leader, and finds them again when leaders move."""

    def __init__(self, process: Process, plan: Plan) -> None:
        self.process = process
        self.plan = plan
        self.positions: dict[str, int] = {}
        #: where to look up a position: EARLIEST_TIMESTAMP or LATEST_TIMESTAMP
        self.lookups: dict[str, int] = {}
        self.known: MetadataResponse | None = None
        self._isolation = isolation_id(plan.isolation_level)

    def poll(self) -> Asking[list[tuple[str, Record]]]:
        """The next records. Raises JavaException when none comes in time."""
        begun_us = self.process.now_us
        while True:
            for broker_id, partitions in (yield from self._partitions_by_leader()).items():
                yield from self._look_up(broker_id, partitions)
                records = yield from self._fetch(
                    broker_id, [each for each in partitions if each in self.positions], begun_us
                )
                if records:
                    return records
                self._check_time(begun_us)
            if self.known is None:
                yield Sleep(RETRY_BACKOFF_US)
                self._check_time(begun_us)

    def _check_time(self, begun_us: int) -> None:
        timeout_us = self.plan.timeout_us
        if timeout_us is not None and self.process.now_us - begun_us >= timeout_us:
            raise JavaException(ERRORS_PACKAGE + "TimeoutException", "")

    def _partitions_by_leader(self) -> Asking[dict[int, list[str]]]:
        if self.known is None:
            self.known = yield from metadata(self.process, self.plan.asked, "metadata", create=True)
        led: dict[int, list[str]] = {}
        for partition, leader, *_ in self.known.partitions:
            topic, _, number = partition.rpartition("-")
            wanted = self.plan.partition is None or self.plan.partition == int(number)
            if wanted and self.plan.topics.fullmatch(topic):
                if leader >= 0:
                    led.setdefault(leader, []).append(partition)
                if partition not in self.positions and partition not in self.lookups:
                    if self.plan.start >= 0:
                        self.positions[partition] = self.plan.start
                    else:
                        self.lookups[partition] = self.plan.start
        if not led:
            self.known = None
        return led

    def _look_up(self, broker_id: int, partitions: list[str]) -> Asking[None]:
        asked = tuple((partition, -1, self.lookups[partition]) for partition in partitions if partition in self.lookups)
        if not asked:
            return
        label = "ListOffsets " + ", ".join(partition for partition, _, _ in asked)
        response: ListOffsetsResponse | Disconnected = yield Call(
            broker_id, "ListOffsets", ListOffsetsRequest(-1, asked, isolation_level=self._isolation), label
        )
        if isinstance(response, Disconnected):
            self.known = None
            return
        for answer in response.partitions:
            if answer.error is Errors.NONE:
                self.positions[answer.partition] = answer.offset
                del self.lookups[answer.partition]
            else:
                self.known = None

    def _fetch(self, broker_id: int, partitions: list[str], begun_us: int) -> Asking[list[tuple[str, Record]]]:
        if not partitions:
            return []
        wait_ms = FETCH_MAX_WAIT_MS
        if self.plan.timeout_us is not None:
            wait_ms = max(1, min(wait_ms, (begun_us + self.plan.timeout_us - self.process.now_us) // 1000))
        fetch = FetchRequest(
            -1,
            wait_ms,
            1,
            FETCH_MAX_BYTES,
            tuple(
                FetchPartition(partition, self.positions[partition], partition_max_bytes=MAX_PARTITION_FETCH_BYTES)
                for partition in partitions
            ),
            isolation_level=self._isolation,
        )
        label = "Fetch " + ", ".join(f"{partition}@{self.positions[partition]}" for partition in partitions)
        response: FetchResponse | Disconnected = yield Call(broker_id, "Fetch", fetch, label)
        if isinstance(response, Disconnected):
            self.known = None
            return []
        records: list[tuple[str, Record]] = []
        for answer in response.partitions:
            if answer.error is Errors.OFFSET_OUT_OF_RANGE:
                self._reset(answer.partition)
            elif answer.error in STALE_METADATA_ERRORS:
                self.known = None
            elif answer.error is not Errors.NONE:
                raise JavaException.of(answer.error)
            else:
                visible, position = visible_records(
                    answer.records, self.positions[answer.partition], answer.aborted_transactions
                )
                records += [(answer.partition, record) for record in visible]
                self.positions[answer.partition] = position
        return records

    def _reset(self, partition: str) -> None:
        if self.plan.reset is None:
            raise JavaException(
                "org.apache.kafka.clients.consumer.OffsetOutOfRangeException",
                f"Fetch position {self.positions[partition]} is out of range for partition {partition}, "
                "and no reset policy is configured",
            )
        del self.positions[partition]
        self.lookups[partition] = self.plan.reset


register(
    Command(
        "kafka-console-consumer.sh",
        "Print records. It reads without a group unless one is named, until --max-messages, --timeout-ms or interrupt.",
        (
            (
                "kafka-console-consumer.sh --topic T --from-beginning --max-messages N",
                "the first N records of all partitions",
            ),
            ("kafka-console-consumer.sh --topic T --partition P --offset N", "one partition from an offset"),
        ),
        _run,
        OPTIONS,
        missing=(
            "command-config",
            "consumer.config",
            "enable-systest-events",
            "formatter",
            "formatter-config",
            "key-deserializer",
            "value-deserializer",
        ),
    )
)
