"""One replica of one partition on one broker (`kafka.cluster.Partition`).

It decides, states events, and the functions at the end of this file apply them. Bytes go to the log at the moment of
the decision; offsets, roles, the ISR and what a leader believes of others change only in `apply`.
"""

from collections.abc import Callable
from enum import StrEnum

from broker_core.eras import DEFAULT_ERA, ERAS, Era
from broker_core.errors import KafkaError, KafkaException, UnexpectedAppendOffsetException
from broker_core.events.envelope import Event
from broker_core.events.log import (
    BatchAppended,
    Cut,
    FilesMarkedDeleted,
    LeaderEpochsChanged,
    LogClosed,
    LogFlushed,
    LogOpened,
    LogRepaired,
    LogStartOffsetIncremented,
    LogTruncated,
    OffsetIndexEntryAdded,
    SegmentChecked,
    SegmentRolled,
    SegmentRow,
    SegmentsDeleted,
    TimeIndexEntryAdded,
)
from broker_core.events.replica import (
    HighWatermarkAdvanced,
    HighWatermarkLowered,
    IsrChangeProposed,
    IsrChangeRefused,
    IsrExpanded,
    IsrShrunk,
    RemoteReplicaUpdated,
    ReplicaBecameFollower,
    ReplicaBecameLeader,
    ReplicaWentOffline,
)
from broker_core.events.transaction import (
    FirstUnstableOffsetChanged,
    ProducerBatchAppended,
    ProducersExpired,
    TransactionMarkerAppended,
)
from broker_core.log import AppendInfo, RollFact, UnifiedLog
from broker_core.log.append_info import ProducerFact
from broker_core.log.deleted_files import DELETED_SUFFIX
from broker_core.log.retention import delete_old_segments
from broker_core.records.record_batch import parse_header
from broker_core.replication.high_watermark import candidate
from broker_core.replication.isr import (
    CommittedIsr,
    IsrState,
    Lag,
    PendingExpand,
    PendingShrink,
    RemoteReplica,
    out_of_sync,
)
from broker_core.sim.disk import CutFact
from broker_core.sim.kernel import Kernel, Subjects, applies
from broker_core.wire.messages import LeaderAndIsrPartition

TAIL_BATCHES = 40
HIGH_WATERMARK = -1
UNLINK_TIMER = "unlink_files"
"""A broker's timer whose data are the folder and the paths of files that are to leave the disk."""


class Role(StrEnum):
    """What a replica is at this broker.

    OFFLINE: the log is there, nobody has said yet what to be. -> LEADER, FOLLOWER by LeaderAndIsr.
    LEADER: appends what producers send, answers fetches. -> FOLLOWER by LeaderAndIsr, OFFLINE by StopReplica.
    FOLLOWER: fetches from the leader. -> LEADER by LeaderAndIsr, OFFLINE by StopReplica.
    """

    OFFLINE = "offline"
    LEADER = "leader"
    FOLLOWER = "follower"


# Every request asks for it, and a global is found faster than a member of an enumeration.
_LEADER = Role.LEADER


class Partition:
    """See the module. `key` is `orders-0@b1`. Offsets are next offsets; times are simulated microseconds."""

    def __init__(
        self,
        kernel: Kernel,
        node: str,
        broker_id: int,
        name: str,
        log: UnifiedLog,
        *,
        high_watermark: int,
        min_insync_replicas: int,
        replica_lag_time_max_us: int,
        is_alive: Callable[[int], bool],
        replica_lag_max_messages: int = 4_000,
        era: Era = ERAS[DEFAULT_ERA],
        on_truncated: Callable[["Partition"], None] | None = None,
    ) -> None:
        self.kernel = kernel
        self.node = node
        self.broker_id = broker_id
        self.name = name
        self.key = f"{name}@{node}"
        self.log = log
        self.min_insync_replicas = min_insync_replicas
        self.replica_lag_time_max_us = replica_lag_time_max_us
        self.replica_lag_max_messages = replica_lag_max_messages
        self.era = era
        self.is_alive = is_alive
        self.on_truncated = on_truncated
        self.role = Role.OFFLINE
        self.leader_id = -1
        self.leader_epoch = -1
        self.leader_epoch_start_offset = -1
        self.partition_epoch = -1
        self.controller_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.isr_state: IsrState = CommittedIsr(())
        self.remotes: dict[int, RemoteReplica] = {}
        self.high_watermark = max(log.log_start_offset, min(high_watermark, log.log_end_offset))
        log.high_watermark_moved(self.high_watermark)
        self.first_unstable_offset = -1

    # what it is

    @property
    def is_leader(self) -> bool:
        """Whether this broker takes itself for the leader."""
        return self.role is _LEADER

    @property
    def isr(self) -> tuple[int, ...]:
        """The committed ISR as a leader knows it; empty on a follower."""
        return self.isr_state.isr

    @property
    def effective_min_isr(self) -> int:
        """`min.insync.replicas`, at most the number of replicas where the era sees to that."""
        if not self.era.high_watermark_needs_min_isr:
            return self.min_insync_replicas
        return min(self.min_insync_replicas, len(self.replicas)) if self.replicas else self.min_insync_replicas

    def facts(self) -> tuple[tuple[tuple[int, int, int, int], ...], tuple[tuple[int, int, int, int, int, int], ...]]:
        """`(segments, tail)` of the log as LogOpened and LogTruncated carry them."""
        segments = tuple(
            (segment.base_offset, segment.size, segment.offset_index.entries, segment.time_index.entries)
            for segment in self.log.segments
        )
        return segments, self.log.tail_batches(TAIL_BATCHES)

    def synced(self) -> tuple[SegmentRow, ...]:
        """How much of each segment's files a power loss would leave."""
        return tuple((segment.base_offset, *segment.flushed) for segment in self.log.segments)

    def state_opened(self) -> None:
        """States that the log is open, with what it holds."""
        segments, tail = self.facts()
        log = self.log
        self.kernel.emit(
            LogOpened(
                replica=self.key,
                topic_id=log.topic_id or "",
                log_start_offset=log.log_start_offset,
                log_end_offset=log.log_end_offset,
                high_watermark=self.high_watermark,
                recovery_point=log.recovery_point,
                epochs=tuple(log.leader_epoch_cache.entries),
                segments=segments,
                tail=tail,
                synced=self.synced(),
            ),
            self.node,
        )
        self._state_repairs()
        self.state_deleted_files()
        self._state_unstable()

    def _state_unstable(self) -> None:
        """States that readers with isolation.level=read_committed stop somewhere else from now on."""
        first = self.log.first_unstable_offset
        offset = -1 if first is None else first
        if offset != self.first_unstable_offset:
            self.kernel.emit(
                FirstUnstableOffsetChanged(replica=self.key, from_offset=self.first_unstable_offset, to_offset=offset),
                self.node,
            )

    def _state_producers(self, producers: tuple[ProducerFact, ...]) -> None:
        for fact in producers:
            if fact.marker is None:
                event: Event = ProducerBatchAppended(
                    replica=self.key,
                    producer_id=fact.producer_id,
                    producer_epoch=fact.producer_epoch,
                    first_sequence=fact.first_sequence,
                    last_sequence=fact.last_sequence,
                    base_offset=fact.base_offset,
                    last_offset=fact.last_offset,
                    is_transactional=fact.is_transactional,
                )
            else:
                control_type, coordinator_epoch = fact.marker
                event = TransactionMarkerAppended(
                    replica=self.key,
                    producer_id=fact.producer_id,
                    producer_epoch=fact.producer_epoch,
                    coordinator_epoch=coordinator_epoch,
                    offset=fact.base_offset,
                    result=control_type.name,
                    first_offset=-1 if fact.transaction_first_offset is None else fact.transaction_first_offset,
                )
            self.kernel.emit(event, self.node)
        self._state_unstable()

    def expire_producers(self, now_ms: int) -> None:
        """Forgets producers that have not written for producer.id.expiration.ms."""
        expired = self.log.producer_state.remove_expired(now_ms)
        if expired:
            self.kernel.emit(ProducersExpired(replica=self.key, producer_ids=expired), self.node)

    def _state_repairs(self) -> None:
        """States what loading the log checked and repaired."""
        log, emit = self.log, self.kernel.emit
        sizes = {segment.base_offset: segment.size for segment in log.segments}
        for base_offset in log.checked_segments:
            if base_offset in sizes:
                emit(SegmentChecked(replica=self.key, segment=base_offset, size=sizes[base_offset]), self.node)
        for fact in log.repairs:
            emit(
                LogRepaired(
                    replica=self.key,
                    file=fact.file,
                    repair=fact.repair.value,
                    position=fact.position,
                    length=fact.length,
                    rule=fact.rule,
                    digest=fact.digest or "",
                ),
                self.node,
            )

    # becoming something

    def make_leader(self, state: LeaderAndIsrPartition) -> None:
        """Leads from now on (`Partition.makeLeader`). The new epoch begins at this log's end, written down before
        anything else; or with its first record, as the era has it. A high watermark beyond the log, which older eras
        leave behind, says nothing any more.
        """
        log = self.log
        keeps_followers = self.is_leader and self.era.reelection_keeps_followers
        if self.high_watermark > log.log_end_offset:
            self._lower_high_watermark(log.log_start_offset)
        self.replicas = state.replicas
        remotes = []
        for broker_id in state.replicas:
            if broker_id != self.broker_id:
                known = self.remotes.get(broker_id) if keeps_followers else None
                remotes.append(
                    (
                        broker_id,
                        known.log_end_offset if known is not None else -1,
                        self.kernel.now_us if broker_id in state.isr else 0,
                    )
                )
        self.kernel.emit(
            ReplicaBecameLeader(
                replica=self.key,
                leader_epoch=state.leader_epoch,
                leader_epoch_start_offset=log.log_end_offset,
                partition_epoch=state.partition_epoch,
                controller_epoch=state.controller_epoch,
                isr=state.isr,
                remotes=tuple(remotes),
            ),
            self.node,
        )
        if self.era.leader_epoch_assigned_at == "become_leader":
            self._assign_epoch(state.leader_epoch, log.log_end_offset)
        self.maybe_increment_high_watermark()

    def make_follower(self, state: LeaderAndIsrPartition) -> None:
        """Follows from now on (`Partition.makeFollower`)."""
        self.replicas = state.replicas
        self.kernel.emit(
            ReplicaBecameFollower(
                replica=self.key,
                leader=state.leader,
                leader_epoch=state.leader_epoch,
                partition_epoch=state.partition_epoch,
                controller_epoch=state.controller_epoch,
            ),
            self.node,
        )

    def go_offline(self) -> None:
        """Neither leads nor follows any more (StopReplica)."""
        self.kernel.emit(ReplicaWentOffline(replica=self.key), self.node)

    # appending

    def append_as_leader(self, data: bytes, required_acks: int, now_ms: int, *, is_client: bool = True) -> AppendInfo:
        """Appends one produced batch; `is_client` False for one of the broker's own coordinators.

        Raises KafkaException: NOT_ENOUGH_REPLICAS when acks=all and the committed ISR is too small; what the log
        refuses.
        """
        isr = self.isr_state.isr
        if required_acks == -1 and len(isr) < self.effective_min_isr:
            raise KafkaException(
                KafkaError.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR {_braces(isr)} is insufficient to satisfy the min.isr requirement of "
                f"{self.effective_min_isr} for partition {self.name}",
            )
        epoch = self.log.leader_epoch_cache.latest_epoch
        try:
            info = self.log.append_as_leader(data, self.leader_epoch, now_ms, is_client)
        except KafkaException:
            self._state_epochs_of_refused(epoch)
            raise
        self._state_append(info)
        return info

    def append_as_follower(self, data: bytes, now_ms: int) -> None:
        """Appends what was fetched, as it is.

        A log that is empty begins with the first batch, even if that reaches back below its start: the leader's log
        may start within a batch since DeleteRecords (`Partition.appendRecordsToFollowerOrFutureReplica`).
        """
        log = self.log
        epoch = log.leader_epoch_cache.latest_epoch
        try:
            info = log.append_as_follower(data, now_ms)
        except UnexpectedAppendOffsetException as refused:
            first = parse_header(data)
            if not first.base_offset < log.log_start_offset == log.log_end_offset < first.next_offset:
                raise
            self.truncate_fully_and_start_at(first.base_offset, refused.message)
            info = log.append_as_follower(data, now_ms)
        except KafkaException:
            self._state_epochs_of_refused(epoch)
            raise
        self._state_append(info)

    def _state_epochs_of_refused(self, before: int) -> None:
        """A batch that no segment can hold is refused when the epoch cache knows its epoch already."""
        cache = self.log.leader_epoch_cache
        if cache.latest_epoch != before:
            self.kernel.emit(LeaderEpochsChanged(replica=self.key, entries=cache.entries), self.node)

    def _state_append(self, info: AppendInfo) -> None:
        emit, key, node = self.kernel.emit, self.key, self.node
        if info.epoch_entries:
            # The cache is told before anything is written.
            emit(LeaderEpochsChanged(replica=key, entries=tuple(self.log.leader_epoch_cache.entries)), node)
        for roll in info.rolled:
            self._state_roll(roll)
        for batch in info.batches:
            emit(
                BatchAppended(
                    replica=key,
                    base_offset=batch.base_offset,
                    last_offset=batch.last_offset,
                    leader_epoch=batch.leader_epoch,
                    segment=info.segment_base,
                    position=batch.position,
                    size=batch.size,
                    max_timestamp=batch.max_timestamp,
                    crc=batch.crc,
                ),
                node,
            )
        if info.producers:
            self._state_producers(info.producers)
        for offset, position in info.index_entries:
            emit(OffsetIndexEntryAdded(replica=key, segment=info.segment_base, offset=offset, position=position), node)
        for timestamp, offset in info.time_index_entries:
            emit(TimeIndexEntryAdded(replica=key, segment=info.segment_base, timestamp=timestamp, offset=offset), node)
        if self.log.is_flush_due:
            self.flush()

    def _state_roll(self, roll: RollFact) -> None:
        self.kernel.emit(
            SegmentRolled(
                replica=self.key,
                segment=roll.new_base_offset,
                previous_segment=roll.old_base_offset,
                previous_size=roll.old_size,
            ),
            self.node,
        )
        for timestamp, offset in roll.time_index_entries:
            self.kernel.emit(
                TimeIndexEntryAdded(replica=self.key, segment=roll.old_base_offset, timestamp=timestamp, offset=offset),
                self.node,
            )
        self.state_deleted_files()
        # Kafka hands this to a background thread at once (`UnifiedLog.roll`).
        self.flush(roll.new_base_offset, states_always=True)

    def _assign_epoch(self, leader_epoch: int, start_offset: int) -> None:
        cache = self.log.leader_epoch_cache
        before = list(cache.entries)
        cache.assign(leader_epoch, start_offset)
        if list(cache.entries) != before:
            self.kernel.emit(LeaderEpochsChanged(replica=self.key, entries=tuple(cache.entries)), self.node)

    # the high watermark

    def maybe_increment_high_watermark(self) -> bool:
        """The leader's rule; True when it moved."""
        isr_state = self.isr_state
        era = self.era
        if era.high_watermark_needs_min_isr and len(isr_state.isr) < self.effective_min_isr:
            return False
        reached = candidate(
            self.log.log_end_offset,
            self.remotes,
            isr_state.maximal_isr,
            self.kernel.now_us,
            self.replica_lag_time_max_us,
            self.is_alive if era.caught_up_replicas_hold_high_watermark else _nobody,
        )
        if reached <= self.high_watermark:
            return False
        self.kernel.emit(
            HighWatermarkAdvanced(replica=self.key, from_offset=self.high_watermark, to_offset=reached), self.node
        )
        self._state_unstable()
        return True

    def update_follower_high_watermark(self, leader_high_watermark: int) -> None:
        """The follower's rule: the leader's, as far as the own log reaches. It may go down."""
        log = self.log
        reached = max(log.log_start_offset, min(leader_high_watermark, log.log_end_offset))
        if reached > self.high_watermark:
            self.kernel.emit(
                HighWatermarkAdvanced(replica=self.key, from_offset=self.high_watermark, to_offset=reached), self.node
            )
        else:
            self._lower_high_watermark(reached)
        self._state_unstable()

    # followers, as the leader sees them

    def update_follower(self, broker_id: int, fetch_offset: int, log_start_offset: int, broker_epoch: int) -> bool:
        """Takes note of a follower's fetch; True when its log end offset is news."""
        remote = self.remotes.get(broker_id)
        if remote is None:
            return False
        remote.log_start_offset = log_start_offset
        remote.broker_epoch = broker_epoch
        before = remote.log_end_offset
        self.kernel.emit(
            RemoteReplicaUpdated(
                replica=self.key,
                follower=f"b{broker_id}",
                from_offset=before,
                log_end_offset=fetch_offset,
                last_caught_up_us=remote.caught_up_us_after_fetch(
                    fetch_offset, self.log.log_end_offset, self.kernel.now_us
                ),
            ),
            self.node,
        )
        return fetch_offset != before

    def replica_to_add(self, broker_id: int) -> bool:
        """Whether a follower that has just fetched may join the ISR (`Partition.needsExpandIsr`)."""
        isr_state = self.isr_state
        if not isinstance(isr_state, CommittedIsr) or broker_id in isr_state.isr:
            return False
        remote = self.remotes.get(broker_id)
        return (
            remote is not None
            and remote.log_end_offset >= self.high_watermark
            and (remote.log_end_offset >= self.leader_epoch_start_offset or not self.era.joins_isr_from_epoch_start)
            and self.is_alive(broker_id)
        )

    def replicas_to_remove(self) -> tuple[int, ...]:
        """The members that lag too long (`Partition.needsShrinkIsr`); none while a change is under way."""
        if not self.is_leader or not isinstance(self.isr_state, CommittedIsr):
            return ()
        now_us, end_offset = self.kernel.now_us, self.log.log_end_offset
        lag = Lag(self.era.isr_lag, self.replica_lag_time_max_us, self.replica_lag_max_messages)
        return out_of_sync(self.isr_state.isr, self.broker_id, self.remotes, end_offset, now_us, lag)

    def propose_isr(self, isr_state: PendingExpand | PendingShrink) -> None:
        """The leader asks for another ISR; until the answer both count as each is safer."""
        self.kernel.emit(IsrChangeProposed(replica=self.key, isr=isr_state.proposed_isr), self.node)

    def commit_isr(self, isr: tuple[int, ...], partition_epoch: int) -> bool:
        """The change is in ZooKeeper. True when the high watermark moved because of it."""
        before = self.isr_state.isr
        kind = IsrExpanded if len(isr) > len(before) else IsrShrunk
        self.kernel.emit(
            kind(replica=self.key, from_isr=before, to_isr=isr, partition_epoch=partition_epoch),
            self.node,
        )
        return self.maybe_increment_high_watermark()

    def refuse_isr(self, error: str) -> None:
        """The change was refused and did not happen."""
        self.kernel.emit(IsrChangeRefused(replica=self.key, isr=self.isr_state.isr, error=error), self.node)

    # files

    def truncate_to(self, offset: int, why: str) -> None:
        """Cuts the log so that `offset` is the next one."""
        log = self.log
        from_offset = log.log_end_offset
        entries = list(log.leader_epoch_cache.entries)
        if offset >= from_offset and not self.era.truncation_at_end_drops_epochs:
            return
        cuts = log.truncate_to(offset)
        if log.log_end_offset != from_offset:
            segments, tail = self.facts()
            log.high_watermark_moved(self.high_watermark)
            self.kernel.emit(
                LogTruncated(
                    replica=self.key,
                    from_offset=from_offset,
                    to_offset=log.log_end_offset,
                    why=why,
                    cuts=cut_rows(cuts),
                    segments=segments,
                    tail=tail,
                    synced=self.synced(),
                ),
                self.node,
            )
            if self.era.truncation_lowers_high_watermark:
                self._lower_high_watermark(log.log_end_offset)
            self._state_truncated()
        self._state_epochs(entries)

    def truncate_fully_and_start_at(self, offset: int, why: str) -> None:
        """Drops everything and goes on at `offset`, which lies outside the own log."""
        log = self.log
        from_offset = log.log_end_offset
        entries = list(log.leader_epoch_cache.entries)
        cuts = log.truncate_fully_and_start_at(offset)
        segments, tail = self.facts()
        self.kernel.emit(
            LogTruncated(
                replica=self.key,
                from_offset=from_offset,
                to_offset=offset,
                why=why,
                cuts=cut_rows(cuts),
                segments=segments,
                tail=tail,
                synced=self.synced(),
            ),
            self.node,
        )
        self._lower_high_watermark(log.log_end_offset)
        self._state_truncated()
        self._state_epochs(entries)
        self.update_follower_high_watermark(max(offset, self.high_watermark))

    def _state_epochs(self, before: list[tuple[int, int]]) -> None:
        """What follows from a truncation, beside the bytes: the epochs, and which transactions are open."""
        self._state_unstable()
        entries = self.log.leader_epoch_cache.entries
        if list(entries) != before:
            self.kernel.emit(LeaderEpochsChanged(replica=self.key, entries=tuple(entries)), self.node)

    def _lower_high_watermark(self, most: int) -> None:
        if self.high_watermark > most:
            self.kernel.emit(
                HighWatermarkLowered(replica=self.key, from_offset=self.high_watermark, to_offset=most), self.node
            )

    def _state_truncated(self) -> None:
        self.state_deleted_files()
        if self.on_truncated is not None:
            self.on_truncated(self)

    def flush(self, up_to: int | None = None, *, states_always: bool = False) -> None:
        """Makes everything below `up_to`, or all, survive a power loss; the recovery point follows.

        `states_always`: also where no batch had to be flushed, but the end of an index.
        """
        before = self.log.recovery_point
        self.log.flush(up_to)
        if states_always or self.log.recovery_point != before:
            self._state_flush(before)

    def flush_if_old(self, now_ms: int) -> None:
        """Flushes what flush.ms says has waited long enough."""
        before = self.log.recovery_point
        if self.log.flush_if_old(now_ms):
            self._state_flush(before)

    def _state_flush(self, before: int) -> None:
        segments = tuple(segment.base_offset for segment in self.log.segments_flushed_since(before))
        offset = self.log.recovery_point
        self.kernel.emit(LogFlushed(replica=self.key, offset=offset, segments=segments), self.node)

    # what the log gives up

    @property
    def low_watermark(self) -> int:
        """The leader's: the first offset that some living replica may still have (`lowWatermarkIfLeader`)."""
        starts = [remote.log_start_offset for broker_id, remote in self.remotes.items() if self.is_alive(broker_id)]
        return min([self.log.log_start_offset, *starts])

    def delete_records(self, offset: int) -> int:
        """Forgets the records below `offset`, or below the high watermark (-1); returns the offset that this means.

        Raises KafkaException: POLICY_VIOLATION where nothing may be deleted, OFFSET_OUT_OF_RANGE beyond the high
        watermark (`Partition.deleteRecordsOnLeader`, KIP-107).
        """
        if "delete" not in self.log.config.cleanup_policy:
            raise KafkaException(
                KafkaError.POLICY_VIOLATION,
                f"Records of partition {self.name} can not be deleted due to the configured policy",
            )
        target = self.high_watermark if offset == HIGH_WATERMARK else offset
        if target < 0:
            raise KafkaException(
                KafkaError.OFFSET_OUT_OF_RANGE, f"The offset {target} for partition {self.name} is not valid"
            )
        self.increment_log_start_offset(target, "client delete records request")
        return target

    def increment_log_start_offset(self, offset: int, why: str) -> None:
        """Lets the log begin at `offset`, if it begins below. Raises OFFSET_OUT_OF_RANGE beyond the high watermark."""
        if offset > self.high_watermark:
            raise KafkaException(
                KafkaError.OFFSET_OUT_OF_RANGE,
                f"Cannot increment the log start offset to {offset} of partition {self.name} since it is larger than "
                f"the high watermark {self.high_watermark}",
            )
        before, epochs = self._log_start()
        self.log.increment_log_start_offset(offset)
        self._state_log_start(before, epochs, why)

    def delete_old_segments(self, now_ms: int) -> None:
        """Deletes the segments that the topic's retention lets go, and those below the log's start."""
        before, epochs = self._log_start()
        for deletion in delete_old_segments(self.log, self.high_watermark, now_ms):
            if deletion.rolled is not None:
                self._state_roll(deletion.rolled)
            self._state_log_start(before, epochs, "segment deletion")
            self.kernel.emit(SegmentsDeleted(replica=self.key, segments=deletion.segments, why=deletion.why), self.node)
            self.state_deleted_files()
            before, epochs = self._log_start()

    def _log_start(self) -> tuple[int, tuple[tuple[int, int], ...]]:
        return self.log.log_start_offset, self.log.leader_epoch_cache.entries

    def _state_log_start(self, before: int, epochs: tuple[tuple[int, int], ...], why: str) -> None:
        start, entries = self._log_start()
        if start != before:
            self.kernel.emit(
                LogStartOffsetIncremented(replica=self.key, from_offset=before, to_offset=start, why=why), self.node
            )
            self._state_unstable()
        if entries != epochs:
            self.kernel.emit(LeaderEpochsChanged(replica=self.key, entries=entries), self.node)

    def state_deleted_files(self) -> None:
        """States which files were renamed to `.deleted`; a timer unlinks them after file.delete.delay.ms."""
        files = self.log.take_deleted_files()
        if not files:
            return
        due_us = self.kernel.now_us + self.log.config.file_delete_delay_ms * 1_000
        self.kernel.emit(
            FilesMarkedDeleted(
                replica=self.key,
                count=len(files),
                files=tuple((file.path, file.size) for file in files),
                due_us=due_us,
                cuts=cut_rows(tuple(file.replaced for file in files if file.replaced is not None)),
            ),
            self.node,
        )
        paths = tuple(file.path + DELETED_SUFFIX for file in files)
        self.kernel.timer(self.node, due_us, UNLINK_TIMER, (self.log.directory, paths))

    def close(self, clean: bool) -> None:
        """The process ends; `clean` trims and flushes, as an orderly shutdown does."""
        if clean:
            self.flush()
            self.log.close(clean=True)
        self.kernel.emit(LogClosed(replica=self.key, clean=clean), self.node)

    def description(self) -> dict[str, object]:
        """This replica as the view shows it; what folding its events must give."""
        isr_state = self.isr_state
        segments, tail = self.facts()
        log = self.log
        return {
            "role": self.role.value,
            "leader": self.leader_id,
            "leader_epoch": self.leader_epoch,
            "leader_epoch_start_offset": self.leader_epoch_start_offset,
            "log_start_offset": log.log_start_offset,
            "log_end_offset": log.log_end_offset,
            "high_watermark": self.high_watermark,
            "first_unstable_offset": self.first_unstable_offset,
            "isr": list(isr_state.isr) if self.is_leader else [],
            "pending_isr": None if isinstance(isr_state, CommittedIsr) else list(isr_state.proposed_isr),
            "partition_epoch": self.partition_epoch,
            "remotes": {
                f"b{broker_id}": {
                    "log_end_offset": remote.log_end_offset,
                    "last_caught_up_us": remote.last_caught_up_us,
                }
                for broker_id, remote in self.remotes.items()
            },
            "flushed": log.recovery_point,
            "synced": [list(row) for row in self.synced()],
            "epochs": [list(entry) for entry in log.leader_epoch_cache.entries],
            "segments": [list(segment) for segment in segments],
            "tail": [list(batch) for batch in tail],
        }


def _nobody(broker_id: int) -> bool:
    return False


def _braces(isr: tuple[int, ...]) -> str:
    return f"Set({', '.join(map(str, isr))})"


# apply: the only code that changes what a replica is and what a leader believes


@applies(ReplicaBecameLeader)
def _became_leader(subjects: Subjects, event: ReplicaBecameLeader, at_us: int) -> None:
    partition: Partition = subjects[event.replica]
    partition.role = Role.LEADER
    partition.leader_id = partition.broker_id
    partition.leader_epoch = event.leader_epoch
    partition.leader_epoch_start_offset = event.leader_epoch_start_offset
    partition.partition_epoch = event.partition_epoch
    partition.controller_epoch = event.controller_epoch
    partition.isr_state = CommittedIsr(event.isr)
    partition.remotes = {
        broker_id: RemoteReplica(
            log_end_offset=log_end_offset,
            last_caught_up_us=last_caught_up_us,
            last_fetch_us=last_caught_up_us,
            last_fetch_leader_log_end_offset=event.leader_epoch_start_offset,
        )
        for broker_id, log_end_offset, last_caught_up_us in event.remotes
    }


@applies(ReplicaBecameFollower)
def _became_follower(subjects: Subjects, event: ReplicaBecameFollower, at_us: int) -> None:
    partition: Partition = subjects[event.replica]
    partition.role = Role.FOLLOWER
    partition.leader_id = event.leader
    partition.leader_epoch = event.leader_epoch
    partition.leader_epoch_start_offset = -1
    partition.partition_epoch = event.partition_epoch
    partition.controller_epoch = event.controller_epoch
    partition.isr_state = CommittedIsr(())
    partition.remotes = {}


@applies(ReplicaWentOffline)
def _went_offline(subjects: Subjects, event: ReplicaWentOffline, at_us: int) -> None:
    partition: Partition = subjects[event.replica]
    partition.role = Role.OFFLINE
    partition.leader_id = -1
    partition.leader_epoch_start_offset = -1
    partition.isr_state = CommittedIsr(())
    partition.remotes = {}


@applies(HighWatermarkAdvanced, HighWatermarkLowered)
def _high_watermark(subjects: Subjects, event: HighWatermarkAdvanced | HighWatermarkLowered, at_us: int) -> None:
    partition: Partition = subjects[event.replica]
    partition.high_watermark = event.to_offset
    partition.log.high_watermark_moved(event.to_offset)


@applies(FirstUnstableOffsetChanged)
def _first_unstable_offset(subjects: Subjects, event: FirstUnstableOffsetChanged, at_us: int) -> None:
    subjects[event.replica].first_unstable_offset = event.to_offset


@applies(RemoteReplicaUpdated)
def _remote_updated(subjects: Subjects, event: RemoteReplicaUpdated, at_us: int) -> None:
    partition: Partition = subjects[event.replica]
    remote = partition.remotes[int(event.follower[1:])]
    remote.log_end_offset = event.log_end_offset
    remote.last_caught_up_us = event.last_caught_up_us
    remote.last_fetch_leader_log_end_offset = partition.log.log_end_offset
    remote.last_fetch_us = at_us


@applies(IsrChangeProposed)
def _isr_proposed(subjects: Subjects, event: IsrChangeProposed, at_us: int) -> None:
    partition: Partition = subjects[event.replica]
    isr = partition.isr_state.isr
    added = [broker_id for broker_id in event.isr if broker_id not in isr]
    if added:
        partition.isr_state = PendingExpand(isr, added[0])
    else:
        partition.isr_state = PendingShrink(isr, tuple(broker_id for broker_id in isr if broker_id not in event.isr))


@applies(IsrShrunk, IsrExpanded)
def _isr_changed(subjects: Subjects, event: IsrShrunk | IsrExpanded, at_us: int) -> None:
    partition: Partition = subjects[event.replica]
    partition.isr_state = CommittedIsr(event.to_isr)
    partition.partition_epoch = event.partition_epoch


@applies(IsrChangeRefused)
def _isr_refused(subjects: Subjects, event: IsrChangeRefused, at_us: int) -> None:
    subjects[event.replica].isr_state = CommittedIsr(event.isr)


def cut_rows(cuts: tuple[CutFact, ...]) -> tuple[Cut, ...]:
    """Removed bytes as events carry them."""
    return tuple((cut.file, cut.position, cut.length, cut.digest or "") for cut in cuts)
