"""The charts of a study: for each measure a chart, its sentence and its table."""

from collections.abc import Mapping, Sequence
from typing import Any

from lab.analytics.figures.parts import COLOURS, Figure, Words
from lab.studies.definition import ERA_AXIS, FAULT_AXIS
from lab.studies.measures import MEASURES
from lab.studies.summary import Found, PointFound, Spread, series_of

HEIGHT = 320
_SPREAD = 0.5
"""Share of the width of a value of the axis that the points of its series take."""
_AXES = (ERA_AXIS, FAULT_AXIS)
_STATISTICS = ("median", "low", "high", "p05", "p25", "p75", "p95", "mean")


def measure_name(measure: str, words: Words) -> str:
    """The name of a measure in the reader's language."""
    return words(f"studies.measure.{measure}")


def charts_of(found: Found, words: Words) -> list[dict[str, Any]]:
    """A chart for each measured measure, with its sentence and its table."""
    return [
        {
            "measure": measure,
            "title": measure_name(measure, words),
            "unit": words(f"studies.unit.{MEASURES[measure].unit}"),
            "said": sentence(found, measure, words),
            "figure": figure_of(found, measure, words),
            "table": {
                "columns": columns_of(found), "heads": heads_of(columns_of(found), words),
                "rows": rows_of(found, measure),
            },
        }
        for measure in found.measures
        if any(measure in point.measures for point in found.points)
    ]  # fmt: skip


def sentence(found: Found, measure: str, words: Words) -> str:
    """The lowest and the highest median, and where they are."""
    measured = [(point, point.measures[measure]) for point in found.points if measure in point.measures]
    low, high = (pick(measured, key=lambda one: one[1].median) for pick in (min, max))
    name = measure_name(measure, words)
    if low[1].median == high[1].median:
        return words("studies.same", measure=name, value=shown(low[1].median))
    return words(
        "studies.from_to", measure=name, low=shown(low[1].median), at_low=_place(found, low[0], words),
        high=shown(high[1].median), at_high=_place(found, high[0], words),
    )  # fmt: skip


def _place(found: Found, point: PointFound, words: Words) -> str:
    return ", ".join(
        f"{axis_name(name, words)} {point.place[name]}" for name, values in found.axes.items() if len(values) > 1
    )


def axis_name(name: str, words: Words) -> str:
    """Names of settings are not translated; those of the era and the fault are."""
    return words(f"studies.axis.{name}") if name in _AXES else name


def shown(value: float) -> str:
    """A number with at most three decimals."""
    return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 100 else f"{value:.0f}"


def figure_of(found: Found, measure: str, words: Words) -> Figure:
    """Medians with their intervals, and behind them the range of most runs, by the values of the axis."""
    values = found.axes[found.x]
    series = series_of(found)
    data: list[Figure] = []
    for place, (name, points) in enumerate(series.items()):
        shift = _SPREAD * ((place + 0.5) / len(series) - 0.5)
        data += _series(found, measure, points, name or measure_name(measure, words), COLOURS[place % 8], shift, words)
    layout = {
        "height": HEIGHT,
        "hovermode": "closest",
        "showlegend": len(series) > 1,
        "xaxis": {
            "title": axis_name(found.x, words), "tickvals": list(range(len(values))), "ticktext": list(values),
            "range": [-0.5, len(values) - 0.5],
        },
        "yaxis": {"title": words(f"studies.unit.{MEASURES[measure].unit}"), "rangemode": "tozero"},
    }  # fmt: skip
    highest = [point.measures[measure].p95 for point in found.points if measure in point.measures]
    lowest = [point.measures[measure].p05 for point in found.points if measure in point.measures]
    if min(lowest) > 0 and max(highest) > 100 * min(lowest):
        layout["yaxis"] = {"title": words(f"studies.unit.{MEASURES[measure].unit}"), "type": "log"}
    return {"data": data, "layout": layout}


def _series(
    found: Found, measure: str, points: Sequence[PointFound], name: str, colour: str, shift: float, words: Words
) -> list[Figure]:
    values = found.axes[found.x]
    measured = [(point, point.measures[measure]) for point in points if measure in point.measures]
    x = [values.index(point.place[found.x]) + shift for point, _ in measured]
    medians = [spread.median for _, spread in measured]

    def bars(low: str, high: str) -> Mapping[str, Any]:
        return {
            "type": "data", "symmetric": False,
            "array": [getattr(spread, high) - spread.median for _, spread in measured],
            "arrayminus": [spread.median - getattr(spread, low) for _, spread in measured],
        }  # fmt: skip

    hover = "<br>".join(
        (f"{name}, {found.x} %{{text}}", f"{words('studies.median')} %{{y}} [%{{customdata[0]}}, %{{customdata[1]}}]",
         f"{words('studies.most')} %{{customdata[2]}} – %{{customdata[3]}}")
    )  # fmt: skip
    shared = {
        "type": "scatter", "x": x, "y": medians, "name": name, "legendgroup": name,
        "text": [point.place[found.x] for point, _ in measured],
        "customdata": [[one.low, one.high, one.p05, one.p95] for _, one in measured],
        "hovertemplate": f"{hover}<extra></extra>",
    }  # fmt: skip
    # Values without an order are not connected.
    mode = "lines+markers" if _are_numbers(values) else "markers"
    return [
        {**shared, "mode": "markers", "showlegend": False, "opacity": 0.45, "hoverinfo": "skip",
         "marker": {"color": colour, "size": 1},
         "error_y": {**bars("p05", "p95"), "color": colour, "thickness": 1, "width": 0}},
        {**shared, "mode": mode, "line": {"color": colour, "width": 1.2}, "marker": {"color": colour, "size": 7},
         "error_y": {**bars("low", "high"), "color": colour, "thickness": 3, "width": 5}},
    ]  # fmt: skip


def _are_numbers(values: Sequence[str]) -> bool:
    return all(value.replace(".", "", 1).isdigit() for value in values)


def columns_of(found: Found) -> list[str]:
    """The columns of the table of a chart and of the CSV."""
    return [*(name for name, values in found.axes.items() if len(values) > 1), "runs", *_STATISTICS]


def heads_of(columns: Sequence[str], words: Words) -> list[str]:
    """The heads of columns in the reader's language. Names of settings are not translated."""
    return [axis_name(one, words) if one in _AXES else words.value("studies.column", one) for one in columns]


def rows_of(found: Found, measure: str) -> list[list[str | int | float]]:
    """A row for each point at which the measure was taken."""
    axes = [name for name, values in found.axes.items() if len(values) > 1]
    return [
        [*(point.place[name] for name in axes), spread.runs, *(_figure(spread, one) for one in _STATISTICS)]
        for point in found.points
        if (spread := point.measures.get(measure)) is not None
    ]


def _figure(spread: Spread, name: str) -> float:
    value: float = getattr(spread, name)
    return value


def csv_of(found: Found) -> str:
    """All measures of all points, as CSV (RFC 4180)."""
    lines = [["measure", *columns_of(found)]]
    lines += [[measure, *map(str, row)] for measure in found.measures for row in rows_of(found, measure)]
    return "".join(",".join(f'"{one}"' if set(one) & set(',"\n') else one for one in line) + "\r\n" for line in lines)
