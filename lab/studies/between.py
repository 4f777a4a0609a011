"""The charts that compare two sets of runs: the difference of each measure, and the latencies."""

import textwrap
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from lab.analytics.compare import MEASURES, MORE_IS_BETTER, Difference, compare
from lab.analytics.figures.learners import height_of
from lab.analytics.figures.parts import BAR, FRAME_HEIGHT, Figure, Rows, Words, bars
from lab.studies.figure import HEIGHT, heads_of, shown
from lab.studies.summary import spread_of

PAIR_BY = "seed"
SIDES = ("A", "B")
_COLOURS = {"A": "--leader", "B": "--fetch"}
_ROOM = 0.34
"""Share of the width of a side that the dots of its runs take."""
MAX_PERCENT = 300.0
"""Greater differences are at the end of the axis, as an arrow with its value."""
_LABEL_LETTERS = 26
"""Maximum length of a line beside a row: on a phone, the differences need the width."""
POINTS = 200
"""Number of points of a distribution of latencies, as many as one run has."""


def charts_of(sides: Sequence[Rows], latencies: Sequence[Rows], words: Words) -> list[dict[str, Any]]:
    """The charts, each with the sentence that it shows and its table.

    Args:
        sides: the rows of gold.run_summary of both sides, A and B, in the units that they are stored in.
        latencies: the rows of gold.commit_latency of both sides.
        words: texts in the reader's language.
    """
    left, right = ([_in_units(row) for row in rows] for rows in sides)
    if not left or not right:
        return []
    found = compare(left, right, PAIR_BY if pairs_by_seed(left, right) else None)
    differing = [one for one in found if _has_something(one.measure, left, right)]
    drawn = [_overview(differing, left, right, words)] if differing else []
    distributions = [_distribution(rows) for rows in latencies]
    if all(distributions):
        halves = [_shares(*one) for one in zip((left, right), distributions, strict=True)]
        drawn.append(_latencies(distributions, halves, words))
    return drawn + [_measure(one, left, right, words) for one in differing]


def pairs_by_seed(left: Rows, right: Rows) -> bool:
    """Whether runs can be paired by seed: each seed occurs once per side, and some occur on both."""
    seeds = [[row[PAIR_BY] for row in rows] for rows in (left, right)]
    return all(len(set(one)) == len(one) for one in seeds) and bool(set(seeds[0]) & set(seeds[1]))


def unit_of(measure: str) -> str:
    """The displayed unit of a measure: `ms`, `bytes` or `count`."""
    return "ms" if measure.endswith("_us") else "bytes" if measure == "bytes" else "count"


def _in_units(row: Mapping[str, Any]) -> dict[str, Any]:
    values = {
        name: row[name] / 1_000 if name.endswith("_us") and row[name] is not None else row[name] for name in MEASURES
    }
    return {**row, **values}


def _has_something(measure: str, left: Rows, right: Rows) -> bool:
    return any(row[measure] for row in (*left, *right))


def measure_name(measure: str, words: Words) -> str:
    """The name of a measure in the reader's language."""
    return words(f"compare.measure.{measure}")


# All measures


def _overview(found: Sequence[Difference], left: Rows, right: Rows, words: Words) -> dict[str, Any]:
    """Difference of B relative to A for each measure, in percent."""
    relative = [one for one in found if one.left]
    names = [measure_name(one.measure, words) for one in relative]
    labels = ["<br>".join(textwrap.wrap(name, _LABEL_LETTERS)) for name in names]
    percent = [100 * one.difference / one.left for one in relative]
    is_known = _is_known(found, left, right)
    drawn = [_within(one) for one in percent]
    said_percent = [f"{one:+,.1f} %" for one in percent]
    is_beyond = [one != shown for one, shown in zip(percent, drawn, strict=True)]
    dots: Figure = {
        "type": "scatter", "mode": "markers+text", "x": drawn, "y": labels, "showlegend": False,
        "marker": {
            "color": _COLOURS["B"], "size": 8, "symbol": ["triangle-right" if one else "circle" for one in is_beyond],
        },
        "text": [said if beyond else "" for said, beyond in zip(said_percent, is_beyond, strict=True)],
        "textposition": "middle left", "customdata": said_percent,
        "hovertext": names, "hovertemplate": "%{hovertext}: %{customdata}<extra></extra>",
    }  # fmt: skip
    if is_known:
        ends = [[_within(100 * end / one.left) for end in (one.low, one.high)] for one in relative]
        dots["error_x"] = {
            "type": "data", "symmetric": False, "color": _COLOURS["B"], "thickness": 2, "width": 5,
            "array": [high - middle for (_, high), middle in zip(ends, drawn, strict=True)],
            "arrayminus": [middle - low for (low, _), middle in zip(ends, drawn, strict=True)],
        }  # fmt: skip
    figure = bars(labels, [dots], words("compare.percent"))
    figure["layout"] |= {"height": FRAME_HEIGHT + height_of(labels, BAR) * max(len(labels), 4)}
    axis = {"title": words("compare.percent"), "zeroline": True, "ticksuffix": " %", "nticks": 5, "tickangle": 0}
    figure["layout"]["xaxis"] = axis
    if any(is_beyond):
        # A single large difference would leave the others on one spot.
        figure["layout"]["xaxis"]["range"] = [min(0.0, *drawn) - 20, MAX_PERCENT + 20]
    apart = sum(1 for one in found if one.low > 0 or one.high < 0)
    said = (
        words("compare.overview_said", n=apart, count=len(found))
        if is_known
        else words("compare.overview_single", count=len(found))
    )
    if any(is_beyond):
        said = words("compare.with_arrows", said=said)
    columns = ("measure", "unit", "A", "B", "pairs", "difference", "low", "high", "improved")
    return {
        "measure": "overview", "title": words("compare.overview"), "unit": words("compare.percent"), "said": said,
        "figure": figure,
        "table": {
            "columns": columns, "heads": heads_of(columns, words),
            "rows": [_row(one, is_known=is_known) for one in found],
        },
    }  # fmt: skip


def _within(percent: float) -> float:
    return min(percent, MAX_PERCENT)


def _row(one: Difference, *, is_known: bool) -> list[Any]:
    interval = [_rounded(one.low), _rounded(one.high)] if is_known else [None, None]
    figures = [_rounded(one.left), _rounded(one.right), one.pairs, _rounded(one.difference)]
    return [
        one.measure,
        unit_of(one.measure),
        *figures,
        *interval,
        None if one.improved is None else _rounded(one.improved),
    ]


def _is_known(found: Sequence[Difference], left: Rows, right: Rows) -> bool:
    """Whether there are enough runs to distinguish a difference from chance."""
    return max((one.pairs for one in found), default=0) > 1 or (len(left) > 1 and len(right) > 1)


# One measure


def _measure(one: Difference, left: Rows, right: Rows, words: Words) -> dict[str, Any]:
    name, unit = measure_name(one.measure, words), words(f"compare.unit.{unit_of(one.measure)}")
    said_unit = "" if unit_of(one.measure) == "count" else unit
    data: list[Figure] = []
    rows: list[list[Any]] = []
    for place, (side, own) in enumerate(zip(SIDES, (left, right), strict=True)):
        measured = [row for row in own if row[one.measure] is not None]
        data += _dots(side, place, measured, one.measure, words)
        rows += [[side, row["run"], row["branch"], row["seed"], _rounded(row[one.measure])] for row in measured]
    layout = {
        "height": HEIGHT, "hovermode": "closest", "showlegend": False,
        "xaxis": {"tickvals": [0, 1], "ticktext": list(SIDES), "range": [-0.5, 1.5]},
        "yaxis": {"title": unit, "rangemode": "tozero"},
    }  # fmt: skip
    columns = ("side", "run", "branch", "seed")
    return {
        "measure": one.measure, "title": name, "unit": unit,
        "said": _sentence(one, name, said_unit, words, is_known=_is_known([one], left, right)),
        "figure": {"data": data, "layout": layout},
        "table": {
            "columns": (*columns, one.measure.replace("_us", "_ms")),
            "heads": [*heads_of(columns, words), _with_unit_of(name, unit_of(one.measure), words)], "rows": rows,
        },
    }  # fmt: skip


def _dots(side: str, place: int, rows: Rows, measure: str, words: Words) -> list[Figure]:
    """A dot for each run, and the median with its interval."""
    values = [row[measure] for row in rows]
    spread = spread_of(values)
    step = _ROOM / max(len(values), 1)
    runs: Figure = {
        "type": "scatter", "mode": "markers", "name": side, "opacity": 0.6, "cliponaxis": False,
        "x": [place - _ROOM / 2 + step * (number + 0.5) for number in range(len(values))], "y": values,
        "text": [f"{row['branch']} · {words('compare.seed', seed=row['seed'])}" for row in rows],
        "customdata": [row["branch"] for row in rows],
        "marker": {"color": _COLOURS[side], "size": 6},
        "hovertemplate": "%{text}<br>%{y}<extra></extra>",
    }  # fmt: skip
    if len(values) == 1:
        return [runs]
    interval = f"{shown(spread.low)}, {shown(spread.high)}"
    middle: Figure = {
        "type": "scatter", "mode": "markers", "name": side, "x": [place + _ROOM * 0.75], "y": [spread.median],
        "cliponaxis": False,
        "marker": {"color": _COLOURS[side], "size": 9, "symbol": "diamond"},
        "error_y": {
            "type": "data", "symmetric": False, "array": [spread.high - spread.median],
            "arrayminus": [spread.median - spread.low], "color": _COLOURS[side], "thickness": 3, "width": 6,
        },
        "hovertemplate": f"{words('studies.median')} %{{y}} [{interval}]<extra>{side}</extra>",
    }  # fmt: skip
    return [runs, middle]


def _sentence(one: Difference, name: str, unit: str, words: Words, *, is_known: bool) -> str:
    values: dict[str, Any] = {
        "measure": name, "a": _with_unit(one.left, unit), "b": _with_unit(one.right, unit),
        "difference": _signed(one.difference), "low": _signed(one.low), "high": _signed(one.high), "pairs": one.pairs,
    }  # fmt: skip
    if one.left == one.right and one.low == one.high == 0:
        return words("compare.said_same", **values)
    if not is_known:
        return words("compare.said_single", **values)
    if one.improved is None:
        return words("compare.said_sets", **values)
    better = "more" if one.measure in MORE_IS_BETTER else "less"
    return words(f"compare.said_pairs_{better}", **values, share=round(100 * one.improved))


def _with_unit(value: float, unit: str) -> str:
    return f"{shown(value)} {unit}".rstrip()


def _signed(value: float) -> str:
    return f"+{shown(value)}" if value > 0 else shown(value).replace("-", "−")


def _with_unit_of(name: str, unit: str, words: Words) -> str:
    return name if unit == "count" else words("analytics.head", said=name, unit=words(f"compare.unit.{unit}"))


def _rounded(value: float) -> float:
    return round(value, 4)


# Latencies


def _distribution(rows: Rows) -> list[tuple[float, float]]:
    """The commit latencies of all batches of a side, as points (milliseconds, share of the batches), at most POINTS.

    The points of a run are those of its own distribution, weighted by its number of batches.
    """
    parts = []
    for _, own in groupby(sorted(rows, key=_of_part), key=_of_part):
        points = list(own)
        parts.append(([row["latency_us"] for row in points], [row["share"] for row in points], points[0]["batches"]))
    total = sum(batches for *_, batches in parts)
    merged: list[tuple[float, float]] = []
    for latency_us in sorted({one for latencies, *_ in parts for one in latencies}):
        share = 0.0
        for latencies, shares, batches in parts:
            place = bisect_right(latencies, latency_us)
            share += batches * (shares[place - 1] if place else 0.0)
        share /= total
        if not merged or int(share * POINTS) > int(merged[-1][1] * POINTS):
            merged.append((latency_us / 1_000, round(share, 6)))
    return merged


def _of_part(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["branch"], row["acks"]


def quantile(points: Sequence[tuple[float, float]], share: float) -> float:
    """The latency within which that share of the batches was committed."""
    return next((value for value, reached in points if reached >= share), points[-1][0])


def _shares(runs: Rows, points: Sequence[tuple[float, float]]) -> list[str]:
    """The latencies within which 50 % and 99 % of the batches of a side were committed: of one run as its summary has
    them, of several as the points allow.
    """
    found = [quantile(points, share) for share in (0.5, 0.99)]
    if len(runs) == 1 and runs[0]["commit_p50_us"]:
        found = [runs[0]["commit_p50_us"], runs[0]["commit_p99_us"]]
    return [shown(one) for one in found]


def _latencies(
    distributions: Sequence[Sequence[tuple[float, float]]], halves: Sequence[Sequence[str]], words: Words
) -> dict[str, Any]:
    data = [
        {
            "type": "scatter", "mode": "lines+markers" if len(points) < 20 else "lines", "name": side,
            "x": [latency for latency, _ in points], "y": [100 * share for _, share in points],
            "line": {"shape": "hv", "color": _COLOURS[side], "width": 1.8},
            "hovertemplate": f"%{{y:.1f}} % ≤ %{{x:.3f}} ms<extra>{side}</extra>",
        }
        for side, points in zip(SIDES, distributions, strict=True)
    ]  # fmt: skip
    layout = {
        "height": HEIGHT, "hovermode": "closest",
        "xaxis": {"title": words("analytics.milliseconds"), "type": "log", "exponentformat": "none"},
        "yaxis": {"title": words("analytics.share"), "range": [0, 102], "ticksuffix": " %"},
    }  # fmt: skip
    (a50, a99), (b50, b99) = halves
    columns = ("side", "latency_ms", "share")
    rows = [[side, ms, share] for side, points in zip(SIDES, distributions, strict=True) for ms, share in points]
    return {
        "measure": "latency", "title": words("analytics.latency"), "unit": words("compare.unit.ms"),
        "said": words("compare.latency_said", a50=a50, b50=b50, a99=a99, b99=b99),
        "figure": {"data": data, "layout": layout},
        "table": {"columns": columns, "heads": heads_of(columns, words), "rows": rows},
    }  # fmt: skip
