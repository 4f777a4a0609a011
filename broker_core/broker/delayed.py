"""Requests that wait in a broker's purgatories (`DelayedFetch`, `DelayedProduce`)."""

import msgspec

from broker_core.broker.metadata_cache import MetadataCache
from broker_core.errors import KafkaError
from broker_core.sim.kernel import Kernel, Message
from broker_core.wire.messages import (
    ElectLeadersResponse,
    FetchRequest,
    PartitionResult,
    ProducePartitionResponse,
    TopicResult,
)


class DelayedFetch(msgspec.Struct, gc=False):
    """A fetch that found too little."""

    request: str
    message: Message
    body: FetchRequest
    partitions: tuple[str, ...]
    timer_id: int


class DelayedProduce(msgspec.Struct, gc=False):
    """A produce with acks=all that was appended and waits to be committed. `required` maps a partition to the offset
    that the high watermark must reach; `answers` holds what is known so far.
    """

    request: str
    message: Message
    partitions: tuple[str, ...]
    required: dict[str, int]
    answers: dict[str, ProducePartitionResponse]
    timer_id: int

    def answer(self, partition: str, error: KafkaError) -> None:
        """This partition's part is decided."""
        del self.required[partition]
        if error is not KafkaError.NONE:
            self.answers[partition] = ProducePartitionResponse(partition, error)


class DelayedElections(msgspec.Struct):
    """An ElectLeaders whose elections are decided, and which is answered when this broker's metadata shows them
    (`DelayedElectLeader`). `expected`: partition -> its new leader.
    """

    message: Message
    expected: dict[str, int]
    response: ElectLeadersResponse

    def _shows(self, metadata: MetadataCache, partition: str) -> bool:
        state = metadata.partitions.get(partition)
        return state is not None and state.leader == self.expected[partition]

    def is_done(self, metadata: MetadataCache) -> bool:
        """Whether the metadata shows every leader."""
        return all(self._shows(metadata, partition) for partition in self.expected)

    def answer(self, kernel: Kernel, metadata: MetadataCache) -> None:
        """Answers; elections that do not show yet have timed out."""
        results = tuple(
            PartitionResult(result.partition, KafkaError.REQUEST_TIMED_OUT)
            if result.partition in self.expected and not self._shows(metadata, result.partition)
            else result
            for result in self.response.partitions
        )
        label = ", ".join(f"{result.partition} {result.error.name}" for result in results) or "no elections"
        kernel.respond(self.message, ElectLeadersResponse(self.response.error, results), label=label[:60])


class DelayedTopics(msgspec.Struct):
    """A CreateTopics, CreatePartitions or DeleteTopics whose znodes are written, and which is answered when this
    broker's metadata shows its effect (`DelayedCreatePartitions`, `DelayedDeleteTopics`).

    Attributes:
        expected: how many partitions with a leader each topic shall have; 0 = the topic shall be gone.
        results: the answer for each topic, right for those in `expected` once their effect shows.
        respond_with: the class of the response.
    """

    message: Message
    expected: dict[str, int]
    results: tuple[TopicResult, ...]
    respond_with: type

    def _shows(self, metadata: MetadataCache, topic: str) -> bool:
        count = self.expected[topic]
        if count == 0:
            return topic not in metadata.topic_ids
        for index in range(count):
            state = metadata.partitions.get(f"{topic}-{index}")
            if state is None or state.leader < 0:
                return False
        return True

    def is_done(self, metadata: MetadataCache) -> bool:
        """Whether the metadata shows every effect."""
        return all(self._shows(metadata, topic) for topic in self.expected)

    def answer(self, kernel: Kernel, metadata: MetadataCache) -> None:
        """Answers; topics whose effect does not show yet have timed out."""
        results = tuple(
            TopicResult(result.name, KafkaError.REQUEST_TIMED_OUT)
            if result.error is KafkaError.NONE
            and result.name in self.expected
            and not self._shows(metadata, result.name)
            else result
            for result in self.results
        )
        label = ", ".join(f"{result.name} {result.error.name}" for result in results)
        kernel.respond(self.message, self.respond_with(results), label=label[:60])
