"""The data of Kafka's znodes: bytes as a Kafka 3.9 cluster wrote them, and errors for invalid data."""

import pytest

from broker_core.zk.znodes import (
    BrokerIdZnode,
    ClusterIdZnode,
    ConfigChangeZnode,
    ConfigZnode,
    ControllerEpochZnode,
    ControllerZnode,
    DeleteTopicZnode,
    FeatureZnode,
    IsrChangeNotificationZnode,
    LogDirEventNotificationZnode,
    PartitionEntry,
    PartitionStateZnode,
    PreferredReplicaElectionZnode,
    ProducerIdBlockZnode,
    ReassignPartitionsZnode,
    TopicZnode,
    ZnodeDataError,
)

AS_KAFKA_WRITES = [
    (
        ControllerZnode(broker_id=1, timestamp="1795248018118"),
        b'{"version":2,"brokerid":1,"timestamp":"1795248018118","kraftControllerEpoch":-1}',
    ),
    (
        BrokerIdZnode(
            endpoints=("PLAINTEXT://127.0.0.1:9092",), port=9092, host="127.0.0.1", timestamp="1795248018118"
        ),
        b'{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},'
        b'"endpoints":["PLAINTEXT://127.0.0.1:9092"],"jmx_port":-1,"port":9092,"host":"127.0.0.1","version":5,'
        b'"timestamp":"1795248018118"}',
    ),
    (
        TopicZnode(partitions={0: (2, 3, 1), 1: (3, 1, 2)}, topic_id="BYCYMpkBTy-2YRQkGn2XNw"),
        b'{"partitions":{"0":[2,3,1],"1":[3,1,2]},"topic_id":"BYCYMpkBTy-2YRQkGn2XNw","adding_replicas":{},'
        b'"removing_replicas":{},"version":3}',
    ),
    (
        PartitionStateZnode(controller_epoch=1, leader=3, leader_epoch=0, isr=(3, 1, 2)),
        b'{"controller_epoch":1,"leader":3,"version":1,"leader_epoch":0,"isr":[3,1,2]}',
    ),
    (
        PartitionStateZnode(controller_epoch=1, leader=2, leader_recovery_state=1, leader_epoch=1, isr=(2,)),
        b'{"controller_epoch":1,"leader":2,"version":1,"leader_recovery_state":1,"leader_epoch":1,"isr":[2]}',
    ),
    (ClusterIdZnode(id="gDiADd36SjGdyrrQul5LrQ"), b'{"version":"1","id":"gDiADd36SjGdyrrQul5LrQ"}'),
    (FeatureZnode(), b'{"features":{},"version":2,"status":1}'),
    (
        ProducerIdBlockZnode(broker=3, block_start="1000", block_end="1999"),
        b'{"version":1,"broker":3,"block_start":"1000","block_end":"1999"}',
    ),
    (ConfigZnode(config={"retention.ms": "-1"}), b'{"version":1,"config":{"retention.ms":"-1"}}'),
    (ConfigChangeZnode(entity_path="topics/demo"), b'{"version":2,"entity_path":"topics/demo"}'),
    (
        IsrChangeNotificationZnode(partitions=(PartitionEntry("demo", 1),)),
        b'{"version":1,"partitions":[{"topic":"demo","partition":1}]}',
    ),
]


@pytest.mark.parametrize(("znode", "data"), AS_KAFKA_WRITES, ids=lambda value: type(value).__name__)
def test_bytes_are_those_of_a_real_cluster(znode, data) -> None:
    assert znode.encode() == data
    assert type(znode)._decode("/somewhere", data) == znode


def test_rack_is_written_as_by_kafka_and_only_if_set() -> None:
    znode = BrokerIdZnode(rack="r1", endpoints=("PLAINTEXT://h1:9092",), port=9092, host="h1", timestamp="1")
    assert b'"PLAINTEXT"},"rack":"r1","endpoints"' in znode.encode()


def test_controller_epoch_is_plain_text() -> None:
    assert ControllerEpochZnode.encode(12) == b"12"
    assert ControllerEpochZnode.decode(b"12") == 12


def test_older_versions_are_read() -> None:
    assert ControllerZnode.decode(b'{"version":1,"brokerid":1,"timestamp":"1795248761772"}').broker_id == 1
    topic = TopicZnode.decode("demo", b'{"version":1,"partitions":{"0":[1,2,3]}}')
    assert (topic.partitions, topic.adding_replicas, topic.version) == ({0: (1, 2, 3)}, {}, 1)


def test_requests_of_old_tools_are_parsed() -> None:
    moved = ReassignPartitionsZnode.decode(
        b'{"version":1,"partitions":[{"topic":"demo","partition":0,"replicas":[4,5],"log_dirs":["any","any"]}]}'
    )
    assert moved.partitions[0].replicas == (4, 5)
    elected = PreferredReplicaElectionZnode.decode(PreferredReplicaElectionZnode.EXAMPLE.encode())
    assert elected.partitions == (PartitionEntry("demo", 0),)
    assert LogDirEventNotificationZnode.decode("/x", b'{"version":1,"broker":1,"event":1}').broker == 1


def test_paths_of_znodes() -> None:
    assert BrokerIdZnode.path(1) == "/brokers/ids/1"
    assert TopicZnode.path("demo") == "/brokers/topics/demo"
    assert PartitionStateZnode.path("demo", 0) == "/brokers/topics/demo/partitions/0/state"
    assert ConfigZnode.path("brokers", ConfigZnode.DEFAULT_ENTITY) == "/config/brokers/<default>"
    assert DeleteTopicZnode.path("demo") == "/admin/delete_topics/demo"


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b"{", b"\xff\xfe", b'{"version":2}', b'{"brokerid":"one"}'])
def test_malformed_znode_gives_one_clear_error(data) -> None:
    with pytest.raises(ZnodeDataError) as caught:
        ControllerZnode.decode(data)
    message = str(caught.value)
    assert message.startswith('/controller should hold JSON such as {"version":2,"brokerid":1')
    assert "but holds" in message


def test_malformed_controller_epoch_gives_one_clear_error() -> None:
    with pytest.raises(ZnodeDataError, match="/controller_epoch should hold a whole number, but holds 'twelve'"):
        ControllerEpochZnode.decode(b"twelve")
