"""DeleteRecords at the leader (`ReplicaManager.deleteRecords`, `DelayedDeleteRecords`; KIP-107).

The leader raises its log start offset at once. Followers get it with their next fetch; the response waits until all
live replicas have followed.
"""

from typing import Protocol

import msgspec

from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.errors import Errors, KafkaException
from broker_core.events.waiting import RequestCompleted, RequestParked
from broker_core.partitions import parse_requested
from broker_core.replication.partition import Partition
from broker_core.replication.purgatory import Purgatory
from broker_core.sim.handlers import TimerHandler
from broker_core.sim.kernel import Kernel, Message
from broker_core.texts import text
from broker_core.topics import INTERNAL_TOPICS
from broker_core.wire.messages import DeleteRecordsRequest, DeleteRecordsResponse, DeleteRecordsResult

EXPIRED_TIMER = "delete_records_expired"


class DelayedDeleteRecords(msgspec.Struct, gc=False):
    """A request whose records are deleted at the leader. `required`: partition -> the low watermark to reach; `answers`
    has the results known so far.
    """

    request: str
    message: Message
    partitions: tuple[str, ...]
    required: dict[str, int]
    answers: dict[str, DeleteRecordsResult]
    timer_id: int

    def answer(self, result: DeleteRecordsResult) -> None:
        """Sets the result of this partition."""
        del self.required[result.partition]
        self.answers[result.partition] = result


class DeletionHost(Protocol):
    """What it needs of the replica manager."""

    kernel: Kernel
    name: str
    partitions: dict[str, Partition]

    @property
    def metadata(self) -> MetadataCache: ...

    def not_leader(self, name: str) -> Errors: ...


class RecordDeletion:
    """The requests of one broker, and the purgatory in which they wait."""

    def __init__(self, host: DeletionHost) -> None:
        self._host = host
        self._purgatory: Purgatory[DelayedDeleteRecords] = Purgatory()

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {EXPIRED_TIMER: self.expired}

    def parked(self) -> list[str]:
        """The rpc ids of delayed requests."""
        return self._purgatory.requests()

    def delete(self, message: Message, body: DeleteRecordsRequest) -> None:
        """Advances the log start offsets, then responds or waits."""
        answers: dict[str, DeleteRecordsResult] = {}
        required: dict[str, int] = {}
        for name, offset in body.partitions:
            try:
                required[name] = self._leader(name).delete_records(offset)
            except KafkaException as refused:
                answers[name] = DeleteRecordsResult(name, error=refused.error)
        names = tuple(name for name, _ in body.partitions)
        delayed = DelayedDeleteRecords(message.rpc, message, names, required, answers, 0)
        if self._try(delayed):
            self._respond(delayed)
            return
        kernel = self._host.kernel
        due_us = kernel.now_us + body.timeout_ms * 1_000
        delayed.timer_id = kernel.timer(self._host.name, due_us, EXPIRED_TIMER, message.rpc)
        self._purgatory.watch(delayed)
        needed = ", ".join(f"{name} >= {offset}" for name, offset in delayed.required.items())
        kernel.emit(
            RequestParked(
                broker=self._host.name,
                request=message.rpc,
                api="DeleteRecords",
                client=message.source,
                partitions=names,
                needs=text("label.low_watermarks", required=needed).code,
                deadline_us=due_us,
            ),
            self._host.name,
        )

    def forget(self, name: str) -> None:
        """Called when the replica of this partition was deleted."""
        self._purgatory.forget(name)

    def check(self, name: str) -> None:
        """Completes delayed requests: a follower's log start offset may have advanced, or the leader changed."""
        for delayed in self._purgatory.watching(name):
            if self._try(delayed):
                self._complete(delayed, "satisfied")

    def expired(self, request: str) -> None:
        """Called when the request's timeout has passed; the leader's log start offset stays raised."""
        delayed = self._purgatory.get(request)
        if delayed is not None:
            for name in list(delayed.required):
                low_watermark = self._host.partitions[name].low_watermark
                delayed.answer(DeleteRecordsResult(name, low_watermark, Errors.REQUEST_TIMED_OUT))
            delayed.timer_id = 0
            self._complete(delayed, "expired")

    def _leader(self, name: str) -> Partition:
        """The replica, which must be the leader. Raises KafkaException."""
        if not self._host.metadata.is_known(name):
            raise KafkaException(Errors.UNKNOWN_TOPIC_OR_PARTITION)
        topic = parse_requested(name).topic
        if topic in INTERNAL_TOPICS:
            raise KafkaException(Errors.INVALID_TOPIC_EXCEPTION, f"Cannot delete records of internal topic {topic}")
        partition = self._host.partitions.get(name)
        if partition is None or not partition.is_leader:
            raise KafkaException(self._host.not_leader(name))
        return partition

    def _try(self, delayed: DelayedDeleteRecords) -> bool:
        for name, offset in list(delayed.required.items()):
            partition = self._host.partitions.get(name)
            if partition is None:
                delayed.answer(DeleteRecordsResult(name, error=Errors.UNKNOWN_TOPIC_OR_PARTITION))
            elif not partition.is_leader:
                delayed.answer(DeleteRecordsResult(name, error=Errors.NOT_LEADER_OR_FOLLOWER))
            elif partition.low_watermark >= offset:
                delayed.answer(DeleteRecordsResult(name, partition.low_watermark))
        return not delayed.required

    def _complete(self, delayed: DelayedDeleteRecords, why: str) -> None:
        kernel, name = self._host.kernel, self._host.name
        self._purgatory.remove(delayed.request)
        if delayed.timer_id:
            kernel.scheduler.cancel(delayed.timer_id)
        kernel.emit(RequestCompleted(broker=name, request=delayed.request, why=why), name)
        self._respond(delayed)

    def _respond(self, delayed: DelayedDeleteRecords) -> None:
        results = tuple(delayed.answers[name] for name in delayed.partitions)
        fields = tuple(
            (result.partition, result.low_watermark if result.error is Errors.NONE else result.error.name)
            for result in results
        )
        label = "label.nothing"
        if fields:
            label = f"label.low_watermark?offset={fields[0][1]}"
        self._host.kernel.respond(delayed.message, DeleteRecordsResponse(results), label=label, fields=fields)
