"""The rule of the leader's high watermark (`Partition.maybeIncrementLeaderHW`)."""

from collections.abc import Callable

from broker_core.replication.isr import RemoteReplica


def candidate(
    leader_log_end_offset: int,
    remotes: dict[int, RemoteReplica],
    maximal_isr: tuple[int, ...],
    now_us: int,
    replica_lag_time_max_us: int,
    is_alive: Callable[[int], bool],
) -> int:
    """The smallest log end offset among the leader, the maximal ISR and every live replica that is caught up.

    A caught-up replica outside the ISR counts too: it is about to join, and a member's log must reach the high
    watermark. An unknown log end offset (-1) prevents an advance.
    """
    lowest = leader_log_end_offset
    for broker_id, remote in remotes.items():
        if remote.log_end_offset < lowest and (
            broker_id in maximal_isr
            or (remote.is_caught_up(leader_log_end_offset, now_us, replica_lag_time_max_us) and is_alive(broker_id))
        ):
            lowest = remote.log_end_offset
    return lowest
