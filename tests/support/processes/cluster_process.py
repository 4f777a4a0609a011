"""`manage.py cluster` as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.paths import ROOT


@contextmanager
def cluster(data: Path, *arguments: str, max_files: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """`max_files`: how many files and connections it may have open."""
    limited = ["sh", "-c", f'ulimit -n {max_files}; exec "$@"', "sh"] if max_files else []
    started = subprocess.Popen(
        [*limited, sys.executable, "manage.py", "cluster", *arguments],
        cwd=ROOT,
        env={**os.environ, "HIGHWATER_DATA": str(data)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with started:
        try:
            yield started
        finally:
            if started.poll() is None:
                started.kill()


def first_line(running: subprocess.Popen[str]) -> str:
    assert running.stdout is not None
    return running.stdout.readline().strip()
