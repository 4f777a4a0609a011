"""Where a producer's records gather: batches in a queue for each partition (`RecordAccumulator`, `ProducerBatch`)."""

from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import HEADER_BYTES, SimpleRecord, build_batch
from broker_core.records.varint import encode_varlong

MAX_RECORD_OVERHEAD = 21


def record_size_upper_bound(
    key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes | None]] = ()
) -> int:
    """The size that a record may take as a batch of its own (`DefaultRecordBatch.estimateBatchSizeUpperBound`)."""
    size = HEADER_BYTES + MAX_RECORD_OVERHEAD + len(encode_varlong(len(headers)))
    parts = [key, value]
    for name, content in headers:
        parts += [name.encode(), content]
    for part in parts:
        size += 1 if part is None else len(encode_varlong(len(part))) + len(part)
    return size


class Batch(msgspec.Struct):
    """Records for one partition on their way. `data` is empty until the batch is closed for its first attempt;
    `told_count`: how many of its records the journal knows of.
    """

    sequence: int
    partition: str
    created_us: int
    records: list[SimpleRecord] = []
    size: int = HEADER_BYTES
    data: bytes = b""
    count: int = 0
    attempts: int = 0
    not_before_us: int = 0
    correlation: int = 0
    keep_result: bool = False
    told_count: int = 0
    #: of the first record, -1 = the producer is not idempotent
    base_sequence: int = -1

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
        """Takes no more records: they become the bytes that are sent, and sent again."""
        self.base_sequence = base_sequence
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


class RecordAccumulator:
    """The queues of a producer. `batch_size` in bytes; `buffered_bytes` counts until `release`."""

    def __init__(self, batch_size: int) -> None:
        self.batch_size = batch_size
        self.buffered_bytes = 0
        self._queues: dict[str, deque[Batch]] = {}
        self._next_sequence = 1

    def append(self, partition: str, record: SimpleRecord, now_us: int) -> Batch:
        """Adds a record to the last batch of its partition if that is open and has room, else to a new one."""
        size = record_size_upper_bound(record.key, record.value, record.headers) - HEADER_BYTES
        queue = self._queues.setdefault(partition, deque())
        if not queue or queue[-1].data or queue[-1].size + size > self.batch_size:
            queue.append(Batch(self._next_sequence, partition, now_us))
            self._next_sequence += 1
        batch = queue[-1]
        batch.records.append(record)
        batch.size += size
        batch.count += 1
        self.buffered_bytes += size
        return batch

    def put_back(self, batch: Batch) -> None:
        """A batch shall be tried again: before the younger ones."""
        queue = self._queues[batch.partition]
        queue.insert(sum(1 for waiting in queue if waiting.sequence < batch.sequence), batch)

    def release(self, batch: Batch) -> None:
        """A batch has ended, in whatever way: its memory is free."""
        self.buffered_bytes -= batch.size - HEADER_BYTES

    def queues(self) -> Iterator[tuple[str, deque[Batch]]]:
        """The partitions with their waiting batches, oldest first; partitions in the order of their first use."""
        return iter(self._queues.items())

    def take_older_than(self, created_us: int) -> list[Batch]:
        """Takes out the batches begun by then."""
        old = []
        for queue in self._queues.values():
            while queue and queue[0].created_us <= created_us:
                old.append(queue.popleft())
        return old

    def oldest_us(self) -> int | None:
        """When the oldest waiting batch was begun."""
        return min((queue[0].created_us for queue in self._queues.values() if queue), default=None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not any(self._queues.values())
