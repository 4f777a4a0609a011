"""Kafka's own Java client, driven by `Joins.java`."""

import subprocess
from pathlib import Path

from devtools.oracle.clients.outcome import Outcome, tool
from devtools.oracle.real_kafka import fetch_jars

PROGRAM = Path(__file__).with_name("Joins.java")
TIMEOUT_S = 900


def need() -> None:
    """Raises ToolMissing."""
    for name in ("mvn", "javac"):
        tool(name, "Kafka's Java client")


def play(bootstrap: str, downloads: Path, work: Path) -> Outcome:
    """Runs the program. Raises RealKafkaError when Maven fails."""
    classpath = f"{fetch_jars(downloads)}/*"
    (work / "log4j.properties").write_text("log4j.rootLogger=OFF\n")
    command = ["java", f"-Dlog4j.configuration=file:{work}/log4j.properties", "-cp", classpath, str(PROGRAM), bootstrap]
    outcome = Outcome()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            verdict, _, what = line.rstrip().partition(" ")
            outcome.judge(what if verdict == "failed" else "")
        if process.wait(TIMEOUT_S) and not outcome.failed:
            outcome.judge(f"the program ended with {process.returncode}")
    return outcome
