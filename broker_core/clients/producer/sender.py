"""Sends the batches of a producer's accumulator (`Sender`, `NetworkClient`'s in-flight requests).

A leader gets a request as soon as a batch for it is ready, unless the maximum number of requests is in flight to it;
then each of its partitions may add its first ready batch to the request. A failed batch returns to the head of its
queue and is retried after a backoff, until delivery.timeout.ms has passed since it was created.
"""

from collections.abc import Callable, Sequence

import msgspec

from broker_core.clients.exceptions import exception_class, exception_message
from broker_core.clients.metadata import STALE_METADATA_ERRORS, ClientMetadata, backoff_us
from broker_core.clients.metadata_requests import MetadataRequests
from broker_core.clients.producer.accumulator import ProducerBatch, RecordAccumulator
from broker_core.clients.producer.batch_events import BatchEvents
from broker_core.clients.producer.producer_settings import ProduceResult, ProducerSettings, SplitOutcomes
from broker_core.clients.producer.transaction_manager import TransactionManager
from broker_core.errors import Errors
from broker_core.partitions import topic_of
from broker_core.records.record_batch import HEADER_BYTES, increment_sequence
from broker_core.sim.kernel import Kernel
from broker_core.wire.messages import ProducePartitionResponse, ProduceRequest, ProduceResponse

PRODUCE_VERSION = 11
PUMP_TIMER = "pump"
EXPIRE_TIMER = "expire"


class Sent(msgspec.Struct, frozen=True, gc=False):
    """The batches of a Produce request, each with the epoch and sequence number that it was sent with."""

    batches: tuple[tuple[ProducerBatch, tuple[int, int]], ...]
    leader: str


class Sender:
    """See the module. `ended` is called when batches whose result is kept are complete: sequence number, outcome,
    records.
    """

    def __init__(
        self,
        kernel: Kernel,
        name: str,
        settings: ProducerSettings,
        metadata: ClientMetadata,
        transactions: TransactionManager,
        ended: Callable[[int, ProduceResult, int], None],
    ) -> None:
        self.kernel = kernel
        self.name = name
        self.settings = settings
        self.metadata = metadata
        self.transactions = transactions
        self.is_idempotent = settings.enable_idempotence or bool(settings.transactional_id)
        self.accumulator = RecordAccumulator(
            settings.batch_size, settings.buffer_memory, settings.linger_ms * 1_000, settings.compression
        )
        self.metadata_requests = MetadataRequests(
            kernel,
            name,
            metadata,
            settings.request_timeout_ms * 1_000,
            settings.metadata_max_age_ms * 1_000,
            self._partitions_without_leader,
        )
        #: (correlation, partition, attempts left, error) of retries not yet reported; None while they are not recorded
        self.retries_seen: list[tuple[int, str, int, Errors]] | None = None
        self._ended = ended
        self._events = BatchEvents(kernel, name, settings.acks)
        self._outcomes = SplitOutcomes()
        self._in_flight: dict[int, ProducerBatch] = {}
        self._in_flight_count: dict[str, int] = {}
        self._request_count = 0
        self._expiry_armed = False
        self._pump_due_us = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued or in flight."""
        return not self._in_flight and self.accumulator.is_empty

    def numbered_batches(self, partition: str) -> Sequence[ProducerBatch]:
        """The batches of a partition that have sequence numbers and are not complete, oldest first."""
        waiting = next((queue for name, queue in self.accumulator.queues() if name == partition), ())
        batches = [batch for batch in waiting if batch.base_sequence >= 0]
        return sorted(batches + self._in_flight_of(partition), key=lambda batch: batch.place)

    # Ready batches.

    def _leader_of(self, partition: str) -> str | None:
        """The leader to send to. The connection to a stopped process is refused: its batches wait as if there were no
        leader, and no attempt is counted.
        """
        leader = self.metadata.leader_of(partition)
        return leader if leader in self.kernel.up else None

    def pump(self) -> None:
        """Sends every ready batch, and reports what the others wait for."""
        if self.transactions.is_broken:
            self._give_up_waiting()
        is_sending = True
        while is_sending:
            is_sending = False
            for leader, batches in self._ready().items():
                if self._in_flight_count.get(leader, 0) < self.settings.max_in_flight_requests_per_connection:
                    self._transmit(leader, batches)
                    is_sending = True
        self._report_waiting()

    def _ready(self) -> dict[str, list[ProducerBatch]]:
        """The first ready batches, by the leaders of their partitions; at most a request full for each leader."""
        ready: dict[str, list[ProducerBatch]] = {}
        sizes: dict[str, int] = {}
        leaders_due = set()
        for partition, queue in self.accumulator.queues():
            leader = self._leader_of(partition) if queue else None
            if leader is None or self._why_not(partition, queue[0]):
                continue
            if self.accumulator.due_us(queue) <= self.kernel.now_us:
                leaders_due.add(leader)
            elif queue[0].attempts:
                continue
            size = sizes.get(leader, 0) + queue[0].size
            if leader not in ready or size <= self.settings.max_request_size:
                ready.setdefault(leader, []).append(queue[0])
                sizes[leader] = size
        return {leader: batches for leader, batches in ready.items() if leader in leaders_due}

    def _why_not(self, partition: str, batch: ProducerBatch) -> str:
        """What a batch waits for besides linger and size."""
        if self.settings.max_in_flight_requests_per_connection == 1 and self._in_flight_of(partition):
            return "in flight"
        if not self.is_idempotent:
            return ""
        if batch.data:
            # A retried batch is sent only if no other batch of its partition is in flight.
            return "in flight" if any(each.place < batch.place for each in self._in_flight_of(partition)) else ""
        return self.transactions.why_not_send(partition)

    def _in_flight_of(self, partition: str) -> list[ProducerBatch]:
        return [batch for batch in self._in_flight.values() if batch.partition == partition]

    def _report_waiting(self) -> None:
        next_us = 0
        for partition, queue in self.accumulator.queues():
            if not queue:
                continue
            leader = self._leader_of(partition)
            due_us = self.accumulator.due_us(queue)
            if leader is None:
                self.metadata_requests.request(topic_of(partition))
                why = "metadata"
            elif due_us > self.kernel.now_us:
                next_us = min(next_us or due_us, due_us)
                why = "pause" if queue[0].attempts else "linger"
            else:
                why = self._why_not(partition, queue[0]) or "in flight"
            for batch in queue:
                if not batch.attempts and (batch.reported_count, batch.reported_reason) != (batch.count, why):
                    batch.reported_count, batch.reported_reason = batch.count, why
                    self._events.gathered(batch, why, due_us if why == "linger" else 0)
        if next_us and not self.kernel.now_us < self._pump_due_us <= next_us:
            self._pump_due_us = next_us
            self.kernel.timer(self.name, next_us, PUMP_TIMER)

    # Sending.

    def _transmit(self, leader: str, batches: list[ProducerBatch]) -> None:
        self._request_count += 1
        for batch in batches:
            next(queue for name, queue in self.accumulator.queues() if name == batch.partition).popleft()
            batch.attempts += 1
            if batch.attempts == 1:
                self._close(batch, leader)
            else:
                self._events.repeated(batch, leader, self._request_count)
        settings = self.settings
        no_answer = settings.acks == 0
        names = ", ".join(batch.partition for batch in batches)
        correlation = self.kernel.request(
            self.name,
            leader,
            "Produce",
            ProduceRequest(
                settings.acks,
                settings.request_timeout_ms,
                tuple((batch.partition, batch.data) for batch in batches),
                settings.transactional_id or None,
                PRODUCE_VERSION,
            ),
            label=f"Produce {names}",
            fields=(
                ("acks", settings.acks),
                ("partition", names),
                ("records", sum(batch.count for batch in batches)),
                ("bytes", sum(len(batch.data) for batch in batches)),
            ),
            context=Sent(
                tuple((batch, (batch.producer_epoch, batch.base_sequence)) for batch in batches),
                leader,
            ),
            timeout_us=None if no_answer else settings.request_timeout_ms * 1000,
            one_way=no_answer,
        )
        if not no_answer:
            self._in_flight_count[leader] = self._in_flight_count.get(leader, 0) + 1
        for batch in batches:
            batch.correlation = correlation
            if no_answer:
                self._succeed(batch, -1)
            else:
                self._in_flight[batch.sequence] = batch

    def _close(self, batch: ProducerBatch, leader: str) -> None:
        """Closes a batch and encodes it; `leader` empty: it is given up, and never sent."""
        if not batch.data:
            self._make_bytes(batch, self.transactions.numbers_of(batch) if self.is_idempotent and leader else ())
        self._events.started(batch, leader, self._request_count)

    def _make_bytes(self, batch: ProducerBatch, numbers: tuple[int, ...]) -> None:
        batch.close(
            *numbers,
            in_txn=bool(numbers) and bool(self.settings.transactional_id),
            compression=self.settings.compression,
            compression_level=self.settings.compression_level,
        )
        size, packed = batch.size - HEADER_BYTES, len(batch.data) - HEADER_BYTES
        self.accumulator.ratios.seen(topic_of(batch.partition), size, packed)

    # Responses.

    def answered(self, sent: Sent, response: ProduceResponse) -> None:
        """Handles a leader's response."""
        self._in_flight_count[sent.leader] -= 1
        answers = {answer.partition: answer for answer in response.partitions}
        for batch, numbers in sent.batches:
            # A batch that has expired in the meantime is complete.
            if self._in_flight.pop(batch.sequence, None) is not None:
                self._take_answer(batch, numbers, answers[batch.partition])
        self._request_done()

    def disconnected(self, sent: Sent, *, timed_out: bool) -> None:
        """Called when a leader has closed the connection, or did not respond in time."""
        self.metadata.unreachable(sent.leader)
        for batch, _ in sent.batches:
            if self.settings.acks == 0 or batch.sequence in self._in_flight:
                self.metadata_requests.request(topic_of(batch.partition))
        if self.settings.acks != 0:
            self._in_flight_count[sent.leader] -= 1
            error, message = self._why_lost(sent.leader, timed_out=timed_out)
            for batch, _ in sent.batches:
                if self._in_flight.pop(batch.sequence, None) is not None:
                    self._retry_or_fail(batch, error, message, repeats=True)
        self._request_done()

    def _why_lost(self, leader: str, *, timed_out: bool) -> tuple[Errors, str | None]:
        """The error for a response that never arrived (`Sender.handleProduceResponse`)."""
        if not self.settings.names_disconnected_nodes:
            return Errors.NETWORK_EXCEPTION, None
        message = f"Disconnected from node {leader.removeprefix('b')}"
        return (
            (Errors.REQUEST_TIMED_OUT, f"{message} due to timeout")
            if timed_out
            else (Errors.NETWORK_EXCEPTION, message)
        )

    def _request_done(self) -> None:
        self.transactions.resolve()
        self.pump()

    def _take_answer(self, batch: ProducerBatch, numbers: tuple[int, int], answer: ProducePartitionResponse) -> None:
        error = answer.error
        if error is Errors.NONE:
            self._succeed(batch, answer.base_offset)
        elif error is Errors.DUPLICATE_SEQUENCE_NUMBER:
            self._succeed(batch, -1)
        elif error is Errors.MESSAGE_TOO_LARGE and batch.count > 1:
            self._split(batch)
        else:
            # The error of a record is more specific than that of the batch (`Sender.failBatch`).
            message = answer.record_errors[0][1] if answer.record_errors else answer.message
            is_out_of_order = error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER and self.is_idempotent
            repeats = self.transactions.may_repeat(batch, numbers) if is_out_of_order else error.retriable
            self._retry_or_fail(batch, error, message, repeats=repeats, of_batch=answer.message)

    def _split(self, batch: ProducerBatch) -> None:
        """A broker rejects a batch as too large that can be split: its parts replace it, without attempts
        (`Sender.completeBatch`). One that cannot be split is retried after a backoff, until its delivery timeout;
        Kafka's client makes no pause then (KAFKA-8350).
        """
        parts = self.accumulator.split(batch)
        number = batch.base_sequence
        for part in parts:
            numbers = () if number < 0 else (batch.producer_id, batch.producer_epoch, number)
            self._make_bytes(part, numbers)
            part.size = len(part.data)
            part.askers = batch.askers
            if number >= 0:
                number = increment_sequence(number, part.count)
            if len(parts) == 1:
                part.not_before_us = self.kernel.now_us + backoff_us(1)
        if self.retries_seen is not None:
            left = self.settings.retries - batch.attempts + 1
            self.retries_seen.append((batch.correlation, batch.partition, left, Errors.MESSAGE_TOO_LARGE))
        if batch.askers:
            self._outcomes.split(batch.sequence, [part.sequence for part in parts])
        self.accumulator.release(batch)
        self._events.split(batch, parts)

    def _succeed(self, batch: ProducerBatch, base_offset: int) -> None:
        if batch.base_sequence >= 0:
            self.transactions.numbers.acknowledged(batch)
        self._events.acknowledged(batch, base_offset)
        self._end(batch, ProduceResult(base_offset=base_offset))

    def _fail(
        self, batch: ProducerBatch, result: ProduceResult, *, is_given_up: bool = False, of_batch: str | None = None
    ) -> None:
        """`of_batch`: the message of the whole batch, which its transaction keeps, if that of the records differs."""
        if not batch.attempts:
            self._close(batch, "")
        self._events.failed(batch, result)
        if self.is_idempotent and not is_given_up:
            self.transactions.batch_failed(batch, result.error, of_batch or result.message)
        self._end(batch, result)

    def _end(self, batch: ProducerBatch, result: ProduceResult) -> None:
        self.accumulator.release(batch)
        outcome = self._outcomes.ended(batch.sequence, result) if batch.askers else None
        if outcome is not None:
            self._ended(*outcome, batch.askers)
        if self.is_idempotent and self.is_idle:
            self.transactions.all_batches_done()

    def _retry_or_fail(
        self, batch: ProducerBatch, error: Errors, message: str | None, *, repeats: bool, of_batch: str | None = None
    ) -> None:
        if error in STALE_METADATA_ERRORS:
            self.metadata_requests.request(topic_of(batch.partition))
        in_time = self.kernel.now_us < batch.created_us + self.settings.delivery_timeout_ms * 1000
        if not repeats or batch.attempts > self.settings.retries or not in_time:
            result = ProduceResult(-1, exception_class(error), exception_message(error, message), error)
            self._fail(batch, result, of_batch=of_batch)
            return
        batch.not_before_us = self.kernel.now_us + backoff_us(batch.attempts)
        self._events.retried(batch, error)
        if self.retries_seen is not None:
            left = self.settings.retries - batch.attempts
            self.retries_seen.append((batch.correlation, batch.partition, left, error))
        self.accumulator.put_back(batch)

    # Expiry.

    def abort_unsent(self) -> None:
        """Fails the batches of an aborted transaction that were never sent
        (`RecordAccumulator.abortUndrainedBatches`).
        """
        for batch in self.accumulator.take_unsent():
            message = "Failing batch since transaction was aborted"
            result = ProduceResult(-1, "TransactionAbortedException", message, Errors.TRANSACTION_ABORTABLE)
            self._fail(batch, result, is_given_up=True)

    def _give_up_waiting(self) -> None:
        exception, message = self.transactions.error or ("", "")
        for batch in self.accumulator.take_older_than(self.kernel.now_us):
            result = ProduceResult(-1, exception, message, Errors.INVALID_PRODUCER_EPOCH)
            self._fail(batch, result, is_given_up=True)

    def arm_expiry(self) -> None:
        """A batch was created: sets the timer of its delivery timeout."""
        if not self._expiry_armed:
            self._expiry_armed = True
            due_us = self.kernel.now_us + self.settings.delivery_timeout_ms * 1000
            self.kernel.timer(self.name, due_us, EXPIRE_TIMER)

    def expire(self) -> None:
        """Expires batches older than delivery.timeout.ms, and sets the timer for the next one."""
        self._expiry_armed = False
        timeout_us = self.settings.delivery_timeout_ms * 1000
        deadline_us = self.kernel.now_us - timeout_us
        for batch in self.accumulator.take_older_than(deadline_us):
            self._give_up(batch)
        for batch in [batch for batch in self._in_flight.values() if batch.created_us <= deadline_us]:
            del self._in_flight[batch.sequence]
            self._give_up(batch)
        left = [batch.created_us for batch in self._in_flight.values()]
        waiting_since_us = self.accumulator.oldest_us()
        if waiting_since_us is not None:
            left.append(waiting_since_us)
        if left:
            self._expiry_armed = True
            self.kernel.timer(self.name, min(left) + timeout_us, EXPIRE_TIMER)
        self._request_done()

    def _give_up(self, batch: ProducerBatch) -> None:
        message = (
            f"Expiring {batch.count} record(s) for {batch.partition}:{self.settings.delivery_timeout_ms} ms "
            "has passed since batch creation"
        )
        self._fail(batch, ProduceResult(-1, "TimeoutException", message, Errors.REQUEST_TIMED_OUT))

    def _partitions_without_leader(self) -> list[str]:
        return [
            partition for partition, queue in self.accumulator.queues() if queue and self._leader_of(partition) is None
        ]
