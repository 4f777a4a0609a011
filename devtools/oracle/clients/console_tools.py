"""Runs Kafka's console tools on any cluster of brokers 0, 1 and 2 and compares the output with that of a real cluster.

The lines of `console_tools.transcript` were recorded with Apache Kafka 3.9.1; its header describes the format.
"""

import difflib
import json
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devtools.oracle.clients.outcome import Outcome, tool
from devtools.oracle.real_kafka import RealKafka, fetch_jars

TRANSCRIPT = Path(__file__).with_name("console_tools.transcript")
PATIENCE_S = 60.0
TOOL_TIMEOUT_S = 240.0
"""A tool is a Java process, which is slow to start on a loaded machine."""
MAINS = {
    "kafka-acls.sh": "kafka.admin.AclCommand",
    "kafka-broker-api-versions.sh": "kafka.admin.BrokerApiVersionsCommand",
    "kafka-cluster.sh": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer.sh": "kafka.tools.ConsoleProducer",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test.sh": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-delete-records.sh": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-features.sh": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-leader-election.sh": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs.sh": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum.sh": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-producer-perf-test.sh": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-reassign-partitions.sh": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
}
"""The main class of each script of Kafka's `bin` folder, as the scripts name it."""

#: What differs between runs, and its replacement. The order matters.
STABLE = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"\b(127\.0\.0\.1|localhost):\d+", "<address>"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}", "<ms>"),
        (r"\b\d{4}/\d\d/\d\d \d\d:\d\d:\d\d:\d{3}", "<ms>"),
        (r"\b1[5-9]\d{11}\b", "<ms>"),
        (r"console-consumer-\d+", "console-consumer-<n>"),
        (r"<address>\s+\(\d\)", "<address> (<n>)"),
        (r"(TopicId: |Cluster ID: )[\w-]{22}", r"\1<id>"),
        (r'("size":)[1-9]\d*', r"\1<n>"),
        (r'("logDir":")[^"]*', r"\1<dir>"),
        (r"\d+\.\d+(?= (records/sec|MB/sec|ms avg|ms max)|$)", "<n>"),
        (r"\b\d+ ms (50|95|99|99\.9)th", r"<n> ms \1th"),
        (r"(latency: |th = )[\d.]+", r"\1<n>"),
        (r"^<ms>, <ms>, .*", "<ms>, <ms>, <n>"),
        (r'"offset":\d+,"topic":"load","partition":\d', '"offset":<n>,"topic":"load","partition":<n>'),
        (r'("avg_throughput":)[\d.]+', r"\1<n>"),
        (r'("producerId":)\d+', r"\1<n>"),
        (r"\s+", " "),
        (
            r"^\d+ (?=\d+ -?\d+ \d+ <ms>)|(?<=copier )\d+( \d+)?|\d+(?= copier )|(?<=60000 <ms> )\d+",
            "<n>",
        ),
    )
)
#: Lines that a tool repeats while it works; how often depends on the machine.
PROGRESS = re.compile(r'.*"stage":"ProcessLoop"|\d+ records sent, .* ms max latency\.$')
#: Stack traces and log lines that a tool prints in addition to its error message.
NOISE = re.compile(r"\s+at |(TRACE|DEBUG|INFO|WARN|ERROR|FATAL) |\[20|SLF4J|log4j|\s*\([\w.$]+\)$")


@dataclass
class Step:
    """One line of the transcript with its input and expected output."""

    line: str
    stdin: list[str] = field(default_factory=list)
    until: str = ""
    expected: list[str] = field(default_factory=list)

    @property
    def is_command(self) -> bool:
        return self.line.startswith("$")

    def written(self) -> str:
        """As written in the transcript."""
        parts = [self.line, *(f"< {line}" for line in self.stdin), *([f"~ {self.until}"] if self.until else [])]
        return "".join(f"{part}\n" for part in [*parts, *self.expected])


def steps(text: str) -> Iterator[Step]:
    """The steps of a transcript; comments and empty lines between them are steps without a command."""
    step = Step("")
    for line in text.splitlines():
        if line.startswith(("$", "&", "stop ", "file ", "#")) or not line:
            if step.line or step.expected:
                yield step
            step = Step(line)
            if not line:
                yield step
                step = Step("")
        elif line.startswith("< "):
            step.stdin.append(line[2:])
        elif line.startswith("~ "):
            step.until = line[2:]
        else:
            step.expected.append(line)
    if step.line:
        yield step


def stable(printed: str, said: str, code: int) -> list[str]:
    """The output of a tool in a form that is the same in every run; its standard error if it failed."""
    lines = []
    complaints = [line for line in said.splitlines() if not NOISE.match(line)] if code else []
    for line in [*printed.splitlines(), *complaints]:
        if line.startswith("{"):
            line = _ordered(line)
        for pattern, put in STABLE:
            line = pattern.sub(put, line)
        if line.strip() and not PROGRESS.match(line):
            lines.append(line.strip())
    return lines + ([f"[exit {code}]"] if code else [])


def _ordered(text: str) -> str:
    """JSON with sorted lists, because the order of Kafka's hash maps is arbitrary."""

    def ordered(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: ordered(each) for name, each in value.items()}
        return sorted(map(ordered, value), key=json.dumps) if isinstance(value, list) else value

    try:
        return json.dumps(ordered(json.loads(text)), separators=(",", ":"))
    except ValueError:
        return text


class ConsoleTools:
    """Runs the transcript's commands on a cluster. `work` takes the files that they name."""

    def __init__(self, kafka: RealKafka, bootstrap: str, work: Path) -> None:
        self._kafka = kafka
        self._bootstrap = bootstrap
        self._work = work
        self._background: dict[str, subprocess.Popen[str]] = {}

    def play(self, step: Step) -> list[str]:
        """Returns the output of a step. A step with `until` is repeated until that text appears, or for PATIENCE_S."""
        kind, _, rest = step.line.partition(" ")
        if kind == "file":
            name, _, text = rest.partition(" ")
            (self._work / name).write_text(text)
        elif kind == "&":
            tool, name, *arguments = shlex.split(rest)
            self._background[name] = subprocess.Popen(
                self._command(tool, arguments),
                cwd=self._work,
                text=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        elif kind == "stop":
            process = self._background.pop(rest)
            process.terminate()
            process.wait(PATIENCE_S)
        elif step.is_command:
            deadline_s = time.monotonic() + PATIENCE_S
            while True:
                got = self._run(step)
                if step.until in "\n".join(got) or time.monotonic() > deadline_s:
                    return sorted(got) if kind == "$?" else got
        return []

    def close(self) -> None:
        """Stops the processes that an aborted transcript left running."""
        for process in self._background.values():
            process.kill()
            process.wait()

    def _run(self, step: Step) -> list[str]:
        tool, *arguments = shlex.split(step.line.partition(" ")[2])
        try:
            done = subprocess.run(
                self._command(tool, arguments),
                cwd=self._work,
                input="".join(f"{line}\n" for line in step.stdin),
                capture_output=True,
                text=True,
                timeout=TOOL_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            return [f"[no end within {late.timeout:g} s]"]
        return stable(done.stdout, done.stderr, done.returncode)

    def _command(self, tool: str, arguments: list[str]) -> list[str]:
        return self._kafka.command(
            MAINS.get(tool, tool), *(argument.replace("<bootstrap>", self._bootstrap) for argument in arguments)
        )


def need() -> None:
    """Raises ToolMissing."""
    tool("mvn", "Kafka's console tools")


def play(bootstrap: str, downloads: Path, work: Path) -> Outcome:
    """Runs the transcript and compares its output; the cluster must be new. Raises RealKafkaError when Maven fails."""
    tools = ConsoleTools(RealKafka(fetch_jars(downloads), work), bootstrap, work)
    outcome = Outcome()
    try:
        played = list(steps(TRANSCRIPT.read_text()))
        count, number = sum(step.is_command for step in played), 0
        for step in played:
            if step.is_command:
                number += 1
                print(f"{number} of {count}: {step.line.replace('--bootstrap-server <bootstrap> ', '')}", flush=True)
            got = tools.play(step)
            if step.is_command:
                differing = difflib.unified_diff(step.expected, got, "expected", "printed", lineterm="", n=0)
                outcome.judge("" if got == step.expected else "\n".join([step.line, *differing]))
    finally:
        tools.close()
    return outcome
