"""Fetches of consumers and followers, and those that wait (`ReplicaManager.fetchMessages`, `DelayedFetch`)."""

from msgspec import structs

from broker_core.broker.common.rpc_text import describe_fetched
from broker_core.broker.replicas.delayed import DelayedFetch
from broker_core.broker.replicas.fetch_conversion import CONVERSION_ENDS, SOFT_LIMIT_VERSION, convert
from broker_core.broker.replicas.offset_lookups import FUTURE_REPLICA
from broker_core.broker.replicas.read_replicas import LEADER, preferred_read_replica
from broker_core.broker.replicas.record_deletion import RecordDeletion
from broker_core.broker.replicas.replica_access import ReplicaAccess
from broker_core.errors import Errors, KafkaException
from broker_core.events.waiting import RequestCompleted, RequestParked
from broker_core.replication.isr import PendingExpand
from broker_core.replication.partition import READ_COMMITTED, Partition
from broker_core.replication.purgatory import Purgatory
from broker_core.replication.truncation import diverging_epoch, may_diverge
from broker_core.sim.handlers import TimerHandler
from broker_core.sim.kernel import Message
from broker_core.wire.messages import FetchPartition, FetchPartitionResponse, FetchRequest, FetchResponse

EXPIRED_TIMER = "fetch_expired"
_NONE = Errors.NONE


class Fetches:
    """The fetches of a replica manager, from its partitions: see the module."""

    def __init__(self, replicas: ReplicaAccess, record_deletion: RecordDeletion) -> None:
        self._replicas = replicas
        self._record_deletion = record_deletion
        self._partitions = replicas.partitions
        self._kernel = replicas.kernel
        self._name = replicas.name
        self._quota = replicas.quotas.leader
        self._delayed: Purgatory[DelayedFetch] = Purgatory()
        behaviour = replicas.era.replication
        self._completes_stale_fetches = behaviour.completes_stale_fetches
        self._completes_beyond_end = behaviour.completes_fetches_beyond_end
        self._selects_replicas = behaviour.reads_from_followers and bool(replicas.config.replica_selector_class)
        self._only_in_sync = behaviour.preferred_replicas_are_in_sync
        self._names_preferred_at_once = behaviour.names_preferred_replicas_at_once
        self._limits_min_bytes = replicas.era.requests.limits_min_bytes
        self._looks_for_topics = replicas.era.requests.looks_for_topics
        self._may_complete_produces = not replicas.era.requests.checks_acks
        self._reported: dict[tuple[int, str], tuple[int, int, int, int, int]] = {}
        replicas.high_watermark_listeners.append(self.check)

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {EXPIRED_TIMER: self.expired}

    def parked(self) -> list[str]:
        """The rpc ids of delayed requests."""
        return self._delayed.requests()

    def take(self, message: Message, body: FetchRequest) -> None:
        """Reads first, then records the follower's fetch: so a response with records carries the previous high
        watermark. Partitions that the broker does not know are refused without reading: the others wait.
        """
        if body.min_bytes > body.max_bytes and self._limits_min_bytes:
            body = structs.replace(body, min_bytes=body.max_bytes)
        unknown = self._unknown(body)
        if unknown:
            refused = set(unknown)
            known = tuple([each for each in body.partitions if each.partition not in refused])
            body = structs.replace(body, partitions=known)
        answers, byte_count = self._read_all(body)
        has_preferred = any(answer.preferred_read_replica >= 0 for answer in answers)
        urgent = has_preferred and self._names_preferred_at_once
        is_follower = body.replica_id >= 0
        for requested, answer in zip(body.partitions, answers, strict=True):
            if answer.error is not _NONE or answer.diverging_epoch is not None:
                urgent = True
            elif is_follower:
                if self._completes_stale_fetches and self._is_stale(requested.partition, body.replica_id):
                    urgent = True
                self._followed(requested, body.replica_id, body.replica_epoch)
        if is_follower and self._completes_stale_fetches and not urgent:
            urgent = any(self._is_stale(requested.partition, body.replica_id) for requested in body.partitions)
            answers, byte_count = self._read_all(body) if urgent else (answers, byte_count)
        is_enough = body.max_wait_ms <= 0 or byte_count >= body.min_bytes or urgent or not body.partitions
        # `tryCompleteElseWatch`; a follower that has read nothing is at the end of its logs.
        if is_enough or ((byte_count or not is_follower) and self._is_satisfied(body)):
            self._respond(message, body, answers, unknown)
            return
        partitions = tuple([requested.partition for requested in body.partitions])
        due_us = self._kernel.scheduler.now_us + body.max_wait_ms * 1_000
        timer_id = self._kernel.timer(self._name, due_us, EXPIRED_TIMER, message.rpc)
        self._delayed.watch(DelayedFetch(message.rpc, message, body, partitions, timer_id, unknown))
        self._kernel.emit(
            RequestParked(
                broker=self._name,
                request=message.rpc,
                api="Fetch",
                client=message.source,
                partitions=partitions,
                needs=f"label.bytes?n={body.min_bytes}",
                deadline_us=due_us,
            ),
            self._name,
        )

    def _unknown(self, body: FetchRequest) -> tuple[str, ...]:
        """The requested partitions that are neither here nor in the metadata."""
        absent = [each.partition for each in body.partitions if each.partition not in self._partitions]
        if not absent or not self._looks_for_topics:
            return ()
        is_known = self._replicas.metadata.is_known
        return tuple([name for name in absent if not is_known(name)])

    def _read_all(self, body: FetchRequest) -> tuple[list[FetchPartitionResponse], int]:
        """The results, and the size of their records in bytes."""
        answers = []
        byte_count = 0
        # The sizes in requests of old readers are strict, even if no batch fits (`hardMaxBytesLimit`).
        may_exceed = body.version >= SOFT_LIMIT_VERSION
        replica_id = body.replica_id
        for requested in body.partitions:
            if replica_id >= 0 and (at_end := self._read_at_end(requested, replica_id)) is not None:
                answers.append(at_end)
                continue
            left = max(body.max_bytes - byte_count, 0) if byte_count else body.max_bytes
            answer = self._read(requested, body, left, may_exceed and byte_count == 0)
            byte_count += len(answer.records)
            answers.append(answer)
        return answers, byte_count

    def _read_at_end(self, requested: FetchPartition, replica_id: int) -> FetchPartitionResponse | None:
        """The result for a follower that has all records, as for most partitions of most fetches; None in all other
        cases.
        """
        name = requested.partition
        partition = self._partitions.get(name)
        if partition is None or not partition.is_leader or replica_id not in partition.remotes:
            return None
        log, last_epoch = partition.log, requested.last_fetched_epoch
        if (
            requested.current_leader_epoch != partition.leader_epoch
            or requested.fetch_offset != log.log_end_offset
            or (last_epoch >= 0 and last_epoch != log.leader_epoch_cache.latest_epoch)
        ):
            return None
        high_watermark = partition.high_watermark
        stable = log.last_stable_offset(high_watermark)
        return FetchPartitionResponse(name, _NONE, high_watermark, log.log_start_offset, b"", None, stable)

    def _read(
        self, requested: FetchPartition, body: FetchRequest, left: int, min_one_message: bool
    ) -> FetchPartitionResponse:
        name, replica_id = requested.partition, body.replica_id
        partition = self._partitions.get(name)
        if partition is None:
            is_known = self._replicas.metadata.is_known(name) or not self._replicas.era.requests.looks_for_topics
            may_follow = body.from_follower and is_known
            return FetchPartitionResponse(name, self._replicas.not_leader(name, may_follow))
        if requested.current_leader_epoch != partition.leader_epoch or not partition.is_leader:
            error = self._replicas.epoch_error(partition, requested.current_leader_epoch, body.from_follower)
            if error is not None:
                is_elsewhere = error is Errors.NOT_LEADER_OR_FOLLOWER
                return FetchPartitionResponse(name, self._replicas.not_leader(name) if is_elsewhere else error)
        log = partition.log
        fetch_offset = requested.fetch_offset
        if self._selects_replicas and replica_id < 0 and partition.is_leader:
            elsewhere = self._read_elsewhere(partition, fetch_offset, body.rack_id)
            if elsewhere is not None:
                return elsewhere
        end_offset = log.log_end_offset
        if replica_id >= 0 and replica_id not in partition.remotes:
            # A leader in an earlier epoch knows fewer replicas; a request without an epoch makes the follower look up
            # the leader.
            knows_epoch = requested.current_leader_epoch >= 0
            error = Errors.UNKNOWN_LEADER_EPOCH if knows_epoch else Errors.NOT_LEADER_OR_FOLLOWER
            return FetchPartitionResponse(name, error)
        history = log.leader_epoch_cache
        if may_diverge(history, end_offset, requested.last_fetched_epoch, fetch_offset):
            diverging = diverging_epoch(history, end_offset, requested.last_fetched_epoch, fetch_offset)
            if diverging == (-1, -1) or (diverging is not None and fetch_offset < log.log_start_offset):
                return FetchPartitionResponse(name, Errors.OFFSET_OUT_OF_RANGE)
            if diverging is not None:
                return FetchPartitionResponse(
                    name,
                    high_watermark=partition.high_watermark,
                    log_start_offset=log.log_start_offset,
                    diverging_epoch=diverging,
                    last_stable_offset=log.last_stable_offset(partition.high_watermark),
                )
        if not self._reads_to_end(replica_id):
            return self._read_for_consumer(partition, requested, body, left, min_one_message)
        return self._read_for_replica(partition, requested, body, left, min_one_message)

    def _read_for_replica(
        self, partition: Partition, requested: FetchPartition, body: FetchRequest, left: int, min_one_message: bool
    ) -> FetchPartitionResponse:
        """Records up to the end of the log; before 2.0 with the aborted transactions among them, if asked for."""
        log, name, fetch_offset, replica_id = partition.log, partition.name, requested.fetch_offset, body.replica_id
        end_offset = log.log_end_offset
        lists_aborted = body.isolation_level == READ_COMMITTED and not self._replicas.era.requests.looks_for_partitions
        aborted: tuple[tuple[int, int], ...] | None = () if lists_aborted else None
        if fetch_offset == end_offset or (
            replica_id >= 0 and self._quota.throttled and self._holds_back(partition, replica_id)
        ):
            records = b""
        else:
            try:
                read = log.read(
                    fetch_offset,
                    min(requested.partition_max_bytes, left),
                    end_offset,
                    min_one_message,
                    body.cuts_batches,
                )
            except KafkaException as refused:
                return FetchPartitionResponse(
                    name, refused.error, high_watermark=partition.high_watermark, log_start_offset=log.log_start_offset
                )
            records = read.data
            if lists_aborted:
                aborted = tuple(
                    (row.producer_id, row.first_offset) for row in log.aborted_transactions(fetch_offset, read)
                )
        high_watermark = partition.high_watermark
        stable = log.last_stable_offset(high_watermark)
        return FetchPartitionResponse(name, _NONE, high_watermark, log.log_start_offset, records, None, stable, aborted)

    def _read_elsewhere(self, partition: Partition, fetch_offset: int, rack: str) -> FetchPartitionResponse | None:
        """The response that names the preferred read replica of a consumer, if it is not this one."""
        racks = self._replicas.metadata.racks
        preferred = preferred_read_replica(partition, rack, fetch_offset, racks, only_in_sync=self._only_in_sync)
        if preferred == LEADER:
            return None
        return FetchPartitionResponse(
            partition.name,
            high_watermark=partition.high_watermark,
            log_start_offset=partition.log.log_start_offset,
            last_stable_offset=partition.log.last_stable_offset(partition.high_watermark),
            preferred_read_replica=preferred,
        )

    def _read_for_consumer(
        self, partition: Partition, requested: FetchPartition, body: FetchRequest, left: int, min_one_message: bool
    ) -> FetchPartitionResponse:
        """Committed records; with read_committed only stable ones, and the aborted transactions among them."""
        log = partition.log
        name, offset, high_watermark = partition.name, requested.fetch_offset, partition.high_watermark
        stable = log.last_stable_offset(high_watermark)
        committed_only = body.isolation_level == READ_COMMITTED
        aborted: tuple[tuple[int, int], ...] | None = () if committed_only else None
        records = b""
        most, bound = min(requested.partition_max_bytes, left), stable if committed_only else high_watermark
        if offset != log.log_end_offset:
            try:
                read = log.read(
                    offset,
                    most,
                    bound,
                    min_one_message,
                    body.cuts_batches,
                    self._cuts_first(body),
                )
            except KafkaException as refused:
                return FetchPartitionResponse(
                    name, refused.error, high_watermark=high_watermark, log_start_offset=log.log_start_offset
                )
            records = read.data
            if committed_only and (records or (not most and offset < bound)):
                aborted = tuple((row.producer_id, row.first_offset) for row in log.aborted_transactions(offset, read))
            elif most > 0 and offset < bound:
                aborted = None  # The first batch does not fit: aborted transactions are null.
        return FetchPartitionResponse(name, _NONE, high_watermark, log.log_start_offset, records, None, stable, aborted)

    def _reads_to_end(self, replica_id: int) -> bool:
        """Whether a reader gets records that are not committed: a follower, or a broker that moves its own replica."""
        is_future = replica_id == FUTURE_REPLICA and self._replicas.era.requests.knows_future_replicas
        return replica_id >= 0 or is_future

    def _cuts_first(self, body: FetchRequest) -> bool:
        """Whether a first batch that is larger than requested is returned in part."""
        converts_late = self._replicas.era.log.converts_in_pieces
        return body.cuts_batches and body.version < SOFT_LIMIT_VERSION and not converts_late

    def _is_stale(self, name: str, replica_id: int) -> bool:
        """Whether the high watermark has advanced since a follower last fetched (`lastSentHighWatermark`)."""
        partition = self._partitions.get(name)
        remote = partition.remotes.get(replica_id) if partition is not None else None
        return (
            partition is not None and remote is not None and remote.last_sent_high_watermark < partition.high_watermark
        )

    def _holds_back(self, partition: Partition, replica_id: int) -> bool:
        """Whether a follower that is not in sync gets no records because its leader's quota is exceeded."""
        return replica_id not in partition.isr and self._quota.holds_back(partition.name, self._kernel.now_us)

    def _followed(self, requested: FetchPartition, replica_id: int, replica_epoch: int) -> None:
        """Applies a follower's fetch at the leader: its remote state, perhaps the ISR, perhaps the high watermark."""
        partition = self._partitions[requested.partition]
        if self._completes_stale_fetches and replica_id in partition.remotes:
            partition.remotes[replica_id].last_sent_high_watermark = partition.high_watermark
        changed = partition.update_follower(
            replica_id, requested.fetch_offset, requested.log_start_offset, replica_epoch
        )
        if replica_id not in partition.isr_state.isr and partition.replica_to_add(replica_id):
            self._replicas.propose_isr_change(partition, PendingExpand(partition.isr, replica_id))
        if changed and partition.maybe_increment_high_watermark():
            self._replicas.high_watermark_moved(partition)
        elif changed and self._may_complete_produces:
            self._replicas.follower_advanced(partition)
        self._record_deletion.check(requested.partition)

    def forget(self, name: str) -> None:
        """Called when the replica of this partition was deleted."""
        self._delayed.forget(name)

    def check(self, name: str) -> None:
        """Completes delayed requests after a change of this partition."""
        for delayed in self._delayed.watching(name):
            if self._is_satisfied(delayed.body):
                self._complete(delayed, "satisfied")

    def _is_satisfied(self, body: FetchRequest) -> bool:
        """Whether enough bytes have accumulated, or a condition completes the fetch early."""
        accumulated = 0
        for requested in body.partitions:
            partition = self._partitions.get(requested.partition)
            if partition is None or self._replicas.epoch_error(
                partition, requested.current_leader_epoch, body.from_follower
            ):
                return True
            log = partition.log
            reads_to_end = self._reads_to_end(body.replica_id)
            end_offset = log.log_end_offset if reads_to_end else partition.readable_end(body.isolation_level)
            if end_offset < requested.fetch_offset:
                if self._completes_beyond_end or body.replica_id >= 0 or log.log_end_offset < requested.fetch_offset:
                    return True
                continue
            if body.replica_id >= 0:
                if self._completes_stale_fetches and self._is_stale(requested.partition, body.replica_id):
                    return True
                if end_offset > requested.fetch_offset and self._holds_back(partition, body.replica_id):
                    continue
                if end_offset > requested.fetch_offset and body.min_bytes <= 1:
                    return True
                history, last_epoch = log.leader_epoch_cache, requested.last_fetched_epoch
                if may_diverge(history, end_offset, last_epoch, requested.fetch_offset) and diverging_epoch(
                    history, end_offset, last_epoch, requested.fetch_offset
                ):
                    return True
            if end_offset > requested.fetch_offset:
                byte_count = log.bytes_available(requested.fetch_offset, end_offset)
                if byte_count is None:
                    return True  # The fetch offset is below the active segment, or a new one was just rolled.
                accumulated += min(byte_count, requested.partition_max_bytes)
        return accumulated >= body.min_bytes

    def expired(self, request: str) -> None:
        """`max.wait.ms` has passed: responds with what is available."""
        delayed = self._delayed.get(request)
        if delayed is not None:
            delayed.timer_id = 0
            self._complete(delayed, "expired")

    def _complete(self, delayed: DelayedFetch, why: str) -> None:
        if self._delayed.remove(delayed.request) is None:
            return
        if delayed.timer_id:
            self._kernel.scheduler.cancel(delayed.timer_id)
        self._kernel.emit(RequestCompleted(broker=self._name, request=delayed.request, why=why), self._name)
        answers, _ = self._read_all(delayed.body)
        self._respond(delayed.message, delayed.body, answers, delayed.unknown)

    def _respond(
        self, message: Message, body: FetchRequest, answers: list[FetchPartitionResponse], unknown: tuple[str, ...]
    ) -> None:
        if body.version < CONVERSION_ENDS:
            answers = [
                self._convert(answer, requested, body)
                for requested, answer in zip(body.partitions, answers, strict=True)
            ]
        if body.replica_id >= 0:
            # The session of a follower that fetches over TCP, if any, belongs to its connection.
            if body.session_id:
                for name in unknown:
                    self._reported.pop((body.replica_id, name), None)
                answers = [
                    answer
                    for requested, answer in zip(body.partitions, answers, strict=True)
                    if self._is_included(body, requested, answer)
                ]
            self._quota.record_response(answers, self._kernel.scheduler.now_us)
        answers += [FetchPartitionResponse(name, Errors.UNKNOWN_TOPIC_OR_PARTITION) for name in unknown]
        label, fields = describe_fetched(answers)
        self._kernel.respond(message, FetchResponse(tuple(answers)), label=label, fields=fields)

    def _convert(
        self, answer: FetchPartitionResponse, requested: FetchPartition, body: FetchRequest
    ) -> FetchPartitionResponse:
        partition = self._partitions.get(requested.partition)
        if partition is None:
            return answer
        if not self._replicas.era.requests.converts_errors and answer.error is not Errors.NONE:
            return answer
        return convert(answer, requested, partition.log.config, body.version, is_follower=body.replica_id >= 0)

    def _is_included(self, body: FetchRequest, requested: FetchPartition, answer: FetchPartitionResponse) -> bool:
        """Whether an incremental fetch session (KIP-227) includes this partition: records, an error, or watermarks that
        changed.
        """
        key = (body.replica_id, requested.partition)
        if answer.error is not _NONE or answer.diverging_epoch is not None:
            self._reported.pop(key, None)
            return True
        now = (
            answer.high_watermark,
            answer.log_start_offset,
            requested.current_leader_epoch,
            body.replica_epoch,
            body.session_id,
        )
        if not answer.records and self._reported.get(key) == now:
            return False
        self._reported[key] = now
        return True
