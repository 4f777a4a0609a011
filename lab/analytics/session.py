"""The only Spark session of a process: in its own JVM, or on a cluster named by the environment (place.py)."""

import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from lab.analytics import place, shipping
from lab.analytics.jvm import SparkError, start_gateway
from lab.analytics.lookups import keep_lookups

if TYPE_CHECKING:
    from lab.analytics.jvm import Gateway

APP_NAME = "Highwater"
#: The meaning of tables depends on it. All other settings of a cluster are left unchanged.
OURS = {"spark.sql.session.timeZone": "UTC"}
_GATEWAY = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")
_CONNECT = "SPARK_CONNECT_MODE_ENABLED"
"""PySpark sets it for a session of Spark Connect, also for one that fails, and then makes no other kind."""


class Spark:
    """A Spark session."""

    def __init__(self, log: Path, gateway: "Gateway | None" = None) -> None:
        """Starts the session in a listening JVM that writes to `log`; without one, on the configured cluster.

        Raises SparkError if the session cannot start, or tasks of the cluster lack something that they need.
        """
        self._gateway = gateway
        try:
            self.session = self._begin()
            if gateway is None:
                self._prepare()
        except SparkError:
            self.stop()
            raise
        except Exception as error:
            self.stop()
            raise self._failed(error, log) from error

    @classmethod
    def start(cls, log: Path, *more_flags: str, has_own_group: bool = False) -> "Spark":
        """Starts the session, and the JVM if Spark runs on this machine. Raises SparkError. For the arguments see
        `start_gateway`.
        """
        return cls(log, start_gateway(log, *more_flags, has_own_group=has_own_group) if place.is_local() else None)

    @property
    def is_alive(self) -> bool:
        """Whether the JVM or the server is alive."""
        if self._gateway is not None:
            return self._gateway.process.poll() is None
        try:
            # Asks the server; a local JVM is checked directly.
            return bool(self.session.version)
        except Exception:
            return False

    def cpu_s(self) -> float:
        """CPU seconds used by this process and its JVM; wall time if unavailable."""
        if self._gateway is None:
            return time.monotonic()
        try:
            fields = Path(f"/proc/{self._gateway.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return time.monotonic()
        return time.process_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def free(self) -> None:
        """Has the JVM of this machine collect its garbage, so that its heap shrinks."""
        if self._gateway is None:
            return
        virtual_machine = self.session.sparkContext._jvm
        assert virtual_machine is not None
        # The next task notices a JVM that has ended.
        with contextlib.suppress(Exception):
            virtual_machine.java.lang.System.gc()

    def stop(self) -> None:
        """Ends the session and the JVM."""
        try:
            if hasattr(self, "session") and self.is_alive:
                self.session.stop()
        finally:
            if self._gateway is not None:
                self._gateway.stop()
            os.environ.pop(_CONNECT, None)

    def _begin(self) -> SparkSession:
        if self._gateway is not None:
            os.environ |= {
                "PYSPARK_GATEWAY_PORT": str(self._gateway.port),
                "PYSPARK_GATEWAY_SECRET": self._gateway.secret,
                "PYSPARK_PYTHON": sys.executable,
            }
            session = SparkSession.builder.getOrCreate()
            keep_lookups(session)
            return session
        for name in _GATEWAY:
            # Of a session on this machine before.
            os.environ.pop(name, None)
        builder = SparkSession.builder.appName(APP_NAME)
        remote, master = place.remote(), place.master()
        if remote is not None:
            return builder.remote(remote).getOrCreate()
        return builder.master(str(master)).getOrCreate()

    def _prepare(self) -> None:
        for name, value in OURS.items():
            self.session.conf.set(name, value)
        with tempfile.TemporaryDirectory(prefix="highwater-code-") as folder:
            shipping.ship(self.session, Path(folder))

    def _failed(self, error: Exception, log: Path) -> SparkError:
        problem = (str(error).strip().splitlines() or [type(error).__name__])[0]
        if self._gateway is not None:
            return SparkError("refusal.spark_session", problem=problem, log=str(log))
        return SparkError("refusal.spark_cluster", place=place.name(), problem=problem)
