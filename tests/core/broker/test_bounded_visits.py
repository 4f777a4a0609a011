"""Background work on all replicas of a broker, and the deletion of many: each step of the engine does a part of it."""

import copy
from collections import Counter
from typing import Any

import pytest

from broker_core.broker.logs import sweep
from broker_core.broker.process import replica_stops
from broker_core.events.log import LogDeleted, SegmentsDeleted
from broker_core.events.transaction import ProducersExpired
from broker_core.replication.partition import Partition
from broker_core.run import Run
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun

PARTITIONS = 12
SLICE = 5


def shell_with_topic(*options: str, **config: Any) -> ShellRun:
    shell = ShellRun(log_initial_task_delay_ms="5000", **config)
    assignment = ",".join(["1:2"] * PARTITIONS)
    shell.at(" ".join([f"kafka-topics.sh --create --topic wide --replica-assignment {assignment}", *options]))
    shell.after(1)
    shell.journal()
    return shell


@pytest.mark.parametrize(
    ("method", "config"),
    [
        ("delete_old_segments", {"log_retention_check_interval_ms": "10000"}),
        ("expire_producers", {"producer_id_expiration_check_interval_ms": "10000"}),
        ("flush_if_old", {"log_flush_scheduler_interval_ms": "10000"}),
    ],
)
def test_replicas_are_visited_in_bounded_steps(
    method: str, config: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "SLICE_COST", SLICE)
    shell = shell_with_topic(**config)
    visits: dict[str, Counter[int]] = {}
    visit = getattr(Partition, method)

    def count(partition: Partition, *given: Any) -> Any:
        visits.setdefault(partition.key, Counter())[shell.run._kernel.steps] += 1
        return visit(partition, *given)

    monkeypatch.setattr(Partition, method, count)
    shell.after(16)
    mine = {key: counts for key, counts in visits.items() if key.endswith("@b1") and key.startswith("wide-")}
    assert len(mine) == PARTITIONS
    steps: Counter[int] = sum(visits.values(), Counter())
    assert max(steps.values()) <= SLICE and len(steps) > 2


def test_small_broker_is_visited_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = shell_with_topic(log_retention_check_interval_ms="10000")
    steps: Counter[int] = Counter()
    visit = Partition.delete_old_segments

    def count(partition: Partition, now_ms: int, limit: int) -> int:
        if partition.node == "b1":
            steps[shell.run._kernel.steps] += 1
        return visit(partition, now_ms, limit)

    monkeypatch.setattr(Partition, "delete_old_segments", count)
    shell.after(9)
    assert list(steps.values()) == [PARTITIONS]


def many_segments() -> ShellRun:
    """Some forty segments that retention will delete, and one partition after that."""
    shell = shell_with_topic("--config segment.bytes=200 --config retention.ms=1000")
    shell.at("producer open p --acks all --idempotence false --batch-size 0")
    shell.at("producer send p wide-0 " + " ".join(f"k:{number:0100d}" for number in range(40)))
    shell.at("producer send p wide-1 a:b")
    shell.journal()
    return shell


def test_segments_of_a_log_are_deleted_in_bounded_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "DELETED_AT_ONCE", 7)
    shell = many_segments()
    shell.after(20)
    deleted = [event for event in shell.events(SegmentsDeleted) if event.replica == "wide-0@b1"]
    assert len(deleted) > 4 and max(len(event.segments) for event in deleted) <= 7
    segments = [segment for event in deleted for segment in event.segments]
    assert segments == sorted(set(segments))
    assert len(shell.run.view["replicas"]["wide-0@b1"]["segments"]) == 1
    assert shell.run.view["replicas"]["wide-1@b1"]["log_start_offset"] == 1
    assert differences(shell.run) == []


def test_retention_continues_after_a_restored_checkpoint_and_makes_the_same_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweep, "DELETED_AT_ONCE", 7)
    shell = many_segments()
    while not shell.events(SegmentsDeleted):
        shell.after(0.001)
    saved = shell.run.checkpoint()
    assert saved is not None
    disk, store = copy.deepcopy(shell.disk), copy.deepcopy(shell.run._cluster.zookeeper.store)
    again = Run.restore(saved, disk=disk, zk=store)
    for run in (shell.run, again):
        run.advance(run.now_us + 20_000_000)
    assert len(again.view["replicas"]["wide-0@b1"]["segments"]) == 1
    assert again.digest() == shell.run.digest()


def test_broker_killed_between_two_slices_of_retention_deletes_the_rest_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "DELETED_AT_ONCE", 7)
    shell = many_segments()
    while not shell.events(SegmentsDeleted):
        shell.after(0.001)
    shell.at("broker kill 1")
    shell.after(10)
    shell.at("broker start 1")
    shell.after(30)
    assert len(shell.run.view["replicas"]["wide-0@b1"]["segments"]) == 1
    assert differences(shell.run) == []


def deleting(monkeypatch: pytest.MonkeyPatch, **config: Any) -> ShellRun:
    """Returns between two slices of a StopReplica at broker 1."""
    monkeypatch.setattr(replica_stops, "PARTITIONS_PER_SLICE", SLICE)
    shell = shell_with_topic(**config)
    shell.run.submit("kafka-topics.sh --delete --topic wide")
    while not hosted(shell) < PARTITIONS:
        assert shell.run.step_event()
    return shell


def hosted(shell: ShellRun) -> int:
    return len([name for name in shell.run.view["replicas"] if name.startswith("wide-") and name.endswith("@b1")])


def test_many_replicas_are_stopped_in_bounded_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = deleting(monkeypatch)
    counts = {hosted(shell)}
    while hosted(shell):
        shell.run.advance(shell.run.now_us + 300)
        counts.add(hosted(shell))
    assert counts >= {PARTITIONS - SLICE, PARTITIONS - 2 * SLICE}
    shell.after(5)
    assert shell.at("kafka-topics.sh --list") == [] and differences(shell.run) == []
    deleted = [event.replica for event in shell.events(LogDeleted) if event.replica.endswith("@b1")]
    assert len(deleted) == len(set(deleted)) == PARTITIONS


@pytest.mark.parametrize("fault", ["broker kill 1", "broker kill {controller}", "session expire {controller}"])
def test_failures_between_two_slices_of_stops_are_survived(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = deleting(monkeypatch)
    shell.run.submit(fault.format(controller=shell.run.view["controller"]["broker"]))
    shell.after(60)
    for broker in (1, 2, 3):
        if shell.node(f"b{broker}")["state"] == "down":
            shell.at(f"broker start {broker}")
    shell.after(60)
    assert hosted(shell) == 0 and shell.at("kafka-topics.sh --list") == []
    assert not shell.run.view["alarms"] and differences(shell.run) == []


def test_expired_producers_of_all_partitions_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "SLICE_COST", SLICE)
    shell = shell_with_topic(producer_id_expiration_ms="5000", producer_id_expiration_check_interval_ms="2000")
    shell.at("producer open p --idempotence true")
    for number in range(PARTITIONS):
        shell.at(f"producer send p wide-{number} a:1")
    shell.after(12)
    expired = [event.replica for event in shell.events(ProducersExpired) if event.replica.endswith("@b1")]
    assert sorted(expired) == sorted(f"wide-{number}@b1" for number in range(PARTITIONS))
