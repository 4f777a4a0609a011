"""Predicates about consumer groups."""

from broker_core.texts import text
from lab.exercises import places
from lab.exercises.moment import Moment
from lab.exercises.places import Client, Committed, group_of
from lab.exercises.predicate import Bound, GoalState, answer, predicate
from lab.exercises.quantities import number_of


@predicate
def group(moment: Moment, *, group: str, members: int) -> GoalState:
    """A group has this number of members and is Stable; Empty, or unknown, for none."""
    found = group_of(moment.view, group)
    state, count = ("Empty", 0) if found is None else (found["state"], len(found["members"]))
    wanted = "Stable" if members else "Empty"
    met = (state, count) == (wanted, members)
    return answer("goal.group", met, group=group, state=state, n=count, wanted_state=wanted, wanted=members)


@predicate
def owns(moment: Moment, *, client: Client, partitions: int) -> GoalState:
    """A member is assigned this number of partitions."""
    count = places.owned(moment.view, client)
    return answer("goal.owns", count == partitions, client=client, n=count, wanted=partitions)


@predicate
def committed(moment: Moment, *, of: Committed, bound: Bound) -> GoalState:
    """The offset that a group has committed, as `desk@orders-0`."""
    group, partition = places.group_and_partition(of)
    offset = places.committed(moment.view, group, partition)
    complies, wanted = bound.compare(moment, offset)
    if offset < 0 and not complies:
        return GoalState(False, text("goal.nothing_committed", group=group, partition=partition))
    return answer("goal.committed", complies, group=group, partition=partition, offset=offset, wanted=wanted)


@predicate
def read_ahead(moment: Moment, *, client: Client, of: Committed) -> GoalState:
    """The position of a consumer is above the offset that its group has committed."""
    position = number_of(moment, f"position({client})")
    offset = places.committed(moment.view, *places.group_and_partition(of))
    return answer("goal.read_ahead", position > offset, client=client, position=position, committed=offset)
