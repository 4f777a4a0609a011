"""The lab's server: time to start, time to create a run, memory, seeking and forking. Prints JSON.

Times are wall time in milliseconds, sizes MB. The server runs as `make lab` starts it, with a ZooKeeper of its own.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

from benchmarks.ending import run

ROOT = Path(__file__).resolve().parent.parent
LINES = (
    "kafka-topics.sh --create --topic orders --partitions 3 --replication-factor 3",
    "producer open p1 --acks all",
    "producer stream p1 orders-0 200",
)


class RunningLab:
    """A lab in a process of its own, and a signed-in user."""

    def __init__(self, data: Path) -> None:
        began_s = time.perf_counter()
        self.data = data
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "lab", "--port", "0"],
            cwd=ROOT,
            env={**os.environ, "HIGHWATER_DATA": str(data), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        address = self._address()
        self.sign_in = address
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self._page = self._opener.open(address).read().decode()
        self.start_ms = ms_since(began_s)
        self.base = "/".join(address.split("/")[:3])

    def _address(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := re.search(r"http://\S+", line):
                return found[0]
        raise SystemExit("the lab did not start")

    def new_run(self) -> tuple[str, float]:
        """(slug, milliseconds until its three brokers are registered and its page is there)."""
        token = re.findall(r'csrfmiddlewaretoken" value="([^"]+)"', self._page)[0]
        form = {"csrfmiddlewaretoken": token, "name": "bench", "seed": "1", "brokers": "3"}
        began_s = time.perf_counter()
        answer = self._opener.open(self.base + "/runs/new", urllib.parse.urlencode(form).encode())
        answer.read()
        return answer.url.split("/")[-2], ms_since(began_s)

    def get_ms(self, path: str) -> float:
        """How long a request takes, the browser's side included."""
        began_s = time.perf_counter()
        self._opener.open(self.base + path).read()
        return ms_since(began_s)

    def size_of(self, path: str) -> int:
        """How many bytes an address answers with."""
        return len(self._opener.open(self.base + path).read())

    def memory_mb(self) -> dict[str, float]:
        """Resident memory of the server and of its ZooKeeper."""
        zookeeper = int((self.data / "zookeeper" / "zookeeper.pid").read_text())
        return {"server_mb": resident_mb(self._process.pid), "zookeeper_mb": resident_mb(zookeeper)}

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(30)


@contextmanager
def running_lab(data: Path) -> Iterator[RunningLab]:
    lab = RunningLab(data)
    try:
        yield lab
    finally:
        lab.stop()


def measure_process(data: Path) -> dict[str, Any]:
    """Starts, runs and memory, each the median of three."""
    with running_lab(data):
        pass  # the first start makes the database, and the archive of ZooKeeper's classes
    starts, runs, memory = [], [], []
    for _ in range(3):
        with running_lab(data) as lab:
            starts.append(lab.start_ms)
            run, new_run_ms = lab.new_run()
            runs.append(new_run_ms)
            lab.get_ms(f"/api/runs/{run}/main/index.json")
            memory.append(lab.memory_mb())
    total = [sum(one.values()) for one in memory]
    middle = memory[total.index(median(total))]
    return {
        "later_start_ms": round(median(starts)),
        "new_run_to_three_brokers_ms": round(median(runs)),
        "idle_lab_mb": round(median(total)),
        **{name: round(value) for name, value in middle.items()},
    }


def measure_recordings(data: Path, sizes: list[int], fork_events: int) -> dict[str, Any]:
    """Seeks in recordings of several sizes, and forks of one."""
    os.environ["HIGHWATER_DATA"] = str(data)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
    import django

    django.setup()
    found: dict[str, Any] = {"seek": {}}
    for size in sorted({*sizes, fork_events}):
        recording = make_recording(data / f"events-{size}", size)
        if size in sizes:
            found["seek"][str(size)] = measure_seeks(recording)
        if size == fork_events:
            found["fork"] = measure_forks(recording)
        recording.close()
        shutil.rmtree(data / f"events-{size}")
    return found


def make_recording(runs: Path, events: int) -> Any:
    """A run with a stream of 200 records a second, as long as it takes."""
    from lab.recordings.folder import branch_folder
    from lab.runtime import engine
    from lab.runtime.pacer import Pacer

    config = engine.RunConfig(name="bench", seed=1, start_wall_ms=1_700_000_000_000)
    recording = engine.begin_recording(branch_folder("r1", "main", runs=runs), config)
    live = engine.wake(recording, Pacer(), "")
    engine.boot(live)
    for line in LINES:
        command = live.run.submit(line, "bench")
        while command in live.run.running_commands:
            live.run.step_event()
    while live.run.seq < events:
        live.run.advance(live.run.now_us + 1_000_000, max_events=min(2_000, events - live.run.seq))
        live.collect()
        if live.is_checkpoint_due:
            live.checkpoint()
    live.close()
    return recording


def measure_seeks(recording: Any, rounds: int = 300) -> dict[str, float]:
    """To random instants: finding the event, and what the page then asks for: the segment with its view and patches."""
    from lab.recordings import history

    random_numbers = random.Random(1)
    finds, wholes = [], []
    for _ in range(rounds):
        at_us = random_numbers.randrange(recording.last_at_us)
        began_s = time.perf_counter()
        place = history.seek(recording, t_us=at_us)
        finds.append(ms_since(began_s))
        history.segment_json(recording, place["n"])
        wholes.append(ms_since(began_s))
    return {
        "find_p50_ms": percentile(finds, 0.5),
        "find_p99_ms": percentile(finds, 0.99),
        "find_and_segment_p50_ms": percentile(wholes, 0.5),
        "find_and_segment_p99_ms": percentile(wholes, 0.99),
    }


def measure_forks(recording: Any, rounds: int = 15) -> dict[str, float]:
    """At random instants: the new branch's recording, files and engine, on ZooKeeper."""
    from lab.recordings.folder import branch_folder
    from lab.runtime import engine
    from lab.runtime.pacer import Pacer
    from lab.runtime.zookeeper.server import EmbeddedZookeeper

    random_numbers = random.Random(2)
    runs = recording.folder.path.parent.parent
    taken = []
    with EmbeddedZookeeper(runs / "zookeeper") as zookeeper:
        for number in range(rounds):
            seq = random_numbers.randrange(1, recording.last_seq + 1)
            began_s = time.perf_counter()
            forked = engine.fork_recording(recording, seq, branch_folder("r1", f"main-{number + 2}", runs=runs))
            forked.sync()
            live = engine.wake(forked, Pacer(), zookeeper.address)
            live.collect()
            taken.append(ms_since(began_s))
            live.abandon()
            forked.close()
    return {"events": recording.last_seq, "p50_ms": percentile(taken, 0.5), "worst_ms": round(max(taken))}


def resident_mb(pid: int) -> float:
    """What a process holds, shared pages included."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) / 1000


def ms_since(began_s: float) -> float:
    return (time.perf_counter() - began_s) * 1000


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def percentile(values: list[float], part: float) -> float:
    return round(sorted(values)[min(len(values) - 1, int(len(values) * part))], 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[20_000, 200_000, 2_000_000], help="events to seek in")
    parser.add_argument("--fork-events", type=int, default=50_000, help="events of the run that is forked")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as folder:
        data = Path(folder)
        measured = measure_process(data / "lab")
        measured |= measure_recordings(data / "runs", arguments.sizes, arguments.fork_events)
    print(json.dumps(measured, indent=1))


if __name__ == "__main__":
    run(main)
