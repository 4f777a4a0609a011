"""Runs with recordings for tests: an engine, driven by hand, whose events are written down as the lab does it."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from broker_core.run import RunConfig
from lab.recordings.folder import BranchFolder, branch_folder
from lab.recordings.recording import Recording
from lab.runtime import engine
from lab.runtime.live_run import LiveRun
from lab.runtime.pacer import Pacer

CONFIG = RunConfig(name="a run", seed=5, start_wall_ms=1_700_000_000_000)
TOPIC = "kafka-topics.sh --create --topic orders --partitions 3 --replication-factor 3"


class Wall:
    """A clock on the wall that a test moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def folder_of(root: Path, branch: str = "main", run: str = "r1") -> BranchFolder:
    return branch_folder(run, branch, runs=root)


def open_files(root: Path) -> list[Path]:
    """The files below a folder that this process has open."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the descriptor of this listing
            found.append(entry.readlink())
    return [path for path in found if path.is_relative_to(root)]


def begin(root: Path, config: RunConfig = CONFIG) -> tuple[Recording, LiveRun]:
    """A new run whose brokers are up."""
    recording = engine.begin_recording(folder_of(root), config)
    live = engine.wake(recording, Pacer(Wall()), "")
    engine.boot(live)
    live.pacer.set_mode("pause")
    live.collect()
    return recording, live


def open_again(root: Path, branch: str = "main") -> tuple[Recording, LiveRun]:
    """Opens a recording as another process does."""
    recording = Recording(folder_of(root, branch))
    live = engine.wake(recording, Pacer(Wall()), "")
    live.collect()
    return recording, live


def run_lines(live: LiveRun, lines: Iterable[str]) -> None:
    """Runs console lines one after the other, each to its end."""
    for line in lines:
        command = live.run.submit(line, "test")
        while command in live.run.running_commands:
            assert live.run.step_event()
        live.collect()


def run_for(live: LiveRun, us: int) -> None:
    """Lets simulated time pass, collecting as the lab does."""
    end_us = live.run.now_us + us
    while live.run.now_us < end_us:
        live.run.advance(end_us, max_events=256)
        live.collect()


def run_until_events(live: LiveRun, seq: int) -> None:
    """Advances until there are this many events."""
    while live.run.seq < seq:
        live.run.advance(live.run.now_us + 1_000_000, max_events=min(256, seq - live.run.seq))
        live.collect()


def busy_run(root: Path, events: int, config: RunConfig = CONFIG) -> tuple[Recording, LiveRun]:
    """A run with a topic, a stream of records, a broker that was killed and came back."""
    recording, live = begin(root, config)
    run_lines(live, [TOPIC, "producer open p1 --acks all", "producer stream p1 orders-0 200"])
    run_until_events(live, events // 2)
    run_lines(live, ["broker kill 1"])
    run_until_events(live, events * 3 // 4)
    run_lines(live, ["broker start 1"])
    run_until_events(live, events)
    return recording, live
