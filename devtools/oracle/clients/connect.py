"""Kafka Connect in distributed mode: FileStream source and sink, a killed worker, a reset of connectors' offsets."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from devtools.oracle.clients.outcome import Outcome, tool
from devtools.oracle.clients.records import CommittedReader, create_topics, wait_until
from devtools.oracle.real_kafka import VERSION, fetch_artifacts
from lab.runtime.zookeeper.server import free_port

ARTIFACTS = (
    ("org.apache.kafka", "connect-file", VERSION),
    ("org.apache.kafka", "connect-runtime", VERSION),
    ("org.slf4j", "slf4j-reload4j", "1.7.36"),
)
MAIN_CLASS = "org.apache.kafka.connect.cli.ConnectDistributed"
PARTITIONS = 3
LINES = 2_000
TOPIC = "file-lines"
WORKER = """\
bootstrap.servers={bootstrap}
group.id=connect-cluster
listeners=http://127.0.0.1:{port}
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
config.storage.topic=connect-configs
offset.storage.topic=connect-offsets
status.storage.topic=connect-status
config.storage.replication.factor=3
offset.storage.replication.factor=3
status.storage.replication.factor=3
offset.storage.partitions=5
offset.flush.interval.ms=1000
session.timeout.ms=10000
heartbeat.interval.ms=3000
exactly.once.source.support=enabled
"""
QUIET_S = 3.0
PATIENCE_S = 120.0


class ConnectError(Exception):
    """The worker did not complete a request."""


def need() -> None:
    """Raises ToolMissing."""
    tool("mvn", "Kafka Connect")


class Worker:
    """The REST API of a worker's process."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Returns the JSON of the response, or None for an empty one. Raises ConnectError."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urlopen(request, timeout=PATIENCE_S) as answer:
                text = answer.read()
        except HTTPError as error:
            raise ConnectError(f"{method} {path}: {error.code} {error.read().decode()}") from error
        except (URLError, OSError) as error:
            raise ConnectError(f"{method} {path}: {error}") from error
        return json.loads(text) if text else None

    def does(self, method: str, path: str, body: Any = None) -> bool:
        """Whether the request succeeds; during a rebalance it does not."""
        try:
            self.ask(method, path, body)
        except ConnectError:
            return False
        return True

    def does_in_time(self, method: str, path: str, body: Any = None) -> None:
        """Repeats the request until it succeeds. Raises ConnectError."""
        if not wait_until(lambda: self.does(method, path, body), PATIENCE_S):
            self.ask(method, path, body)

    def states(self, connector: str) -> list[str]:
        """States of the connector and its tasks; empty while the connector is unknown."""
        try:
            status = self.ask("GET", f"/connectors/{connector}/status")
        except ConnectError:
            return []
        return [status["connector"]["state"], *(task["state"] for task in status["tasks"])]


@contextmanager
def worker(command: Sequence[str], port: int, log: Path) -> Iterator[Worker]:
    """Runs a worker process and kills it at the end. Raises ConnectError."""
    with log.open("ab") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            asked = Worker(port)
            if not wait_until(lambda: asked.does("GET", "/connectors"), PATIENCE_S):
                raise ConnectError("the worker has not opened its REST port")
            yield asked
        finally:
            process.kill()


class Trial:
    """The files, the topic, and the expected results."""

    def __init__(self, bootstrap: str, work: Path) -> None:
        self.outcome = Outcome()
        self._source = work / "source.txt"
        self._sink = work / "sink.txt"
        self._reader = CommittedReader(bootstrap, TOPIC, PARTITIONS)
        self._admin = AdminClient({"bootstrap.servers": bootstrap})
        self._lines = 0

    def close(self) -> None:
        self._reader.close()

    def configs(self) -> dict[str, dict[str, Any]]:
        """Configurations of the two connectors."""
        kind = "org.apache.kafka.connect.file.FileStream"
        return {
            "source": {"connector.class": f"{kind}SourceConnector", "file": str(self._source), "topic": TOPIC},
            "sink": {"connector.class": f"{kind}SinkConnector", "file": str(self._sink), "topics": TOPIC},
        }

    def append(self) -> None:
        """Appends lines to the source's file."""
        with self._source.open("a") as file:
            file.writelines(f"line {self._lines + number}\n" for number in range(LINES))
        self._lines += LINES

    def wait_for_sink(self, lines: int) -> bool:
        """Whether the sink's file reaches this number of lines in time."""
        return wait_until(lambda: len(self._sunk()) >= lines, PATIENCE_S)

    def check(self, what: str, copies: Sequence[int], *, sunk: Sequence[int]) -> None:
        """Compares how often each of the LINES lines is in the topic and in the sink's file."""
        came = self._reader.read_until(LINES * sum(copies), PATIENCE_S) and self.wait_for_sink(LINES * sum(sunk))
        self._reader.read_late(QUIET_S if came else 0.0)
        values = Counter(value for _, _, value in self._reader.records)
        self.outcome.judge(differing(f"{what}: the topic", values, copies))
        self.outcome.judge(differing(f"{what}: the sink", Counter(self._sunk()), sunk))

    def wait_for_commit(self) -> bool:
        """Whether the sink's group commits everything in the topic in time."""
        return wait_until(self._has_committed, PATIENCE_S)

    def _has_committed(self) -> bool:
        asked = self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("connect-sink")])
        offsets = asked["connect-sink"].result(PATIENCE_S).topic_partitions or []
        committed = {each.partition: each.offset for each in offsets}
        return all(committed.get(partition, 0) >= end for partition, end in self._reader.ends.items())

    def _sunk(self) -> list[str]:
        return self._sink.read_text().splitlines() if self._sink.exists() else []


def differing(where: str, found: Counter[str], copies: Sequence[int]) -> str:
    expected = Counter(
        {f"line {block * LINES + number}": count for block, count in enumerate(copies) for number in range(LINES)}
    )
    if found == expected:
        return ""
    missing, more = expected - found, found - expected
    return (
        f"{where} has {found.total()} lines, expected {expected.total()}: {missing.total()} are missing"
        f" ({', '.join(sorted(missing)[:3])}), {more.total()} too many ({', '.join(sorted(more)[:3])})"
    )


def play(bootstrap: str, downloads: Path, work: Path) -> Outcome:
    """Runs the worker and the connectors. Raises RealKafkaError when Maven fails."""
    jars = fetch_artifacts(downloads, f"connect-{VERSION}", ARTIFACTS)
    port = free_port()
    (work / "log4j.properties").write_text(
        "log4j.rootLogger=WARN, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"
        "log4j.appender.out.layout=org.apache.log4j.PatternLayout\n"
        "log4j.appender.out.layout.ConversionPattern=%d %p %m (%c)%n\n"
    )
    (work / "worker.properties").write_text(WORKER.format(bootstrap=bootstrap, port=port))
    command = ["java", "-Xmx512m", f"-Dlog4j.configuration=file:{work}/log4j.properties", "-cp", f"{jars}/*"]
    command += [MAIN_CLASS, str(work / "worker.properties")]
    create_topics(bootstrap, PARTITIONS, TOPIC)
    log = work / "worker.log"
    trial = Trial(bootstrap, work)
    try:
        _kill_and_restart(trial, command, port, log)
    except ConnectError as error:
        trial.outcome.judge("\n".join([str(error), *log.read_text().splitlines()[-15:]]))
    finally:
        trial.close()
    return trial.outcome


def _kill_and_restart(trial: Trial, command: Sequence[str], port: int, log: Path) -> None:
    """Copies lines from file to file, kills and restarts the worker, and resets offsets."""
    trial.append()
    with worker(command, port, log) as connect:
        for name, config in trial.configs().items():
            connect.does_in_time("PUT", f"/connectors/{name}/config", config)
        trial.check("first lines", [1], sunk=[1])
        if not trial.wait_for_commit():
            raise ConnectError("the sink has not committed its offsets")
    trial.append()
    with worker(command, port, log) as connect:
        trial.check("lines after a kill", [1, 1], sunk=[1, 1])
        _reset_offsets(connect, "source")
        trial.check("the source's offsets reset", [2, 2], sunk=[2, 2])
        if not trial.wait_for_commit():
            raise ConnectError("the sink has not committed its offsets")
        _reset_offsets(connect, "sink")
        trial.check("the sink's offsets reset", [2, 2], sunk=[4, 4])


def _reset_offsets(connect: Worker, connector: str) -> None:
    """Stops a connector, deletes its offsets, and resumes it. Raises ConnectError."""
    connect.ask("PUT", f"/connectors/{connector}/stop")
    if not wait_until(lambda: connect.states(connector) == ["STOPPED"]):
        raise ConnectError(f"{connector} does not stop: {connect.states(connector)}")
    connect.does_in_time("DELETE", f"/connectors/{connector}/offsets")
    if connect.ask("GET", f"/connectors/{connector}/offsets") != {"offsets": []}:
        raise ConnectError(f"{connector} has offsets after their reset")
    connect.ask("PUT", f"/connectors/{connector}/resume")
    if not wait_until(lambda: connect.states(connector)[:2] == ["RUNNING", "RUNNING"], PATIENCE_S):
        raise ConnectError(f"{connector} does not resume: {connect.states(connector)}")
