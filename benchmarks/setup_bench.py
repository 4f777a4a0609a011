"""The first start of a fresh clone: `make lab` from nothing to a page, with nothing left to download. Prints JSON.

The environment is made twice. The first time fills the caches of the installer, the second is measured: set-up, the
archive of ZooKeeper's classes, the database, the server, the first page. The clone has what is committed.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

from benchmarks.ending import run

ROOT = Path(__file__).resolve().parent.parent


def clone(to: Path) -> Path:
    """A fresh copy of what is committed."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(to)], check=True)
    return to


def make_environment(project: Path) -> float:
    """Seconds that `make setup` takes."""
    began_s = time.perf_counter()
    subprocess.run(["make", "--silent", "setup"], cwd=project, check=True, stdout=sys.stderr)
    return time.perf_counter() - began_s


def start_lab(project: Path) -> float:
    """Seconds from `make lab` to the page behind the printed address; ends the lab."""
    began_s = time.perf_counter()
    lab = subprocess.Popen(
        ["make", "--silent", "lab", "PORT=0"],
        cwd=project,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert lab.stdout is not None
        address = next(found[0] for line in lab.stdout if (found := re.search(r"http://\S+", line)))
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        opener.open(address).read()
        return time.perf_counter() - began_s
    finally:
        # as Ctrl-C in a terminal: to all that make has started
        os.killpg(lab.pid, signal.SIGINT)
        lab.wait(30)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as folder:
        make_environment(clone(Path(folder) / "first"))
        project = clone(Path(folder) / "second")
        environment_s = make_environment(project)
        lab_s = start_lab(project)
    print(
        json.dumps(
            {
                "first_start_s": round(environment_s + lab_s, 1),
                "environment_s": round(environment_s, 1),
                "lab_s": round(lab_s, 1),
            }
        )
    )


if __name__ == "__main__":
    run(main)
