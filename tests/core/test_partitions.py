"""Names of partitions and replicas, as text and back."""

import pytest

from broker_core.partitions import (
    ReplicaId,
    TopicPartition,
    broker_id_of,
    broker_node,
    is_broker,
    parse_requested,
    partition_of,
    requested_partition,
    sorted_partitions,
    split_replica,
    topic_of,
)


@pytest.mark.parametrize("partition", [TopicPartition("orders", 0), TopicPartition("a-b.c_d-", 12)])
def test_partition_is_parsed_from_its_name(partition: TopicPartition) -> None:
    assert TopicPartition.parse(str(partition)) == partition
    assert topic_of(str(partition)) == partition.topic


@pytest.mark.parametrize("name", ["orders", "orders-", "orders-x", ""])
def test_invalid_partition_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError):
        TopicPartition.parse(name)


@pytest.mark.parametrize("topic", ["orders", "orders-"])
@pytest.mark.parametrize("index", [-(1 << 31), -1, 0, 7])
def test_negative_index_of_a_request_is_kept_apart_from_the_topic(topic: str, index: int) -> None:
    assert parse_requested(requested_partition(topic, index)) == (topic, index)


def test_partitions_are_sorted_by_number_and_not_as_text() -> None:
    assert sorted_partitions(["b-1", "a-10", "a-9"]) == ["a-9", "a-10", "b-1"]


def test_replica_is_parsed_from_its_name() -> None:
    replica = ReplicaId.parse("orders-0@b12")
    assert replica == ("orders-0", 12)
    assert (str(replica), replica.node) == ("orders-0@b12", "b12")
    assert partition_of("orders-0@b12") == partition_of("orders-0") == "orders-0"


def test_reference_of_a_lesson_has_a_role_instead_of_a_node() -> None:
    assert split_replica("orders-0@b1") == ("orders-0", "b1")
    assert split_replica("orders-0@leader") == ("orders-0", "leader")
    assert split_replica("orders-0") == ("orders-0", "")


def test_only_brokers_have_a_broker_id() -> None:
    assert broker_id_of(broker_node(3)) == 3
    assert [node for node in ("b1", "zk", "p1", "b", "b1x", "") if is_broker(node)] == ["b1"]
    with pytest.raises(ValueError):
        broker_id_of("p1")


def test_assignment_may_name_a_broker_with_a_negative_id() -> None:
    assert ReplicaId.parse("orders-0@b-1") == ReplicaId("orders-0", -1)
    assert str(ReplicaId("orders-0", -1)) == "orders-0@b-1"
    for node in ("b--1", "b1-", "-b1"):
        with pytest.raises(ValueError):
            broker_id_of(node)
