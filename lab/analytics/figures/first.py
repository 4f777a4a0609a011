"""Rows of the gold layer to Plotly figures: `{data, layout}`, plain JSON.

Colours are names of the page's design tokens (`--leader`), which the page replaces by those of its theme. Each point
that can be sought has its instant in microseconds as `customdata`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple, TypeAlias

from broker_core.partitions import ReplicaId, TopicPartition, partition_of
from broker_core.texts import Value
from lab.analytics.orders import Rows
from lab.texts.i18n import translate

Figure: TypeAlias = dict[str, Any]

PARTITIONS_SHOWN = 6
PARTITIONS_BARRED = 12
MANY_OFFSETS = 6
APIS_SHOWN = 6
PARTITION_HEIGHT = 150
BAR_HEIGHT = 18
FRAME_HEIGHT = 96

_FROM_TO = "<br>%{customdata[1]:.6f} – %{customdata[2]:.6f} s<extra></extra>"
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
_BY_PARTITION = {"isr", "offsets"}
_SHADES = (1.0, 0.7, 0.5, 0.35, 0.25)


class Words:
    """The texts of the figures in one language."""

    def __init__(self, language: str) -> None:
        self._language = language

    def __call__(self, key: str, **values: Value) -> str:
        return translate(self._language, key, **values)


def internal_partitions(rows: dict[str, Rows]) -> int:
    """The number of partitions of internal topics if there are other topics; else 0."""
    partitions = {row[0] for row in rows.get("isr", [])}
    internal = sum(map(_is_internal, partitions))
    return internal if internal < len(partitions) else 0


def figures(
    rows: dict[str, Rows], end_us: int, language: str, but: Sequence[str] = (), *, internal: bool = False
) -> dict[str, Figure]:
    """The figures of those charts whose rows are there, by name; not those that `but` names.

    Internal topics are left out unless `internal` requests them, or there are no others.
    """
    words = Words(language)
    if not internal and internal_partitions(rows):
        rows = {
            **rows,
            **{name: [row for row in rows[name] if not _is_internal(row[0])] for name in _BY_PARTITION & rows.keys()},
        }
    makers: dict[str, Callable[[], Figure]] = {
        "isr": lambda: isr(rows["isr"], end_us, words),
        "offsets": lambda: offsets(rows["offsets"], rows["isr"], end_us, words),
        "rpcs": lambda: rpcs(rows["rpcs"], words),
        "latency": lambda: latency(rows["latency"], words),
    }
    there = set(rows) - set(but)
    if "isr" not in rows:
        # The hue of a replica's log is its role.
        there.discard("offsets")
    return {name: make() if rows[name] else _nothing(words) for name, make in makers.items() if name in there}


# LEO and high watermark


class Span(NamedTuple):
    """A role of a replica from one instant to another."""

    role: str
    from_us: int
    to_us: int


def offsets(rows: Rows, isr_rows: Rows, end_us: int, words: Words) -> Figure:
    """Log end offset and high watermark of each replica, one plot a partition; the hue is the role at that time."""
    steps: dict[str, dict[str, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    for replica, measure, at_us, value in rows:
        steps[replica][measure].append((at_us, value))
    spans = _spans(isr_rows)
    partitions = sorted({partition_of(replica) for replica in steps}, key=_place)
    shown = partitions[:PARTITIONS_SHOWN]
    data: list[Figure] = []
    for place, partition in enumerate(shown):
        for replica in sorted(name for name in steps if partition_of(name) == partition):
            broker = ReplicaId.parse(replica).broker_id
            own = spans.get((partition, broker)) or [Span("outisr", 0, end_us)]
            data += _log_end_offset(replica, steps[replica]["log_end_offset"], own, place, words)
            data.append(_high_watermark(replica, steps[replica]["high_watermark"], end_us, place, words))
    _one_legend_entry_each(data)
    layout = _stacked(shown, _ends(steps), words)
    if len(partitions) > len(shown):
        more = words("analytics.more_partitions", n=len(partitions) - len(shown))
        layout["annotations"].append(_note(more, x=1, y=0, xanchor="right", yanchor="bottom"))
    return {"data": data, "layout": layout}


def _is_internal(partition: str) -> bool:
    """Is a partition, or a replica of it, of a topic that brokers made for themselves?"""
    return partition.startswith("__")


def _place(partition: str) -> tuple[bool, str, int]:
    """Topics of people before those of brokers, partitions by number."""
    topic, number = TopicPartition.parse(partition)
    return _is_internal(topic), topic, number


def _ends(steps: dict[str, dict[str, list[tuple[int, int]]]]) -> dict[str, int]:
    """The largest offset of each partition."""
    ends: dict[str, int] = defaultdict(int)
    for replica, measures in steps.items():
        partition = partition_of(replica)
        ends[partition] = max([ends[partition], *(value for points in measures.values() for _, value in points)])
    return ends


def _spans(isr_rows: Rows) -> dict[tuple[str, int], list[Span]]:
    spans: dict[tuple[str, int], list[Span]] = defaultdict(list)
    for partition, broker, role, from_us, to_us in isr_rows:
        own = spans[(partition, broker)]
        if own and (own[-1].role, own[-1].to_us) == (role, from_us):
            own[-1] = own[-1]._replace(to_us=to_us)
        else:
            own.append(Span(role, from_us, to_us))
    return spans


def _log_end_offset(
    replica: str, steps: list[tuple[int, int]], spans: list[Span], place: int, words: Words
) -> Iterator[Figure]:
    for role, own in groupby(
        sorted(spans, key=lambda span: (_ROLES.index(span.role), span.from_us)), lambda span: span.role
    ):
        x: list[float | None] = []
        y: list[int | None] = []
        at: list[int | None] = []
        for span in own:
            before = [value for at_us, value in steps if at_us <= span.from_us]
            within = [(at_us, value) for at_us, value in steps if span.from_us < at_us <= span.to_us]
            points = [(span.from_us, before[-1])] if before else []
            points += within
            if points:
                points.append((span.to_us, points[-1][1]))
                x += [*(at_us / 1e6 for at_us, _ in points), None]
                y += [*(value for _, value in points), None]
                at += [*(at_us for at_us, _ in points), None]
        if x:
            yield {
                **_line(x, y, at, f"--{role}", place),
                "line": {"shape": "hv", "color": f"--{role}", "width": 2 if role == "leader" else 1.4},
                "name": f"LEO · {words(f'role.{role}')}",
                "legendgroup": role,
                "hovertemplate": f"{replica} LEO %{{y}}<br>%{{x:.6f}} s<extra></extra>",
            }


def _high_watermark(replica: str, steps: list[tuple[int, int]], end_us: int, place: int, words: Words) -> Figure:
    points = [*steps, (end_us, steps[-1][1])] if steps else []
    return {
        **_line(
            [at_us / 1e6 for at_us, _ in points],
            [value for _, value in points],
            [at for at, _ in points],
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


def _stacked(partitions: list[str], ends: dict[str, int], words: Words) -> Figure:
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
        layout["annotations"].append(_note(partition, x=0, y=top, xanchor="left", yanchor="top"))
    return layout


# ISR timeline


def isr(rows: Rows, end_us: int, words: Words) -> Figure:
    """A bar for each span in which a broker led a partition, was in its ISR, or was out of it."""
    spans = _spans(rows)
    partitions = sorted({partition for partition, _ in spans}, key=_place)
    shown = set(partitions[:PARTITIONS_BARRED])
    spans = {key: own for key, own in spans.items() if key[0] in shown}
    bars: dict[str, list[tuple[str, Span]]] = {role: [] for role in _ROLES}
    for (partition, broker), own in spans.items():
        for span in own:
            bars[span.role].append((f"{partition} · b{broker}", span))
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "y": [label for label, _ in found],
            "base": [span.from_us / 1e6 for _, span in found],
            "x": [(span.to_us - span.from_us) / 1e6 for _, span in found],
            "customdata": [[span.from_us, span.from_us / 1e6, span.to_us / 1e6] for _, span in found],
            "marker": {"color": f"--{role}", "opacity": 0.9 if role == "leader" else 0.7, "line": {"width": 0}},
            "name": words(f"role.{role}"),
            "hovertemplate": "%{y} · " + words(f"role.{role}") + _FROM_TO,
        }
        for role, found in bars.items()
        if found
    ]
    ordered = sorted(spans, key=lambda key: (_place(key[0]), key[1]))
    labels = [f"{partition} · b{broker}" for partition, broker in ordered]
    layout = {
        "height": FRAME_HEIGHT + BAR_HEIGHT * max(len(labels), 6),
        "barmode": "overlay",
        "bargap": 0.3,
        "hovermode": "closest",
        "margin": {"l": 96},
        # Bars would begin at 0, however late the first partition came.
        "xaxis": {"title": words("analytics.seconds"), "range": [min(row[3] for row in rows) / 1e6, end_us / 1e6]},
        "yaxis": {"categoryorder": "array", "categoryarray": labels[::-1], "type": "category", "automargin": True},
    }
    if len(partitions) > len(shown):
        more = words("analytics.more_partitions", n=len(partitions) - len(shown))
        layout["annotations"] = [_note(more, x=1, y=1, xanchor="right", yanchor="bottom")]
    return {"data": data, "layout": layout}


# Produce-to-commit latency


def latency(rows: Rows, words: Words) -> Figure:
    """Which share of the batches was committed within which time, a line for each acks."""
    data = []
    for acks, own in groupby(rows, lambda row: row[0]):
        points = list(own)
        name, color = _ACKS.get(acks, (str(acks), "--ink2"))
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": [latency_us / 1e3 for _, latency_us, _, _, _ in points],
                "y": [100 * share for _, _, share, _, _ in points],
                "customdata": [at_us for _, _, _, _, at_us in points],
                "line": {"shape": "hv", "color": color, "width": 1.8},
                "marker": {"size": 4, "color": color},
                "showlegend": True,
                "name": f"acks={name} · {words('analytics.batches', n=points[0][3])}",
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
    """How many messages of which API were sent in each span of time, stacked; the hue is the API's family."""
    series = _largest(rows, words("analytics.other_apis"))
    width_us = _width_us(rows)
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
                "customdata": [at_us for at_us, _ in points],
                "marker": {"color": color, "opacity": shade, "line": {"width": 0}},
                "name": f"{api} · {sum(count for _, count in points)}",
                "hovertemplate": f"{api} %{{y}}<br>%{{customdata:d}} µs<extra></extra>",
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
    """(instant, messages) by API; the APIs with the fewest messages are one, named `others`."""
    totals: Counter[str] = Counter()
    for api, _, count in rows:
        totals[api] += count
    shown = {api for api, _ in totals.most_common(APIS_SHOWN if len(totals) > APIS_SHOWN + 1 else None)}
    series: dict[str, Counter[int]] = defaultdict(Counter)
    for api, at_us, count in rows:
        series[api if api in shown else others][at_us] += count
    return {api: sorted(points.items()) for api, points in series.items()}


def _width_us(rows: Rows) -> int:
    """The span of time of one bar: the smallest distance between two."""
    starts = sorted({at_us for _, at_us, _ in rows})
    return min((b - a for a, b in pairwise(starts)), default=1_000_000)


# What they share


def _note(text: str, **place: Any) -> Figure:
    return {"text": text, "xref": "paper", "yref": "paper", "showarrow": False, "font": {"size": 10.5}, **place}


def _nothing(words: Words) -> Figure:
    note = _note(words("analytics.nothing"), x=0.5, y=0.5, xanchor="center", yanchor="middle")
    axis = {"visible": False}
    return {"data": [], "layout": {"height": FRAME_HEIGHT * 2, "xaxis": axis, "yaxis": axis, "annotations": [note]}}
