"""Charts of replication: lag, failovers, and stability of the ISR."""

from broker_core.partitions import broker_node
from lab.analytics.figures.parts import (
    COLOURS,
    Figure,
    Row,
    Rows,
    Stored,
    Words,
    bars,
    counted,
    mark,
    newest,
    noted,
    of_largest,
    over_time,
    partition_of,
    series,
    steps,
    unchanged,
)

_MS, _S = 1e3, 1e6
_STAGES = (
    ("noticed", "lost_us", "noticed_us", "--outisr"),
    ("elected", "noticed_us", "elected_us", "--control"),
    ("leads", "elected_us", "leads_us", "--leader"),
    ("appends", "leads_us", "first_append_us", "--produce"),
)
_CHANGES = (("shrinks", "--outisr"), ("expands", "--isr"), ("refused", "--control"), ("flaps", "--leader"))
MAX_FAILOVERS = 30
MAX_PARTITIONS = 20


def _replica(row: Row) -> str:
    partition = partition_of(row)
    return partition if row["broker"] is None else f"{partition}@{broker_node(row['broker'])}"


def lag(rows: Rows, words: Words) -> Figure:
    """Lag in records: of the high watermark behind the leader's log end, and of followers behind their leader."""
    found = series(rows, _replica, lambda row: row["max"])
    data = [
        steps(own, "max", name if "@" in name else f"{name} HW", colour, words("analytics.records"))
        for (name, own), colour in zip(found.items(), COLOURS, strict=False)
    ]
    return {**over_time(data, words, "analytics.records_behind"), **of_largest(rows, _replica, words)}


def failovers(rows: Rows, words: Words) -> Figure:
    """From the loss of a leader to the first batch of the next one, one bar for each election; of a loss without a
    successor to the end.
    """
    shown, note = newest(rows, MAX_FAILOVERS, words)
    labels = [_election(row) for row in shown]
    data = []
    stages = [(stage, colour, [_length_ms(row, start, end) for row in shown]) for stage, start, end, colour in _STAGES]
    if any(missing := [_missing_ms(row) for row in shown]):
        stages.append(("missing", "--danger", missing))
    for stage, colour, lengths in stages:
        data.append(
            {
                "type": "bar", "orientation": "h", "y": labels, "x": lengths, "name": words(f"analytics.stage.{stage}"),
                "customdata": [mark(row) for row in shown], "marker": {"color": colour, "line": {"width": 0}},
                "hovertemplate": f"%{{y}} · {words(f'analytics.stage.{stage}')}: %{{x:.1f}} ms<extra></extra>",
                "showlegend": True,
            }
        )  # fmt: skip
    return {**bars(labels, data, words("analytics.ms")), **note}


def _election(row: Row) -> str:
    mark = " !" if row["unclean"] else ""
    if row["to_broker"] is None:
        return f"{partition_of(row)} {broker_node(row['from_broker'])}→ {row['at_us'] / _S:.3f} s"
    brokers = f"{broker_node(row['from_broker'])}→{broker_node(row['to_broker'])}"
    return f"{partition_of(row)} e{row['leader_epoch']} {brokers}{mark}"


def _missing_ms(row: Row) -> float:
    """Time without a leader after what else is known of a loss; 0 if a leader took over."""
    if row["leads_us"] is not None or row["unavailable_us"] is None:
        return 0.0
    known_ms = sum(_length_ms(row, start, end) for _, start, end, _ in _STAGES)
    return max(0.0, float(row["unavailable_us"]) / _MS - known_ms)


def _length_ms(row: Row, start: str, end: str) -> float:
    """0 if one of the two did not happen. If the session was still open at the election, all the time until then counts
    as election time.
    """
    began = row[start]
    if began is None and start == "noticed_us":
        began = row["lost_us"]
    return 0.0 if began is None or row[end] is None else max(0.0, (row[end] - began) / _MS)


def isr_churn(rows: Rows, words: Words) -> Figure:
    """Number of ISR shrinks, expansions and rejected changes."""
    changed = [row for row in rows if any(row[change] for change, _ in _CHANGES)]
    if not changed:
        return unchanged(words)
    shown = sorted(changed, key=lambda row: (-row["shrinks"] - row["expands"], partition_of(row)))[:MAX_PARTITIONS]
    labels = [partition_of(row) for row in shown]
    data = [
        {
            "type": "bar", "orientation": "h", "y": labels, "x": [row[change] for row in shown],
            "customdata": [mark(row) for row in shown], "marker": {"color": colour, "line": {"width": 0}},
            "name": words(f"analytics.change.{change}"), "showlegend": True,
            "hovertemplate": f"%{{y}} · {words(f'analytics.change.{change}')}: %{{x}}<extra></extra>",
        }
        for change, colour in _CHANGES
    ]  # fmt: skip
    note = noted(words, "analytics.most_changed", len(shown), len(changed))
    figure = bars(labels, data, words("analytics.changes"))
    figure["layout"]["xaxis"] |= counted(max(sum(row[change] for change, _ in _CHANGES) for row in shown))
    return {**figure, **note}


FIGURES = (
    Stored("lag", "gold.hw_lag", ("topic", "incarnation", "partition", "broker", "at_us", "max", "mean"), lag),
    Stored(
        "failovers", "gold.failovers",
        ("topic", "incarnation", "partition", "leader_epoch", "from_broker", "to_broker", "at_us", "lost_us",
         "noticed_us", "elected_us", "leads_us", "first_append_us", "unavailable_us", "unclean", "truncated_records"),
        failovers,
    ),
    Stored(
        "isr_churn", "gold.isr_churn",
        ("topic", "incarnation", "partition", "shrinks", "expands", "refused", "flaps", "under_min_us", "leaderless_us",
         "full_share", "smallest", "at_us"),
        isr_churn,
    ),
)  # fmt: skip
