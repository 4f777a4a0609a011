"""The measures of two sets of runs: pairing, sentences, and the page."""

from pathlib import Path
from typing import Any

import pytest

from lab.analytics.compare import MEASURES
from lab.analytics.figures.parts import Words
from lab.analytics.store.builds import Store
from lab.studies.between import charts_of, pairs_by_seed, quantile
from tests.support.analytics.hand_made import publish_rows
from tests.support.lab_server import LabServer, Visitor

WORDS = Words("en")


def summary(run: str, seed: int, **measures: int) -> dict[str, Any]:
    return {"run": run, "branch": f"{run}/main", "seed": seed, "events": 10} | dict.fromkeys(MEASURES, 0) | measures


def latencies(run: str, batches: int, *points: tuple[float, int]) -> list[dict[str, Any]]:
    return [
        {"branch": f"{run}/main", "acks": -1, "share": share, "latency_us": us, "batches": batches}
        for share, us in points
    ]


LEFT = [summary(f"l{seed}", seed, commit_p99_us=10_000 + seed * 100, elections=2) for seed in range(8)]
RIGHT = [summary(f"r{seed}", seed, commit_p99_us=14_000 + seed * 100, elections=2) for seed in range(8)]


def charts(left: list[dict[str, Any]], right: list[dict[str, Any]], *more: Any) -> dict[str, Any]:
    found = charts_of((left, right), more or ((), ()), WORDS)
    assert all("compare." not in one["said"] + one["title"] + one["unit"] and "{" not in one["said"] for one in found)
    return {one["measure"]: one for one in found}


def test_runs_of_a_seed_are_compared_in_pairs() -> None:
    found = charts(LEFT, RIGHT)
    assert set(found) == {"overview", "commit_p99_us", "elections"}  # nothing is drawn of what is 0 everywhere
    latency, overview = found["commit_p99_us"], found["overview"]
    assert "over 8 pairs with the same seed the difference is +4 [+4, +4], and B is lower in 0 %" in latency["said"]
    assert "1 of 2 measures differ" in overview["said"]
    row = next(row for row in overview["table"]["rows"] if row[0] == "commit_p99_us")
    assert row[:6] == ["commit_p99_us", "ms", 10.35, 14.35, 8, 4.0]
    assert found["elections"]["said"] == "Elections: 2 on both sides."
    runs, median = latency["figure"]["data"][:2]
    assert runs["y"] == [10 + seed / 10 for seed in range(8)] and runs["customdata"][0] == "l0/main"
    assert median["y"] == [10.35] and median["error_y"]["array"][0] > 0


def test_sets_without_common_seeds_and_single_runs_are_not_paired() -> None:
    others = [{**row, "seed": row["seed"] + 100} for row in RIGHT]
    assert not pairs_by_seed(LEFT, others) and not pairs_by_seed([LEFT[0], LEFT[0]], RIGHT)
    assert "pairs" not in charts(LEFT, others)["commit_p99_us"]["said"]
    assert "the difference is +4 [" in charts(LEFT, others)["commit_p99_us"]["said"]
    single = charts(LEFT[:1], RIGHT[:1])
    assert (
        "too few runs" in single["commit_p99_us"]["said"] and "error_x" not in single["overview"]["figure"]["data"][0]
    )
    assert len(single["commit_p99_us"]["figure"]["data"]) == 2  # a dot on each side, without an interval
    assert charts(LEFT, []) == {}


def test_large_difference_leaves_the_others_legible() -> None:
    left, right = (
        [summary("l", 1, commit_p50_us=1_000, elections=4)], [summary("r", 1, commit_p50_us=90_000, elections=5)]
    )  # fmt: skip
    overview = charts(left, right)["overview"]
    (dots,) = overview["figure"]["data"]
    assert (dots["x"], dots["text"]) == ([300, 25], ["+8,900.0 %", ""])
    assert overview["figure"]["layout"]["xaxis"]["range"][1] < 330
    assert overview["said"].endswith("An arrow is a difference beyond the axis.")
    assert "arrow" not in charts(LEFT, RIGHT)["overview"]["said"]


def test_names_of_measures_leave_width_for_the_differences() -> None:
    left, right = ([summary(side, 1, stop_the_world_us=us, elections=2)] for side, us in (("l", 1_000), ("r", 1_100)))
    figure = charts(left, right)["overview"]["figure"]
    (dots,) = figure["data"]
    assert dots["hovertext"] == ["Elections", "Longest time of a partition without an owner"]
    assert all(len(line) <= 26 for label in dots["y"] for line in label.split("<br>"))
    assert figure["layout"]["yaxis"]["categoryarray"] == dots["y"]


def test_latencies_of_single_runs_are_those_of_their_measures() -> None:
    left, right = (summary(run, 1, commit_p50_us=454_000, commit_p99_us=900_000) for run in ("l", "r"))
    points = latencies("l", 9, (0.495, 450_000), (0.505, 479_000), (1.0, 901_000))
    assert (
        "within 454 ms in A and 454 ms in B, 99 % within 900"
        in charts([left], [right], points, points)["latency"]["said"]
    )


def test_distributions_of_runs_are_merged_by_their_batches() -> None:
    left = [*latencies("l0", 30, (0.5, 1_000), (1.0, 2_000)), *latencies("l1", 10, (1.0, 4_000))]
    right = latencies("r0", 5, (0.5, 3_000), (1.0, 9_000))
    found = charts(LEFT[:2], RIGHT[:1], left, right)["latency"]
    ours, theirs = found["figure"]["data"]
    assert list(zip(ours["x"], ours["y"], strict=True)) == [(1.0, 37.5), (2.0, 75.0), (4.0, 100.0)]
    assert theirs["x"] == [3.0, 9.0]
    assert quantile([(1.0, 0.375), (2.0, 0.75), (4.0, 1.0)], 0.5) == 2.0
    assert found["said"].startswith(
        "Half of the batches were committed within 2 ms in A and 3 ms in B, 99 % within 4 ms"
    )


@pytest.fixture
def compared(lab_server: LabServer, tmp_path: Path, settings: Any) -> tuple[Visitor, list[str]]:
    """A visitor with three runs, two of which have tables."""
    settings.TABLES = tmp_path / "tables"
    visitor = Visitor(lab_server).sign_in_as("compares-measures")
    runs = [visitor.new_run(name=f"measured {seed}", seed=str(seed), brokers="1") for seed in (1, 2, 3)]
    rows = [summary(run, seed, messages=100 * seed) for seed, run in enumerate(runs[:2], 1)]
    tables: dict[str, Any] = {
        "gold.run_summary": rows, "gold.commit_latency": latencies(runs[0], 3, (1.0, 5_000)),
    }  # fmt: skip
    publish_rows(Store.at(str(settings.TABLES)), tables)
    return visitor, [f"{run}/main" for run in runs]


def test_the_page_and_its_files(compared: tuple[Visitor, list[str]], other_visitor: Visitor) -> None:
    visitor, (one, other, untabled) = compared
    assert "<hw-measures" not in visitor.get("/compare/measures/").text
    query = f"left={one}&right={other}&right={untabled}"
    page = visitor.get(f"/compare/measures/?{query}")
    assert page.text.count(" checked") == 3 and "<hw-measures" in page.text
    assert f"/compare/measures/?left={one}&amp;right={other}" in visitor.get(f"/compare/?a={one}&b={other}").text
    found = visitor.get(f"/api/compare/measures.json?{query}").json
    assert found["missing"] == [untabled] and found["is_paired"] is False
    assert [chart["measure"] for chart in found["charts"]] == ["overview", "messages"]
    lines = visitor.get(f"/api/compare/measures/messages.csv?{query}").text.split("\r\n")
    assert lines[0] == "side,run,branch,seed,messages" and lines[1] == f"A,{one.partition('/')[0]},{one},1,100"
    assert visitor.get(f"/api/compare/measures/nothing.csv?{query}").status == 404
    assert other_visitor.get(f"/compare/measures/?{query}").status == 404
    assert other_visitor.get(f"/api/compare/measures.json?{query}").status == 404
