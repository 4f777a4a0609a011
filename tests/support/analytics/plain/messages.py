"""Messages between nodes, and the batches that Produce requests brought."""

from collections import defaultdict
from typing import Any

from tests.support.analytics.plain.dump import Replica, Row, Rows, replica
from tests.support.analytics.plain.topics import incarnation


def rpcs(t: Any) -> Rows:
    found: dict[str, Row] = {}
    by_number: dict[int, Row] = {}
    for event in t.events:
        said = event.said
        if event.kind == "RpcSent":
            fields = dict(said["fields"])
            is_produce = said["api"] == "Produce" and said["kind"] == "request"
            row = {
                "rpc": said["rpc"], "rpc_no": int(said["rpc"][1:]), "api": said["api"], "message": said["kind"],
                "source": said["source"], "destination": said["destination"], "correlation": said["correlation"],
                "acks": fields.get("acks") if is_produce else None, "cause_seq": event.cause_seq,
                "sent_seq": event.seq, "sent_us": event.at_us, "due_us": said["due_us"], "outcome": "in flight",
            }  # fmt: skip
            found[said["rpc"]] = row
            by_number[row["rpc_no"]] = row
            request = by_number.get(said["correlation"])
            if said["kind"] == "response" and request is not None and "response" not in request:
                request |= {"response": said["rpc"], "answered_us": event.at_us}
        elif event.kind == "RpcDelivered" and said["rpc"] in found:
            found[said["rpc"]] |= {"arrived_seq": event.seq, "arrived_us": event.at_us, "outcome": "delivered"}
        elif event.kind == "RpcDropped" and said["rpc"] in found:
            found[said["rpc"]] |= {"why": said["why"], "outcome": "dropped"}
        elif event.kind == "RpcHeld" and said["rpc"] in found:
            found[said["rpc"]] |= {"why": said["why"], "outcome": "held"}
        elif event.kind == "RpcRescheduled" and said["rpc"] in found:
            found[said["rpc"]] |= {"due_us": said["due_us"], "outcome": "in flight"}
        elif event.kind == "RequestParked" and said["request"] in found:
            found[said["request"]].setdefault("parked_us", event.at_us)
        elif event.kind == "RequestCompleted" and said["request"] in found:
            found[said["request"]] |= {"completed_us": event.at_us, "completed_why": said["why"]}
    return list(found.values())


def appends(t: Any) -> Rows:
    """Batches that the arrival of a Produce request led to; with KIP-890 the answer to a question that it led to."""
    arrived = {row["arrived_seq"]: row for row in t["silver.rpcs"] if row.get("arrived_seq") is not None}
    by_number = {row["rpc_no"]: row for row in t["silver.rpcs"]}
    uncommitted: dict[Replica, Rows] = defaultdict(list)
    found: Rows = []
    for event in t.events:
        said = event.said
        if event.kind == "BatchAppended":
            request = arrived.get(event.cause_seq)
            if request is not None and (request["api"], request["message"]) == ("AddPartitionsToTxn", "response"):
                request = arrived.get(by_number[request["correlation"]]["cause_seq"])
            if request is None or (request["api"], request["message"]) != ("Produce", "request"):
                continue
            one = replica(said["replica"])
            row = {
                "seq": event.seq, "at_us": event.at_us, "topic": one[0], "partition": one[1], "broker": one[2],
                "incarnation": incarnation(t, one[0], event.seq), "base_offset": said["base_offset"],
                "end_offset": said["last_offset"] + 1, "records": said["last_offset"] - said["base_offset"] + 1,
                "size_bytes": said["size"], "client": request["source"],
                **{name: request[name] for name in ("rpc", "acks", "sent_seq", "sent_us", "arrived_us")},
            }  # fmt: skip
            found.append(row)
            uncommitted[one].append(row)
        elif event.kind in ("LogOpened", "LogTruncated", "LogDeleted"):
            one = replica(said["replica"])
            # A log that was emptied to begin elsewhere holds nothing of before.
            is_emptied = event.kind == "LogTruncated" and said["to_offset"] > said["from_offset"]
            end = {"LogOpened": said.get("log_end_offset"), "LogTruncated": said.get("to_offset")}.get(event.kind, 0)
            kept = 0 if is_emptied else end
            uncommitted[one] = [row for row in uncommitted[one] if row["end_offset"] <= kept]
        elif event.kind == "HighWatermarkAdvanced":
            one = replica(said["replica"])
            for row in uncommitted[one]:
                if row["end_offset"] <= said["to_offset"]:
                    row |= {"committed_seq": event.seq, "committed_us": event.at_us}
            uncommitted[one] = [row for row in uncommitted[one] if "committed_seq" not in row]
    return found


MAKERS = {"silver.rpcs": rpcs, "silver.appends": appends}
