"""A cluster that applications live on: `manage.py cluster` under the load of `benchmarks.loads.life_load`. Prints JSON.

A probe sends an ApiVersionsRequest ten times a second and measures the answer; memory and disk are read once a second.
Besides, clusters of three brokers that nothing uses: what an hour of their recording takes. And clusters under
`benchmarks.loads.steady_load`, with and without a recording: what it takes of the thread of the brokers.
"""

import argparse
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.ending import run
from devtools.processes import threads_cpu_s
from lab.recordings.summary import SUMMARY

ROOT = Path(__file__).resolve().parent.parent
PROBE_S = 0.1
READ_S = 1.0
RECORDING_TURNS = 2
START_S = 120.0
BROKER_CONFIG = (
    "log.retention.check.interval.ms=5000",
    "log.cleaner.backoff.ms=2000",
    "log.segment.delete.delay.ms=5000",
    "group.initial.rebalance.delay.ms=0",
)
API_VERSIONS = struct.Struct(">ihhih")
"""Length, api key, version, correlation id, and the length of an empty client id."""
API_VERSIONS_KEY = 18


class Running(NamedTuple):
    """A cluster: its process, the first broker's address, and the folder of its run."""

    process: "subprocess.Popen[str]"
    bootstrap: str
    folder: Path


@contextmanager
def cluster(data: Path, *arguments: str) -> Iterator[Running]:
    """`manage.py cluster` with a data folder of its own."""
    config = [part for setting in BROKER_CONFIG for part in ("--config", setting)]
    process = subprocess.Popen(
        [sys.executable, "manage.py", "cluster", "--port", "0", *config, *arguments],
        cwd=ROOT,
        env={**os.environ, "HIGHWATER_DATA": str(data)},
        stdout=subprocess.PIPE,
        stderr=sys.stderr,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            first, brokers, files = (process.stdout.readline() for _ in range(3))
            if not files:
                raise RuntimeError(f"the cluster has ended with {process.wait()}; it should serve until Ctrl-C")
            found = re.search(r"/\S+/main", files)
            assert found is not None and brokers
            yield Running(process, first.strip(), Path(found[0]))
            process.send_signal(signal.SIGINT)
            process.wait(START_S)
        finally:
            if process.poll() is None:
                # Killed, it would leave its ZooKeeper running.
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(START_S)
                process.kill()


class Probe:
    """Sends ApiVersions to a broker ten times a second, and records the latency of each response (ms)."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.partition(":")
        self._address = (host, int(port))
        self._ended = threading.Event()
        self.taken_ms: list[float] = []
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def end(self) -> list[float]:
        """Stops asking."""
        self._ended.set()
        self._thread.join()
        return self.taken_ms

    def _work(self) -> None:
        with socket.create_connection(self._address) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            number = 0
            while not self._ended.wait(PROBE_S):
                began_s = time.perf_counter()
                number += 1
                connection.sendall(API_VERSIONS.pack(API_VERSIONS.size - 4, API_VERSIONS_KEY, 0, number, 0))
                (size,) = struct.unpack(">i", _read(connection, 4))
                _read(connection, size)
                self.taken_ms.append((time.perf_counter() - began_s) * 1_000)


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ConnectionError("the broker has closed the probe's connection")
        data += more
    return data


def memory_mb(pid: int) -> float:
    """What a process holds, shared pages included."""
    return int(re.findall(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[0]) / 1_000


def disk_mb(folder: Path) -> float:
    """What the files below a folder occupy, holes left out."""
    total = 0
    for below, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(f"{below}/{name}").st_blocks * 512
            except FileNotFoundError:
                continue
    return total / 1e6


def measure_life(data: Path, seconds: float, topics: int, rate: float, arguments: list[str]) -> dict[str, Any]:
    """The whole of it under load."""
    memory: list[float] = []
    with cluster(data, *arguments) as running:
        probe = Probe(running.bootstrap)
        load = subprocess.Popen(
            [
                *(sys.executable, "-m", "benchmarks.loads.life_load", running.bootstrap, "--seconds", str(seconds)),
                *("--topics", str(topics), "--rate", str(rate)),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        while load.poll() is None:
            memory.append(memory_mb(running.process.pid))
            time.sleep(READ_S)
        assert load.stdout is not None
        found: dict[str, Any] = json.loads(load.stdout.read())
        taken_ms = sorted(probe.end())
        brokers_mb, all_mb = disk_mb(running.folder / "cluster"), disk_mb(running.folder.parent)
    third = len(memory) // 3
    return {
        **found,
        "probes": len(taken_ms),
        "probe_p50_ms": percentile(taken_ms, 0.5),
        "probe_p99_ms": percentile(taken_ms, 0.99),
        "probe_worst_ms": percentile(taken_ms, 1.0),
        "memory_mb": round(max(memory)),
        "memory_growth": round(max(memory[third:]) / max(memory[: third + 1]), 2),
        "brokers_mb": round(brokers_mb, 1),
        "all_mb": round(all_mb, 1),
        "disk_ratio": round(all_mb / brokers_mb, 2),
        "lost": found["committed"] - found["consumed"],
    }


def measure_idle(data: Path, seconds: float) -> float:
    """MB an hour that the recording of three idle brokers takes."""
    with cluster(data) as running:
        time.sleep(seconds / 3)
        before = disk_mb(running.folder.parent)
        began_s = time.monotonic()
        time.sleep(seconds)
        return round((disk_mb(running.folder.parent) - before) / (time.monotonic() - began_s) * 3_600, 1)


def measure_recording(data: Path, seconds: float) -> dict[str, Any]:
    """What recording takes of the thread of the brokers at 1,000 records a second, in percent, and how many events a
    record makes. Clusters with and without a recording are measured in turns.
    """
    used_s: dict[str, float] = {"all": 0.0, "none": 0.0}
    acknowledged = events = 0
    for turn in range(RECORDING_TURNS):
        for kept in used_s:
            with cluster(data / f"{kept}-{turn}", "--record", kept) as running:
                began_s = brokers_cpu_s(running.process.pid)
                load = (*(sys.executable, "-m", "benchmarks.loads.steady_load"), running.bootstrap)
                said = subprocess.run(
                    [*load, "--seconds", str(seconds)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
                )
                used_s[kept] += brokers_cpu_s(running.process.pid) - began_s
            if kept == "all":
                acknowledged += json.loads(said.stdout)["acknowledged"]
                events += json.loads((running.folder / "recording" / SUMMARY).read_text())["last_seq"]
    return {
        "recording_percent": round(100 * (used_s["all"] - used_s["none"]) / used_s["all"], 1),
        "events_per_record": round(events / acknowledged, 2),
    }


def brokers_cpu_s(pid: int) -> float:
    """Processor time of the busiest thread of a cluster, in which all its brokers run."""
    return max(threads_cpu_s(pid))


def measure(seconds: float, topics: int, rate: float, idle_seconds: float) -> dict[str, Any]:
    """All figures. The load runs for `seconds` with a full recording, and a tenth of it with a bounded one."""
    with tempfile.TemporaryDirectory(prefix="highwater-life-") as folder:
        data = Path(folder)
        measured = measure_life(data / "life", seconds, topics, rate, [])
        bounded = measure_life(data / "bounded", seconds / 10, topics // 10, rate, ["--record", "none"])
        measured["bounded_disk_ratio"] = bounded["disk_ratio"]
        measured["idle_mb_per_hour"] = measure_idle(data / "idle", idle_seconds)
        measured |= measure_recording(data / "steady", idle_seconds / 3)
    return measured


def percentile(values: list[float], part: float) -> float:
    """A percentile of sorted values."""
    return round(values[min(len(values) - 1, int(len(values) * part))], 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--topics", type=int, default=500, help="created and deleted in waves")
    parser.add_argument("--rate", type=float, default=300.0, help="records a second")
    parser.add_argument("--idle-seconds", type=float, default=60.0)
    given = parser.parse_args()
    print(json.dumps(measure(given.seconds, given.topics, given.rate, given.idle_seconds), indent=1))


if __name__ == "__main__":
    run(main)
