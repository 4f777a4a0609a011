"""A producer of the lab (`KafkaProducer`): its application's interface, and the node that receives responses.

Records get a partition (partitioners), are collected in batches (accumulator), and are sent by the sender.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from broker_core.clients.metadata import ClientMetadata
from broker_core.clients.metadata_requests import METADATA_AGE_TIMER, METADATA_TIMER
from broker_core.clients.producer.accumulator import ProducerBatch, record_size_upper_bound
from broker_core.clients.producer.partitioners import PARTITIONERS, PartitionChoice, Partitioner
from broker_core.clients.producer.producer_settings import ProduceResult, ProducerSettings
from broker_core.clients.producer.sender import EXPIRE_TIMER, PUMP_TIMER, Sender, Sent
from broker_core.clients.producer.transaction_manager import APIS, RETRY_TIMER, TransactionManager
from broker_core.errors import Errors
from broker_core.events.client import (
    BatchSplit,
    ProduceAcknowledged,
    ProduceFailed,
    ProducerBlocked,
    ProduceRetried,
    ProducerStreamChanged,
    ProducerUnblocked,
    ProduceStarted,
    RecordPartitioned,
)
from broker_core.partitions import partition_name
from broker_core.records.record_batch import SimpleRecord
from broker_core.sim.kernel import Kernel, Message, Subjects, applies

KEY_SHOWN = 40


class AppendedRecord(NamedTuple):
    """Where a record was appended: its partition, the sequence number of its batch, for `take_result`, and its index
    there.
    """

    partition: str
    sequence: int
    place: int


class RecordStream(msgspec.Struct):
    """A continuous stream: `rate` records per second to a partition, or to a topic, since `started_us`; `ticks` of them
    were due so far.
    """

    partition: str
    rate: int
    started_us: int
    is_topic: bool = False
    ticks: int = 0


class _TopicQueues:
    """The accumulator as partitioners see it."""

    def __init__(self, sender: Sender, topic: str) -> None:
        self._accumulator = sender.accumulator
        self._topic = topic

    def waiting(self, partition: int) -> int | None:
        return self._accumulator.waiting(partition_name(self._topic, partition))

    def takes_more(self, partition: int) -> bool:
        return self._accumulator.takes_more(partition_name(self._topic, partition))


class Producer:
    """A node. See the module.

    The counters that the page shows (`sent`, `acknowledged`, `failed`, `retried`, `last_...`) and the stream are
    changed only by events. A `place` is a partition or, with `is_topic`, a topic: then the partitioner chooses.
    """

    def __init__(
        self, kernel: Kernel, name: str, settings: ProducerSettings, bootstrap: tuple[str, ...], start_wall_ms: int
    ) -> None:
        self.kernel = kernel
        self.name = name
        self.settings = settings
        self.start_wall_ms = start_wall_ms
        self.metadata = ClientMetadata(bootstrap)
        self.partition = ""
        self.running_stream: RecordStream | None = None
        self.sent = 0
        self.acknowledged = 0
        self.failed = 0
        self.retried = 0
        self.last_offset = -1
        self.last_error = ""
        self.last_latency_us = 0
        self.blocked = ""
        self.transactions = TransactionManager(self, settings.transactional_id, settings.transaction_timeout_ms)
        self.sender = Sender(kernel, name, settings, self.metadata, self.transactions, self._ended)
        self._partitioners: dict[str, Partitioner] = {}
        self._generated_count = 0
        #: By sequence number of the batch: its outcome, and how many callers still want it.
        self.results: dict[int, tuple[ProduceResult, int]] = {}

    # The application's interface.

    def send(
        self,
        place: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        *,
        is_topic: bool = False,
        keep_result: bool = False,
        now: bool = True,
        timestamp_ms: int | None = None,
    ) -> AppendedRecord:
        """Sends a record. `now` False leaves it queued until `flush`, so that records can share batches.
        `timestamp_ms`: its timestamp instead of the producer's clock.
        """
        created_ms = self.start_wall_ms + self.kernel.now_us // 1000 if timestamp_ms is None else timestamp_ms
        record = SimpleRecord(created_ms, key, value, tuple(headers))
        name, partitioner = place, None
        if is_topic:
            choice = self._choose(place, key)
            name = partition_name(place, choice.partition)
            partitioner = None if choice.rule == "key" else self._partitioner(place)
        accumulator = self.sender.accumulator
        batch = accumulator.append(name, record, self.kernel.now_us)
        batch.askers += keep_result
        handed = AppendedRecord(name, batch.sequence, batch.count - 1)
        if self.settings.transactional_id:
            self.transactions.note(name)
        if partitioner is not None:
            size = record_size_upper_bound(key, value, headers)
            partitioner.appended(size, batch_completed=not accumulator.takes_more(name))
        self.sender.arm_expiry()
        if now:
            self.sender.pump()
        return handed

    def _partitioner(self, topic: str) -> Partitioner:
        known = self._partitioners.get(topic)
        if known is None:
            stream = self.kernel.streams[f"partitioner/{self.name}"]
            known = PARTITIONERS[self.settings.partitioner](stream, self.settings.batch_size)
            self._partitioners[topic] = known
        return known

    def _choose(self, topic: str, key: bytes | None) -> PartitionChoice:
        partitioner = self._partitioner(topic)
        count = self.metadata.partition_counts[topic]
        if key is not None and not self.settings.partitioner_ignore_keys:
            choice = partitioner.of_key(key, count)
        else:
            with_leader = [
                each for each in range(count) if self.metadata.leader_of(partition_name(topic, each)) is not None
            ]
            choice = partitioner.without_key(
                with_leader or range(count), _TopicQueues(self.sender, topic), self.kernel.now_us
            )
        self.kernel.emit(
            RecordPartitioned(
                client=self.name,
                partition=partition_name(topic, choice.partition),
                key=None if key is None else key.decode(errors="replace")[:KEY_SHOWN],
                rule=choice.rule,
                key_hash=choice.key_hash,
                partition_count=count,
            ),
            self.name,
        )
        return choice

    def has_capacity(self, place: str, record_size: int, *, is_topic: bool = False) -> bool:
        """Whether buffer.memory suffices for a record of this upper bound; for a topic, in any partition."""
        accumulator = self.sender.accumulator
        if not is_topic:
            return accumulator.has_capacity(place, record_size)
        return accumulator.used_memory + max(accumulator.batch_size, record_size) <= accumulator.buffer_memory

    def why_too_large(self, record_size: int) -> str:
        """The message of the RecordTooLargeException for a record of this upper bound; empty when `send` accepts it
        (`KafkaProducer.ensureValidRecordSize`).
        """
        settings = self.settings
        if record_size > settings.max_request_size:
            return (
                f"The message is {record_size} bytes when serialized which is larger than {settings.max_request_size}, "
                "which is the value of the max.request.size configuration."
            )
        if record_size > settings.buffer_memory:
            return (
                f"The message is {record_size} bytes when serialized which is larger than the total memory buffer you "
                "have configured with the buffer.memory configuration."
            )
        return ""

    def refuse(self, place: str, message: str) -> None:
        """`send` fails before the record joins a batch: its callback gets a RecordTooLargeException."""
        self.kernel.emit(
            ProduceFailed(
                client=self.name,
                partition=place,
                sequence=0,
                count=1,
                acks=self.settings.acks,
                error="RecordTooLargeException",
                message=message,
            ),
            self.name,
        )

    def block(self, why: str) -> None:
        """The application blocks in `send`, or no longer does (""): while it waits for memory all batches are ready."""
        if why != self.blocked:
            client = self.name
            self.kernel.emit(
                ProducerBlocked(client=client, why=why) if why else ProducerUnblocked(client=client), client
            )
            self.sender.accumulator.is_exhausted = bool(why)
            self.sender.pump()

    def flush(self) -> None:
        """Sends everything that is queued."""
        self.sender.accumulator.flush()
        self.sender.pump()

    def begin_close(self) -> None:
        """`KafkaProducer.close`: queued batches are sent at once."""
        self.sender.accumulator.is_closing = True
        self.sender.pump()

    def send_ready(self) -> None:
        """Sends all ready batches of records sent with `now` False."""
        self.sender.pump()

    def stream(self, place: str, rate: int, *, is_topic: bool = False) -> None:
        """Starts a stream of `rate` records per second, which replaces the current one, or stops it (0)."""
        changed = ProducerStreamChanged(client=self.name, partition=place, rate=rate, is_topic=is_topic)
        self.kernel.emit(changed, self.name)
        if self.running_stream is not None:
            self._next_tick(self.running_stream)
        else:
            self.block("")

    def take_result(self, sequence: int, askers: int = 1) -> ProduceResult | None:
        """The outcome of a batch, once for each record sent with `keep_result`; None while it is in flight."""
        result, left = self.results.pop(sequence, (None, 0))
        if result is not None and left > askers:
            self.results[sequence] = (result, left - askers)
        return result

    def request_metadata_of(self, topic: str) -> None:
        """Requests a topic's metadata."""
        self.sender.metadata_requests.request(topic)

    def end_transaction(self, *, commits: bool) -> None:
        """Ends the transaction; an abort drops unsent batches, a commit sends them at once."""
        if commits:
            self.sender.accumulator.flush()
        else:
            self.sender.abort_unsent()
        self.transactions.end_transaction(commits=commits)
        self.sender.pump()

    def generate_record(self) -> tuple[bytes, bytes]:
        """The key and value of the next generated record."""
        number = self._generated_count
        self._generated_count += 1
        return f"k{number % 10}".encode(), f"{self.name}-{number}".encode()

    @property
    def rate(self) -> int:
        """Records per second of the current stream, 0 without one."""
        return 0 if self.running_stream is None else self.running_stream.rate

    @property
    def requests_metadata(self) -> bool:
        """Whether a Metadata request is in flight."""
        return self.sender.metadata_requests.is_in_flight

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued, in flight or streaming."""
        return self.sender.is_idle and self.running_stream is None

    def description(self) -> dict[str, object]:
        """This producer as shown in the view; equals the result of folding its events."""
        return {
            "partition": self.partition,
            "rate": self.rate,
            "sent": self.sent,
            "acknowledged": self.acknowledged,
            "failed": self.failed,
            "retried": self.retried,
            "last_offset": self.last_offset,
            "last_error": self.last_error,
            "last_latency_us": self.last_latency_us,
            "blocked": self.blocked,
            "transaction": self.transactions.description(),
        }

    # What its parts need of it.

    def ids_changed(self) -> None:
        """The producer has an id, a partition was added to its transaction, or that has failed."""
        self.sender.pump()

    def request_timeout_us(self) -> int:
        """The timeout of a request."""
        return self.settings.request_timeout_ms * 1_000

    @property
    def has_unsent(self) -> bool:
        """Whether batches are queued or in flight."""
        return not self.sender.is_idle

    def numbered_batches(self, partition: str) -> Sequence[ProducerBatch]:
        """The batches of a partition that have sequence numbers and are not complete, oldest first."""
        return self.sender.numbered_batches(partition)

    def _ended(self, sequence: int, result: ProduceResult, askers: int) -> None:
        self.results[sequence] = (result, askers)

    # The stream.

    def _next_tick(self, stream: RecordStream) -> None:
        due_us = stream.started_us + stream.ticks * 1_000_000 // stream.rate
        self.kernel.timer(self.name, due_us, "tick", stream.started_us)

    def _tick(self, started_us: int) -> None:
        stream = self.running_stream
        if stream is None or stream.started_us != started_us:
            return
        place, is_topic = stream.partition, stream.is_topic
        if is_topic and place not in self.metadata.partition_counts:
            self.request_metadata_of(place)
        else:
            self._send_generated(place, is_topic=is_topic)
        stream.ticks += 1
        self._next_tick(stream)

    def _send_generated(self, place: str, *, is_topic: bool) -> None:
        key, value = self.generate_record()
        size = record_size_upper_bound(key, value)
        too_large = self.why_too_large(size)
        if too_large:
            self.refuse(place, too_large)
            return
        is_full = not self.has_capacity(place, size, is_topic=is_topic)
        self.block("memory" if is_full else "")
        if not is_full:
            self.send(place, key, value, is_topic=is_topic)

    # The node interface.

    def on_request(self, message: Message) -> None:
        """Clients receive no requests."""

    def on_response(self, api: str, body: Any, context: Any) -> None:
        """A broker answers."""
        if api == "Metadata":
            self.sender.metadata_requests.on_response(body)
            self.sender.pump()
        elif api in APIS:
            self.transactions.on_response(api, body)
        else:
            sent: Sent = context
            self.sender.answered(sent, body)

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        """A broker has closed the connection, or did not respond in time: other brokers are preferred for metadata, and
        batches are retried.
        """
        if api == "Metadata":
            self.sender.metadata_requests.failed(context)
        elif api in APIS:
            self.transactions.on_disconnect(context)
        else:
            sent: Sent = context
            self.sender.disconnected(sent, timed_out=why == "timed out")

    def on_timer(self, name: str, data: Any) -> None:
        """Timers: backoffs, the end of linger.ms and delivery.timeout.ms, and the ticks of a stream."""
        if name == PUMP_TIMER:
            self.sender.pump()
        elif name == EXPIRE_TIMER:
            self.sender.expire()
        elif name == METADATA_TIMER:
            self.sender.metadata_requests.send()
        elif name == METADATA_AGE_TIMER:
            self.sender.metadata_requests.aged()
        elif name == RETRY_TIMER:
            self.transactions.on_timer()
        else:
            self._tick(data)

    def on_watch(self, kind: str, path: str) -> None:
        """Clients have no session at ZooKeeper."""


@applies(ProduceStarted)
def _started(subjects: Subjects, event: ProduceStarted, at_us: int) -> None:
    producer: Producer = subjects[event.client]
    producer.partition = event.partition
    producer.sent += event.count


@applies(ProduceAcknowledged)
def _acknowledged(subjects: Subjects, event: ProduceAcknowledged, at_us: int) -> None:
    producer: Producer = subjects[event.client]
    producer.acknowledged += event.count
    producer.last_offset = event.base_offset + event.count - 1 if event.base_offset >= 0 else -1
    producer.last_latency_us = event.latency_us
    producer.last_error = ""


@applies(ProduceFailed)
def _failed(subjects: Subjects, event: ProduceFailed, at_us: int) -> None:
    producer: Producer = subjects[event.client]
    producer.failed += event.count
    producer.last_error = event.error


@applies(BatchSplit)
def _split(subjects: Subjects, event: BatchSplit, at_us: int) -> None:
    producer: Producer = subjects[event.client]
    producer.sent -= event.count
    producer.last_error = Errors.MESSAGE_TOO_LARGE.name


@applies(ProduceRetried)
def _retried(subjects: Subjects, event: ProduceRetried, at_us: int) -> None:
    producer: Producer = subjects[event.client]
    producer.retried += 1
    producer.last_error = event.error


@applies(ProducerStreamChanged)
def _stream_changed(subjects: Subjects, event: ProducerStreamChanged, at_us: int) -> None:
    producer: Producer = subjects[event.client]
    producer.partition = event.partition
    producer.running_stream = RecordStream(event.partition, event.rate, at_us, event.is_topic) if event.rate else None


@applies(ProducerBlocked)
def _blocked(subjects: Subjects, event: ProducerBlocked, at_us: int) -> None:
    producer: Producer = subjects[event.client]
    producer.blocked = event.why


@applies(ProducerUnblocked)
def _unblocked(subjects: Subjects, event: ProducerUnblocked, at_us: int) -> None:
    producer: Producer = subjects[event.client]
    producer.blocked = ""
