"""Faults, from their beginning to the next event about the same thing."""

from collections.abc import Iterator
from typing import Any

from tests.support.analytics.plain.dump import Happened, Row, Rows

_NODE_FAULTS = {
    "BrokerStarting": "starting", "BrokerStarted": "", "BrokerStopped": "stopped", "BrokerExiting": "exiting",
    "BrokerFrozen": "frozen", "BrokerThawed": "", "ClientFrozen": "frozen", "ClientThawed": "", "NodeRemoved": "",
}  # fmt: skip

About = tuple[str, str, str]
"""What kind of thing, and which."""


def _found(event: Happened) -> Iterator[tuple[About, Row | None]]:
    """The faults that an event begins, or ends (None), by subject."""
    said, kind = event.said, event.kind
    if kind in _NODE_FAULTS:
        subject = said.get("broker") or said.get("client") or said["node"]
        how = said.get("how") or said.get("why")
        fault = _NODE_FAULTS[kind]
        yield ("node", subject, ""), {"fault": fault, "subject": subject, "how": how} if fault else None
    elif kind in ("LinkCut", "LinkRestored"):
        a, b = sorted((said["a"], said["b"]))
        yield ("link", a, b), {"fault": "link cut", "subject": a, "other": b} if kind == "LinkCut" else None
        if kind == "LinkRestored":
            yield ("one way", a, b), None
            yield ("one way", b, a), None
    elif kind == "LinkCutOneWay":
        ends = said["source"], said["destination"]
        yield ("one way", *ends), {"fault": "link cut one way", "subject": ends[0], "other": ends[1]}
    elif kind == "LinkQualityChanged":
        ends = said["source"], said["destination"]
        values = {name: said[name] for name in ("latency_us", "loss_percent", "reorder_percent")}
        row = {"fault": "link quality", "subject": ends[0], "other": ends[1], **values}
        yield ("quality", *ends), row if any(values.values()) else None
    elif kind in ("DiskSlowed", "FsyncSlowed"):
        fault = {"DiskSlowed": "disk slow", "FsyncSlowed": "fsync slow"}[kind]
        row = {"fault": fault, "subject": said["broker"], "latency_us": said["latency_us"]}
        yield (fault, said["broker"], ""), row if said["latency_us"] else None


_AT_ONCE = {
    "PowerLost": lambda said: {"fault": "power lost", "subject": said["broker"]},
    "SessionClosed": lambda said: {"fault": "session closed", "subject": said["owner"], "how": said["why"]},
    "ForeignZnodeChanged": lambda said: {"fault": "foreign change", "subject": said["path"], "how": said["change"]},
}


def faults(t: Any) -> Rows:
    rows: Rows = []
    now: dict[About, Row] = {}
    commands = {event.seq for event in t.of("CommandReceived")}
    for event in t.events:
        by = "learner" if event.cause_seq == 0 or event.cause_seq in commands else "engine"
        same = {"other": "", "from_seq": event.seq, "from_us": event.at_us, "to_us": None, "by": by}
        for about, row in _found(event):
            if about in now:
                now.pop(about)["to_us"] = event.at_us
            if row is not None:
                now[about] = {**same, **row}
                rows.append(now[about])
        if event.kind in _AT_ONCE:
            rows.append({**same, **_AT_ONCE[event.kind](event.said), "to_us": event.at_us})
    return rows


def failovers(t: Any) -> Rows:
    """Elections of a leader for a partition that had one before."""
    found: Rows = []
    elected: dict[tuple[str, int, int], Rows] = {}
    for row in t["silver.leader_epochs"]:
        if row["role"] == "elected":
            born = max((one for one in t["silver.topics"] if one["topic"] == row["topic"]
                        and one["created_seq"] <= row["seq"]), key=lambda one: one["created_seq"])  # fmt: skip
            elected.setdefault((row["topic"], born["incarnation"], row["partition"]), []).append(row)
    for (topic, number, place), listed in elected.items():
        following = [one["created_seq"] for one in t["silver.topics"]
                     if one["topic"] == topic and one["incarnation"] == number + 1]  # fmt: skip
        leads = [row for row in listed if row["broker"] >= 0]
        for before, row, after in zip(leads, leads[1:], [*leads[2:], None], strict=False):
            until = after["seq"] if after else min(following, default=2**62)
            next_seq = next(one["seq"] for one in listed if one["seq"] > before["seq"])
            found.append(
                {
                    "topic": topic, "incarnation": number, "partition": place, "from_broker": before["broker"],
                    "to_broker": row["broker"], "seq": row["seq"], "at_us": row["at_us"], "elected_us": row["at_us"],
                    **{name: row[name] for name in ("leader_epoch", "strategy", "unclean")},
                    **_loss(t, before, next_seq), **_after(t, row, until),
                }
            )  # fmt: skip
            one = found[-1]
            lost_us = row["at_us"] if one["lost_us"] is None else one["lost_us"]
            one["unavailable_us"] = None if one["leads_us"] is None else one["leads_us"] - lost_us
    return found


def _loss(t: Any, before: Row, next_seq: int) -> Row:
    """What made the leader elected in `before` go: between its election and the next decision about the partition."""
    node = f"b{before['broker']}"
    within = [one for one in t["silver.faults"]
              if one["subject"] == node and before["seq"] < one["from_seq"] < next_seq]  # fmt: skip
    at_us = next(event.at_us for event in t.events if event.seq == next_seq)
    closed = [one for one in within if one["fault"] == "session closed"]
    last_closed = max((one["from_seq"] for one in closed), default=0)
    stops = [
        one for one in within
        if one["fault"] in ("stopped", "exiting", "frozen")
        and (one["to_us"] is None or one["to_us"] >= at_us or last_closed > one["from_seq"])
    ]  # fmt: skip
    stop = stops[-1] if stops else None
    noticed = [one for one in closed if stop is None or one["from_seq"] > stop["from_seq"]]
    return {
        "fault_seq": stop and stop["from_seq"],
        "lost_us": stop["from_us"] if stop else noticed[-1]["from_us"] if noticed else None,
        "noticed_us": noticed[-1]["from_us"] if noticed else None,
    }


def _after(t: Any, row: Row, until: int) -> Row:
    """What follows an election until the next one."""
    same = (row["topic"], row["partition"], row["leader_epoch"], row["broker"])

    def times(rows: Rows) -> list[int]:
        return [
            one["at_us"] for one in rows
            if row["seq"] < one["seq"] < until
            and (one["topic"], one["partition"], one["leader_epoch"], one["broker"]) == same
        ]  # fmt: skip

    cuts = [
        one["previous"] - one["value"] for one in t["silver.replica_offsets"]
        if one["measure"] == "log_end" and one["lowered"] and row["seq"] < one["seq"] < until
        and (one["topic"], one["partition"]) == same[:2]
    ]  # fmt: skip
    return {
        "leads_us": min(times([one for one in t["silver.leader_epochs"] if one["role"] == "leads"]), default=None),
        "first_append_us": min(times(t["silver.batches"]), default=None),
        "truncated_records": sum(cuts),
    }


MAKERS = {"silver.faults": faults, "gold.failovers": failovers}
