"""Simulated events a second of CPU time: memory store, simulated disk, events encoded, hashed and folded; without
invariants, with the nine of replication alone, and with all.

Three brokers, three partitions of factor 3, four producers that always have one batch of one record with acks=all in
flight. Prints JSON: medians, and the rounds they are taken from.
"""

import argparse
import json
import multiprocessing
import statistics
import time
from collections.abc import Collection
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.ending import run
from broker_core.records.record_batch import SimpleRecord, build_batch
from broker_core.run import Run, RunConfig
from broker_core.sim.disk import SimulatedDisk
from broker_core.sim.invariants import INVARIANTS, REPLICATION
from broker_core.sim.kernel import Message
from broker_core.wire.messages import CreateTopicSpec, CreateTopicsRequest, ProduceRequest
from broker_core.zk.memory_store import MemoryStore
from lab.runtime.machine.memory import reduce_gc_frequency

PRODUCERS = 4
#: about the batch size of a lab that plays at full speed
TAKEN_EVENTS = 1_000
SLICE_EVENTS = 5_000
WARM_UP_EVENTS = 5_000
MEASURED_EVENTS = 50_000
START_MS = 1_700_000_000_000
CHECKED: dict[str, Collection[str]] = {"bare": (), "replication": REPLICATION, "invariants": INVARIANTS}


class LoopingProducer:
    """Sends the same batch again as soon as the one before it is acknowledged."""

    def __init__(self, run: Run, name: str, partition: str) -> None:
        self.run = run
        self.name = name
        self.partition = partition
        self.acknowledged = 0
        self.batch = build_batch([SimpleRecord(timestamp=START_MS, key=b"key", value=b"v" * 100)])
        self.fields = (("acks", -1), ("partition", partition), ("records", 1), ("bytes", len(self.batch)))
        # as a real producer keeps its metadata
        self.leader = f"b{run.view['partitions'][partition]['leader']}"
        self.kernel = run._kernel
        self.kernel.add(self)

    def send(self) -> None:
        request = ProduceRequest(-1, 30_000, ((self.partition, self.batch),))
        self.kernel.request(self.name, self.leader, "Produce", request, label="Produce", fields=self.fields, context=0)

    def on_response(self, api: str, body: Any, context: Any) -> None:
        self.acknowledged += 1
        self.send()

    def on_request(self, message: Message) -> None: ...

    def on_disconnect(self, api: str, context: Any, why: str) -> None: ...

    def on_timer(self, name: str, data: Any) -> None: ...

    def on_watch(self, kind: str, path: str) -> None: ...


class Setup:
    def __init__(self, *, invariants: Collection[str]) -> None:
        self.run = Run(RunConfig(seed=1), disk=SimulatedDisk(), zk=MemoryStore(), invariants=invariants)
        self.run.advance(100_000)
        kernel = self.run._kernel
        kernel.request(
            "shell",
            "b1",
            "CreateTopics",
            CreateTopicsRequest((CreateTopicSpec("orders", 3, 3),)),
            label="create",
            context=-1,
        )
        self.run.advance(200_000)
        self.producers = [LoopingProducer(self.run, f"p{n}", f"orders-{n % 3}") for n in range(PRODUCERS)]
        for producer in self.producers:
            producer.send()

    def acknowledged(self) -> int:
        return sum(producer.acknowledged for producer in self.producers)

    def until(self, events: int) -> float:
        """CPU seconds to reach this number of events."""
        run = self.run
        began = time.process_time()
        while run.seq < events:
            run.advance(run.now_us + 3_600_000_000, max_events=TAKEN_EVENTS)
            run.take()
        return time.process_time() - began


class Side:
    """A run in a process of its own that executes one slice for each command."""

    def __init__(self, *, invariants: Collection[str], from_events: int) -> None:
        self.events = self.batches = 0
        self.cpu_s = 0.0
        self._pipe, other_end = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=_serve_slices, args=(other_end, invariants, from_events))
        self._process.start()
        self._pipe.recv()

    def slice(self) -> None:
        """Runs `SLICE_EVENTS` more."""
        self._pipe.send(True)
        events, batches, cpu_s = self._pipe.recv()
        self.events += events
        self.batches += batches
        self.cpu_s += cpu_s

    def end(self) -> None:
        self._pipe.send(False)
        self._process.join()
        if self._process.exitcode:
            raise SystemExit("a run failed")


def _serve_slices(pipe: Connection, invariants: Collection[str], from_events: int) -> None:
    setup = Setup(invariants=invariants)
    reduce_gc_frequency()
    setup.until(from_events)
    pipe.send(True)
    while pipe.recv():
        events, batches = setup.run.seq, setup.acknowledged()
        cpu_s = setup.until(events + SLICE_EVENTS)
        pipe.send((setup.run.seq - events, setup.acknowledged() - batches, cpu_s))
    if setup.run.view["alarms"]:
        raise SystemExit(f"the run has alarms: {setup.run.view['alarms']}")


def measure(*, invariants: Collection[str], events: int) -> dict[str, float]:
    """Rates over the first 50,000 events of a run and over the last 50,000 before `events` of another one.

    Both execute slices alternately, so that other load of the machine affects both alike.
    """
    early = Side(invariants=invariants, from_events=WARM_UP_EVENTS)
    late = Side(invariants=invariants, from_events=events - MEASURED_EVENTS)
    for _ in range(MEASURED_EVENTS // SLICE_EVENTS):
        early.slice()
        late.slice()
    early.end()
    late.end()
    return {
        "events_per_s": early.events / early.cpu_s,
        "events_per_s_late": late.events / late.cpu_s,
        "late_to_early": (late.events / late.cpu_s) / (early.events / early.cpu_s),
        "batches_per_s": early.batches / early.cpu_s,
    }


def medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The median of each figure."""
    return {name: round(statistics.median(one[name] for one in rounds), 3) for name in rounds[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=400_000, help="how many events the long run has (default 400000)")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds whose median is printed (default 3)")
    arguments = parser.parse_args()
    rounds: dict[str, list[dict[str, float]]] = {kind: [] for kind in CHECKED}
    for _ in range(arguments.rounds):
        for kind, invariants in CHECKED.items():
            rounds[kind].append(measure(invariants=invariants, events=arguments.events))
    print(json.dumps({kind: medians(of_kind) for kind, of_kind in rounds.items()} | {"rounds": rounds}, indent=1))


if __name__ == "__main__":
    run(main)
