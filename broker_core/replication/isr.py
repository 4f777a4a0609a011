"""The in-sync replicas of a partition as its leader knows them (`kafka.cluster.PartitionState`, KIP-497).

States that carry different data are different types: a proposed change without a response is applied in the safe
direction only. A replica being added already holds the high watermark back; one being removed still does.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from broker_core.eras import IsrLag


class CommittedIsr(msgspec.Struct, frozen=True, gc=False):
    """The ISR that ZooKeeper holds."""

    isr: tuple[int, ...]

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        return self.isr


class PendingExpand(msgspec.Struct, frozen=True, gc=False):
    """The leader has proposed to add `new_replica` to `isr`."""

    isr: tuple[int, ...]
    new_replica: int

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        return (*self.isr, self.new_replica)

    @property
    def proposed_isr(self) -> tuple[int, ...]:
        return self.maximal_isr


class PendingShrink(msgspec.Struct, frozen=True, gc=False):
    """The leader has proposed to remove `removed` from `isr`."""

    isr: tuple[int, ...]
    removed: tuple[int, ...]

    @property
    def maximal_isr(self) -> tuple[int, ...]:
        return self.isr

    @property
    def proposed_isr(self) -> tuple[int, ...]:
        return tuple(broker_id for broker_id in self.isr if broker_id not in self.removed)


IsrState = CommittedIsr | PendingExpand | PendingShrink


class RemoteReplica(msgspec.Struct):
    """A leader's view of a follower, based on the follower's fetches (`kafka.cluster.Replica`).

    `log_end_offset` -1 = unknown. Times are simulated microseconds, 0 = never. `reported_caught_up_us` is the
    `last_caught_up_us` of the last event.
    """

    log_end_offset: int = -1
    log_start_offset: int = -1
    last_fetch_leader_log_end_offset: int = 0
    last_fetch_us: int = 0
    last_caught_up_us: int = 0
    broker_epoch: int = -1
    last_sent_high_watermark: int = -1
    reported_caught_up_us: int = 0

    def caught_up_us_after_fetch(self, fetch_offset: int, leader_log_end_offset: int, now_us: int) -> int:
        """When this replica was last caught up, once it fetches at `fetch_offset`: now if it has everything; the time
        of its previous fetch if it has reached the log end offset that the leader had at that time.
        """
        if fetch_offset >= leader_log_end_offset:
            return max(self.last_caught_up_us, now_us)
        if fetch_offset >= self.last_fetch_leader_log_end_offset:
            return max(self.last_caught_up_us, self.last_fetch_us)
        return self.last_caught_up_us

    def is_caught_up(self, leader_log_end_offset: int, now_us: int, replica_lag_time_max_us: int) -> bool:
        """Equal to the leader's end, or seen at it within `replica.lag.time.max.ms`."""
        return self.log_end_offset == leader_log_end_offset or (
            self.last_caught_up_us > 0 and now_us - self.last_caught_up_us <= replica_lag_time_max_us
        )


class Lag(NamedTuple):
    """The allowed lag of a member of the ISR: the era's rule, `replica.lag.time.max.ms` in microseconds, and
    `replica.lag.max.messages`, which only the oldest rule uses.
    """

    rule: IsrLag
    time_max_us: int
    max_messages: int

    def is_too_long(self, remote: RemoteReplica, leader_log_end_offset: int, now_us: int) -> bool:
        """Whether a follower is out of sync."""
        if self.rule == "fetches_and_messages":
            is_stuck = now_us - remote.last_fetch_us > self.time_max_us
            return is_stuck or 0 <= remote.log_end_offset < leader_log_end_offset - self.max_messages
        if self.rule == "caught_up_time":
            return now_us - remote.last_caught_up_us > self.time_max_us
        return not remote.is_caught_up(leader_log_end_offset, now_us, self.time_max_us)


def out_of_sync(
    isr: Iterable[int],
    leader: int,
    remotes: dict[int, RemoteReplica],
    leader_log_end_offset: int,
    now_us: int,
    lag: Lag,
) -> tuple[int, ...]:
    """The members that have to leave the ISR (`Partition.getOutOfSyncReplicas`).

    Members that are no longer assigned, as at the end of a reassignment, are skipped.
    """
    return tuple(
        broker_id
        for broker_id in isr
        if broker_id != leader
        and (broker_id not in remotes or lag.is_too_long(remotes[broker_id], leader_log_end_offset, now_us))
    )
