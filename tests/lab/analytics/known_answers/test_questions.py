"""The sample queries of the tables page, on rows whose answers are known."""

import asyncio
from typing import Any

import pytest

from lab.analytics.serve.questions import QUESTIONS
from lab.analytics.serve.sql_box import ask
from lab.analytics.serve.visible import EVERYTHING
from lab.analytics.store.builds import Build, Store
from tests.support.analytics.hand_made import publish_rows

Made = tuple[Store, Build]

ANSWERS: dict[str, list[list[Any]]] = {
    "hardest_steps": [["kite", "first", "s2", 4, 0.25, 0.5], ["kite", "first", "s1", 6, 0.75, 0.33]],
    "mistakes": [["kite", "isr", 3, 0.5, 0.9, 1, 0], ["kite", "hw", 1, 0.17, 0.6, 0, 1]],
    "sure_and_wrong": [["kite", "first", "s1", "a", "isr", 2, 0.85], ["kite", "first", "s1", "b", "hw", 1, 1.0]],
    "stuck": [["kite", "first", "s1", 2, 3, 41.0, '{"reset": 3}'], ["kite", "first", "s2", 1, 1, 10.0, '{"hint": 1}']],
    # five attempts of one learner are not five learners
    "hints": [["kite", "first", "s1", 6, 2, 0.5, 0.75]],
    "eras": [["0.8", 1, 9.0, 0.0, 4], ["3.9", 3, 2.0, 5.0, 3]],
    # not by the points of the distribution, of which the slow ones are as many as the fast ones
    "acks": [["r1", "r1/main", 1, 2.0, 60.0], ["r1", "r1/main", -1, 3.0, 4.0]],
    "failovers": [
        ["r1", "r1/main", "orders", 0, 3, 8, True, 5],
        ["r1", "r1/main", "orders", 1, 1, 1, False, 0],
        ["r1", "r1/main", "orders", 0, 2, None, False, 0],
    ],
    # forks repeat their past
    "rebalances": [["r1", "r1/main", "g", 2, 6, 11, 2], ["r1", "r1/fork", "g", 1, 6, 9, 1]],
    "settings": [["1", 2, 3, 2.0], ["2", 1, 4, 9.0]],
}

_STEP = {"class": "kite", "lesson": "first"}
_RUN = {"run": "r1", "branch": "r1/main"}


def _summaries() -> list[dict[str, Any]]:
    values = (
        ("3.9", 1_000, 4_000, 1, "1"), ("3.9", 3_000, 6_000, 2, "1"), ("3.9", 2_000, 5_000, 0, None),
        ("0.8", 9_000, 0, 4, "2"),
    )  # fmt: skip
    return [
        {
            "run": f"r{place}", "branch": f"r{place}/main", "era": era, "commit_p99_us": latency_us,
            "unavailable_us": unavailable_us, "lost_records": lost,
            "settings": [("min.insync.replicas", least)] if least else [("acks", "all")],
        }
        for place, (era, latency_us, unavailable_us, lost, least) in enumerate(values, 1)
    ]  # fmt: skip


def _attempts() -> list[dict[str, Any]]:
    """Learners answer s1; one of them answers s2 in each of five attempts."""
    said = [("a", "isr", False, 0.8), ("a", "isr", False, 0.9), ("b", "hw", False, 1.0), ("c", None, True, 1.0)]
    steps: list[dict[str, Any]] = [
        {"attempt": f"l{place}/first/1", "step": "s1", "choice": choice, "misconception": tag, "right": right, "p": p,
         "hints_before": 0}
        for place, (choice, tag, right, p) in enumerate(said)
    ]  # fmt: skip
    steps += [
        {"attempt": f"l0/first/{number}", "step": "s2", "choice": "a", "misconception": None, "right": number == 5,
         "p": 0.5, "hints_before": 0}
        for number in range(1, 6)
    ]  # fmt: skip
    return [{"log": f"learner:{one['attempt'].partition('/')[0]}", **_STEP, **one} for one in steps]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    store = Store.at(str(tmp_path_factory.mktemp("tables")))
    points = [
        (1, 1_000, 0.25),
        (1, 2_000, 0.95),
        (1, 40_000, 0.98),
        (1, 60_000, 1.0),
        (-1, 3_000, 0.6),
        (-1, 4_000, 1.0),
    ]
    tables: dict[str, list[dict[str, Any]]] = {
        "gold.item_statistics": [
            {**_STEP, "step": "s1", "n": 6, "difficulty": 0.75, "hint_share": 1 / 3, "with_hint": 2,
             "right_with_hint": 0.5, "right_without_hint": 0.75},
            {**_STEP, "step": "s2", "n": 4, "difficulty": 0.25, "hint_share": 0.5, "with_hint": 2,
             "right_with_hint": 0.5, "right_without_hint": 0.0},
        ],
        "gold.misconceptions": [
            {"class": "kite", "tag": "hw", "learners": 1, "share": 1 / 6, "p_mean": 0.6, "refuted": 0, "returned": 1},
            {"class": "kite", "tag": "isr", "learners": 3, "share": 0.5, "p_mean": 0.9, "refuted": 1, "returned": 0},
        ],
        "gold.attempt_steps": _attempts(),
        "gold.stuck_points": [
            {**_STEP, "step": "s2", "learners": 1, "episodes": 1, "median_s": 10.0, "by_reason": [("hint", 1)]},
            {**_STEP, "step": "s1", "learners": 2, "episodes": 3, "median_s": 40.6, "by_reason": [("reset", 3)]},
        ],
        "gold.run_summary": _summaries(),
        "gold.commit_latency": [
            {**_RUN, "acks": acks, "latency_us": latency_us, "share": share} for acks, latency_us, share in points
        ],
        "gold.failovers": [
            {**_RUN, "topic": "orders", "partition": partition, "leader_epoch": epoch, "unavailable_us": lasted_us,
             "unclean": epoch == 3, "truncated_records": 5 if epoch == 3 else 0}
            for partition, epoch, lasted_us in ((0, 2, None), (0, 3, 8_900), (1, 1, 1_000))
        ],
        "gold.rebalances": [
            {**_RUN, "branch": f"r1/{branch}", "group": "g", "members": members, "stop_the_world_us": longest_us,
             "unowned_us": unowned_us, "stopped_us": 77_000_000}
            for branch, members, longest_us, unowned_us in
            (("main", 1, 6_500, 9_000), ("main", 2, 2_000, 2_500), ("fork", 1, 6_500, 9_000))
        ],
    }  # fmt: skip
    return store, publish_rows(store, tables)


def test_each_sample_query_has_an_expected_answer() -> None:
    assert ANSWERS.keys() == QUESTIONS.keys()
    assert len(QUESTIONS) == 10


@pytest.mark.parametrize("name", QUESTIONS)
def test_sample_queries_give_the_expected_answers(made: Made, name: str) -> None:
    rows = asyncio.run(ask(*made, QUESTIONS[name], EVERYTHING)).rows
    # Without an order of its own the database may give any.
    assert (rows if "order by" in QUESTIONS[name] else sorted(rows, key=str)) == ANSWERS[name]
