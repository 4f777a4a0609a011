"""The follower's loop: fetch, append, update the high watermark, truncate where histories diverge.

`AbstractFetcherThread` and `ReplicaFetcherThread` as one state machine: one for each leader broker, one request in
flight.
"""

from typing import Protocol

import msgspec

from broker_core.eras import Era
from broker_core.errors import Errors, KafkaException
from broker_core.events.replica import FetcherFailed
from broker_core.partitions import broker_node, topic_of
from broker_core.replication.partition import Partition
from broker_core.replication.quota import ReplicationQuotas
from broker_core.replication.truncation import decide
from broker_core.sim.kernel import Kernel
from broker_core.texts import Value, message_of, text
from broker_core.wire.messages import (
    FetchPartition,
    FetchPartitionResponse,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

_NOTHING_KNOWN = "reason.epoch_unknown"
_BACK_OFF = frozenset(
    {
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.UNKNOWN_LEADER_EPOCH,
        Errors.UNKNOWN_TOPIC_ID,
        Errors.CORRUPT_MESSAGE,
        Errors.KAFKA_STORAGE_ERROR,
    }
)


WAKE_TIMER = "fetcher_wake"
FETCH, EPOCHS, OFFSETS = "fetcher", "fetcher_epochs", "fetcher_offsets"
"""The contexts of its requests, each with the leader's id."""


class FetcherHost(Protocol):
    """The broker interface that the fetcher needs."""

    kernel: Kernel
    name: str
    broker_id: int
    partitions: dict[str, Partition]

    @property
    def broker_epoch(self) -> int: ...

    @property
    def wall_ms(self) -> int: ...

    @property
    def era(self) -> Era: ...

    settings: "FetcherSettings"
    quotas: ReplicationQuotas

    def log_appended_by_follower(self, partition: Partition) -> None:
        """Called after the replica grew or its high watermark changed, so that delayed fetches can complete."""

    def halts_instead_of_truncating(self, partition: Partition, why: str) -> bool | None:
        """Whether the broker halts instead of truncating a log that is longer than its leader's. If so, it has halted.

        None = not known now.
        """


class FetcherSettings(msgspec.Struct, frozen=True):
    """`replica.fetch.*` of the broker's configuration; times in microseconds."""

    wait_max_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 1_048_576
    response_max_bytes: int = 10_485_760
    backoff_us: int = 1_000_000
    socket_timeout_us: int = 30_000_000


class FetchState(msgspec.Struct):
    """The fetch state of a partition. `leader_epoch` is that of the LeaderAndIsr that started it; `delayed_until_us` 0
    = not delayed; `asking_offsets` while a ListOffsets for the leader's log start and end is in flight; `in_sync` if
    the last response left nothing to fetch.
    """

    leader_epoch: int
    delayed_until_us: int = 0
    asking_offsets: bool = False
    in_sync: bool = False


class ReplicaFetcher:
    """Fetches all partitions that broker `leader_id` leads and this broker follows."""

    def __init__(self, host: FetcherHost, leader_id: int) -> None:
        self.host = host
        self.leader_id = leader_id
        self._leader = broker_node(leader_id)
        self._context = (FETCH, leader_id)
        self.states: dict[str, FetchState] = {}
        self.truncating: dict[str, None] = {}
        """The partitions that must not fetch before the leader has returned the end offset of their last epoch."""
        self._carries_epoch = host.era.replication.fetch_carries_epoch
        self._sends_last_epoch = host.era.replication.truncation == "FETCH"
        self._requests_epochs_first = host.era.replication.truncation in ("KIP101", "KIP279")
        self.in_flight = 0
        self._session_id = 1
        self._requested: dict[str, tuple[int, int]] = {}
        self._wake_us = -1

    def add(self, name: str, leader_epoch: int) -> None:
        """Starts fetching a partition, or restarts it in a new leader epoch."""
        self.states[name] = FetchState(leader_epoch)
        if self._requests_epochs_first and self.host.partitions[name].log.leader_epoch_cache.entries:
            self.truncating[name] = None
        self.send()

    def remove(self, name: str) -> None:
        """Stops fetching a partition."""
        self.states.pop(name, None)
        self.truncating.pop(name, None)

    def send(self, *, has_requested_epochs: bool = False) -> None:
        """Sends a fetch for all ready partitions, unless a request is in flight (`AbstractFetcherThread.doWork`).

        `has_asked`: this round has already requested the end offsets of epochs.
        """
        if self.in_flight or not self.states:
            return
        host = self.host
        now_us = host.kernel.scheduler.now_us
        if self.truncating and not has_requested_epochs and self._request_epochs(now_us):
            return
        partitions, next_wake_us = self._ready(now_us)
        if partitions:
            self._ask(partitions)
        elif has_requested_epochs and self.truncating:
            # There are no active partitions.
            self._wake_at(now_us + host.settings.backoff_us)
        elif next_wake_us:
            self._wake_at(next_wake_us)

    def _ready(self, now_us: int) -> tuple[list[FetchPartition], int]:
        """The partitions to fetch now, which are noted as requested, and when a delayed one is ready; 0 without one."""
        host = self.host
        partitions = []
        requested = self._requested = {}
        next_wake_us = 0
        max_bytes = host.settings.max_bytes
        quota = host.quotas.follower
        throttled = bool(quota.throttled)
        replicas, truncating = host.partitions, self.truncating
        carries_epoch, sends_last_epoch = self._carries_epoch, self._sends_last_epoch
        for name, state in self.states.items():
            if state.asking_offsets or name in truncating:
                continue
            if state.delayed_until_us > now_us:
                if not next_wake_us or state.delayed_until_us < next_wake_us:
                    next_wake_us = state.delayed_until_us
                continue
            if throttled and not state.in_sync and quota.holds_back(name, now_us):
                next_wake_us = next_wake_us or now_us + host.settings.backoff_us
                continue
            log, leader_epoch = replicas[name].log, state.leader_epoch
            fetch_offset = log.log_end_offset
            partitions.append(
                FetchPartition(
                    name,
                    fetch_offset,
                    leader_epoch if carries_epoch else -1,
                    log.leader_epoch_cache.latest_epoch if sends_last_epoch else -1,
                    log.log_start_offset,
                    max_bytes,
                )
            )
            requested[name] = (fetch_offset, leader_epoch)
        return partitions, next_wake_us

    def _ask(self, partitions: list[FetchPartition]) -> None:
        host, settings = self.host, self.host.settings
        request = FetchRequest(
            host.broker_id,
            settings.wait_max_ms,
            settings.min_bytes,
            settings.response_max_bytes,
            tuple(partitions),
            host.broker_epoch,
            self._session_id,
        )
        one = f"Fetch @{partitions[0].fetch_offset}" if len(partitions) == 1 else ""
        self.in_flight = host.kernel.request(
            host.name,
            self._leader,
            "Fetch",
            request,
            label=one or f"label.api_partitions?api=Fetch&n={len(partitions)}",
            fields=tuple([(each.partition, each.fetch_offset) for each in partitions]),
            context=self._context,
            timeout_us=settings.socket_timeout_us,
        )

    def _wake_at(self, due_us: int) -> None:
        if due_us != self._wake_us:
            self._wake_us = due_us
            self.host.kernel.timer(self.host.name, due_us, WAKE_TIMER, self.leader_id)

    def _request_epochs(self, now_us: int) -> bool:
        """Requests the end offsets of the last epochs of logs that may have to be truncated; False if none is ready."""
        host = self.host
        requested: dict[str, tuple[int, int]] = {}
        partitions = []
        for name in self.truncating:
            state = self.states[name]
            if state.delayed_until_us <= now_us:
                epoch = host.partitions[name].log.leader_epoch_cache.latest_epoch
                partitions.append((name, state.leader_epoch if self._carries_epoch else -1, epoch))
                requested[name] = (epoch, state.leader_epoch)
        if not partitions:
            for name in self.truncating:
                self._wake_at(self.states[name].delayed_until_us)
            return False
        self._requested = requested
        self.in_flight = host.kernel.request(
            host.name,
            self._leader,
            "OffsetForLeaderEpoch",
            OffsetForLeaderEpochRequest(host.broker_id, tuple(partitions)),
            label=f"label.end_of_epoch?epoch={partitions[0][2]}" if len(partitions) == 1 else "label.ends_of_epochs",
            fields=tuple((name, epoch) for name, _, epoch in partitions),
            context=(EPOCHS, self.leader_id),
            timeout_us=host.settings.socket_timeout_us,
        )
        return True

    def on_epochs(self, response: OffsetForLeaderEpochResponse) -> None:
        """Handles the end offsets of epochs: truncates, then fetches or asks again (`maybeTruncate`)."""
        self.in_flight = 0
        for result in response.partitions:
            name = result.partition
            state = self.states.get(name)
            partition = self.host.partitions.get(name)
            if state is None or partition is None or name not in self.truncating:
                continue
            log = partition.log
            if self._requested[name] != (log.leader_epoch_cache.latest_epoch, state.leader_epoch):
                continue
            if result.error is Errors.FENCED_LEADER_EPOCH:
                self._fail(partition, "reason.leader_epoch_fenced")
            elif result.error is not Errors.NONE:
                self._delay(name)
            else:
                # before KIP-279 a response had an offset only
                epoch = result.leader_epoch if self.host.era.replication.truncation == "KIP279" else -1
                end_offset = result.end_offset
                decision = decide(
                    log.leader_epoch_cache, log.log_end_offset, partition.high_watermark, epoch, end_offset
                )
                known = end_offset != -1
                why = f"reason.epoch_end?epoch={result.leader_epoch}&offset={end_offset}" if known else _NOTHING_KNOWN
                partition.truncate_to(decision.offset, why)
                if decision.final:
                    del self.truncating[name]
        self.send(has_requested_epochs=True)

    def on_wake(self) -> None:
        """Resumes after a back-off."""
        self._wake_us = -1
        self.send()

    def on_disconnect(self) -> None:
        """Delays every partition after a lost response (`replica.fetch.backoff.ms`)."""
        self.in_flight = 0
        self._session_id += 1
        for name in self.states:
            self._delay(name)
        self.send()

    def on_response(self, response: FetchResponse) -> None:
        """Handles a fetch response, then sends the next fetch."""
        self.in_flight = 0
        host = self.host
        for answer in response.partitions:
            state = self.states.get(answer.partition)
            partition = host.partitions.get(answer.partition)
            if (
                state is None
                or partition is None
                or self._requested[answer.partition] != (partition.log.log_end_offset, state.leader_epoch)
            ):
                continue
            if answer.error is Errors.NONE:
                self._take(partition, state, answer)
            else:
                self._refused(partition, state, answer.error)
        self.send()

    def _take(self, partition: Partition, state: FetchState, answer: FetchPartitionResponse) -> None:
        log = partition.log
        if answer.diverging_epoch is not None:
            epoch, end_offset = answer.diverging_epoch
            decision = decide(log.leader_epoch_cache, log.log_end_offset, partition.high_watermark, epoch, end_offset)
            partition.truncate_to(decision.offset, f"reason.epoch_end?epoch={epoch}&offset={end_offset}")
            return
        if answer.records:
            try:
                partition.append_as_follower(answer.records, self.host.wall_ms)
            except KafkaException as refused:
                why = text("refused.error", error=refused.error.name, why=message_of(refused.code))
                self._fail(partition, why.code)
                return
            quota = self.host.quotas.follower
            if quota.throttled and quota.is_throttled(partition.name):
                quota.record(len(answer.records), self.host.kernel.now_us)
        state.in_sync = answer.high_watermark <= log.log_end_offset
        partition.update_follower_high_watermark(answer.high_watermark)
        if answer.log_start_offset > log.log_start_offset and answer.log_start_offset <= partition.high_watermark:
            partition.increment_log_start_offset(answer.log_start_offset, "reason.leader_offset_increment")
        self.host.log_appended_by_follower(partition)

    def _refused(self, partition: Partition, state: FetchState, error: Errors) -> None:
        if error is Errors.OFFSET_OUT_OF_RANGE:
            state.asking_offsets = True
            self._request_offset(partition.name, state.leader_epoch, -1)
        elif error is Errors.FENCED_LEADER_EPOCH:
            self._fail(partition, "reason.leader_epoch_fenced")
        elif error in _BACK_OFF:
            self._delay(partition.name)
        else:
            self._fail(partition, error.name)

    def _request_offset(self, name: str, leader_epoch: int, timestamp: int) -> None:
        host = self.host
        meant_for = leader_epoch if self._carries_epoch else -1
        host.kernel.request(
            host.name,
            self._leader,
            "ListOffsets",
            ListOffsetsRequest(host.broker_id, ((name, meant_for, timestamp),)),
            label="label.list_latest" if timestamp == -1 else "label.list_earliest",
            fields=((name, timestamp),),
            context=(OFFSETS, (self.leader_id, name, leader_epoch, timestamp)),
            timeout_us=host.settings.socket_timeout_us,
        )

    def on_offsets(self, context: tuple[int, str, int, int], response: ListOffsetsResponse | None) -> None:
        """Handles the leader's log end (then start) offset; None = no response (`fetchOffsetAndTruncate`)."""
        _, name, leader_epoch, timestamp = context
        state = self.states.get(name)
        partition = self.host.partitions.get(name)
        if state is None or partition is None or state.leader_epoch != leader_epoch:
            return
        result = response.partitions[0] if response is not None else None
        if result is None or result.error is not Errors.NONE:
            state.asking_offsets = False
            self._delay(name)
        elif timestamp == -1 and result.offset < partition.log.log_end_offset:
            ends = self.host.halts_instead_of_truncating(partition, self._refusal(partition, result.offset))
            if ends:
                return
            state.asking_offsets = False
            if ends is None:
                self._delay(name)
            else:
                partition.truncate_to(result.offset, f"reason.leader_end?offset={result.offset}")
        elif timestamp == -1:
            self._request_offset(name, leader_epoch, -2)
            return
        else:
            if result.offset > partition.log.log_end_offset:
                partition.truncate_fully_and_start_at(result.offset, f"reason.leader_start?offset={result.offset}")
            state.asking_offsets = False
        self.send()

    def _refusal(self, partition: Partition, leader_end_offset: int) -> str:
        """The broker's log message for a rejected fetch, as in the era."""
        own, end_offset, name = self.host.broker_id, partition.log.log_end_offset, partition.name
        values: dict[str, Value] = {"end": leader_end_offset, "own": end_offset}
        match self.host.era.replication.beyond_leader_end:
            case "exit":
                return text("fatal.truncation_exit", partition=name, **values).code
            case "halt":
                topic = topic_of(name)
                return text("fatal.truncation_halt", topic=topic, leader=self.leader_id, replica=own, **values).code
        return text("fatal.truncation_hang", partition=name, leader=self.leader_id, replica=own, **values).code

    def _delay(self, name: str) -> None:
        self.states[name].delayed_until_us = self.host.kernel.now_us + self.host.settings.backoff_us

    def _fail(self, partition: Partition, why: str) -> None:
        """Stops fetching this partition until the next LeaderAndIsr."""
        self.remove(partition.name)
        self.host.kernel.emit(FetcherFailed(replica=partition.key, leader=self.leader_id, why=why), self.host.name)
