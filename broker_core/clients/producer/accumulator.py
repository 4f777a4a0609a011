"""The batches of a producer, in a queue for each partition (`RecordAccumulator`, `ProducerBatch`)."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from broker_core.clients.producer.compression_ratio import CompressionRatios
from broker_core.partitions import topic_of
from broker_core.records.compression import CompressionType
from broker_core.records.record import record_parts
from broker_core.records.record_batch import HEADER_BYTES, SimpleRecord, build_batch, iterate, with_producer
from broker_core.records.varint import encode_varlong

MAX_RECORD_OVERHEAD = 21


def record_size_upper_bound(
    key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]] = ()
) -> int:
    """Upper bound of the size of a batch with only this record (`DefaultRecordBatch.estimateBatchSizeUpperBound`)."""
    size = HEADER_BYTES + MAX_RECORD_OVERHEAD + len(encode_varlong(len(headers)))
    parts = [key, value]
    for name, content in headers:
        parts += [name.encode(), content]
    for part in parts:
        size += 1 if part is None else len(encode_varlong(len(part))) + len(part)
    return size


def split_records(records: Iterable[SimpleRecord], batch_size: int, factor: float) -> list[list[SimpleRecord]]:
    """The records of a batch that was too large, in runs that fill a batch each (`ProducerBatch.split`). `factor`: the
    estimated compressed size of a byte.
    """
    runs: list[list[SimpleRecord]] = []
    written = limit = 0
    for record in records:
        run = runs[-1] if runs else []
        delta = record.timestamp - run[0].timestamp if run else 0
        size = len(b"".join(record_parts(delta, len(run), record.key, record.value, record.headers)))
        if run and HEADER_BYTES + int(written * factor) + size <= limit:
            run.append(record)
            written += size
        else:
            runs.append([record])
            written = size
            limit = max(batch_size, record_size_upper_bound(record.key, record.value, record.headers))
    return runs


class ProducerBatch(msgspec.Struct):
    """Records for one partition that are being sent. `data` is empty until the batch is closed for its first attempt;
    `reported_count`: how many of its records the last event covers, and `reported_reason` why they wait; `memory`: its
    share of buffer.memory, in bytes; `factor`: the estimated compressed size of a byte; `split_of`: the place of the
    batch that it is a part of.
    """

    sequence: int
    partition: str
    created_us: int
    memory: int = 0
    records: list[SimpleRecord] = []
    size: int = HEADER_BYTES
    data: bytes = b""
    count: int = 0
    attempts: int = 0
    not_before_us: int = 0
    correlation: int = 0
    #: How many callers want its outcome.
    askers: int = 0
    reported_count: int = 0
    reported_reason: str = ""
    #: Of the first record, -1 = the producer is not idempotent.
    base_sequence: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    factor: float = 1.0
    split_of: tuple[int, ...] = ()

    @property
    def place(self) -> tuple[int, ...]:
        """The order of the batches of a partition: the parts of a split batch take its place."""
        return (*self.split_of, self.sequence)

    def size_with(self, more: int = 0) -> int:
        """The estimated size with `more` bytes whose compression ratio is not known yet."""
        return HEADER_BYTES + int((self.size - HEADER_BYTES) * self.factor) + more

    def close(
        self,
        producer_id: int = -1,
        epoch: int = -1,
        base_sequence: int = -1,
        *,
        in_txn: bool = False,
        compression: CompressionType = CompressionType.NONE,
        compression_level: int | None = None,
    ) -> None:
        """Closes the batch: its records are encoded as the bytes of all attempts."""
        self.producer_id, self.producer_epoch, self.base_sequence = producer_id, epoch, base_sequence
        self.data = build_batch(
            self.records,
            compression=compression,
            compression_level=compression_level,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=base_sequence,
            is_transactional=in_txn,
        )
        self.records = []

    def renumber(self, producer_id: int, epoch: int, base_sequence: int) -> None:
        """Restarts its sequence numbers while the batch is in flight; requests already sent keep the old ones."""
        self.producer_id, self.producer_epoch, self.base_sequence = producer_id, epoch, base_sequence
        self.data = with_producer(self.data, producer_id, epoch, base_sequence)


class RecordAccumulator:
    """The queues of a producer. `batch_size`, `buffer_memory` in bytes; a batch uses memory until `release`."""

    def __init__(
        self,
        batch_size: int,
        buffer_memory: int,
        linger_us: int,
        compression: CompressionType = CompressionType.NONE,
    ) -> None:
        self.ratios = CompressionRatios(compression)
        self.batch_size = batch_size
        self.buffer_memory = buffer_memory
        self.linger_us = linger_us
        self.used_memory = 0
        #: The newest batch that a flush sends, however small it is.
        self.flushed_sequence = 0
        self.is_closing = False
        #: Whether a send waits for memory: then all batches are ready.
        self.is_exhausted = False
        self._queues: dict[str, deque[ProducerBatch]] = {}
        self._next_sequence = 1

    def takes_more(self, partition: str, size: int = 0) -> bool:
        """Whether the last batch of a partition is open and has capacity left."""
        queue = self._queues.get(partition)
        if not queue:
            return False
        last = queue[-1]
        return not last.data and last.size_with(size) <= self.batch_size

    def waiting(self, partition: str) -> int | None:
        """The number of queued batches of a partition; None before its first one."""
        queue = self._queues.get(partition)
        return None if queue is None else len(queue)

    def memory_for(self, partition: str, record_size: int) -> int:
        """The memory that must be free for a record of this upper bound, 0 if it joins a batch."""
        joins = self.takes_more(partition, record_size - HEADER_BYTES)
        return 0 if joins else max(self.batch_size, record_size)

    def has_capacity(self, partition: str, record_size: int) -> bool:
        """Whether a record may be appended now."""
        return self.used_memory + self.memory_for(partition, record_size) <= self.buffer_memory

    def append(self, partition: str, record: SimpleRecord, now_us: int) -> ProducerBatch:
        """Appends a record to the last batch of its partition if that is open and has capacity left, else to a new
        one.
        """
        size = record_size_upper_bound(record.key, record.value, record.headers) - HEADER_BYTES
        memory = self.memory_for(partition, size + HEADER_BYTES)
        queue = self._queues.setdefault(partition, deque())
        if memory:
            factor = self.ratios.factor(topic_of(partition))
            queue.append(ProducerBatch(self._take_sequence(), partition, now_us, memory, factor=factor))
            self.used_memory += memory
        batch = queue[-1]
        batch.records.append(record)
        batch.size += size
        batch.count += 1
        return batch

    def _take_sequence(self) -> int:
        self._next_sequence += 1
        return self._next_sequence - 1

    def flush(self) -> None:
        """Makes all current batches ready, however small they are."""
        self.flushed_sequence = self._next_sequence - 1

    def due_us(self, queue: deque[ProducerBatch]) -> int:
        """The time from which the first batch of a queue may be sent (`RecordAccumulator.batchReady`)."""
        first = queue[0]
        if first.attempts:
            return first.not_before_us
        if first.split_of:
            return first.not_before_us
        is_full = len(queue) > 1 or first.size_with() >= self.batch_size
        if is_full or self.is_closing or self.is_exhausted or first.sequence <= self.flushed_sequence:
            return first.created_us
        return first.created_us + self.linger_us

    def put_back(self, batch: ProducerBatch) -> None:
        """Puts a batch that will be retried before the younger ones."""
        queue = self._queues[batch.partition]
        queue.insert(sum(1 for waiting in queue if waiting.place < batch.place), batch)

    def split(self, batch: ProducerBatch) -> list[ProducerBatch]:
        """Replaces a batch that a broker rejected as too large by its parts (`splitAndReenqueue`). They keep its
        creation time and the numbers of their records, and use no memory of the pool.
        """
        topic = topic_of(batch.partition)
        self.ratios.was_too_large(topic, batch.size - HEADER_BYTES, len(batch.data) - HEADER_BYTES)
        factor = self.ratios.factor(topic)
        records = [SimpleRecord(each.timestamp, each.key, each.value, each.headers) for each in iterate(batch.data)]
        parts = []
        for run in split_records(records, self.batch_size, factor):
            part = ProducerBatch(self._take_sequence(), batch.partition, batch.created_us, split_of=batch.place)
            part.records, part.count, part.factor = run, len(run), factor
            parts.append(part)
            self.put_back(part)
        return parts

    def release(self, batch: ProducerBatch) -> None:
        """Frees the memory of a completed batch."""
        self.used_memory -= batch.memory

    def queues(self) -> Iterator[tuple[str, deque[ProducerBatch]]]:
        """The partitions with queued batches, oldest first; partitions in the order of their first use."""
        return iter(self._queues.items())

    def take_older_than(self, created_us: int) -> list[ProducerBatch]:
        """Removes and returns the batches created at `created_us` or before."""
        old = []
        for queue in self._queues.values():
            while queue and queue[0].created_us <= created_us:
                old.append(queue.popleft())
        return old

    def take_unsent(self) -> list[ProducerBatch]:
        """Removes and returns the batches that were never sent (`abortUndrainedBatches`)."""
        unsent = []
        for queue in self._queues.values():
            unsent += [batch for batch in queue if not batch.data]
            sent = [batch for batch in queue if batch.data]
            queue.clear()
            queue.extend(sent)
        return unsent

    def oldest_us(self) -> int | None:
        """The creation time of the oldest queued batch."""
        return min((queue[0].created_us for queue in self._queues.values() if queue), default=None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is queued."""
        return not any(self._queues.values())
