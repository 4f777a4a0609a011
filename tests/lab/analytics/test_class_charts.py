"""What staff see of a class: charts out of rows, whom and what a click opens, and rounds at a bounded cost."""

import csv
import json
from itertools import combinations
from typing import Any

import pytest

from lab.analytics.figures.learners import items, label_of, wrapped
from lab.analytics.figures.parts import Words
from lab.analytics.figures.stored import figure_of
from lab.analytics.jobs import Job, Priority
from lab.analytics.orders import LiveTask, Task
from lab.analytics.rounds import BURST_CPU_S, MIN_WAIT_S, SHARE, UNKNOWN_CPU_S, Rounds
from lab.analytics.serve.class_reader import OF_CLASS, OF_LESSON, OWN, csv_of, figures_of, instant_of, ready
from lab.analytics.serve.learning_reader import Person, Scene
from lab.exercises.loader import exercises
from lab.learning.misconceptions import says
from lab.texts.i18n import merged

ADA, BO, CY = "ada", "bo", "cy"
CLOCK = [(1_000_000, 5_000_000), (2_000_000, 60_000_000)]
SCENE = Scene(
    "en",
    {ADA: Person(2, "Ada"), BO: Person(3)},
    lambda lab, seq: f"/r/{lab}?seq={seq}" if lab == "r2/main" and seq else "",
    lambda at_ms: instant_of(CLOCK, at_ms),
    lambda class_us: f"/replay/{class_us}",
)


def step(learner: str, step: str, **more: Any) -> dict[str, Any]:
    return {
        "learner": learner, "lesson": "011-acks", "step": step, "lab": f"r{2 if learner == ADA else 3}/main",
        "lab_seq": 40, "attempt": f"{learner}/011-acks/1", "began_ms": 2_000_000, "reached_ms": 2_001_000,
        "spent_s": 1.0, "tries": 1, "hints": 0, "skipped": False, "choice": None, "p": None, "outcome": None,
        "right": None, "misconception": None, **more,
    }  # fmt: skip


ITEM = {
    "lesson": "011-acks", "step": "predict", "learners": 6, "n": 5, "difficulty": 0.4, "discrimination": None,
    "p_mean": 0.7, "brier_mean": 0.5, "gap": 0.3, "spent_p25_s": 5.0, "spent_p50_s": 9.0, "spent_p90_s": 30.0,
    "with_hint": 5, "without_hint": 6, "hint_share": 0.2,
    "right_with_hint": 0.5, "right_without_hint": 0.25, "gave_up_share": 0.1, "first_ms": 2_000_500,
    "stopped": 2,
}  # fmt: skip
SAID = {"stop": "0.90", "learners": 4, "answers": 6, "said": 0.9, "was": 0.5, "last_ms": 2_003_000}
TAG = {
    "tag": "acked-is-safe", "learners": 2, "sure": 1, "share": 0.5, "asked": 6, "p_mean": 0.7, "by_choice": 2,
    "by_state": 0, "refuted": 0, "returned": 1, "first_ms": 2_002_000,
}  # fmt: skip
TABLES: dict[str, list[dict[str, Any]]] = {
    "gold.attempt_steps": [
        step(BO, "predict", right=False, choice="b", p=0.9),
        step(ADA, "three-of-them", hints=1),
        step(ADA, "predict", right=True, reached_ms=None),
        step(CY, "predict"),
    ],
    "gold.item_statistics": [ITEM, {**ITEM, "step": "lost", "n": 4}],
    "gold.misconceptions": [TAG, {**TAG, "tag": "replicated-at-once", "asked": 4, "learners": 1}],
    "gold.mistake_groups": [
        {"mistakes": "acked-is-safe", "learners": 1, "members": [ADA], "last_ms": 2_002_000},
        {"mistakes": "acked-is-safe replicated-at-once", "learners": 2, "members": [BO, CY], "last_ms": 2_004_000},
    ],
    "gold.stuck_points": [
        {"lesson": "011-acks", "step": "2", "learners": 1, "episodes": 3, "by_reason": [("refused", 2), ("long", 1)],
         "median_s": 20.0, "first_us": 61_000_000},
    ],
    "gold.calibration": [SAID, {**SAID, "stop": "0.99", "answers": 4}],
    "gold.lesson_steps": [ITEM],
    "gold.lesson_wrong_states": [
        {"lesson": "011-acks", "step": "lost", "state": "not-yet", "misconception": None, "learners": 6, "times": 8}
    ],
    "gold.lesson_calibration": [SAID],
}  # fmt: skip
EVERY = {**OF_CLASS, **OF_LESSON, **OWN}


def made(name: str) -> dict[str, Any]:
    figure = figure_of(EVERY[name], ready(EVERY[name], TABLES, SCENE), Words("en"), internal=True)
    assert figure is not None
    shown: dict[str, Any] = json.loads(json.dumps(figure, allow_nan=False))
    return shown


@pytest.mark.parametrize("name", EVERY)
def test_each_chart_draws_and_lists_its_rows_and_has_a_description(name: str) -> None:
    figure = made(name)
    assert figure["data"] and all(trace["name"] for trace in figure["data"])
    assert figure["table"]["columns"] == list(EVERY[name].columns) and figure["table"]["rows"]
    for trace in figure["data"]:
        assert len(trace["customdata"]) == len(trace["y"])
    for language in ("en", "zh-CN"):
        texts = json.loads(merged(language))
        assert {f"analytics.{name}", f"analytics.{name}_unit", f"analytics.{name}_said"} <= texts.keys()


def test_questions_with_equal_shares_do_not_cover_each_other() -> None:
    shares = [*[0.4] * 4, 0.45, 0.9, 0.9, 0.1]
    known = [*[None] * 5, 0.2, 0.3, -0.4]
    rows = [
        ITEM | {"step": f"s{number}", "place": f"1.{number}", "open": None, "difficulty": x, "discrimination": y}
        for number, (x, y) in enumerate(zip(shares, known, strict=True))
    ]
    (trace,) = items(rows, Words("en"))["data"]
    assert trace["y"][5:] == known[5:]
    marks = list(zip(shares[:5], trace["y"][:5], strict=True))
    assert len({height for _, height in marks}) == 5 and all(-1 < height < 1 for _, height in marks)
    assert min(abs(one - other) for (_, one), (_, other) in combinations(marks, 2)) >= 0.3
    # A label is below its mark if another mark would cover it.
    assert trace["textposition"][5:] == ["bottom center", "top center", "top center"]


def test_a_cell_has_a_sign_and_opens_the_lab_or_else_the_class_at_that_instant() -> None:
    (cells,) = made("class_steps")["data"]
    assert (cells["x"], cells["y"]) == (["1", "2"], ["p2 Ada", "p3"])
    assert cells["text"] == [["h", "·"], ["", "↺"]]
    assert cells["customdata"] == [["/r/r2/main?seq=40", "/r/r2/main?seq=40"], [None, "/replay/61000000"]]
    # Former participants are not in any of the charts.
    text = json.dumps(figures_of(OF_CLASS, TABLES, SCENE))
    assert CY not in {word.strip('"') for word in text.replace(",", " ").split()} and "Ada" in text


def test_instant_of_the_class_follows_from_the_clock_before_it() -> None:
    assert [instant_of(CLOCK, at) for at in (None, 1_500_000, 2_000_001)] == [None, 505_000_000, 60_001_000]
    assert instant_of([], 5) is None and instant_of([(1_000, 50)], 0) == 0


def test_questions_with_fewer_than_five_answers_are_not_shown() -> None:
    assert made("class_items")["table"]["count"] == made("class_calibration")["table"]["count"] == 1
    assert [row[0] for row in made("class_misconceptions")["table"]["rows"]] == ["acked-is-safe"]
    # Two groups that differ in what is not shown are one.
    (group,) = made("class_groups")["table"]["rows"]
    assert group == ["acked-is-safe", 2, ["p2 Ada", "p3"]]


def test_misconceptions_are_named_by_their_statement() -> None:
    sentence = says("acked-is-safe", "en").rstrip(".")
    for name in ("class_misconceptions", "class_mistakes", "class_groups"):
        for trace in made(name)["data"]:
            assert {label.replace("<br>", " ") for label in trace["y"]} == {sentence}


def test_label_has_three_short_lines_at_most() -> None:
    assert label_of("A " + "word " * 30).split("<br>")[-1].endswith("…")
    for sentence in ("word " * 30, "每多一份副本，高水位就前进一格。" * 4):
        lines = label_of(sentence).split("<br>")
        assert len(lines) == 3 and all(len(line) <= 26 for line in lines)
    assert max(map(len, label_of("每多一份副本，高水位就前进一格。" * 4).split("<br>"))) <= 13


def test_wrong_state_is_named_by_what_a_learner_reads() -> None:
    lesson, step, wrong = next(
        (one, step, step.wrong[0]) for one in exercises().values() for step in one.steps if step.wrong
    )
    row = {"lesson": lesson.slug, "step": step.id, "misconception": None, "learners": 6, "times": 8}
    rows = [{**row, "state": state} for state in (wrong.id, "of a former version")]
    for language in ("en", "zh-CN"):
        scene = SCENE._replace(language=language)
        figure = figures_of(OF_LESSON, {"gold.lesson_wrong_states": rows}, scene)["lesson_wrong_states"]
        (trace,) = figure["data"]
        text = wrong.text.in_language(language)
        assert trace["hovertext"] == [wrapped(text), "of a former version"]
        assert trace["y"][0] == label_of(f"{list(lesson.steps).index(step) + 1} · {text}")


def test_labels_of_cells_are_short_on_both_axes() -> None:
    rows = [
        *TABLES["gold.attempt_steps"],
        *(step(ADA, name, lesson="002-finding-an-offset") for name in ("x", "renamed-since")),
    ]
    scene = SCENE._replace(people={ADA: Person(2, "Augusta Ada King, Countess of Lovelace"), BO: Person(3)})
    figure = figures_of(OF_CLASS, {"gold.attempt_steps": rows}, scene)["class_steps"]
    x, y = figure["layout"]["xaxis"], figure["layout"]["yaxis"]
    assert x["tickvals"] == ["002 · renamed-since", "002 · x", "011 · 1", "011 · 2"]
    assert x["ticktext"] == ["re…<br>002", "x", "1<br>011", "2"]
    assert y["tickvals"][0] == "p2 Augusta Ada King, Countess of Lovelace"
    assert y["ticktext"] == ["p2 Augusta Ada…", "p3"]


def test_signs_are_explained_in_the_language_of_the_page() -> None:
    said = "✓ done, h done with hints, ↺ first answer wrong, – skipped, · in progress."
    assert made("class_steps")["note"] == said
    rows = ready(EVERY["class_steps"], TABLES, SCENE)
    figure = figure_of(EVERY["class_steps"], rows, Words("zh-CN"), internal=True)
    assert figure is not None and figure["note"].endswith("· 进行中。") and ", " not in figure["note"]


def test_bars_are_in_the_order_of_the_legend() -> None:
    layout = made("lesson_stops")["layout"]
    assert layout["yaxis"]["autorange"] == "reversed" and layout["legend"]["traceorder"] == "normal"


def test_files_contain_participant_numbers_and_no_names() -> None:
    numbers = SCENE._replace(people={ADA: Person(2), BO: Person(3)})
    lines = csv_of(OF_CLASS, "class_steps", TABLES, numbers).splitlines()
    assert lines[0].startswith("learner,lesson,step") and [line[:2] for line in lines[1:]] == ["p2", "p2", "p3"]
    assert csv_of(OF_CLASS, "class_items", {}, numbers).splitlines() == [",".join(OF_CLASS["class_items"].columns)]


@pytest.mark.parametrize("name", EVERY)
def test_each_chart_has_its_rows_as_a_file(name: str) -> None:
    columns, *rows = csv.reader(csv_of(EVERY, name, TABLES, SCENE).splitlines())
    assert columns == list(EVERY[name].columns) and len(rows) == made(name)["table"]["count"]
    if name == "class_stuck":
        assert json.loads(rows[0][columns.index("by_reason")]) == [["refused", 2], ["long", 1]]


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_hand_of_a_learner_who_has_finished_is_at_no_step(language: str) -> None:
    last, (row,) = len(exercises()["011-acks"].steps), TABLES["gold.stuck_points"]
    rows = [{**row, "step": str(last + 1), "by_reason": [("hand", 1)]}, {**row, "step": str(last)}]
    scene = SCENE._replace(language=language)
    (figure, *_) = figures_of(OF_CLASS, {"gold.stuck_points": rows}, scene).values()
    said = "all steps done" if language == "en" else "已全部完成"
    assert all(trace["y"] == [str(last), said] for trace in figure["data"])
    columns, *lines = csv.reader(csv_of(OF_CLASS, "class_stuck", {"gold.stuck_points": rows}, scene).splitlines())
    assert [line[columns.index("step")] for line in lines] == [str(last), said]


def test_counts_have_no_ticks_between_integers() -> None:
    assert made("lesson_stops")["layout"]["xaxis"]["tickformat"] == "d"
    assert made("class_stuck")["layout"]["xaxis"]["dtick"] == 1
    assert made("class_progress")["layout"]["yaxis"]["dtick"] == 1
    assert "dtick" not in made("lesson_hints")["layout"]["xaxis"]


class Given:
    """Takes tasks; the test decides when they are done."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.now_s = 100.0

    def begin(self, of: str, task: Task, priority: Priority) -> Job:
        assert priority == "watch"
        self.jobs.append(Job(f"j{len(self.jobs)}", of, task, is_first=not self.jobs))
        return self.jobs[-1]

    def end(self, cpu_s: float, **tables: list[dict[str, Any]]) -> None:
        self.jobs[-1].state, self.jobs[-1].cpu_s, self.jobs[-1].tables = "done", cpu_s, tables


def test_rounds_take_a_fifth_of_a_core_after_a_burst() -> None:
    given = Given()
    rounds = Rounds(given, lambda: given.now_s)  # type: ignore[arg-type]

    def ask() -> tuple[bool, float]:
        found = rounds.ask("kite", lambda: LiveTask("kite", ()))
        return found.job is given.jobs[-1], found.wait_s

    assert ask() == (True, 0.0) and ask() == (True, 0.0) and len(given.jobs) == 1
    assert rounds.found("kite") is None
    # What the first one cost was the start of Spark.
    given.end(30.0, steps=[{"a": 1}], items=[{"b": 1}])
    assert ask() == (False, MIN_WAIT_S)
    given.now_s += MIN_WAIT_S
    assert ask() == (True, 0.0) and len(given.jobs) == 2
    given.end(BURST_CPU_S, steps=[{"a": 2}])
    assert ask() == (False, MIN_WAIT_S)
    found = rounds.found("kite")
    assert found is not None and found.tables == {"steps": [{"a": 2}], "items": [{"b": 1}]}
    given.now_s += MIN_WAIT_S
    assert ask() == (True, 0.0)
    given.end(3.0)
    # A fifth of the time until now is paid back.
    assert ask() == (False, pytest.approx((3.0 - SHARE * MIN_WAIT_S) / SHARE))
    given.now_s += 3.0 / SHARE
    assert ask() == (True, 0.0)
    # A round that fails leaves what was found, and its instant.
    given.jobs[-1].state = "failed"
    again = rounds.found("kite")
    assert again is not None and again == found


def test_rounds_that_fail_are_charged_as_well() -> None:
    given = Given()
    rounds = Rounds(given, lambda: given.now_s)  # type: ignore[arg-type]

    def fail(cpu_s: float) -> float:
        """A round that fails; returns the seconds until the next one."""
        assert rounds.ask("kite", lambda: LiveTask("kite", ())).wait_s == 0.0
        given.jobs[-1].state, given.jobs[-1].cpu_s = "failed", cpu_s
        wait_s = rounds.ask("kite", lambda: LiveTask("kite", ())).wait_s
        given.now_s += wait_s
        return wait_s

    assert fail(BURST_CPU_S) == MIN_WAIT_S
    assert fail(3.0) == pytest.approx((3.0 - SHARE * MIN_WAIT_S) / SHARE)
    # Spark does not start, or its worker ends in each round.
    waits = [fail(0.0) for _ in range(5)]
    assert waits[-1] == pytest.approx(UNKNOWN_CPU_S / SHARE)
