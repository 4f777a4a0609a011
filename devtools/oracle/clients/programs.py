"""The programs of the card "Connect a client" that need more than Python: each runs exactly as shown."""

import os
import re
import subprocess
from pathlib import Path

from devtools.oracle.clients import franz_go
from devtools.oracle.clients.console_tools import MAINS
from devtools.oracle.clients.go_tests import prepare_module
from devtools.oracle.clients.outcome import Outcome, tool
from devtools.oracle.real_kafka import RealKafka, fetch_jars

FOLDER = Path(__file__).parents[3] / "static" / "lab" / "connect"
PLACE = "BOOTSTRAP"
TIMEOUT_S = 240
#: The last line that a program prints: partition, offset and value of a record.
PRINTED = re.compile(r"(Partition:)?0\s+(Offset:)?\d+\s+hello")


def need() -> None:
    """Raises ToolMissing."""
    needs = {"mvn": "Java", "javac": "Java", "go": "franz-go", "node": "kafkajs", "npm": "kafkajs", "kcat": "kcat"}
    for name, language in needs.items():
        tool(name, f"the card's program for {language}")


def play(bootstrap: str, downloads: Path, work: Path) -> Outcome:
    """Runs the programs one after the other. Raises RealKafkaError and CalledProcessError when something cannot be
    fetched.
    """
    jars = fetch_jars(downloads)
    prepare_module(work / "go", "orders", f"{franz_go.PACKAGE}@{franz_go.VERSION}")
    node = work / "node"
    node.mkdir()
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "kafkajs"], cwd=node, check=True)
    scripts = _scripts(RealKafka(jars, work / "kafka"), work / "bin")
    places = {
        "Orders.java": (work, ["java", "-cp", f"{jars}/*", "Orders.java"]),
        "franz_go.go": (work / "go", ["go", "run", "."]),
        "kafkajs.mjs": (node, ["node", "kafkajs.mjs"]),
        "kcat.sh": (work, ["sh", "kcat.sh"]),
        "console_tools.sh": (scripts, ["sh", "console_tools.sh"]),
    }
    outcome = Outcome()
    for name, (folder, command) in places.items():
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


def _scripts(kafka: RealKafka, folder: Path) -> Path:
    """Creates a folder like `bin` of a Kafka distribution."""
    folder.mkdir()
    for name, main_class in MAINS.items():
        command = " ".join(f"'{word}'" for word in kafka.command(main_class))
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        script.chmod(0o755)
    return folder
