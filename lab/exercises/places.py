"""How content names replicas, partitions, nodes and clients: by their role, resolved in the view when needed.

A replica is `orders-0@b2`, `orders-0@leader` or `orders-0@followers`; a node is any of these (the broker that has the
replica) or the node's name. `quantities` has the numbers that content asks of them.
"""

import json
import re
from typing import Annotated, Any, TypeAlias

from broker_core.partitions import ReplicaId, broker_id_of, broker_node, is_broker, replica_name, split_replica
from broker_core.texts import Text, Value, text
from broker_core.view.tree import View

_REPLICA = re.compile(r"([A-Za-z0-9._-]+-\d+)@(leader|followers|b\d+)")
_PARTITION = re.compile(r"[A-Za-z0-9._-]+-\d+")
_NODE = re.compile(r"zk|shell|[A-Za-z0-9_-]+")
_COMMITTED = re.compile(r"([A-Za-z0-9._-]+)@([A-Za-z0-9._-]+-\d+)")
_NUMBER = re.compile(r"\d{1,18}")


class Unresolved(Exception):
    """A reference cannot be resolved in the current view; `why` is shown to the learner."""

    def __init__(self, why: Text) -> None:
        super().__init__(why.code)
        self.why = why


def check_replica(reference: str) -> None:
    """Raises ValueError for an invalid replica."""
    if not _REPLICA.fullmatch(reference):
        raise ValueError(f"{reference!r} is not a replica; write orders-0@b2, orders-0@leader or orders-0@followers")


def check_partition(reference: str) -> None:
    """Raises ValueError for an invalid partition."""
    if not _PARTITION.fullmatch(reference):
        raise ValueError(f"{reference!r} is not a partition; write orders-0")


def check_node(reference: str) -> None:
    """Raises ValueError for an invalid node."""
    if not _REPLICA.fullmatch(reference) and not _NODE.fullmatch(reference):
        raise ValueError(f"{reference!r} is not a node; write b2, zk, p1 or a replica whose broker is meant")


def check_committed(reference: str) -> None:
    """Raises ValueError for an invalid partition of a group."""
    if not _COMMITTED.fullmatch(reference):
        raise ValueError(f"{reference!r} is not a partition of a group; write desk@orders-0")


def check_number(reference: str) -> None:
    """Raises ValueError unless it is an integer from 0."""
    if not _NUMBER.fullmatch(reference):
        raise ValueError(f"{reference!r} is not a number: write 2490")


def topic_config(view: View, topic: str) -> dict[str, str]:
    """The configuration of a topic, by its znode."""
    znode = view["zk"].get(f"/config/topics/{topic}")
    return {} if znode is None else configs_of(znode["data"])


def configs_of(data: str) -> dict[str, str]:
    """The settings in the JSON of a znode below /config; empty for invalid JSON."""
    try:
        found = json.loads(data).get("config", {})
    except (ValueError, AttributeError):
        return {}
    return found if isinstance(found, dict) else {}


def led_by(view: View, partition: str) -> int:
    """The id of the broker that leads a partition according to ZooKeeper, -1 for none. Raises Unresolved."""
    state = view["partitions"].get(partition)
    if state is None:
        raise Unresolved(text("goal.no_partition", partition=partition))
    return int(state["leader"])


def leader_of(view: View, partition: str) -> str:
    """The node that leads a partition and is aware of it. Raises Unresolved."""
    leader = led_by(view, partition)
    if leader < 0:
        raise Unresolved(text("goal.no_leader", partition=partition))
    node = broker_node(leader)
    replica = view["replicas"].get(replica_name(partition, node))
    if replica is None or replica["role"] != "leader":
        # The page shows the leader that ZooKeeper names. It may be starting or frozen.
        is_down = node not in view["nodes"] or view["nodes"][node]["state"] == "down"
        id = "goal.leader_down" if is_down else "goal.leader_waits"
        raise Unresolved(text(id, partition=partition, leader=node_text(node)))
    return node


def replicas_of(view: View, reference: str) -> list[str]:
    """The replicas that a reference matches, `orders-0@b2` and so on, by broker. Raises Unresolved if none match."""
    partition, whose = split_replica(reference)
    if whose == "leader":
        return [replica_name(partition, leader_of(view, partition))]
    if whose == "followers":
        leader = leader_of(view, partition)
        nodes = [broker_node(broker_id) for broker_id in sorted(view["partitions"][partition]["replicas"])]
        found = [replica_name(partition, node) for node in nodes if node != leader]
        if not found:
            raise Unresolved(text("goal.no_followers", partition=partition))
    else:
        found = [reference]
    for name in found:
        if name not in view["replicas"]:
            raise Unresolved(text("goal.no_replica", replica=name))
    return found


def nodes_of(view: View, reference: str) -> list[str]:
    """The nodes that a reference matches. Raises Unresolved."""
    if "@" not in reference:
        return [reference]
    return [ReplicaId.parse(name).node for name in replicas_of(view, reference)]


def group_of(view: View, name: str) -> dict[str, Any] | None:
    """A group as its coordinator has it, by its partition; None if it is unknown."""
    for group in view["groups"].values():
        partition = view["partitions"].get(group["partition"])
        if (
            group["group"] == name
            and partition is not None
            and broker_node(partition["leader"]) == group["coordinator"]
        ):
            return dict(group)
    return None


def group_and_partition(reference: str) -> tuple[str, str]:
    """The group and the partition of a reference such as `desk@orders-0`."""
    group, _, partition = reference.partition("@")
    return group, partition


def committed(view: View, name: str, partition: str) -> int:
    """The offset that a group has committed, -1 for none."""
    group = group_of(view, name)
    return -1 if group is None else int(group["offsets"].get(partition, -1))


def owned(view: View, client: str) -> int:
    """How many partitions the coordinators assign to a client."""
    members = [member for group in view["groups"].values() for member in group["members"].values()]
    return max((len(member["assignment"]) for member in members if member["client"] == client), default=0)


def node_text(node: str) -> Value:
    """A node's name in a sentence."""
    if is_broker(node):
        return text("goal.broker", broker=broker_id_of(node))
    return "ZooKeeper" if node == "zk" else node


Replica: TypeAlias = Annotated[str, check_replica]
Partition: TypeAlias = Annotated[str, check_partition]
Node: TypeAlias = Annotated[str, check_node]
Client: TypeAlias = Annotated[str, check_node]
Number: TypeAlias = Annotated[str, check_number]
Committed: TypeAlias = Annotated[str, check_committed]
"""Arguments of predicates, with the checks of what content gives."""
