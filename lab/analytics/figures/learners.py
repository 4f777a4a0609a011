"""Shared parts of the charts of classes and lessons: signs for steps of learners, shares, times, confidence.

A row has the columns of its table and those added by the reader (`lab.analytics.serve.learning_reader`): `place`, the
step on the axis; `person`, the learner; `open`, the address that a click on the mark opens, or empty.
"""

import textwrap
import unicodedata
from collections.abc import Callable, Sequence

from lab.analytics.figures.parts import BAR, FRAME_HEIGHT, PLOT, Figure, Row, Rows, Words, bars, counted, noted

CELL = 22
MAX_LEARNERS = 60
"""Maximum number of rows of a heat map; the table has all of them."""
_HOVER_WIDTH = 44
_LABEL_WIDTH, _LABEL_LINES = 26, 3
_LABEL_LINE = 14
_NAME_LETTERS = 16
_STEP_LETTERS = 3
_MARK_SHARE, _MARK_HEIGHT = 0.13, 0.3
"""The space of a question's mark with its label on a phone, on both axes."""
_FREE = (0.0, 0.3, -0.3, 0.6, -0.6, 0.9, -0.9)
_SIGNS = (
    ("work", "·", "--selbg"),
    ("skipped", "–", "--line2"),
    ("wrong", "↺", "--dangerbg"),
    ("hint", "h", "--warnbg"),
    ("done", "✓", "--okbg"),
)
"""What became of a step: its sign and its colour, in the order of the numbers that the cells hold."""


def in_order(labels: Sequence[str]) -> list[str]:
    """The distinct labels, in order of first occurrence."""
    return list(dict.fromkeys(labels))


def wrapped(text: str) -> str:
    """A sentence wrapped into lines, for hover texts."""
    return "<br>".join(textwrap.wrap(text, _HOVER_WIDTH))


def label_of(sentence: str) -> str:
    """A sentence in a few short lines, for an axis: what does not fit is under the pointer and in the table."""
    sentence = sentence.strip().rstrip(".。")
    is_wide = any(unicodedata.east_asian_width(one) == "W" for one in sentence)
    width = _LABEL_WIDTH // 2 if is_wide else _LABEL_WIDTH
    return "<br>".join(textwrap.wrap(sentence, width, max_lines=_LABEL_LINES, placeholder="…"))


def height_of(labels: Sequence[str], least: int) -> int:
    """The height of a row, so that the lines of the longest label do not meet those of the next one."""
    return max([least, *(_LABEL_LINE * (label.count("<br>") + 1) + 6 for label in labels if "<br>" in label)])


def sign_of(row: Row) -> str:
    """The result of a step: skipped, in progress, first answer wrong, done with hints, or done."""
    if row["skipped"]:
        return "skipped"
    if row["right"] is False:
        return "wrong"
    if row["reached_ms"] is None:
        return "work"
    return "hint" if row["hints"] else "done"


def signs(rows: Rows, words: Words) -> Figure:
    """A sign for each person and step, for its result. If there are several attempts, the last one that reached the
    step counts.
    """
    cells = {(row["person"], row["place"]): row for row in sorted(rows, key=lambda row: row["began_ms"])}
    every = in_order([row["person"] for row in rows])
    people, places = every[:MAX_LEARNERS], in_order([row["place"] for row in sorted(rows, key=_order)])
    names = [name for name, _, _ in _SIGNS]
    found = [[cells.get((person, place)) for place in places] for person in people]
    kinds = [[None if row is None else sign_of(row) for row in line] for line in found]
    legend = words("analytics.signs", **{name: f"{sign} {words(f'analytics.sign.{name}')}" for name, sign, _ in _SIGNS})
    trace = {
        **heat(places, people),
        "z": [[None if kind is None else names.index(kind) for kind in line] for line in kinds],
        "text": [["" if kind is None else _SIGNS[names.index(kind)][1] for kind in line] for line in kinds],
        "hovertext": [["" if row is None else _cell(row, words) for row in line] for line in found],
        "customdata": [[None if row is None else row["open"] for row in line] for line in found],
        "colorscale": _scale([colour for _, _, colour in _SIGNS]), "zmin": 0, "zmax": len(_SIGNS) - 1,
        "name": words("analytics.steps"),
    }  # fmt: skip
    more = noted(words, "analytics.first_learners", len(people), len(every)).get("note", "")
    figure = table_of_cells(trace, len(people))
    figure["layout"]["xaxis"] |= {"tickvals": places, "ticktext": _short_places(places), "tickangle": 0}
    figure["layout"]["yaxis"] |= {"tickvals": people, "ticktext": [_short_name(person) for person in people]}
    return {**figure, "note": f"{legend} {more}".strip()}


def _short_places(places: Sequence[str]) -> list[str]:
    """Labels of steps below narrow columns: the step's number, and below the first step of each lesson the lesson's. A
    step that the lesson no longer has is labelled with its id.
    """
    found, before = [], ""
    for place in places:
        lesson, _, number = place.rpartition(" · ")
        number = _shortened(number, _STEP_LETTERS)
        found.append(number if lesson == before else f"{number}<br>{lesson}")
        before = lesson
    return found


def _short_name(person: str) -> str:
    """A name beside a row: on a phone, columns need the width. The hover text has the whole name."""
    return _shortened(person, _NAME_LETTERS)


def _shortened(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1].rstrip()}…"


def heat(x: Sequence[str], y: Sequence[str]) -> Figure:
    """The common part of heat map traces: cells with a sign and a hover text."""
    return {
        "type": "heatmap", "x": list(x), "y": list(y), "texttemplate": "%{text}", "xgap": 2, "ygap": 2,
        "showscale": False, "hoverongaps": False, "textfont": {"color": "--ink"},
        "hovertemplate": "%{y} · %{x}<br>%{hovertext}<extra></extra>",
    }  # fmt: skip


def table_of_cells(trace: Figure, rows: int) -> Figure:
    """A figure with one heat map, the first row on top."""
    layout = {
        "height": FRAME_HEIGHT + max(CELL * 3, height_of(trace["y"], CELL) * rows),
        "xaxis": {"type": "category", "automargin": True},
        "yaxis": {"type": "category", "automargin": True, "autorange": "reversed"},
    }
    return {"data": [trace], "layout": layout}


def _order(row: Row) -> tuple[int, int]:
    return row["lesson_no"], row["step_no"]


def _cell(row: Row, words: Words) -> str:
    lines = [f"{row['step']} · {words(f'analytics.sign.{sign_of(row)}')}"]
    if row["spent_s"] is not None:
        lines.append(words("analytics.took", n=round(row["spent_s"])))
    if row["hints"]:
        lines.append(words("analytics.hints_opened", n=row["hints"]))
    if row["choice"]:
        said = words("analytics.answered", choice=row["choice"])
        lines.append(said if row["p"] is None else f"{said} ({round(100 * row['p'])} %)")
    return "<br>".join(lines)


def _scale(colours: Sequence[str]) -> list[list[float | str]]:
    """A discrete colour scale: one colour per integer."""
    count = len(colours)
    return [[edge / count, colour] for place, colour in enumerate(colours) for edge in (place, place + 1)]


def share_of_time(rows: Rows, words: Words) -> Figure:
    """The range from the 25th to the 90th percentile of the times at a step, with the median."""
    shown = [row for row in rows if row["spent_p50_s"] is not None]
    labels = [row["place"] for row in shown]
    trace = {
        "type": "scatter", "mode": "markers", "orientation": "h", "y": labels,
        "x": [row["spent_p50_s"] for row in shown],
        "error_x": {
            "type": "data", "symmetric": False, "color": "--fetch", "thickness": 4, "width": 0,
            "array": [row["spent_p90_s"] - row["spent_p50_s"] for row in shown],
            "arrayminus": [row["spent_p50_s"] - row["spent_p25_s"] for row in shown],
        },
        "marker": {"color": "--leader", "size": 9}, "name": words("analytics.median"), "showlegend": False,
        "customdata": [row["open"] for row in shown], "text": [row["step"] for row in shown],
        "hovertemplate": f"%{{y}} · %{{text}}<br>{words('analytics.median')}: %{{x:.0f}} s<extra></extra>",
    }  # fmt: skip
    return bars(labels, [trace], words("analytics.seconds_at_step"))


def items(rows: Rows, words: Words) -> Figure:
    """Questions by share of right answers and by discrimination; the area is the number of answers."""
    known = [row["discrimination"] is not None for row in rows]
    most = max(row["n"] for row in rows)
    shares, heights = [row["difficulty"] for row in rows], _heights(rows)
    trace = {
        "type": "scatter", "mode": "markers+text", "cliponaxis": False, "x": shares, "y": heights,
        "textposition": _label_places(list(zip(shares, heights, strict=True))),
        "text": [row["place"] for row in rows], "customdata": [row["open"] for row in rows],
        "marker": {
            "size": [8 + 20 * (row["n"] / most) ** 0.5 for row in rows], "sizemode": "diameter", "color": "--produce",
            "symbol": ["circle" if one else "circle-open" for one in known], "line": {"width": 1.4},
        },
        "hovertext": [_item(row, words) for row in rows], "hovertemplate": "%{hovertext}<extra></extra>",
        "name": words("analytics.questions"), "showlegend": False,
    }  # fmt: skip
    layout = {
        "height": FRAME_HEIGHT + PLOT, "hovermode": "closest",
        "xaxis": {"title": words("analytics.share_right"), "range": [-0.05, 1.05], "tickformat": ".0%"},
        "yaxis": {"title": words("analytics.discrimination"), "range": [-1.05, 1.05]},
    }  # fmt: skip
    return {"data": [trace], "layout": layout, **({} if all(known) else {"note": words("analytics.too_few_to_tell")})}


def _heights(rows: Rows) -> list[float]:
    """The height of each mark: its discrimination, if it is known, or else the free height that is nearest to 0. Marks
    of questions with equal shares would cover each other and their labels.
    """
    taken = [(row["difficulty"], row["discrimination"]) for row in rows if row["discrimination"] is not None]
    heights = []
    for row in rows:
        height = row["discrimination"]
        if height is None:
            height = next((one for one in _FREE if not _beside(row["difficulty"], one, taken)), 0.0)
            taken.append((row["difficulty"], height))
        heights.append(height)
    return heights


def _beside(share: float, height: float, marks: Sequence[tuple[float, float]]) -> bool:
    return any(abs(share - x) < _MARK_SHARE and abs(height - y) < _MARK_HEIGHT for x, y in marks)


def _label_places(marks: Sequence[tuple[float, float]]) -> list[str]:
    """Above each mark; below it if another mark is just above it."""
    return [
        "bottom center" if _beside(x, y + _MARK_HEIGHT / 2, [one for one in marks if one[1] > y]) else "top center"
        for x, y in marks
    ]


def _item(row: Row, words: Words) -> str:
    lines = [
        f"{row['place']} · {row['step']}",
        words("analytics.right_of_n", share=_percent(row["difficulty"]), n=row["n"]),
    ]
    if row["gap"] is not None:
        lines.append(words("analytics.gap", points=round(100 * row["gap"])))
    return "<br>".join(lines)


def _percent(share: float) -> str:
    return f"{round(100 * share)} %"


def said_and_was(rows: Rows, words: Words) -> Figure:
    """Calibration: share of right answers against confidence; on the line both are equal."""
    shown = sorted(rows, key=lambda row: row["said"])
    most = max(row["answers"] for row in shown)
    line = {
        "type": "scatter", "mode": "lines", "x": [0, 1], "y": [0, 1], "line": {"color": "--line2", "dash": "dot"},
        "hoverinfo": "skip", "name": words("analytics.as_said"), "showlegend": True, "customdata": [None, None],
    }  # fmt: skip
    points = {
        "type": "scatter", "mode": "markers", "x": [row["said"] for row in shown], "y": [row["was"] for row in shown],
        "marker": {"color": "--leader", "size": [8 + 20 * (row["answers"] / most) ** 0.5 for row in shown]},
        "customdata": [row["open"] for row in shown], "name": words("analytics.predictions"), "showlegend": True,
        "hovertext": [
            words("analytics.said_and_was", said=_percent(row["said"]), was=_percent(row["was"]), n=row["answers"])
            for row in shown
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }  # fmt: skip
    layout = {
        "height": FRAME_HEIGHT + PLOT, "hovermode": "closest",
        "xaxis": {"title": words("analytics.said"), "range": [-0.03, 1.03], "tickformat": ".0%"},
        "yaxis": {"title": words("analytics.was"), "range": [-0.03, 1.03], "tickformat": ".0%"},
    }  # fmt: skip
    return {"data": [line, points], "layout": layout}


def counts(
    rows: Rows, label: Callable[[Row], str], parts: Sequence[tuple[str, str, Callable[[Row], float]]], title: str,
    hover: Callable[[Row], str], *, barmode: str = "stack",
) -> Figure:  # fmt: skip
    """Horizontal bars of `parts`, each a name, a colour and the value to count; `hover` is the hover text."""
    labels = [label(row) for row in rows]
    data = [
        {
            "type": "bar", "orientation": "h", "y": labels, "x": [count(row) for row in rows], "name": name,
            "showlegend": True, "marker": {"color": colour, "line": {"width": 0}},
            "customdata": [row["open"] for row in rows], "hovertext": [hover(row) for row in rows],
            "hovertemplate": f"%{{hovertext}}<br>{name}: %{{x}}<extra></extra>",
        }
        for name, colour, count in parts
    ]  # fmt: skip
    figure = bars(labels, data, title, barmode=barmode)
    lengths = [[count(row) for _, _, count in parts] for row in rows]
    figure["layout"]["xaxis"] |= counted(max((sum if barmode == "stack" else max)(one) for one in lengths))
    if barmode == "group":
        figure["layout"]["height"] = FRAME_HEIGHT + BAR * len(parts) * max(len(labels), 2)
    elif (height := height_of(labels, BAR)) > BAR:
        figure["layout"]["height"] = FRAME_HEIGHT + height * max(len(labels), 2)
    return figure
