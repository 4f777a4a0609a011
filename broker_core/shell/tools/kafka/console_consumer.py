"""kafka-console-consumer.sh (`org.apache.kafka.tools.consumer.ConsoleConsumer`).

It reads one partition, or as a member of a group, which has a random name unless --group names one.
"""

from typing import Protocol

from broker_core.clients.consumer.consumer import isolation_id, visible_records
from broker_core.clients.metadata import STALE_METADATA_ERRORS
from broker_core.config_defs import ConfigException
from broker_core.errors import Errors
from broker_core.partitions import TopicPartition
from broker_core.records.record_batch import Record
from broker_core.shell.admin.admin_client import CONFIG_EXCEPTION, bad_address
from broker_core.shell.admin.requests import RETRY_BACKOFF_US, Asking, metadata
from broker_core.shell.console.console_consumer_options import OPTIONS, ReadPlan, plan_of, properties_of
from broker_core.shell.console.console_formatters import MessageFormatter
from broker_core.shell.console.console_unreadable import UnreadableRecord
from broker_core.shell.grammar.parser import OptionError, ParsedOptions
from broker_core.shell.grammar.process import Call, Disconnected, Process, Running, Sleep
from broker_core.shell.grammar.registry import Command
from broker_core.shell.java.consumer_config import NotConstructed
from broker_core.shell.java.errors import (
    ERRORS_PACKAGE,
    JavaException,
    TerseException,
    ToolUsageError,
    error_class,
    log_error,
    print_usage,
)
from broker_core.shell.tools.kafka.console_group import GroupReader, NewProtocolReader
from broker_core.texts import text
from broker_core.wire.messages import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataResponse,
)

LOGGER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
MAX_GROUPS = 100_000
JOIN_GROUP = 11
FETCH_MAX_WAIT_MS = 500
FETCH_MAX_BYTES = 52_428_800
MAX_PARTITION_FETCH_BYTES = 1_048_576


class RecordReader(Protocol):
    """The source of the records."""

    def poll(self) -> Asking[list[tuple[str, Record]]]: ...

    def close(self, unread: list[tuple[str, Record]]) -> Asking[None]: ...

    def drop(self) -> None: ...


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    random_group = f"console-consumer-{process.cluster.kernel.streams['console-consumer'].below(MAX_GROUPS)}"
    try:
        try:
            options.parse(arguments)
        except OptionError as error:
            raise ToolUsageError(error.message) from None
        properties = properties_of(process, options, random_group)
    except ToolUsageError as error:
        return print_usage(process, error, OPTIONS)
    except TerseException as complaint:
        process.err(str(complaint))
        return 1
    except (OptionError, JavaException) as error:
        exception = JavaException.thrown(error)
        for line in exception.stack_trace():
            process.err(line)
        return 1
    try:
        servers = options.value("bootstrap-server")
        bad = "" if servers is None else bad_address(servers)
        if bad:
            raise NotConstructed(f"{CONFIG_EXCEPTION}: {bad}")
        plan = plan_of(options, properties)
    except ConfigException as error:
        return _unknown_error(process, JavaException(CONFIG_EXCEPTION, str(error)))
    except NotConstructed as error:
        message = "Failed to construct kafka consumer"
        return _unknown_error(process, JavaException(error_class("KafkaException"), message, error.causes))
    except JavaException as error:
        return _unknown_error(process, error)
    era = process.cluster.era
    has_groups = era.apis is None or JOIN_GROUP in era.apis
    in_group = plan.partition is None and (has_groups or plan.settings.group_id != random_group)
    reader: RecordReader = PlanReader(process, plan)
    client_id = properties.consumer["client.id"]
    if in_group and properties.consumer.get("group.protocol", "").upper() == "CONSUMER":
        reader = NewProtocolReader(process, client_id, plan.settings.group_id)
    elif in_group:
        reader = GroupReader(process, plan.settings, client_id, plan.timeout_us)
    printer = _Printer(process, properties.formatter, skips="skip-message-on-error" in options)
    exit_code = yield from _print_all(process, options, reader, printer)
    if "enable-systest-events" in options:
        process.out("shutdown_complete")
    return exit_code


def _unknown_error(process: Process, error: JavaException) -> int:
    log_error(process, ["Unknown error when running consumer: "], LOGGER)
    for line in error.stack_trace():
        process.err(line)
    return 1


class _Printer:
    """Prints records, and buffers incomplete lines."""

    def __init__(self, process: Process, formatter: MessageFormatter, *, skips: bool) -> None:
        self.count = 0
        self._process = process
        self._formatter = formatter
        self._skips = skips
        self._rest = ""

    def print(self, partition: str, record: Record) -> None:
        """Raises UnreadableRecord for a record that cannot be printed, unless such records are skipped."""
        self.count += 1
        try:
            text = self._formatter.text(partition, record)
        except UnreadableRecord as error:
            self._write(error.written)
            if not self._skips:
                raise
            log_error(self._process, ["Error processing message, skipping this message: "], LOGGER)
            self._process.err(error.stack_trace()[0])
        else:
            self._write(text)

    def _write(self, text: str) -> None:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._process.out(line)

    def finish(self) -> None:
        """Flushes the buffer at the end."""
        if self._rest:
            self._process.out(self._rest)
        self._process.err(f"Processed a total of {self.count} messages")


def _print_all(process: Process, options: ParsedOptions, reader: RecordReader, printer: _Printer) -> Running:
    unread: list[tuple[str, Record]] = []
    failure: JavaException | None = None
    try:
        wanted = options.integer("max-messages")
        limit = -1 if wanted is None else wanted
        while printer.count < limit or limit == -1:
            records = yield from reader.poll()
            left = len(records) if limit == -1 else limit - printer.count
            unread = records[left:]
            for partition, record in records[:left]:
                printer.print(partition, record)
    except OptionError as error:
        failure = JavaException.thrown(error)
    except UnreadableRecord as error:
        failure = error
    except JavaException as error:
        log_error(process, ["Error processing message, terminating consumer process: "], LOGGER)
        process.err(error.stack_trace()[0])
    except GeneratorExit:
        reader.drop()
        printer.finish()
        raise
    yield from reader.close(unread)
    printer.finish()
    return 0 if failure is None else _unknown_error(process, failure)


class PlanReader:
    """Reads the partitions of a plan, leader after leader, and finds them again when leaders move."""

    def __init__(self, process: Process, plan: ReadPlan) -> None:
        self.process = process
        self.plan = plan
        self.positions: dict[str, int] = {}
        #: The offset to look up: EARLIEST_TIMESTAMP or LATEST_TIMESTAMP.
        self.lookups: dict[str, int] = {}
        self.known: MetadataResponse | None = None
        self._isolation = isolation_id(plan.isolation_level)

    def poll(self) -> Asking[list[tuple[str, Record]]]:
        """The next records. Raises JavaException if none arrives in time."""
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
            self.known = yield from metadata(self.process, self.plan.requested, "metadata", create=True)
        led: dict[int, list[str]] = {}
        for partition, leader, *_ in self.known.partitions:
            topic, number = TopicPartition.parse(partition)
            wanted = self.plan.partition is None or self.plan.partition == number
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

    def close(self, unread: list[tuple[str, Record]]) -> Asking[None]:
        """Does nothing: it has committed nothing, and is not a member of a group."""
        yield from ()

    def drop(self) -> None:
        """Called when the process has ended."""

    def _look_up(self, broker_id: int, partitions: list[str]) -> Asking[None]:
        requested = tuple(
            (partition, -1, self.lookups[partition]) for partition in partitions if partition in self.lookups
        )
        if not requested:
            return
        label = "ListOffsets " + ", ".join(partition for partition, _, _ in requested)
        response: ListOffsetsResponse | Disconnected = yield Call(
            broker_id, "ListOffsets", ListOffsetsRequest(-1, requested, isolation_level=self._isolation), label
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
                f"Fetch position FetchPosition{{offset={self.positions[partition]}, offsetEpoch=Optional.empty, "
                f"currentLeader={self._leader_and_epoch(partition)}}} is out of range for partition {partition}",
            )
        del self.positions[partition]
        self.lookups[partition] = self.plan.reset

    def _leader_and_epoch(self, partition: str) -> str:
        rows = () if self.known is None else self.known.partitions
        _, leader, epoch, *_ = next(row for row in rows if row[0] == partition)
        address = f"127.0.0.1:{self.process.cluster.broker_port(leader)}"
        return f"LeaderAndEpoch{{leader=Optional[{address} (id: {leader} rack: null)], epoch={epoch}}}"


COMMAND = Command(
    "kafka-console-consumer.sh",
    text("help.kafka_console_consumer"),
    (
        (
            "kafka-console-consumer.sh --topic T --from-beginning --max-messages N",
            text("help.kafka_console_consumer_topic"),
        ),
        ("kafka-console-consumer.sh --topic T --partition P --offset N", text("help.kafka_console_consumer_partition")),
    ),
    _run,
    OPTIONS,
)
