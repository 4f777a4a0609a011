"""The TCP port: what a librdkafka client can produce and consume, and how long a small produce takes. Prints JSON.

`manage.py cluster` against librdkafka's mock cluster, which runs in the client's own process and stores next to
nothing, and against a real Apache Kafka where its jars are, or Maven to fetch them. Each figure is the median
of some rounds in which the sides take turns.

What each side does: ours writes files, the input log and the journal, and checks each batch as Kafka does; all clusters
have three brokers. Wall time; MB are 10^6 bytes of values.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import confluent_kafka

from benchmarks.ending import run
from benchmarks.librdkafka import Producer, consume_s, create_topic
from benchmarks.sides import JARS, both, find_jars
from devtools.oracle.clusters import Layout

LAYOUT = Layout(first_id=1)
MOCK = {"test.mock.num.brokers": str(LAYOUT.brokers)}
SIZES = (100, 1024)
WARM_UP_MESSAGES = 20_000
SMALL_PRODUCES = 300
THREEFOLD_SHARE = 0.4
"""Required throughput with replication factor 3, as a share of that with factor 1."""
#: a side of a comparison: its bootstrap servers, None for the mock
Sides = dict[str, str | None]


def settings_of(bootstrap: str | None, acks: str) -> dict[str, str]:
    """A producer's."""
    return {"acks": acks, **(MOCK if bootstrap is None else {"bootstrap.servers": bootstrap})}


def produce(bootstrap: str | None, topic: str, size: int, megabytes: float, acks: str) -> float:
    """MB/s from the first message handed over to the last one acknowledged."""
    producer = Producer(topic, size, settings_of(bootstrap, acks))
    try:
        producer.send(1)
        count = int(megabytes * 1e6 / size)
        began_s = time.perf_counter()
        producer.send(count)
        return count * size / (time.perf_counter() - began_s) / 1e6
    finally:
        producer.close()


def small_produce_ms(bootstrap: str | None, topic: str) -> float:
    """The median time from handing over one message of 100 bytes to its acknowledgement, acks=all."""
    producer = confluent_kafka.Producer({**settings_of(bootstrap, "all"), "linger.ms": "0"})
    taken = []
    for _ in range(1 + SMALL_PRODUCES):
        began_s = time.perf_counter()
        producer.produce(topic, bytes(100), partition=0)
        producer.flush()
        taken.append((time.perf_counter() - began_s) * 1e3)
    return statistics.median(taken)


def by_turns(sides: Sides, rounds: int, measure: Callable[[str | None], float]) -> Any:
    """The median of each side's rounds."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, bootstrap in sides.items():
            found[name].append(measure(bootstrap))
    return {name: round(statistics.median(values), 2) for name, values in found.items()}


def measure_all(clusters: dict[str, str], rounds: int, megabytes: float) -> dict[str, Any]:
    """All figures: `{what: {size: {side: figure}}}`."""
    for bootstrap in clusters.values():
        for topic, factor in (("one-100", 1), ("one-1024", 1), ("three", 3), ("small", 3)):
            create_topic(bootstrap, topic, factor)
        produce(bootstrap, "three", 100, WARM_UP_MESSAGES * 100 / 1e6, "all")
    sides: Sides = {**clusters}
    measured: dict[str, Any] = {
        "small_produce_ms": by_turns(sides, rounds, partial(small_produce_ms, topic="small")),
        "produce": {},
        "produce_all": {},
        "consume": {},
    }
    for size in SIZES:
        # Large messages go faster, so there are more of them.
        amount = megabytes if size == SIZES[0] else 2 * megabytes
        one = partial(produce, topic=f"one-{size}", size=size, megabytes=amount, acks="1")
        three = partial(produce, topic="three", size=size, megabytes=THREEFOLD_SHARE * amount, acks="all")
        taken = partial(consume, topic=f"one-{size}", size=size, megabytes=amount)
        measured["produce"][str(size)] = by_turns({**sides, "mock": None}, rounds, one)
        measured["produce_all"][str(size)] = by_turns(sides, rounds, three)
        measured["consume"][str(size)] = by_turns(sides, rounds, taken)
    return measured


def consume(bootstrap: str | None, topic: str, size: int, megabytes: float) -> float:
    """MB/s of what was produced."""
    count = int(megabytes * 1e6 / size)
    return count * size / consume_s(str(bootstrap), topic, count) / 1e6


def ratios(measured: dict[str, Any]) -> dict[str, Any]:
    """Ours by each other side, beside the two."""
    found: dict[str, Any] = {}
    for name, figures in measured.items():
        if "ours" in figures:
            others = [side for side in figures if side != "ours"]
            found[name] = figures | {f"by_{side}": round(figures["ours"] / figures[side], 2) for side in others}
        else:
            found[name] = ratios(figures)
    return found


def cpu_s(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often the sides take turns")
    parser.add_argument("--megabytes", type=float, default=100, help="of messages of 100 bytes in a round")
    parser.add_argument("--jars", type=Path, default=JARS, help="where a real Kafka's jars are kept")
    parser.add_argument("--without-real", action="store_true", help="leave the real Kafka out")
    arguments = parser.parse_args()
    jars = None if arguments.without_real else find_jars(arguments.jars)
    with tempfile.TemporaryDirectory(prefix="highwater-bench-") as folder, both(LAYOUT, jars, Path(folder)) as sides:
        measured = ratios(measure_all(sides.bootstrap, arguments.rounds, arguments.megabytes))
        measured["our_cpu_s"] = round(cpu_s(sides.our_pid), 1)
    print(json.dumps(measured, indent=1))


if __name__ == "__main__":
    run(main)
