"""What brokers and administrators ask of the controller: ISR changes, topics created and deleted."""

from typing import Any

import pytest

from broker_core.errors import Errors
from broker_core.wire.messages import (
    AlterPartitionItem,
    AlterPartitionRequest,
    AlterPartitionResponse,
    CreatePartitionsRequest,
    CreatePartitionsSpec,
    CreateTopicSpec,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from tests.support.controller_harness import Config, FakeCluster


def alter(
    cluster: FakeCluster,
    isr: tuple[int, ...],
    *,
    leader: int = 1,
    leader_epoch: int = 0,
    partition_epoch: int = 0,
    recovery: int = 0,
    topic_id: str = "",
) -> AlterPartitionResponse:
    new_isr = tuple((each, -1) for each in isr)
    item = AlterPartitionItem("orders-0", leader_epoch, new_isr, recovery, partition_epoch, topic_id)
    request = AlterPartitionRequest(leader, cluster.brokers[leader].broker_epoch, (item,))
    response = cluster.controller.alter_partition(request)
    cluster.settle()
    return response


def test_alter_partition_writes_the_isr_and_leaves_the_leader_epoch() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (1, 2, 3))
    for broker in cluster.brokers.values():
        broker.requests.clear()
    (result,) = alter(cluster, (1, 2)).partitions
    assert (result.error, result.isr, result.leader_epoch, result.partition_epoch) == (Errors.NONE, (1, 2), 0, 1)
    assert cluster.state("orders-0") == (1, 0, [1, 2], 1, 1)
    for broker in cluster.brokers.values():
        (update,) = broker.requests
        assert isinstance(update, UpdateMetadataRequest)
        assert update.partitions[0].isr == (1, 2)


def test_alter_partition_twice_is_answered_twice_and_written_once() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (1, 2, 3))
    alter(cluster, (1, 2))
    (again,) = alter(cluster, (1, 2)).partitions
    assert (again.error, again.partition_epoch) == (Errors.NONE, 1)
    assert cluster.state("orders-0") == (1, 0, [1, 2], 1, 1)


def test_alter_partition_errors() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (1, 2, 3))
    alter(cluster, (1, 2))

    def error(isr: tuple[int, ...], **request: Any) -> Errors:
        return alter(cluster, isr, **{"partition_epoch": 1, **request}).partitions[0].error

    assert error((1,), partition_epoch=0) is Errors.INVALID_UPDATE_VERSION
    assert error((1,), partition_epoch=2) is Errors.NOT_CONTROLLER
    assert error((1,), leader_epoch=1) is Errors.NOT_CONTROLLER
    assert error((1,), recovery=1) is Errors.INVALID_REQUEST
    assert error((1, 2, 9)) is Errors.INELIGIBLE_REPLICA
    cluster.kill(3)
    assert error((1, 2, 3)) is Errors.INELIGIBLE_REPLICA
    cluster.kill(2)
    assert cluster.state("orders-0")[:2] == (1, 1)
    assert error((1,)) is Errors.FENCED_LEADER_EPOCH


def test_alter_partition_with_the_id_of_a_deleted_topic() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (1, 2, 3))
    known = cluster.controller.context.topic_ids["orders"]
    (result,) = alter(cluster, (1,), topic_id="Oh-ta1dVQC6E2cKFJ7_8HA").partitions
    assert result.error is Errors.UNKNOWN_TOPIC_ID
    assert cluster.state("orders-0") == (1, 0, [1, 2, 3], 1, 0)
    (result,) = alter(cluster, (1,), topic_id=known).partitions
    assert (result.error, result.isr) == (Errors.NONE, (1,))


def test_alter_partition_of_an_old_registration_or_at_another_broker() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (1, 2, 3))
    item = AlterPartitionItem("nosuch-0", 0, ((1, -1),), 0, 0)
    controller = cluster.controller
    assert controller.alter_partition(AlterPartitionRequest(1, 1, (item,))).error is Errors.STALE_BROKER_EPOCH
    assert controller.alter_partition(AlterPartitionRequest(9, 1, (item,))).error is Errors.STALE_BROKER_EPOCH
    current = AlterPartitionRequest(1, cluster.brokers[1].broker_epoch, (item,))
    assert controller.alter_partition(current).partitions[0].error is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert cluster.brokers[2].controller.alter_partition(current).error is Errors.NOT_CONTROLLER


def test_create_topic_writes_configuration_and_assignment() -> None:
    cluster = FakeCluster()
    cluster.create("audit", (3,), **{"retention.ms": "60000"})
    assert cluster.data("/config/topics/audit") == '{"version":1,"config":{"retention.ms":"60000"}}'
    znode = str(cluster.data("/brokers/topics/audit"))
    assert znode.startswith('{"partitions":{"0":[3]},"topic_id":"')
    assert znode.endswith('","adding_replicas":{},"removing_replicas":{},"version":3}')
    assert cluster.data("/brokers/topics/audit/partitions/0") == ""
    assert cluster.data("/brokers/topics/audit/partitions/0/state") == (
        '{"controller_epoch":1,"leader":3,"version":1,"leader_epoch":0,"isr":[3]}'
    )
    assert cluster.store.children(0, "/config/changes") == []


def test_create_topic_takes_defaults_of_the_broker() -> None:
    cluster = FakeCluster(config=Config(num_partitions=2, default_replication_factor=3))
    (result,) = cluster.try_create(CreateTopicSpec("orders")).topics
    cluster.settle()
    assert len(result.topic_id) == 22
    assert sorted(cluster.controller.context.assignments["orders"]) == [0, 1]
    assert sorted(cluster.controller.context.replicas("orders-1")) == [1, 2, 3]


def test_create_topic_errors() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (1, 2))
    cluster.create("a.b", (1,))

    def refusal(spec: CreateTopicSpec) -> tuple[Errors, str | None]:
        (result,) = cluster.try_create(spec).topics
        assert result.topic_id == ""
        return result.error, result.message

    assert refusal(CreateTopicSpec("orders")) == (Errors.TOPIC_ALREADY_EXISTS, "Topic 'orders' already exists.")
    assert refusal(CreateTopicSpec("a_b")) == (
        Errors.INVALID_TOPIC_EXCEPTION,
        "Topic 'a_b' collides with existing topics: a.b",
    )
    assert refusal(CreateTopicSpec("bad name"))[0] is Errors.INVALID_TOPIC_EXCEPTION
    assert refusal(CreateTopicSpec("t", partitions=0)) == (
        Errors.INVALID_PARTITIONS,
        "Number of partitions must be larger than 0.",
    )
    assert refusal(CreateTopicSpec("t", replication_factor=4)) == (
        Errors.INVALID_REPLICATION_FACTOR,
        "Replication factor: 4 larger than available brokers: 3.",
    )
    assert refusal(CreateTopicSpec("t", assignment={0: (1, 1)})) == (
        Errors.INVALID_REPLICA_ASSIGNMENT,
        "Duplicate replica assignment found: HashMap(0 -> ArrayBuffer(1, 1))",
    )
    assert refusal(CreateTopicSpec("t", assignment={0: (1,), 1: (1, 2)})) == (
        Errors.INVALID_REPLICA_ASSIGNMENT,
        "All partitions should have the same number of replicas",
    )
    assert refusal(CreateTopicSpec("t", partitions=1, assignment={0: (1,)}))[0] is Errors.INVALID_REQUEST
    assert refusal(CreateTopicSpec("t", configs=(("min.insync.replicas", "0"),))) == (
        Errors.INVALID_CONFIG,
        "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1",
    )
    assert refusal(CreateTopicSpec("__cluster_metadata"))[0] is Errors.INVALID_REQUEST
    assert cluster.store.children(0, "/config/topics") == ["a.b", "orders"]


def test_create_topics_of_one_request_are_independent() -> None:
    cluster = FakeCluster()
    response = cluster.try_create(
        CreateTopicSpec("good"), CreateTopicSpec("bad name"), CreateTopicSpec("twice"), CreateTopicSpec("twice")
    )
    assert [(result.name, result.error) for result in response.topics] == [
        ("good", Errors.NONE),
        ("bad name", Errors.INVALID_TOPIC_EXCEPTION),
        ("twice", Errors.INVALID_REQUEST),
        ("twice", Errors.INVALID_REQUEST),
    ]
    assert response.topics[2].message == "Found multiple entries for this topic."


def test_create_topic_only_to_validate_and_at_another_broker() -> None:
    cluster = FakeCluster()
    (result,) = cluster.try_create(CreateTopicSpec("orders"), validate_only=True).topics
    assert result.error is Errors.NONE
    assert cluster.data("/brokers/topics/orders") is None
    request = CreateTopicsRequest((CreateTopicSpec("orders"),))
    assert cluster.brokers[2].controller.create_topics(request).topics[0].error is Errors.NOT_CONTROLLER


def test_create_partitions_continues_the_assignment() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (2, 3))
    request = CreatePartitionsRequest((CreatePartitionsSpec("orders", 3),))
    assert cluster.controller.create_partitions(request).topics[0].error is Errors.NONE
    cluster.settle()
    assert cluster.controller.context.assignments["orders"] == {0: (2, 3), 1: (3, 2), 2: (1, 3)}
    assert cluster.state("orders-2") == (1, 0, [1, 3], 1, 0)
    found = cluster.store.peek("/brokers/topics/orders")
    assert found is not None
    assert found[1].version == 1


def test_create_partitions_errors() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (1, 2, 3), (2, 3, 1))

    def refusal(count: int, *assignment: tuple[int, ...], name: str = "orders") -> tuple[Errors, str | None]:
        spec = CreatePartitionsSpec(name, count, assignment or None)
        (result,) = cluster.controller.create_partitions(CreatePartitionsRequest((spec,))).topics
        return result.error, result.message

    assert refusal(1) == (
        Errors.INVALID_PARTITIONS,
        "Topic currently has 2 partitions, which is higher than the requested 1.",
    )
    assert refusal(2) == (Errors.INVALID_PARTITIONS, "Topic already has 2 partitions.")
    assert refusal(3, name="nosuch") == (Errors.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'nosuch' does not exist.")
    assert refusal(3, (1, 2, 9)) == (
        Errors.INVALID_REPLICA_ASSIGNMENT,
        "Unknown broker(s) in replica assignment: 9.",
    )
    assert refusal(4, (1, 2, 3)) == (
        Errors.INVALID_REPLICA_ASSIGNMENT,
        "Increasing the number of partitions by 2 but 1 assignments provided.",
    )
    assert refusal(3, (1, 1, 2)) == (
        Errors.INVALID_REPLICA_ASSIGNMENT,
        "Duplicate brokers not allowed in replica assignment: 1, 1, 2 for partition id 2.",
    )
    assert refusal(3, (1, 2)) == (
        Errors.INVALID_REPLICA_ASSIGNMENT,
        "Inconsistent replication factor between partitions, partition 0 has 3 while partitions [2] have "
        "replication factors [2], respectively.",
    )
    request = CreatePartitionsRequest((CreatePartitionsSpec("orders", 3),))
    assert cluster.brokers[2].controller.create_partitions(request).topics[0].error is Errors.NOT_CONTROLLER


def test_delete_topic_removes_replicas_and_znodes_and_frees_the_name() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (1, 2), (2, 3))
    first_id = cluster.controller.context.topic_ids["orders"]
    for broker in cluster.brokers.values():
        broker.requests.clear()
    assert cluster.delete("orders").topics[0].error is Errors.NONE
    for path in ("/brokers/topics/orders", "/config/topics/orders", "/admin/delete_topics/orders"):
        assert cluster.data(path) is None
    assert cluster.controller.describe() == {"partitions": {}, "replicas": {}}
    deleted = [
        (each.partition, each.leader_epoch)
        for request in cluster.brokers[2].requests
        if isinstance(request, StopReplicaRequest)
        for each in request.partitions
        if each.delete_partition
    ]
    assert deleted == [("orders-0", -2), ("orders-1", -2)]
    updates = [r for r in cluster.brokers[1].requests if isinstance(r, UpdateMetadataRequest) and r.partitions]
    assert {each.leader for each in updates[0].partitions} == {-2}
    cluster.create("orders", (3,))
    assert cluster.state("orders-0") == (3, 0, [3], 1, 0)
    assert cluster.controller.context.topic_ids["orders"] != first_id


def test_deletion_waits_for_a_dead_broker() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (1, 2), (2, 3))
    cluster.kill(3)
    cluster.delete("orders")
    assert cluster.data("/admin/delete_topics/orders") == ""
    assert cluster.state("orders-0")[:3] == (-1, 2, [2])
    assert cluster.state("orders-1")[:3] == (-1, 2, [2])
    assert cluster.controller.describe()["replicas"]["orders-1@b3"] in ("ReplicaDeletionIneligible", "OfflineReplica")
    (result,) = cluster.try_create(CreateTopicSpec("orders")).topics
    assert result.error is Errors.TOPIC_ALREADY_EXISTS
    cluster.start(3)
    assert cluster.data("/brokers/topics/orders") is None
    assert cluster.store.children(0, "/admin/delete_topics") == []


def test_next_controller_resumes_a_deletion() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (1, 2), (2, 3))
    cluster.kill(3)
    cluster.delete("orders")
    cluster.kill(1)
    cluster.start(1)
    assert cluster.data("/brokers/topics/orders") is not None
    cluster.start(3)
    assert cluster.data("/brokers/topics/orders") is None


def test_delete_topic_errors() -> None:
    cluster = FakeCluster()
    cluster.create("orders", (1,))
    assert cluster.delete("nosuch").topics[0].error is Errors.UNKNOWN_TOPIC_OR_PARTITION
    request = DeleteTopicsRequest(("orders",))
    assert cluster.brokers[2].controller.delete_topics(request).topics[0].error is Errors.NOT_CONTROLLER
    cluster.foreign("created", "/admin/delete_topics/nosuch", b"")
    assert cluster.store.children(0, "/admin/delete_topics") == []


def test_deletion_can_be_disabled() -> None:
    cluster = FakeCluster(config=Config(delete_topic_enable=False))
    cluster.create("orders", (1,))
    assert cluster.delete("orders").topics[0].error is Errors.TOPIC_DELETION_DISABLED
    cluster.foreign("created", "/admin/delete_topics/orders", b"")
    assert cluster.store.children(0, "/admin/delete_topics") == []
    assert cluster.data("/brokers/topics/orders") is not None


class CountedName(str):
    """A name that counts how often it is compared with another one."""

    __slots__ = ()
    comparisons = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CountedName.comparisons += 1
        return str.__eq__(self, other)


def test_new_topic_is_found_without_comparing_all_topics_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    count = 200
    for number in range(count):
        cluster.try_create(CreateTopicSpec(name=f"t-{number}", partitions=1, replication_factor=1))
    cluster.settle()
    changes = cluster.controller.changes
    names = [CountedName(name) for name in changes.zk.topics()]
    assert len(names) == count
    monkeypatch.setattr(changes.zk, "topics", lambda: names)
    cluster.create("newest", (1,))
    assert CountedName.comparisons <= 4 * count
