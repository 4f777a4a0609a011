"""The layers hold, and what breaks them is caught: each contract is broken on purpose in a copy."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from broker_core import PUBLIC
from tests.support.paths import ROOT

BIN = Path(sys.executable).parent


@pytest.fixture
def copy(tmp_path) -> Path:
    for package in ("broker_core", "devtools", "lab"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run(folder: Path, *command: str) -> tuple[int, str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def plant(folder: Path, file: str, statement: str) -> None:
    with (folder / file).open("a") as source:
        source.write(f"\n{statement}\n")


def lint_imports(folder: Path) -> tuple[int, str]:
    return run(folder, str(BIN / "lint-imports"), "--no-cache")


def test_import_contracts_hold() -> None:
    code, output = lint_imports(ROOT)
    assert code == 0, output
    assert "0 broken" in output


@pytest.mark.parametrize(
    ("file", "statement", "contract"),
    [
        ("broker_core/events/__init__.py", "import broker_core.zk.store", "layers of the core"),
        ("broker_core/zk/store.py", "from broker_core import log", "layers of the core"),
        (
            "broker_core/broker/apis/fetch.py",
            "import broker_core.broker.process.broker",
            "layers of the broker",
        ),
        (
            "broker_core/broker/replicas/fetches.py",
            "from broker_core.broker import coordinators",
            "layers of the broker",
        ),
        ("broker_core/broker/translation/fetch.py", "import broker_core.broker.apis.fetch", "layers of the broker"),
        ("broker_core/shell/admin/requests.py", "import broker_core.shell.tools", "layers of the shell"),
        ("broker_core/shell/grammar/parser.py", "import broker_core.shell.java.errors", "layers of the shell"),
        (
            "broker_core/shell/tools/kafka/topics.py",
            "import broker_core.shell.tools.lab.wait",
            "Kafka's tools and the lab's commands do not use each other",
        ),
        ("broker_core/wire/codec.py", "import broker_core.wire.schemas", "layers of the wire format"),
        (
            "broker_core/groups/assignors/range.py",
            "import broker_core.groups.coordinator",
            "assignors do not depend on the group coordinator",
        ),
        ("lab/runtime/live_run.py", "import lab.runtime.streaming.watcher", "layers of the runtime"),
        ("broker_core/zk/store.py", "import kazoo.client", "the core stands alone"),
        ("broker_core/log/__init__.py", "import django.conf", "the core stands alone"),
        ("broker_core/log/__init__.py", "from lab.runtime import java", "the core stands alone"),
        ("lab/web/socket.py", "import broker_core.sim.kernel", "the lab uses what the core offers"),
        ("lab/recordings/logs.py", "import broker_core.log.segment", "the lab uses what the core offers"),
        ("lab/web/socket.py", "from broker_core.run import Run", "in the lab, only the runtime runs the engine"),
        ("lab/web/socket.py", "import kazoo.client", "only the runtime's adapters import kazoo"),
        ("lab/runtime/java.py", "import lab.web.socket", "layers of the lab"),
        ("lab/models.py", "import lab.web.pages", "layers of the lab"),
        ("lab/runtime/java.py", "import devtools.tour.tour", "developers' tools stand above the lab"),
    ],
)
def test_planted_import_is_caught(copy, file, statement, contract) -> None:
    plant(copy, file, statement)
    code, output = lint_imports(copy)
    assert code == 1
    assert any(contract in line and "BROKEN" in line for line in output.splitlines()), output


def test_public_modules_of_the_core_are_those_that_the_contract_allows() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (each for each in contracts if each["name"] == "the lab uses what the core offers")
    allowed = (row.split(" -> ") for row in contract["ignore_imports"])
    assert {target.removesuffix(".**") for source, target in allowed if source == "lab.**"} == set(PUBLIC)


@pytest.mark.parametrize(
    "statement",
    [
        "import time", "import random", "import threading", "import asyncio", "import uuid", "import secrets",
        "from time import monotonic", "from os import urandom", "from concurrent.futures import Future",
        "import datetime\nNOW = datetime.datetime.now()",
    ],
)  # fmt: skip
def test_core_uses_no_clock_no_randomness_and_no_threads(copy, statement) -> None:
    plant(copy, "broker_core/zk/store.py", statement)
    code, output = run(copy, str(BIN / "ruff"), "check", "--no-cache", "--select", "TID251", "broker_core", "lab")
    assert code == 1
    assert "TID251" in output
    assert "broker_core/zk/store.py" in output
    assert output.count("TID251") == 1, "nothing else is caught: the core is clean, and the lab may"


def test_test_modules_are_not_imported() -> None:
    """What several of them use is in tests/support."""
    importing = re.compile(r"^\s*(from|import) tests\..*\btest_\w+", re.MULTILINE)
    files = [path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py") if importing.search(path.read_text())]
    assert files == []
