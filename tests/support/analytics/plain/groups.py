"""Groups: their states at coordinators, which consumer owns what, and their rebalances, event by event.

By the definitions of "Owners and rebalances" in docs/TABLES.md.
"""

from collections import defaultdict
from typing import Any

from tests.support.analytics.plain.dump import Happened, Row, Rows, partition
from tests.support.analytics.plain.topics import assignment_of
from tests.support.analytics.plain.zookeeper_groups import rebalances_of_members

Group = tuple[str, str]
"""Group and coordinator."""
Place = tuple[str, int, int]
"""Topic, incarnation, partition."""


def group_generations(t: Any) -> Rows:
    found: Rows = []
    now: dict[Group, Row] = {}
    members: dict[Group, int] = defaultdict(int)

    def ends(key: Group, at_us: int) -> None:
        if key in now:
            now.pop(key)["to_us"] = at_us

    for event in t.of("GroupTransitioned", "GroupMemberAdded", "GroupMemberRemoved", "GroupsUnloaded", "BrokerStopped"):
        said = event.said
        key = (said.get("group", ""), said["broker"])
        if event.kind == "GroupTransitioned":
            ends(key, event.at_us)
            if said["to_state"] == "Dead":
                members[key] = 0
            now[key] = {
                "group": key[0], "broker": key[1], "state": said["to_state"], "from_seq": event.seq,
                "from_us": event.at_us, "to_us": None, "members": members[key],
                **{name: said[name] for name in ("generation_id", "protocol", "leader", "why")},
            }  # fmt: skip
            found.append(now[key])
        elif event.kind == "GroupMemberAdded":
            members[key] += 1
        elif event.kind == "GroupMemberRemoved":
            members[key] -= 1
        else:
            forgotten = [one for one in list(now) if one[1] == said["broker"]]
            for one in forgotten:
                if event.kind == "BrokerStopped" or one[0] in said["groups"]:
                    ends(one, event.at_us)
                    members[one] = 0
    return found


class _Topics:
    """Which topics exist, and which incarnation of their name they are."""

    def __init__(self) -> None:
        self.incarnation: dict[str, int] = defaultdict(int)
        self.existing: set[str] = set()

    def take(self, event: Happened) -> str | None:
        """The topic that an event creates or deletes."""
        about = assignment_of(event)
        if about is None or event.kind == "ZnodeChanged":
            return None
        topic, _ = about
        if event.kind == "ZnodeCreated":
            self.incarnation[topic] += 1
            self.existing.add(topic)
        else:
            self.existing.discard(topic)
        return topic

    def place(self, name: str) -> Place:
        """The partition of a name, of the newest topic of its name."""
        topic, number = partition(name)
        return topic, self.incarnation[topic], number


class _Owners:
    """Owners of partitions by group, and the times without an owner."""

    def __init__(self) -> None:
        self.rows: Rows = []
        self._topics = _Topics()
        self._group_of: dict[str, str] = {}
        self._said: dict[str, list[str]] = {}
        self._held: dict[tuple[str, Place], dict[str, Row]] = defaultdict(dict)
        self._nobody: dict[tuple[str, Place], Row] = {}

    def see(self, event: Happened) -> None:
        said = event.said
        if event.kind == "NodeAdded":
            group = dict(said["settings"]).get("group.id")
            if said["node_kind"] == "consumer" and group:
                self._group_of[said["node"]] = group
        elif event.kind == "ConsumerAssigned":
            self._changes(said["client"], said["partitions"], event)
        elif event.kind == "NodeRemoved":
            self._changes(said["node"], [], event)
            self._group_of.pop(said["node"], None)
        else:
            self._topic(event)

    def _topic(self, event: Happened) -> None:
        topic = self._topics.take(event)
        if topic is None:
            return
        if topic in self._topics.existing:
            for client, names in self._said.items():
                for name in names:
                    if partition(name)[0] == topic:
                        self._gains(client, name, event)
            return
        for key in [key for key in (*self._held, *self._nobody) if key[1][0] == topic]:
            for row in self._held.pop(key, {}).values():
                row["to_us"] = event.at_us
            if key in self._nobody:
                self._nobody.pop(key)["to_us"] = event.at_us

    def _changes(self, client: str, names: list[str], event: Happened) -> None:
        if client not in self._group_of:
            return
        lost = []
        for key, owners in self._held.items():
            if client in owners:
                owners.pop(client)["to_us"] = event.at_us
                lost.append(key)
        self._said[client] = names
        for name in names:
            self._gains(client, name, event)
        for key in lost:
            if not self._held[key]:
                self._nobody[key] = self._row(key, None, event)

    def _gains(self, client: str, name: str, event: Happened) -> None:
        if partition(name)[0] in self._topics.existing:
            key = (self._group_of[client], self._topics.place(name))
            self._held[key][client] = self._row(key, client, event)
            if key in self._nobody:
                self._nobody.pop(key)["to_us"] = event.at_us

    def _row(self, key: tuple[str, Place], client: str | None, event: Happened) -> Row:
        group, (topic, number, place) = key
        self.rows.append(
            {
                "group": group, "topic": topic, "incarnation": number, "partition": place, "from_seq": event.seq,
                "from_us": event.at_us, "to_us": None, "client": client,
            }
        )  # fmt: skip
        return self.rows[-1]


def partition_owners(t: Any) -> Rows:
    owners = _Owners()
    for event in t.of("NodeAdded", "NodeRemoved", "ConsumerAssigned", "ZnodeCreated", "ZnodeDeleted"):
        owners.see(event)
    return [row for row in owners.rows if row["to_us"] is None or row["to_us"] > row["from_us"]]


class _Rebalances:
    """The rebalances of groups at their coordinators."""

    def __init__(self, t: Any) -> None:
        self.rows: Rows = []
        self._topics = _Topics()
        self._now: dict[Group, Row] = {}
        self._members: dict[Group, int] = defaultdict(int)
        self._plan: dict[tuple[str, Place], set[str]] = {}
        #: the processes of a static member, under one name
        self._static: dict[tuple[str, str], str] = {}
        for event in t.of("GroupMemberAdded", "GroupMemberReplaced"):
            said = event.said
            is_replaced = event.kind == "GroupMemberReplaced"
            if said["instance"] or is_replaced:
                for id in (said["member"], *([said["old_member"]] if is_replaced else [])):
                    self._static[said["group"], id] = f"static {said['instance']}"

    def see(self, event: Happened) -> None:
        if event.kind in ("ZnodeCreated", "ZnodeDeleted"):
            self._topics.take(event)
            return
        said = event.said
        key = (said.get("group", ""), said["broker"])
        match event.kind:
            case "GroupTransitioned":
                self._enters(key, event)
            case "GroupMemberAdded":
                self._members[key] += 1
            case "GroupMemberRemoved":
                self._members[key] -= 1
            case "GroupAssigned":
                self._planned(key, said["assignments"])
            case _:
                ended = [one for one in {*self._now, *self._members} if one[1] == said["broker"]]
                for one in ended:
                    if event.kind == "BrokerStopped" or one[0] in said["groups"]:
                        self._members[one] = 0
                        self._ends(one, event.at_us)

    def _enters(self, key: Group, event: Happened) -> None:
        said, state = event.said, event.said["to_state"]
        row = self._now.get(key)
        if state == "CompletingRebalance" and row is not None:
            row |= {
                "completed_us": event.at_us, "generation_id": said["generation_id"], "members": self._members[key],
            }  # fmt: skip
            return
        if state == "Stable" and row is not None and row["completed_us"] is not None:
            row |= {"stable_us": event.at_us, "moved_partitions": row.pop("moves", 0)}
        if row is not None:
            self._ends(key, event.at_us)
        if state == "Dead":
            self._members[key] = 0
        if state == "PreparingRebalance":
            self._now[key] = {
                "group": key[0], "broker": key[1], "seq": event.seq, "at_us": event.at_us, "prepared_us": event.at_us,
                "why": said["why"], "generation_id": said["generation_id"], "completed_us": None, "stable_us": None,
                "members": 0, "moved_partitions": 0, "over_us": None,
            }  # fmt: skip
            self.rows.append(self._now[key])

    def _ends(self, key: Group, at_us: int) -> None:
        if key in self._now:
            self._now.pop(key)["over_us"] = at_us

    def _planned(self, key: Group, assignments: list[tuple[str, list[str]]]) -> None:
        plan: dict[tuple[str, Place], set[str]] = defaultdict(set)
        for member, names in assignments:
            for name in names:
                owner = self._static.get((key[0], member), f"member {member}")
                plan[key[0], self._topics.place(name)].add(owner)
        moves = sum(self._plan.get(where, owners) != owners for where, owners in plan.items())
        self._plan |= plan
        if key in self._now:
            self._now[key]["moves"] = moves


def rebalances(t: Any) -> Rows:
    found = _Rebalances(t)
    for event in t.of(
        "GroupTransitioned", "GroupMemberAdded", "GroupMemberRemoved", "GroupAssigned", "GroupsUnloaded",
        "BrokerStopped", "ZnodeCreated", "ZnodeDeleted",
    ):  # fmt: skip
        found.see(event)
    rows = sorted([*found.rows, *rebalances_of_members(t)], key=lambda row: row["seq"])
    gaps: dict[int, Rows] = defaultdict(list)
    for gap in unowned(t):
        begun = [
            row for row in rows
            if row["group"] == gap["group"] and row["at_us"] <= gap["ends_us"]
            and (row["over_us"] is None or row["over_us"] >= gap["from_us"])
        ]  # fmt: skip
        if begun:
            gaps[begun[-1]["seq"]].append(gap)
    for row in rows:
        _add_times(t, row, rows, gaps[row["seq"]])
    return rows


def unowned(t: Any) -> Rows:
    """The times in which partitions of groups had no owner; one that does not end lasts until the end."""
    return [
        {**row, "ends_us": t.end_us if row["to_us"] is None else row["to_us"]}
        for row in t["silver.partition_owners"]
        if row["client"] is None
    ]


def _add_times(t: Any, row: Row, rows: Rows, gaps: Rows) -> None:
    lasted = [one["ends_us"] - one["from_us"] for one in gaps]
    row |= {"unowned_us": sum(lasted), "stop_the_world_us": max(lasted, default=0)}
    row["stopped_us"] = [one["from_us"] for one in gaps if one["ends_us"] - one["from_us"] == row["stop_the_world_us"]]
    later = (other["at_us"] for other in rows if other["group"] == row["group"] and other["seq"] > row["seq"])
    next_us = min(later, default=None)
    ends = next(one for one in (row["stable_us"], next_us, t.end_us) if one is not None)
    row["by_member"] = _phases(t, row["group"], row["at_us"], ends) or None


def _phases(t: Any, group: str, from_us: int, to_us: int) -> list[Row]:
    """What the consumers of a group did within a time."""
    found = []
    for life in t["silver.nodes"]:
        if life.get("group") != group:
            continue
        closed_us = life.get("to_us")
        own = [
            row for row in t["silver.client_states"]
            if row["what"] == "consumer" and row["client"] == life["node"] and row["seq"] > life["from_seq"]
            and (closed_us is None or row["at_us"] <= closed_us)
        ]  # fmt: skip
        for place, row in enumerate(own):
            until = own[place + 1]["at_us"] if place + 1 < len(own) else t.end_us if closed_us is None else closed_us
            begins, ends = max(row["at_us"], from_us), min(until, to_us)
            if ends > begins:
                found.append({"member": life["node"], "phase": row["state"], "from_us": begins, "to_us": ends})
    return sorted(found, key=lambda one: (one["member"], one["phase"], one["from_us"], one["to_us"]))


MAKERS = {
    "silver.group_generations": group_generations, "silver.partition_owners": partition_owners,
    "gold.rebalances": rebalances,
}  # fmt: skip
