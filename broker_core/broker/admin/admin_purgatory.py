"""Administrative requests that wait in a broker's purgatories until its metadata shows their effect."""

from typing import Protocol, TypeAlias

import msgspec

from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.errors import Errors
from broker_core.partitions import partition_name
from broker_core.sim.handlers import TimerHandler
from broker_core.sim.kernel import Kernel, Message
from broker_core.wire.messages import ElectLeadersResponse, PartitionResult, TopicResult

EXPIRED_TIMER = "admin_expired"


class DelayedElections(msgspec.Struct):
    """An ElectLeaders whose elections are decided, and which is answered when this broker's metadata contains them
    (`DelayedElectLeader`). `expected`: partition -> its new leader.
    """

    message: Message
    expected: dict[str, int]
    response: ElectLeadersResponse

    def _shows(self, metadata: MetadataCache, partition: str) -> bool:
        state = metadata.partitions.get(partition)
        return state is not None and state.leader == self.expected[partition]

    def is_done(self, metadata: MetadataCache) -> bool:
        """Whether the metadata contains every leader."""
        return all(self._shows(metadata, partition) for partition in self.expected)

    def answer(self, kernel: Kernel, metadata: MetadataCache) -> None:
        """Responds; elections that are not visible yet have timed out."""
        results = tuple(
            PartitionResult(result.partition, Errors.REQUEST_TIMED_OUT)
            if result.partition in self.expected and not self._shows(metadata, result.partition)
            else result
            for result in self.response.partitions
        )
        label = ", ".join(f"{result.partition} {result.error.name}" for result in results)
        response = ElectLeadersResponse(self.response.error, results)
        kernel.respond(self.message, response, label=label[:60] or "label.no_elections")


class DelayedTopics(msgspec.Struct):
    """A CreateTopics, CreatePartitions or DeleteTopics whose znodes are written, and which is answered when this
    broker's metadata contains its effect (`DelayedCreatePartitions`, `DelayedDeleteTopics`).

    Attributes:
        expected: the partitions of each topic that must have a leader; none = the topic must be deleted.
        results: the result for each topic; for those in `expected` it is valid once their effect is visible.
        respond_with: the class of the response.
    """

    message: Message
    expected: dict[str, tuple[int, ...]]
    results: tuple[TopicResult, ...]
    respond_with: type

    def _shows(self, metadata: MetadataCache, topic: str) -> bool:
        expected = self.expected[topic]
        if not expected:
            return topic not in metadata.topic_ids
        for index in expected:
            state = metadata.partitions.get(partition_name(topic, index))
            if state is None or state.leader < 0:
                return False
        return True

    def is_done(self, metadata: MetadataCache) -> bool:
        """Whether the metadata contains every effect."""
        return all(self._shows(metadata, topic) for topic in self.expected)

    def answer(self, kernel: Kernel, metadata: MetadataCache) -> None:
        """Responds; topics whose change is not visible yet have timed out."""
        results = tuple(
            TopicResult(result.name, Errors.REQUEST_TIMED_OUT, topic_id=result.topic_id)
            if result.error is Errors.NONE and result.name in self.expected and not self._shows(metadata, result.name)
            else result
            for result in self.results
        )
        label = ", ".join(f"{result.name} {result.error.name}" for result in results)
        kernel.respond(self.message, self.respond_with(results), label=label[:60])


DelayedAdmin: TypeAlias = DelayedElections | DelayedTopics


class AdminHost(Protocol):
    """What the purgatory needs of its broker."""

    kernel: Kernel
    metadata: MetadataCache

    def timer(self, delay_us: int, name: str, data: object = None) -> int: ...


class AdminPurgatory:
    """The purgatory of one broker (`DelayedOperationPurgatory`)."""

    def __init__(self, host: AdminHost) -> None:
        self._host = host
        self._waiting: dict[str, DelayedAdmin] = {}

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {EXPIRED_TIMER: self._expired}

    def park(self, delayed: DelayedAdmin, timeout_ms: int) -> None:
        """Responds to a request once the metadata contains its effect, or its timeout has passed."""
        host = self._host
        if timeout_ms <= 0 or delayed.is_done(host.metadata):
            delayed.answer(host.kernel, host.metadata)
            return
        self._waiting[delayed.message.rpc] = delayed
        host.timer(timeout_ms * 1_000, EXPIRED_TIMER, delayed.message.rpc)

    def metadata_updated(self) -> None:
        """Completes the requests whose effect is visible now."""
        for rpc, delayed in list(self._waiting.items()):
            if delayed.is_done(self._host.metadata):
                del self._waiting[rpc]
                delayed.answer(self._host.kernel, self._host.metadata)

    def _expired(self, rpc: str) -> None:
        """A request has timed out."""
        delayed = self._waiting.pop(rpc, None)
        if delayed is not None:
            delayed.answer(self._host.kernel, self._host.metadata)
