"""Spark's Kafka source and sink, batch and streaming (`spark_program.py`); one stream is killed and resumed."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from devtools.oracle.clients.outcome import Outcome, tool
from devtools.oracle.clients.records import create_topics
from devtools.oracle.clients.spark_program import FROM, ROWS, ROWS_A_BATCH, TO
from devtools.oracle.real_kafka import fetch_artifacts

VERSION = "4.2.0"
ARTIFACTS = (("org.apache.spark", "spark-sql-kafka-0-10_2.13", VERSION),)
MODULE = "devtools.oracle.clients.spark_program"
ROOT = Path(__file__).parents[3]
PARTITIONS = 4
TIMEOUT_S = 600
ALL = [ROWS, ROWS, ROWS * (ROWS - 1) // 2, ROWS]
"""FIGURES of the program when each number from 0 to ROWS is there once."""
NONE = [0, 0, 0, 0]
KILLED = "exit code -9"


def need() -> None:
    """Raises ToolMissing."""
    tool("mvn", "Spark's Kafka source and sink")


def play(bootstrap: str, downloads: Path, work: Path) -> Outcome:
    """Runs the steps. Raises RealKafkaError when Maven fails."""
    jars = fetch_artifacts(downloads, f"spark-sql-kafka-{VERSION}", ARTIFACTS)
    create_topics(bootstrap, PARTITIONS, FROM, TO)
    command = [sys.executable, "-m", MODULE, str(jars), bootstrap, str(work)]
    steps: dict[str, Callable[[Any], bool]] = {
        "write": lambda found: found == ROWS,
        "count": lambda found: found == {FROM: ALL, TO: NONE},
        "begin": lambda found: found == KILLED,
        "copy": lambda found: found is None,
        "count again": lambda found: found[FROM] == ALL and _is_copied(found[TO]),
        "total": lambda found: found == ALL,
    }
    outcome = Outcome()
    for step, is_right in steps.items():
        found, said = _run([*command, step.partition(" ")[0]])
        outcome.judge("" if is_right(found) else f"{step}: {found}\n{said[-2_000:]}")
        if outcome.failed:
            break
    return outcome


def _run(command: list[str]) -> tuple[Any, str]:
    """Returns what the program printed, or its exit code, and its standard error."""
    try:
        # Its own session: one step kills its process group.
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, start_new_session=True
        )
    except subprocess.TimeoutExpired:
        return f"no end after {TIMEOUT_S} s", ""
    return (json.loads(done.stdout) if done.returncode == 0 else f"exit code {done.returncode}"), done.stderr


def _is_copied(figures: list[int]) -> bool:
    """Whether all rows were copied, and at most one batch of them twice: the sink writes at least once, and repeats the
    batch that was being written when the stream was killed.
    """
    rows, values, *_ = figures
    return values == ROWS and ROWS <= rows <= ROWS + ROWS_A_BATCH
