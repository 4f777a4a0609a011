"""What it costs to be followed: one branch at 200 records a second, and pages that only look. Prints JSON.

The pages are in this process and read without sockets, so that what is measured is the lab: taking events, making
frames, waking the waiting sockets. `cpu_s` is processor time of a second of wall time; `per_page_kb` and
`per_page_frames` are what a page gets in that time. `alone` is the same branch with its owner's page and no other.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django
from django.conf import settings

from benchmarks.ending import run

if TYPE_CHECKING:
    from lab.runtime.live_run import LiveRun

SECONDS = 8.0
PAGES = 240
LINES = (
    "kafka-topics.sh --create --topic orders --partitions 3 --replication-factor 3",
    "producer open p1 --acks all",
    "producer stream p1 orders-0 200",
)


def submit(line: str) -> "Callable[[LiveRun], int]":
    """A job that gives the branch a command."""
    return lambda live: live.run.submit(line, "me")


async def measure(root: Path, pages: int) -> dict[str, float]:
    """One branch with its owner's page and `pages` pages of viewers."""
    from broker_core.run import RunConfig
    from lab.class_rights import RIGHTS
    from lab.runtime.host import Host
    from lab.runtime.streaming.watcher import Visitor, Watcher

    host = Host(root, "")
    lab = await host.start("bench", "main", RunConfig(seed=1, brokers=(1, 2, 3)))
    got = dict.fromkeys(("own", "looking", "frames"), 0)

    async def read(watcher: Watcher, kind: str) -> None:
        while True:
            frame = await watcher.next_frame()
            got[kind] += len(frame)
            got["frames"] += kind == "looking"
            if frame.startswith(('{"k":"d"', '{"k":"snap"')):
                watcher.acknowledged(lab.ring.last_seq)

    def page(kind: str, rights: frozenset[Any]) -> asyncio.Task[None]:
        visitor = Visitor(user_id=1, user="me", run_name="bench", rights=rights, language="en")
        watcher = Watcher(lab, visitor, have=0, boot="")
        lab.watch(watcher)
        return asyncio.create_task(read(watcher, kind))

    tasks = [page("own", frozenset(RIGHTS)), *(page("looking", frozenset({"see"})) for _ in range(pages))]
    for line in LINES:
        await lab.act(submit(line))
    await asyncio.sleep(3)
    got = dict.fromkeys(got, 0)
    began_s, began_cpu_s, began_seq = time.perf_counter(), time.process_time(), lab.ring.last_seq
    await asyncio.sleep(SECONDS)
    wall_s = time.perf_counter() - began_s
    found = {
        "cpu_s": (time.process_time() - began_cpu_s) / wall_s,
        "events_per_s": (lab.ring.last_seq - began_seq) / wall_s,
        "own_kb": got["own"] / wall_s / 1000,
        "per_page_kb": got["looking"] / max(1, pages) / wall_s / 1000,
        "per_page_frames": got["frames"] / max(1, pages) / wall_s,
    }
    for task in tasks:
        task.cancel()
    await host.close()
    return {name: round(value, 4) for name, value in found.items()}


def main() -> None:
    """Measures both and prints them."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.settings")
    django.setup()
    with tempfile.TemporaryDirectory() as root:
        settings.RUNS = Path(root)
        alone = asyncio.run(measure(Path(root) / "alone", 0))
        followed = asyncio.run(measure(Path(root) / "followed", PAGES))
    added = followed["cpu_s"] - alone["cpu_s"]
    json.dump({"alone": alone, "followed": followed, "pages": PAGES, "added_cpu_s": round(added, 4)}, sys.stdout)
    print()


if __name__ == "__main__":
    run(main)
