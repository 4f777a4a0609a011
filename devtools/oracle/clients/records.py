"""Topics as the checks of an application use them: created, filled, and read with read_committed."""

import time
from collections.abc import Callable, Sequence

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

PATIENCE_S = 60.0
POLL_S = 0.2


def create_topics(bootstrap: str, partitions: int, *names: str) -> None:
    """Creates topics with three replicas. Raises KafkaException."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for done in admin.create_topics([NewTopic(name, partitions, 3) for name in names]).values():
        done.result(PATIENCE_S)


def send(producer: Producer, topic: str, values: Sequence[str]) -> None:
    """Sends values without keys and waits for the acknowledgements. Raises TimeoutError."""
    for value in values:
        producer.produce(topic, value.encode())
        producer.poll(0)
    if producer.flush(PATIENCE_S):
        raise TimeoutError(f"records of {topic} were not acknowledged")


class CommittedReader:
    """Reads everything committed in a topic while it grows: `records` are (partition, key, value) in order, `ends` the
    offsets after the last record of each partition.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.records: list[tuple[int, str, str]] = []
        self.ends: dict[int, int] = {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "checks",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        self._consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])

    def read(self) -> int:
        """Reads the available records; returns the number of records so far."""
        while messages := self._consumer.consume(10_000, POLL_S):
            for message in messages:
                if message.error() is None:
                    partition, key, value = message.partition() or 0, message.key() or b"", message.value() or b""
                    self.records.append((partition, key.decode(), value.decode()))
                    self.ends[partition] = (message.offset() or 0) + 1
        return len(self.records)

    def read_until(self, count: int, patience_s: float) -> bool:
        """Whether this number of records arrives in time."""
        return wait_until(lambda: self.read() >= count, patience_s)

    def read_late(self, quiet_s: float) -> None:
        """Reads for a while longer, to find records beyond those expected."""
        deadline_s = time.monotonic() + quiet_s
        while time.monotonic() < deadline_s:
            self.read()

    def close(self) -> None:
        self._consumer.close()


def wait_until(holds: Callable[[], bool], patience_s: float = PATIENCE_S) -> bool:
    """Whether the condition becomes true in time."""
    deadline_s = time.monotonic() + patience_s
    while not (so := holds()) and time.monotonic() < deadline_s:
        time.sleep(POLL_S)
    return so
