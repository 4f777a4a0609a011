"""Groups of consumers before 0.9 as seen from outside: they exist in ZooKeeper only."""

from typing import NamedTuple

from broker_core.groups.zookeeper_offsets import CONSUMERS, offset_path
from broker_core.partitions import partition_name
from broker_core.shell.admin import znodes
from broker_core.shell.grammar.cluster_api import ClusterApi


class OldGroup(NamedTuple):
    """A group in the terms of later ones. `members`: the partitions of each, by its id."""

    state: str
    members: dict[str, list[str]]


def old_group(cluster: ClusterApi, name: str) -> OldGroup:
    """A group's members and whether it is stable: its members own all partitions of their topics, and each owner is a
    live member.
    """
    root = f"{CONSUMERS}/{name}"
    owned: dict[str, list[str]] = {member: [] for member in znodes.children(cluster, f"{root}/ids")}
    if not owned:
        return OldGroup("Empty" if znodes.exists(cluster, root) else "Dead", {})
    wanted: set[str] = set()
    for member in owned:
        for topic in _names(cluster, f"{root}/ids/{member}", "subscription"):
            wanted.update(
                partition_name(topic, number) for number in _names(cluster, f"/brokers/topics/{topic}", "partitions")
            )
    for topic in znodes.children(cluster, f"{root}/owners"):
        # An external client may create znodes with any name.
        numbers = filter(str.isdecimal, znodes.children(cluster, f"{root}/owners/{topic}"))
        for number in sorted(numbers, key=int):
            # a stream of a member: its id, a minus and the stream's number
            member = znodes.text_of(cluster, f"{root}/owners/{topic}/{number}").rpartition("-")[0]
            if member in owned:
                owned[member].append(partition_name(topic, number))
                wanted.discard(partition_name(topic, number))
    return OldGroup("PreparingRebalance" if wanted else "Stable", owned)


def old_committed_offset(cluster: ClusterApi, name: str, partition: str) -> int | None:
    """The stored offset of a group; None if there is none."""
    text = znodes.text_of(cluster, offset_path(name, partition))
    return int(text) if text.isdecimal() else None


def _names(cluster: ClusterApi, path: str, field: str) -> list[str]:
    """The names in an object of a znode's JSON; empty if there is no such object."""
    named = (znodes.json_of(cluster, path) or {}).get(field)
    return list(named) if isinstance(named, dict) else []
