"""Quantities of topics and partitions, as ZooKeeper has them, and of the controller."""

from typing import Any

from broker_core.partitions import broker_id_of, partition_of, topic_of
from broker_core.texts import text
from lab.exercises.moment import Moment
from lab.exercises.places import Number, Partition, Replica, Unresolved, led_by, replicas_of
from lab.exercises.quantities.registry import BrokerId, quantity


def _partition(moment: Moment, name: str) -> Any:
    state = moment.view["partitions"].get(name)
    if state is None:
        raise Unresolved(text("goal.no_partition", partition=name))
    return state


def _topic(moment: Moment, name: str) -> Any:
    state = moment.view["topics"].get(name)
    if state is None:
        raise Unresolved(text("goal.no_topic", topic=name))
    return state


@quantity
def partitions(moment: Moment, topic: str) -> int:
    """How many partitions a topic has."""
    return int(_topic(moment, topic)["partitions"])


@quantity
def factor(moment: Moment, topic: str) -> int:
    """The replication factor of a topic."""
    return int(_topic(moment, topic)["replication_factor"])


@quantity
def total_records(moment: Moment, topic: str) -> int:
    """The sum of the log end offsets of a topic's leaders."""
    _topic(moment, topic)
    rows = moment.view["replicas"].items()
    return sum(
        int(row["log_end_offset"])
        for name, row in rows
        if row["role"] == "leader" and topic_of(partition_of(name)) == topic
    )


@quantity
def third_broker(moment: Moment, partition: Partition) -> BrokerId:
    """The one of three brokers that hosts no replica of a partition with two replicas."""
    brokers = {int(row["broker_id"]) for row in moment.view["nodes"].values() if row["kind"] == "broker"}
    return next(iter(sorted(brokers - set(_partition(moment, partition)["replicas"]))), -1)


@quantity
def leader(moment: Moment, partition: Partition) -> BrokerId:
    """The broker that leads a partition, -1 for none."""
    return led_by(moment.view, partition)


@quantity
def leader_epoch(moment: Moment, partition: Partition) -> int:
    """The leader epoch of a partition."""
    return int(_partition(moment, partition)["leader_epoch"])


@quantity
def partition_epoch(moment: Moment, partition: Partition) -> int:
    """The partition epoch, which increases with each change of leader or ISR."""
    return int(_partition(moment, partition)["partition_epoch"])


@quantity
def isr_size(moment: Moment, partition: Partition) -> int:
    """How many replicas are in sync."""
    return len(_partition(moment, partition)["isr"])


@quantity
def isr_at(moment: Moment, partition: Partition, place: Number) -> BrokerId:
    """The broker at a place of the ISR, from 0; -1 past its end."""
    return _at(_partition(moment, partition)["isr"], int(place))


@quantity
def replica(moment: Moment, partition: Partition, place: Number) -> BrokerId:
    """The broker at a place of the replica list, from 0; -1 past its end."""
    return _at(_partition(moment, partition)["replicas"], int(place))


def _at(brokers: list[int], place: int) -> int:
    return brokers[place] if place < len(brokers) else -1


@quantity
def leaders(moment: Moment, partition: Partition) -> int:
    """How many replicas consider themselves leader of a partition."""
    rows = moment.view["replicas"].items()
    return sum(partition_of(name) == partition and row["role"] == "leader" for name, row in rows)


@quantity
def led(moment: Moment, topic: str, broker: Number) -> int:
    """How many partitions of a topic a broker leads."""
    rows = moment.view["partitions"].values()
    return sum(row["topic"] == topic and row["leader"] == int(broker) for row in rows)


@quantity
def smallest_log_end(moment: Moment, partition: Partition) -> int:
    """The smallest log end offset of a partition's replicas."""
    _partition(moment, partition)
    rows = moment.view["replicas"].items()
    return min((int(row["log_end_offset"]) for name, row in rows if partition_of(name) == partition), default=-1)


@quantity
def controller(moment: Moment) -> BrokerId:
    """The broker that is the controller, -1 for none."""
    return int(moment.view["controller"]["broker"])


@quantity
def controller_epoch(moment: Moment) -> int:
    """The controller epoch."""
    return int(moment.view["controller"]["controller_epoch"])


@quantity
def watchers(moment: Moment, path: str) -> int:
    """How many nodes watch the children of a znode."""
    rows = moment.view["watches"].get(path, {})
    return sum("children" in watched for watched in rows.values())


@quantity
def lost(moment: Moment, partition: Partition) -> int:
    """How many acknowledged records of a partition have been lost."""
    return sum(int(row["count"]) for row in moment.view["losses"].values() if row["partition"] == partition)


@quantity
def role(moment: Moment, replica: Replica) -> str:
    """leader, follower or offline."""
    return str(moment.view["replicas"][replicas_of(moment.view, replica)[0]]["role"])


@quantity
def preferred(moment: Moment, partition: Partition) -> BrokerId:
    """The preferred leader: the first of the replica list."""
    return _at(_partition(moment, partition)["replicas"], 0)


@quantity
def brokers_up(moment: Moment) -> int:
    """How many brokers run."""
    rows = moment.view["nodes"].items()
    return sum(row["kind"] == "broker" and row["state"] == "up" and broker_id_of(name) > 0 for name, row in rows)
