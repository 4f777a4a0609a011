"""Sends a table of valid and invalid produce requests and compares the responses with those of a real broker.

A table (`rejections.json`) names topics with their configurations, and rows in the order in which they were sent to one
broker. A row is one request: `records` in base64 for partition 0 of `topic` with version 8 and acks -1 unless it says
otherwise, after the batches of `setup`. Its answer is `error_code` (null for none: the connection was closed),
`base_offset`, `message` and `record_errors`; `stored` is what then lay in the log.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from broker_core.broker.common.produce_rules import has_fatal_null
from broker_core.errors import Errors
from broker_core.partitions import broker_node, partition_name
from broker_core.records.compression import UnreadableRecords
from broker_core.records.record_batch import (
    BatchHeader,
    Record,
    TimestampType,
    build_batch,
    iterate,
    iterate_batches,
    with_max_timestamp,
)
from broker_core.run import Run, RunConfig
from broker_core.sim.disk import SimulatedDisk
from broker_core.sim.kernel import Message
from broker_core.topics import INTERNAL_TOPICS
from broker_core.wire.messages import (
    CreateTopicSpec,
    CreateTopicsRequest,
    FetchPartition,
    FetchRequest,
    FindCoordinatorRequest,
    ProducePartitionResponse,
    ProduceRequest,
)
from broker_core.zk.memory_store import MemoryStore

_BROKER = 0
_NODE = broker_node(_BROKER)
_BOOT_MS = 20_000
_STEP_US = 1_000
_PATIENCE_US = 60_000_000
_RECORD_ERRORS_VERSION = 8
_FROM_COORDINATOR = Errors.INVALID_PRODUCER_ID_MAPPING.code
_OF_ONE_BROKER = {
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
_NO_RECORDS_BYTES = len(build_batch([(0, None, b"", ())]))
# The bounds of the window move with the clock; the real broker read it after the row's own time.
_WINDOW = re.compile(r"within \[(-?\d+), (-?\d+)\]")
_CLOCK_MS = 2_000
# Position after the timestamp of a message of magic 1.
_MESSAGE_VALUE_AT = 26

Row = Mapping[str, Any]


def play_table(path: Path) -> Sequence[str]:
    """Sends every row to one broker; returns what differed, row by row.

    Raises KeyError and ValueError for a file that is not such a table.
    """
    table = json.loads(path.read_text())
    rows: list[Row] = table["rows"]
    player = _Player(table)
    differences = []
    for number, row in enumerate(rows):
        difference = player.play(row)
        if difference is not None:
            differences.append(f"row {number} ({row['topic']}: {row['name']}): {difference}")
    differences += [f"an invariant broke: {alarm}" for alarm in player.run.view["alarms"]]
    return differences


class _Client:
    """A node of the simulation that sends one request at a time and keeps the responses."""

    name = "oracle"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.kernel = run._kernel
        self.answer: Any = None
        self.is_done = True
        self.kernel.add(self)

    def ask(self, api: str, body: Any) -> Any:
        """The response, or None when the connection was closed."""
        self.answer, self.is_done = None, False
        self.kernel.request(self.name, _NODE, api, body, label=api, context=0)
        deadline_us = self.run.now_us + _PATIENCE_US
        while not self.is_done and self.run.now_us < deadline_us:
            self.run.advance(self.run.now_us + _STEP_US)
        return self.answer

    def on_response(self, api: str, body: Any, context: Any) -> None:
        self.answer, self.is_done = body, True

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        self.is_done = True

    def on_request(self, message: Message) -> None: ...

    def on_timer(self, name: str, data: Any) -> None: ...

    def on_watch(self, kind: str, path: str) -> None: ...


class _Player:
    """One broker with the topics of a table."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        rows: Sequence[Row] = table["rows"]
        self.start_ms = min([table["now_ms"], *(row["at_ms"] for row in rows if "at_ms" in row)]) - _BOOT_MS
        configs = {name: str(value) for name, value in table["broker_configs"].items()}
        requested = sorted({row["txid"] for row in rows if row["error_code"] == _FROM_COORDINATOR})
        if requested:
            configs |= _OF_ONE_BROKER
        config = RunConfig(
            brokers=(_BROKER,), start_wall_ms=self.start_ms, broker_config=configs, latency_us=0, jitter_us=0
        )
        self.run = Run(config, disk=SimulatedDisk(), zk=MemoryStore())
        self.client = _Client(self.run)
        self.topics: Mapping[str, Mapping[str, Any]] = table["topics"]
        internal = [topic for topic in INTERNAL_TOPICS if any(_finds_internal(row, topic) for row in rows)]
        self.run.advance(_BOOT_MS * 500)
        specs = [
            CreateTopicSpec(name, 1, 1, configs=tuple((key, str(value)) for key, value in topic_configs.items()))
            for name, topic_configs in {**self.topics, **{name: {} for name in internal}}.items()
        ]
        created = self.client.ask("CreateTopics", CreateTopicsRequest(tuple(specs)))
        for result in created.topics:
            if result.error is not Errors.NONE:
                raise ValueError(f"topic {result.name} cannot be made: {result.error.name} {result.message or ''}")
        for transactional_id in requested:
            self._find_coordinator(transactional_id)
        self.run.advance(_BOOT_MS * 1_000)

    def _find_coordinator(self, transactional_id: str) -> None:
        """The coordinator of transactional batches is looked up first, which creates the coordinator's topic."""
        question = FindCoordinatorRequest(transactional_id, key_type=1)
        while self.client.ask("FindCoordinator", question).error is not Errors.NONE:
            self.run.advance(self.run.now_us + _STEP_US)

    def play(self, row: Row) -> str | None:
        """The first difference from the real broker's response, or None."""
        due_us = (row.get("append_time", row.get("at_ms", 0)) - self.start_ms) * 1_000
        if due_us > self.run.now_us:
            self.run.advance(due_us)
        name = partition_name(row["topic"], row.get("partition", 0))
        for before in row.get("setup", ()):
            self._produce(name, base64.b64decode(before["records"]), {})
        answer = self._produce(name, _records(row), row)
        if answer is None or row["error_code"] is None:
            found = "no answer" if answer is None else answer.error.name
            expected = "no answer" if row["error_code"] is None else Errors.of(row["error_code"]).name
            return None if found == expected else f"{found}, expected {expected}"
        return self._compare(name, answer, row)

    def _produce(self, name: str, data: bytes | None, row: Row) -> ProducePartitionResponse | None:
        request = ProduceRequest(
            row.get("acks", -1),
            30_000,
            ((name, data),),
            transactional_id=row.get("txid"),
            version=row.get("version", _RECORD_ERRORS_VERSION),
        )
        if has_fatal_null(self.run._cluster.brokers[_BROKER].metadata, request):
            return None  # The network layer decides this for clients over TCP.
        response = self.client.ask("Produce", request)
        answer: ProducePartitionResponse | None = response.partitions[0] if response is not None else None
        return answer

    def _compare(self, name: str, answer: ProducePartitionResponse, row: Row) -> str | None:
        if answer.error.code != row["error_code"]:
            expected = Errors.of(row["error_code"]).name
            return f"{answer.error.name}, expected {expected} ({answer.message})"
        if answer.base_offset != row["base_offset"]:
            return f"base offset {answer.base_offset}, expected {row['base_offset']}"
        if row.get("version", _RECORD_ERRORS_VERSION) >= _RECORD_ERRORS_VERSION:
            if answer.message != row.get("message"):
                return f"the message is {answer.message!r}, expected {row.get('message')!r}"
            difference = _compare_errors(answer.record_errors, row)
            if difference is not None:
                return difference
        if "stored" not in row:
            return None
        return self._compare_stored(name, base64.b64decode(row["stored"]), row)

    def _compare_stored(self, name: str, expected: bytes, row: Row) -> str | None:
        request = FetchRequest(
            -1, 0, 1, 1 << 24, (FetchPartition(name, row["base_offset"], partition_max_bytes=1 << 24),)
        )
        found: bytes = self.client.ask("Fetch", request).partitions[0].records
        append_time = self.topics[row["topic"]].get("message.timestamp.type") == "LogAppendTime"
        pairs = zip(_split(found), _split(expected), strict=False)
        for (mine, header), (theirs, their_header) in pairs:
            if append_time and their_header.magic > 1:
                theirs = with_max_timestamp(theirs, TimestampType.LOG_APPEND_TIME, header.max_timestamp)
            is_copy = not header.compression and not (append_time and header.magic < 2)
            if mine != theirs and (
                is_copy or _comparable(mine, header, append_time) != _comparable(theirs, their_header, append_time)
            ):
                return f"{mine.hex()} is stored, expected {theirs.hex()}"
        if len(list(_split(found))) < len(list(_split(expected))):
            return "less is stored than expected"
        return None


def _records(row: Row) -> bytes | None:
    if "records_zeros" in row:
        # "a batch of N bytes: one record, key null, value all zero bytes"
        size = int(re.findall(r"\d+", row["records_zeros"])[0])
        value = bytes(size - _NO_RECORDS_BYTES)
        while len(batch := build_batch([(0, None, value, ())])) > size:
            value = value[: size - len(batch)]
        return batch
    return None if row["records"] is None else base64.b64decode(row["records"])


def _compare_errors(found: Sequence[tuple[int, str | None]], row: Row) -> str | None:
    expected = [(index, text) for index, text in row.get("record_errors", ())]
    said = [(index, text or "") for index, text in found]
    for (index, text), (their_index, their_text) in zip(said, expected, strict=False):
        if index != their_index or _WINDOW.sub("", text) != _WINDOW.sub("", their_text):
            return f"record {index}: {text!r}, expected record {their_index}: {their_text!r}"
        for mine, theirs in zip(_bounds(text), _bounds(their_text), strict=True):
            if abs(theirs - mine) > _CLOCK_MS:
                return f"record {index}: {text!r}, expected {their_text!r}"
    if len(found) != len(expected):
        return f"{len(found)} record errors, expected {len(expected)}"
    return None


def _bounds(text: str) -> list[int]:
    return [int(bound) for found in _WINDOW.findall(text) for bound in found]


def _split(data: bytes) -> Iterator[tuple[bytes, BatchHeader]]:
    for position, header in iterate_batches(data):
        yield data[position : position + header.size], header


def _comparable(data: bytes, header: BatchHeader, append_time: bool) -> tuple[Any, ...]:
    """What must be equal in two batches whose compressors or clocks differ."""
    try:
        records: list[Any] = list(iterate(data))
    except UnreadableRecords:
        # A broker that does not recompress stores a batch that cannot be read.
        return (data[_MESSAGE_VALUE_AT:],)
    if append_time:
        records = [Record(record.offset, 0, record.key, record.value, record.headers) for record in records]
    shape = (header.base_offset, header.attributes, header.last_offset_delta, header.partition_leader_epoch)
    producer = (header.producer_id, header.producer_epoch, header.base_sequence)
    times = () if append_time else (header.base_timestamp, header.max_timestamp)
    return (shape, producer, times, records)


def _finds_internal(row: Row, topic: str) -> bool:
    return bool(row["topic"] == topic and row["error_code"] == Errors.INVALID_TOPIC_EXCEPTION.code)
