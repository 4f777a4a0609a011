"""Visits to all replicas of a broker in slices of bounded work, with requests handled between them.

Kafka has threads for such work. Here thousands of replicas, each a few microseconds, would block all brokers.
"""

from collections.abc import Callable
from typing import NamedTuple

from broker_core.broker.logs.host import LogHost
from broker_core.replication.partition import Partition

SLICE_COST = 1_000
"""The limit of what the visits of a slice cost. A visit that finds nothing to do costs 1: 5 to 20 microseconds."""
FLUSH_COST = 50
MEASURED_SEGMENTS = 20
"""A visit that looks at so many segments costs 1 more."""
EXAMINED_PRODUCERS = 50
"""A visit that looks at so many producers costs 1 more."""
DELETION_COST = 10
"""The cost of deleting a segment: some files are renamed."""
DELETED_AT_ONCE = 100
"""How many segments of a log are deleted in a slice."""


class Visit(NamedTuple):
    """What a visit has cost, and whether the replica needs no other one; `is_last`: nor do the other replicas."""

    cost: int = 1
    is_done: bool = True
    is_last: bool = False


LAST_VISIT = Visit(is_last=True)


class Sweep:
    """One sweep at a time over the replicas that the broker has when it begins. Pickled with its broker."""

    def __init__(self, host: LogHost) -> None:
        self._host = host
        self._left: list[str] | None = None
        """The partitions that are not visited yet, the next one is the last; None between two sweeps."""

    def run_slice(self, visit: Callable[[Partition], Visit]) -> bool:
        """Visits the next replicas; returns whether that was the last slice. A failure of a visit ends the sweep."""
        partitions = self._host.partitions
        left = list(reversed(partitions)) if self._left is None else self._left
        self._left = None
        budget = SLICE_COST
        while left and budget > 0:
            partition = partitions.get(left[-1])
            cost, is_done, is_last = Visit() if partition is None else visit(partition)
            if is_last:
                return True
            budget -= cost
            if is_done:
                left.pop()
            else:
                budget = 0
        if left:
            self._left = left
        return not left


def delete_old_segments(partition: Partition, now_ms: int) -> Visit:
    """Deletes segments by the topic's retention. Raises KafkaException for a corrupt log."""
    deleted = partition.delete_old_segments(now_ms, DELETED_AT_ONCE)
    cost = 1 + len(partition.log.segments) // MEASURED_SEGMENTS + deleted * DELETION_COST
    return Visit(cost, is_done=deleted < DELETED_AT_ONCE)
