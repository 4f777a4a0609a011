"""Charts of brokers: message latencies, and bytes added to and removed from disks."""

from collections import defaultdict

from lab.analytics.figures.parts import (
    COLOURS,
    Figure,
    Rows,
    Stored,
    Words,
    first_marks,
    of_largest,
    over_time,
    series,
    steps,
)

_WHYS = {"appended": "--produce", "truncated": "--outisr", "retention": "--group", "compaction": "--control"}


def rpc_timings(rows: Rows, words: Words) -> Figure:
    """The 99th percentile of the time in flight, and of the time in a purgatory, for each API."""
    data = []
    found = series(rows, lambda row: row["api"], lambda row: row["messages"])
    for (name, own), colour in zip(found.items(), COLOURS, strict=False):
        ms = [{**row, "way": row["network_p99_us"] / 1e3} for row in own if row["network_p99_us"] is not None]
        data.append(steps(ms, "way", name, colour, "ms"))
        parked = [{**row, "parked": row["parked_p99_us"] / 1e3} for row in own if row["parked_p99_us"]]
        if parked:
            line = steps(parked, "parked", f"{name} · {words('analytics.parked')}", colour, "ms")
            line["line"] = {**line["line"], "dash": "dot"}
            data.append(line)
    figure = over_time(data, words, "analytics.ms")
    figure["layout"]["yaxis"] |= {"type": "log", "exponentformat": "none"}
    return {**figure, **of_largest(rows, lambda row: row["api"], words)}


def disk_growth(rows: Rows, words: Words) -> Figure:
    """Bytes added to logs above the line, removed ones below it, by reason."""
    by_why: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    width_us, marks = rows[0]["bucket_us"], first_marks(rows)
    for row in rows:
        change = (row["appended_bytes"] or 0) - (row["removed_bytes"] or 0)
        if change:
            by_why[row["why"]][row["at_us"]] += change
    data = [
        {
            "type": "bar", "x": [(at_us + width_us / 2) / 1e6 for at_us in sorted(own)],
            "y": [own[at_us] for at_us in sorted(own)], "width": width_us / 1e6,
            "customdata": [marks[at_us] for at_us in sorted(own)],
            "marker": {"color": _WHYS.get(why, "--zk"), "line": {"width": 0}}, "name": _reason(words, why),
            "showlegend": True,
            "hovertemplate": f"{_reason(words, why)}: %{{y}} B<br>%{{x:.3f}} s<extra></extra>",
        }
        for why, own in sorted(by_why.items())
    ]  # fmt: skip
    return over_time(data, words, "analytics.bytes", barmode="relative", bargap=0)


def _reason(words: Words, why: str) -> str:
    return words(f"analytics.disk.{why.replace(' ', '_')}")


FIGURES = (
    Stored(
        "rpc_timings", "gold.rpc_timings",
        ("api", "at_us", "messages", "network_p50_us", "network_p99_us", "parked_p50_us", "parked_p99_us"),
        rpc_timings, is_per_partition=False,
    ),
    Stored(
        "disk_growth", "gold.disk_growth",
        ("broker", "topic", "at_us", "bucket_us", "why", "appended_bytes", "removed_bytes", "fsyncs"), disk_growth,
        is_per_partition=False, values={"why": "analytics.disk"},
    ),
)  # fmt: skip
