"""Quantities of consumer groups, as their coordinator has them."""

from typing import Any

from broker_core.groups.offsets import partition_for
from broker_core.partitions import broker_id_of, replica_name, topic_of
from broker_core.texts import text
from lab.exercises.moment import Moment
from lab.exercises.places import Client, Committed, Unresolved, group_and_partition, group_of, leader_of
from lab.exercises.places import committed as committed_of
from lab.exercises.places import owned as owned_by
from lab.exercises.quantities.registry import BrokerId, quantity

OFFSETS_TOPIC = "__consumer_offsets"


def _group(moment: Moment, name: str) -> dict[str, Any]:
    found = group_of(moment.view, name)
    if found is None:
        raise Unresolved(text("goal.no_group", group=name))
    return found


@quantity
def owned(moment: Moment, client: Client) -> int:
    """How many partitions a member owns according to its group's coordinator."""
    return owned_by(moment.view, client)


@quantity
def committed(moment: Moment, of: Committed) -> int:
    """What a group has committed, as `desk@orders-0`; -1 for nothing."""
    return committed_of(moment.view, *group_and_partition(of))


@quantity
def state(moment: Moment, group: str) -> str:
    """The state of a group; `none` for an unknown one."""
    found = group_of(moment.view, group)
    return "none" if found is None else str(found["state"])


@quantity
def generation(moment: Moment, group: str) -> int:
    """The generation of a group."""
    return int(_group(moment, group)["generation_id"])


@quantity
def lists(moment: Moment, group: str) -> int:
    """The number of members whose last JoinGroup response lists the members: only the response to the leader does."""
    clients = {one["client"] for one in _group(moment, group)["members"].values()}
    labels = (moment.tally.responses.get(f"JoinGroup>{client}", "") for client in clients)
    return sum(label.startswith("label.generation_members?") for label in labels)


@quantity
def members(moment: Moment, group: str) -> int:
    """How many members a group has; 0 for an unknown one."""
    found = group_of(moment.view, group)
    return 0 if found is None else len(found["members"])


@quantity
def fewest_owned(moment: Moment, group: str) -> int:
    """The number of partitions of the member that has fewest."""
    return min((len(one["assignment"]) for one in _group(moment, group)["members"].values()), default=0)


@quantity
def moved(moment: Moment, group: str) -> int:
    """The number of partitions no longer assigned to their previous owner although that is still a member."""
    found = _group(moment, group)
    owners = {name: one["client"] for one in found["members"].values() for name in one["assignment"]}
    clients = {one["client"] for one in found["members"].values()}
    return sum(before in clients and owners.get(name) != before for name, before in found["previous"].items())


@quantity
def unowned(moment: Moment, group: str) -> int:
    """Partitions of the subscribed topics that no member is assigned."""
    found = _group(moment, group)
    topics = {topic for one in found["members"].values() for topic in one["topics"]}
    assigned = {name for one in found["members"].values() for name in one["assignment"]}
    return sum(topic_of(name) in topics and name not in assigned for name in moment.view["partitions"])


@quantity
def readers(moment: Moment, group: str) -> int:
    """The number of members that received a record since the lesson began."""
    clients = {one["client"] for one in _group(moment, group)["members"].values()}
    return sum(moment.tally.read.get(client, 0) > 0 for client in clients)


@quantity
def lag(moment: Moment, of: Committed) -> int:
    """High watermark minus committed offset, as `desk@orders-0`; all of the log while nothing is committed."""
    group, partition = group_and_partition(of)
    leader = replica_name(partition, leader_of(moment.view, partition))
    return int(moment.view["replicas"][leader]["high_watermark"]) - max(committed_of(moment.view, group, partition), 0)


@quantity
def home(moment: Moment, group: str) -> int:
    """The partition of __consumer_offsets to which a group of this name belongs, whether the group exists or not."""
    topic = moment.view["topics"].get(OFFSETS_TOPIC)
    if topic is None:
        raise Unresolved(text("goal.no_topic", topic=OFFSETS_TOPIC))
    return partition_for(group, int(topic["partitions"]))


@quantity
def coordinator(moment: Moment, group: str) -> BrokerId:
    """The broker that coordinates a group."""
    return broker_id_of(_group(moment, group)["coordinator"])


@quantity
def protocol(moment: Moment, group: str) -> str:
    """The assignor that a group uses; `none` without members."""
    return str(_group(moment, group)["protocol"]) or "none"
