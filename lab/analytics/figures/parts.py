"""Shared parts of the charts of stored tables."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from broker_core.partitions import partition_name
from broker_core.texts import Value, catalogue
from lab.texts.i18n import translate

Figure: TypeAlias = dict[str, Any]
Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = Sequence[Row]

SERIES_SHOWN = 8
"""Maximum number of lines that can be distinguished."""
COLOURS = ("--leader", "--fetch", "--produce", "--group", "--control", "--isr", "--hw", "--zk")
BAR = 20
FEW = 6
"""Axes with fewer units than this have a tick for each."""
PARTITION_HEIGHT = 150
FRAME_HEIGHT = 96
PLOT = 2 * PARTITION_HEIGHT


class Words:
    """The texts of the figures in one language."""

    def __init__(self, language: str) -> None:
        self.language = language

    def __call__(self, key: str, **values: Value) -> str:
        return translate(self.language, key, **values)

    def state(self, name: str) -> str:
        """A state of the core in words; its name if there are none, as in a recording of another version."""
        return self.value("value", name)

    def value(self, family: str, name: str) -> str:
        """A value of a column in words: the text of a family, as `role`; the value itself if there is none."""
        key = f"{family}.{name.replace(' ', '_')}"
        return self(key) if key in catalogue(self.language) else name


@dataclass(frozen=True)
class Stored:
    """A chart of a stored table.

    Attributes:
        name: its name in texts, addresses and the page.
        table: the table.
        columns: the columns that it reads, which are also those of the table next to it.
        make: makes a figure from rows, words, and the rows of the tables `beside`. Called with at least one row.
        is_per_partition: rows belong to partitions, so that internal topics may be left out.
        beside: other tables that it reads, each with its columns.
        values: columns whose values have texts, each with the family of these texts.
    """

    name: str
    table: str
    columns: tuple[str, ...]
    make: Callable[..., Figure]
    is_per_partition: bool = True
    beside: tuple[tuple[str, tuple[str, ...]], ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)


def is_internal(topic: str | None) -> bool:
    """Whether a topic is internal to Kafka."""
    return (topic or "").startswith("__")


def seconds(at_us: int) -> float:
    """Microseconds in the unit of the axis."""
    return at_us / 1e6


def partition_of(row: Row) -> str:
    """The name of a row's partition, with a number for one of a topic that was created again."""
    name, number = partition_name(row["topic"], row["partition"]), row.get("incarnation") or 1
    return name if number == 1 else f"{name} ({number})"


def series(rows: Rows, name: Callable[[Row], str], weight: Callable[[Row], float]) -> dict[str, list[Row]]:
    """Rows by name, ordered by name; if there are too many, those with the greatest weight."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[name(row)].append(row)
    largest = sorted(found, key=lambda one: -max(weight(row) for row in found[one]))[:SERIES_SHOWN]
    return {one: found[one] for one in sorted(largest)}


def newest(rows: Rows, count: int, words: Words) -> tuple[list[Row], Figure]:
    """The newest rows, ordered by time, and the figure's note about the others."""
    shown = sorted(rows, key=lambda row: row["at_us"])[-count:]
    return shown, noted(words, "analytics.newest", len(shown), len(rows))


def noted(words: Words, text: str, shown: int, count: int) -> Figure:
    """The note of a figure about how many of its items are drawn, unless all are."""
    return {"note": words(text, n=shown, count=count)} if shown < count else {}


def of_largest(rows: Rows, name: Callable[[Row], str], words: Words) -> Figure:
    """The note of a figure made with `series` about how many there are."""
    return noted(words, "analytics.largest", SERIES_SHOWN, len({name(row) for row in rows}))


def with_others(rows: Rows, name: Callable[[Row], str], value: str, others: str) -> dict[str, list[Row]]:
    """Rows by name; if there are too many, those with the smallest sums are combined as `others`, so that the total is
    correct.
    """
    totals: dict[str, float] = defaultdict(float)
    for row in rows:
        totals[name(row)] += row[value] or 0
    shown = set(sorted(totals, key=lambda one: -totals[one])[:SERIES_SHOWN])
    found: dict[str, list[Row]] = {one: [] for one in sorted(shown)}
    rest: dict[int, Row] = {}
    for row in rows:
        if name(row) in shown:
            found[name(row)].append(row)
        elif row["at_us"] in rest:
            rest[row["at_us"]][value] += row[value] or 0
        else:
            rest[row["at_us"]] = {**row, value: row[value] or 0}
    return {**found, others: list(rest.values())} if rest else found


def mark(row: Row) -> list[int | None]:
    """Target of a click on the point of a row: its instant and its event."""
    return [row["at_us"], row.get("seq")]


def first_marks(rows: Rows) -> dict[int, list[int | None]]:
    """The marks of intervals that rows share, by their start: the first event of each."""
    found: dict[int, list[int | None]] = {}
    for row in rows:
        at_us, seq = mark(row)
        assert at_us is not None
        before = found.get(at_us, [at_us, None])[1]
        found[at_us] = [at_us, min((one for one in (before, seq) if one is not None), default=None)]
    return found


def steps(rows: Rows, value: str, name: str, colour: str, unit: str) -> Figure:
    """A step line over time; a click seeks to the instant of the step."""
    return {
        "type": "scatter",
        # A single step would not be visible as a line.
        "mode": "lines" if len(rows) > 1 else "markers",
        "x": [seconds(row["at_us"]) for row in rows],
        "y": [row[value] for row in rows],
        "customdata": [mark(row) for row in rows],
        "line": {"shape": "hv", "color": colour, "width": 1.6},
        "name": name,
        "showlegend": True,
        "hovertemplate": f"{name}: %{{y}} {unit}<br>%{{x:.3f}} s<extra></extra>",
    }


def over_time(data: list[Figure], words: Words, unit: str, **more: Any) -> Figure:
    """A figure whose x axis is simulated time."""
    layout = {
        "height": FRAME_HEIGHT + PLOT,
        "hovermode": "closest",
        "xaxis": {"title": words("analytics.seconds")},
        "yaxis": {"title": words(unit), "rangemode": "tozero"},
        **more,
    }
    return {"data": data, "layout": layout}


def counted(most: float) -> Figure:
    """The part of an axis of counts from 0 to `most`: no ticks between integers."""
    return {"rangemode": "tozero", **({"dtick": 1} if most < FEW else {"tickformat": "d"})}


def share_axis(figures: Iterable[Figure], end_us: int, words: Words) -> None:
    """Gives the figures over simulated time one x axis, from the beginning of the run to its end."""
    for figure in figures:
        axis = figure["layout"]["xaxis"]
        if axis.get("title") == words("analytics.seconds"):
            axis["range"] = [0, seconds(end_us)]


def bars(labels: Sequence[str], data: list[Figure], title: str, **more: Any) -> Figure:
    """Horizontal bars, the first label on top."""
    rows = len(dict.fromkeys(labels))
    layout = {
        "height": FRAME_HEIGHT + BAR * max(rows, 4),
        "barmode": "stack",
        "bargap": 0.3,
        "hovermode": "closest",
        "xaxis": {"title": title, "rangemode": "tozero"},
        # From top to bottom, the bars of a label too, as the legend has them from left to right.
        "yaxis": {
            "type": "category", "automargin": True, "autorange": "reversed", "categoryorder": "array",
            "categoryarray": list(dict.fromkeys(labels)),
        },
        "legend": {"traceorder": "normal"},
        **more,
    }  # fmt: skip
    return {"data": data, "layout": layout}


def unchanged(words: Words) -> Figure:
    """Replaces a chart of changes if nothing has changed."""
    note = {
        "text": words("analytics.unchanged"), "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False,
        "xanchor": "center", "yanchor": "middle", "font": {"size": 10.5},
    }  # fmt: skip
    axis = {"visible": False}
    return {"data": [], "layout": {"height": FRAME_HEIGHT + BAR, "xaxis": axis, "yaxis": axis, "annotations": [note]}}


def span_bar(spans: Iterable[tuple[str, int, int, int | None]], name: str, colour: str, **marker: Any) -> Figure:
    """Bars from one instant to another, each on its label's row; the last value is the event that it begins with."""
    found = list(spans)
    return {
        "type": "bar",
        "orientation": "h",
        "y": [label for label, *_ in found],
        "base": [seconds(start) for _, start, *_ in found],
        "x": [seconds(end - start) for _, start, end, _ in found],
        "customdata": [[start, seq, seconds(start), seconds(end)] for _, start, end, seq in found],
        "marker": {"color": colour, "line": {"width": 0}, **marker},
        "name": name,
        "showlegend": True,
        "hovertemplate": f"%{{y}} · {name}<br>%{{customdata[2]:.6f}} – %{{customdata[3]:.6f}} s<extra></extra>",
    }
