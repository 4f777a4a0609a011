"""A recording as the page fetches it, made by the engine for the tests of the page's modules."""

import copy
import json
from pathlib import Path
from typing import Any

import msgspec

from broker_core.run import Run, RunConfig
from broker_core.sim.disk import SimulatedDisk
from broker_core.view.fold import empty_view
from broker_core.view.patch import apply
from broker_core.zk.memory_store import MemoryStore
from lab.protocol.marks import mark_of

BUCKET_US = 250_000

#: (line, milliseconds of simulated time that follow): all that the drawings have a shape for
SCRIPT = (
    ("kafka-topics.sh --create --topic orders --partitions 2 --replication-factor 3", 300),
    ("producer open p1 --acks all", 50),
    ("producer burst p1 orders-0 5", 50),
    ("consumer follow c1 orders-0 --from earliest", 200),
    ("link cut 1 2", 300),
    ("producer burst p1 orders-0 2", 300),
    ("link restore 1 2", 300),
    ("broker kill 1", 7000),
    ("broker start 1", 2000),
)


def write_recording(folder: Path, segment_events: int = 400) -> None:
    """Writes `index.json` and `segments/N.json` as the lab serves them."""
    made = _play()
    (folder / "segments").mkdir(parents=True)
    view = empty_view()
    segments, marks, counts = [], [], [0]
    for n, start in enumerate(range(0, len(made), segment_events)):
        part = made[start : start + segment_events]
        state = copy.deepcopy(view)
        events = []
        for (seq, at_us, node, cause_seq, event), patch, _ in part:
            events.append([seq, at_us, node, cause_seq, msgspec.to_builtins(event), patch])
            apply(view, copy.deepcopy(patch))  # later patches write into the dicts of earlier ones
            counts.extend([0] * (at_us // BUCKET_US + 1 - len(counts)))
            counts[at_us // BUCKET_US] += 1
            mark = mark_of(seq, at_us, event)
            if mark is not None:
                marks.append({"seq": seq, "at_us": at_us, "kind": mark.kind, "values": mark.values})
        at_us = made[start - 1][0][1] if start else 0
        first, last = part[0][0], part[-1][0]
        _write(
            folder / "segments" / f"{n}.json",
            {"n": n, "first_seq": first[0], "at_us": at_us, "state": state, "ev": events},
        )
        segments.append(
            {"n": n, "first_seq": first[0], "last_seq": last[0], "first_at_us": first[1], "last_at_us": last[1]}
        )
    last = made[-1][0]
    index = {
        "run": "r", "branch": "main", "name": "test", "boot": "b1", "schema": "", "first_seq": 1, "last_seq": last[0],
        "last_at_us": last[1], "start_wall_ms": 0, "segment_events": segment_events, "segments": segments,
        "density": {"bucket_us": BUCKET_US, "counts": counts}, "marks": marks, "branches": [],
    }  # fmt: skip
    _write(folder / "index.json", index)


def _play() -> list[Any]:
    run = Run(RunConfig(name="test", seed=3), disk=SimulatedDisk(), zk=MemoryStore())
    run.advance(1_000_000)
    for line, then_ms in SCRIPT:
        command = run.submit(line, "test")
        while command in run.running_commands:
            run.advance(run.now_us + 10_000)
        run.advance(run.now_us + then_ms * 1000)
    return run.take()


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
