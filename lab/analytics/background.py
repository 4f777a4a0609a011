"""What makes the first chart come sooner, done beside a lab that has just started. Imports nothing of Spark."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from lab.analytics.jvm import SparkError, archive_path, worker_environment, working_java


@contextlib.contextmanager
def class_archive_in_background() -> Iterator[None]:
    """Has another process make the class archive, if there is none. What is not done at its end is given up."""
    scratch = settings.DATA / "class-archive"
    process = _start(scratch)
    try:
        yield
    finally:
        if process is not None and process.poll() is None:
            # The process group of its session: Java, which writes the archive, ends with it.
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
        shutil.rmtree(scratch, ignore_errors=True)


def _start(scratch: Path) -> "subprocess.Popen[bytes] | None":
    try:
        if archive_path(working_java()).exists():
            return None
        scratch.mkdir(exist_ok=True)
        return subprocess.Popen(
            [sys.executable, "-m", "lab.analytics.class_archive", "--for-stdin"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=worker_environment(scratch), start_new_session=True,
        )  # fmt: skip
    except (SparkError, OSError):
        # Charts take longer then, or report the error when they are requested.
        return None
