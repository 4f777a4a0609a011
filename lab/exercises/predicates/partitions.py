"""Predicates about leaders and in-sync replicas of partitions."""

from broker_core.partitions import broker_node, replica_name
from lab.exercises.moment import Moment
from lab.exercises.places import Node, Partition, leader_of, led_by, node_text
from lab.exercises.predicate import GoalState, answer, predicate


@predicate
def leader(moment: Moment, *, partition: Partition, broker: Node) -> GoalState:
    """This broker leads a partition."""
    found = leader_of(moment.view, partition)
    shown, wanted = node_text(found), node_text(broker)
    return answer("goal.leader", found == broker, partition=partition, leader=shown, wanted=wanted)


@predicate
def other_leader(moment: Moment, *, partition: Partition, than: Node) -> GoalState:
    """A broker other than this one leads a partition."""
    found = leader_of(moment.view, partition)
    return answer("goal.other_leader", found != than, partition=partition, leader=node_text(found))


@predicate
def offline(moment: Moment, *, partition: Partition) -> GoalState:
    """A partition has no leader."""
    found = led_by(moment.view, partition)
    return answer("goal.offline", found < 0, partition=partition, leader=node_text(broker_node(found)))


@predicate
def isr(moment: Moment, *, partition: Partition, size: int) -> GoalState:
    """The ISR of a partition has this size, in ZooKeeper and for the leader itself."""
    believed = moment.view["replicas"][replica_name(partition, leader_of(moment.view, partition))]["isr"]
    known = moment.view["partitions"][partition]["isr"]
    shown = believed if len(known) == size else known
    brokers = "{" + ", ".join(map(str, shown)) + "}"
    return answer("goal.isr", len(known) == len(believed) == size, partition=partition, isr=brokers, n=size)
