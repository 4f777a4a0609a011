"""Batches of the lab's own producers."""

from collections import Counter
from typing import Any

from tests.support.analytics.plain.dump import Happened, Row, Rows, partition
from tests.support.analytics.plain.topics import incarnation

Key = tuple[str, int, str, int]
"""Client, which client of that name, partition, number of the batch."""


def produces(t: Any) -> Rows:
    found: dict[Key, Row] = {}
    lost: list[Happened] = []
    lives: Counter[str] = Counter()
    chosen: dict[tuple[str, int, str], str] = {}
    #: batches of a client that wait for the event that sends their request
    sending: dict[str, list[tuple[Row, str]]] = {}
    requests: dict[tuple[int, str], list[Row]] = {}
    for event in t.events:
        said = event.said
        if event.kind == "NodeAdded":
            lives[said["node"]] += 1
        elif event.kind == "RpcSent" and (said["api"], said["kind"]) == ("Produce", "request"):
            for row, name in sending.pop(said["source"], []):
                requests.setdefault((event.seq, name), []).append(row)
        elif event.kind == "RecordPartitioned":
            chosen[said["client"], lives[said["client"]], said["partition"]] = said["rule"]
        elif event.kind == "AcknowledgedRecordsLost":
            lost.append(event)
        elif event.kind in _HANDLE and said["sequence"] > 0:
            key = (said["client"], lives[said["client"]], said["partition"], said["sequence"])
            row = found.setdefault(key, _new(key, event))
            _HANDLE[event.kind](row, event)
            if event.kind in ("RecordsGathered", "ProduceStarted"):
                row["rule"] = chosen.pop(key[:3], row.get("rule"))
            if event.kind in ("ProduceStarted", "ProduceRepeated") and said["leader"]:
                sending.setdefault(said["client"], []).append((row, said["partition"]))
    # A client may learn that a batch is acknowledged after a later leader has lost it.
    for event in lost:
        _lose(t, found, event)
    for append in t["silver.appends"]:
        for row in requests.get((append["sent_seq"], f"{append['topic']}-{append['partition']}"), []):
            for name, value in (("appended_us", append["at_us"]), ("committed_us", append.get("committed_us"))):
                row[name] = min((one for one in (row.get(name), value) if one is not None), default=None)
            row["incarnation"] = append["incarnation"]
    return list(found.values())


def _new(key: Key, event: Happened) -> Row:
    topic, number = partition(key[2])
    return {
        "client": key[0], "client_no": key[1], "topic": topic, "partition": number, "sequence": key[3],
        "gathered_seq": event.seq, "attempts": 0, "state": "open", "lost_records": 0,
    }  # fmt: skip


def _gathered(row: Row, event: Happened) -> None:
    row.setdefault("gathered_us", event.at_us)
    row |= {"records": event.said["count"], "size_bytes": event.said["size"], "wait_why": event.said["why"]}
    if event.said["due_us"]:
        row["linger_until_us"] = event.said["due_us"]


def _started(row: Row, event: Happened) -> None:
    said = event.said
    row |= {
        "started_seq": event.seq, "started_us": event.at_us, "records": said["count"], "size_bytes": said["size"],
        "acks": said["acks"],
    }  # fmt: skip
    row["attempts"] += said["leader"] != ""


def _repeated(row: Row, event: Happened) -> None:
    row["attempts"] += event.said["leader"] != ""


def _acknowledged(row: Row, event: Happened) -> None:
    said = event.said
    row |= {
        "state": "acknowledged", "acknowledged_us": event.at_us, "latency_us": said["latency_us"],
        "base_offset": said["base_offset"], "acknowledged_seq": event.seq,
    }  # fmt: skip


def _failed(row: Row, event: Happened) -> None:
    row |= {"state": "failed", "error": event.said["error"]}


def _retried(row: Row, event: Happened) -> None:
    row["error"] = event.said["error"]


def _split(row: Row, event: Happened) -> None:
    row |= {"state": "split", "error": row.get("error") or "MESSAGE_TOO_LARGE"}


_HANDLE = {
    "RecordsGathered": _gathered, "ProduceStarted": _started, "ProduceRepeated": _repeated,
    "ProduceAcknowledged": _acknowledged, "ProduceFailed": _failed, "ProduceRetried": _retried, "BatchSplit": _split,
}  # fmt: skip


def _lose(t: Any, found: dict[Key, Row], event: Happened) -> None:
    """Acknowledged records that a later leader lacks, by the batches that they belong to."""
    said = event.said
    topic, number = partition(said["partition"])
    begins, ends = said["first_offset"], said["first_offset"] + said["count"]
    for row in found.values():
        if (row["topic"], row["partition"]) != (topic, number) or row.get("base_offset", -1) < 0:
            continue
        if row["started_seq"] > event.seq:
            continue
        if incarnation(t, topic, row["started_seq"]) != incarnation(t, topic, event.seq):
            continue
        first, last = row["base_offset"], row["base_offset"] + row["records"]
        gone = set(range(max(first, begins), min(last, ends)))
        row.setdefault("gone", set()).update(gone)
        row["lost_records"] = len(row["gone"])


MAKERS = {"silver.produces": produces}
