"""Studies: a file with a mistake, cells that run once, the same results with and without Spark."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from django.core.management import CommandError, call_command
from pyspark import SparkContext
from pyspark.sql import SparkSession
from pytest_django.fixtures import Settings as PytestSettings

from broker_core.texts import render
from lab.analytics.cli.making import spark
from lab.analytics.session import Spark
from lab.analytics.store.builds import Store
from lab.analytics.store.reading import rows
from lab.studies import version
from lab.studies.cell import run_cell
from lab.studies.compiler import StudyError, compile_study
from lab.studies.definition import Cell, Result
from lab.studies.results import Finished
from lab.studies.runner import AllStopped, Progress, SparkWorkers, ThisProcess, run_study
from lab.studies.summary import spread_of, summarize
from tests.support.analytics.studies import SMALL
from tests.support.lab_server import PATIENCE_S
from tests.support.paths import ROOT


class Counting(ThisProcess):
    def __init__(self, ends_after: int = 10**9) -> None:
        self.cells: list[Cell] = []
        self._ends_after = ends_after

    def run(self, cells: Sequence[Cell], engine: str) -> list[Result]:
        if len(self.cells) >= self._ends_after:
            raise KeyboardInterrupt
        self.cells += cells
        return super().run(cells, engine)


def quiet(progress: Progress) -> None:
    pass


def mistake(source: str) -> tuple[int, str]:
    with pytest.raises(StudyError) as caught:
        compile_study(source, "study.toml")
    return caught.value.line, render(caught.value.what)


@pytest.mark.parametrize(
    ("line", "was", "becomes", "said"),
    [
        (7, "producer send p orders warm:up", "producre send p orders warm:up", "producre"),
        (6, "{linger.ms}", "{linger}", "linger"),
        (3, "ack_p99_ms", "p99", "There is no measure p99"),
        (2, "seeds = 2", "seeds = 0", "seeds"),
        (2, "seeds = 2", "sedes = 2", "sedes is not a key"),
        (2, "seeds = 2", "seeds = = 2", "Invalid value"),
        (26, "[0, 50]", "[0, 0]", "twice"),
        (27, '"linger.ms" = [0, 50]', '"linger.ms" = [0, 50]\nacks = ["all"]', "acks appears neither"),
        (17, 'zh = "小"', "", "en and zh"),
        (2, "seeds = 2", "seeds = 1_000_000_000_000", "would need 2000000000000 clusters"),
        (28, "[0, 50]", '[0, 50]\n[settings]\n"zookeeper.sesion.timeout.ms" = 6', "nearest are: zookeeper.session."),
        (28, "[0, 50]", '[0, 50]\n[settings]\n"min.insync.replicas" = "{linger.ms}"', "Value must be at least 1"),
    ],
)
def test_mistake_is_reported_with_its_line(line: int, was: str, becomes: str, said: str):
    at, what = mistake(SMALL.replace(was, becomes, 1))
    assert at == line
    assert what.startswith(f"study.toml, line {line}: ")
    assert said in what


def test_an_era_and_a_fault_are_axes():
    source = SMALL.replace("seeds = 2", 'seeds = [7]\neras = ["0.10", "3.9"]', 1)
    source = source.replace("# two records within two milliseconds", "{fault}")
    source += '\n[faults]\nnone = ""\nkilled = "broker kill 1"\n'
    study = compile_study(source, "study.toml")
    assert study.axes == {"linger.ms": ("0", "50"), "era": ("0.10", "3.9"), "fault": ("none", "killed")}
    assert len(study.cells) == len(study.points) == 8
    killed = next(cell for cell in study.cells if study.points[cell.point].place["fault"] == "killed")
    assert [line.text for line in killed.lines].count("broker kill 1") == 1


def test_json_is_equivalent_to_toml():
    study = compile_study(SMALL, "study.toml")
    said = {
        "title": {"en": "Small", "zh": "小"},
        "question": {"en": "How many requests?", "zh": "多少请求？"},
        "seeds": 2,
        "measures": list(study.measures),
        "setup": "\n".join(line.text for line in study.cells[0].lines[:4]).replace(
            "--linger 0", "--linger {linger.ms}"
        ),
        "workload": "\n".join(line.text for line in study.cells[0].lines[4:]),
        "grid": {"linger.ms": [0, 50]},
    }
    other = compile_study(msgspec.json.encode(said).decode(), "study.json", is_json=True)
    assert [cell.lines[1].text for cell in other.cells] == [cell.lines[1].text for cell in study.cells]


def test_linger_joins_records_and_costs_time(tmp_path: Path):
    study = compile_study(SMALL, "study.toml")
    results = run_study(study, "e", Finished(tmp_path), ThisProcess(), quiet)
    at_once, later = summarize(study, "e", results).points
    assert (at_once.measures["produce_requests"].median, later.measures["produce_requests"].median) == (2, 1)
    assert at_once.measures["ack_p99_ms"].median < 20 < 50 <= later.measures["ack_p99_ms"].median < 70


def test_stopped_study_resumes(tmp_path: Path):
    study = compile_study(SMALL, "study.toml")
    first = Counting(ends_after=1)
    with pytest.raises(KeyboardInterrupt):
        run_study(study, "e", Finished(tmp_path), first, quiet)
    rest = Counting()
    results = run_study(study, "e", Finished(tmp_path), rest, quiet)
    assert len(first.cells) + len(rest.cells) == 4
    again = Counting()
    assert run_study(study, "e", Finished(tmp_path), again, quiet) == results
    assert again.cells == []
    # Cells whose file is damaged are run again, not more.
    damaged = min(tmp_path.glob("*.json"))
    lost = len(msgspec.json.decode(damaged.read_bytes()))
    damaged.write_bytes(damaged.read_bytes()[:-7])
    repeated = run_study(study, "e", Finished(tmp_path), again, quiet)
    assert [one.digest for one in repeated] == [one.digest for one in results]
    assert len(again.cells) == lost
    again.cells.clear()
    # Another version of the core may give other results.
    run_study(study, "other", Finished(tmp_path), again, quiet)
    assert len(again.cells) == 4


def test_results_of_other_measures_are_not_reused(
    tmp_path: Path, settings: PytestSettings, monkeypatch: pytest.MonkeyPatch
):
    settings.DATA, settings.TABLES = tmp_path, tmp_path / "tables"
    for path in version.sources():
        copy = tmp_path / "code" / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    monkeypatch.setattr(version, "_ROOT", tmp_path / "code")
    version.code_version.cache_clear()
    file = tmp_path / "small.toml"
    file.write_text(SMALL)

    def run_cells() -> int:
        said = StringIO()
        call_command("study", file, "--no-spark", stdout=said)
        return said.getvalue().count(" of 4 clusters")

    assert run_cells() > 0
    assert run_cells() == 0
    for name in ("studies/measures.py", "trials/trial.py", "runtime/headless/booted.py"):
        changed = tmp_path / "code" / "lab" / name
        changed.write_text(changed.read_text() + "# measures otherwise\n")
        version.code_version.cache_clear()
        assert run_cells() > 0, name
    monkeypatch.undo()
    version.code_version.cache_clear()


def test_the_same_seed_gives_the_same_digest_in_spark(tmp_path: Path, session: SparkSession):
    study = compile_study(SMALL, "study.toml")
    here = run_study(study, "e", Finished(tmp_path / "here"), ThisProcess(), quiet)
    there = run_study(study, "e", Finished(tmp_path / "there"), SparkWorkers(session, 2), quiet)
    assert [(one.digest, one.values) for one in here] == [(one.digest, one.values) for one in there]
    assert len({one.digest for one in here}) == 4


def test_tasks_are_as_many_as_the_session_has_cores(session: SparkSession, monkeypatch: pytest.MonkeyPatch):
    cells = compile_study(SMALL, "study.toml").cells[:1]
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert SparkWorkers(session).cores == session.sparkContext.defaultParallelism
    # As of a cluster; more executors join later.
    monkeypatch.setattr(SparkContext, "defaultParallelism", property(lambda _: 48))
    workers = SparkWorkers(session)
    assert workers.cores == 48
    monkeypatch.setattr(SparkContext, "defaultParallelism", property(lambda _: 64))
    assert len(workers.run(cells, "e")) == 1 and workers.cores == 64


def test_a_line_that_fails_stops_its_cell_and_is_named(tmp_path: Path):
    source = SMALL.replace("producer send p orders warm:up", "producer send q orders warm:up")
    study = compile_study(source, "study.toml")
    result = run_cell(study.cells[0], "e")
    assert (result.state, result.line) == ("stopped", 7)
    assert "q" in result.why
    with pytest.raises(AllStopped):
        run_study(study, "e", Finished(tmp_path), ThisProcess(), quiet)


REFUSED = """
import sys

import msgspec

from lab.studies.cell import run_cell
from lab.studies.definition import Cell

result = run_cell(msgspec.json.decode(sys.stdin.buffer.read(), type=Cell), "e")
print(msgspec.json.encode(result).decode())
"""


def test_refused_line_is_reported_by_a_process_without_the_texts_of_the_lab() -> None:
    source = SMALL.replace("producer send p orders warm:up", "broker kill 9")
    cell = compile_study(source, "study.toml").cells[0]
    done = subprocess.run(
        [sys.executable, "-c", REFUSED], input=msgspec.json.encode(cell), stdout=subprocess.PIPE, check=True
    )
    result = msgspec.json.decode(done.stdout, type=Result)
    assert (result.state, result.line) == ("stopped", 7)
    assert render(result.why) == "broker kill 9: Unknown broker '9'."


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3",
            "Error while executing topic command : Topic 'orders' already exists.",
        ),
        (
            "kafka-reassign-partitions.sh --execute --reassignment-json-file none",
            "Error: Unable to read file none Caused by: java.nio.file.NoSuchFileException: none",
        ),
    ],
)
def test_reason_of_a_failed_tool_of_kafka_is_its_first_line_with_the_cause(line: str, why: str) -> None:
    study = compile_study(SMALL.replace("producer send p orders warm:up", line), "study.toml")
    assert run_cell(study.cells[0], "e").why == why


def test_the_interval_holds_the_median_and_narrows_with_more_seeds():
    few, many = spread_of([1, 2, 3, 4, 5]), spread_of([1, 2, 3, 4, 5] * 40)
    assert few.median == many.median == 3
    assert few.low <= many.low <= 3 <= many.high <= few.high
    assert spread_of([1, 2, 3, 4, 5]) == few


def test_command_publishes_tables_and_reports_mistakes(
    tmp_path: Path, settings: PytestSettings, capsys: pytest.CaptureFixture[str]
):
    settings.DATA, settings.TABLES = tmp_path / "data", tmp_path / "tables"
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    call_command("study", file, "--no-spark", "--out", tmp_path / "result.json")
    said = capsys.readouterr().out
    assert "4 of 4 clusters" in said
    assert "produce_requests by linger.ms" in said
    call_command("study", file, "--no-spark", "--seeds", "1")
    store = Store.at(str(settings.TABLES))
    build = store.newest()
    assert build is not None
    cells = rows(store, build, "gold.study_cells")
    points = rows(store, build, "gold.study_points", {"small"})
    # The second study replaced the rows of the first.
    assert cells is not None and cells.num_rows == 2
    assert points is not None and set(points["measure"].to_pylist()) == {"ack_p99_ms", "produce_requests"}
    file.write_text(SMALL.replace("seeds = 2", "seeds = two"))
    with pytest.raises(CommandError, match=r"small\.toml, line 2: "):
        call_command("study", file, "--no-spark")


def test_command_says_why_some_clusters_were_stopped(
    tmp_path: Path, settings: PytestSettings, capsys: pytest.CaptureFixture[str]
):
    settings.DATA, settings.TABLES = tmp_path / "data", tmp_path / "tables"
    file = tmp_path / "small.toml"
    file.write_text(SMALL.replace("[0, 50]", '[0, "soon"]'))
    call_command("study", file, "--no-spark")
    said = capsys.readouterr().out
    assert "2 of 4 clusters were stopped and are left out." in said
    assert "The first of them: small.toml, line 6: " in said and "(with linger.ms soon, era 3.9, seed 1)" in said


def test_call_of_spark_that_fails_because_of_an_interrupt_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """py4j logs it, and closes its connection, which may fail."""
    monkeypatch.setattr(Spark, "start", lambda log, *flags, **options: SimpleNamespace(session=None, stop=lambda: None))
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), spark() as started:
        started()
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            logging.exception("KeyboardInterrupt while sending command.")
            print("Exception occurred during processing of request", file=sys.stderr)
            raise RuntimeError("the connection is closed") from None
    assert (capsys.readouterr().err, caplog.messages) == ("", [])
    assert signal.getsignal(signal.SIGINT) is handler
    logging.error("is logged again")
    assert caplog.messages == ["is logged again"]
    with pytest.raises(RuntimeError, match="another"), spark() as started:
        started()
        raise RuntimeError("another")


def test_interrupted_command_says_so_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    # A group of its own, all of which Ctrl-C in a terminal interrupts.
    with subprocess.Popen(
        [sys.executable, "manage.py", "study", str(file), "--seeds", "5000"],
        cwd=ROOT, env={**os.environ, "HIGHWATER_DATA": str(tmp_path / "data"), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        said = next(line for line in running.stdout if " of 10000 clusters" in line)
        os.killpg(running.pid, signal.SIGINT)
        _, errors = running.communicate(timeout=PATIENCE_S)
    assert errors == "CommandError: Cancelled. What is finished is kept; the same command runs the rest.\n"
    assert running.returncode == 130
    done = int(said.partition(" of ")[0])
    assert 0 < done <= len(Finished(tmp_path / "data" / "studies" / "small" / "cells").read()) < 10_000
