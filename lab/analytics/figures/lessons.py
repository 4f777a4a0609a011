"""The charts of a lesson: for all learners, for those who teach it, and for the user's own attempts."""

from lab.analytics.figures.classes import CALIBRATION, ITEMS, STEP_COLUMNS, TIMES
from lab.analytics.figures.learners import counts, items, label_of, said_and_was, share_of_time, signs, wrapped
from lab.analytics.figures.parts import Figure, Rows, Stored, Words


def stops(rows: Rows, words: Words) -> Figure:
    """Number of learners who reached a step, and number of attempts that ended there."""
    parts = (
        (words("analytics.were_there"), "--fetch", lambda row: row["learners"]),
        (words("analytics.stopped_there"), "--danger", lambda row: row["stopped"]),
    )
    return counts(
        rows, lambda row: row["place"], parts, words("analytics.learners"), lambda row: row["step"], barmode="group"
    )


def wrong_states(rows: Rows, words: Words) -> Figure:
    """Number of learners whose cluster reached a wrong state."""
    shown = sorted(rows, key=lambda row: -row["learners"])
    parts = ((words("analytics.learners"), "--outisr", lambda row: row["learners"]),)
    return counts(
        shown, lambda row: label_of(f"{row['place']} · {row['shown']}"), parts, words("analytics.learners"),
        lambda row: wrapped(row["shown"]),
    )  # fmt: skip


def hints(rows: Rows, words: Words) -> Figure:
    """Share of right answers with and without a hint opened before."""
    parts = (
        (words("analytics.with_hint"), "--leader", lambda row: row["right_with_hint"]),
        (words("analytics.without_hint"), "--fetch", lambda row: row["right_without_hint"]),
    )
    figure = counts(
        rows, lambda row: row["place"], parts, words("analytics.share_right"),
        lambda row: words("analytics.hint_share", step=row["step"], share=f"{round(100 * row['hint_share'])} %"),
        barmode="group",
    )  # fmt: skip
    figure["layout"]["xaxis"] = {"title": words("analytics.share_right"), "range": [0, 1.02], "tickformat": ".0%"}
    return figure


HINTS = (
    "lesson", "step", "learners", "hint_share", "with_hint", "right_with_hint", "without_hint", "right_without_hint",
)  # fmt: skip
FIGURES = (
    Stored("lesson_stops", "gold.lesson_steps", ("lesson", "step", "learners", "stopped", "gave_up_share"), stops,
           is_per_partition=False),
    Stored("lesson_times", "gold.lesson_steps", TIMES, share_of_time, is_per_partition=False),
    Stored("lesson_items", "gold.lesson_steps", ITEMS, items, is_per_partition=False),
    Stored("lesson_wrong_states", "gold.lesson_wrong_states",
           ("lesson", "step", "state", "misconception", "learners", "times"), wrong_states, is_per_partition=False),
    Stored("lesson_hints", "gold.lesson_steps", HINTS, hints, is_per_partition=False),
    Stored("lesson_calibration", "gold.lesson_calibration", CALIBRATION, said_and_was, is_per_partition=False),
)  # fmt: skip
OWN = (
    Stored("own_steps", "gold.attempt_steps", ("attempt_no", *STEP_COLUMNS), signs, is_per_partition=False),
)  # fmt: skip
