"""How content names replicas, nodes and offsets: by their part in the story, found in the view when it is asked.

A replica is `orders-0@b2`, `orders-0@leader` or `orders-0@followers`; a node is any of these (the broker that has the
replica) or the node's name; an offset is a number, or what a replica says: `log_end_offset(orders-0@leader) - 1`.
"""

import re
from typing import Any, TypeAlias

from lab.exercises.texts import Text

View: TypeAlias = dict[str, Any]
Offset: TypeAlias = int | str

_REPLICA = re.compile(r"([A-Za-z0-9._-]+-\d+)@(leader|followers|b\d+)")
_NODE = re.compile(r"zk|shell|[A-Za-z0-9_-]+")
_OFFSET = re.compile(r"(log_end_offset|high_watermark)\(([^)]+)\)(?: ([+-]) (\d+))?")


class Nowhere(Exception):
    """The view has no such thing now; `why` says so to the learner."""

    def __init__(self, why: Text) -> None:
        super().__init__(why.en)
        self.why = why


def check_replica(reference: str) -> None:
    """Raises ValueError for what names no replica."""
    if not _REPLICA.fullmatch(reference):
        raise ValueError(f"{reference!r} is no replica: write orders-0@b2, orders-0@leader or orders-0@followers")


def check_node(reference: str) -> None:
    """Raises ValueError for what names no node."""
    if not _REPLICA.fullmatch(reference) and not _NODE.fullmatch(reference):
        raise ValueError(f"{reference!r} is no node: write b2, zk, p1 or a replica whose broker is meant")


def check_offset(offset: Offset) -> None:
    """Raises ValueError for what names no offset."""
    if isinstance(offset, str):
        match = _OFFSET.fullmatch(offset)
        if not match:
            raise ValueError(f"{offset!r} is no offset: write a number or log_end_offset(orders-0@leader) - 1")
        check_replica(match[2])


def partition_of(reference: str) -> str:
    """The topic-partition of a replica."""
    return reference.partition("@")[0]


def leader_of(view: View, partition: str) -> str:
    """The node that leads a partition and knows it. Raises Nowhere."""
    state = view["partitions"].get(partition)
    if state is None:
        raise Nowhere(Text(f"There is no partition {partition}.", f"还没有分区 {partition}。"))
    node = f"b{state['leader']}"
    replica = view["replicas"].get(f"{partition}@{node}")
    if replica is None or replica["role"] != "leader":
        raise Nowhere(Text(f"{partition} has no leader now.", f"{partition} 目前没有首领。"))
    return node


def replicas_of(view: View, reference: str) -> list[str]:
    """The replicas that a reference means, `orders-0@b2` and so on, by broker. Raises Nowhere when there are none."""
    partition, _, whose = reference.partition("@")
    if whose == "leader":
        return [f"{partition}@{leader_of(view, partition)}"]
    if whose == "followers":
        leader = leader_of(view, partition)
        nodes = [f"b{broker_id}" for broker_id in sorted(view["partitions"][partition]["replicas"])]
        found = [f"{partition}@{node}" for node in nodes if node != leader]
        if not found:
            raise Nowhere(Text(f"{partition} has no followers.", f"{partition} 没有跟随者。"))
    else:
        found = [reference]
    for name in found:
        if name not in view["replicas"]:
            raise Nowhere(Text(f"There is no replica {name}.", f"没有副本 {name}。"))
    return found


def nodes_of(view: View, reference: str) -> list[str]:
    """The nodes that a reference means. Raises Nowhere."""
    if "@" not in reference:
        return [reference]
    return [name.rpartition("@")[2] for name in replicas_of(view, reference)]


def offset_of(view: View, offset: Offset) -> int:
    """The number that an offset stands for now. Raises Nowhere."""
    if isinstance(offset, int):
        return offset
    match = _OFFSET.fullmatch(offset)
    assert match is not None
    field, reference, sign, number = match.groups()
    value: int = view["replicas"][replicas_of(view, reference)[0]][field]
    return value + int(f"{sign}{number}") if sign else value


def node_text(node: str) -> Text:
    """A node's name in a sentence."""
    if re.fullmatch(r"b\d+", node):
        return Text(f"broker {node[1:]}", f"代理 {node[1:]} ")
    if node == "zk":
        return Text("ZooKeeper", "ZooKeeper ")
    return Text(node, f"{node} ")
