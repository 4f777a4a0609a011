"""Partitions that move: the arithmetic of assignments, and what the controller does and survives (KIP-455)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.controller.replica_assignment import ReplicaAssignment
from broker_core.controller.replica_state_machine import ReplicaState
from broker_core.errors import Errors
from broker_core.shell.grammar.transcript import parse_transcript, ready_line, run_command
from broker_core.wire.messages import (
    AlterPartitionItem,
    AlterPartitionReassignmentsRequest,
    AlterPartitionRequest,
    ListPartitionReassignmentsRequest,
    StopReplicaRequest,
)
from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.znodes import TopicZnode
from devtools.oracle.scenarios import config_of
from devtools.sim.parity import differences
from lab.runtime.headless.rehearsal import pageless_run
from tests.support.controller_harness import FakeBroker, FakeCluster
from tests.support.paths import DATA

SCENARIOS = DATA / "scenarios"
BROKERS = st.lists(st.integers(1, 7), min_size=1, max_size=4, unique=True).map(tuple)


@given(BROKERS, BROKERS, BROKERS)
def test_reassignment_can_be_changed_and_cancelled(
    origin: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    moving = ReplicaAssignment(origin).reassign_to(first)
    assert moving.target == first
    assert set(moving.origin) == set(origin)
    assert set(moving.replicas) == set(origin) | set(first)
    assert moving.replicas[: len(first)] == first
    again = moving.reassign_to(second)
    assert again.target == second
    assert set(again.origin) == set(origin)
    back = again.reassign_to(again.origin)
    assert set(back.replicas) == set(origin)
    assert not back.is_being_reassigned


def test_reassignment_znode_is_as_kafka_writes_it() -> None:
    moving = ReplicaAssignment((1, 2)).reassign_to((3, 2))
    assert moving == ReplicaAssignment((3, 2, 1), (3,), (1,))
    assert moving.reassign_to(moving.origin) == ReplicaAssignment((2, 1), (), ())


def ask(cluster: FakeCluster, partition: str, replicas: tuple[int, ...] | None) -> tuple[Errors, str | None]:
    request = AlterPartitionReassignmentsRequest(((partition, replicas),))
    response = cluster.controller.alter_partition_reassignments(request)
    cluster.settle()
    assert response.error is Errors.NONE
    (result,) = response.partitions
    return result.error, result.message


def join_isr(cluster: FakeCluster, partition: str, *isr: int) -> None:
    """The leader has the ISR changed, as when a follower has caught up."""
    leader, leader_epoch, _, _, version = cluster.state(partition)
    item = AlterPartitionItem(partition, leader_epoch, tuple((each, -1) for each in isr), 0, version)
    request = AlterPartitionRequest(leader, cluster.brokers[leader].broker_epoch, (item,))
    response = cluster.controller.alter_partition(request)
    assert response.partitions[0].error is Errors.NONE
    cluster.controller.partitions_altered(response)
    cluster.settle()


def assignment(cluster: FakeCluster, topic: str) -> TopicZnode:
    data = cluster.data(TopicZnode.path(topic))
    assert data is not None
    return TopicZnode.decode(topic, data.encode())


def moving(cluster: FakeCluster) -> list[str]:
    response = cluster.controller.list_partition_reassignments(ListPartitionReassignmentsRequest())
    return [each.partition for each in response.partitions]


def deleted_on(broker: FakeBroker) -> list[str]:
    return [
        stop.partition
        for request in broker.requests
        if isinstance(request, StopReplicaRequest)
        for stop in request.partitions
        if stop.delete_partition
    ]


def test_reassignment_waits_for_the_isr_and_deletes_removed_replicas() -> None:
    cluster = FakeCluster(brokers=4)
    cluster.create("t", (1, 2))
    assert ask(cluster, "t-0", (3, 4)) == (Errors.NONE, None)
    znode = assignment(cluster, "t")
    assert (znode.partitions, znode.adding_replicas, znode.removing_replicas) == (
        {0: (3, 4, 1, 2)},
        {0: (3, 4)},
        {0: (1, 2)},
    )
    assert cluster.state("t-0")[:3] == (1, 1, [1, 2])
    assert moving(cluster) == ["t-0"]
    join_isr(cluster, "t-0", 1, 2, 3)
    assert moving(cluster) == ["t-0"]
    join_isr(cluster, "t-0", 1, 2, 3, 4)
    assert moving(cluster) == []
    znode = assignment(cluster, "t")
    assert (znode.partitions, znode.adding_replicas, znode.removing_replicas) == ({0: (3, 4)}, {}, {})
    leader, leader_epoch, isr, _, _ = cluster.state("t-0")
    # one epoch to begin, one for the new leader, one for each replica that leaves the ISR
    assert (leader, leader_epoch, isr) == (3, 4, [3, 4])
    assert [deleted_on(cluster.brokers[each]) for each in (1, 2, 3, 4)] == [["t-0"], ["t-0"], [], []]
    states = cluster.controller.replica_states.states
    assert {replica.broker_id for replica in states} == {3, 4}
    assert set(states.values()) == {ReplicaState.ONLINE}


def test_new_controller_resumes_a_reassignment() -> None:
    cluster = FakeCluster(brokers=4)
    cluster.create("t", (2, 3))
    ask(cluster, "t-0", (3, 4))
    cluster.kill(1)
    assert moving(cluster) == ["t-0"]
    join_isr(cluster, "t-0", 2, 3, 4)
    assert assignment(cluster, "t").partitions == {0: (3, 4)}


def test_cancelled_reassignment_removes_added_replicas() -> None:
    cluster = FakeCluster(brokers=3)
    cluster.create("t", (1, 2))
    assert ask(cluster, "t-0", None)[0] is Errors.NO_REASSIGNMENT_IN_PROGRESS
    ask(cluster, "t-0", (3, 2))
    assert ask(cluster, "t-0", None)[0] is Errors.NONE
    assert assignment(cluster, "t").partitions == {0: (2, 1)}
    assert deleted_on(cluster.brokers[3]) == ["t-0"]


def test_invalid_reassignments_are_refused() -> None:
    cluster = FakeCluster(brokers=2)
    cluster.create("t", (1, 2))
    invalid = Errors.INVALID_REPLICA_ASSIGNMENT
    assert ask(cluster, "t-0", ()) == (invalid, "Empty replica list specified in partition reassignment.")
    assert ask(cluster, "t-0", (1, 1))[0] is invalid
    assert ask(cluster, "t-0", (-1,))[0] is invalid
    assert ask(cluster, "t-0", (1, 9)) == (
        invalid,
        "Replica assignment has brokers that are not alive. Replica list: ArrayBuffer(9), live broker list: Set(1, 2)",
    )
    assert ask(cluster, "t-7", (1,))[0] is Errors.UNKNOWN_TOPIC_OR_PARTITION
    cluster.kill(2)
    # a dead broker that already has the replica does not prevent it
    assert ask(cluster, "t-0", (2, 1))[0] is Errors.NONE


def test_reassignment_znode_is_deleted_when_done() -> None:
    cluster = FakeCluster(brokers=3)
    cluster.create("t", (1, 2))
    plan = '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2,3]},'
    plan += '{"topic":"nosuch","partition":0,"replicas":[1]}]}'
    cluster.foreign("created", "/admin/reassign_partitions", plan.encode())
    left = '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[2,3]}]}'
    assert cluster.data("/admin/reassign_partitions") == left
    join_isr(cluster, "t-0", 1, 2, 3)
    assert cluster.data("/admin/reassign_partitions") is None
    assert assignment(cluster, "t").partitions == {0: (2, 3)}
    # the watch is armed again
    cluster.foreign("created", "/admin/reassign_partitions", plan.replace("[2,3]", "[3,2]").encode())
    assert assignment(cluster, "t").partitions == {0: (3, 2)}


def test_reassignment_completes_in_eras_where_leaders_write_the_isr() -> None:
    cluster = FakeCluster(brokers=3, era="2.4")
    cluster.create("t", (1, 2))
    ask(cluster, "t-0", (1, 3))
    data = '{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":1,"isr":[1,2,3]}'
    cluster.foreign("changed", "/brokers/topics/t/partitions/0/state", data.encode())
    assert assignment(cluster, "t").partitions == {0: (1, 3)}
    assert cluster.state("t-0")[2] == [1, 3]


def test_preferred_leader_rebalance_waits_for_reassignments() -> None:
    cluster = FakeCluster(brokers=3)
    cluster.create("t", (2, 3), (2, 3))
    cluster.kill(2)
    cluster.start(2)
    for partition in ("t-0", "t-1"):
        join_isr(cluster, partition, 3, 2)
    ask(cluster, "t-1", (3, 1))
    cluster.controller.changes.rebalance_leaders()
    assert cluster.state("t-0")[0] == 3
    ask(cluster, "t-1", None)
    cluster.controller.changes.rebalance_leaders()
    assert cluster.state("t-0")[0] == 2


@pytest.mark.parametrize("number", ["21", "22", "52", "65", "69"])
def test_no_invariant_fails_unexplained_during_reassignment(number: str) -> None:
    path = next(SCENARIOS.glob(f"{number}-*.scenario"))
    transcript = parse_transcript(path.read_text())
    run = pageless_run(config_of(transcript, path.stem, 3), MemoryStore())
    events: list[bytes] = []
    run_command(run, ready_line(transcript.brokers), keep=events)
    for step in transcript.steps:
        run_command(run, step.line, step.stdin, keep=events)
    alarms = [json.loads(event)[3] for event in events if b'"InvariantViolated"' in event]
    assert [alarm for alarm in alarms if not alarm[-1]] == []
    assert bool(alarms) == (number == "52"), "an unclean election loses what was committed"
    assert differences(run) == []
