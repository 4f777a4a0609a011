"""The one Spark session of a worker process."""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from lab.analytics.jvm import Gateway, SparkError, start_gateway


class Spark:
    """A JVM with a session in it, for as long as the process wants it."""

    def __init__(self, gateway: Gateway, log: Path) -> None:
        """Starts the session in a JVM that listens and writes to `log`. Raises SparkError."""
        self._gateway = gateway
        os.environ |= {
            "PYSPARK_GATEWAY_PORT": str(self._gateway.port),
            "PYSPARK_GATEWAY_SECRET": self._gateway.secret,
            "PYSPARK_PYTHON": sys.executable,
        }
        try:
            self.session = SparkSession.builder.getOrCreate()
        except Exception as error:
            self._gateway.stop()
            raise SparkError("refusal.spark_session", problem=str(error), log=str(log)) from error

    @classmethod
    def start(cls, log: Path, *more_flags: str) -> "Spark":
        """Starts the JVM, too. Raises SparkError."""
        return cls(start_gateway(log, *more_flags), log)

    @property
    def is_alive(self) -> bool:
        """Whether the JVM runs."""
        return self._gateway.process.poll() is None

    def stop(self) -> None:
        """Ends the session and the JVM."""
        if self.is_alive:
            self.session.stop()
        self._gateway.stop()
