"""`manage.py lab` as a separate process."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lab.management.commands.lab import HOST
from tests.support.lab_server import PATIENCE_S, Visitor
from tests.support.paths import ROOT
from tests.support.processes.lab_output import printed_address


class LabProcess:
    """A lab that runs. `data` is its folder."""

    def __init__(self, data: Path, *arguments: str, **environment: str) -> None:
        self.data = data
        self.port = 0
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "lab", *(arguments or ("--port", "0"))],
            cwd=ROOT,
            env={**os.environ, "HIGHWATER_DATA": str(data), "PYTHONUNBUFFERED": "1", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_until_ready(self) -> str:
        """Returns the printed address."""
        address = printed_address(self.process)
        self.port = int(re.findall(r":(\d+)/", address)[0])
        self.address = f"http://{HOST}:{self.port}"
        return address

    def visitor(self, address: str) -> Visitor:
        visitor = Visitor(self)  # type: ignore[arg-type]
        assert visitor.get(address.removeprefix(self.address)).status == 200
        return visitor

    def end(self, number: int = signal.SIGINT, seconds: float = PATIENCE_S) -> int:
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def output(self, seconds: float = 2 * PATIENCE_S) -> str:
        """Its output until it ends."""
        out, _ = self.process.communicate(timeout=seconds)
        return str(out)


@contextmanager
def lab(data: Path, *arguments: str, **environment: str) -> Iterator[LabProcess]:
    started = LabProcess(data, *arguments, **environment)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
            started.process.wait()
        assert started.process.stdout is not None
        started.process.stdout.close()
        end_zookeeper(data)


def end_zookeeper(data: Path) -> None:
    """A killed lab leaves its server to the next one; ends it after the test."""
    with suppress(FileNotFoundError, NotADirectoryError, ProcessLookupError):
        pid = int((data / "zookeeper/zookeeper.pid").read_text())
        if str(data).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
