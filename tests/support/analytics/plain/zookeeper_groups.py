"""Groups of 0.8, which have no coordinator, event by event: by "Owners and rebalances" in docs/TABLES.md."""

from collections import defaultdict
from typing import Any

from tests.support.analytics.plain.dump import Happened, Row, Rows


class _Members:
    """What members do by themselves, and the rebalances of their groups that this makes."""

    def __init__(self) -> None:
        self.spans: Rows = []
        self.rows: Rows = []
        self._group_of: dict[str, str] = {}
        self._now: dict[str, Row] = {}
        self._rebalance: dict[str, Row] = {}
        self._changed: dict[str, int] = defaultdict(int)
        self._changed_for_all = 0

    def see(self, event: Happened) -> None:
        said = event.said
        match event.kind:
            case "NodeAdded":
                group = dict(said["settings"]).get("group.id")
                if said["node_kind"] == "consumer" and group:
                    self._group_of[said["node"]] = group
            case "NodeRemoved":
                self._becomes(said["node"], "removed", event)
                self._group_of.pop(said["node"], None)
            case "ConsumerStateChanged":
                self._becomes(said["client"], said["state"], event)
            case _:
                match said["path"].split("/"):
                    case ["", "consumers", group, "ids", _]:
                        self._changed[group] = event.seq
                    case ["", "brokers", "ids" | "topics", _]:
                        self._changed_for_all = event.seq

    def _becomes(self, client: str, state: str, event: Happened) -> None:
        if state == "rebalancing":
            if client in self._group_of and client not in self._now:
                self._begins(client, self._group_of[client], event)
        elif client in self._now:
            self._now.pop(client).update(to_seq=event.seq, to_us=event.at_us, ends=state)

    def _begins(self, client: str, group: str, event: Happened) -> None:
        change_seq = max(self._changed[group], self._changed_for_all)
        span = self._now[client] = {
            "group": group, "client": client, "from_seq": event.seq, "from_us": event.at_us, "to_seq": None,
            "to_us": None, "ends": None, "change_seq": change_seq, "why": event.said["why"],
        }  # fmt: skip
        self.spans.append(span)
        row = self._rebalance.get(group)
        # A change while one of them is not done belongs to the same rebalance.
        if row is not None:
            before = row["spans"][-1]
            is_done = all(one["to_us"] is not None and one["to_us"] < event.at_us for one in row["spans"])
            if not is_done or before["change_seq"] == change_seq:
                row["spans"].append(span)
                return
        row = self._rebalance[group] = {
            "group": group, "broker": "", "seq": event.seq, "at_us": event.at_us, "prepared_us": event.at_us,
            "why": event.said["why"], "generation_id": None, "completed_us": None, "spans": [span],
        }  # fmt: skip
        self.rows.append(row)


def _members(t: Any) -> _Members:
    found = _Members()
    for event in t.of(
        "NodeAdded", "NodeRemoved", "ConsumerStateChanged", "ZnodeCreated", "ZnodeChanged", "ZnodeDeleted"
    ):
        found.see(event)
    return found


def member_rebalances(t: Any) -> Rows:
    return _members(t).spans


def rebalances_of_members(t: Any) -> Rows:
    """The rebalances, with `over_us`: when all members were done."""
    rows = _members(t).rows
    for row in rows:
        spans = row.pop("spans")
        last = {span["client"]: span for span in spans}.values()
        ends = [span["to_us"] for span in last]
        row["over_us"] = None if None in ends else max(ends)
        row["stable_us"] = row["over_us"] if all(span["ends"] == "stable" for span in last) else None
        row["members"] = len(last)
        row["moved_partitions"] = _moved(t, row)
    return rows


def _moved(t: Any, row: Row) -> int:
    """Partitions that a consumer took of another one."""
    owner: dict[tuple[str, int, int], str] = {}
    moved = 0
    for one in sorted(t["silver.partition_owners"], key=lambda one: one["from_seq"]):
        if one["group"] == row["group"] and one["client"] is not None:
            place = one["topic"], one["incarnation"], one["partition"]
            is_here = one["from_seq"] > row["seq"] and (row["over_us"] is None or one["from_us"] <= row["over_us"])
            moved += is_here and owner.get(place, one["client"]) != one["client"]
            owner[place] = one["client"]
    return moved


MAKERS = {"silver.member_rebalances": member_rebalances}
