"""The events of a producer's batches, from their first record to their result."""

from collections.abc import Sequence

from broker_core.clients.producer.accumulator import ProducerBatch
from broker_core.clients.producer.producer_settings import ProduceResult
from broker_core.errors import Errors
from broker_core.events.client import (
    BatchSplit,
    ProduceAcknowledged,
    ProduceFailed,
    ProduceRepeated,
    ProduceRetried,
    ProduceStarted,
    RecordsGathered,
)
from broker_core.sim.kernel import Kernel


class BatchEvents:
    """Emits them in the name of the producer."""

    def __init__(self, kernel: Kernel, name: str, acks: int) -> None:
        self._kernel = kernel
        self._name = name
        self._acks = acks

    def gathered(self, batch: ProducerBatch, why: str, due_us: int) -> None:
        """Records were added to a waiting batch, or it waits for something else."""
        self._kernel.emit(
            RecordsGathered(
                client=self._name,
                partition=batch.partition,
                sequence=batch.sequence,
                count=batch.count,
                size=batch.size,
                why=why,
                due_us=due_us,
            ),
            self._name,
        )

    def started(self, batch: ProducerBatch, leader: str, request: int) -> None:
        """A batch was closed and sent in a request; without a leader it failed before it was sent."""
        self._kernel.emit(
            ProduceStarted(
                client=self._name,
                partition=batch.partition,
                sequence=batch.sequence,
                count=batch.count,
                acks=self._acks,
                size=len(batch.data),
                leader=leader,
                request=request if leader else 0,
                producer_id=batch.producer_id,
                producer_epoch=batch.producer_epoch,
                base_sequence=batch.base_sequence,
            ),
            self._name,
        )

    def repeated(self, batch: ProducerBatch, leader: str, request: int) -> None:
        """A batch was sent again."""
        self._kernel.emit(
            ProduceRepeated(
                client=self._name,
                partition=batch.partition,
                sequence=batch.sequence,
                count=batch.count,
                attempt=batch.attempts,
                leader=leader,
                request=request,
                producer_id=batch.producer_id,
                producer_epoch=batch.producer_epoch,
                base_sequence=batch.base_sequence,
            ),
            self._name,
        )

    def split(self, batch: ProducerBatch, parts: Sequence[ProducerBatch]) -> None:
        """A batch that a broker rejected as too large was replaced with its parts."""
        self._kernel.emit(
            BatchSplit(
                client=self._name,
                partition=batch.partition,
                sequence=batch.sequence,
                count=batch.count,
                size=len(batch.data),
                parts=tuple((part.sequence, part.count, len(part.data)) for part in parts),
            ),
            self._name,
        )

    def acknowledged(self, batch: ProducerBatch, base_offset: int) -> None:
        """A batch was acknowledged; `base_offset` -1 where the response has none."""
        self._kernel.emit(
            ProduceAcknowledged(
                client=self._name,
                partition=batch.partition,
                sequence=batch.sequence,
                base_offset=base_offset,
                count=batch.count,
                acks=self._acks,
                latency_us=self._kernel.now_us - batch.created_us,
            ),
            self._name,
        )

    def retried(self, batch: ProducerBatch, error: Errors) -> None:
        """A batch failed and waits to be sent again."""
        self._kernel.emit(
            ProduceRetried(
                client=self._name,
                partition=batch.partition,
                sequence=batch.sequence,
                error=error.name,
                due_us=batch.not_before_us,
            ),
            self._name,
        )

    def failed(self, batch: ProducerBatch, result: ProduceResult) -> None:
        """A batch failed for good."""
        self._kernel.emit(
            ProduceFailed(
                client=self._name,
                partition=batch.partition,
                sequence=batch.sequence,
                count=batch.count,
                acks=self._acks,
                error=result.exception,
                message=result.message,
            ),
            self._name,
        )
