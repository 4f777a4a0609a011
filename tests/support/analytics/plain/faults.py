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


MAKERS = {"silver.faults": faults}
