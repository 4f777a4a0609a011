"""Client operations other than sending records: their times here and on a real Kafka. Prints JSON.

The clusters take turns, round by round; each figure is the median of a side's rounds, in ms. The client is librdkafka,
by the confluent-kafka package.
"""

import argparse
import json
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.ending import run
from benchmarks.sides import JARS, both, find_jars
from devtools.oracle.clusters import Layout

LAYOUT = Layout(
    first_id=1,
    settings=("group.initial.rebalance.delay.ms=0", "offsets.topic.replication.factor=3", "min.insync.replicas=1"),
)
PATIENCE_S = 60
POLL_S = 0.02
FACTOR = 3
TOPICS = 30
TOPIC_PARTITIONS = 4
MANY_PARTITIONS = 200
LARGE_BYTES = 900_000
LARGE_COUNT = 100
COMMITS = 200
PAUSES = 100
TRANSACTIONS = 50
MEMBERS = 4


class Side:
    """One cluster, and names that no earlier round has used."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._number = 0
        self._stem = secrets.token_hex(3)
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    def name(self, what: str) -> str:
        self._number += 1
        return f"{what}-{self._stem}-{self._number}"

    def create(self, partitions: int, *names: str) -> None:
        """Topics, with leaders that clients know. Raises KafkaException and TimeoutError."""
        created = self._admin.create_topics([NewTopic(name, partitions, FACTOR) for name in names])
        for done in created.values():
            done.result(PATIENCE_S)
        deadline_s = time.monotonic() + PATIENCE_S
        while not all(self._is_known(name, partitions) for name in names):
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{names} have no leaders")
            time.sleep(POLL_S)

    def _is_known(self, name: str, partitions: int) -> bool:
        found = self._admin.list_topics(name, timeout=PATIENCE_S).topics[name].partitions
        return len(found) == partitions and all(each.leader > 0 and each.error is None for each in found.values())

    def delete(self, *names: str) -> None:
        """Raises KafkaException."""
        for done in self._admin.delete_topics(list(names)).values():
            done.result(PATIENCE_S)

    def producer(self, **settings: Any) -> Producer:
        return Producer({"bootstrap.servers": self._bootstrap, "linger.ms": 0, **settings})

    def consumer(self, group: str, **settings: Any) -> Consumer:
        fixed = {"bootstrap.servers": self._bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
        return Consumer({**fixed, "enable.auto.commit": False, "fetch.wait.max.ms": 100, **settings})

    def fill(self, topic: str, count: int, size: int, partitions: int = 1) -> None:
        """Records, acknowledged by all replicas. Raises TimeoutError."""
        producer = self.producer(acks="all")
        for number in range(count):
            producer.produce(topic, bytes(size), partition=number % partitions)
            producer.poll(0)
        if producer.flush(PATIENCE_S):
            raise TimeoutError(f"records of {topic} were not acknowledged")


def take(consumer: Consumer, count: int) -> None:
    """Reads `count` records. Raises TimeoutError."""
    deadline_s = time.monotonic() + PATIENCE_S
    while count > 0:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            count -= 1
        elif time.monotonic() > deadline_s:
            raise TimeoutError(f"{count} records have not come")


def many_topics(side: Side) -> float:
    """Creates topics, sends a record to each partition, reads them all, deletes the topics."""
    names = [side.name("many") for _ in range(TOPICS)]
    began_s = time.perf_counter()
    side.create(TOPIC_PARTITIONS, *names)
    for name in names:
        side.fill(name, TOPIC_PARTITIONS, 100, TOPIC_PARTITIONS)
    consumer = side.consumer("bench")
    consumer.assign([TopicPartition(name, each, 0) for name in names for each in range(TOPIC_PARTITIONS)])
    take(consumer, TOPICS * TOPIC_PARTITIONS)
    consumer.close()
    side.delete(*names)
    return time.perf_counter() - began_s


def many_partitions(side: Side) -> float:
    """Creates one topic of many partitions."""
    name = side.name("wide")
    began_s = time.perf_counter()
    side.create(MANY_PARTITIONS, name)
    taken_s = time.perf_counter() - began_s
    side.delete(name)
    return taken_s


def large_messages(side: Side) -> float:
    """Reads records of nearly 1 MB, with a fetch.max.bytes of 2 MB."""
    name = side.name("large")
    side.create(1, name)
    side.fill(name, LARGE_COUNT, LARGE_BYTES)
    consumer = side.consumer("bench", **{"fetch.max.bytes": 2_000_000, "max.partition.fetch.bytes": 1_000_000})
    consumer.assign([TopicPartition(name, 0, 0)])
    began_s = time.perf_counter()
    take(consumer, LARGE_COUNT)
    taken_s = time.perf_counter() - began_s
    consumer.close()
    side.delete(name)
    return taken_s


def commits(side: Side) -> float:
    """Commits offsets with metadata, one after the other, each acknowledged."""
    name = side.name("commits")
    side.create(1, name)
    consumer = side.consumer(side.name("group"))
    consumer.commit(offsets=[TopicPartition(name, 0, 0)], asynchronous=False)
    began_s = time.perf_counter()
    for offset in range(COMMITS):
        place = TopicPartition(name, 0, offset, f"at {offset}")
        consumer.commit(offsets=[place], asynchronous=False)
    taken_s = time.perf_counter() - began_s
    consumer.close()
    return taken_s


def rebalances(side: Side) -> float:
    """A group grows member by member, each waits for its share and commits, and shrinks again."""
    name, group = side.name("shares"), side.name("group")
    side.create(MEMBERS, name)
    members: list[Consumer] = []
    settings = {"heartbeat.interval.ms": 100, "session.timeout.ms": 6_000}
    began_s = time.perf_counter()
    for count in range(1, MEMBERS + 1):
        members.append(side.consumer(group, **settings))
        members[-1].subscribe([name])
        _wait_for_shares(members, MEMBERS // count)
        places = [TopicPartition(name, place.partition, 0) for place in members[-1].assignment()]
        members[-1].commit(offsets=places, asynchronous=False)
    while members:
        members.pop().close()
        if members:
            _wait_for_shares(members, MEMBERS // len(members))
    return time.perf_counter() - began_s


def _wait_for_shares(members: list[Consumer], least: int) -> None:
    """Waits until each member has at least `least` partitions and together they have all. Raises TimeoutError."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        for member in members:
            member.poll(0.01)
        sizes = [len(member.assignment()) for member in members]
        if min(sizes) >= least and sum(sizes) == MEMBERS:
            return
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"the members have {sizes} partitions")


def pauses(side: Side) -> float:
    """Reads a record, pauses the partition, resumes it, reads the next."""
    name = side.name("paused")
    side.create(1, name)
    side.fill(name, PAUSES, 100)
    consumer = side.consumer("bench")
    place = TopicPartition(name, 0, 0)
    consumer.assign([place])
    began_s = time.perf_counter()
    for _ in range(PAUSES):
        take(consumer, 1)
        consumer.pause([place])
        consumer.resume([place])
    taken_s = time.perf_counter() - began_s
    consumer.close()
    return taken_s


def pattern(side: Side) -> float:
    """A consumer of a pattern finds a topic that is created later, and reads its records."""
    stem = side.name("pattern")
    side.create(1, f"{stem}.first")
    consumer = side.consumer(side.name("group"), **{"topic.metadata.refresh.interval.ms": 200})
    consumer.subscribe([f"^{stem}\\..*"])
    side.fill(f"{stem}.first", 1, 100)
    take(consumer, 1)
    began_s = time.perf_counter()
    side.create(TOPIC_PARTITIONS, f"{stem}.second")
    side.fill(f"{stem}.second", TOPIC_PARTITIONS, 100, TOPIC_PARTITIONS)
    take(consumer, TOPIC_PARTITIONS)
    taken_s = time.perf_counter() - began_s
    consumer.close()
    return taken_s


def transactions(side: Side) -> float:
    """Commits transactions that have written to all partitions of a topic; the commits alone are timed."""
    name = side.name("transactions")
    side.create(TOPIC_PARTITIONS, name)
    producer = side.producer(**{"transactional.id": name})
    producer.init_transactions(PATIENCE_S)
    taken_s = 0.0
    for _ in range(TRANSACTIONS):
        producer.begin_transaction()
        for partition in range(TOPIC_PARTITIONS):
            producer.produce(name, bytes(100), partition=partition)
        began_s = time.perf_counter()
        producer.commit_transaction(PATIENCE_S)
        taken_s += time.perf_counter() - began_s
    return taken_s


WORKLOADS: dict[str, Callable[[Side], float]] = {
    "many_topics": many_topics,
    "many_partitions": many_partitions,
    "large_messages": large_messages,
    "commits": commits,
    "rebalances": rebalances,
    "pauses": pauses,
    "pattern": pattern,
    "transactions": transactions,
}


def measure(bootstrap: dict[str, str], rounds: int, names: list[str]) -> dict[str, Any]:
    """`{workload: {side: ms, "by_real": ratio}}`. The first round of each workload is not counted: it creates the
    internal topics and lets the JVM compile.
    """
    sides = {name: Side(servers) for name, servers in bootstrap.items()}
    measured: dict[str, Any] = {}
    for workload in names:
        found: dict[str, list[float]] = {side: [] for side in sides}
        for _ in range(1 + rounds):
            for side, cluster in sides.items():
                found[side].append(WORKLOADS[workload](cluster) * 1_000)
        medians = {side: round(statistics.median(values[1:]), 1) for side, values in found.items()}
        by_real = {"by_real": round(medians["ours"] / medians["real"], 2)} if "real" in medians else {}
        measured[workload] = medians | by_real
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often the sides take turns")
    parser.add_argument("--only", default=",".join(WORKLOADS), help="some of the workloads (default: all)")
    parser.add_argument("--jars", type=Path, default=JARS, help="where a real Kafka's jars are kept")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="highwater-bench-") as folder,
        both(LAYOUT, find_jars(arguments.jars), Path(folder)) as sides,
    ):
        measured = measure(sides.bootstrap, arguments.rounds, arguments.only.split(","))
    print(json.dumps(measured, indent=1))


if __name__ == "__main__":
    run(main)
