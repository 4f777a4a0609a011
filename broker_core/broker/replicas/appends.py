"""Appends of producers and of a broker's own coordinators, and those that wait to be committed
(`ReplicaManager.appendRecords`, `DelayedProduce`).
"""

from collections.abc import Callable, Mapping
from typing import Any

from broker_core.broker.replicas.delayed import CoordinatorWait, DelayedProduce
from broker_core.broker.replicas.replica_access import ReplicaAccess
from broker_core.errors import Errors, KafkaException, RecordValidationException
from broker_core.events.waiting import RequestCompleted, RequestParked
from broker_core.replication.purgatory import Purgatory
from broker_core.sim.handlers import TimerHandler
from broker_core.sim.kernel import Message
from broker_core.wire.messages import ProducePartitionResponse, ProduceRequest, ProduceResponse

EXPIRED_TIMER = "produce_expired"
_UNREADABLE = frozenset(
    {
        Errors.CORRUPT_MESSAGE,
        Errors.KAFKA_STORAGE_ERROR,
        Errors.MESSAGE_TOO_LARGE,
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.RECORD_LIST_TOO_LARGE,
    }
)
"""A response with these errors has no log start offset."""


class Produces:
    """The appends of a replica manager, to its partitions: see the module."""

    def __init__(self, replicas: ReplicaAccess, log_appended: Callable[[str], None]) -> None:
        """`log_appended` is called with the name of a partition after each append to it."""
        self._replicas = replicas
        self._log_appended = log_appended
        #: Called when the append of a coordinator is committed, or can no longer be.
        self.on_coordinator_append: Callable[[Any, Errors], None]
        self._partitions = replicas.partitions
        self._kernel = replicas.kernel
        self._name = replicas.name
        self._delayed: Purgatory[DelayedProduce] = Purgatory()
        #: Partition -> what waits, in order.
        self.coordinator_appends: dict[str, list[CoordinatorWait]] = {}
        replicas.high_watermark_listeners.append(self.check)

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {EXPIRED_TIMER: self.expired}

    def parked(self) -> list[str]:
        """The rpc ids of delayed requests."""
        return self._delayed.requests()

    def take(self, message: Message, body: ProduceRequest, refused: Mapping[str, ProducePartitionResponse]) -> None:
        """Appends, then responds: at once with acks=1 (acks=0: not at all), when committed with acks=all.

        `refused` are the responses for partitions whose records are not appended.
        """
        now_ms = self._replicas.wall_ms
        answers = dict(refused)
        required: dict[str, int] = {}
        advanced: list[tuple[str, bool]] = []
        for name, data in body.partitions:
            if name in refused or data is None:
                continue
            answers[name], last_offset = self._append(name, data, body.acks, now_ms)
            if last_offset >= 0:
                required[name] = last_offset + 1
                advanced.append((name, self._partitions[name].maybe_increment_high_watermark()))
        if body.acks == 0:
            if any(answer.error is not Errors.NONE for answer in answers.values()):
                self._kernel.close_connection(message)
            else:
                self._kernel.end_one_way(message)
        elif body.acks == 1 or not required:
            self._respond(message, answers)
        else:
            self._wait_for_commit(message, body.timeout_ms, required, answers)
        for name, moved in advanced:
            if moved:
                self.check(name)
            self._log_appended(name)

    def _append(
        self, name: str, data: bytes, acks: int, now_ms: int, *, is_client: bool = True
    ) -> tuple[ProducePartitionResponse, int]:
        partition = self._partitions.get(name)
        if partition is None or not partition.is_leader:
            return ProducePartitionResponse(name, self._replicas.not_leader(name)), -1
        try:
            info = partition.append_as_leader(data, acks, now_ms, is_client=is_client)
        except KafkaException as refused:
            # The exact message is returned for individual records only; for other errors clients have their own texts.
            era = self._replicas.era.requests
            error = era.refuses_records if refused.error is Errors.INVALID_RECORD else refused.error
            start = (
                -1 if refused.error in (*_UNREADABLE, *era.refused_without_start) else partition.log.log_start_offset
            )
            if isinstance(refused, RecordValidationException):
                record_errors = refused.record_errors
                message = refused.message
                if not era.lists_record_errors:
                    message = record_errors[0][1] or ""
                    if error is Errors.INVALID_RECORD:
                        message += "."
                    record_errors = ((record_errors[0][0], None),)
                return ProducePartitionResponse(
                    name, error, log_start_offset=start, message=message, record_errors=record_errors
                ), -1
            return ProducePartitionResponse(name, error, log_start_offset=start), -1
        append_time = partition.log.config.message_timestamp_type == "LogAppendTime" and info.record_count
        # The response to a duplicate batch contains its timestamp, whatever the timestamp type.
        append_time = append_time or info.is_duplicate
        return (
            ProducePartitionResponse(
                name,
                base_offset=info.first_offset,
                log_append_time_ms=info.max_timestamp if append_time else -1,
                log_start_offset=partition.log.log_start_offset,
            ),
            info.last_offset,
        )

    def _wait_for_commit(
        self, message: Message, timeout_ms: int, required: dict[str, int], answers: dict[str, ProducePartitionResponse]
    ) -> None:
        delayed = DelayedProduce(message.rpc, message, tuple(required), required, answers, 0, message.body.acks)
        if self._try(delayed):
            self._respond(message, answers)
            return
        due_us = self._kernel.scheduler.now_us + timeout_ms * 1_000
        delayed.timer_id = self._kernel.timer(self._name, due_us, EXPIRED_TIMER, message.rpc)
        self._delayed.watch(delayed)
        reached = f"LEO of {delayed.acks} in ISR" if delayed.acks > 1 else "HW"
        needs = ", ".join(f"{name} {reached} >= {offset}" for name, offset in required.items())
        self._kernel.emit(
            RequestParked(
                broker=self._name,
                request=message.rpc,
                api="Produce",
                client=message.source,
                partitions=delayed.partitions,
                needs=needs,
                deadline_us=due_us,
            ),
            self._name,
        )

    def _try(self, delayed: DelayedProduce) -> bool:
        for name, required_offset in list(delayed.required.items()):
            partition = self._partitions.get(name)
            if partition is None or not partition.is_leader:
                delayed.answer(name, Errors.NOT_LEADER_OR_FOLLOWER)
            elif delayed.acks > 1:
                if partition.count_in_sync_at(required_offset) >= delayed.acks:
                    delayed.answer(name, Errors.NONE)
            elif partition.high_watermark >= required_offset:
                enough = len(partition.isr_state.maximal_isr) >= partition.effective_min_isr
                delayed.answer(name, Errors.NONE if enough else Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        return not delayed.required

    def append_for_coordinator(self, name: str, data: bytes, waiting: Any) -> Errors:
        """Appends what a coordinator of this broker writes. Once it is committed, or can no longer be,
        `on_coordinator_append` is called with `waiting`, unless that is None; an append that fails at once is reported
        in the answer alone.
        """
        acks = 1 if waiting is None else -1
        answer, last_offset = self._append(name, data, acks, self._replicas.wall_ms, is_client=False)
        if last_offset < 0:
            return answer.error
        moved = self._partitions[name].maybe_increment_high_watermark()
        if waiting is not None:
            self.coordinator_appends.setdefault(name, []).append(CoordinatorWait(waiting, last_offset + 1))
        if moved or waiting is not None:
            self.check(name)
        self._log_appended(name)
        return Errors.NONE

    def _check_coordinator_appends(self, name: str) -> None:
        partition = self._partitions.get(name)
        if partition is None or not partition.is_leader:
            for wait in self.coordinator_appends.pop(name):
                self._end_wait(wait, Errors.NOT_LEADER_OR_FOLLOWER)
            return
        waits = self.coordinator_appends[name]
        done = [wait for wait in waits if wait.required <= partition.high_watermark]
        left = waits[len(done) :]
        if left:
            self.coordinator_appends[name] = left
        else:
            del self.coordinator_appends[name]
        enough = len(partition.isr_state.maximal_isr) >= partition.effective_min_isr
        for wait in done:
            self._end_wait(wait, Errors.NONE if enough else Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND)

    def _end_wait(self, wait: CoordinatorWait, error: Errors) -> None:
        if wait.timer_id:
            self._kernel.scheduler.cancel(wait.timer_id)
        self.on_coordinator_append(wait.waiting, error)

    def expire_coordinator_append(self, name: str, waiting: Any) -> bool:
        """Stops waiting; False if it has completed already."""
        waits = self.coordinator_appends.get(name, [])
        left = [wait for wait in waits if wait.waiting is not waiting]
        if len(left) == len(waits):
            return False
        if left:
            self.coordinator_appends[name] = left
        else:
            del self.coordinator_appends[name]
        return True

    def forget(self, name: str) -> None:
        """Called when the replica of this partition was deleted."""
        self._delayed.forget(name)

    def check(self, name: str) -> None:
        """Completes delayed requests after a change of this partition."""
        if name in self.coordinator_appends:
            self._check_coordinator_appends(name)
        for delayed in self._delayed.watching(name):
            if self._try(delayed):
                self._complete(delayed, "satisfied")

    def expired(self, request: str) -> None:
        """Called when the producer's timeout has passed; the appended records stay in the log."""
        delayed = self._delayed.get(request)
        if delayed is not None:
            for name in list(delayed.required):
                delayed.answer(name, Errors.REQUEST_TIMED_OUT)
            delayed.timer_id = 0
            self._complete(delayed, "expired")

    def _complete(self, delayed: DelayedProduce, why: str) -> None:
        self._delayed.remove(delayed.request)
        if delayed.timer_id:
            self._kernel.scheduler.cancel(delayed.timer_id)
        self._kernel.emit(RequestCompleted(broker=self._name, request=delayed.request, why=why), self._name)
        self._respond(delayed.message, delayed.answers)

    def _respond(self, message: Message, answers: dict[str, ProducePartitionResponse]) -> None:
        response = ProduceResponse(tuple(answers.values()))
        fields = [
            (answer.partition, answer.base_offset if answer.error is Errors.NONE else answer.error.name)
            for answer in response.partitions
        ]
        first = fields[0][1] if fields else "label.no_partitions"
        label = first if isinstance(first, str) else f"label.ack?offset={first}"
        self._kernel.respond(message, response, label=label, fields=tuple(fields))
