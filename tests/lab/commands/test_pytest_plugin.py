"""The fixture `highwater`, used as in the tests of another project."""

import socket
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from broker_core.cluster import ClusterError
from broker_core.shell.grammar.parser import ShellError
from lab.testing import CommandFailed, Highwater

ORDERS = "kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3"


@pytest.mark.highwater(config={"zookeeper.session.timeout.ms": "1000"})
def test_record_outlives_its_leader(highwater: Highwater) -> None:
    assert highwater.run(ORDERS) == ["Created topic orders."]
    leader = highwater.view()["partitions"]["orders-0"]["leader"]
    producer = KafkaProducer(bootstrap_servers=highwater.bootstrap, acks="all")
    assert producer.send("orders", b"kept").get(30).offset == 0
    highwater.run(f"broker kill {leader}")
    others = sorted({1, 2, 3} - {leader})
    highwater.run(f'wait "isr orders-0 == {others}" 30s')
    assert producer.send("orders", b"and the next").get(30).offset == 1
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=highwater.bootstrap, auto_offset_reset="earliest")
    consumer.assign([TopicPartition("orders", 0)])
    values: list[bytes] = []
    while len(values) < 2:
        for records in consumer.poll(1_000).values():
            values += [record.value for record in records]
    consumer.close()
    assert values == [b"kept", b"and the next"]


@pytest.mark.highwater(brokers=(7,), config={"num.partitions": "4"}, era="2.4")
def test_another_cluster(highwater: Highwater) -> None:
    assert list(highwater.ports) == [7]
    highwater.run("kafka-topics.sh --create --topic orders --replication-factor 1")
    assert len(highwater.view()["partitions"]) == 4


def test_failed_command_reports_its_error(highwater: Highwater) -> None:
    highwater.run(ORDERS)
    with pytest.raises(CommandFailed, match="Topic 'orders' already exists"):
        highwater.run(ORDERS)
    with pytest.raises(ShellError, match="kafka-tropics"):
        highwater.run("kafka-tropics.sh --list")
    with pytest.raises(TimeoutError, match="has not ended within"):
        highwater.run("sleep 60s", timeout_s=0.1)
    assert highwater.run("kafka-topics.sh --list") == ["orders"]


def test_plugin_cleans_up(tmp_path: Path) -> None:
    cluster = Highwater(tmp_path, brokers=(1,))
    port = cluster.ports[1]
    socket.create_connection(("127.0.0.1", port)).close()
    cluster.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    with pytest.raises(ClusterError):
        Highwater(tmp_path / "other", brokers=())
