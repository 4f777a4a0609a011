"""Test suites of Go clients, fetched as modules and run unchanged."""

import json
import os
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from devtools.oracle.clients.outcome import Outcome

_PROGRESS = ("=== ", "--- PASS")
_ENDS = ("pass", "fail", "skip")


@dataclass(frozen=True)
class Suite:
    """The tests of a Go package that speak to a cluster. `wanted`: a pattern for their names; `left_out`: those that
    fail on a real Kafka or do not test a broker, and subtests as TEST/SUBTEST; `skipped`: those that are skipped on a
    real Kafka; `least`: the number of tests that pass on a real Kafka.
    """

    package: str
    version: str
    wanted: str
    least: int
    left_out: Collection[str] = ()
    skipped: Collection[str] = ()
    tags: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    timeout_minutes: int = 30


def prepare_module(folder: Path, name: str, *packages: str) -> None:
    """Creates a Go module that requires packages, each NAME@VERSION, and their test dependencies. Raises
    CalledProcessError when the go command cannot fetch one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for command in (["go", "mod", "init", name], *(["go", "get", "-t", package] for package in packages)):
        subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)


def play(suite: Suite, work: Path, settings: Mapping[str, str]) -> Outcome:
    """Runs a suite with the environment of `suite.settings` and `settings`. A test that is skipped here but passes on a
    real Kafka counts as failed.
    """
    prepare_module(work, "conformance", f"{suite.package}@{suite.version}")
    command = ["go", "test", "-mod=mod", "-json", "-count=1", f"-timeout={suite.timeout_minutes}m"]
    command += [f"-tags={suite.tags}", f"-run={suite.wanted}"]
    if suite.left_out:
        parts = ("/".join(f"^{part}$" for part in name.split("/")) for name in sorted(suite.left_out))
        command.append(f"-skip={'|'.join(parts)}")
    done = subprocess.run(
        [*command, suite.package],
        cwd=work,
        env={**os.environ, **suite.settings, **settings},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return judge(suite, done.stdout.splitlines())


def judge(suite: Suite, lines: Collection[str]) -> Outcome:
    """The outcome of a suite, from the lines printed by `go test -json`."""
    outcome = Outcome()
    ends: dict[str, str] = {}
    printed: dict[str, list[str]] = {}
    for event in map(json.loads, (line for line in lines if line.startswith("{"))):
        name = event.get("Test", "")
        test = name.partition("/")[0]
        if event["Action"] == "output":
            if event["Output"].lstrip().startswith(_PROGRESS):
                continue
            printed.setdefault(test, []).append(event["Output"])
        elif test and test == name:
            ends[test] = event["Action"]
    for test, end in sorted(ends.items()):
        if end == "skip" and test in suite.skipped:
            outcome.skipped += 1
        elif end != "pass":
            said = "".join(printed.get(test, []))
            outcome.judge(f"{test}: {end if end in _ENDS else 'no end'}\n{said[-2_000:]}")
        else:
            outcome.judge(f"{test}: pass, a real Kafka makes it skip" if test in suite.skipped else "")
    if outcome.passed + outcome.failed < suite.least:
        said = "".join(printed.get("", []))
        outcome.judge(f"{outcome.passed + outcome.failed} tests ran, expected {suite.least}\n{said[-2_000:]}")
    return outcome
