"""Predicates about the logs of replicas and their files."""

from typing import Annotated

from broker_core.partitions import ReplicaId, replica_name
from broker_core.texts import listed, text
from lab.exercises.dumps import dumps, file_name, floor_segment
from lab.exercises.moment import Moment
from lab.exercises.places import Node, Partition, Replica, leader_of, node_text, nodes_of, replicas_of
from lab.exercises.predicate import Bound, GoalState, answer, one_of, predicate
from lab.exercises.quantities import number_of, quantity_text


@predicate
def log_end_offset(moment: Moment, *, replica: Replica, bound: Bound) -> GoalState:
    """The log end offset of each of these replicas."""
    return _each(moment, replica, "log_end_offset", bound)


@predicate
def high_watermark(moment: Moment, *, replica: Replica, bound: Bound) -> GoalState:
    """The high watermark that each of these replicas has."""
    return _each(moment, replica, "high_watermark", bound)


@predicate
def flushed(moment: Moment, *, replica: Replica, bound: Bound) -> GoalState:
    """The recovery point of each of these replicas: offsets below it were fsynced."""
    return _each(moment, replica, "flushed", bound)


@predicate
def stored(moment: Moment, *, replica: Replica, bound: Bound) -> GoalState:
    """The offset at which the batches in the files of each replica end, whether its broker is up or not."""
    return _each(moment, replica, "stored", bound)


def _each(moment: Moment, reference: str, what: str, bound: Bound) -> GoalState:
    found = []
    for name in replicas_of(moment.view, reference):
        quantity = f"{what}({name})"
        value = number_of(moment, quantity)
        complies, wanted = bound.compare(moment, value, grows=True)
        says = answer("goal.number_is", complies, quantity=quantity_text(moment, quantity), found=value, wanted=wanted)
        if not complies:
            return says
        found.append(says.says)
    return GoalState(True, text("goal.all", found=listed(found)) if len(found) > 1 else found[0])


@predicate
def uncommitted(moment: Moment, *, partition: Partition, equals: int) -> GoalState:
    """This number of offsets in the leader's log is at or above its high watermark."""
    leader = leader_of(moment.view, partition)
    replica = moment.view["replicas"][replica_name(partition, leader)]
    end, hw = replica["log_end_offset"], replica["high_watermark"]
    shown, count = node_text(leader), end - hw
    met = count == equals
    return answer("goal.uncommitted", met, partition=partition, leader=shown, n=count, end=end, hw=hw, wanted=equals)


@predicate
def believes(moment: Moment, *, partition: Partition, follower: Node, bound: Bound) -> GoalState:
    """The remote log end offset that the leader of a partition has of each of these followers; -1 while unknown."""
    view = moment.view
    leader = leader_of(view, partition)
    remotes = view["replicas"][replica_name(partition, leader)]["remotes"]
    shown, found = node_text(leader), []
    for name in nodes_of(view, follower):
        node = node_text(name)
        if name not in remotes:
            return GoalState(False, text("goal.no_follower", leader=shown, partition=partition, follower=node))
        value = remotes[name]["log_end_offset"]
        complies, wanted = bound.compare(moment, value)
        if not complies:
            return GoalState(
                False, text("goal.believes.unmet", leader=shown, follower=node, value=value, wanted=wanted)
            )
        found.append(f"{name} {value}")
    return GoalState(True, text("goal.believes.met", leader=shown, found=listed(found)))


@predicate
def dumped(
    moment: Moment, *, replica: Replica, holds: int, kind: Annotated[str, one_of("log", "index", "timeindex")]
) -> GoalState:
    """The learner has dumped this file of the segment that holds an offset."""
    name = replicas_of(moment.view, replica)[0]
    floor = floor_segment(moment.view["replicas"][name]["segments"], holds)
    segments = [dump.segment for dump in dumps(moment.view) if dump.replica == name and dump.kind == kind]
    if floor in segments:
        return GoalState(True, text("goal.dumped", file=file_name(floor, kind)))
    if not segments:
        of = ReplicaId.parse(name)
        says = text("goal.not_dumped", kind=kind, partition=of.partition, node=node_text(of.node))
    elif segments[0] > holds:
        says = text("goal.dumped_above", file=file_name(segments[0], kind), offset=holds)
    else:
        says = text("goal.dumped_below", file=file_name(segments[0], kind), offset=holds)
    return GoalState(False, says)
