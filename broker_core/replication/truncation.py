"""Where a follower truncates its log if the leader's history differs (KIP-101, KIP-279, KIP-595).

Mode FETCH: the follower fetches at once and sends the epoch of its last record; the leader answers with a diverging
epoch if its own history of that epoch ends earlier.
"""

from typing import Protocol

import msgspec


class EpochHistory(Protocol):
    """The leader-epoch cache interface of a decision: `end_offset_for(epoch, log_end_offset)` as `(epoch, end
    offset)`, -1 for unknown (`LeaderEpochFileCache.endOffsetFor`).
    """

    latest_epoch: int

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]: ...


class Decision(msgspec.Struct, frozen=True, gc=False):
    """Truncate to `offset`. `final` False: ask again from there."""

    offset: int
    final: bool


def may_diverge(history: EpochHistory, log_end_offset: int, last_fetched_epoch: int, fetch_offset: int) -> bool:
    """Whether `diverging_epoch` may return a result. Mostly not: the follower is in the leader's latest epoch."""
    return last_fetched_epoch >= 0 and (last_fetched_epoch != history.latest_epoch or fetch_offset > log_end_offset)


def diverging_epoch(
    history: EpochHistory, log_end_offset: int, last_fetched_epoch: int, fetch_offset: int
) -> tuple[int, int] | None:
    """The end of the follower's last epoch at the leader (`Partition.readRecords`), if it is before `fetch_offset`.

    None if the fetch may continue. `(-1, -1)` = unknown to the leader: the offset is out of range.
    """
    epoch, end_offset = history.end_offset_for(last_fetched_epoch, log_end_offset)
    if epoch == -1 or end_offset == -1:
        return (-1, -1)
    if epoch < last_fetched_epoch or end_offset < fetch_offset:
        return (epoch, end_offset)
    return None


def decide(
    history: EpochHistory, log_end_offset: int, high_watermark: int, leader_epoch: int, leader_end_offset: int
) -> Decision:
    """The follower's decision (`AbstractFetcherThread.getOffsetTruncationState`): keeps the longest common prefix."""
    if leader_end_offset == -1:
        return Decision(high_watermark, True)
    if leader_epoch == -1:
        return Decision(min(leader_end_offset, log_end_offset), True)
    own_epoch, own_end_offset = history.end_offset_for(leader_epoch, log_end_offset)
    if own_epoch == -1:
        return Decision(min(leader_end_offset, log_end_offset), True)
    if own_epoch != leader_epoch:
        return Decision(min(own_end_offset, log_end_offset), False)
    return Decision(min(own_end_offset, leader_end_offset, log_end_offset), True)
