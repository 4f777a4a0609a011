"""Predicates about messages and clients."""

from typing import Annotated

from broker_core.texts import listed, message_of, text
from lab.exercises.happenings import RpcArrives
from lab.exercises.moment import Moment
from lab.exercises.places import Client, Node, Partition, leader_of, node_text, nodes_of
from lab.exercises.predicate import Bound, GoalState, answer, one_of, predicate
from lab.exercises.quantities import number_of


@predicate
def rpc_in_flight(
    moment: Moment,
    *,
    api: str,
    kind: Annotated[str, one_of("request", "response")],
    source: Node,
    destination: Node,
    fetch_offset: int | None = None,
) -> GoalState:
    """A message is in flight; of several sources, one from each. `fetch_offset`: a Fetch from this offset."""
    wanted = RpcArrives(api=api, kind=kind, source=source, destination=destination, fetch_offset=fetch_offset)
    in_flight = wanted.in_flight(moment.view)
    found = []
    for sender in nodes_of(moment.view, source):
        name = next((name for name, other in in_flight.items() if other == sender), None)
        if name is None:
            ends = node_text(sender), node_text(nodes_of(moment.view, destination)[0])
            at = "" if fetch_offset is None else f" @{fetch_offset}"
            says = text("goal.not_in_flight", api=api, kind=_KINDS[kind], at=at, source=ends[0], destination=ends[1])
            return GoalState(False, says)
        label = message_of(moment.view["rpcs"][name]["label"])
        found.append(text("goal.rpc", source=sender, label=label))
    return GoalState(True, text("goal.in_flight", rpcs=listed(found)))


_KINDS = {"request": text("goal.request"), "response": text("goal.response")}


@predicate
def parked(
    moment: Moment, *, api: Annotated[str, one_of("Produce", "Fetch")], partition: Partition, client: str = ""
) -> GoalState:
    """A request waits in the purgatory of a partition's leader; `client`: one of this client."""
    leader = leader_of(moment.view, partition)
    at = node_text(leader)
    for request in moment.view["parked"].values():
        is_it = (request["broker"], request["api"]) == (leader, api) and client in ("", request["client"])
        if is_it and partition in request["partitions"]:
            needs = message_of(request["needs"])
            return GoalState(True, text("goal.parked.met", api=api, client=request["client"], leader=at, needs=needs))
    if client:
        return GoalState(
            False, text("goal.parked.unmet_client", api=api, client=client, partition=partition, leader=at)
        )
    return GoalState(False, text("goal.parked.unmet", api=api, partition=partition, leader=at))


@predicate
def acknowledged(moment: Moment, *, client: Client, bound: Bound) -> GoalState:
    """The last offset acknowledged to a producer."""
    offset = number_of(moment, f"acknowledged({client})")
    complies, wanted = bound.compare(moment, offset)
    if offset < 0 and not complies:
        return GoalState(False, text("goal.nothing_acknowledged", client=client))
    return answer("goal.acknowledged", complies, client=client, offset=offset, wanted=wanted)


@predicate
def has_read(moment: Moment, *, client: Client, offset: int) -> GoalState:
    """A consumer has read an offset: its position is above it."""
    position = number_of(moment, f"position({client})")
    return answer("goal.has_read", position > offset, client=client, position=position, offset=offset)
