"""A cluster of Spark on loopback: a master, workers of one core, and a Connect server, from the jars inside pyspark."""

import importlib.util
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from lab.analytics.jvm import OPENED
from lab.runtime.machine.java import find_java

START_S = 120.0
#: As a cluster's owner would have them, in spark-defaults.conf.
OWNERS = {
    "spark.executor.memory": "640m", "spark.driver.memory": "640m", "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1", "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0", "spark.sql.shuffle.partitions": "7",
}  # fmt: skip
_NEVER_LENT = ("PYTHONPATH", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_MASTER", "SPARK_REMOTE")


class Cluster:
    """Everything is started by `start` and ended by `stop`, by process group."""

    def __init__(self, folder: Path, python: str) -> None:
        """`python` runs the tasks; `folder` is for logs and working directories."""
        spec = importlib.util.find_spec("pyspark")
        assert spec is not None and spec.origin is not None
        self._home = Path(spec.origin).parent
        self._folder = folder
        conf = folder / "conf"
        conf.mkdir(parents=True)
        (conf / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in OWNERS.items()))
        lent = {name: value for name, value in os.environ.items() if name not in _NEVER_LENT}
        self.environment = lent | {
            "SPARK_HOME": str(self._home),
            # Workers look for it in a source tree unless it is named.
            "SPARK_SCALA_VERSION": "2.13",
            "SPARK_CONF_DIR": str(conf),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": python,
        }
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.master = ""
        self.remote = ""

    def start(self) -> "Cluster":
        """A master and two workers."""
        port = "--host 127.0.0.1 --port 0 --webui-port 0"
        self._java("master", f"org.apache.spark.deploy.master.Master {port}".split(), "256m")
        self.master = self._said("master", r"Starting Spark master at (spark://\S+)")
        for name in ("worker-1", "worker-2"):
            self.start_worker(name)
        return self

    def start_worker(self, name: str) -> None:
        """A worker, registered when this returns."""
        place = f"--host 127.0.0.1 --port 0 --webui-port 0 --cores 1 --memory 1g --work-dir {self._folder / name}"
        command = f"org.apache.spark.deploy.worker.Worker {place} {self.master}"
        self._java(name, command.split(), "256m")
        self._said(name, r"(Successfully registered)")

    def start_connect(self) -> None:
        """A Connect server on the cluster."""
        server = "org.apache.spark.sql.connect.service.SparkConnectServer"
        command = f"org.apache.spark.deploy.SparkSubmit --master {self.master} --class {server} spark-internal"
        self._java("connect", command.split(), "640m")
        port = self._said("connect", r"server started at: \S*?:(\d+)")
        self.remote = f"sc://127.0.0.1:{port}"

    def kill(self, name: str) -> None:
        """Kills a process as if its machine had failed, including the executors of a worker."""
        process = self._processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """Ends all processes."""
        for name in [*self._processes][::-1]:
            self.kill(name)

    def _java(self, name: str, command: list[str], memory: str) -> None:
        log = self._folder / f"{name}.log"
        opened = [f"--add-opens={one}=ALL-UNNAMED" for one in OPENED]
        with log.open("wb") as stream:
            self._processes[name] = subprocess.Popen(
                [str(find_java().executable), f"-Xmx{memory}", "-XX:+UseSerialGC", *opened,
                 "-cp", f"{self._folder / 'conf'}:{self._home / 'jars'}/*", *command],
                stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=self.environment, start_new_session=True,
            )  # fmt: skip

    def _said(self, name: str, pattern: str) -> str:
        log = self._folder / f"{name}.log"
        deadline_s = time.monotonic() + START_S
        while time.monotonic() < deadline_s:
            said = log.read_text(errors="replace")
            if found := re.search(pattern, said):
                return found[1]
            if self._processes[name].poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError(f"{name} did not start:\n{log.read_text(errors='replace')[-2_000:]}")

    def __enter__(self) -> "Cluster":
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_: Any) -> None:
        self.stop()
