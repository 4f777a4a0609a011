"""Each invariant is broken on purpose: by events that a wrong core would state, and by wrong cores."""

from collections.abc import Iterable
from typing import Any

import pytest

from broker_core.events import Event
from broker_core.events.control import LeaderElected, ZnodeChanged, ZnodeCreated
from broker_core.events.log import BatchAppended, LogOpened, LogTruncated
from broker_core.events.replica import (
    HighWatermarkAdvanced,
    HighWatermarkLowered,
    IsrExpanded,
    RemoteReplicaUpdated,
    ReplicaBecameFollower,
    ReplicaBecameLeader,
)
from broker_core.replication import partition as partition_module
from broker_core.replication.partition import Partition
from broker_core.run import Run, RunConfig
from broker_core.sim.disk import SimulatedDisk
from broker_core.sim.invariants import Checker
from broker_core.zk.memory_store import MemoryStore


def opened(node: str) -> LogOpened:
    return LogOpened(
        replica=f"t-0@{node}",
        topic_id="id",
        log_start_offset=0,
        log_end_offset=0,
        high_watermark=0,
        recovery_point=0,
        epochs=((0, 0),),
        segments=((0, 0, 0, 0),),
        tail=(),
    )


def state(leader: int, leader_epoch: int, isr: list[int], version: int = 0) -> Event:
    path = "/brokers/topics/t/partitions/0/state"
    data = f'{{"leader":{leader},"leader_epoch":{leader_epoch},"isr":{isr}}}'
    if version:
        return ZnodeChanged(path=path, data=data, version=version, zxid=version)
    return ZnodeCreated(path=path, data=data, zxid=1, ephemeral_owner="")


def leader(node: int, epoch: int = 0, isr: tuple[int, ...] = (1, 2)) -> ReplicaBecameLeader:
    return ReplicaBecameLeader(
        replica=f"t-0@b{node}",
        leader_epoch=epoch,
        leader_epoch_start_offset=0,
        partition_epoch=0,
        controller_epoch=1,
        isr=isr,
        remotes=tuple((other, -1, 0) for other in (1, 2) if other != node),
    )


def follower(node: int, of: int, epoch: int = 0) -> ReplicaBecameFollower:
    return ReplicaBecameFollower(
        replica=f"t-0@b{node}", leader=of, leader_epoch=epoch, partition_epoch=0, controller_epoch=1
    )


def append(node: int, base: int, *, last: int | None = None, epoch: int = 0, size: int = 70) -> BatchAppended:
    return BatchAppended(
        replica=f"t-0@b{node}",
        base_offset=base,
        last_offset=base if last is None else last,
        leader_epoch=epoch,
        segment=0,
        position=70 * base,
        size=size,
        max_timestamp=1,
    )


def believes(end: int) -> RemoteReplicaUpdated:
    return RemoteReplicaUpdated(
        replica="t-0@b1", follower="b2", from_offset=-1, log_end_offset=end, last_caught_up_us=0
    )


def advance(node: int, to: int, before: int = 0) -> HighWatermarkAdvanced:
    return HighWatermarkAdvanced(replica=f"t-0@b{node}", from_offset=before, to_offset=to)


def truncate(node: int, before: int, to: int) -> LogTruncated:
    return LogTruncated(
        replica=f"t-0@b{node}", from_offset=before, to_offset=to, why="", cuts=(), segments=((0, 0, 0, 0),), tail=()
    )


#: two replicas, b1 leads in epoch 0, one record is everywhere and committed
HEALTHY = (
    opened("b1"),
    opened("b2"),
    state(1, 0, [1, 2]),
    leader(1),
    follower(2, of=1),
    append(1, 0),
    append(2, 0),
    believes(1),
    advance(1, 1),
    advance(2, 1),
)

BROKEN: dict[str, tuple[str, tuple[Event, ...]]] = {
    "a high watermark beyond the log's end": ("I-ORDER", (advance(2, 5, before=1),)),
    "an offset twice": ("I-LOGMONO", (append(1, 0),)),
    "a batch of an older epoch": ("I-LOGMONO", (append(1, 1, epoch=3), append(1, 2, epoch=2))),
    "ZooKeeper's epoch goes back": ("I-EPOCHMONO", (state(1, 4, [1, 2], 1), state(1, 3, [1, 2], 2))),
    "another leader in the same epoch": ("I-EPOCHMONO", (state(2, 0, [1, 2], 1),)),
    "a replica ahead of ZooKeeper": ("I-EPOCHMONO", (leader(1, epoch=9),)),
    "two leaders of one epoch": ("I-ONELEADER", (leader(2, epoch=0),)),
    "a leader outside the ISR": ("I-LEADERINISR", (state(1, 1, [2], 1),)),
    "an empty ISR": ("I-LEADERINISR", (state(-1, 1, [], 1),)),
    "a high watermark that no follower has reached": (
        "I-HWLEAD",
        (append(1, 1), append(2, 1), advance(1, 2, before=1)),
    ),
    "a leader's high watermark goes back": (
        "I-HWLEAD",
        (HighWatermarkLowered(replica="t-0@b1", from_offset=1, to_offset=0),),
    ),
    "a follower ahead of every leader": ("I-HWFOLL", (append(2, 1), advance(2, 2, before=1))),
    "a follower with another record": (
        "I-WEAKISR",
        (append(1, 1), append(2, 1, size=99), believes(2), advance(1, 2, before=1)),
    ),
    "a follower that is cut below the high watermark": ("I-WEAKISR", (truncate(2, 1, 0),)),
    "a joining replica without the records": (
        "I-WEAKISR",
        (
            state(1, 1, [1], 1),
            leader(1, epoch=1, isr=(1,)),
            append(1, 1, epoch=1),
            advance(1, 2, before=1),
            IsrExpanded(replica="t-0@b1", from_isr=(1,), to_isr=(1, 2), partition_epoch=2),
        ),
    ),
    "a new leader without a committed record": (
        "I-COMMIT",
        (
            append(1, 1),
            append(2, 1),
            believes(2),
            advance(1, 2, before=1),
            truncate(2, 2, 1),
            state(2, 1, [2], 1),
            leader(2, 1, (2,)),
        ),
    ),
}


def violations(events: Iterable[Event]) -> list[tuple[str, str]]:
    checker = Checker()
    found = []
    for seq, event in enumerate(events, 1):
        found += [(v.invariant, v.explained_by) for v in checker.observe((seq, 0, "b1", 0, event))]
    return found


def test_a_healthy_history_has_no_alarm() -> None:
    assert violations(HEALTHY) == []


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_history_is_found(name: str) -> None:
    invariant, events = BROKEN[name]
    assert invariant in [found for found, _ in violations((*HEALTHY, *events))]


def test_an_unclean_election_explains_a_lost_record() -> None:
    unclean = LeaderElected(
        partition="t-0", leader=2, leader_epoch=1, isr=(2,), strategy="OfflinePartition", unclean=True
    )
    events = (
        append(1, 1),
        state(1, 0, [1], 1),
        leader(1, isr=(1,)),
        advance(1, 2, before=1),
        unclean,
        state(2, 1, [2], 2),
        leader(2, 1, (2,)),
    )
    explained = dict(violations((*HEALTHY, *events)))
    assert "unclean election of b2" in explained["I-COMMIT"]


# wrong cores


def alarms_of_a_run() -> set[str]:
    run = Run(
        RunConfig(seed=3, broker_config={"zookeeper.session.timeout.ms": "6000", "replica.lag.time.max.ms": "10000"}),
        disk=SimulatedDisk(),
        zk=MemoryStore(),
    )
    run.advance(1_000_000)
    for line in (
        "kafka-topics.sh --create --topic t --replica-assignment 1:2:3",
        "producer open p --acks all",
        "producer stream p t-0 50",
        "broker freeze 2",
        "broker thaw 2",
        "broker kill 1",
        "broker start 1",
    ):
        run.submit(line, "test")
        run.advance(run.now_us + 8_000_000)
    return {alarm["invariant"] for alarm in run.view["alarms"].values()}


def test_the_core_as_it_is_raises_no_alarm() -> None:
    assert alarms_of_a_run() == set()


def leader_forgets_followers(*arguments: Any) -> int:
    return int(arguments[0])


def follower_takes_any_high_watermark(self: Partition, leader_high_watermark: int) -> None:
    end = self.log.log_end_offset
    if end > self.high_watermark:
        self.kernel.emit(
            HighWatermarkAdvanced(replica=self.key, from_offset=self.high_watermark, to_offset=end), self.node
        )


truly_update_follower = Partition.update_follower


def leader_believes_anything(self: Partition, broker_id: int, fetch_offset: int, *rest: int) -> bool:
    return truly_update_follower(self, broker_id, self.log.log_end_offset, *rest)


@pytest.mark.parametrize(
    ("target", "attribute", "mutant", "expected"),
    [
        (partition_module, "candidate", leader_forgets_followers, "I-HWLEAD"),
        (Partition, "update_follower_high_watermark", follower_takes_any_high_watermark, "I-HWFOLL"),
        (Partition, "update_follower", leader_believes_anything, "I-WEAKISR"),
    ],
    ids=["the leader does not wait", "the follower runs ahead", "the leader believes anything"],
)
def test_a_wrong_core_is_caught(
    monkeypatch: pytest.MonkeyPatch, target: Any, attribute: str, mutant: Any, expected: str
) -> None:
    monkeypatch.setattr(target, attribute, mutant)
    assert expected in alarms_of_a_run()
