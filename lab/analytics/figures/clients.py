"""Charts of producers, consumers and their groups."""

from collections import defaultdict
from statistics import fmean

from lab.analytics.figures.parts import (
    COLOURS,
    Figure,
    Row,
    Rows,
    Stored,
    Words,
    bars,
    over_time,
    partition_name,
    series,
    span_bar,
    steps,
    with_others,
)

_MS = 1e3
_ACKS = {-1: "acks=all", 1: "acks=1", 0: "acks=0"}
_STAGES = (
    ("accumulator", "--group"),
    ("wire", "--produce"),
    ("replication", "--fetch"),
    ("answer", "--leader"),
)
_RESULTS = {"COMMIT": ("committed", "--isr"), "ABORT": ("aborted", "--outisr")}
MAX_SPANS = 40


def consumer_lag(rows: Rows, words: Words) -> Figure:
    """Records between the committed offset of a group and the end of the partition."""
    found = series(rows, lambda row: f"{row['group']} · {partition_name(row)}", lambda row: row["max"])
    data = [
        steps(own, "max", name, colour, words("analytics.records"))
        for (name, own), colour in zip(found.items(), COLOURS, strict=False)
    ]
    return over_time(data, words, "analytics.records_behind")


def throughput(rows: Rows, words: Words) -> Figure:
    """Bytes that leaders appended for producers, a second, stacked by partition."""
    written = [row for row in rows if row["topic"] is not None]
    found = with_others(written, partition_name, "bytes", words("analytics.others"))
    data = [
        {
            "type": "bar", "x": [(row["at_us"] + row["bucket_us"] / 2) / 1e6 for row in own],
            "y": [row["bytes"] * 1e6 / row["bucket_us"] for row in own], "width": own[0]["bucket_us"] / 1e6,
            "customdata": [row["at_us"] for row in own], "marker": {"color": colour, "line": {"width": 0}},
            "name": name, "showlegend": True,
            "hovertemplate": f"{name}: %{{y:.0f}} B/s<br>%{{x:.3f}} s<extra></extra>",
        }
        for (name, own), colour in zip(found.items(), (*COLOURS, "--outisr"), strict=False)
    ]  # fmt: skip
    return over_time(data, words, "analytics.bytes_a_second", barmode="stack", bargap=0)


def batch_fill(rows: Rows, words: Words) -> Figure:
    """Records a batch over time, a line for each producer; the marks say why the batches were closed."""
    symbols = {"linger": "circle", "full": "square"}
    found = series(rows, lambda row: row["client"], lambda row: row["batches"])
    data = []
    for (name, own), colour in zip(found.items(), COLOURS, strict=False):
        line = steps(own, "mean_records", name, colour, words("analytics.records"))
        closed = [row["closed_by"] for row in own]
        line |= {
            "mode": "markers",
            "marker": {"color": colour, "size": 6, "symbol": [symbols.get(why, "diamond") for why in closed]},
            "text": closed,
            "hovertemplate": f"{name}: %{{y:.1f}} · %{{text}}<br>%{{x:.3f}} s<extra></extra>",
        }
        data.append(line)
    return over_time(data, words, "analytics.records_a_batch")


def produce_stages(rows: Rows, words: Words) -> Figure:
    """Where the time between a record and its acknowledgement goes: the mean of each stage, for each acks."""
    by_acks: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        if row["started_us"] is not None and row["appended_us"] is not None:
            by_acks[row["acks"]].append(row)
    labels = [_ACKS.get(acks, str(acks)) for acks in sorted(by_acks)]
    data = []
    for stage, colour in _STAGES:
        means = [_mean(by_acks[acks], stage, acks) for acks in sorted(by_acks)]
        data.append(
            {
                "type": "bar", "orientation": "h", "y": labels, "x": means, "showlegend": True,
                "name": words(f"analytics.produce.{stage}"), "marker": {"color": colour, "line": {"width": 0}},
                "hovertemplate": f"%{{y}} · {words(f'analytics.produce.{stage}')}: %{{x:.3f}} ms<extra></extra>",
            }
        )  # fmt: skip
    return bars(labels, data, words("analytics.ms"))


def _mean(rows: Rows, stage: str, acks: int) -> float:
    lengths = [length for row in rows if (length := _stage_us(row, stage, acks)) is not None]
    return fmean(lengths) / _MS if lengths else 0.0


def _stage_us(row: Row, stage: str, acks: int) -> int | None:
    """Only with acks=all the answer waits for replication."""
    waits = acks == -1
    match stage:
        case "accumulator":
            return 0 if row["gathered_us"] is None else int(row["started_us"] - row["gathered_us"])
        case "wire":
            return int(row["appended_us"] - row["started_us"])
        case "replication":
            return int(row["committed_us"] - row["appended_us"]) if waits and row["committed_us"] is not None else None
    done = row["committed_us"] if waits else row["appended_us"]
    if acks == 0 or done is None or row["acknowledged_us"] is None:
        return None
    return max(0, int(row["acknowledged_us"] - done))


def rebalances(rows: Rows, words: Words) -> Figure:
    """What each member did during a rebalance; hatched: the time in which a partition had no owner."""
    phases: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    stopped = []
    labels: list[str] = []
    for row in sorted(rows, key=lambda row: row["at_us"])[:MAX_SPANS]:
        for part in row["by_member"] or ():
            label = f"{row['group']} · {part['member']}"
            labels.append(label)
            if part["to_us"] is not None:
                phases[part["phase"]].append((label, part["from_us"], part["to_us"]))
        if row["stop_the_world_us"]:
            label = f"{row['group']} · {words('analytics.no_owner')}"
            labels.append(label)
            stopped.append((label, row["at_us"], row["at_us"] + row["stop_the_world_us"]))
    data = [
        span_bar(spans, phase, colour) for (phase, spans), colour in zip(sorted(phases.items()), COLOURS, strict=False)
    ]
    if stopped:
        hatched = {"pattern": {"shape": "/", "size": 5}, "opacity": 0.7}
        data.append(span_bar(stopped, words("analytics.no_owner"), "--outisr", **hatched))
    return bars(sorted(labels), data, words("analytics.seconds"), barmode="overlay")


def transactions(rows: Rows, words: Words) -> Figure:
    """From the first partition of a transaction to its last marker, by how it ended."""
    shown = sorted(rows, key=lambda row: row["at_us"])[: 4 * MAX_SPANS]
    spans: dict[tuple[str, str], list[tuple[str, int, int]]] = defaultdict(list)
    for row in shown:
        result = _RESULTS.get(row["result"], ("open", "--leader"))
        spans[result].append((row["transactional_id"], row["at_us"], row["at_us"] + row["open_us"]))
    data = [span_bar(own, words(f"analytics.result.{name}"), colour) for (name, colour), own in spans.items()]
    labels = sorted({row["transactional_id"] for row in shown})
    return bars(labels, data, words("analytics.seconds"), barmode="overlay")


FIGURES = (
    Stored(
        "consumer_lag", "gold.consumer_lag",
        ("group", "topic", "partition", "at_us", "max", "mean", "committed", "log_end"), consumer_lag,
    ),
    Stored(
        "throughput", "gold.throughput",
        ("topic", "partition", "at_us", "bucket_us", "records", "bytes", "batches", "produce_requests",
         "fetch_requests"),
        throughput,
    ),
    Stored(
        "batch_fill", "gold.batch_fill",
        ("client", "at_us", "batches", "mean_records", "mean_bytes", "linger_us", "closed_by"), batch_fill,
        is_per_partition=False,
    ),
    Stored(
        "produce_stages", "silver.produces",
        ("client", "topic", "partition", "sequence", "acks", "records", "size_bytes", "attempts", "gathered_us",
         "started_us", "appended_us", "committed_us", "acknowledged_us", "latency_us", "state"),
        produce_stages,
    ),
    Stored(
        "rebalances", "gold.rebalances",
        ("group", "generation_id", "at_us", "why", "prepared_us", "completed_us", "stable_us", "members",
         "moved_partitions", "stop_the_world_us", "unowned_us", "by_member"),
        rebalances, is_per_partition=False,
    ),
    Stored(
        "transactions", "gold.transaction_spans",
        ("transactional_id", "at_us", "begun_us", "decided_us", "completed_us", "open_us", "result", "partitions",
         "held_us", "why"),
        transactions, is_per_partition=False,
    ),
)  # fmt: skip
