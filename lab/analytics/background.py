"""What makes the first chart come sooner, done beside a lab that has just started. Imports nothing of Spark."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

from lab.analytics.jvm import SparkError, archive_path, worker_environment, working_java


@contextlib.contextmanager
def class_archive_in_background() -> Iterator[None]:
    """Has another process make the class archive, if there is none. What is not done at its end is given up."""
    process = _start()
    try:
        yield
    finally:
        if process is not None and process.poll() is None:
            # The group of its session: Java, which writes the archive, goes with it.
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()


def _start() -> "subprocess.Popen[bytes] | None":
    try:
        if archive_path(working_java()).exists():
            return None
        return subprocess.Popen(
            [sys.executable, "-m", "lab.analytics.class_archive"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=worker_environment(), start_new_session=True,
        )  # fmt: skip
    except (SparkError, OSError):
        # Charts come later then, or say what is wrong when somebody asks for one.
        return None
