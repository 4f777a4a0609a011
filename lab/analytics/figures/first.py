"""The charts that a page shows first: offsets of replicas, in-sync replicas, commit latency, mix of messages."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from broker_core.partitions import ReplicaId, TopicPartition, broker_node
from lab.analytics.figures.parts import (
    FRAME_HEIGHT,
    PARTITION_HEIGHT,
    Figure,
    Row,
    Rows,
    Stored,
    Words,
    first_marks,
    is_internal,
    mark,
)

PARTITIONS_SHOWN = 6
PARTITIONS_BARRED = 12
MANY_OFFSETS = 6
APIS_SHOWN = 6
BAR_HEIGHT = 18

_FROM_TO = "<br>%{customdata[2]:.6f} – %{customdata[3]:.6f} s<extra></extra>"
_ROLES = ("leader", "isr", "outisr")
_ACKS = {-1: ("all", "--produce"), 1: ("1", "--leader"), 0: ("0", "--outisr")}
_FAMILIES = {
    "--produce": ("Produce",),
    "--fetch": ("Fetch", "Fetch (consumer)", "ListOffsets", "OffsetForLeaderEpoch"),
    "--control": (
        *("LeaderAndIsr", "UpdateMetadata", "StopReplica", "AlterPartition", "ControlledShutdown"),
        *("CreateTopics", "DeleteTopics", "CreatePartitions"),
    ),
    "--group": ("FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "OffsetFetch"),
}
_SHADES = (1.0, 0.7, 0.5, 0.35, 0.25)
_LOG_END, _HIGH_WATERMARK = "log_end", "high_watermark"


def _partition(row: Row) -> TopicPartition:
    return TopicPartition(row["topic"], row["partition"])


def _incarnation(row: Row) -> int:
    """The number of a row's topic among those of its name."""
    return row.get("incarnation") or 1


def _order(partition: TopicPartition) -> tuple[bool, TopicPartition]:
    """Sort key: user topics before internal ones, partitions by number."""
    return is_internal(partition.topic), partition


# LEO and high watermark


class Span(NamedTuple):
    """A role of a replica from one instant to another."""

    role: str
    from_us: int
    to_us: int
    seq: int | None = None
    """The event that it begins with."""


class Step(NamedTuple):
    """A new value of an offset."""

    at_us: int
    value: int
    seq: int | None = None
    """The event that changed it; None where a line only continues."""


def offsets(rows: Rows, words: Words, roles: Rows) -> Figure:
    """Log end offset and high watermark of each replica, one plot per partition; the hue is the role at that time."""
    steps: dict[tuple[TopicPartition, int, int], dict[str, list[Step]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        key = _partition(row), _incarnation(row), row["broker"]
        steps[key][row["measure"]].append(Step(row["at_us"], row["value"], row.get("seq")))
    end_us = max([row["to_us"] for row in roles] + [row["at_us"] for row in rows])
    partitions = sorted({partition for partition, *_ in steps}, key=_order)
    shown = partitions[:PARTITIONS_SHOWN]
    data: list[Figure] = []
    for place, partition in enumerate(shown):
        for key in sorted(key for key in steps if key[0] == partition):
            # The lines of a deleted topic do not go on in one that was created again.
            alike = [row for row in roles if (_partition(row), _incarnation(row)) == key[:2]]
            ends_us = max((row["to_us"] for row in alike), default=end_us)
            replica = str(ReplicaId(str(partition), key[2]))
            own = _spans(alike).get((partition, key[2])) or [Span("outisr", 0, ends_us)]
            data += _log_end_offset(replica, steps[key][_LOG_END], own, place, words)
            data.append(_high_watermark(replica, steps[key][_HIGH_WATERMARK], ends_us, place, words))
    _one_legend_entry_each(data)
    ends: dict[TopicPartition, int] = defaultdict(int)
    for (partition, *_), measures in steps.items():
        ends[partition] = max([ends[partition], *(point.value for points in measures.values() for point in points)])
    layout = _stacked(shown, ends, words)
    if len(partitions) > len(shown):
        more = words("analytics.more_partitions", n=len(partitions) - len(shown))
        layout["annotations"].append(_note(more, x=1, y=0, xanchor="right", yanchor="bottom"))
    return {"data": data, "layout": layout}


def _spans(roles: Rows) -> dict[tuple[TopicPartition, int], list[Span]]:
    spans: dict[tuple[TopicPartition, int], list[Span]] = defaultdict(list)
    for row in roles:
        spans[_partition(row), row["broker"]].append(Span(row["role"], row["from_us"], row["to_us"], row.get("seq")))
    return spans


def _log_end_offset(replica: str, steps: list[Step], spans: list[Span], place: int, words: Words) -> Iterator[Figure]:
    for role, own in groupby(
        sorted(spans, key=lambda span: (_ROLES.index(span.role), span.from_us)), lambda span: span.role
    ):
        x: list[float | None] = []
        y: list[int | None] = []
        at: list[list[int | None] | None] = []
        for span in own:
            before = [step.value for step in steps if step.at_us <= span.from_us]
            within = [step for step in steps if span.from_us < step.at_us <= span.to_us]
            points = [Step(span.from_us, before[-1], span.seq)] if before else []
            points += within
            if points:
                points.append(Step(span.to_us, points[-1].value))
                x += [*(at_us / 1e6 for at_us, *_ in points), None]
                y += [*(value for _, value, _ in points), None]
                at += [*([at_us, seq] for at_us, _, seq in points), None]
        if x:
            yield {
                **_line(x, y, at, f"--{role}", place),
                "line": {"shape": "hv", "color": f"--{role}", "width": 2 if role == "leader" else 1.4},
                "name": f"LEO · {words(f'role.{role}')}",
                "legendgroup": role,
                "hovertemplate": f"{replica} LEO %{{y}}<br>%{{x:.6f}} s<extra></extra>",
            }


def _high_watermark(replica: str, steps: list[Step], end_us: int, place: int, words: Words) -> Figure:
    points = [*steps, Step(end_us, steps[-1].value)] if steps else []
    return {
        **_line(
            [point.at_us / 1e6 for point in points],
            [point.value for point in points],
            [[point.at_us, point.seq] for point in points],
            "--hw",
            place,
        ),
        "line": {"shape": "hv", "color": "--hw", "width": 1, "dash": "dash"},
        "opacity": 0.75,
        "name": words("term.hw"),
        "legendgroup": "hw",
        "hovertemplate": f"{replica} HW %{{y}}<br>%{{x:.6f}} s<extra></extra>",
    }


def _line(x: list[Any], y: list[Any], at: list[Any], color: str, place: int) -> Figure:
    axis = "" if place == 0 else str(place + 1)
    return {
        "type": "scatter", "mode": "lines", "x": x, "y": y, "customdata": at, "xaxis": "x", "yaxis": f"y{axis}",
        "hoverlabel": {"bordercolor": color},
    }  # fmt: skip


def _one_legend_entry_each(data: list[Figure]) -> None:
    seen: set[str] = set()
    for trace in data:
        trace["showlegend"] = trace["legendgroup"] not in seen
        seen.add(trace["legendgroup"])


def _stacked(partitions: list[TopicPartition], ends: dict[TopicPartition, int], words: Words) -> Figure:
    count = len(partitions)
    gap = 0.04 if count > 1 else 0.0
    height = (1 - gap * (count - 1)) / count
    layout: Figure = {
        "height": FRAME_HEIGHT + PARTITION_HEIGHT * count,
        "hovermode": "closest",
        "xaxis": {"title": words("analytics.seconds"), "anchor": "y" if count == 1 else f"y{count}"},
        "annotations": [],
    }
    for place, partition in enumerate(partitions):
        top = 1 - place * (height + gap)
        axis = "" if place == 0 else str(place + 1)
        ticks: Figure = {"nticks": 5, "tickformat": "d"} if ends[partition] >= MANY_OFFSETS else {"dtick": 1}
        layout[f"yaxis{axis}"] = {"domain": [max(0.0, top - height), top], "rangemode": "tozero", **ticks}
        if not ends[partition]:
            layout[f"yaxis{axis}"]["range"] = [0, 1]
        layout["annotations"].append(_note(str(partition), x=0, y=top, xanchor="left", yanchor="top"))
    return layout


# ISR timeline


def isr(rows: Rows, words: Words) -> Figure:
    """A bar for each span in which a broker led a partition, was in its ISR, or was out of it."""
    spans = _spans(rows)
    partitions = sorted({partition for partition, _ in spans}, key=_order)
    shown = set(partitions[:PARTITIONS_BARRED])
    spans = {key: own for key, own in spans.items() if key[0] in shown}
    bars: dict[str, list[tuple[str, Span]]] = {role: [] for role in _ROLES}
    for (partition, broker), own in spans.items():
        for span in own:
            bars[span.role].append((f"{partition} · {broker_node(broker)}", span))
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "y": [label for label, _ in found],
            "base": [span.from_us / 1e6 for _, span in found],
            "x": [(span.to_us - span.from_us) / 1e6 for _, span in found],
            "customdata": [[span.from_us, span.seq, span.from_us / 1e6, span.to_us / 1e6] for _, span in found],
            "marker": {"color": f"--{role}", "opacity": 0.9 if role == "leader" else 0.7, "line": {"width": 0}},
            "name": words(f"role.{role}"),
            "hovertemplate": "%{y} · " + words(f"role.{role}") + _FROM_TO,
        }
        for role, found in bars.items()
        if found
    ]
    ordered = sorted(spans, key=lambda key: (_order(key[0]), key[1]))
    labels = [f"{partition} · {broker_node(broker)}" for partition, broker in ordered]
    layout = {
        "height": FRAME_HEIGHT + BAR_HEIGHT * max(len(labels), 6),
        "barmode": "overlay",
        "bargap": 0.3,
        "hovermode": "closest",
        "margin": {"l": 96},
        "xaxis": {"title": words("analytics.seconds")},
        "yaxis": {"categoryorder": "array", "categoryarray": labels[::-1], "type": "category", "automargin": True},
    }
    if len(partitions) > len(shown):
        more = words("analytics.more_partitions", n=len(partitions) - len(shown))
        layout["annotations"] = [_note(more, x=1, y=1, xanchor="right", yanchor="bottom")]
    return {"data": data, "layout": layout}


# Produce-to-commit latency


def latency(rows: Rows, words: Words) -> Figure:
    """Share of batches committed within a given time, one line per acks."""
    data = []
    for acks, own in groupby(rows, lambda row: row["acks"]):
        points = list(own)
        name, color = _ACKS.get(acks, (str(acks), "--ink2"))
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": [row["latency_us"] / 1e3 for row in points],
                "y": [100 * row["share"] for row in points],
                "customdata": [mark(row) for row in points],
                "line": {"shape": "hv", "color": color, "width": 1.8},
                "marker": {"size": 4, "color": color},
                "showlegend": True,
                "name": f"acks={name} · {words('analytics.batches', n=points[0]['batches'])}",
                "hovertemplate": "%{y:.1f} % ≤ %{x:.3f} ms<extra>acks=" + name + "</extra>",
            }
        )
    layout = {
        "height": FRAME_HEIGHT + 2 * PARTITION_HEIGHT,
        "hovermode": "closest",
        "xaxis": {"title": words("analytics.milliseconds"), "type": "log", "exponentformat": "none"},
        "yaxis": {"title": words("analytics.share"), "range": [0, 102], "ticksuffix": " %"},
    }
    return {"data": data, "layout": layout}


# RPC mix


def rpcs(rows: Rows, words: Words) -> Figure:
    """Messages sent in each interval by API, stacked; the hue is the API's family."""
    series = _largest(rows, words("analytics.other_apis"))
    width_us, marks = rows[0]["bucket_us"], first_marks(rows)
    shades: dict[str, int] = defaultdict(int)
    data = []
    for api, points in sorted(series.items(), key=lambda item: -sum(count for _, count in item[1])):
        color = next((color for color, apis in _FAMILIES.items() if api in apis), "--zk")
        shade = _SHADES[min(shades[color], len(_SHADES) - 1)]
        shades[color] += 1
        data.append(
            {
                "type": "bar",
                "x": [(at_us + width_us / 2) / 1e6 for at_us, _ in points],
                "y": [count for _, count in points],
                "width": width_us / 1e6,
                "customdata": [marks[at_us] for at_us, _ in points],
                # That of the marker would not be in the legend.
                "opacity": shade,
                "marker": {"color": color, "line": {"width": 0}},
                "name": f"{api} · {sum(count for _, count in points)}",
                "hovertemplate": f"{api} %{{y}}<br>%{{customdata[0]:d}} µs<extra></extra>",
            }
        )
    layout = {
        "height": FRAME_HEIGHT + 2 * PARTITION_HEIGHT,
        "barmode": "stack",
        "bargap": 0,
        "hovermode": "closest",
        "xaxis": {"title": words("analytics.seconds")},
        "yaxis": {"title": words("analytics.messages"), "rangemode": "tozero"},
    }
    return {"data": data, "layout": layout}


def _largest(rows: Rows, others: str) -> dict[str, list[tuple[int, int]]]:
    """(instant, messages) by API; the APIs with the fewest messages are combined as `others`."""
    totals: Counter[str] = Counter()
    for row in rows:
        totals[row["api"]] += row["messages"]
    shown = {api for api, _ in totals.most_common(APIS_SHOWN if len(totals) > APIS_SHOWN + 1 else None)}
    series: dict[str, Counter[int]] = defaultdict(Counter)
    for row in rows:
        series[row["api"] if row["api"] in shown else others][row["at_us"]] += row["messages"]
    return {api: sorted(points.items()) for api, points in series.items()}


# Shared


def _note(text: str, **place: Any) -> Figure:
    return {"text": text, "xref": "paper", "yref": "paper", "showarrow": False, "font": {"size": 10.5}, **place}


_ROLE_COLUMNS = ("topic", "incarnation", "partition", "broker", "role", "from_us", "to_us", "at_us")

FIGURES = (
    Stored(
        "offsets", "gold.offset_steps", ("topic", "incarnation", "partition", "broker", "measure", "at_us", "value"),
        offsets,
        beside=(("gold.role_spans", _ROLE_COLUMNS),),
        values={"measure": "analytics.measure"},
    ),
    Stored("isr", "gold.role_spans", _ROLE_COLUMNS, isr, values={"role": "role"}),
    Stored(
        "latency", "gold.commit_latency", ("acks", "share", "latency_us", "batches", "at_us"), latency,
        is_per_partition=False,
    ),
    Stored("rpcs", "gold.rpc_mix", ("api", "at_us", "bucket_us", "messages"), rpcs, is_per_partition=False),
)  # fmt: skip
