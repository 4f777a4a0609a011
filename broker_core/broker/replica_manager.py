"""All replicas of a broker, and the requests that read and write them (`kafka.server.ReplicaManager`)."""

from collections.abc import Mapping
from typing import Any, Protocol

from broker_core.broker.alter_partition_manager import AlterPartitionManager
from broker_core.broker.config import BrokerConfig
from broker_core.broker.delayed import DelayedFetch, DelayedProduce
from broker_core.broker.fetch_conversion import CONVERSION_ENDS, SOFT_LIMIT_VERSION, convert
from broker_core.broker.isr_changes import IsrChanges
from broker_core.broker.log_manager import LogManager
from broker_core.broker.metadata_cache import MetadataCache
from broker_core.broker.record_deletion import RecordDeletion
from broker_core.broker.rpc_text import describe_fetched
from broker_core.eras import Era
from broker_core.errors import KafkaError, KafkaException, RecordValidationException
from broker_core.events.waiting import RequestCompleted, RequestParked
from broker_core.replication.isr import CommittedIsr, PendingExpand, PendingShrink
from broker_core.replication.partition import Partition, Role
from broker_core.replication.purgatory import Purgatory
from broker_core.replication.quota import ReplicationQuotas
from broker_core.replication.replica_fetcher import FetcherSettings, ReplicaFetcher
from broker_core.replication.truncation import diverging_epoch, may_diverge
from broker_core.sim.kernel import Kernel, Message
from broker_core.wire.messages import (
    AlterPartitionItem,
    AlterPartitionResult,
    FetchPartition,
    FetchPartitionResponse,
    FetchRequest,
    FetchResponse,
    LeaderAndIsrPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsResult,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderEpochResult,
    ProducePartitionResponse,
    ProduceRequest,
    ProduceResponse,
)

_NONE = KafkaError.NONE
CONSUMER = -1
DEBUGGING_CONSUMER = -2
"""A reader that any replica serves."""
READ_COMMITTED = 1
LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5


class ReplicaHost(Protocol):
    """What the replica manager needs of its broker's process."""

    kernel: Kernel
    name: str
    broker_id: int
    broker_epoch: int
    config: BrokerConfig
    era: Era
    metadata: MetadataCache
    logs: LogManager

    @property
    def wall_ms(self) -> int: ...

    @property
    def is_stopping(self) -> bool:
        """Whether it shuts down: then it follows nobody anew."""

    def known_controller(self) -> int: ...

    def open_log(self, state: LeaderAndIsrPartition) -> Partition: ...

    def write_isr_to_zookeeper(self, partition: Partition, isr: tuple[int, ...]) -> int | None:
        """Where the era has leaders write the state znode: the new version, None when somebody was faster."""

    def notify_isr_changes(self, partitions: tuple[str, ...]) -> bool: ...

    def cannot_truncate(self, partition: Partition, why: str) -> bool | None: ...

    def coordinator_append_done(self, waiting: Any, error: KafkaError) -> None:
        """What a coordinator wrote is committed, or this broker can no longer say."""


class ReplicaManager:
    """See the module. Its parts are tables of data, so that a broker pickles."""

    def __init__(self, host: ReplicaHost) -> None:
        self.host = host
        self.kernel = host.kernel
        self.name = host.name
        self.broker_id = host.broker_id
        self.partitions: dict[str, Partition] = {}
        self.fetchers: dict[int, ReplicaFetcher] = {}
        self.delayed_fetches: Purgatory[DelayedFetch] = Purgatory()
        self.delayed_produces: Purgatory[DelayedProduce] = Purgatory()
        self.record_deletion = RecordDeletion(self)
        #: partition -> (what waits, offset that the high watermark must reach), in order
        self.coordinator_appends: dict[str, list[tuple[Any, int]]] = {}
        self.quotas = ReplicationQuotas()
        self.alter_partition = AlterPartitionManager(self)
        self.isr_changes = IsrChanges(host)
        self.controller_epoch = 0
        self._tells_stale_followers = host.era.stale_high_watermark_is_news
        self._told: dict[tuple[int, str], tuple[int, int, int, int, int]] = {}
        config = host.config
        self.settings = FetcherSettings(
            wait_max_ms=config.replica_fetch_wait_max_ms,
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_max_bytes,
            response_max_bytes=config.replica_fetch_response_max_bytes,
            backoff_us=config.replica_fetch_backoff_ms * 1_000,
            socket_timeout_us=config.replica_socket_timeout_ms * 1_000,
        )

    def parked(self) -> list[str]:
        """The rpc ids of the requests in the purgatories."""
        return self.delayed_fetches.requests() + self.delayed_produces.requests() + self.record_deletion.parked()

    # for the fetchers and the AlterPartition manager

    @property
    def era(self) -> Era:
        """How followers truncate, among other things."""
        return self.host.era

    @property
    def broker_epoch(self) -> int:
        """The czxid of this broker's registration."""
        return self.host.broker_epoch

    @property
    def wall_ms(self) -> int:
        """Calendar time in ms."""
        return self.host.wall_ms

    @property
    def metadata(self) -> MetadataCache:
        """What this broker knows of the cluster."""
        return self.host.metadata

    def known_controller(self) -> int:
        """The controller's broker id, -1 = unknown."""
        return self.host.known_controller()

    # becoming leader or follower

    def become(self, state: LeaderAndIsrPartition) -> KafkaError:
        """One partition of a LeaderAndIsr (`becomeLeaderOrFollower`). A leader epoch that is not greater than the
        known one is refused, harmlessly: it repeats what is known.
        """
        if self.broker_id not in state.replicas:
            return KafkaError.UNKNOWN_TOPIC_OR_PARTITION
        partition = self.partitions.get(state.partition)
        if partition is None:
            partition = self.partitions[state.partition] = self.host.open_log(state)
        elif partition.log.topic_id and state.topic_id and partition.log.topic_id != state.topic_id:
            return KafkaError.INCONSISTENT_TOPIC_ID
        elif state.topic_id and not partition.log.topic_id:
            partition.log.assign_topic_id(state.topic_id)
        if state.leader_epoch <= partition.leader_epoch:
            return KafkaError.STALE_CONTROLLER_EPOCH
        self.alter_partition.forget(state.partition)
        goes_on = not self.host.era.refetches_in_each_epoch and partition.leader_id == state.leader
        if not (goes_on and self._is_fetching(state.partition, state.leader)):
            self._stop_fetching(state.partition)
        if state.leader == self.broker_id:
            partition.make_leader(state)
        else:
            partition.make_follower(state)
            # a leader whom the cluster has not is not fetched from
            is_there = f"b{state.leader}" in self.kernel.nodes
            if is_there and not self._is_fetching(state.partition, state.leader):
                self._start_fetching(partition, state.leader)
        self._leadership_changed(state.partition)
        return KafkaError.NONE

    def _start_fetching(self, partition: Partition, leader: int) -> None:
        fetcher = self.fetchers.get(leader)
        if fetcher is None:
            fetcher = self.fetchers[leader] = ReplicaFetcher(self, leader)
        if not partition.log.leader_epoch_cache.entries:
            partition.truncate_to(
                partition.high_watermark, "no epochs are known, so what is not known to be committed goes"
            )
        if not self.host.is_stopping:
            fetcher.add(partition.name, partition.leader_epoch)

    def _is_fetching(self, name: str, leader: int) -> bool:
        fetcher = self.fetchers.get(leader)
        return fetcher is not None and name in fetcher.states

    def cannot_truncate(self, partition: Partition, why: str) -> bool | None:
        """Whether this broker rather ends than truncates a log to its leader's end; None = that is not known now."""
        return self.host.cannot_truncate(partition, why)

    def _stop_fetching(self, name: str) -> None:
        for fetcher in self.fetchers.values():
            fetcher.remove(name)

    def stop(self, name: str, delete: bool) -> None:
        """StopReplica: the replica neither leads nor follows; with `delete` its files go too."""
        partition = self.partitions.get(name)
        if partition is None:
            return
        self._stop_fetching(name)
        self.alter_partition.forget(name)
        partition.go_offline()
        if delete:
            del self.partitions[name]
            self.host.logs.delete(partition)
        self._leadership_changed(name)

    def _leadership_changed(self, name: str) -> None:
        self._check_produces(name)
        self._check_fetches(name)
        self.record_deletion.check(name)

    # produce

    def produce(self, message: Message, body: ProduceRequest, refused: Mapping[str, ProducePartitionResponse]) -> None:
        """Appends, then answers: at once with acks=1 (acks=0: not at all), when committed with acks=all.

        `refused` are the answers for partitions whose records are not to be appended.
        """
        now_ms = self.host.wall_ms
        answers = dict(refused)
        required: dict[str, int] = {}
        advanced: list[tuple[str, bool]] = []
        for name, data in body.partitions:
            if name in refused or data is None:
                continue
            answers[name], last_offset = self._append(name, data, body.acks, now_ms)
            if last_offset >= 0:
                required[name] = last_offset + 1
                advanced.append((name, self.partitions[name].maybe_increment_high_watermark()))
        if body.acks == 0:
            if any(answer.error is not KafkaError.NONE for answer in answers.values()):
                self.kernel.close_connection(message)
        elif body.acks == 1 or not required:
            self._respond_produce(message, answers)
        else:
            self._wait_for_commit(message, body.timeout_ms, required, answers)
        for name, moved in advanced:
            if moved:
                self._check_produces(name)
            self._check_fetches(name)

    def _append(
        self, name: str, data: bytes, acks: int, now_ms: int, *, is_client: bool = True
    ) -> tuple[ProducePartitionResponse, int]:
        partition = self.partitions.get(name)
        if partition is None or not partition.is_leader:
            return ProducePartitionResponse(name, self._not_leader(name)), -1
        try:
            info = partition.append_as_leader(data, acks, now_ms, is_client=is_client)
        except KafkaException as refused:
            # what exactly was wrong is told of single records only; for the rest clients have their own texts
            start = -1 if refused.error in _UNREADABLE else partition.log.log_start_offset
            if isinstance(refused, RecordValidationException):
                record_errors = refused.record_errors
                return ProducePartitionResponse(
                    name, refused.error, log_start_offset=start, message=refused.message, record_errors=record_errors
                ), -1
            return ProducePartitionResponse(name, refused.error, log_start_offset=start), -1
        append_time = partition.log.config.message_timestamp_type == "LogAppendTime" and info.record_count
        # a repeated batch is answered with its timestamp, whatever kind that is
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
        delayed = DelayedProduce(message.rpc, message, tuple(required), required, answers, 0)
        if self._try_produce(delayed):
            self._respond_produce(message, answers)
            return
        due_us = self.kernel.scheduler.now_us + timeout_ms * 1_000
        delayed.timer_id = self.kernel.timer(self.name, due_us, "produce_expired", message.rpc)
        self.delayed_produces.watch(delayed)
        needs = ", ".join(f"{name} HW >= {offset}" for name, offset in required.items())
        self.kernel.emit(
            RequestParked(
                broker=self.name,
                request=message.rpc,
                api="Produce",
                client=message.source,
                partitions=delayed.partitions,
                needs=needs,
                deadline_us=due_us,
            ),
            self.name,
        )

    def _try_produce(self, delayed: DelayedProduce) -> bool:
        for name, required_offset in list(delayed.required.items()):
            partition = self.partitions.get(name)
            if partition is None or not partition.is_leader:
                delayed.answer(name, KafkaError.NOT_LEADER_OR_FOLLOWER)
            elif partition.high_watermark >= required_offset:
                enough = len(partition.isr_state.maximal_isr) >= partition.effective_min_isr
                delayed.answer(name, KafkaError.NONE if enough else KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        return not delayed.required

    def append_for_coordinator(self, name: str, data: bytes, waiting: Any) -> KafkaError:
        """Appends what a coordinator of this broker writes. Once it is committed, or can no longer be, the host hears
        of it with `waiting`, unless that is None; an append that fails at once is told in the answer alone.
        """
        acks = 1 if waiting is None else -1
        answer, last_offset = self._append(name, data, acks, self.host.wall_ms, is_client=False)
        if last_offset < 0:
            return answer.error
        moved = self.partitions[name].maybe_increment_high_watermark()
        if waiting is not None:
            self.coordinator_appends.setdefault(name, []).append((waiting, last_offset + 1))
        if moved or waiting is not None:
            self._check_produces(name)
        self._check_fetches(name)
        return _NONE

    def _check_coordinator_appends(self, name: str) -> None:
        partition = self.partitions.get(name)
        if partition is None or not partition.is_leader:
            for waiting, _ in self.coordinator_appends.pop(name):
                self.host.coordinator_append_done(waiting, KafkaError.NOT_LEADER_OR_FOLLOWER)
            return
        waits = self.coordinator_appends[name]
        done = [waiting for waiting, required in waits if required <= partition.high_watermark]
        left = waits[len(done) :]
        if left:
            self.coordinator_appends[name] = left
        else:
            del self.coordinator_appends[name]
        enough = len(partition.isr_state.maximal_isr) >= partition.effective_min_isr
        for waiting in done:
            self.host.coordinator_append_done(waiting, _NONE if enough else KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND)

    def expire_coordinator_append(self, name: str, waiting: Any) -> bool:
        """Gives up waiting; False when it is done already."""
        waits = self.coordinator_appends.get(name, [])
        left = [row for row in waits if row[0] is not waiting]
        if len(left) == len(waits):
            return False
        if left:
            self.coordinator_appends[name] = left
        else:
            del self.coordinator_appends[name]
        return True

    def _check_produces(self, name: str) -> None:
        if name in self.coordinator_appends:
            self._check_coordinator_appends(name)
        for delayed in self.delayed_produces.watching(name):
            if self._try_produce(delayed):
                self._complete_produce(delayed, "satisfied")

    def produce_expired(self, request: str) -> None:
        """The producer's timeout is over; what was appended stays in the log."""
        delayed = self.delayed_produces.get(request)
        if delayed is not None:
            for name in list(delayed.required):
                delayed.answer(name, KafkaError.REQUEST_TIMED_OUT)
            delayed.timer_id = 0
            self._complete_produce(delayed, "expired")

    def _complete_produce(self, delayed: DelayedProduce, why: str) -> None:
        self.delayed_produces.remove(delayed.request)
        if delayed.timer_id:
            self.kernel.scheduler.cancel(delayed.timer_id)
        self.kernel.emit(RequestCompleted(broker=self.name, request=delayed.request, why=why), self.name)
        self._respond_produce(delayed.message, delayed.answers)

    def _respond_produce(self, message: Message, answers: dict[str, ProducePartitionResponse]) -> None:
        response = ProduceResponse(tuple(answers.values()))
        fields = [
            (answer.partition, answer.base_offset if answer.error is KafkaError.NONE else answer.error.name)
            for answer in response.partitions
        ]
        first = fields[0][1] if fields else "no partitions"
        label = first if isinstance(first, str) else f"ack @{first}"
        self.kernel.respond(message, response, label=label, fields=tuple(fields))

    # fetch

    def fetch(self, message: Message, body: FetchRequest) -> None:
        """Reads first, then takes note of the follower: so an answer with records carries the high watermark of
        before.
        """
        answers, byte_count = self._read_all(body)
        urgent = False
        is_follower = body.replica_id >= 0
        for asked, answer in zip(body.partitions, answers, strict=True):
            if answer.error is not _NONE or answer.diverging_epoch is not None:
                urgent = True
            elif is_follower:
                if self._tells_stale_followers and self._is_stale(asked.partition, body.replica_id):
                    urgent = True
                self._followed(asked, body.replica_id, body.replica_epoch)
        if is_follower and self._tells_stale_followers and not urgent:
            urgent = any(self._is_stale(asked.partition, body.replica_id) for asked in body.partitions)
            answers, byte_count = self._read_all(body) if urgent else (answers, byte_count)
        if body.max_wait_ms <= 0 or byte_count >= body.min_bytes or urgent or not body.partitions:
            self._respond_fetch(message, body, answers)
            return
        partitions = tuple([asked.partition for asked in body.partitions])
        due_us = self.kernel.scheduler.now_us + body.max_wait_ms * 1_000
        timer_id = self.kernel.timer(self.name, due_us, "fetch_expired", message.rpc)
        self.delayed_fetches.watch(DelayedFetch(message.rpc, message, body, partitions, timer_id))
        self.kernel.emit(
            RequestParked(
                broker=self.name,
                request=message.rpc,
                api="Fetch",
                client=message.source,
                partitions=partitions,
                needs=f"{body.min_bytes} byte" if body.min_bytes == 1 else f"{body.min_bytes} bytes",
                deadline_us=due_us,
            ),
            self.name,
        )

    def _read_all(self, body: FetchRequest) -> tuple[list[FetchPartitionResponse], int]:
        """The answers, and how many bytes of records they carry."""
        answers = []
        byte_count = 0
        # The sizes that old readers ask for are kept to, even where no batch fits (`hardMaxBytesLimit`).
        may_exceed = body.version >= SOFT_LIMIT_VERSION
        for asked in body.partitions:
            left = max(body.max_bytes - byte_count, 0) if byte_count else body.max_bytes
            answer = self._read(asked, body, left, may_exceed and byte_count == 0)
            byte_count += len(answer.records)
            answers.append(answer)
        return answers, byte_count

    def _read(
        self, asked: FetchPartition, body: FetchRequest, left: int, min_one_message: bool
    ) -> FetchPartitionResponse:
        name, replica_id = asked.partition, body.replica_id
        partition = self.partitions.get(name)
        if partition is None:
            return FetchPartitionResponse(name, self._not_leader(name))
        if asked.current_leader_epoch != partition.leader_epoch or not partition.is_leader:
            error = self._epoch_error(partition, asked.current_leader_epoch, body.from_follower)
            if error is not None:
                is_elsewhere = error is KafkaError.NOT_LEADER_OR_FOLLOWER
                return FetchPartitionResponse(name, self._not_leader(name) if is_elsewhere else error)
        log = partition.log
        fetch_offset = asked.fetch_offset
        end_offset = log.log_end_offset
        if replica_id >= 0 and replica_id not in partition.remotes:
            # a leader of an earlier epoch knows fewer replicas; who names no epoch is told to look for the leader
            knows_epoch = asked.current_leader_epoch >= 0
            error = KafkaError.UNKNOWN_LEADER_EPOCH if knows_epoch else KafkaError.NOT_LEADER_OR_FOLLOWER
            return FetchPartitionResponse(name, error)
        history = log.leader_epoch_cache
        if may_diverge(history, end_offset, asked.last_fetched_epoch, fetch_offset):
            diverging = diverging_epoch(history, end_offset, asked.last_fetched_epoch, fetch_offset)
            if diverging == (-1, -1) or (diverging is not None and fetch_offset < log.log_start_offset):
                return FetchPartitionResponse(name, KafkaError.OFFSET_OUT_OF_RANGE)
            if diverging is not None:
                return FetchPartitionResponse(
                    name,
                    high_watermark=partition.high_watermark,
                    log_start_offset=log.log_start_offset,
                    diverging_epoch=diverging,
                    last_stable_offset=log.last_stable_offset(partition.high_watermark),
                )
        if replica_id < 0:
            return self._read_for_consumer(partition, asked, body, left, min_one_message)
        if fetch_offset == end_offset or (self.quotas.leader.throttled and self._holds_back(partition, replica_id)):
            records = b""
        else:
            try:
                records = log.read(
                    fetch_offset,
                    min(asked.partition_max_bytes, left),
                    end_offset,
                    min_one_message,
                    body.cuts_batches,
                ).data
            except KafkaException as refused:
                return FetchPartitionResponse(
                    name, refused.error, high_watermark=partition.high_watermark, log_start_offset=log.log_start_offset
                )
        high_watermark = partition.high_watermark
        stable = log.last_stable_offset(high_watermark)
        return FetchPartitionResponse(name, _NONE, high_watermark, log.log_start_offset, records, None, stable)

    def _read_for_consumer(
        self, partition: Partition, asked: FetchPartition, body: FetchRequest, left: int, min_one_message: bool
    ) -> FetchPartitionResponse:
        """What is committed; with read_committed only what is stable, and which of it was aborted."""
        log = partition.log
        name, offset, high_watermark = partition.name, asked.fetch_offset, partition.high_watermark
        stable = log.last_stable_offset(high_watermark)
        committed_only = body.isolation_level == READ_COMMITTED
        aborted: tuple[tuple[int, int], ...] | None = () if committed_only else None
        records = b""
        if offset != log.log_end_offset:
            try:
                read = log.read(
                    offset,
                    min(asked.partition_max_bytes, left),
                    stable if committed_only else high_watermark,
                    min_one_message,
                    body.cuts_batches,
                )
            except KafkaException as refused:
                return FetchPartitionResponse(
                    name, refused.error, high_watermark=high_watermark, log_start_offset=log.log_start_offset
                )
            records = read.data
            if committed_only and records:
                aborted = tuple((row.producer_id, row.first_offset) for row in log.aborted_transactions(offset, read))
        return FetchPartitionResponse(name, _NONE, high_watermark, log.log_start_offset, records, None, stable, aborted)

    def _is_stale(self, name: str, replica_id: int) -> bool:
        """Whether the high watermark has moved since a follower last fetched (`lastSentHighWatermark`)."""
        partition = self.partitions.get(name)
        remote = partition.remotes.get(replica_id) if partition is not None else None
        return (
            partition is not None and remote is not None and remote.last_sent_high_watermark < partition.high_watermark
        )

    def _holds_back(self, partition: Partition, replica_id: int) -> bool:
        """Whether a follower that is not in sync gets no records because its leader's quota is used up."""
        quota = self.quotas.leader
        return replica_id not in partition.isr and quota.holds_back(partition.name, self.kernel.now_us)

    def _not_leader(self, name: str) -> KafkaError:
        """Why a partition is not served here: others do, or nobody knows of it (any more)."""
        known = name in self.host.metadata.partitions
        return KafkaError.NOT_LEADER_OR_FOLLOWER if known else KafkaError.UNKNOWN_TOPIC_OR_PARTITION

    def _epoch_error(
        self, partition: Partition, current_leader_epoch: int, from_follower: bool = False
    ) -> KafkaError | None:
        if current_leader_epoch >= 0:
            if current_leader_epoch < partition.leader_epoch:
                return KafkaError.FENCED_LEADER_EPOCH
            if current_leader_epoch > partition.leader_epoch:
                return KafkaError.UNKNOWN_LEADER_EPOCH
        serves = partition.is_leader or (from_follower and partition.role is Role.FOLLOWER)
        return None if serves else KafkaError.NOT_LEADER_OR_FOLLOWER

    def _followed(self, asked: FetchPartition, replica_id: int, replica_epoch: int) -> None:
        """What a follower's fetch changes at the leader: its remote state, perhaps the ISR, perhaps the high
        watermark.
        """
        partition = self.partitions[asked.partition]
        if self._tells_stale_followers and replica_id in partition.remotes:
            partition.remotes[replica_id].last_sent_high_watermark = partition.high_watermark
        news = partition.update_follower(replica_id, asked.fetch_offset, asked.log_start_offset, replica_epoch)
        if partition.replica_to_add(replica_id):
            self._ask_for_isr(partition, PendingExpand(partition.isr, replica_id))
        if news and partition.maybe_increment_high_watermark():
            self._high_watermark_moved(partition)
        self.record_deletion.check(asked.partition)

    def _high_watermark_moved(self, partition: Partition) -> None:
        self._check_produces(partition.name)
        self._check_fetches(partition.name)

    def _check_fetches(self, name: str) -> None:
        for delayed in self.delayed_fetches.watching(name):
            if self._try_fetch(delayed):
                self._complete_fetch(delayed, "satisfied")

    def _try_fetch(self, delayed: DelayedFetch) -> bool:
        """Whether enough has accumulated, or something happened that the fetch has to hear of."""
        body = delayed.body
        accumulated = 0
        for asked in body.partitions:
            partition = self.partitions.get(asked.partition)
            if partition is None or self._epoch_error(partition, asked.current_leader_epoch, body.from_follower):
                return True
            log = partition.log
            end_offset = log.log_end_offset if body.replica_id >= 0 else _readable_end(partition, body.isolation_level)
            if end_offset < asked.fetch_offset:
                if body.replica_id >= 0 or log.log_end_offset < asked.fetch_offset:
                    return True
                continue
            if body.replica_id >= 0:
                if self._tells_stale_followers and self._is_stale(asked.partition, body.replica_id):
                    return True
                if end_offset > asked.fetch_offset and self._holds_back(partition, body.replica_id):
                    continue
                if end_offset > asked.fetch_offset and body.min_bytes <= 1:
                    return True
                history, last_epoch = log.leader_epoch_cache, asked.last_fetched_epoch
                if may_diverge(history, end_offset, last_epoch, asked.fetch_offset) and diverging_epoch(
                    history, end_offset, last_epoch, asked.fetch_offset
                ):
                    return True
            if end_offset > asked.fetch_offset:
                accumulated += min(log.bytes_available(asked.fetch_offset, end_offset), asked.partition_max_bytes)
        return accumulated >= body.min_bytes

    def fetch_expired(self, request: str) -> None:
        """`max.wait` is over: the answer says what there is."""
        delayed = self.delayed_fetches.get(request)
        if delayed is not None:
            delayed.timer_id = 0
            self._complete_fetch(delayed, "expired")

    def _complete_fetch(self, delayed: DelayedFetch, why: str) -> None:
        if self.delayed_fetches.remove(delayed.request) is None:
            return
        if delayed.timer_id:
            self.kernel.scheduler.cancel(delayed.timer_id)
        self.kernel.emit(RequestCompleted(broker=self.name, request=delayed.request, why=why), self.name)
        answers, _ = self._read_all(delayed.body)
        self._respond_fetch(delayed.message, delayed.body, answers)

    def _respond_fetch(self, message: Message, body: FetchRequest, answers: list[FetchPartitionResponse]) -> None:
        if body.version < CONVERSION_ENDS:
            answers = [
                self._convert(answer, asked, body) for asked, answer in zip(body.partitions, answers, strict=True)
            ]
        if body.replica_id >= 0:
            # a follower that came by TCP has its session, if any, with its connection
            if body.session_id:
                answers = [
                    answer
                    for asked, answer in zip(body.partitions, answers, strict=True)
                    if self._has_news(body, asked, answer)
                ]
            self.quotas.leader.record_response(answers, self.kernel.scheduler.now_us)
        label, fields = describe_fetched(answers)
        self.kernel.respond(message, FetchResponse(tuple(answers)), label=label, fields=fields)

    def _convert(
        self, answer: FetchPartitionResponse, asked: FetchPartition, body: FetchRequest
    ) -> FetchPartitionResponse:
        partition = self.partitions.get(asked.partition)
        if partition is None:
            return answer
        return convert(answer, asked, partition.log.config, body.version, is_follower=body.replica_id >= 0)

    def _has_news(self, body: FetchRequest, asked: FetchPartition, answer: FetchPartitionResponse) -> bool:
        """Whether an incremental fetch session (KIP-227) lists this partition: records, an error, or watermarks not
        told yet.
        """
        key = (body.replica_id, asked.partition)
        if answer.error is not _NONE or answer.diverging_epoch is not None:
            self._told.pop(key, None)
            return True
        now = (
            answer.high_watermark,
            answer.log_start_offset,
            asked.current_leader_epoch,
            body.replica_epoch,
            body.session_id,
        )
        if not answer.records and self._told.get(key) == now:
            return False
        self._told[key] = now
        return True

    # the fetchers' side

    def log_appended_by_follower(self, partition: Partition) -> None:
        """Nobody may read from a follower yet but itself; its own delayed operations are re-checked all the same."""
        self._check_fetches(partition.name)

    # offsets

    def list_offsets(self, body: ListOffsetsRequest) -> ListOffsetsResponse:
        """Latest (-1: the high watermark for consumers, the log end for replicas), earliest (-2; -4 without remote
        storage), the record with the largest timestamp (-3), or by timestamp. Nothing lies in remote storage (-5).
        """
        return ListOffsetsResponse(tuple(self._list_offset(body, *asked) for asked in body.partitions))

    def _list_offset(self, body: ListOffsetsRequest, name: str, leader_epoch: int, timestamp: int) -> ListOffsetsResult:
        replica_id = body.replica_id
        partition = self.partitions.get(name)
        if partition is None:
            return ListOffsetsResult(name, self._not_leader(name))
        error = self._epoch_error(partition, leader_epoch, from_follower=replica_id == DEBUGGING_CONSUMER)
        if error is not None:
            return ListOffsetsResult(name, error)
        if timestamp < LATEST_TIERED_TIMESTAMP:
            return ListOffsetsResult(name, KafkaError.UNSUPPORTED_VERSION)
        log = partition.log
        upper_bound = _readable_end(partition, body.isolation_level) if replica_id == CONSUMER else log.log_end_offset
        if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
            first_epoch = log.leader_epoch_cache.epoch_for(log.log_start_offset)
            return ListOffsetsResult(name, offset=log.log_start_offset, leader_epoch=first_epoch)
        if replica_id == CONSUMER and partition.high_watermark < partition.leader_epoch_start_offset:
            return ListOffsetsResult(name, KafkaError.OFFSET_NOT_AVAILABLE)
        if timestamp == LATEST_TIMESTAMP:
            return ListOffsetsResult(name, offset=upper_bound, leader_epoch=partition.leader_epoch)
        if timestamp == LATEST_TIERED_TIMESTAMP:
            return ListOffsetsResult(name)
        try:
            found = log.offset_of_max_timestamp() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)
        except KafkaException as refused:
            return ListOffsetsResult(name, refused.error)
        if found is None or found[1] >= upper_bound:
            return ListOffsetsResult(name)
        return ListOffsetsResult(name, offset=found[1], timestamp=found[0], leader_epoch=found[2])

    def offsets_for_leader_epochs(self, body: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        """Where leader epochs end in the logs that this broker leads (`Partition.lastOffsetForLeaderEpoch`)."""
        results = []
        for name, current_leader_epoch, epoch in body.partitions:
            partition = self.partitions.get(name)
            if partition is None:
                error: KafkaError | None = self._not_leader(name)
            else:
                error = self._epoch_error(partition, current_leader_epoch)
            if partition is None or error is not None:
                results.append(OffsetForLeaderEpochResult(name, error or KafkaError.UNKNOWN_SERVER_ERROR))
                continue
            found = partition.log.leader_epoch_cache.end_offset_for(epoch, partition.log.log_end_offset)
            results.append(OffsetForLeaderEpochResult(name, KafkaError.NONE, *found))
        return OffsetForLeaderEpochResponse(tuple(results))

    # the ISR

    def shrink_isrs(self) -> None:
        """The job that runs every half `replica.lag.time.max.ms`."""
        for partition in list(self.partitions.values()):
            removed = partition.replicas_to_remove()
            if removed:
                self._ask_for_isr(partition, PendingShrink(partition.isr, removed))

    def _ask_for_isr(self, partition: Partition, change: PendingExpand | PendingShrink) -> None:
        if self.host.era.isr_change == "zookeeper":
            version = self.host.write_isr_to_zookeeper(partition, change.proposed_isr)
            if version is not None:
                self.isr_changes.note(partition.name)
                if partition.commit_isr(change.proposed_isr, version):
                    self._high_watermark_moved(partition)
            return
        partition.propose_isr(change)
        self.alter_partition.submit(
            AlterPartitionItem(
                partition.name,
                partition.leader_epoch,
                tuple(
                    (
                        broker_id,
                        self.broker_epoch if broker_id == self.broker_id else partition.remotes[broker_id].broker_epoch,
                    )
                    for broker_id in change.proposed_isr
                ),
                0,
                partition.partition_epoch,
            )
        )

    def isr_change_answered(self, result: AlterPartitionResult) -> None:
        """The controller's word on one change (`Partition.submitAlterPartition`)."""
        partition = self.partitions.get(result.partition)
        if partition is None or not partition.is_leader or isinstance(partition.isr_state, CommittedIsr):
            return
        if result.error is KafkaError.NONE:
            if result.leader_epoch == partition.leader_epoch and partition.commit_isr(
                result.isr, result.partition_epoch
            ):
                self._high_watermark_moved(partition)
        elif result.error in (KafkaError.OPERATION_NOT_ATTEMPTED, KafkaError.INELIGIBLE_REPLICA):
            partition.refuse_isr(result.error.name)
        elif result.error not in _OUTCOME_UNKNOWN:
            state = partition.isr_state
            partition.refuse_isr(result.error.name)
            self._ask_for_isr(partition, state)


_UNREADABLE = frozenset(
    {
        KafkaError.CORRUPT_MESSAGE,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError.MESSAGE_TOO_LARGE,
        KafkaError.NOT_LEADER_OR_FOLLOWER,
        KafkaError.RECORD_LIST_TOO_LARGE,
    }
)
"""With these a producer is not told where the log begins."""


def _readable_end(partition: Partition, isolation_level: int) -> int:
    """The first offset that a consumer may not read yet."""
    if isolation_level == READ_COMMITTED:
        return partition.log.last_stable_offset(partition.high_watermark)
    return partition.high_watermark


_OUTCOME_UNKNOWN = frozenset(
    {
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.INVALID_UPDATE_VERSION,
        KafkaError.INVALID_REQUEST,
        KafkaError.UNKNOWN_TOPIC_OR_PARTITION,
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError.NEW_LEADER_ELECTED,
    }
)
