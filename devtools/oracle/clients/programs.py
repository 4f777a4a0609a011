"""The programs of the card "Connect a client" that need more than Python: each runs exactly as shown."""

import os
import re
import subprocess
from pathlib import Path

from devtools.oracle.clients import franz_go
from devtools.oracle.clients.console_tools import MAINS
from devtools.oracle.clients.go_tests import prepare_module
from devtools.oracle.clients.outcome import Outcome, ToolMissing, tool
from devtools.oracle.real_kafka import RealKafka, fetch_jars

FOLDER = Path(__file__).parents[3] / "static" / "lab" / "connect"
PLACE = "BOOTSTRAP"
TIMEOUT_S = 240
#: The last line that a program prints: partition, offset and value of a record.
PRINTED = re.compile(r"(Partition:)?0\s+(Offset:)?\d+\s+hello")


NEEDS = {
    "Orders.java": ("mvn", "javac"),
    "franz_go.go": ("go",),
    "kafkajs.mjs": ("node", "npm"),
    "kcat.sh": ("kcat",),
    "console_tools.sh": ("mvn", "java"),
}
"""The executables that each program needs."""


def need() -> None:
    """Raises ToolMissing if no program can be run."""
    reasons = [_lacking(name) for name in NEEDS]
    if all(reasons):
        raise ToolMissing(" ".join(reasons))


def _lacking(name: str) -> str:
    """Why a program cannot be run here; "" if it can."""
    try:
        for executable in NEEDS[name]:
            tool(executable, f"the card's program {name}")
    except ToolMissing as missing:
        return str(missing)
    return ""


def play(bootstrap: str, downloads: Path, work: Path) -> Outcome:
    """Runs the programs one after the other. Raises RealKafkaError and CalledProcessError when something cannot be
    fetched.
    """
    outcome = Outcome()
    for name in NEEDS:
        reason = _lacking(name)
        if reason:
            outcome.missing.append(reason)
            continue
        folder, command = _prepare(name, downloads, work)
        (folder / name).write_text((FOLDER / name).read_text().replace(PLACE, bootstrap))
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=os.environ
            )
            printed, said = done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            printed, said = "", f"It has not ended after {late.timeout} s."
        is_right = PRINTED.fullmatch(printed.strip().rpartition("\n")[2])
        outcome.judge("" if is_right else f"{name} printed {printed!r}\n{said[-2_000:]}")
    return outcome


def _prepare(name: str, downloads: Path, work: Path) -> tuple[Path, list[str]]:
    """Fetches what a program needs: the folder in which it runs, and its command."""
    match name:
        case "Orders.java":
            return work, ["java", "-cp", f"{fetch_jars(downloads)}/*", name]
        case "franz_go.go":
            prepare_module(work / "go", "orders", f"{franz_go.PACKAGE}@{franz_go.VERSION}")
            return work / "go", ["go", "run", "."]
        case "kafkajs.mjs":
            node = work / "node"
            node.mkdir()
            subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "kafkajs"], cwd=node, check=True)
            return node, ["node", name]
        case "console_tools.sh":
            return _scripts(RealKafka(fetch_jars(downloads), work / "kafka"), work / "bin"), ["sh", name]
        case _:
            return work, ["sh", name]


def _scripts(kafka: RealKafka, folder: Path) -> Path:
    """Creates a folder like `bin` of a Kafka distribution."""
    folder.mkdir()
    for name, main_class in MAINS.items():
        command = " ".join(f"'{word}'" for word in kafka.command(main_class))
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        script.chmod(0o755)
    return folder
