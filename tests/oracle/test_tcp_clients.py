"""Clients join over TCP: a group continues where it was, invalid requests close the connection, everything is
recorded.
"""

import json
import select
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from broker_core.wire.framing import decode_response, encode_request
from broker_core.wire.schemas import BY_NAME
from lab.testing import Highwater

PATIENCE_S = 60.0
COUNT = 50


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Highwater]:
    settings = {
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.num.partitions": "3",
        "zookeeper.session.timeout.ms": "3000",
    }
    running = Highwater(tmp_path_factory.mktemp("runs"), config=settings)
    yield running
    running.close()


def create(cluster: Highwater, topic: str, partitions: int = 3) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    for created in admin.create_topics([NewTopic(topic, partitions, 3)]).values():
        created.result(PATIENCE_S)


def values(prefix: str) -> list[str]:
    return [f"{prefix}{number}" for number in range(COUNT)]


def produce(cluster: Highwater, topic: str, texts: list[str], **settings: Any) -> None:
    failed: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failed.append(error)

    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", **settings})
    for text in texts:
        producer.produce(topic, text.encode(), callback=on_delivery)
    assert producer.flush(PATIENCE_S) == 0
    assert failed == []


def consume(cluster: Highwater, topic: str, count: int, **settings: Any) -> list[str]:
    """What a member of a group of its own reads, sorted; its offsets are committed."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": f"group-{topic}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **settings,
        }
    )
    consumer.subscribe([topic])
    got: list[str] = []
    deadline_s = time.monotonic() + PATIENCE_S
    while len(got) < count and time.monotonic() < deadline_s:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            got.append((message.value() or b"").decode())
    consumer.commit(asynchronous=False)
    consumer.close()
    return sorted(got)


def test_group_resumes_at_its_committed_offsets(cluster: Highwater) -> None:
    create(cluster, "twice", 1)
    produce(cluster, "twice", ["one"])
    assert consume(cluster, "twice", 1) == ["one"]
    produce(cluster, "twice", ["two"])
    assert consume(cluster, "twice", 1) == ["two"]
    reader = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "group-twice"})
    (committed,) = reader.committed([TopicPartition("twice", 0)], timeout=PATIENCE_S)
    reader.close()
    assert committed.offset == 2


def test_malformed_request_over_tcp_closes_the_connection(cluster: Highwater) -> None:
    host, port = cluster.bootstrap.split(",")[0].split(":")
    for data in (b"GET / HTTP/1.1\r\n\r\n", struct.pack(">i", -1), struct.pack(">i", 3) + b"abc"):
        with socket.create_connection((host, int(port)), PATIENCE_S) as connection:
            connection.sendall(data)
            assert connection.recv(1) == b""


def test_client_that_never_reads_does_not_block_others(cluster: Highwater) -> None:
    host, port = cluster.bootstrap.split(",")[0].split(":")
    api = BY_NAME["ApiVersions"]
    frame = encode_request(api, 0, api.request.type(), correlation_id=1)
    with socket.create_connection((host, int(port))) as deaf:
        deaf.setblocking(False)
        sent = 0
        # it is read from until its answers are stuck, and not a byte further
        while select.select([], [deaf], [], 2.0)[1]:
            sent += deaf.send(frame * 1_000)
            assert sent < 64 * 1024 * 1024
        with socket.create_connection((host, int(port)), PATIENCE_S) as other:
            other.sendall(frame)
            (length,) = struct.unpack(">i", other.recv(4))
            data = b""
            while len(data) < length:
                data += other.recv(length - len(data))
    assert decode_response(api, 0, data)[1].error_code == 0


def test_client_requests_are_recorded(tmp_path: Path) -> None:
    running = Highwater(tmp_path, brokers=(1,))
    produce(running, "kept", ["x"])
    running.close()
    (inputs,) = tmp_path.glob("*/main/recording/inputs-0/*.log")
    assert b'"frame"' in inputs.read_bytes()
    assert json.loads(next(tmp_path.glob("*/main/recording/checkpoints/*.json")).read_text())["inputs"] > 0


def test_consumer_with_a_rack_reads_from_its_replica_while_the_leader_is_suspended(tmp_path: Path) -> None:
    """KIP-392: the leader returns the replica in the rack of `client.rack`, and librdkafka continues there without the
    leader.
    """
    selector = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
    racks = {broker_id: {"broker.rack": f"r{broker_id}"} for broker_id in (1, 2, 3)}
    cluster = Highwater(tmp_path / "racks", config=selector, config_of_broker=racks)
    try:
        cluster.run("kafka-topics.sh --create --topic racks --replica-assignment 1:2:3")
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
        for number in range(COUNT):
            producer.produce("racks", str(number).encode())
        assert producer.flush(PATIENCE_S) == 0
        settings = {"bootstrap.servers": cluster.bootstrap, "group.id": "racks", "client.rack": "r3"}
        consumer = Consumer({**settings, "enable.auto.commit": "false"})
        consumer.assign([TopicPartition("racks", 0, 0)])
        assert [read(consumer) for _ in range(COUNT)] == [str(number) for number in range(COUNT)]
        cluster.run("broker freeze 1")
        consumer.seek(TopicPartition("racks", 0, 0))
        assert [read(consumer) for _ in range(COUNT)] == [str(number) for number in range(COUNT)]
        consumer.close()
    finally:
        cluster.close()


def read(consumer: Consumer) -> str:
    """The next record's value."""
    message = consumer.poll(PATIENCE_S)
    assert message is not None and message.error() is None
    value = message.value()
    assert value is not None
    return value.decode()
