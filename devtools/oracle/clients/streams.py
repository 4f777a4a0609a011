"""Kafka Streams: a word count with exactly_once_v2 (`WordCount.java`) that is killed twice while it counts."""

import random
import subprocess
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

from devtools.oracle.clients.outcome import Outcome, tool
from devtools.oracle.clients.records import CommittedReader, create_topics, send
from devtools.oracle.real_kafka import VERSION, fetch_artifacts

PROGRAM = Path(__file__).with_name("WordCount.java")
ARTIFACTS = (("org.apache.kafka", "kafka-streams", VERSION), ("org.slf4j", "slf4j-reload4j", "1.7.36"))
PARTITIONS = 4
WORDS = tuple(f"word-{number:02}" for number in range(40))
LINES = 6_000
WORDS_A_LINE = 5
LINES_AT_ONCE = 60
PAUSE_S = 0.2
"""Between the batches of LINES_AT_ONCE lines: the input takes 20 s, so that the count is running when it is killed."""
KILLED_AT = (1 / 3, 2 / 3)
"""The shares of the output after which the application is killed."""
PATIENCE_S = 240.0
QUIET_S = 3.0


def need() -> None:
    """Raises ToolMissing."""
    for name in ("mvn", "javac"):
        tool(name, "Kafka Streams")


@contextmanager
def _application(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            yield process
        finally:
            process.kill()


def play(bootstrap: str, downloads: Path, work: Path) -> Outcome:
    """Runs the application. Raises RealKafkaError when Maven fails."""
    jars = fetch_artifacts(downloads, f"streams-{VERSION}", ARTIFACTS)
    (work / "log4j.properties").write_text("log4j.rootLogger=OFF\n")
    command = ["java", "-Xmx512m", f"-Dlog4j.configuration=file:{work}/log4j.properties", "-cp", f"{jars}/*"]
    command += [str(PROGRAM), bootstrap, str(work / "state")]
    create_topics(bootstrap, PARTITIONS, "lines", "counts")
    choice = random.Random(1)
    lines = [" ".join(choice.choices(WORDS, k=WORDS_A_LINE)) for _ in range(LINES)]
    expected = Counter(word for line in lines for word in line.split())
    reader = CommittedReader(bootstrap, "counts", PARTITIONS)
    log = work / "application.log"
    outcome = Outcome()
    try:
        writer = threading.Thread(target=_write_slowly, args=(bootstrap, lines))
        writer.start()
        for share in (*KILLED_AT, 1.0):
            with _application(command, log):
                count = int(share * expected.total())
                came = reader.read_until(count, PATIENCE_S)
                if share == 1.0:
                    reader.read_late(QUIET_S)
            said = "" if came else f"{len(reader.records)} of {count} counts after {PATIENCE_S} s\n{_tail(log)}"
            outcome.judge(said)
        writer.join()
        outcome.judge(differing(reader.records, expected))
    finally:
        reader.close()
    return outcome


def differing(records: Sequence[tuple[int, str, str]], expected: Counter[str]) -> str:
    """What is wrong with the counts: each word must count from 1 to its number of occurrences in the input, in order
    and without repetition.
    """
    counts: dict[str, list[int]] = defaultdict(list)
    for _, word, count in records:
        counts[word].append(int(count))
    wrong = [word for word, total in expected.items() if counts[word] != list(range(1, total + 1))]
    more = sorted(set(counts) - set(expected))
    if not wrong and not more:
        return ""
    return f"{len(records)} counts, expected {expected.total()}; wrong: {', '.join(sorted(wrong) + more)}"


def _write_slowly(bootstrap: str, lines: Sequence[str]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5})
    for start in range(0, len(lines), LINES_AT_ONCE):
        send(producer, "lines", lines[start : start + LINES_AT_ONCE])
        time.sleep(PAUSE_S)


def _tail(log: Path) -> str:
    return "\n".join(log.read_text().splitlines()[-15:])
