"""Clients of Kafka during failovers: while they produce, the leader is killed every two seconds."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaProducer

from lab.testing import Highwater

BETWEEN_KILLS_S = 2.0
KILLS = 30
"""A minute; six seconds outside of `make soak`."""
MIN_KILLS = 3
"""As many as there are brokers: each of them is the leader once."""
BETWEEN_RECORDS_S = 0.01
PATIENCE_S = 120.0
SAFE, LOST = 5, 20

#: A client sends "0", "1", ... until it is stopped and returns how many were acknowledged, which must be all.
Client = Callable[[str, str, threading.Event], int]


def with_confluent_kafka(bootstrap: str, topic: str, is_over: threading.Event) -> int:
    acknowledged: list[int] = []
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True, "linger.ms": 5})
    sent = 0
    while not is_over.wait(BETWEEN_RECORDS_S):
        producer.produce(topic, str(sent), callback=lambda error, _: None if error else acknowledged.append(1))
        producer.poll(0)
        sent += 1
    assert producer.flush(PATIENCE_S) == 0
    assert len(acknowledged) == sent
    return sent


def with_kafka_python(bootstrap: str, topic: str, is_over: threading.Event) -> int:
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", enable_idempotence=True, linger_ms=5)
    sent: list[Any] = []
    while not is_over.wait(BETWEEN_RECORDS_S):
        sent.append(producer.send(topic, str(len(sent)).encode()))
    for future in sent:
        future.get(PATIENCE_S)
    producer.close()
    return len(sent)


def with_aiokafka(bootstrap: str, topic: str, is_over: threading.Event) -> int:
    async def produce() -> int:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", enable_idempotence=True, linger_ms=5)
        await producer.start()
        sent: list[Any] = []
        while not is_over.is_set():
            sent.append(await producer.send(topic, str(len(sent)).encode()))
            await asyncio.sleep(BETWEEN_RECORDS_S)
        for future in sent:
            await asyncio.wait_for(future, PATIENCE_S)
        await producer.stop()
        return len(sent)

    return asyncio.run(produce())


CLIENTS: dict[str, Client] = {
    "confluent-kafka": with_confluent_kafka,
    "kafka-python": with_kafka_python,
    "aiokafka": with_aiokafka,
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Highwater]:
    settings = {
        "zookeeper.session.timeout.ms": "1000",
        "transaction.state.log.num.partitions": "3",
        # However slow clients are: a follower whose link is cut stays in the ISR until they have sent what they send.
        "replica.lag.time.max.ms": "300000",
    }
    running = Highwater(tmp_path, config=settings)
    yield running
    running.close()


def create(cluster: Highwater, topic: str) -> None:
    """One partition with the same order of replicas for all, so that one broker leads them all."""
    cluster.run(
        f"kafka-topics.sh --create --topic {topic} --replica-assignment 1:2:3 --config min.insync.replicas=2",
        PATIENCE_S,
    )


def read(cluster: Highwater, topic: str) -> list[int]:
    """All that the topic holds, in order."""
    partition = TopicPartition(topic, 0, 0)
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "reader", "enable.auto.commit": False})
    _, end = consumer.get_watermark_offsets(partition, timeout=PATIENCE_S)
    consumer.assign([partition])
    got: list[int] = []
    deadline_s = time.monotonic() + PATIENCE_S
    while len(got) < end and time.monotonic() < deadline_s:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            got.append(int(message.value() or b""))
    consumer.close()
    return got


def kill_the_leader(cluster: Highwater, topics: list[str]) -> None:
    """The broker that leads the topics dies, the others take over, and it comes back into all ISRs."""
    leader = cluster.view()["partitions"][f"{topics[0]}-0"]["leader"]
    cluster.run(f"broker kill {leader}", PATIENCE_S)
    cluster.run(f"broker start {leader}", PATIENCE_S)
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        partitions = cluster.view()["partitions"]
        if all(len(partitions[f"{topic}-0"]["isr"]) == 3 for topic in topics):
            return
        time.sleep(0.05)
    raise AssertionError(f"broker {leader} does not come back into the ISRs")


@pytest.mark.soak
def test_failover_over_tcp_loses_and_duplicates_nothing(cluster: Highwater, rounds: Callable[[int], int]) -> None:
    for topic in CLIENTS:
        create(cluster, topic)
    is_over = threading.Event()
    acknowledged: dict[str, int] = {}

    def run(topic: str, client: Client) -> None:
        acknowledged[topic] = client(cluster.bootstrap, topic, is_over)

    threads = [threading.Thread(target=run, args=each, daemon=True) for each in CLIENTS.items()]
    for thread in threads:
        thread.start()
    kills = max(MIN_KILLS, rounds(KILLS))
    for _ in range(kills):
        next_s = time.monotonic() + BETWEEN_KILLS_S
        kill_the_leader(cluster, list(CLIENTS))
        time.sleep(max(0.0, next_s - time.monotonic()))
    is_over.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    view = cluster.view()
    for topic in CLIENTS:
        assert read(cluster, topic) == list(range(acknowledged[topic])), topic
        assert view["partitions"][f"{topic}-0"]["leader_epoch"] >= kills
    assert (view["alarms"], view["losses"]) == ({}, {})


def test_records_lost_with_acks_1_are_counted(cluster: Highwater) -> None:
    for topic in CLIENTS:
        create(cluster, topic)
    send_a_few(cluster.bootstrap, range(SAFE), "all")
    for follower in (2, 3):
        cluster.run(f"link cut 1 {follower}")
    send_a_few(cluster.bootstrap, range(SAFE, SAFE + LOST), 1)
    cluster.run("broker kill 1")
    cluster.run('wait "controller != 1" 60s', PATIENCE_S)
    for topic in CLIENTS:
        cluster.run(f'wait "leader {topic}-0 == 2" 60s', PATIENCE_S)
        assert read(cluster, topic) == list(range(SAFE))
    view = cluster.view()
    assert view["alarms"] == {}
    assert {loss["partition"]: loss["count"] for loss in view["losses"].values()} == {f"{t}-0": LOST for t in CLIENTS}


def send_a_few(bootstrap: str, numbers: range, acks: str | int) -> None:
    """Each client sends them to its topic; each record is acknowledged."""
    values = [str(number).encode() for number in numbers]
    confluent = Producer({"bootstrap.servers": bootstrap, "acks": acks})
    failures: list[object] = []
    for value in values:
        confluent.produce("confluent-kafka", value, callback=lambda error, _: failures.append(error) if error else None)
    assert confluent.flush(PATIENCE_S) == 0
    assert failures == []
    python = KafkaProducer(bootstrap_servers=bootstrap, acks=acks, enable_idempotence=False)
    for future in [python.send("kafka-python", value) for value in values]:
        future.get(PATIENCE_S)
    python.close()

    async def with_aio() -> None:
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks=acks) as aio:
            for value in values:
                await asyncio.wait_for(aio.send_and_wait("aiokafka", value), PATIENCE_S)

    asyncio.run(with_aio())
