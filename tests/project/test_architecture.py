"""The layers hold, and what breaks them is caught: all contracts are broken on purpose in a copy."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

from broker_core import PUBLIC
from tests.support.paths import ROOT

BIN = Path(sys.executable).parent


def run(folder: Path, *command: str) -> tuple[int, str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def copy_with(folder: Path, planted: Iterable[tuple[str, str]]) -> Path:
    """A copy of the packages with statements at the ends of files."""
    for package in ("broker_core", "devtools", "lab"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for file, statement in planted:
        with (folder / file).open("a") as source:
            source.write(f"\n{statement}\n")
    return folder


def lint_imports(folder: Path) -> tuple[int, str]:
    return run(folder, str(BIN / "lint-imports"), "--no-cache")


def test_import_contracts_hold() -> None:
    code, output = lint_imports(ROOT)
    assert code == 0, output
    assert "0 broken" in output


#: (file, import that is planted in it, what it imports, as the report names it; contract that it breaks)
PLANTED = [
    ("broker_core/events/__init__.py", "import broker_core.zk.store", "broker_core.zk.store", "layers of the core"),
    ("broker_core/zk/store.py", "from broker_core import log", "broker_core.log", "layers of the core"),
    (
        "broker_core/broker/apis/fetch.py",
        "import broker_core.broker.process.broker",
        "broker_core.broker.process.broker",
        "layers of the broker",
    ),
    (
        "broker_core/broker/replicas/fetches.py",
        "from broker_core.broker import coordinators",
        "broker_core.broker.coordinators",
        "layers of the broker",
    ),
    (
        "broker_core/broker/translation/fetch.py",
        "import broker_core.broker.apis.fetch",
        "broker_core.broker.apis.fetch",
        "layers of the broker",
    ),
    (
        "broker_core/shell/admin/requests.py",
        "import broker_core.shell.tools",
        "broker_core.shell.tools",
        "layers of the shell",
    ),
    (
        "broker_core/shell/grammar/parser.py",
        "import broker_core.shell.java.errors",
        "broker_core.shell.java.errors",
        "layers of the shell",
    ),
    (
        "broker_core/shell/tools/kafka/topics.py",
        "import broker_core.shell.tools.lab.wait",
        "broker_core.shell.tools.lab.wait",
        "Kafka's tools and the lab's commands do not use each other",
    ),
    (
        "broker_core/wire/codec.py",
        "import broker_core.wire.schemas",
        "broker_core.wire.schemas",
        "layers of the wire format",
    ),
    (
        "broker_core/groups/assignors/range.py",
        "import broker_core.groups.coordinator",
        "broker_core.groups.coordinator",
        "assignors do not depend on the group coordinator",
    ),
    (
        "lab/runtime/live_run.py",
        "import lab.runtime.streaming.watcher",
        "lab.runtime.streaming.watcher",
        "layers of the runtime",
    ),
    ("broker_core/zk/store.py", "import kazoo.client", "kazoo", "the core stands alone"),
    ("broker_core/log/__init__.py", "import django.conf", "django", "the core stands alone"),
    (
        "broker_core/log/__init__.py",
        "from lab.runtime.machine import java",
        "lab.runtime.machine.java",
        "the core stands alone",
    ),
    (
        "lab/web/socket.py",
        "import broker_core.sim.kernel",
        "broker_core.sim.kernel",
        "the lab uses what the core offers",
    ),
    (
        "lab/recordings/logs.py",
        "import broker_core.log.segment",
        "broker_core.log.segment",
        "the lab uses what the core offers",
    ),
    (
        "lab/web/socket.py",
        "from broker_core.run import Run",
        "broker_core.run",
        "in the lab, only the runtime runs the engine",
    ),
    ("lab/web/socket.py", "import kazoo.client", "kazoo", "only the runtime's adapters import kazoo"),
    (
        "lab/analytics/store/builds.py",
        "import pyspark.sql",
        "pyspark",
        "stored tables are read without Spark and without Django",
    ),
    (
        "lab/runtime/sharing/load.py",
        "import lab.runtime.machine.java",
        "lab.runtime.machine.java",
        "layers of the runtime",
    ),
    (
        "lab/classroom/folds/folding.py",
        "import lab.classroom.decide.deciding",
        "lab.classroom.decide.deciding",
        "layers of the live class",
    ),
    ("lab/classroom/writer.py", "import lab.classroom.room", "lab.classroom.room", "layers of the live class"),
    ("lab/classroom/views.py", "import time", "time", "the state and the decisions of a class are pure"),
    ("lab/classroom/stuck.py", "import lab.models", "lab.models", "the state and the decisions of a class are pure"),
    (
        "lab/classroom/decide/poll.py",
        "import django.conf",
        "django",
        "the state and the decisions of a class are pure",
    ),
    ("lab/analytics/jvm.py", "import lab.analytics.build.run", "lab.analytics.build.run", "layers of analytics"),
    (
        "lab/analytics/build/acts.py",
        "import django.conf",
        "django",
        "rows and engines depend on neither Spark nor Django",
    ),
    (
        "lab/analytics/build/gone.py",
        "import pyspark",
        "pyspark",
        "rows and engines depend on neither Spark nor Django",
    ),
    (
        "lab/runtime/headless/booted.py",
        "import kazoo.client",
        "kazoo",
        "rows and engines depend on neither Spark nor Django",
    ),
    ("lab/analytics/orders.py", "import pyspark.sql", "pyspark", "work that needs no Spark does not import it"),
    ("lab/runtime/machine/java.py", "import lab.web.socket", "lab.web.socket", "layers of the lab"),
    ("lab/models/runs.py", "import lab.web.pages", "lab.web.pages", "layers of the lab"),
    (
        "lab/runtime/machine/java.py",
        "import devtools.tour.tour",
        "devtools.tour.tour",
        "developers' tools stand above the lab",
    ),
]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is reported of each broken contract when all of `PLANTED` are in one copy."""
    folder = copy_with(tmp_path_factory.mktemp("copy"), ((file, statement) for file, statement, *_ in PLANTED))
    code, output = lint_imports(folder)
    assert code == 1, output
    _, *parts = re.split(r"\n\n(.+)\n-+\n\n", output.partition("Broken contracts\n")[2])
    return dict(zip(parts[::2], (" ".join(part.split()) for part in parts[1::2]), strict=True))


@pytest.mark.parametrize(("file", "statement", "imported", "contract"), PLANTED)
def test_planted_import_is_caught(broken, file, statement, imported, contract) -> None:
    importer = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    assert f"{importer} -> {imported} (l." in broken[contract]


def test_public_modules_of_the_core_are_those_that_the_contract_allows() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (each for each in contracts if each["name"] == "the lab uses what the core offers")
    listed = [f"lab.** -> {module}" for module in PUBLIC]
    assert sorted(contract["ignore_imports"]) == sorted([*listed, "lab.recordings.checkpoints -> broker_core"])


BANNED = (
    "import time", "import random", "import threading", "import asyncio", "import uuid", "import secrets",
    "from time import monotonic", "from os import urandom", "from concurrent.futures import Future",
    "import datetime; datetime.datetime.now()",
)  # fmt: skip


def test_core_uses_no_clock_no_randomness_and_no_threads(tmp_path) -> None:
    file = "broker_core/zk/store.py"
    folder = copy_with(tmp_path, ((file, statement) for statement in BANNED))
    lint = ("check", "--no-cache", "--select", "TID251", "--output-format", "concise", "broker_core", "lab")
    code, output = run(folder, str(BIN / "ruff"), *lint)
    assert code == 1
    lines = (folder / file).read_text().splitlines()
    found = [row.split(":") for row in output.splitlines() if "TID251" in row]
    assert {place[0] for place in found} == {file}, "nothing else is caught: the core is clean, and the lab may"
    assert [lines[int(place[1]) - 1] for place in found] == list(BANNED)


def test_test_modules_are_not_imported() -> None:
    """What several of them use is in tests/support."""
    importing = re.compile(r"^\s*(from|import) tests\..*\btest_\w+", re.MULTILINE)
    files = [path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py") if importing.search(path.read_text())]
    assert files == []
