"""The benchmark's verdicts. What the benches themselves measure is not for a test to judge."""

import asyncio
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHES, main, run_bench
from benchmarks.bars import BARS, Bar, judge, show
from devtools.management.commands.rehearse_class import statement_lines
from devtools.processes import ProcessUse, process_tree
from devtools.rehearsal.figures import Figures
from devtools.rehearsal.patience import patience
from devtools.rehearsal.rehearsal import Plan, Rehearsal
from devtools.rehearsal.visitor import Refused


@pytest.mark.parametrize(
    ("sense", "limit", "measured", "verdict"),
    [
        ("at least", 100, 100, "ok"),
        ("at least", 100, 99, "short"),
        ("at most", 20, 20, "ok"),
        ("at most", 20, 20.5, "short"),
        ("at most", None, 7, "reported"),
    ],
)
def test_figure_is_compared_with_its_bar(sense, limit, measured, verdict) -> None:
    bar = Bar("server", "a figure", ("part", "figure"), "ms", sense, limit)
    row = judge(bar, {"part": {"figure": measured}})
    assert (row.verdict, row.measured) == (verdict, measured)


@pytest.mark.parametrize("found", [{}, {"part": {}}, {"part": []}, {"part": {"0": "fast"}}, {"part": [math.nan]}])
def test_missing_figure_is_not_ok(found) -> None:
    assert judge(Bar("server", "a figure", ("part", "0"), "ms", "at most", 20), found).verdict == "missing"


def test_both_sides_of_a_ratio_are_shown() -> None:
    bar = Bar("engine", "late by early", ("ratio",), "", "at least", 0.9, (("late",), ("early",)))
    row = judge(bar, {"ratio": 0.95, "late": 95_000.0, "early": 100_000.0})
    assert row.sides == "95,000 / 100,000"
    assert row.bar == "≥ 0.9"


def test_figures_have_significant_digits() -> None:
    assert [show(figure) for figure in (0, 0.954, 3, 12.5, 123456.7)] == ["0", "0.95", "3", "12.5", "123,457"]


def test_rehearsal_reports_figures_that_are_0_and_says_what_it_has_not_measured() -> None:
    figures = Figures(wall_s=60.0, cpu_s=0.0, paused=0.0, followed_per_s=0.0)
    lines = list(statement_lines(figures))
    said = [line.rpartition(": ")[2] for line in lines if "not measured" not in line]
    assert said == ["0 frames/s (≥ 1,000) short", "0 % (≤ 70) ok", "0 ms (≤ 1,000) ok"]
    assert "statement 20: answered acts lost or doubled by that: not measured (≤ 0)" in lines
    assert "frames/s" in str(figures.lines()) and "frames/s" not in str(Figures().lines())


def test_no_figure_has_two_bars() -> None:
    judged = [(bar.bench, bar.name) for bar in BARS]
    assert len(judged) == len(set(judged))


def test_bench_that_does_not_exist_is_refused(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "--only", "warp"])
    with pytest.raises(SystemExit) as refused:
        main()
    assert refused.value.code == 2
    said = capsys.readouterr().err
    assert "'warp'" in said and all(name in said for name in BENCHES)


@pytest.mark.parametrize(
    ("script", "said"),
    [("kill -KILL $$", "SIGKILL"), ("exit 3", "ended with 3"), ("echo half", "printed no figures, but 'half")],
)
def test_failed_bench_reports_the_cause(script: str, said: str, tmp_path: Path, monkeypatch, capfd) -> None:
    program = tmp_path / "bench"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    assert run_bench("class") is None
    assert said in capfd.readouterr().err


STARTS_A_SERVER = """
import signal, subprocess, sys

from benchmarks.ending import run


def main():
    server = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    print(server.pid, flush=True)
    server.wait()


run(main)
"""


def test_terminated_bench_ends_what_it_has_started() -> None:
    command = [sys.executable, "-c", STARTS_A_SERVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as bench:
        assert bench.stdout is not None
        server = int(bench.stdout.readline())
        bench.terminate()
        _, said = bench.communicate()
    assert (bench.returncode, said) == (1, "the bench was terminated (SIGTERM)\n")
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


@pytest.mark.parametrize("path", sorted(Path("benchmarks").glob("*_bench.py")), ids=lambda path: path.name)
def test_every_bench_ends_what_it_has_started(path: Path) -> None:
    assert path.read_text().endswith('if __name__ == "__main__":\n    run(main)\n')


def test_process_tree_has_what_was_started_below_it() -> None:
    starts_another = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(0, flush=True); input()'])"
    command = [sys.executable, "-c", starts_another]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdin is not None and started.stdout is not None
        started.stdout.readline()
        first, second = process_tree(started.pid)
        assert (first.pid, first.parent, second.parent) == (started.pid, os.getpid(), started.pid)
        assert {first.pid, second.pid} <= {each.pid for each in process_tree(os.getpid())}
        assert second.name.startswith("python") and second.state != "Z"
        started.stdin.close()
    assert process_tree(started.pid) == []


def test_process_that_has_ended_has_no_memory() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        use = ProcessUse(started.pid)
        assert use.rss_mb() > 0
        started.kill()
        os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOWAIT)
        assert math.isnan(use.rss_mb()), "its parent has not waited for it"
        started.wait()
        assert math.isnan(use.rss_mb())


def refused(rehearsal: Rehearsal) -> str:
    with pytest.raises(Refused) as refusal:
        asyncio.run(rehearsal.run())
    return str(refusal.value)


class Waiting(Rehearsal):
    """A rehearsal that waits for something that does not come, while one of its participants has failed."""

    failure: Exception | None = None

    async def _teach_class(self) -> None:
        async def fail() -> None:
            if self.failure is not None:
                raise self.failure

        self._stay(fail())
        await asyncio.Event().wait()


def test_rehearsal_ends_with_the_failure_of_a_participant() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as server:
        rehearsal = Waiting("http://127.0.0.1/sign-in/x", server.pid, Plan(), print)
        rehearsal.failure = Refused("p7 was refused.")
        assert refused(rehearsal) == "p7 was refused."
        server.kill()


def test_rehearsal_ends_with_its_server() -> None:
    with subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE) as server:
        server.wait()
        rehearsal = Waiting("http://127.0.0.1/sign-in/x", server.pid, Plan(), print)
        assert refused(rehearsal) == f"The server, process {server.pid}, has ended."


def test_rehearsal_reports_what_it_waited_for() -> None:
    async def wait() -> None:
        async with patience("labs that stand still", 0.01):
            await asyncio.Event().wait()

    with pytest.raises(Refused, match="timed out waiting for labs that stand still"):
        asyncio.run(wait())
