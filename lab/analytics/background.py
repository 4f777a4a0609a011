"""Background work after the lab has started that speeds up the first chart. Does not import Spark."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from lab.analytics.jvm import SparkError, archive_path, worker_environment, working_java

BEGINS_AFTER_S = 15.0
"""The first pages of a lab come before it, and a lab that ends soon has nothing to give up."""


@contextlib.contextmanager
def class_archive_in_background() -> Iterator[None]:
    """Lets another process make the class archive, if there is none. An unfinished archive is discarded at exit."""
    scratch = settings.DATA / "class-archive"
    started: list[subprocess.Popen[bytes] | None] = []
    later = threading.Timer(BEGINS_AFTER_S, lambda: started.append(_start(scratch)))
    later.daemon = True
    later.start()
    try:
        yield
    finally:
        later.cancel()
        later.join()
        for process in started:
            if process is not None and process.poll() is None:
                # Its process group includes Java, which writes the archive, so that both end together.
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
        # Without it charts take longer, or report the error when they are requested.
        return None
