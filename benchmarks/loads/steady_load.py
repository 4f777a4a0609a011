"""An application that writes at a constant rate and reads what it wrote. Prints how many were acknowledged, as JSON.

python -m benchmarks.loads.steady_load BOOTSTRAP --seconds 20 --rate 1000
"""

import argparse
import json
import threading
import time

from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

TOPIC, PARTITIONS, FACTOR = "steady", 3, 3
VALUE = b"x" * 100
POLL_S = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=1_000.0, help="records a second")
    given = parser.parse_args()
    admin = AdminClient({"bootstrap.servers": given.bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, FACTOR)])[TOPIC].result()
    ended = threading.Event()
    reader = threading.Thread(target=read, args=(given.bootstrap, ended))
    reader.start()
    acknowledged = write(given.bootstrap, given.seconds, given.rate)
    ended.set()
    reader.join()
    print(json.dumps({"acknowledged": acknowledged}))


def write(bootstrap: str, seconds: float, rate: float) -> int:
    """Writes with acks=all; returns how many records were acknowledged."""
    acknowledged = 0

    def delivered(error: KafkaError | None, _: Message) -> None:
        nonlocal acknowledged
        acknowledged += error is None

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 5})
    began_s, sent = time.monotonic(), 0
    while (elapsed_s := time.monotonic() - began_s) < seconds:
        for _ in range(int(elapsed_s * rate) - sent):
            producer.produce(TOPIC, VALUE, on_delivery=delivered)
            sent += 1
        producer.poll(0.005)
    producer.flush()
    return acknowledged


def read(bootstrap: str, ended: threading.Event) -> None:
    """Reads in a group of its own, as a second application would."""
    settings = {"bootstrap.servers": bootstrap, "group.id": TOPIC, "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([TOPIC])
    while not ended.is_set():
        consumer.poll(POLL_S)
    consumer.close()


if __name__ == "__main__":
    main()
