"""Kafka's own Java client, driven by the program in `joins`."""

import subprocess
from pathlib import Path

from devtools.oracle.clients.outcome import Outcome, tool
from devtools.oracle.real_kafka import fetch_jars

SOURCES = Path(__file__).with_name("joins")
TIMEOUT_S = 900


def need() -> None:
    """Raises ToolMissing."""
    for name in ("mvn", "javac"):
        tool(name, "Kafka's Java client")


def play(bootstrap: str, downloads: Path, work: Path) -> Outcome:
    """Compiles and runs the program. Raises RealKafkaError when Maven fails."""
    jars = f"{fetch_jars(downloads)}/*"
    classes = work / "classes"
    sources = [str(path) for path in sorted(SOURCES.glob("*.java"))]
    subprocess.run(["javac", "-cp", jars, "-d", str(classes), *sources], check=True)
    (work / "log4j.properties").write_text("log4j.rootLogger=OFF\n")
    logging = f"-Dlog4j.configuration=file:{work}/log4j.properties"
    command = ["java", logging, "-cp", f"{classes}:{jars}", "joins.Joins", bootstrap]
    outcome = Outcome()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            verdict, _, what = line.rstrip().partition(" ")
            outcome.judge(what if verdict == "failed" else "")
        if process.wait(TIMEOUT_S) and not outcome.failed:
            outcome.judge(f"the program ended with {process.returncode}")
    return outcome
