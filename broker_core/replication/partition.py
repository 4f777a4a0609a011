"""One replica of one partition on one broker (`kafka.cluster.Partition`).

It makes decisions and emits events; `local_replica` applies them. Bytes are written to the log at the time of the
decision; offsets, roles, the ISR and a leader's view of followers change only in `apply`.
"""

from broker_core.errors import Errors, KafkaException, UnexpectedAppendOffsetException
from broker_core.events.replica import (
    HighWatermarkAdvanced,
    IsrChangeProposed,
    IsrChangeRefused,
    IsrExpanded,
    IsrShrunk,
    RemoteReplicaUpdated,
    ReplicaBecameFollower,
    ReplicaBecameLeader,
    ReplicaWentOffline,
)
from broker_core.log import AppendInfo
from broker_core.partitions import broker_node
from broker_core.records.record_batch import parse_header
from broker_core.replication.high_watermark import candidate
from broker_core.replication.isr import (
    CommittedIsr,
    PendingExpand,
    PendingShrink,
    out_of_sync,
)
from broker_core.replication.local_replica import Role as Role
from broker_core.replication.replica_log import HIGH_WATERMARK as HIGH_WATERMARK
from broker_core.replication.replica_log import UNLINK_TIMER as UNLINK_TIMER
from broker_core.replication.replica_log import ReplicaLog
from broker_core.replication.replica_log import cut_rows as cut_rows
from broker_core.wire.messages import LeaderAndIsrPartition

READ_COMMITTED = 1
"""The isolation level of consumers that do not read open or aborted transactions."""


class Partition(ReplicaLog):
    """The decisions of a replica: its role, its leader, the high watermark and the ISR."""

    def make_leader(self, state: LeaderAndIsrPartition) -> None:
        """Becomes leader (`Partition.makeLeader`).

        The new epoch starts at the log's end and is written first; in older eras it starts with its first record. A
        high watermark past the log's end, which older eras allow, is reset.
        """
        log = self.log
        keeps_followers = self.is_leader and self.era.replication.reelection_keeps_followers
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
        if self.era.replication.leader_epoch_assigned_at == "become_leader":
            self._assign_epoch(state.leader_epoch, log.log_end_offset)
        self.maybe_increment_high_watermark()

    def make_follower(self, state: LeaderAndIsrPartition) -> None:
        """Becomes follower (`Partition.makeFollower`)."""
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
        """Goes offline: neither leads nor follows any more (StopReplica)."""
        self.kernel.emit(ReplicaWentOffline(replica=self.key), self.node)

    def append_as_leader(self, data: bytes, required_acks: int, now_ms: int, *, is_client: bool = True) -> AppendInfo:
        """Appends one produced batch; `is_client` False for one of the broker's own coordinators.

        Raises KafkaException: NOT_ENOUGH_REPLICAS if acks=all and the committed ISR is too small; and the errors of the
        log.
        """
        isr = self.isr_state.isr
        if required_acks == -1 and self._has_too_few(isr):
            raise KafkaException(
                Errors.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR {_braces(isr)} is insufficient to satisfy the min.isr requirement of "
                f"{self.effective_min_isr} for partition {self.name}",
            )
        if self._has_unreported_fetches:
            self._report_fetches()
        changes = self.log.leader_epoch_cache.changes
        try:
            info = self.log.append_as_leader(data, self.leader_epoch, now_ms, is_client)
        except KafkaException:
            self._emit_refused(changes)
            raise
        self._emit_append(info)
        return info

    def append_as_follower(self, data: bytes, now_ms: int) -> None:
        """Appends fetched batches unchanged.

        An empty log starts with the first batch, even if that begins below its start: after DeleteRecords the leader's
        log may start within a batch (`Partition.appendRecordsToFollowerOrFutureReplica`).
        """
        log = self.log
        changes = log.leader_epoch_cache.changes
        try:
            info = log.append_as_follower(data, now_ms)
        except UnexpectedAppendOffsetException as refused:
            first = parse_header(data)
            if not first.base_offset < log.log_start_offset == log.log_end_offset < first.next_offset:
                raise
            self.truncate_fully_and_start_at(first.base_offset, refused.code)
            info = log.append_as_follower(data, now_ms)
        except KafkaException:
            self._emit_refused(changes)
            raise
        self._emit_append(info)

    def _has_too_few(self, isr: tuple[int, ...]) -> bool:
        """Whether an ISR is smaller than `effective_min_isr`, which is at most the setting itself."""
        count = len(isr)
        return count < self.min_insync_replicas and count < self.effective_min_isr

    def maybe_increment_high_watermark(self) -> bool:
        """Applies the leader's rule; returns whether the high watermark advanced."""
        isr_state = self.isr_state
        era = self.era
        if era.replication.high_watermark_needs_min_isr and self._has_too_few(isr_state.isr):
            return False
        reached = candidate(
            self.log.log_end_offset,
            self.remotes,
            isr_state.maximal_isr,
            self.kernel.scheduler.now_us,
            self.lag.time_max_us,
            self.host.is_alive if era.replication.caught_up_replicas_hold_high_watermark else _never_alive,
        )
        if reached <= self.high_watermark:
            return False
        self.kernel.emit(
            HighWatermarkAdvanced(replica=self.key, from_offset=self.high_watermark, to_offset=reached), self.node
        )
        if self.first_unstable_offset >= 0:
            # What is stable stays so.
            self._emit_unstable()
        return True

    def update_follower(self, broker_id: int, fetch_offset: int, log_start_offset: int, broker_epoch: int) -> bool:
        """Records a follower's fetch; returns whether its log end offset changed."""
        remote = self.remotes.get(broker_id)
        if remote is None:
            return False
        remote.log_start_offset = log_start_offset
        remote.broker_epoch = broker_epoch
        before, end_offset = remote.log_end_offset, self.log.log_end_offset
        now_us = self.kernel.scheduler.now_us
        if fetch_offset == before == end_offset == remote.last_fetch_leader_log_end_offset:
            # It stays at the end, where it has no lag. The next append reports when it was last seen there.
            remote.last_fetch_us = now_us
            if now_us > remote.last_caught_up_us:
                remote.last_caught_up_us = now_us
            self._has_unreported_fetches = True
            return False
        caught_up_us = remote.caught_up_us_after_fetch(fetch_offset, end_offset, now_us)
        self._emit_remote(broker_id, before, fetch_offset, caught_up_us)
        return fetch_offset != before

    def _emit_remote(self, broker_id: int, from_offset: int, log_end_offset: int, caught_up_us: int) -> None:
        event = RemoteReplicaUpdated(
            replica=self.key,
            follower=broker_node(broker_id),
            from_offset=from_offset,
            log_end_offset=log_end_offset,
            last_caught_up_us=caught_up_us,
        )
        self.kernel.emit(event, self.node)

    def _report_fetches(self) -> None:
        """Emits when followers that stayed at the end were last seen there: from now on they may lag."""
        self._has_unreported_fetches = False
        for broker_id, remote in self.remotes.items():
            if remote.reported_caught_up_us != remote.last_caught_up_us:
                offset = remote.log_end_offset
                last_fetch_us = remote.last_fetch_us
                self._emit_remote(broker_id, offset, offset, remote.last_caught_up_us)
                remote.last_fetch_us = last_fetch_us

    def readable_end(self, isolation_level: int) -> int:
        """The first offset that a consumer may not read yet."""
        if isolation_level == READ_COMMITTED:
            return self.log.last_stable_offset(self.high_watermark)
        return self.high_watermark

    def count_in_sync_at(self, offset: int) -> int:
        """How many in-sync replicas have reached an offset, this leader among them."""
        others = (self.remotes.get(broker_id) for broker_id in self.isr_state.isr if broker_id != self.broker_id)
        return 1 + sum(1 for remote in others if remote is not None and remote.log_end_offset >= offset)

    def replica_to_add(self, broker_id: int) -> bool:
        """Whether a follower that has just fetched may join the ISR (`Partition.needsExpandIsr`)."""
        isr_state = self.isr_state
        if not isinstance(isr_state, CommittedIsr) or broker_id in isr_state.isr:
            return False
        remote = self.remotes.get(broker_id)
        return (
            remote is not None
            and remote.log_end_offset >= self.high_watermark
            and (remote.log_end_offset >= self.leader_epoch_start_offset or not self.era.isr.joins_from_epoch_start)
            and self.host.is_alive(broker_id)
        )

    def replicas_to_remove(self) -> tuple[int, ...]:
        """The members that lag too long (`Partition.needsShrinkIsr`); none while a change is in flight."""
        if not self.is_leader or not isinstance(self.isr_state, CommittedIsr):
            return ()
        now_us, end_offset = self.kernel.now_us, self.log.log_end_offset
        return out_of_sync(self.isr_state.isr, self.broker_id, self.remotes, end_offset, now_us, self.lag)

    def propose_isr(self, isr_state: PendingExpand | PendingShrink) -> None:
        """Proposes another ISR; until the response each of both is used where it is safer."""
        self.kernel.emit(IsrChangeProposed(replica=self.key, isr=isr_state.proposed_isr), self.node)

    def commit_isr(self, isr: tuple[int, ...], partition_epoch: int) -> bool:
        """Commits a change that is in ZooKeeper; returns whether the high watermark advanced."""
        before = self.isr_state.isr
        kind = IsrExpanded if len(isr) > len(before) else IsrShrunk
        self.kernel.emit(
            kind(replica=self.key, from_isr=before, to_isr=isr, partition_epoch=partition_epoch),
            self.node,
        )
        return self.maybe_increment_high_watermark()

    def refuse_isr(self, error: str) -> None:
        """Reverts a change that was rejected."""
        self.kernel.emit(IsrChangeRefused(replica=self.key, isr=self.isr_state.isr, error=error), self.node)


def _never_alive(broker_id: int) -> bool:
    return False


def _braces(isr: tuple[int, ...]) -> str:
    return f"Set({', '.join(map(str, isr))})"
