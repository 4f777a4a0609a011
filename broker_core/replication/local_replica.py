"""The state of a replica, a leader's view of its followers, and the only code that changes either."""

from enum import StrEnum
from typing import Protocol

from broker_core.eras import Era
from broker_core.events.log import (
    TAIL_BATCHES,
    SegmentRow,
    TailRow,
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
)
from broker_core.log import UnifiedLog
from broker_core.partitions import broker_id_of, broker_node, replica_name
from broker_core.replication.isr import (
    CommittedIsr,
    IsrState,
    Lag,
    PendingExpand,
    PendingShrink,
    RemoteReplica,
)
from broker_core.sim.kernel import Kernel, Subjects, applies


class Role(StrEnum):
    """The role of a replica at this broker.

    OFFLINE: the log is loaded, and no LeaderAndIsr has arrived yet. -> LEADER, FOLLOWER by LeaderAndIsr.
    LEADER: appends batches of producers, serves fetches. -> FOLLOWER by LeaderAndIsr, OFFLINE by StopReplica.
    FOLLOWER: fetches from the leader. -> LEADER by LeaderAndIsr, OFFLINE by StopReplica.
    """

    OFFLINE = "offline"
    LEADER = "leader"
    FOLLOWER = "follower"


class PartitionHost(Protocol):
    """What a replica needs of its broker."""

    kernel: Kernel
    name: str
    broker_id: int
    era: Era

    def is_alive(self, broker_id: int) -> bool:
        """Whether the metadata list a broker."""

    def log_truncated(self, replica: "LocalReplica") -> None:
        """Called when a replica's log was truncated."""


class LocalReplica:
    """One replica of one partition on one broker. `key` is `orders-0@b1`. Offsets are next offsets; times are simulated
    microseconds. All of its state except the log changes only in the `apply` functions below.
    """

    def __init__(
        self,
        host: PartitionHost,
        name: str,
        log: UnifiedLog,
        *,
        high_watermark: int,
        min_insync_replicas: int,
        lag: Lag,
    ) -> None:
        self.host = host
        self.kernel = host.kernel
        self.node = host.name
        self.broker_id = host.broker_id
        self.era = host.era
        self.name = name
        self.key = replica_name(name, host.name)
        self.log = log
        self.min_insync_replicas = min_insync_replicas
        self.lag = lag
        self.become(Role.OFFLINE, -1)
        self.leader_epoch = -1
        self.leader_epoch_start_offset = -1
        self.partition_epoch = -1
        self.controller_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.isr_state: IsrState = CommittedIsr(())
        self.remotes: dict[int, RemoteReplica] = {}
        self._has_unreported_fetches = False
        self.high_watermark = max(log.log_start_offset, min(high_watermark, log.log_end_offset))
        log.high_watermark_moved(self.high_watermark)
        self.first_unstable_offset = -1

    def become(self, role: Role, leader_id: int) -> None:
        """Changes the role and the leader."""
        self.role = role
        self.is_leader = role is Role.LEADER
        """Whether this broker acts as the leader."""
        self.leader_id = leader_id

    @property
    def isr(self) -> tuple[int, ...]:
        """The committed ISR in the leader's view; empty on a follower."""
        return self.isr_state.isr

    @property
    def effective_min_isr(self) -> int:
        """`min.insync.replicas`, limited to the number of replicas if the era does so."""
        if not self.era.replication.high_watermark_needs_min_isr:
            return self.min_insync_replicas
        return min(self.min_insync_replicas, len(self.replicas)) if self.replicas else self.min_insync_replicas

    def facts(self) -> tuple[tuple[SegmentRow, ...], tuple[TailRow, ...]]:
        """`(segments, tail)` of the log as LogOpened and LogTruncated carry them."""
        segments = tuple(
            (segment.base_offset, segment.size, segment.offset_index.entries, segment.time_index.entries)
            for segment in self.log.segments
        )
        return segments, self.log.tail_batches(TAIL_BATCHES)

    def synced(self) -> tuple[SegmentRow, ...]:
        """The part of each segment's files that survives a power loss."""
        return tuple((segment.base_offset, *segment.flushed) for segment in self.log.segments)

    def description(self) -> dict[str, object]:
        """This replica as shown in the view; equals the result of folding its events."""
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
                broker_node(broker_id): {
                    "log_end_offset": remote.log_end_offset,
                    "last_caught_up_us": remote.reported_caught_up_us,
                }
                for broker_id, remote in self.remotes.items()
            },
            "flushed": log.recovery_point,
            "synced": [list(row) for row in self.synced()],
            "epochs": [list(entry) for entry in log.leader_epoch_cache.entries],
            "segments": [list(segment) for segment in segments],
            "tail": [list(batch) for batch in tail],
        }


@applies(ReplicaBecameLeader)
def _became_leader(subjects: Subjects, event: ReplicaBecameLeader, at_us: int) -> None:
    partition: LocalReplica = subjects[event.replica]
    partition.become(Role.LEADER, partition.broker_id)
    partition.leader_epoch = event.leader_epoch
    partition.leader_epoch_start_offset = event.leader_epoch_start_offset
    partition.partition_epoch = event.partition_epoch
    partition.controller_epoch = event.controller_epoch
    partition.isr_state = CommittedIsr(event.isr)
    partition.remotes = {
        broker_id: RemoteReplica(
            log_end_offset=log_end_offset,
            last_caught_up_us=last_caught_up_us,
            reported_caught_up_us=last_caught_up_us,
            last_fetch_us=last_caught_up_us,
            last_fetch_leader_log_end_offset=event.leader_epoch_start_offset,
        )
        for broker_id, log_end_offset, last_caught_up_us in event.remotes
    }


@applies(ReplicaBecameFollower)
def _became_follower(subjects: Subjects, event: ReplicaBecameFollower, at_us: int) -> None:
    partition: LocalReplica = subjects[event.replica]
    partition.become(Role.FOLLOWER, event.leader)
    partition.leader_epoch = event.leader_epoch
    partition.leader_epoch_start_offset = -1
    partition.partition_epoch = event.partition_epoch
    partition.controller_epoch = event.controller_epoch
    partition.isr_state = CommittedIsr(())
    partition.remotes = {}


@applies(ReplicaWentOffline)
def _went_offline(subjects: Subjects, event: ReplicaWentOffline, at_us: int) -> None:
    partition: LocalReplica = subjects[event.replica]
    partition.become(Role.OFFLINE, -1)
    partition.leader_epoch_start_offset = -1
    partition.isr_state = CommittedIsr(())
    partition.remotes = {}


@applies(HighWatermarkAdvanced, HighWatermarkLowered)
def _high_watermark(subjects: Subjects, event: HighWatermarkAdvanced | HighWatermarkLowered, at_us: int) -> None:
    partition: LocalReplica = subjects[event.replica]
    partition.high_watermark = event.to_offset
    partition.log.high_watermark_moved(event.to_offset)


@applies(FirstUnstableOffsetChanged)
def _first_unstable_offset(subjects: Subjects, event: FirstUnstableOffsetChanged, at_us: int) -> None:
    subjects[event.replica].first_unstable_offset = event.to_offset


@applies(RemoteReplicaUpdated)
def _remote_updated(subjects: Subjects, event: RemoteReplicaUpdated, at_us: int) -> None:
    partition: LocalReplica = subjects[event.replica]
    remote = partition.remotes[broker_id_of(event.follower)]
    remote.log_end_offset = event.log_end_offset
    remote.last_caught_up_us = remote.reported_caught_up_us = event.last_caught_up_us
    remote.last_fetch_leader_log_end_offset = partition.log.log_end_offset
    remote.last_fetch_us = at_us


@applies(IsrChangeProposed)
def _isr_proposed(subjects: Subjects, event: IsrChangeProposed, at_us: int) -> None:
    partition: LocalReplica = subjects[event.replica]
    isr = partition.isr_state.isr
    added = [broker_id for broker_id in event.isr if broker_id not in isr]
    if added:
        partition.isr_state = PendingExpand(isr, added[0])
    else:
        partition.isr_state = PendingShrink(isr, tuple(broker_id for broker_id in isr if broker_id not in event.isr))


@applies(IsrShrunk, IsrExpanded)
def _isr_changed(subjects: Subjects, event: IsrShrunk | IsrExpanded, at_us: int) -> None:
    partition: LocalReplica = subjects[event.replica]
    partition.isr_state = CommittedIsr(event.to_isr)
    partition.partition_epoch = event.partition_epoch


@applies(IsrChangeRefused)
def _isr_refused(subjects: Subjects, event: IsrChangeRefused, at_us: int) -> None:
    subjects[event.replica].isr_state = CommittedIsr(event.isr)
