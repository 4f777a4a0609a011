"""Recordings of simulated runs for benches, kept for the next time under `benchmarks/results/recordings/`.

    python -m benchmarks.loads.recordings [--runs 10]

Each run has 100,000 events and a seed of its own, for copies of a recording count once. What is kept belongs to a state
of the core and of the recording code. Prints the folder and a digest of each run's events.
"""

import argparse
import hashlib
import multiprocessing
import os
import shutil
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
django.setup()

from lab.recordings.folder import BranchFolder, branch_folder  # noqa: E402  (needs the settings)
from lab.runtime.engine import begin_recording  # noqa: E402
from lab.runtime.headless.rehearsal import rehearsal_run  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / "benchmarks" / "results" / "recordings"
EVENTS = 100_000
_CODE = ("broker_core", "lab/journals", "lab/recordings", "lab/runtime")
#: (line, simulated second at which it is typed)
SCRIPT = (
    ("kafka-topics.sh --create --topic orders --partitions 3 --replication-factor 3", 0),
    ("producer open all --acks all", 1),
    ("producer open one --acks 1", 1),
    ("producer open none --acks 0", 1),
    ("producer stream all orders-0 100", 1),
    ("producer stream one orders-1 60", 1),
    ("producer stream none orders-2 40", 1),
    ("broker kill 2", 6),
    ("broker start 2", 16),
)


def record(folder: BranchFolder, seed: int = 7) -> int:
    """Records a run of `EVENTS` events; returns the last seq."""
    run = rehearsal_run(seed)
    recording = begin_recording(folder, run.config)
    lines = list(SCRIPT)
    began_us = run.now_us
    while run.seq < EVENTS:
        while lines and run.now_us >= began_us + lines[0][1] * 1_000_000:
            run.submit(lines.pop(0)[0])
        run.advance(run.now_us + 250_000)
        recording.append_events(run.take())
    recording.close()
    return recording.last_seq


def kept(runs: int) -> list[Path]:
    """Folders of runs, as many as requested; those that are missing are recorded, on all cores."""
    at = KEPT / _version()
    folders = [at / f"seed-{seed}" for seed in range(1, runs + 1)]
    missing = [folder for folder in folders if not folder.exists()]
    if missing:
        at.mkdir(parents=True, exist_ok=True)
        for old in KEPT.glob("*/"):
            if old != at:
                shutil.rmtree(old)
        with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as workers:
            list(workers.map(_record_kept, missing))
    return folders


def link(runs: list[Path], to: Path) -> None:
    """Lays runs side by side in a folder, as a lab has them."""
    to.mkdir(parents=True, exist_ok=True)
    for folder in runs:
        (to / folder.name).symlink_to(folder)


def _record_kept(folder: Path) -> None:
    """Appears when it is complete."""
    with TemporaryDirectory(dir=folder.parent, prefix="unfinished-") as making:
        record(branch_folder(folder.name, "main", runs=Path(making)), int(folder.name.removeprefix("seed-")))
        # Another process may have made it meanwhile.
        with suppress(OSError):
            (Path(making) / folder.name).rename(folder)


def _version() -> str:
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for name in _CODE:
        for path in sorted((ROOT / name).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def digest_of(run: Path) -> str:
    """A digest of a run's events."""
    digest = hashlib.sha256()
    for path in sorted(run.glob("main/recording/events-0/*.log")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    folders = kept(parser.parse_args().runs)
    print(folders[0].parent)
    for folder in folders:
        print(folder.name, digest_of(folder))


if __name__ == "__main__":
    main()
