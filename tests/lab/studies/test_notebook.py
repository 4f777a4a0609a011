"""What notebooks read: stored rows, runs by their settings, comparisons, and the worked example."""

import re
import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from pytest_django.fixtures import Settings

import highwater
from highwater.colours import LIGHT, coloured
from lab.analytics.compare import MEASURES, compare
from lab.analytics.store.builds import Store, StoredColumn, StoredFile, TableState
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.publish import Changes, TableChange, publish
from tests.support.analytics.studies import SMALL
from tests.support.paths import ROOT


def summary(run: str, era: str, seed: int, p99_us: int, **settings: str) -> dict[str, Any]:
    return {
        "run": run, "branch": f"{run}/main", "era": era, "seed": seed, "settings": list(settings.items()),
        **dict.fromkeys(MEASURES, 0), "commit_p99_us": p99_us,
    }  # fmt: skip


def publish_summaries(store: Store, rows: Sequence[dict[str, Any]]) -> None:
    schema = pa.schema(
        [
            ("run", pa.string()), ("branch", pa.string()), ("era", pa.string()), ("seed", pa.int64()),
            ("settings", pa.map_(pa.string(), pa.string())), *((name, pa.int64()) for name in MEASURES),
        ]
    )  # fmt: skip
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), sink)
    data = sink.getvalue().to_pybytes()
    store.files.create("gold.run_summary/a.parquet", data)
    units = {row["branch"]: 1 for row in rows}
    state = TableState((), "branch", ("branch",), ("branch",), (StoredColumn("commit_p99_us", "bigint", "µs", "p99"),))
    change = TableChange(state, [StoredFile("gold.run_summary/a.parquet", len(rows), len(data), units, len(units))])
    ledger = {row["branch"]: BranchEntry(row["branch"], row["run"], "") for row in rows}
    publish(store, None, Changes({"gold.run_summary": change}, ledger, touched=set(units)))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A lab with runs of two eras and three seeds, the newer ones faster but for one."""
    rows = [
        summary(f"{name}{seed}", era, seed, base_us + seed, **{"min.insync.replicas": "2"})
        for name, era, base_us in (("a", "0.10", 1_000), ("b", "3.9", 900))
        for seed in (1, 2, 3)
    ]
    rows[-1]["commit_p99_us"] = 2_000
    publish_summaries(Store.at(str(tmp_path / "tables")), rows)
    return tmp_path


def test_runs_are_found_by_era_and_by_setting(place: Path):
    hw = highwater.open(place)
    assert hw.runs().num_rows == 6
    assert hw.runs(era="3.9", seed=2)["run"].to_pylist() == ["b2"]
    assert hw.runs(min_insync_replicas="2", era="0.10").num_rows == 3
    assert hw.runs(min_insync_replicas="1").num_rows == 0
    assert hw.table("gold.run_summary", run="a1")["commit_p99_us"].to_pylist() == [1_001]
    assert hw.columns("gold.run_summary") == {"commit_p99_us": "p99 (µs)"}


def test_branches_are_found_by_name_and_not_mixed_in_a_chart(tmp_path: Path):
    rows = [summary("a1", "3.9", 1, 900) | {"branch": name} for name in ("a1/main", "a1/main-2")]
    publish_summaries(Store.at(str(tmp_path / "tables")), rows)
    hw = highwater.open(tmp_path)
    for name in ("main-2", "a1/main-2"):
        assert hw.table("gold.run_summary", run="a1", branch=name)["branch"].to_pylist() == ["a1/main-2"]
    with pytest.raises(highwater.LabError, match=r"no branch other\. They know: a1/main, a1/main-2"):
        hw.table("gold.run_summary", run="a1", branch="other")
    with pytest.raises(highwater.LabError, match=r"Run a1 has 2 branches\. Name one of them: a1/main, a1/main-2"):
        hw.figure("failovers", run="a1")


def test_pairs_of_the_same_seed_are_compared(place: Path):
    hw = highwater.open(place)
    found = {one.measure: one for one in hw.compare(hw.runs(era="0.10"), hw.runs(era="3.9"), pair_by="seed")}
    p99 = found["commit_p99_us"]
    assert (p99.pairs, p99.difference, p99.left, p99.right) == (3, -100, 1_002, 902)
    assert p99.improved == pytest.approx(2 / 3)
    assert p99.low <= p99.difference <= p99.high
    assert found["lost_records"].difference == 0
    unpaired = {one.measure: one for one in hw.compare(hw.runs(era="0.10"), hw.runs(era="3.9"))}
    assert (unpaired["commit_p99_us"].pairs, unpaired["commit_p99_us"].improved) == (0, None)


def test_sets_without_runs_have_no_measures():
    assert compare([], [summary("a", "3.9", 1, 5)]) == []


def test_missing_tables_and_runs_are_reported(place: Path):
    hw = highwater.open(place)
    with pytest.raises(highwater.LabError, match=r"no table gold\.nothing"):
        hw.table("gold.nothing")
    with pytest.raises(highwater.LabError, match=r"know no run r9\. They know: a1, a2"):
        hw.table("gold.run_summary", run="r9")
    with pytest.raises(highwater.LabError, match="no chart pie"):
        hw.figure("pie", "a1")
    with pytest.raises(highwater.LabError, match="analytics build"):
        highwater.open(place / "elsewhere")


def test_colours_of_figures_are_those_of_the_light_theme():
    tokens = (ROOT / "static" / "lab" / "css" / "base" / "tokens.css").read_text()
    light = tokens.partition('[data-theme="light"]')[2].partition("}")[0]
    assert {name: f"{name}: {colour};" in light for name, colour in LIGHT.items()} == dict.fromkeys(LIGHT, True)
    sources = (ROOT / "lab" / "analytics" / "figures").glob("*.py")
    used = {name for path in sources for name in re.findall(r'"(--[a-z0-9]+)"', path.read_text())}
    assert used and used <= LIGHT.keys()
    assert coloured({"x": ["--danger", "--a-topic"]}) == {"x": ["#c02e1d", "--a-topic"]}


def test_the_worked_example_runs(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    settings.DATA, settings.TABLES = tmp_path, tmp_path / "tables"
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    call_command("study", file, "--no-spark")
    capsys.readouterr()
    monkeypatch.setenv("HIGHWATER_DATA", str(tmp_path))
    runpy.run_path(str(ROOT / "highwater" / "example.py"))
    said = capsys.readouterr().out
    assert "build 1, 2 tables" in said
    assert "small, era 3.9, linger.ms 50: produce_requests 1 [1, 1]" in said
    assert "fewer requests in 2 of 2 pairs" in said
