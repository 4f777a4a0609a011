"""The charts of a class: progress, misconceptions, difficulty of questions, and where learners are stuck."""

from collections import defaultdict

from lab.analytics.figures.learners import (
    counts,
    heat,
    in_order,
    items,
    label_of,
    said_and_was,
    share_of_time,
    signs,
    table_of_cells,
    wrapped,
)
from lab.analytics.figures.parts import COLOURS, FRAME_HEIGHT, PLOT, Figure, Row, Rows, Stored, Words, counted

_REASONS = (
    ("refused", "--danger"), ("lost", "--outisr"), ("hints", "--leader"), ("resets", "--control"),
    ("long", "--produce"), ("nothing", "--zk"), ("hand", "--fetch"),
)  # fmt: skip
_US_PER_MIN = 60e6


def progress(rows: Rows, words: Words) -> Figure:
    """Number of learners who had completed each step, by class time."""
    by_place: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["lesson_no"], row["step_no"])):
        if row["class_us"] is not None:
            by_place[row["place"]].append(row)
    data = []
    for number, (place, own) in enumerate(by_place.items()):
        own.sort(key=lambda row: row["class_us"])
        data.append(
            {
                "type": "scatter", "mode": "lines+markers", "name": place, "showlegend": True,
                "x": [row["class_us"] / _US_PER_MIN for row in own], "y": list(range(1, len(own) + 1)),
                "customdata": [row["open"] for row in own], "text": [row["person"] for row in own],
                "marker": {"color": COLOURS[number % len(COLOURS)], "size": 5},
                "line": {
                    "shape": "hv", "width": 1.6, "color": COLOURS[number % len(COLOURS)],
                    "dash": "solid" if number < len(COLOURS) else "dot",
                },
                "hovertemplate": f"{place} · %{{text}}<br>%{{y}} · %{{x:.1f}} min<extra></extra>",
            }
        )  # fmt: skip
    layout = {
        "height": FRAME_HEIGHT + PLOT, "hovermode": "closest", "xaxis": {"title": words("analytics.class_minutes")},
        "yaxis": {"title": words("analytics.learners"), **counted(max(map(len, by_place.values()), default=0))},
    }  # fmt: skip
    return {"data": data, "layout": layout}


def misconceptions(rows: Rows, words: Words) -> Figure:
    """Number of learners with each misconception, with confident ones counted separately."""
    shown = sorted(rows, key=lambda row: -row["learners"])
    parts = (
        (words("analytics.sure"), "--danger", lambda row: row["sure"] or 0),
        (words("analytics.less_sure"), "--leader", lambda row: row["learners"] - (row["sure"] or 0)),
    )
    return counts(
        shown, lambda row: label_of(row["belief"]), parts, words("analytics.learners"),
        lambda row: wrapped(row["belief"]),
    )  # fmt: skip


def mistakes(rows: Rows, words: Words) -> Figure:
    """Misconceptions of each learner; learners with the same ones are adjacent."""
    people = [person for row in rows for person in row["numbers"]]
    tags = in_order([tag for row in sorted(rows, key=lambda row: -row["learners"]) for tag in row["tags"]])
    of = {person: row for row in rows for person in row["numbers"]}
    held = [[tag in of[person]["tags"] for person in people] for tag in tags]
    beliefs = {tag: belief for row in rows for tag, belief in zip(row["tags"], row["beliefs"], strict=True)}
    trace = {
        **heat(people, [label_of(beliefs[tag]) for tag in tags]),
        "z": [[1 if one else None for one in line] for line in held],
        "text": [["✗" if one else "" for one in line] for line in held],
        "hovertext": [[wrapped(beliefs[tag])] * len(people) for tag in tags],
        "customdata": [[of[person]["open"] for person in people] for _ in tags],
        "colorscale": [[0, "--dangerbg"], [1, "--dangerbg"]], "zmin": 0, "zmax": 1,
        "name": words("analytics.misconceptions"),
    }  # fmt: skip
    return table_of_cells(trace, len(tags))


def groups(rows: Rows, words: Words) -> Figure:
    """Groups of learners with the same misconceptions."""
    parts = ((words("analytics.learners"), "--group", lambda row: row["learners"]),)
    shown = sorted(rows, key=lambda row: -row["learners"])
    return counts(
        shown, lambda row: "<br>+ ".join(map(label_of, row["beliefs"])), parts, words("analytics.learners"),
        lambda row: wrapped(", ".join(row["people"])),
    )  # fmt: skip


def stuck(rows: Rows, words: Words) -> Figure:
    """How often learners were stuck at a step, by reason."""
    by_reason = [dict(row["by_reason"] or ()) for row in rows]
    found = {id(row): reasons for row, reasons in zip(rows, by_reason, strict=True)}
    parts = [
        (words(f"analytics.stuck.{why}"), colour, lambda row, why=why: found[id(row)].get(why, 0))
        for why, colour in _REASONS
        if any(why in reasons for reasons in by_reason)
    ]
    return counts(
        rows, lambda row: row["place"], parts, words("analytics.episodes"),
        lambda row: words("analytics.stuck_for", learners=row["learners"], seconds=round(row["median_s"] or 0)),
    )  # fmt: skip


TIMES = ("lesson", "step", "learners", "spent_p25_s", "spent_p50_s", "spent_p90_s")
ITEMS = (
    "lesson", "step", "learners", "n", "difficulty", "discrimination", "p_mean", "brier_mean", "gap", "hint_share",
    "right_with_hint", "right_without_hint", "gave_up_share",
)  # fmt: skip
STEP_COLUMNS = (
    "lesson", "step", "reached_ms", "spent_s", "tries", "hints", "skipped", "choice", "p", "outcome", "right",
    "misconception",
)  # fmt: skip
CALIBRATION = ("stop", "learners", "answers", "said", "was")

FIGURES = (
    Stored("class_steps", "gold.attempt_steps", ("learner", *STEP_COLUMNS), signs, is_per_partition=False),
    Stored(
        "class_progress", "gold.attempt_steps", ("learner", "lesson", "step", "class_us"), progress,
        is_per_partition=False,
    ),
    Stored("class_stuck", "gold.stuck_points", ("lesson", "step", "learners", "episodes", "by_reason", "median_s"),
           stuck, is_per_partition=False, values={"by_reason": "analytics.stuck"}),
    Stored("class_times", "gold.item_statistics", TIMES, share_of_time, is_per_partition=False),
    Stored("class_items", "gold.item_statistics", ITEMS, items, is_per_partition=False),
    Stored(
        "class_misconceptions", "gold.misconceptions",
        (
            "tag", "belief", "learners", "sure", "share", "asked", "p_mean", "by_choice", "by_state", "refuted",
            "returned",
        ),
        misconceptions, is_per_partition=False,
    ),
    Stored("class_mistakes", "gold.mistake_groups", ("mistakes", "numbers"), mistakes, is_per_partition=False),
    Stored("class_groups", "gold.mistake_groups", ("mistakes", "learners", "people"), groups, is_per_partition=False),
    Stored("class_calibration", "gold.calibration", CALIBRATION, said_and_was, is_per_partition=False),
)  # fmt: skip
