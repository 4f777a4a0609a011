"""kafka-replica-verification.sh (`org.apache.kafka.tools.ReplicaVerificationTool`): compares the contents of all
replicas.

It reads each partition from all its replicas, and compares their batches up to the high watermark.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from broker_core.config_defs import INT_MAX
from broker_core.config_defs.java_text import hash_map_order, partition_code
from broker_core.partitions import topic_of
from broker_core.records.record_batch import BatchHeader, iterate_batches
from broker_core.shell.admin.admin_client import check_address
from broker_core.shell.admin.group_admin import list_offsets
from broker_core.shell.admin.requests import Asking, metadata
from broker_core.shell.grammar.parser import Option, OptionError, ParsedOptions
from broker_core.shell.grammar.process import Call, Disconnected, Process, Running, Sleep
from broker_core.shell.grammar.registry import Command, refuse
from broker_core.shell.java.errors import (
    HELP,
    VERSION,
    JavaException,
    ToolUsageError,
    check_help,
    check_invalid,
    log_error,
    print_usage,
)
from broker_core.shell.java.patterns import compiled_list
from broker_core.texts import text
from broker_core.wire.messages import FetchPartition, FetchPartitionResponse, FetchRequest

_ABOUT = "Validate that all replicas for a set of topics have the same data."
_LOGGER = "org.apache.kafka.tools.ReplicaVerificationTool"
_CONSUMER = -1
_LATEST = -1
_EARLIEST = -2

OPTIONS = (
    Option(
        "broker-list",
        "REQUIRED: The list of hostname and port of the server to connect to; the lab adds those that are up.",
        "hostname:port,...,hostname:port",
    ),
    Option("fetch-size", "The fetch size of each request.", "bytes", "Integer"),
    HELP,
    Option("max-wait-ms", "The max amount of time each fetch request waits.", "ms", "Integer"),
    Option("report-interval-ms", "The reporting interval.", "ms", "Long"),
    Option("time", "Timestamp for getting the initial offsets.", "timestamp/-1(latest)/-2(earliest)", "Long"),
    Option(
        "topic-white-list",
        "DEPRECATED use --topics-include instead; ignored if --topics-include specified. "
        "List of topics to verify replica consistency.",
        "Java regex (String)",
        values="topic",
    ),
    Option("topics-include", "List of topics to verify replica consistency.", "Java regex (String)", values="topic"),
    VERSION,
)


class ReplicasDiffer(Exception):
    """Two replicas are at different offsets, which ends the tool."""


def _run(process: Process, arguments: list[str]) -> Running:
    options = ParsedOptions(OPTIONS)
    try:
        options.parse(arguments)
        check_help(options, _ABOUT)
        check_address(options.value("broker-list"))
        check_invalid(options, "topics-include", ["topic-white-list"])
        yield from _verify(process, options)
    except ToolUsageError as error:
        return print_usage(process, error, OPTIONS)
    except ReplicasDiffer as error:
        process.out(str(error))
    except (JavaException, OptionError) as error:
        process.err(error.message)
        trace = JavaException.thrown(error)
        for line in trace.stack_trace():
            process.err(line)
    return 1


def _verify(process: Process, options: ParsedOptions) -> Asking[None]:
    """Compares in a loop. Raises ReplicasDiffer, and JavaException if it cannot start."""
    pattern = _pattern(options.value("topics-include") or options.value("topic-white-list") or ".*")
    known = yield from metadata(process, None, "describeTopics")
    replicas = {
        partition: assigned
        for partition, _, _, assigned, _, _ in known.partitions
        if pattern.fullmatch(topic_of(partition))
    }
    if not replicas:
        what = (
            "No topics found. [topics-include] if specified, is either filtering out all topics or there is no topic."
        )
        log_error(process, [what], _LOGGER)
        return
    absent = sorted({broker_id for assigned in replicas.values() for broker_id in assigned} - set(known.brokers))
    if absent:
        refuse(process, text("shell.verification_broker", broker=absent[0]))
        return
    begin = yield from _beginning(process, list(replicas), _or(options.integer("time"), _LATEST))
    verification = Verification(process, options, replicas, begin)
    process.out(f"{_clock(process)}: verification process is started")
    while True:
        yield from verification.round()


def _beginning(process: Process, partitions: list[str], time: int) -> Asking[dict[str, int]]:
    """The start offset of each partition. Raises JavaException for an invalid time, and for one at which a partition
    has no record yet (`initialOffsets`).
    """
    first = hash_map_order(partitions, code=partition_code)[0]
    if time < _EARLIEST:
        raise JavaException(
            "java.lang.IllegalArgumentException",
            f"The target time for partition {first} is {time}. The target time cannot be negative.",
        )
    begin = yield from list_offsets(process, partitions, time)
    if min(begin.values()) < 0:
        raise JavaException(
            "java.lang.NullPointerException",
            'Cannot invoke "org.apache.kafka.clients.consumer.OffsetAndTimestamp.offset()" because the return value of '
            '"java.util.Map$Entry.getValue()" is null',
        )
    return begin


class Verification:
    """The records read from each replica, and the offset up to which all of them agree (`ReplicaBuffer`)."""

    def __init__(
        self,
        process: Process,
        options: ParsedOptions,
        replicas: dict[str, tuple[int, ...]],
        begin: dict[str, int],
    ) -> None:
        self._process = process
        self._max_wait_ms = _or(options.integer("max-wait-ms"), 1_000)
        self._fetch_size = _or(options.integer("fetch-size"), 1_048_576)
        self._report_interval_us = _or(options.integer("report-interval-ms"), 30_000) * 1_000
        self._order = hash_map_order(list(replicas), code=partition_code)
        self._replicas = replicas
        self._offsets = dict(begin)
        self._reported_us = process.now_us

    def round(self) -> Asking[None]:
        """Reads once from every broker, compares, and reports at intervals."""
        read: dict[str, dict[int, FetchPartitionResponse]] = {partition: {} for partition in self._replicas}
        for broker_id in sorted({broker_id for assigned in self._replicas.values() for broker_id in assigned}):
            yield from self._fetch(broker_id, read)
        before = dict(self._offsets)
        lags = {partition: self._compare(partition, read[partition]) for partition in self._order}
        if self._process.now_us - self._reported_us > self._report_interval_us:
            worst = max(self._order, key=lambda partition: lags[partition])
            self._process.out(
                f"{_clock(self._process)}: max lag is {lags[worst]} for partition {worst} at offset "
                f"{self._offsets[worst]} among {len(lags)} partitions"
            )
            self._reported_us = self._process.now_us
        if self._offsets == before:
            yield Sleep(max(self._max_wait_ms, 1) * 1_000)

    def _fetch(self, broker_id: int, read: dict[str, dict[int, FetchPartitionResponse]]) -> Asking[None]:
        """Adds the responses of a broker to `read`; empty ones if it does not respond."""
        mine = [partition for partition, assigned in self._replicas.items() if broker_id in assigned]
        wanted = tuple(
            FetchPartition(partition, self._offsets[partition], partition_max_bytes=self._fetch_size)
            for partition in mine
        )
        body = FetchRequest(_CONSUMER, 0, 1, INT_MAX, wanted, from_follower=True)
        response = yield Call(broker_id, "Fetch", body, f"Fetch {', '.join(mine)}")
        by_partition = {} if isinstance(response, Disconnected) else {row.partition: row for row in response.partitions}
        for partition in mine:
            read[partition][broker_id] = by_partition.get(partition, FetchPartitionResponse(partition))

    def _compare(self, partition: str, read: dict[int, FetchPartitionResponse]) -> int:
        """Advances the partition's offset while all replicas have another batch below the high watermark. Returns how
        far the offset is behind the highest high watermark.
        """
        batches = {broker_id: _headers(read[broker_id].records) for broker_id in sorted(read)}
        while (row := self._row(partition, read, batches)) is not None:
            self._offsets[partition] = row.next_offset
        return max(answer.high_watermark for answer in read.values()) - self._offsets[partition]

    def _row(
        self,
        partition: str,
        read: dict[int, FetchPartitionResponse],
        batches: dict[int, Iterator[BatchHeader]],
    ) -> BatchHeader | None:
        """The next batch of all replicas; None if one of them has none."""
        first: tuple[int, BatchHeader] | None = None
        is_whole = True
        for broker_id, headers in batches.items():
            header = next(headers, None)
            if header is None or header.last_offset >= read[broker_id].high_watermark:
                is_whole = False
            elif first is None:
                first = (broker_id, header)
            else:
                self._same(partition, first, (broker_id, header))
        return first[1] if is_whole and first is not None else None

    def _same(self, partition: str, one: tuple[int, BatchHeader], other: tuple[int, BatchHeader]) -> None:
        """Prints where two replicas differ. Raises ReplicasDiffer if they are at different offsets."""
        where = f"{_clock(self._process)}: partition {partition}"
        if one[1].last_offset != other[1].last_offset:
            raise ReplicasDiffer(
                f"{where}: replica {one[0]}'s offset {one[1].last_offset} doesn't match replica {other[0]}'s offset "
                f"{other[1].last_offset}"
            )
        if one[1].crc != other[1].crc:
            self._process.out(
                f"{where} has unmatched checksum at offset {other[1].last_offset}; replica {one[0]}'s checksum "
                f"{one[1].crc}; replica {other[0]}'s checksum {other[1].crc}"
            )


def _headers(data: bytes) -> Iterator[BatchHeader]:
    return (header for _, header in iterate_batches(data))


def _or(number: int | None, default: int) -> int:
    return default if number is None else number


def _pattern(text: str) -> re.Pattern[str]:
    return compiled_list(text, f"{text} is an invalid regex")


def _clock(process: Process) -> str:
    """`2023-11-14 22:13:20,000`."""
    now = datetime.fromtimestamp(process.wall_ms // 1_000, UTC)
    return f"{now:%Y-%m-%d %H:%M:%S},{process.wall_ms % 1_000:03d}"


COMMAND = Command(
    "kafka-replica-verification.sh",
    text("help.kafka_replica_verification"),
    (
        (
            "kafka-replica-verification.sh [--topics-include T] [--time -2] [--report-interval-ms MS]",
            text("help.kafka_replica_verification_topics"),
        ),
    ),
    _run,
    OPTIONS,
)
