"""Charts of producers, consumers and their groups."""

from collections import defaultdict

from lab.analytics.figures.parts import (
    COLOURS,
    Figure,
    Row,
    Rows,
    Stored,
    Words,
    bars,
    mark,
    newest,
    of_largest,
    over_time,
    partition_of,
    series,
    span_bar,
    steps,
    with_others,
)

_MS = 1e3
_ACKS = {-1: "acks=all", 1: "acks=1", 0: "acks=0"}
_STAGES = {"accumulator": "--group", "wire": "--produce", "replication": "--fetch", "answer": "--leader"}
_RESULTS = {"COMMIT": ("committed", "--isr"), "ABORT": ("aborted", "--outisr")}
MAX_SPANS = 40


def _of_group(row: Row) -> str:
    return f"{row['group']} · {partition_of(row)}"


def consumer_lag(rows: Rows, words: Words) -> Figure:
    """Records between the committed offset of a group and the end of the partition."""
    found = series(rows, _of_group, lambda row: row["max"])
    data = [
        steps(own, "max", name, colour, words("analytics.records"))
        for (name, own), colour in zip(found.items(), COLOURS, strict=False)
    ]
    return {**over_time(data, words, "analytics.records_behind"), **of_largest(rows, _of_group, words)}


def throughput(rows: Rows, words: Words) -> Figure:
    """Bytes per second that leaders appended for producers, stacked by partition."""
    written = [row for row in rows if row["topic"] is not None]
    found = with_others(written, partition_of, "bytes", words("analytics.others"))
    data = [
        {
            "type": "bar", "x": [(row["at_us"] + row["bucket_us"] / 2) / 1e6 for row in own],
            "y": [row["bytes"] * 1e6 / row["bucket_us"] for row in own], "width": own[0]["bucket_us"] / 1e6,
            "customdata": [mark(row) for row in own], "marker": {"color": colour, "line": {"width": 0}},
            "name": name, "showlegend": True,
            "hovertemplate": f"{name}: %{{y:.0f}} B/s<br>%{{x:.3f}} s<extra></extra>",
        }
        for (name, own), colour in zip(found.items(), (*COLOURS, "--outisr"), strict=False)
    ]  # fmt: skip
    return over_time(data, words, "analytics.bytes_a_second", barmode="stack", bargap=0)


def batch_fill(rows: Rows, words: Words) -> Figure:
    """Records per batch over time, one line per producer; marks show why the batches were closed."""
    symbols = {"linger": "circle", "full": "square"}
    found = series(rows, lambda row: row["client"], lambda row: row["batches"])
    data = []
    for (name, own), colour in zip(found.items(), COLOURS, strict=False):
        line = steps(own, "mean_records", name, colour, words("analytics.records"))
        closed = [row["closed_by"] for row in own]
        line |= {
            "mode": "markers",
            "marker": {"color": colour, "size": 6, "symbol": [symbols.get(why, "diamond") for why in closed]},
            "text": [words.value("analytics.closed_by", why) for why in closed],
            "hovertemplate": f"{name}: %{{y:.1f}} · %{{text}}<br>%{{x:.3f}} s<extra></extra>",
        }
        data.append(line)
    note = of_largest(rows, lambda row: row["client"], words)
    return {**over_time(data, words, "analytics.records_a_batch"), **note}


def produce_stages(rows: Rows, words: Words) -> Figure:
    """Latency of acknowledged batches by stage: the median of each stage over time, for each acks."""
    data = []
    for (acks, stage), own in sorted(_by_stage(rows).items(), key=lambda item: (item[0][0], item[1][0]["stage_no"])):
        name = f"{_ACKS.get(acks, acks)} · {words(f'analytics.produce.{stage}')}"
        line = steps([{**row, "p50_ms": row["p50_us"] / _MS} for row in own], "p50_ms", name, _STAGES[stage], "ms")
        line["line"]["dash"] = "solid" if acks == -1 else "dot"
        line["text"] = [f"p99 {row['p99_us'] / _MS:.3f} ms" for row in own]
        line["hovertemplate"] = f"{name}: %{{y:.3f}} ms · %{{text}}<br>%{{x:.3f}} s<extra></extra>"
        data.append(line)
    return over_time(data, words, "analytics.ms")


def _by_stage(rows: Rows) -> dict[tuple[int, str], list[Row]]:
    found: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for row in rows:
        found[row["acks"], row["stage"]].append(row)
    return found


def rebalances(rows: Rows, words: Words) -> Figure:
    """What each member did during a rebalance; hatched: the time in which a partition had no owner."""
    phases: dict[str, list[tuple[str, int, int, int | None]]] = defaultdict(list)
    stopped = []
    labels: list[str] = []
    shown, note = newest(rows, MAX_SPANS, words)
    for row in shown:
        for part in row["by_member"] or ():
            label = f"{row['group']} · {part['member']}"
            labels.append(label)
            if part["to_us"] is not None:
                phases[part["phase"]].append((label, part["from_us"], part["to_us"], None))
        if row["stop_the_world_us"]:
            label = f"{row['group']} · {words('analytics.no_owner')}"
            labels.append(label)
            # A partition may be revoked before the coordinator notices.
            began_us = row["at_us"] if row["stopped_us"] is None else row["stopped_us"]
            stopped.append((label, began_us, began_us + row["stop_the_world_us"], None))
    data = [
        span_bar(spans, words.state(phase), colour)
        for (phase, spans), colour in zip(sorted(phases.items()), COLOURS, strict=False)
    ]
    if stopped:
        hatched = {"pattern": {"shape": "/", "size": 5}, "opacity": 0.7}
        data.append(span_bar(stopped, words("analytics.no_owner"), "--outisr", **hatched))
    return {**bars(sorted(labels), data, words("analytics.seconds"), barmode="overlay"), **note}


def transactions(rows: Rows, words: Words) -> Figure:
    """From the first partition of a transaction to its last marker, by outcome; hatched: readers of committed records
    were held back.
    """
    shown, note = newest(rows, 4 * MAX_SPANS, words)
    by_result: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in shown:
        by_result[_RESULTS.get(row["result"], ("open", "--leader"))].append(row)
    data = [
        _transactions(own, words(f"analytics.result.{name}"), colour, words)
        for (name, colour), own in by_result.items()
    ]
    labels = sorted({row["transactional_id"] for row in shown})
    return {**bars(labels, data, words("analytics.seconds"), barmode="overlay"), **note}


def _transactions(rows: Rows, name: str, colour: str, words: Words) -> Figure:
    """The bars of one outcome."""
    spans = [(row["transactional_id"], row["at_us"], row["at_us"] + row["open_us"], row.get("seq")) for row in rows]
    hatched = {"shape": ["/" if row["held_us"] else "" for row in rows], "size": 5}
    bar = span_bar(spans, name, colour, pattern=hatched)
    bar["text"] = [
        words("analytics.held", ms=f"{row['held_us'] / _MS:.3f}") if row["held_us"] else words("analytics.not_held")
        for row in rows
    ]
    # The text is that of the hover alone.
    bar["textposition"] = "none"
    bar["hovertemplate"] = bar["hovertemplate"].replace("<extra>", "<br>%{text}<extra>")
    return bar


FIGURES = (
    Stored(
        "consumer_lag", "gold.consumer_lag",
        ("group", "topic", "incarnation", "partition", "at_us", "max", "mean", "committed", "log_end"), consumer_lag,
    ),
    Stored(
        "throughput", "gold.throughput",
        ("topic", "incarnation", "partition", "at_us", "bucket_us", "records", "bytes", "batches", "produce_requests",
         "fetch_requests"),
        throughput,
    ),
    Stored(
        "batch_fill", "gold.batch_fill",
        ("client", "at_us", "batches", "mean_records", "mean_bytes", "linger_us", "closed_by"), batch_fill,
        is_per_partition=False, values={"closed_by": "analytics.closed_by"},
    ),
    Stored(
        "produce_stages", "gold.produce_stages",
        ("acks", "stage", "stage_no", "at_us", "bucket_us", "batches", "p50_us", "p99_us"), produce_stages,
        is_per_partition=False, values={"stage": "analytics.produce"},
    ),
    Stored(
        "rebalances", "gold.rebalances",
        ("group", "generation_id", "at_us", "why", "prepared_us", "completed_us", "stable_us", "members",
         "moved_partitions", "stop_the_world_us", "stopped_us", "unowned_us", "by_member"),
        rebalances, is_per_partition=False, values={"by_member": "value"},
    ),
    Stored(
        "transactions", "gold.transaction_spans",
        ("transactional_id", "at_us", "begun_us", "decided_us", "completed_us", "open_us", "result", "partitions",
         "held_us", "why"),
        transactions, is_per_partition=False, values={"result": "analytics.result"},
    ),
)  # fmt: skip
