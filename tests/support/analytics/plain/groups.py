"""Groups: their states at coordinators, and which consumer owns what."""

from collections import defaultdict
from typing import Any

from tests.support.analytics.plain.dump import Row, Rows, partition

Group = tuple[str, str]
"""Group and coordinator."""


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


def partition_owners(t: Any) -> Rows:
    """What each consumer reports to own, until it reports something else or ends; and the times between."""
    group_of: dict[str, str] = {}
    owns: dict[str, dict[str, Row]] = defaultdict(dict)
    found: Rows = []
    nobody: dict[tuple[str, str], Row] = {}

    def says(client: str, names: list[str], seq: int, at_us: int) -> None:
        group = group_of.get(client)
        if group is None:
            return
        before, owns[client] = owns[client], {}
        for row in before.values():
            row["to_us"] = at_us
        for name in names:
            row = _span(group, name, client, seq, at_us)
            found.append(row)
            owns[client][name] = row
            if (group, name) in nobody:
                nobody.pop((group, name))["to_us"] = at_us
        held = {name for other, its in owns.items() if group_of.get(other) == group for name in its}
        for name in before.keys() - held:
            nobody[group, name] = _span(group, name, None, seq, at_us)
            found.append(nobody[group, name])

    for event in t.of("NodeAdded", "NodeRemoved", "ConsumerAssigned"):
        said = event.said
        if event.kind == "ConsumerAssigned":
            says(said["client"], said["partitions"], event.seq, event.at_us)
        elif event.kind == "NodeRemoved":
            says(said["node"], [], event.seq, event.at_us)
            group_of.pop(said["node"], None)
        elif said["node_kind"] == "consumer" and (group := dict(said["settings"]).get("group.id")):
            group_of[said["node"]] = group
    return [row for row in found if row["to_us"] is None or row["to_us"] > row["from_us"]]


def _span(group: str, name: str, client: str | None, seq: int, at_us: int) -> Row:
    topic, number = partition(name)
    return {
        "group": group, "topic": topic, "partition": number, "from_seq": seq, "from_us": at_us, "to_us": None,
        "client": client,
    }  # fmt: skip


def rebalances(t: Any) -> Rows:
    states: dict[Group, Rows] = defaultdict(list)
    for row in t["silver.group_generations"]:
        states[row["group"], row["broker"]].append(row)
    found: Rows = []
    for (group, node), listed in states.items():
        for place, row in enumerate(listed):
            if row["state"] == "PreparingRebalance":
                found.append(_rebalance(group, node, row, listed[place + 1 : place + 3]))
    found.sort(key=lambda row: row["seq"])
    for row in found:
        later = [other for other in found if other["group"] == row["group"] and other["seq"] > row["seq"]]
        _add_times(t, row, min((other["at_us"] for other in later), default=None))
        _add_moves(t, row, min((other["seq"] for other in later if other["broker"] == row["broker"]), default=None))
    return found


def _rebalance(group: str, node: str, row: Row, following: Rows) -> Row:
    states = [one["state"] for one in following]
    completes, stable = states[:1] == ["CompletingRebalance"], states == ["CompletingRebalance", "Stable"]
    return {
        "group": group, "broker": node, "seq": row["from_seq"], "at_us": row["from_us"], "prepared_us": row["from_us"],
        "why": row["why"], "generation_id": (following[0] if completes else row)["generation_id"],
        "completed_us": following[0]["from_us"] if completes else None,
        "stable_us": following[1]["from_us"] if stable else None,
        "members": following[0]["members"] if completes else 0,
    }  # fmt: skip


def _add_times(t: Any, row: Row, next_us: int | None) -> None:
    gaps = [
        one for one in t["silver.partition_owners"]
        if one["client"] is None and one["group"] == row["group"] and one["to_us"] is not None
        and row["at_us"] <= one["to_us"] and (next_us is None or one["to_us"] < next_us)
    ]  # fmt: skip
    lasted = [one["to_us"] - one["from_us"] for one in gaps]
    row |= {"unowned_us": sum(lasted), "stop_the_world_us": max(lasted, default=0)}
    row["stopped_us"] = [one["from_us"] for one in gaps if one["to_us"] - one["from_us"] == row["stop_the_world_us"]]
    ends = next(one for one in (row["stable_us"], next_us, t.end_us) if one is not None)
    row["by_member"] = _phases(t, row["group"], row["at_us"], ends)


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


def _add_moves(t: Any, row: Row, next_seq: int | None) -> None:
    """Partitions that the plan of this rebalance gives to another member than the last plan that had them."""
    holder: dict[tuple[str, int], str] = {}
    moved = 0
    for one in t["silver.group_assignments"]:
        if one["change"] != "assigned" or one["group"] != row["group"] or one["is_empty"]:
            continue
        place = one["topic"], one["partition"]
        is_here = one["seq"] > row["seq"] and (next_seq is None or one["seq"] < next_seq)
        moved += is_here and holder.get(place, one["member"]) != one["member"] and row["stable_us"] is not None
        holder[place] = one["member"]
    row["moved_partitions"] = moved


MAKERS = {
    "silver.group_generations": group_generations, "silver.partition_owners": partition_owners,
    "gold.rebalances": rebalances,
}  # fmt: skip
