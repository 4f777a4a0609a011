"""Leader election for a partition: Kafka's four strategies (`Election`, `PartitionLeaderElectionAlgorithms`).

Pure functions. Candidates are tried in the order of the assignment, never in that of the ISR.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple


class ElectionStrategy(StrEnum):
    """The strategy of an election. `NEW` is not one of Kafka's: a new partition's first live replica becomes leader.
    `UNCLEAN` is `OFFLINE` at an administrator's request that accepts a loss of records.
    """

    NEW = "NewPartition"
    OFFLINE = "OfflinePartition"
    PREFERRED = "PreferredReplicaPartition"
    UNCLEAN = "UncleanPartition"
    CONTROLLED_SHUTDOWN = "ControlledShutdownPartition"
    REASSIGN = "ReassignPartition"


class ElectionResult(NamedTuple):
    """The new leader and ISR. `unclean`: the leader was not in the ISR, records may be lost."""

    leader: int
    isr: tuple[int, ...]
    unclean: bool = False


def offline(
    assignment: tuple[int, ...], isr: tuple[int, ...], live: Collection[int], unclean_allowed: bool
) -> ElectionResult | None:
    """For an offline leader: elects the first live replica of the ISR, which keeps its live members.

    If there is none and unclean election is enabled: the first live replica, alone in its ISR.
    """
    for replica in assignment:
        if replica in live and replica in isr:
            return ElectionResult(replica, tuple(member for member in isr if member in live))
    if unclean_allowed:
        for replica in assignment:
            if replica in live:
                return ElectionResult(replica, (replica,), unclean=True)
    return None


def preferred(assignment: tuple[int, ...], isr: tuple[int, ...], live: Collection[int]) -> ElectionResult | None:
    """Elects the first replica of the assignment, if it is live and in the ISR."""
    if assignment and assignment[0] in live and assignment[0] in isr:
        return ElectionResult(assignment[0], isr)
    return None


def controlled_shutdown(
    assignment: tuple[int, ...],
    isr: tuple[int, ...],
    live_or_shutting_down: Collection[int],
    shutting_down: Collection[int],
) -> ElectionResult | None:
    """For a leader that is shutting down: elects the first replica in the ISR that is not. They leave the ISR."""
    for replica in assignment:
        if replica in live_or_shutting_down and replica in isr and replica not in shutting_down:
            return ElectionResult(replica, tuple(member for member in isr if member not in shutting_down))
    return None


def reassign(target: tuple[int, ...], isr: tuple[int, ...], live: Collection[int]) -> ElectionResult | None:
    """For a reassignment: elects the first of the target replicas that is live and in the ISR."""
    for replica in target:
        if replica in live and replica in isr:
            return ElectionResult(replica, isr)
    return None
