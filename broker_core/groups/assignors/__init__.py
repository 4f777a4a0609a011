"""The assignors of Kafka's consumer, which the leader of a group runs (`ConsumerPartitionAssignor`).

None uses racks: the lab's members have none.
"""

from collections.abc import Mapping

from broker_core.groups.assignors.assignor import Assignor, GroupMemberInfo
from broker_core.groups.assignors.own import OwnAssignor
from broker_core.groups.assignors.range import RangeAssignor
from broker_core.groups.assignors.round_robin import RoundRobinAssignor
from broker_core.groups.assignors.sticky import CooperativeStickyAssignor, StickyAssignor

ASSIGNORS: dict[str, type[Assignor]] = {
    each.name: each for each in (RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor)
}
DEFAULT_ASSIGNORS = ("range", "cooperative-sticky")


def make_assignor(name: str, own: Mapping[str, str]) -> Assignor:
    """One of Kafka's assignors, or a custom one of `own`. Raises RuleError, and KeyError for an unknown name."""
    kafkas = ASSIGNORS.get(name)
    return OwnAssignor(own[name]) if kafkas is None else kafkas()


__all__ = ["ASSIGNORS", "DEFAULT_ASSIGNORS", "Assignor", "GroupMemberInfo", "OwnAssignor", "make_assignor"]
