"""A real Apache Kafka for comparison: its jars from Maven, its tools, its brokers on existing folders.

Needs Maven and a Java of version 17 or newer. Highwater itself needs none of this.
"""

import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lab.runtime.machine.java import JavaError, find_java
from lab.runtime.zookeeper.server import end_process, free_port, port_is_taken

VERSION = "3.9.1"
ARTIFACTS = (
    ("org.apache.kafka", "kafka_2.13", VERSION),
    ("org.apache.kafka", "kafka-tools", VERSION),
    ("org.apache.kafka", "kafka-clients", VERSION),
    ("org.slf4j", "slf4j-reload4j", "1.7.36"),
)
START_TIMEOUT_S = 90
STOP_TIMEOUT_S = 60
TOOL_TIMEOUT_S = 120
_LOG4J = """\
log4j.rootLogger={level}, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.target=System.err
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%p %m (%c)%n
"""


class RealKafkaError(Exception):
    """Maven, Java or a broker failed; the message says why, and what to do."""


def fetch_jars(folder: Path) -> Path:
    """The folder of Kafka's jars: `folder` itself if it contains them, else one in it that Maven fills at the first
    call. Raises RealKafkaError.
    """
    if (folder / f"kafka_2.13-{VERSION}.jar").exists():
        return folder.resolve()
    return fetch_artifacts(folder, f"kafka-{VERSION}", ARTIFACTS)


def fetch_artifacts(folder: Path, name: str, artifacts: Sequence[tuple[str, str, str]]) -> Path:
    """The folder `name` in `folder`, with artifacts (group, name, version) and their dependencies; Maven fills it
    unless the first one is there. Raises RealKafkaError.
    """
    folder = folder.resolve()  # Maven resolves relative paths against the folder of the pom.
    jars = folder / name
    _, first, its_version = artifacts[0]
    if (jars / f"{first}-{its_version}.jar").exists():
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise RealKafkaError("There is no mvn on the PATH. Install Maven, which fetches Kafka.")
    folder.mkdir(parents=True, exist_ok=True)
    pom = folder / f"{name}.pom.xml"
    wanted = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>"
        for group, artifact, version in artifacts
    )
    pom.write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>highwater</groupId><artifactId>oracle</artifactId>"
        f"<version>1</version><dependencies>{wanted}</dependencies></project>"
    )
    command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        shutil.rmtree(jars, ignore_errors=True)
        raise RealKafkaError(f"Maven could not fetch {name}:\n{(done.stdout or done.stderr).strip()}")
    return jars


class RealKafka:
    """Kafka's programs on this machine. `work` holds configurations and the brokers' output."""

    def __init__(self, jars: Path, work: Path) -> None:
        try:
            self._java = str(find_java().executable)
        except JavaError as error:
            raise RealKafkaError(str(error)) from error
        self._jars = jars
        self._work = work
        work.mkdir(parents=True, exist_ok=True)
        for name, level in (("broker", "INFO"), ("tool", "WARN")):
            (work / f"{name}.log4j.properties").write_text(_LOG4J.format(level=level))

    def tool(self, main_class: str, *arguments: str, stdin: str = "") -> str:
        """The standard output of a program, whatever its exit code."""
        done = subprocess.run(
            self._command("tool", "256m", main_class, arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TOOL_TIMEOUT_S,
            check=False,
        )
        return done.stdout

    def command(self, main_class: str, *arguments: str) -> list[str]:
        """The command line of a program, with options for a fast start of a short run."""
        java, *rest = self._command("tool", "256m", main_class, arguments)
        return [java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *rest]

    def dump(self, files: Iterable[Path], *options: str) -> str:
        """DumpLogSegments on these files."""
        names = ",".join(str(file) for file in files)
        return self.tool("kafka.tools.DumpLogSegments", *options, "--files", names)

    def start_broker(
        self, broker_id: int, data: Path, zookeeper: str, configs: Mapping[str, str], port: int = 0
    ) -> "RealBroker":
        """Starts a broker on a folder of logs, on a port, 0 = a free one. Raises RealKafkaError."""
        port = port or free_port()
        lines = {
            "broker.id": str(broker_id),
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": str(data),
            "zookeeper.connect": zookeeper,
            **configs,
        }
        config = self._work / f"broker-{broker_id}.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        return RealBroker(
            self._command("broker", "512m", "kafka.Kafka", [str(config)]), port, self._work / f"broker-{broker_id}.log"
        )

    def _command(self, log4j: str, heap: str, main_class: str, arguments: Iterable[str]) -> list[str]:
        settings = (f"-Xmx{heap}", f"-Dlog4j.configuration=file:{self._work}/{log4j}.log4j.properties")
        return [self._java, *settings, "-cp", f"{self._jars}/*", main_class, *arguments]


class RealBroker:
    """A broker's process."""

    def __init__(self, command: list[str], port: int, log: Path) -> None:
        self.port = port
        self.log = log
        with log.open("wb") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def wait_until_it_serves(self) -> None:
        """Raises RealKafkaError if the broker exits first, or takes too long."""
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while not (port_is_taken(self.port) and "started (kafka.server.KafkaServer)" in self.log.read_text()):
            if self._process.poll() is not None:
                raise RealKafkaError(f"The broker ended with code {self._process.returncode}; it said:\n{self._tail()}")
            if time.monotonic() > deadline_s:
                raise RealKafkaError(f"The broker does not serve after {START_TIMEOUT_S} s; it said:\n{self._tail()}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Stops the broker cleanly. Kills it when that takes too long."""
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            end_process(self._process.pid, self._process)

    def _tail(self) -> str:
        return "\n".join(self.log.read_text().splitlines()[-15:])
