"""Export of a learner's data."""

import csv
import io
import json
from typing import Any

from lab.exercises.bilingual import Bilingual
from lab.learning.events import (
    AnswerGiven,
    AnyEvent,
    ChallengeJudged,
    HintShown,
    LessonFinished,
    LessonStarted,
    PredictionSettled,
    ReviewAnswered,
    Stored,
)
from lab.learning.export import COLUMNS, as_csv, as_xapi
from lab.learning.fold import LearnerState
from lab.learning.summarize import summarize

ACKS = "011-acks"
NOON_MS = 1_780_056_000_000
DAY_MS = 86_400_000
HOME = "http://127.0.0.1:8000"
RUN: dict[str, Any] = {
    "run": "r1",
    "branch": "main",
    "seq": 40,
    "at_us": 1_500_000,
    "era": "3.9",
    "seed": 5,
    "content_version": "c0",
}
EVENTS: list[AnyEvent] = [
    LessonStarted(lesson=ACKS, **RUN),
    HintShown(lesson=ACKS, step="how-many", hint=1, **RUN),
    PredictionSettled(
        lesson=ACKS, step="how-many", choice="2", choices=4, p=0.9, outcome="0", right=False, brier=1.7499999999999998,
        misconception="acked-is-safe", tags=("acked-is-safe",), hints=1, seconds=8.5, part=2, **RUN,
    ),
    AnswerGiven(lesson=ACKS, step="count", answer="=1+1", outcome="2", right=True, seconds=3, **RUN),
    LessonFinished(lesson=ACKS, **RUN),
    ReviewAnswered(
        lesson=ACKS, count=0, question_seed=77, choice="a", choices=3, p=0.7, outcome="a", right=True, brier=0.14,
        rating=3, ms=4_200,
    ),
    ChallengeJudged(lesson="c1-lose-one-acknowledged-record", entry="e1", passed=False, score=3),
]  # fmt: skip
HISTORY = [Stored(number, NOON_MS + number * DAY_MS, event) for number, event in enumerate(EVENTS, 1)]


def rows() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(as_csv("ab12", HISTORY))))


def test_csv_has_a_row_for_each_answer_and_step_and_the_columns_of_the_course() -> None:
    assert tuple(rows()[0]) == COLUMNS
    assert [(row["kind"], row["step"], row["right"]) for row in rows()] == [
        ("prediction", "how-many", "false"),
        ("answer", "count", "true"),
        ("review", "review-0", "true"),
        ("challenge", "", "false"),
    ]
    first = rows()[0]
    assert {name: first[name] for name in ("user", "p", "brier", "misconception", "hints_shown", "sim_us", "seq")} == {
        "user": "ab12", "p": "0.9", "brier": "1.75", "misconception": "acked-is-safe", "hints_shown": "1",
        "sim_us": "1500000", "seq": "40",
    }  # fmt: skip
    assert first["at"] == "2026-06-01T12:00:00.000Z"
    assert [row["part"] for row in rows()] == ["2", "", "", ""]


def test_csv_holds_no_formula() -> None:
    assert rows()[1]["choice"] == "'=1+1"


def statements() -> list[dict]:
    state = LearnerState()
    for stored in HISTORY:
        state.fold(stored.seq, stored.at_ms, stored.event)
    summary = summarize(state, "ab12", NOON_MS + 9 * DAY_MS)
    titles = {ACKS: Bilingual("acks: 0, 1, all", "确认级别")}
    return [json.loads(line) for line in as_xapi(HOME, summary, HISTORY, titles, {ACKS: "produce"})]


def test_xapi_statements_have_actor_verb_and_result() -> None:
    found = statements()
    assert [one["verb"]["id"].rpartition("/")[2] for one in found] == [
        "attempted", "answered", "answered", "completed", "answered", "failed",
    ]  # fmt: skip
    predicted = found[1]
    assert predicted["actor"]["account"] == {"homePage": HOME, "name": "ab12"}
    assert predicted["object"]["id"] == f"{HOME}/xapi/{ACKS}#how-many"
    assert predicted["object"]["definition"]["name"] == {"en-US": "acks: 0, 1, all", "zh-CN": "确认级别"}
    assert predicted["object"]["definition"]["correctResponsesPattern"] == ["0"]
    grouping = [group["id"] for group in predicted["context"]["contextActivities"]["grouping"]]
    assert grouping == [f"{HOME}/xapi/produce", f"{HOME}/xapi/course"]
    assert predicted["result"]["score"] == {"scaled": -0.75}
    assert (predicted["result"]["success"], predicted["result"]["duration"]) == (False, "PT8.50S")
    assert predicted["context"]["extensions"][f"{HOME}/xapi/sim_us"] == 1_500_000
    assert len({one["id"] for one in found}) == len(found)
    assert all(one["timestamp"].endswith("Z") for one in found)


def test_export_twice_gives_the_same_ids() -> None:
    assert [one["id"] for one in statements()] == [one["id"] for one in statements()]
