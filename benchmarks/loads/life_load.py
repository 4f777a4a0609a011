"""What applications do for hours, against one cluster: six clients in groups and transactions, topics that come and go.

Two transactional producers, a producer to a compacted and to a short-lived topic, three consumers of one group; and an
administrator who creates topics in waves and deletes the wave before. Prints JSON.
"""

import argparse
import json
import threading
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

PAYMENTS, LATEST, LOGS, CLOCK = "payments", "latest", "logs", "clock"
PARTITIONS = 4
FACTOR = 3
WAVE_PARTITIONS = 2
RECORDS_PER_TRANSACTION = 20
KEYS = 500
VALUE = b"x" * 100
ADMIN_S = 60.0
DRAIN_S = 60.0
TOPICS = {
    PAYMENTS: {},
    LATEST: {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.1"},
    LOGS: {"retention.ms": "20000", "segment.bytes": "1048576"},
    CLOCK: {"message.timestamp.type": "LogAppendTime"},
}


class Load:
    """Counts what happened. `rate`: records a second of all producers."""

    def __init__(self, bootstrap: str, seconds: float, topics: int, rate: float) -> None:
        self._bootstrap = bootstrap
        self._seconds = seconds
        self._topics = topics
        self._rate = rate
        self._ends_s = 0.0
        self._failures: list[str] = []
        self._committed = self._acknowledged = 0
        self._consumed: set[tuple[str, int, int]] = set()
        self._consumers_end = threading.Event()
        self._lock = threading.Lock()
        self._clock_errors_ms: list[float] = []
        self._commits_ms: list[float] = []
        self._waves_ms: list[float] = []
        self._created = 0

    def run(self) -> dict[str, Any]:
        """Runs all clients to their ends and returns the counts."""
        admin = AdminClient({"bootstrap.servers": self._bootstrap})
        self._create(admin, [NewTopic(name, PARTITIONS, FACTOR, config=config) for name, config in TOPICS.items()])
        self._ends_s = time.monotonic() + self._seconds
        consumers = [threading.Thread(target=self._guarded(self._consume)) for _ in range(3)]
        jobs: list[Callable[[], None]] = [
            lambda: self._pay("payer-1"),
            lambda: self._pay("payer-2"),
            self._write,
            self._ask_the_time,
            lambda: self._come_and_go(admin),
        ]
        others = [threading.Thread(target=self._guarded(job)) for job in jobs]
        for thread in (*consumers, *others):
            thread.start()
        for thread in others:
            thread.join()
        give_up_s = time.monotonic() + DRAIN_S
        while len(self._consumed) < self._committed and time.monotonic() < give_up_s:
            time.sleep(0.2)
        self._consumers_end.set()
        for thread in consumers:
            thread.join()
        return {
            "acknowledged": self._acknowledged,
            "committed": self._committed,
            "consumed": len(self._consumed),
            "topics": self._created,
            "clock_worst_ms": round(max(self._clock_errors_ms, default=0.0), 1),
            "commit_p50_ms": _middle(self._commits_ms),
            "wave_p50_ms": _middle(self._waves_ms),
            "failures": self._failures[:10],
            "failure_count": len(self._failures),
        }

    def _guarded(self, job: Callable[[], None]) -> Callable[[], None]:
        def work() -> None:
            try:
                job()
            except Exception as error:
                self._failures.append(f"{type(error).__name__}: {error}")

        return work

    @property
    def _is_running(self) -> bool:
        return time.monotonic() < self._ends_s

    def _count(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._acknowledged += 1
        else:
            self._failures.append(str(error))

    def _pay(self, name: str) -> None:
        """Transactions of some records, a third of all records together with those of the other payer; at least one."""
        producer = Producer({"bootstrap.servers": self._bootstrap, "transactional.id": name, "linger.ms": 5})
        producer.init_transactions(ADMIN_S)
        every_s = RECORDS_PER_TRANSACTION * 6 / self._rate
        due_s = time.monotonic()
        is_first = True
        while is_first or self._is_running:
            is_first = False
            producer.begin_transaction()
            for number in range(RECORDS_PER_TRANSACTION):
                producer.produce(PAYMENTS, VALUE, key=f"{name}-{number}", on_delivery=self._count)
            began_s = time.monotonic()
            producer.commit_transaction(ADMIN_S)
            self._commits_ms.append((time.monotonic() - began_s) * 1_000)
            with self._lock:
                self._committed += RECORDS_PER_TRANSACTION
            due_s += every_s
            time.sleep(max(0.0, due_s - time.monotonic()))

    def _write(self) -> None:
        """To the compacted and the short-lived topic, two thirds of all records."""
        producer = Producer({"bootstrap.servers": self._bootstrap, "acks": "all", "linger.ms": 20})
        began_s = time.monotonic()
        sent = 0
        while self._is_running:
            while sent < (time.monotonic() - began_s) * self._rate * 2 / 3:
                producer.produce((LATEST, LOGS)[sent % 2], VALUE, key=str(sent % KEYS), on_delivery=self._count)
                sent += 1
            producer.poll(0.005)
        producer.flush(ADMIN_S)

    def _ask_the_time(self) -> None:
        """Compares LogAppendTime with the clock of this machine, between sending and the acknowledgement."""
        producer = Producer({"bootstrap.servers": self._bootstrap, "acks": "all", "linger.ms": 0})
        while self._is_running:
            answered = threading.Event()

            def acknowledged(
                error: KafkaError | None,
                message: Message,
                sent_ms: float = time.time() * 1_000,
                answered: threading.Event = answered,
            ) -> None:
                self._count(error, message)
                append_ms = message.timestamp()[1]
                self._clock_errors_ms.append(max(0.0, sent_ms - append_ms - 1, append_ms - time.time() * 1_000))
                answered.set()

            producer.produce(CLOCK, VALUE, on_delivery=acknowledged)
            while not answered.is_set() and producer.poll(0.005) >= 0:
                pass
            time.sleep(0.25)

    def _consume(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "accounts",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe([PAYMENTS])
        while not self._consumers_end.is_set():
            message = consumer.poll(0.2)
            if message is None:
                continue
            error = message.error()
            if error is None:
                self._consumed.add((message.topic() or "", message.partition() or 0, message.offset() or 0))
            else:
                self._failures.append(str(error))
        consumer.close()

    def _come_and_go(self, admin: AdminClient) -> None:
        """Waves of topics, evenly over the time; each deletes the one before."""
        waves = max(1, round(self._seconds / max(2.0, self._seconds / 25)))
        size = -(-self._topics // waves)
        before: list[str] = []
        began_s = time.monotonic()
        for wave in range(waves):
            names = [f"wave-{wave}-{number}" for number in range(min(size, self._topics - self._created))]
            if not names or (before and not self._is_running):
                break
            at_s = time.monotonic()
            self._create(admin, [NewTopic(name, WAVE_PARTITIONS, FACTOR) for name in names])
            self._waves_ms.append((time.monotonic() - at_s) * 1_000)
            self._created += len(names)
            if before:
                self._wait(admin.delete_topics(before, operation_timeout=ADMIN_S))
            before = names
            time.sleep(max(0.0, began_s + (wave + 1) * self._seconds / waves - time.monotonic()))
        if before:
            self._wait(admin.delete_topics(before, operation_timeout=ADMIN_S))

    def _create(self, admin: AdminClient, topics: list[NewTopic]) -> None:
        self._wait(admin.create_topics(topics, operation_timeout=ADMIN_S))

    def _wait(self, futures: dict[str, Any]) -> None:
        for name, future in futures.items():
            try:
                future.result(ADMIN_S)
            except KafkaException as error:
                self._failures.append(f"{name}: {error}")


def _middle(values: list[float]) -> float:
    return round(sorted(values)[len(values) // 2], 1) if values else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--topics", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True)
    arguments = parser.parse_args()
    load = Load(arguments.bootstrap, arguments.seconds, arguments.topics, arguments.rate)
    print(json.dumps(load.run()))


if __name__ == "__main__":
    main()
