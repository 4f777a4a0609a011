"""How content names replicas, nodes and offsets: by their part in the story, found in the view when it is asked.

A replica is `orders-0@b2`, `orders-0@leader` or `orders-0@followers`; a node is any of these (the broker that has the
replica) or the node's name; an offset is a number, or what a replica or a producer says:

    log_end_offset(orders-0@leader) - 1     high_watermark(...)
    flushed(orders-0@b1)                    below it an fsync has put everything on the disk
    stored(orders-0@b1)                     where the batches in its files end, also while its broker is down
    acknowledged(p1)                        the last offset that a producer was told
    position(c1), first_read(c1)            where a consumer reads on, and the first of the records that it shows
    leader(orders-0)                        the id of the broker that leads a partition, -1 for none
    owned(c1)                               how many partitions a member has, as its group's coordinator says
    committed(desk@orders-0)                what a group has committed
    scan_start(orders-0@b1, 2490)           the byte at which the search for an offset begins to read batches,
    next_entry(orders-0@b1, 2490)           that of the index entry above: both by the index that the learner dumped
    batch_position(orders-0@b1, 2490)       the byte at which its batch begins, if it is one of the last
"""

import re
from typing import Annotated, Any, TypeAlias

from broker_core.partitions import ReplicaId, broker_id_of, broker_node, is_broker, replica_name
from broker_core.texts import Text, Value, text
from broker_core.view.tree import View
from lab.exercises.dumps import dumps, floor_segment

Offset: TypeAlias = int | str

_REPLICA = re.compile(r"([A-Za-z0-9._-]+-\d+)@(leader|followers|b\d+)")
_PARTITION = re.compile(r"[A-Za-z0-9._-]+-\d+")
_NODE = re.compile(r"zk|shell|[A-Za-z0-9_-]+")
_COMMITTED = re.compile(r"([A-Za-z0-9._-]+)@([A-Za-z0-9._-]+-\d+)")
_OFFSET = re.compile(r"([a-z_]+)\(([^(),]+)(?:, (\d+))?\)(?: ([+-]) (\d+))?")
_CLIENT = re.compile(r"[A-Za-z0-9_-]+")
OF_A_REPLICA = ("log_end_offset", "high_watermark", "flushed", "stored")
OF_A_CLIENT = ("acknowledged", "position", "first_read", "owned")
OF_AN_OFFSET = ("scan_start", "next_entry", "batch_position")
OFFSETS = {
    "log_end_offset": text("quantity.log_end_offset"),
    "high_watermark": text("quantity.high_watermark"),
    "flushed": text("quantity.flushed"),
    "stored": text("quantity.stored"),
    "acknowledged": text("quantity.acknowledged"),
    "position": text("quantity.position"),
    "first_read": text("quantity.first_read"),
    "owned": text("quantity.owned"),
    "committed": text("quantity.committed"),
    "leader": text("quantity.leader"),
    "scan_start": text("quantity.scan_start"),
    "next_entry": text("quantity.next_entry"),
    "batch_position": text("quantity.batch_position"),
}
"""What an offset is called in a sentence."""


class Unresolved(Exception):
    """What a reference names is not in the view now; `why` is shown to the learner."""

    def __init__(self, why: Text) -> None:
        super().__init__(why.code)
        self.why = why


def check_replica(reference: str) -> None:
    """Raises ValueError for what names no replica."""
    if not _REPLICA.fullmatch(reference):
        raise ValueError(f"{reference!r} is not a replica; write orders-0@b2, orders-0@leader or orders-0@followers")


def check_partition(reference: str) -> None:
    """Raises ValueError for what names no partition."""
    if not _PARTITION.fullmatch(reference):
        raise ValueError(f"{reference!r} is not a partition; write orders-0")


def check_node(reference: str) -> None:
    """Raises ValueError for what names no node."""
    if not _REPLICA.fullmatch(reference) and not _NODE.fullmatch(reference):
        raise ValueError(f"{reference!r} is not a node; write b2, zk, p1 or a replica whose broker is meant")


def check_offset(offset: Offset) -> None:
    """Raises ValueError for what names no offset."""
    if isinstance(offset, str):
        match = _OFFSET.fullmatch(offset)
        if not match or match[1] not in OFFSETS or bool(match[3]) != (match[1] in OF_AN_OFFSET):
            raise ValueError(f"{offset!r} is not an offset; write a number or log_end_offset(orders-0@leader) - 1")
        if match[1] == "committed":
            check_committed(match[2])
        elif match[1] == "leader":
            check_partition(match[2])
        elif match[1] not in OF_A_CLIENT:
            check_replica(match[2])
        elif not _CLIENT.fullmatch(match[2]):
            raise ValueError(f"{match[2]!r} is not a client; write p1")


def check_committed(reference: str) -> None:
    """Raises ValueError for what names no partition of a group."""
    if not _COMMITTED.fullmatch(reference):
        raise ValueError(f"{reference!r} is not a partition of a group; write desk@orders-0")


def led_by(view: View, partition: str) -> int:
    """The id of the broker that leads a partition by what ZooKeeper says, -1 for none. Raises Unresolved."""
    state = view["partitions"].get(partition)
    if state is None:
        raise Unresolved(text("goal.no_partition", partition=partition))
    return int(state["leader"])


def leader_of(view: View, partition: str) -> str:
    """The node that leads a partition and knows it. Raises Unresolved."""
    node = broker_node(led_by(view, partition))
    replica = view["replicas"].get(replica_name(partition, node))
    if replica is None or replica["role"] != "leader":
        raise Unresolved(text("goal.no_leader", partition=partition))
    return node


def replicas_of(view: View, reference: str) -> list[str]:
    """The replicas that a reference means, `orders-0@b2` and so on, by broker. Raises Unresolved if none."""
    partition, _, whose = reference.partition("@")
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
    """The nodes that a reference means. Raises Unresolved."""
    if "@" not in reference:
        return [reference]
    return [ReplicaId.parse(name).node for name in replicas_of(view, reference)]


def offset_of(view: View, offset: Offset) -> int:
    """The number that an offset means now. Raises Unresolved."""
    if isinstance(offset, int):
        return offset
    match = _OFFSET.fullmatch(offset)
    assert match is not None
    what, reference, wanted, sign, number = match.groups()
    if what == "acknowledged":
        value = acknowledged(view, reference)
    elif what == "committed":
        value = committed(view, *reference.split("@"))
    elif what == "leader":
        value = led_by(view, reference)
    elif what == "owned":
        value = owned(view, reference)
    elif what in OF_A_CLIENT:
        value = read(view, what, reference)
    else:
        replica = replicas_of(view, reference)[0]
        value = value_of(view, what, replica) if wanted is None else _position_of(view, what, replica, int(wanted))
    return value + int(f"{sign}{number}") if sign else value


def offset_text(view: View, offset: Offset) -> Text:
    """What an offset is, in a sentence: `high watermark of broker 1`. Raises Unresolved."""
    match = _OFFSET.fullmatch(str(offset))
    if match is None:
        return text("quantity.number")
    what, reference = match[1], match[2]
    if what == "committed":
        group, partition = reference.split("@")
        return text("quantity.of_group", offset=OFFSETS[what], partition=partition, group=group)
    node = reference if what in (*OF_A_CLIENT, "leader") else node_text(nodes_of(view, reference)[0])
    return text("quantity.of", offset=OFFSETS[what], node=node)


def number_text(offset: Offset, number: int) -> Text:
    """How the number that an offset meant is shown: a leader is a broker or none, anything else a number."""
    if not str(offset).startswith("leader("):
        return text("goal.number", number=number)
    return text("goal.broker", broker=number) if number >= 0 else text("goal.none")


def value_of(view: View, what: str, replica: str) -> int:
    """One of OF_A_REPLICA, of a replica that the view has."""
    state: Any = view["replicas"][replica]
    if what == "stored":
        # A power loss leaves of the tail what an fsync had put on the disk; without any, nothing above that is left.
        return max((int(batch[0]) + 1 for batch in state["tail"].values()), default=int(state["flushed"]))
    return int(state[what])


def acknowledged(view: View, client: str) -> int:
    """The last offset acknowledged to a producer, -1 before the first. Raises Unresolved."""
    node = view["nodes"].get(client)
    if node is None or node["kind"] != "producer":
        raise Unresolved(text("goal.no_producer", client=client))
    return int(node["last_offset"])


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


def committed(view: View, name: str, partition: str) -> int:
    """The offset that a group has committed, -1 for none."""
    group = group_of(view, name)
    return -1 if group is None else int(group["offsets"].get(partition, -1))


def owned(view: View, client: str) -> int:
    """How many partitions the coordinators' groups give to a client."""
    members = [member for group in view["groups"].values() for member in group["members"].values()]
    return max((len(member["assignment"]) for member in members if member["client"] == client), default=0)


def read(view: View, what: str, client: str) -> int:
    """`position` or `first_read` of a consumer. Raises Unresolved."""
    node = view["nodes"].get(client)
    if node is None or node["kind"] != "consumer":
        raise Unresolved(text("goal.no_consumer", client=client))
    if what == "position":
        return int(node["position"])
    return int(node["records"][0][0]) if node["records"] else -1


def _position_of(view: View, what: str, replica: str, wanted: int) -> int:
    state = view["replicas"][replica]
    segment = floor_segment(state["segments"], wanted)
    if what == "batch_position":
        found = (batch[3] for base, batch in state["tail"].items() if int(base) <= wanted <= batch[0])
        position = next(found, None)
        if position is None:
            raise Unresolved(text("goal.not_in_last_batches", offset=wanted, replica=replica))
        return int(position)
    index = next((one for one in dumps(view) if one[:3] == (replica, segment, "index")), None)
    if index is None:
        raise Unresolved(text("goal.index_not_dumped", replica=replica))
    if what == "scan_start":
        return max((position for offset, position in index.entries if offset <= wanted), default=0)
    size = int(state["segments"][str(segment)][0])
    return min((position for offset, position in index.entries if offset > wanted), default=size)


def node_text(node: str) -> Value:
    """A node's name in a sentence."""
    if is_broker(node):
        return text("goal.broker", broker=broker_id_of(node))
    return "ZooKeeper" if node == "zk" else node


Replica: TypeAlias = Annotated[str, check_replica]
Partition: TypeAlias = Annotated[str, check_partition]
Node: TypeAlias = Annotated[str, check_node]
Client: TypeAlias = Annotated[str, check_node]
Committed: TypeAlias = Annotated[str, check_committed]
"""Arguments of predicates, with the checks of what content gives."""
