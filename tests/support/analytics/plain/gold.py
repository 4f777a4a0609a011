"""What charts show: counts, distributions, and spans of time of equal width."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.support.analytics.plain.dump import Row, Rows, broker, partition
from tests.support.analytics.plain.groups import unowned
from tests.support.analytics.plain.topics import incarnation

BUCKETS = 400
FEW_BUCKETS = 100


def rank(values: Iterable[int], share: float) -> int | None:
    """The discrete percentile of the values at `share`; None without values."""
    listed = sorted(values)
    return next((value for place, value in enumerate(listed, 1) if place >= share * len(listed) - 1e-9), None)


def width(t: Any, buckets: int = FEW_BUCKETS) -> int:
    """Spans of so many microseconds cut the run into at most so many."""
    return int(t.end_us) // buckets + 1


def _buckets(t: Any, rows: Rows, key: Callable[[Row], tuple[Any, ...]], at_us: str = "at_us") -> dict[Any, Rows]:
    found: dict[Any, Rows] = defaultdict(list)
    for row in rows:
        found[(*key(row), row[at_us] // width(t))].append(row)
    return found


def _span(t: Any, number: int) -> Row:
    return {"bucket": number, "at_us": number * width(t), "bucket_us": width(t)}


def commit_latency(t: Any) -> Rows:
    """The points of the distribution: every latency with which another 200th of the batches is reached."""
    found: Rows = []
    committed = [row for row in t["silver.appends"] if row.get("committed_us") is not None]
    for acks in {row["acks"] for row in committed}:
        own = sorted(
            (row["committed_us"] - row["sent_us"], row["sent_seq"], row["seq"], row["sent_us"])
            for row in committed
            if row["acks"] == acks
        )
        for latency_us in sorted({one[0] for one in own}):
            faster = sum(one[0] < latency_us for one in own)
            place = sum(one[0] <= latency_us for one in own)
            _, sent_seq, _, sent_us = own[place - 1]
            if place * 200 // len(own) > faster * 200 // len(own):
                found.append(
                    {
                        "acks": acks, "share": place / len(own), "latency_us": latency_us, "batches": len(own),
                        "seq": sent_seq, "at_us": sent_us,
                    }
                )  # fmt: skip
    return found


def run_sketches(t: Any) -> Rows:
    counts = Counter(row["acks"] for row in t["silver.appends"] if row.get("committed_us") is not None)
    return [{"acks": acks, "batches": count} for acks, count in counts.items()]


def produce_stages(t: Any) -> Rows:
    taken: Rows = []
    for row in t["silver.produces"]:
        if row["state"] != "acknowledged" or row["acks"] == 0:
            continue
        ready = row.get("committed_us") if row["acks"] == -1 else row.get("appended_us")
        stages = (
            ("accumulator", row.get("gathered_us", row["started_us"]), row["started_us"]),
            ("wire", row["started_us"], row.get("appended_us")),
            ("replication", row.get("appended_us"), ready),
            ("answer", ready, row["acknowledged_us"]),
        )
        for number, (stage, begins, ends) in enumerate(stages):
            if begins is not None and ends is not None and ends >= begins:
                taken.append(
                    {
                        "acks": row["acks"], "stage": stage, "stage_no": number, "took": ends - begins,
                        "at_us": row["started_us"], "seq": row["started_seq"],
                    }
                )  # fmt: skip
    return [
        {
            "acks": acks, "stage": stage, "stage_no": number, **_span(t, place), "batches": len(rows),
            "p50_us": rank((row["took"] for row in rows), 0.5), "p99_us": rank((row["took"] for row in rows), 0.99),
            "seq": _slowest(rows, lambda row: row["took"]),
        }
        for (acks, stage, number, place), rows in _buckets(
            t, taken, lambda row: (row["acks"], row["stage"], row["stage_no"])
        ).items()
    ]  # fmt: skip


def _slowest(rows: Rows, took: Callable[[Row], int]) -> list[int]:
    """The events that began the slowest ones."""
    most = max(map(took, rows))
    return [row["seq"] for row in rows if took(row) == most]


def _named(t: Any) -> Rows:
    return [
        {
            **row, "seq": row["sent_seq"], "at_us": row["sent_us"],
            "api": "Fetch (consumer)" if row["api"] == "Fetch" and broker(row["source"]) is None else row["api"],
        }
        for row in t["silver.rpcs"]
        if row["message"] != "response"
    ]  # fmt: skip


def rpc_mix(t: Any) -> Rows:
    return [
        {"api": api, **_span(t, place), "messages": len(rows), "seq": min(row["seq"] for row in rows)}
        for (api, place), rows in _buckets(t, _named(t), lambda row: (row["api"],)).items()
    ]


def rpc_timings(t: Any) -> Rows:
    arrived = [row for row in _named(t) if row.get("arrived_us") is not None]
    found: Rows = []
    for (api, place), rows in _buckets(t, arrived, lambda row: (row["api"],)).items():
        network = [row["arrived_us"] - row["sent_us"] for row in rows]
        parked = {
            row["rpc"]: row["completed_us"] - row["parked_us"]
            for row in rows
            if row.get("parked_us") is not None and row.get("completed_us") is not None
        }
        found.append(
            {
                "api": api, **_span(t, place), "messages": len(rows),
                "network_p50_us": rank(network, 0.5), "network_p99_us": rank(network, 0.99),
                "parked_p50_us": rank(parked.values(), 0.5), "parked_p99_us": rank(parked.values(), 0.99),
                "seq": _slowest(
                    rows, lambda row: row["arrived_us"] - row["sent_us"] + parked.get(row["rpc"], 0)  # noqa: B023
                ),
            }
        )  # fmt: skip
    return found


def throughput(t: Any) -> Rows:
    found = [
        {
            "topic": topic, "incarnation": born, "partition": number, **_span(t, place),
            "seq": min(row["seq"] for row in rows), "records": sum(row["records"] for row in rows),
            "bytes": sum(row["size_bytes"] for row in rows), "batches": len(rows),
            "produce_requests": len({row["rpc"] for row in rows}), "fetch_requests": 0,
        }
        for (topic, born, number, place), rows in _buckets(
            t, t["silver.appends"], lambda row: (row["topic"], row["incarnation"], row["partition"])
        ).items()
    ]  # fmt: skip
    fetches = [row for row in t["silver.rpcs"] if row.get("arrived_us") is not None
               and (row["api"], row["message"]) == ("Fetch", "request")]  # fmt: skip
    zero = dict.fromkeys(("records", "bytes", "batches", "produce_requests"), 0)
    found += [
        {**_span(t, place), **zero, "seq": min(row["arrived_seq"] for row in rows), "fetch_requests": len(rows)}
        for (place,), rows in _buckets(t, fetches, lambda row: (), "arrived_us").items()
    ]
    return found


def batch_fill(t: Any) -> Rows:
    closed: Rows = []
    for row in t["silver.produces"]:
        if "started_us" not in row:
            continue
        why = row.get("wait_why", "at once")
        early = why == "linger" and row["started_us"] < row.get("linger_until_us", 0)
        waited = row["started_us"] - row.get("gathered_us", row["started_us"])
        closed.append({**row, "at_us": row["started_us"], "why": "full" if early else why, "waited": waited})
    return [
        {
            "client": client, "closed_by": why, **_span(t, place), "seq": min(row["started_seq"] for row in rows),
            "batches": len(rows), "mean_records": _mean([row["records"] for row in rows]),
            "mean_bytes": _mean([row["size_bytes"] for row in rows]),
            "linger_us": int(_mean([row["waited"] for row in rows])),
        }
        for (client, why, place), rows in _buckets(t, closed, lambda row: (row["client"], row["why"])).items()
    ]  # fmt: skip


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _weighted(t: Any, spans: Rows, *key: str) -> Iterable[tuple[tuple[Any, ...], Row, Rows]]:
    """Key, span of time and what was seen of each span within it, as (span, lasts)."""
    found: dict[Any, Rows] = defaultdict(list)
    for row in spans:
        begins, ends = row["from_us"], t.end_us if row["to_us"] is None else row["to_us"]
        for place in range(begins // width(t), max(begins, ends - 1) // width(t) + 1):
            lasts = min(ends, (place + 1) * width(t)) - max(begins, place * width(t))
            found[(*(row[name] for name in key), place)].append({**row, "lasts": lasts})
    for (*values, place), rows in found.items():
        whole = sum(row["lasts"] for row in rows)
        most = max(row["lag"] for row in rows)
        mean = sum(row["lag"] * row["lasts"] for row in rows) / whole if whole else most
        seen = {"max": most, "mean": mean, "seq": min(row["from_seq"] for row in rows)}
        yield tuple(values), {**_span(t, place), **seen}, rows


def hw_lag(t: Any) -> Rows:
    key = ("topic", "incarnation", "partition", "broker")
    return [
        {**dict(zip(key, values, strict=True)), **seen} for values, seen, _ in _weighted(t, t["plain.behind"], *key)
    ]


def consumer_lag(t: Any) -> Rows:
    key = ("group", "topic", "incarnation", "partition")
    return [
        {
            **dict(zip(key, values, strict=True)), **seen,
            **{name: max(rows, key=lambda row: row["from_seq"])[name] for name in ("committed", "log_end")},
        }
        for values, seen, rows in _weighted(t, t["silver.lag"], *key)
    ]  # fmt: skip


def offset_steps(t: Any) -> Rows:
    found: dict[Any, Row] = {}
    for row in t["silver.replica_offsets"]:
        if row["measure"] in ("log_end", "high_watermark") and row["value"] is not None:
            born = incarnation(t, row["topic"], row["seq"])
            key = (row["topic"], born, row["partition"], row["broker"], row["measure"])
            found[(*key, row["at_us"] // width(t, BUCKETS))] = {**row, "incarnation": born}
            if row["lowered"]:
                found[(*key, "lowered", row["seq"])] = {**row, "incarnation": born}
    unique = {(row["seq"], row["measure"]): row for row in found.values()}
    return list(unique.values())


def disk_growth(t: Any) -> Rows:
    """Bytes of .log files; those that are marked as deleted by what else happens to the log in the same instant."""
    whys = {
        "truncated": "truncated", "cleaned": "compaction", "deleted": "deleted", "power lost": "power lost",
        "repaired": "repaired", "flushed": "flushed",
    }  # fmt: skip
    each = [{**row, "why": "appended"} for row in t["silver.batches"]]
    for row in t["silver.disk_ops"]:
        if row["op"] == "marked deleted":
            same = [
                one["op"] for one in t["silver.disk_ops"]
                if one["at_us"] == row["at_us"] and abs(one["seq"] - row["seq"]) <= 2
                and all(one.get(name) == row[name] for name in ("broker", "topic", "partition"))
            ]  # fmt: skip
            if "cleaned" not in same:
                by = "retention" if "segments deleted" in same else "truncated" if "truncated" in same else "repaired"
                each.append({**row, "why": by})
        elif row["op"] in whys:
            each.append({**row, "why": whys[row["op"]]})
    return [
        {
            "broker": number, "topic": topic, "why": why, **_span(t, place), "seq": min(row["seq"] for row in rows),
            "appended_bytes": sum(row.get("size_bytes", 0) for row in rows),
            "removed_bytes": sum(row.get("log_bytes") or 0 for row in rows),
            "fsyncs": len(rows) if why == "flushed" else 0,
        }
        for (number, topic, why, place), rows in _buckets(
            t, each, lambda row: (row["broker"], row.get("topic"), row["why"])
        ).items()
    ]  # fmt: skip


def transaction_spans(t: Any) -> Rows:
    found: Rows = []
    now: dict[str, Row] = {}
    states: dict[str, str] = {}
    for row in t["silver.transactions"]:
        if row["step"] != "transitioned":
            continue
        name, state = row["transactional_id"], row["to_state"]
        one = now.get(name)
        before, states[name] = states.get(name, ""), state
        # A coordinator that takes over emits again the states in its log.
        if state == "Ongoing" and before not in ("Ongoing", "PrepareCommit", "PrepareAbort"):
            one = {
                "transactional_id": name, "seq": row["seq"], "at_us": row["at_us"], "begun_us": row["at_us"],
                "decided_us": None, "completed_us": None, "result": "open", "in_it": set(), "why": None,
            }  # fmt: skip
            found.append(one)
            now[name] = one
        elif one is None:
            continue
        if state in ("PrepareCommit", "PrepareAbort") and one["decided_us"] is None:
            result = "COMMIT" if state == "PrepareCommit" else "ABORT"
            one |= {"decided_us": row["at_us"], "result": result, "why": row["why"]}
        if state in ("CompleteCommit", "CompleteAbort") and one["completed_us"] is None:
            one["completed_us"] = row["at_us"]
        one["in_it"].update(row["partitions"])
    for one in found:
        over_us = t.end_us if one["completed_us"] is None else one["completed_us"]
        one |= {"open_us": over_us - one["begun_us"], "partitions": len(one["in_it"])}
        one["held_us"] = max((_held(t, name, one["begun_us"], over_us) for name in one["in_it"]), default=0)
    return found


def _held(t: Any, name: str, from_us: int, to_us: int) -> int:
    """The longest time in which the last stable offset of a partition's replica stood still."""
    topic, number = partition(name)
    longest = 0
    by_broker: dict[int, Rows] = defaultdict(list)
    for row in t["silver.replica_offsets"]:
        if (row["topic"], row["partition"], row["measure"]) == (topic, number, "first_unstable"):
            by_broker[row["broker"]].append(row)
    for rows in by_broker.values():
        for row, after in zip(rows, [*rows[1:], None], strict=True):
            if row["value"] >= 0:
                ends = to_us if after is None else min(to_us, after["at_us"])
                longest = max(longest, ends - max(from_us, row["at_us"]))
    return longest


def run_summary(t: Any) -> Rows:
    batches, appends = t["silver.batches"], t["silver.appends"]
    elections = [row for row in t["silver.leader_epochs"] if row["role"] == "elected"]
    times = [row["committed_us"] - row["sent_us"] for row in appends if row.get("committed_us") is not None]
    cuts = [row["previous"] - row["value"] for row in t["silver.replica_offsets"]
            if row["measure"] == "log_end" and row["lowered"]]  # fmt: skip
    started = {event.said["node"]: event for event in reversed(t.of("NodeAdded"))
               if event.said["node_kind"] == "broker"}  # fmt: skip
    first = min(started.values(), key=lambda event: event.seq, default=None)
    run: Row = next((event.said for event in t.of("RunStarted")), {})
    gaps = [row["ends_us"] - row["from_us"] for row in unowned(t)]
    return [
        {
            "events": len(t.events), "simulated_s": t.end_us / 1_000_000, "batches": len(batches),
            "records": sum(row["records"] for row in batches), "bytes": sum(row["size_bytes"] for row in batches),
            "produced_records": sum(row["records"] for row in appends), "messages": len(t.of("RpcSent")),
            "elections": len(elections), "unclean_elections": sum(row["unclean"] for row in elections),
            "truncated_records": sum(cuts), "isr_shrinks": len(t.of("IsrShrunk")),
            "lost_records": t.total("AcknowledgedRecordsLost", lambda event: event.said["count"]),
            "alarms": len(t.of("InvariantViolated")),
            "faults": sum(row["fault"] not in ("starting", "session closed") for row in t["silver.faults"]),
            "rebalances": len(t["gold.rebalances"]),
            "stop_the_world_us": max(gaps, default=0), "unowned_us": sum(gaps),
            "unavailable_us": sum(row["unavailable_us"] or 0 for row in t["gold.failovers"]),
            "commit_p50_us": rank(times, 0.5), "commit_p99_us": rank(times, 0.99),
            "settings": dict(first.said["settings"]) if first else None, "era": run.get("era"), "seed": run.get("seed"),
        }
    ]  # fmt: skip


def alarm_marks(t: Any) -> Rows:
    return list(t["silver.alarms"])


MAKERS = {
    "gold.commit_latency": commit_latency, "gold.run_sketches": run_sketches, "gold.produce_stages": produce_stages,
    "gold.rpc_mix": rpc_mix, "gold.rpc_timings": rpc_timings, "gold.throughput": throughput,
    "gold.batch_fill": batch_fill, "gold.hw_lag": hw_lag, "gold.consumer_lag": consumer_lag,
    "gold.offset_steps": offset_steps, "gold.disk_growth": disk_growth, "gold.transaction_spans": transaction_spans,
    "gold.run_summary": run_summary, "gold.alarm_marks": alarm_marks,
}  # fmt: skip
