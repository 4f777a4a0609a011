"""A lab to walk through: the one that runs with a data folder, or one that is started for the walk."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from django.conf import settings

from lab.runtime.lab_file import LAB_FILE, LabFile
from lab.runtime.tcp.bound_ports import lasting_port

START_S = 300.0
STOP_S = 120.0
ANSWER_S = 60.0
LOOK_S = 0.05


class NoLab(Exception):
    """The lab did not start. The message ends with its output."""


def running_lab(data: Path) -> LabFile | None:
    """The lab that serves this data folder; None when none does."""
    try:
        found = msgspec.json.decode((data / LAB_FILE).read_bytes(), type=LabFile)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if answers(found.port) else None


def answers(port: int) -> bool:
    """Whether a lab responds on this port of loopback."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/sign-in/", timeout=ANSWER_S):
            return True
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False


@contextmanager
def started_lab(data: Path) -> Iterator[str]:
    """A lab on a data folder of its own, until the end of the block; gives the address that signs in. Raises NoLab."""
    process = LabProcess(data)
    try:
        yield process.start()
    finally:
        process.stop()


class LabProcess:
    """`manage.py lab` in a separate process, its data in `data`, its output in `data`/lab.log."""

    def __init__(self, data: Path, *options: str) -> None:
        """`options`: of `manage.py lab`, besides the port."""
        self.data, self._options = data, options
        self._port = lasting_port()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Starts it, each time on the same port, which was free the first time; returns the address that signs in.

        Raises:
            NoLab: it ended, or did not answer in time.
        """
        self.data.mkdir(parents=True, exist_ok=True)
        log = self.data / "lab.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "manage.py", "lab", "--port", str(self._port), *self._options],
                cwd=settings.BASE_DIR,
                env={**os.environ, "HIGHWATER_DATA": str(self.data)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        deadline_s = time.monotonic() + START_S
        while time.monotonic() < deadline_s and self._process.poll() is None:
            found = running_lab(self.data)
            if found is not None and found.pid == self._process.pid:
                return found.address
            time.sleep(LOOK_S)
        self.stop()
        raise NoLab(f"No lab answered within {START_S:.0f} s. Its output:\n{log.read_text(errors='replace')}")

    def last_output(self, lines: int = 20) -> str:
        """The last lines of its log, and how it ended, if it has ended by itself."""
        log = (self.data / "lab.log").read_text(errors="replace").splitlines()[-lines:]
        code = self._process.poll() if self._process is not None else None
        return "\n".join([*log, *([] if code is None else [f"It ended by itself, with {code}."])])

    def kill(self) -> None:
        """As `kill -9` does: it can put nothing in order."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """As Ctrl-C does. Harmless when it has ended."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
