"""Where leaders are in their logs, and how far groups and followers are behind: what holds when all that happens at an
instant has happened.
"""

from collections import defaultdict
from itertools import groupby
from typing import Any

from tests.support.analytics.plain.dump import Happened, Row, Rows, partition, replica, spans
from tests.support.analytics.plain.topics import incarnation, leaders

Partition = tuple[str, int]
Replica = tuple[str, int, int]
Place = tuple[str, int | None, int]
"""Topic, incarnation, partition."""
Touched = dict[Replica, int]


class Positions:
    """Log ends and high watermarks of replicas, and leaders, as events go by."""

    def __init__(self) -> None:
        self.log_end: dict[tuple[str, int, int], int | None] = {}
        #: what a log that is closed had; not of a deleted one
        self.last_end: dict[tuple[str, int, int], int] = {}
        self.high_watermark: dict[tuple[str, int, int], int] = {}
        self.leader: dict[Partition, int] = {}

    def take(self, event: Happened) -> Replica | None:
        """The replica of which something may have changed."""
        said = event.said
        if event.kind not in _OF_REPLICA:
            return None
        one = replica(said["replica"])
        match event.kind:
            case "LogOpened":
                self.log_end[one], self.high_watermark[one] = said["log_end_offset"], said["high_watermark"]
            case "BatchAppended":
                self.log_end[one] = said["last_offset"] + 1
            case "LogTruncated":
                self.log_end[one] = said["to_offset"]
            case "LogClosed" | "LogDeleted":
                self.log_end[one] = None
                if event.kind == "LogDeleted":
                    self.last_end.pop(one, None)
                    self.high_watermark.pop(one, None)
            case _:
                self.high_watermark[one] = said["to_offset"]
        if (end := self.log_end.get(one)) is not None:
            self.last_end[one] = end
        return one


_OF_REPLICA = (
    "LogOpened", "BatchAppended", "LogTruncated", "LogClosed", "LogDeleted", "HighWatermarkAdvanced",
    "HighWatermarkLowered",
)  # fmt: skip


def _instants(t: Any) -> Any:
    """Positions, after each instant, with the last event about each partition's leader, and about the ends of logs."""
    said = {(key, seq): leader for key, listed in leaders(t).items() for seq, _, leader, _ in listed}
    by_seq: dict[int, list[tuple[Partition, int]]] = defaultdict(list)
    for (key, seq), leader in said.items():
        by_seq[seq].append((key, leader))
    now = Positions()
    for at_us, events in groupby(t.events, key=lambda event: event.at_us):
        about: Touched = {}
        led: dict[Partition, int] = {}
        ends: Touched = {}
        for event in events:
            if (one := now.take(event)) is not None:
                about[one] = event.seq
                if event.kind not in ("LogClosed", "HighWatermarkAdvanced", "HighWatermarkLowered"):
                    ends[one] = event.seq
            for key, leader in by_seq[event.seq]:
                now.leader[key] = leader
                led[key] = event.seq
        for one, seq in about.items():
            if now.leader.get(one[:2]) == one[2]:
                led[one[:2]] = max(seq, led.get(one[:2], 0))
        yield at_us, now, led, ends


def leader_positions(t: Any) -> Rows:
    changes: dict[Place, list[tuple[int, int, Any]]] = defaultdict(list)
    for at_us, now, led, _ in _instants(t):
        for key, seq in led.items():
            leader = now.leader[key]
            one = (*key, leader)
            value = (leader, now.log_end.get(one), now.high_watermark.get(one))
            changes[key[0], incarnation(t, key[0], seq), key[1]].append((seq, at_us, value))
    return [
        {
            "topic": key[0], "incarnation": key[1], "partition": key[2], "from_seq": seq, "from_us": from_us,
            "to_us": to_us, "broker": leader, "log_end": log_end, "high_watermark": high_watermark,
        }
        for key, listed in changes.items()
        for seq, from_us, to_us, (leader, log_end, high_watermark) in spans(listed)
    ]  # fmt: skip


def lag(t: Any) -> Rows:
    """Committed offsets of groups against the high watermark of the leader."""
    positions: dict[Place, Rows] = defaultdict(list)
    for row in t["silver.leader_positions"]:
        positions[row["topic"], row["incarnation"], row["partition"]].append(row)
    found: Rows = []
    for (group, topic, born, number), listed in _commits(t).items():
        moves = [(row["from_seq"], row["from_us"], "leader", row) for row in positions[topic, born, number]]
        committed, led = None, None
        changes = []
        for seq, at_us, what, value in sorted([*listed, *moves], key=lambda one: one[0]):
            committed, led = (value, led) if what == "committed" else (committed, value)
            changes.append((seq, at_us, (committed, led)))
        for seq, from_us, to_us, (offset, row) in spans(changes):
            if offset is not None and row is not None and row["high_watermark"] is not None:
                found.append(
                    {
                        "group": group, "topic": topic, "incarnation": born, "partition": number, "from_seq": seq,
                        "from_us": from_us, "to_us": to_us, "committed": offset, "log_end": row["log_end"],
                        "high_watermark": row["high_watermark"], "lag": row["high_watermark"] - offset,
                    }
                )  # fmt: skip
    return found


def _commits(t: Any) -> dict[tuple[str, str, int | None, int], list[tuple[int, int, str, Any]]]:
    """What a group has committed of each partition, and when that changes. A coordinator that loads its partition of
    `__consumer_offsets` knows of nothing before, and states what it has found.
    """
    found: dict[tuple[str, str, int | None, int], list[tuple[int, int, str, Any]]] = defaultdict(list)
    stored_in: dict[str, str] = {}
    for event in t.of(
        "GroupTransitioned", "GroupsLoaded", "OffsetCommitted", "OffsetRemoved", "ZnodeCreated", "ZnodeChanged",
        "ZnodeDeleted",
    ):  # fmt: skip
        said = event.said
        if event.kind == "GroupTransitioned":
            stored_in[said["group"]] = said["partition"]
        elif event.kind == "GroupsLoaded":
            for key, steps in found.items():
                if stored_in.get(key[0]) == said["partition"]:
                    steps.append((event.seq, event.at_us, "committed", None))
        elif event.kind.startswith("Znode"):
            match said["path"].split("/"):
                case ["", "consumers", group, "offsets", topic, number] if number.isdecimal():
                    key = (group, topic, incarnation(t, topic, event.seq), int(number))
                    text = said.get("data")
                    if text is None or text.removeprefix("-").isdecimal():
                        found[key].append((event.seq, event.at_us, "committed", None if text is None else int(text)))
        else:
            topic, number = partition(said["partition"])
            key = (said["group"], topic, incarnation(t, topic, event.seq), number)
            found[key].append((event.seq, event.at_us, "committed", said.get("offset")))
    return found


def behind(t: Any) -> Rows:
    """Spans of how far the high watermark is behind the leader's log (broker None), and followers behind the leader."""
    used = {
        (row["topic"], row["incarnation"], row["partition"])
        for row in t["silver.leader_positions"] if (row["log_end"] or 0) > 0
    }  # fmt: skip
    changes: dict[tuple[Place, int | None], list[tuple[int, int, int | None]]] = defaultdict(list)

    def place(one: Partition | Replica, seq: int) -> Place:
        return one[0], incarnation(t, one[0], seq), one[1]

    for at_us, now, led, ends in _instants(t):
        for key, seq in led.items():
            one = (*key, now.leader[key])
            end = now.log_end.get(one)
            changes[place(key, seq), None].append(
                (seq, at_us, None if end is None else end - now.high_watermark.get(one, 0))
            )
        touched = dict(ends)
        for one in {*now.last_end, *((at[0], at[2], node) for at, node in changes if node is not None)}:
            if one[:2] in led:
                touched[one] = max(led[one[:2]], ends.get(one, 0))
        for one, seq in touched.items():
            leader = now.leader.get(one[:2], -1)
            end = now.log_end.get((*one[:2], leader))
            own = now.last_end.get(one)
            is_behind = end is not None and own is not None and one[2] != leader
            changes[place(one, seq), one[2]].append((seq, at_us, end - own if is_behind else None))
    return [
        {
            "topic": at[0], "incarnation": at[1], "partition": at[2], "broker": node, "from_seq": seq,
            "from_us": from_us, "to_us": to_us, "lag": max(value, 0),
        }
        for (at, node), listed in changes.items()
        if at in used
        for seq, from_us, to_us, value in spans(listed)
        if value is not None
    ]  # fmt: skip


def at(rows: Rows, at_us: int) -> Row | None:
    """The span that an instant is in."""
    return next((row for row in rows if row["from_us"] <= at_us and (row["to_us"] or at_us + 1) > at_us), None)


MAKERS = {"silver.leader_positions": leader_positions, "silver.lag": lag, "plain.behind": behind}
