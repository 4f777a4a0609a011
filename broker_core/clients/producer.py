"""A producer of the lab (`KafkaProducer`, `RecordAccumulator`, `Sender`).

Records gather in batches, a queue for each partition. With linger.ms=0 a batch leaves at once, unless five requests
are under way to its leader already: then it goes on filling. A failed batch goes back to the head of its queue and is
tried again after a pause, until delivery.timeout.ms has passed since it was begun.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from broker_core.clients.accumulator import Batch, RecordAccumulator
from broker_core.clients.exceptions import exception_class, exception_message
from broker_core.clients.metadata import ClientMetadata, backoff_us
from broker_core.clients.transaction_manager import APIS, RETRY_TIMER, TransactionManager
from broker_core.errors import Errors, KafkaError
from broker_core.events.client import (
    ProduceAcknowledged,
    ProduceFailed,
    ProduceRetried,
    ProducerStreamChanged,
    ProduceStarted,
    RecordsGathered,
)
from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import SimpleRecord
from broker_core.sim.kernel import Kernel, Message, Subjects, applies
from broker_core.wire.messages import (
    MetadataRequest,
    MetadataResponse,
    ProducePartitionResponse,
    ProduceRequest,
    ProduceResponse,
)

STALE_METADATA_ERRORS = frozenset(
    {
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.LEADER_NOT_AVAILABLE,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.FENCED_LEADER_EPOCH,
        Errors.UNKNOWN_LEADER_EPOCH,
        Errors.NETWORK_EXCEPTION,
        Errors.KAFKA_STORAGE_ERROR,
    }
)
"""Errors after which a client asks for metadata (`InvalidMetadataException`)."""


PRODUCE_VERSION = 11


class ProducerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The producer configurations that act here: Kafka's names with `_` for `.`, Kafka's defaults; ms and bytes."""

    acks: int = -1
    retries: int = 2147483647
    request_timeout_ms: int = 30_000
    delivery_timeout_ms: int = 120_000
    max_block_ms: int = 60_000
    max_in_flight_requests_per_connection: int = 5
    batch_size: int = 16_384
    buffer_memory: int = 33_554_432
    max_request_size: int = 1_048_576
    enable_idempotence: bool = False
    transactional_id: str = ""
    transaction_timeout_ms: int = 60_000
    compression: CompressionType = CompressionType.NONE
    #: of the codec, None = its default
    compression_level: int | None = None


class ProduceResult(msgspec.Struct, frozen=True, gc=False):
    """How a batch ended. `exception`: the error's Java class, empty after a success. `base_offset` -1 with acks=0."""

    base_offset: int = -1
    exception: str = ""
    message: str = ""
    error: KafkaError = Errors.NONE


class _Sent(msgspec.Struct, frozen=True, gc=False):
    """What an answer to a Produce is about."""

    batch: Batch
    leader: str


class Stream(msgspec.Struct):
    """A steady stream: `rate` records a second to a partition since `started_us`; `ticks` of them have fallen due."""

    partition: str
    rate: int
    started_us: int
    ticks: int = 0


class Producer:
    """A node. See the module.

    The counters that the page shows (`sent`, `acknowledged`, `failed`, `retried`, `last_...`) and the stream change
    by events alone.
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
        self.running_stream: Stream | None = None
        self.sent = 0
        self.acknowledged = 0
        self.failed = 0
        self.retried = 0
        self.last_offset = -1
        self.last_error = ""
        self.last_latency_us = 0
        self.transactions = TransactionManager(self, settings.transactional_id, settings.transaction_timeout_ms)
        self.is_idempotent = settings.enable_idempotence or bool(settings.transactional_id)
        self._accumulator = RecordAccumulator(settings.batch_size)
        self._in_flight: dict[int, Batch] = {}
        self._in_flight_count: dict[str, int] = {}
        self._made_up_count = 0
        self.results: dict[int, ProduceResult] = {}
        #: (correlation, partition, attempts left, error) of retries not yet looked at; None while nobody wants to know
        self.retries_seen: list[tuple[int, str, int, KafkaError]] | None = None
        self._metadata_wanted: dict[str, int] = {}
        self._metadata_under_way = False
        self._metadata_attempts = 0
        self._metadata_not_before_us = 0
        self._expiry_armed = False

    # what the application calls

    def send(
        self,
        partition: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        *,
        keep_result: bool = False,
        now: bool = True,
    ) -> int:
        """Hands over one record; returns the sequence number of the batch that it joined, for `take_result`.

        `now` False leaves it waiting for `flush`, so that records sent together share batches.
        """
        record = SimpleRecord(self.start_wall_ms + self.kernel.now_us // 1000, key, value, tuple(headers))
        batch = self._accumulator.append(partition, record, self.kernel.now_us)
        batch.keep_result |= keep_result
        self._arm_expiry()
        if now:
            self._pump()
        return batch.sequence

    def flush(self) -> None:
        """Sends what waits."""
        self._pump()

    def burst(self, partition: str, count: int) -> None:
        """Sends `count` made-up records as fast as batches fill."""
        for _ in range(count):
            self.send(partition, *self._made_up(), now=False)
        self._pump()

    def stream(self, partition: str, rate: int) -> None:
        """Begins a steady stream of `rate` records a second, in place of the one that runs, or ends it (0)."""
        self.kernel.emit(ProducerStreamChanged(client=self.name, partition=partition, rate=rate), self.name)
        if self.running_stream is not None:
            self._next_tick(self.running_stream)

    def take_result(self, sequence: int) -> ProduceResult | None:
        """How a batch sent with `keep_result` ended, once; None while it is under way."""
        return self.results.pop(sequence, None)

    def want_topic(self, topic: str) -> None:
        """Asks for a topic's metadata."""
        self._want_metadata(f"{topic}-0")

    @property
    def rate(self) -> int:
        """Records a second of the running stream, 0 without one."""
        return 0 if self.running_stream is None else self.running_stream.rate

    @property
    def asks_for_metadata(self) -> bool:
        """Whether a Metadata request is under way."""
        return self._metadata_under_way

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued, under way or streaming."""
        return not self._in_flight and self.running_stream is None and self._accumulator.is_empty

    def description(self) -> dict[str, object]:
        """This producer as the view shows it; what folding its events must give."""
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
            "transaction": self.transactions.description(),
        }

    def _made_up(self) -> tuple[bytes, bytes]:
        number = self._made_up_count
        self._made_up_count += 1
        return f"k{number % 10}".encode(), f"{self.name}-{number}".encode()

    # sending

    def _pump(self) -> None:
        if self.transactions.is_broken:
            self._give_up_waiting()
        now_us = self.kernel.now_us
        for partition, queue in self._accumulator.queues():
            while queue and queue[0].not_before_us <= now_us:
                leader = self.metadata.leader_of(partition)
                if leader is None:
                    self._want_metadata(partition)
                    self._tell_what_waits(queue, "metadata")
                    break
                if self._in_flight_count.get(leader, 0) >= self.settings.max_in_flight_requests_per_connection:
                    self._tell_what_waits(queue, "in flight")
                    break
                if self.is_idempotent and not self._may_send(partition, queue[0]):
                    break
                self._transmit(queue.popleft(), leader)

    def _tell_what_waits(self, queue: Iterable[Batch], why: str) -> None:
        for batch in queue:
            if not batch.data and batch.told_count < batch.count:
                batch.told_count = batch.count
                self.kernel.emit(
                    RecordsGathered(
                        client=self.name,
                        partition=batch.partition,
                        sequence=batch.sequence,
                        count=batch.count,
                        size=batch.size,
                        why=why,
                    ),
                    self.name,
                )

    def _close(self, batch: Batch, *, to_send: bool = True) -> None:
        if batch.data:
            return
        codec, level = self.settings.compression, self.settings.compression_level
        if self.is_idempotent and to_send:
            manager = self.transactions
            sequence = manager.next_sequence(batch.partition, batch.count)
            in_txn = bool(manager.transactional_id)
            batch.close(
                manager.producer_id,
                manager.producer_epoch,
                sequence,
                in_txn=in_txn,
                compression=codec,
                compression_level=level,
            )
        else:
            batch.close(compression=codec, compression_level=level)
        self.kernel.emit(
            ProduceStarted(
                client=self.name,
                partition=batch.partition,
                sequence=batch.sequence,
                count=batch.count,
                acks=self.settings.acks,
                size=len(batch.data),
            ),
            self.name,
        )

    def _transmit(self, batch: Batch, leader: str) -> None:
        self._close(batch)
        settings = self.settings
        batch.attempts += 1
        no_answer = settings.acks == 0
        batch.correlation = self.kernel.request(
            self.name,
            leader,
            "Produce",
            ProduceRequest(
                settings.acks,
                settings.request_timeout_ms,
                ((batch.partition, batch.data),),
                settings.transactional_id or None,
                PRODUCE_VERSION,
            ),
            label=f"Produce {batch.partition}",
            fields=(
                ("acks", settings.acks),
                ("partition", batch.partition),
                ("records", batch.count),
                ("bytes", len(batch.data)),
            ),
            context=_Sent(batch, leader),
            timeout_us=None if no_answer else settings.request_timeout_ms * 1000,
            one_way=no_answer,
        )
        if no_answer:
            self._succeed(batch, -1)
        else:
            self._in_flight[batch.sequence] = batch
            self._in_flight_count[leader] = self._in_flight_count.get(leader, 0) + 1

    def _may_send(self, partition: str, batch: Batch) -> bool:
        """Whether the batch may be numbered and sent; one that is sent again only as the first that is under way."""
        if batch.data:
            ahead = [each for each in self._in_flight.values() if each.partition == partition]
            return all(each.sequence > batch.sequence for each in ahead)
        return self.transactions.may_send(partition)

    def ids_changed(self) -> None:
        """The producer has an id, a partition was added to its transaction, or neither will be."""
        self._pump()

    def _give_up_waiting(self) -> None:
        exception, message = self.transactions.error or ("", "")
        for batch in self._accumulator.take_older_than(self.kernel.now_us):
            self._fail(batch, ProduceResult(-1, exception, message, Errors.INVALID_PRODUCER_EPOCH))

    def request_timeout_us(self) -> int:
        """How long it waits for an answer."""
        return self.settings.request_timeout_ms * 1_000

    @property
    def has_unsent(self) -> bool:
        """Whether batches are queued or under way."""
        return bool(self._in_flight) or not self._accumulator.is_empty

    def _answered(self, sent: _Sent) -> bool:
        """Takes a batch out of those under way; False when it had expired meanwhile."""
        self._in_flight_count[sent.leader] -= 1
        return self._in_flight.pop(sent.batch.sequence, None) is not None

    def _succeed(self, batch: Batch, base_offset: int) -> None:
        self.kernel.emit(
            ProduceAcknowledged(
                client=self.name,
                partition=batch.partition,
                sequence=batch.sequence,
                base_offset=base_offset,
                count=batch.count,
                acks=self.settings.acks,
                latency_us=self.kernel.now_us - batch.created_us,
            ),
            self.name,
        )
        self._end(batch, ProduceResult(base_offset=base_offset))

    def _fail(self, batch: Batch, result: ProduceResult) -> None:
        self._close(batch, to_send=False)
        self.kernel.emit(
            ProduceFailed(
                client=self.name,
                partition=batch.partition,
                sequence=batch.sequence,
                count=batch.count,
                acks=self.settings.acks,
                error=result.exception,
                message=result.message,
            ),
            self.name,
        )
        self._end(batch, result)

    def _end(self, batch: Batch, result: ProduceResult) -> None:
        self._accumulator.release(batch)
        if batch.keep_result:
            self.results[batch.sequence] = result
        if self.is_idempotent:
            if result.exception and batch.base_sequence >= 0:
                self.transactions.batch_failed(result.error, result.message)
            if not self.has_unsent:
                self.transactions.batches_through()

    def _retry_or_fail(self, batch: Batch, error: KafkaError, message: str | None) -> None:
        if error in STALE_METADATA_ERRORS:
            self._want_metadata(batch.partition)
        in_time = self.kernel.now_us < batch.created_us + self.settings.delivery_timeout_ms * 1000
        if not error.retriable or batch.attempts > self.settings.retries or not in_time:
            self._fail(batch, ProduceResult(-1, exception_class(error), exception_message(error, message), error))
            return
        self.kernel.emit(
            ProduceRetried(client=self.name, partition=batch.partition, sequence=batch.sequence, error=error.name),
            self.name,
        )
        if self.retries_seen is not None:
            left = self.settings.retries - batch.attempts
            self.retries_seen.append((batch.correlation, batch.partition, left, error))
        batch.not_before_us = self.kernel.now_us + backoff_us(batch.attempts)
        self._accumulator.put_back(batch)
        self.kernel.timer(self.name, batch.not_before_us, "pump")

    # time

    def _arm_expiry(self) -> None:
        if not self._expiry_armed:
            self._expiry_armed = True
            self.kernel.timer(self.name, self.kernel.now_us + self.settings.delivery_timeout_ms * 1000, "expire")

    def _expire(self) -> None:
        """Gives up what is older than delivery.timeout.ms, and comes again when the next one is."""
        self._expiry_armed = False
        timeout_us = self.settings.delivery_timeout_ms * 1000
        deadline_us = self.kernel.now_us - timeout_us
        for batch in self._accumulator.take_older_than(deadline_us):
            self._give_up(batch)
        for batch in [batch for batch in self._in_flight.values() if batch.created_us <= deadline_us]:
            del self._in_flight[batch.sequence]
            self._give_up(batch)
        left = [batch.created_us for batch in self._in_flight.values()]
        waiting_since_us = self._accumulator.oldest_us()
        if waiting_since_us is not None:
            left.append(waiting_since_us)
        if left:
            self._expiry_armed = True
            self.kernel.timer(self.name, min(left) + timeout_us, "expire")

    def _give_up(self, batch: Batch) -> None:
        message = (
            f"Expiring {batch.count} record(s) for {batch.partition}:{self.settings.delivery_timeout_ms} ms "
            "has passed since batch creation"
        )
        self._fail(batch, ProduceResult(-1, "TimeoutException", message, Errors.REQUEST_TIMED_OUT))

    def _next_tick(self, stream: Stream) -> None:
        due_us = stream.started_us + stream.ticks * 1_000_000 // stream.rate
        self.kernel.timer(self.name, due_us, "tick", stream.started_us)

    def _tick(self, started_us: int) -> None:
        stream = self.running_stream
        if stream is None or stream.started_us != started_us:
            return
        if self._accumulator.buffered_bytes < self.settings.buffer_memory:
            self.send(stream.partition, *self._made_up())
        stream.ticks += 1
        self._next_tick(stream)

    # metadata

    def _want_metadata(self, partition: str) -> None:
        topic = partition.rpartition("-")[0]
        self._metadata_wanted.setdefault(topic, 0)
        self._ask_for_metadata()

    def _ask_for_metadata(self) -> None:
        pausing = self.kernel.now_us < self._metadata_not_before_us
        if self._metadata_under_way or pausing or not self._metadata_wanted:
            return
        self._metadata_under_way = True
        topics = tuple(self._metadata_wanted)
        node = self.metadata.node_to_ask()
        self.kernel.request(
            self.name,
            node,
            "Metadata",
            MetadataRequest(topics, allow_auto_topic_creation=True),
            label="Metadata " + ", ".join(topics),
            context=node,
            timeout_us=self.settings.request_timeout_ms * 1000,
        )

    def _metadata_came(self, response: MetadataResponse) -> None:
        self._metadata_under_way = False
        self.metadata.update(response)
        waiting = [
            partition.rpartition("-")[0]
            for partition, queue in self._accumulator.queues()
            if queue and self.metadata.leader_of(partition) is None
        ]
        self._metadata_wanted = {topic: 0 for topic in self._metadata_wanted if topic in waiting}
        if self._metadata_wanted:
            self._ask_again()
        else:
            self._metadata_attempts = 0
        self._pump()

    def _ask_again(self) -> None:
        self._metadata_attempts += 1
        self._metadata_not_before_us = self.kernel.now_us + backoff_us(self._metadata_attempts)
        self.kernel.timer(self.name, self._metadata_not_before_us, "metadata")

    # as a node

    def on_request(self, message: Message) -> None:
        """Nobody asks a client."""

    def on_response(self, api: str, body: Any, context: Any) -> None:
        """A broker answers."""
        if api == "Metadata":
            self._metadata_came(body)
            return
        if api in APIS:
            self.transactions.on_response(api, body)
            return
        response: ProduceResponse = body
        sent: _Sent = context
        if self._answered(sent):
            answer: ProducePartitionResponse = response.partitions[0]
            if answer.error is Errors.NONE:
                self._succeed(sent.batch, answer.base_offset)
            else:
                # what is wrong with a record says more than what follows for the batch (`Sender.failBatch`)
                message = answer.record_errors[0][1] if answer.record_errors else answer.message
                self._retry_or_fail(sent.batch, answer.error, message)
        self._pump()

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        """A broker is gone, or does not answer in time: the others come first for metadata, batches are tried again."""
        if api == "Metadata":
            self._metadata_under_way = False
            self.metadata.unreachable(context)
            self._ask_again()
            return
        if api in APIS:
            self.transactions.on_disconnect(context)
            return
        sent: _Sent = context
        self.metadata.unreachable(sent.leader)
        if self.settings.acks == 0:
            self._want_metadata(sent.batch.partition)
        elif self._answered(sent):
            self._retry_or_fail(sent.batch, Errors.NETWORK_EXCEPTION, None)
        self._pump()

    def on_timer(self, name: str, data: Any) -> None:
        """`pump`: a pause before a retry is over; `expire`; `metadata`: ask again; `tick` of a stream."""
        if name == "pump":
            self._pump()
        elif name == "expire":
            self._expire()
        elif name == "metadata":
            self._ask_for_metadata()
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


@applies(ProduceRetried)
def _retried(subjects: Subjects, event: ProduceRetried, at_us: int) -> None:
    producer: Producer = subjects[event.client]
    producer.retried += 1
    producer.last_error = event.error


@applies(ProducerStreamChanged)
def _stream_changed(subjects: Subjects, event: ProducerStreamChanged, at_us: int) -> None:
    producer: Producer = subjects[event.client]
    producer.partition = event.partition
    producer.running_stream = Stream(event.partition, event.rate, at_us) if event.rate else None
