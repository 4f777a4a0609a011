"""Histories of a partition and a group as events: a healthy one, and one broken in each way."""

from broker_core.events import Event
from broker_core.events.client import RecordsConsumed
from broker_core.events.control import ControllerElected, ZnodeChanged, ZnodeCreated
from broker_core.events.group import (
    ConsumerAssigned,
    ConsumerStateChanged,
    GroupAssigned,
    GroupMemberAdded,
    GroupsLoaded,
    GroupTransitioned,
    OffsetCommitAccepted,
)
from broker_core.events.log import (
    BatchAppended,
    CheckpointWritten,
    LeaderEpochsChanged,
    LogCleaned,
    LogOpened,
    LogTruncated,
    OffsetIndexEntryAdded,
    SegmentRolled,
    TimeIndexEntryAdded,
)
from broker_core.events.replica import (
    HighWatermarkAdvanced,
    HighWatermarkLowered,
    IsrChangeProposed,
    IsrExpanded,
    RemoteReplicaUpdated,
    ReplicaBecameFollower,
    ReplicaBecameLeader,
)
from broker_core.events.rpc import RpcSent
from broker_core.events.transaction import (
    FirstUnstableOffsetChanged,
    ProducerBatchAppended,
    TransactionMarkerAppended,
)
from broker_core.partitions import broker_node


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


def state_of_controller(controller_epoch: int, version: int) -> Event:
    data = f'{{"leader":1,"leader_epoch":0,"isr":[1,2],"controller_epoch":{controller_epoch}}}'
    return ZnodeChanged(path="/brokers/topics/t/partitions/0/state", data=data, version=version, zxid=version)


def assigned(*broker_ids: int) -> Event:
    data = f'{{"partitions":{{"0":{list(broker_ids)}}}}}'
    return ZnodeCreated(path="/brokers/topics/t", data=data, zxid=1, ephemeral_owner="")


def produce(kind: str, *fields: tuple[str, str | int]) -> RpcSent:
    nodes = ("p", "b1") if kind == "request" else ("b1", "p")
    return RpcSent(
        rpc="r7" if kind == "request" else "r8",
        api="Produce",
        kind=kind,
        source=nodes[0],
        destination=nodes[1],
        due_us=0,
        correlation=7,
        label="",
        fields=fields,
    )


def consumed(position: int, high_watermark: int, *offsets: int) -> RecordsConsumed:
    records = tuple((offset, 0, None, None) for offset in offsets)
    return RecordsConsumed(
        client="c", partition="t-0", position=position, high_watermark=high_watermark, records=records
    )


def epochs(node: int, *entries: tuple[int, int]) -> LeaderEpochsChanged:
    return LeaderEpochsChanged(replica=f"t-0@b{node}", entries=entries)


def indexed(offset: int, position: int) -> OffsetIndexEntryAdded:
    return OffsetIndexEntryAdded(replica="t-0@b1", segment=0, offset=offset, position=position)


def rolled(segment: int) -> SegmentRolled:
    return SegmentRolled(replica="t-0@b1", segment=segment, previous_segment=0, previous_size=70)


def loaded(node: int, leader_epoch: int) -> GroupsLoaded:
    return GroupsLoaded(
        broker=broker_node(node),
        partition="__consumer_offsets-0",
        group_count=1,
        offset_count=0,
        leader_epoch=leader_epoch,
    )


def group(before: str, after: str, generation_id: int, node: int = 1) -> GroupTransitioned:
    return GroupTransitioned(
        broker=broker_node(node),
        group="g",
        partition="__consumer_offsets-0",
        from_state=before,
        to_state=after,
        generation_id=generation_id,
        protocol="cooperative-sticky",
        leader="c-1",
        why="",
    )


def assignment(*rows: tuple[str, tuple[str, ...]]) -> GroupAssigned:
    return GroupAssigned(broker="b1", group="g", generation_id=1, assignments=rows, data=("",) * len(rows))


def numbered(
    sequence: int, base: int, *, epoch: int = 0, is_transactional: bool = False, node: int = 1
) -> ProducerBatchAppended:
    return ProducerBatchAppended(
        replica=f"t-0@b{node}",
        producer_id=7,
        producer_epoch=epoch,
        first_sequence=sequence,
        last_sequence=sequence,
        base_offset=base,
        last_offset=base,
        is_transactional=is_transactional,
    )


def unstable(before: int, to: int) -> FirstUnstableOffsetChanged:
    return FirstUnstableOffsetChanged(replica="t-0@b1", from_offset=before, to_offset=to)


def cleaned(node: int, to: int) -> LogCleaned:
    return LogCleaned(
        replica=f"t-0@b{node}",
        from_offset=0,
        to_offset=to,
        groups=(),
        bytes_before=140,
        bytes_after=70,
        records_before=2,
        records_after=1,
        counts=(),
        fates=(),
        keys=1,
        empty_batches=0,
        delete_horizon_ms=-1,
        cuts=(),
        segments=((0, 70, 0, 0),),
        tail=(),
        synced=(),
    )


COMMITTED = TransactionMarkerAppended(
    replica="t-0@b1",
    producer_id=7,
    producer_epoch=0,
    coordinator_epoch=0,
    offset=2,
    result="COMMIT",
    first_offset=1,
)


def commit(generation_id: int) -> OffsetCommitAccepted:
    return OffsetCommitAccepted(
        broker="b1", group="g", member="c-1", generation_id=generation_id, offsets=(("t-0", 1),)
    )


def member(client: str) -> tuple[Event, ...]:
    return (
        GroupMemberAdded(broker="b1", group="g", member=f"{client}-1", client=client, instance=""),
        ConsumerStateChanged(client=client, state="stable", member_id=f"{client}-1", generation_id=1, why=""),
    )


def owns(client: str, *partitions: str) -> ConsumerAssigned:
    return ConsumerAssigned(client=client, partitions=partitions, revoked=())


#: b1 coordinates group g, whose first generation is stored
GROUP = (
    loaded(1, 0),
    group("", "Empty", 0),
    *member("c"),
    *member("d"),
    group("Empty", "PreparingRebalance", 0),
    group("PreparingRebalance", "CompletingRebalance", 1),
    assignment(("c-1", ("t-0",)), ("d-1", ("t-1",))),
    group("CompletingRebalance", "Stable", 1),
    owns("c", "t-0"),
    owns("d", "t-1"),
    commit(1),
    commit(-1),
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
    "a replica outside of the assignment in the ISR": ("I-LEADERINISR", (assigned(1, 2), state(1, 0, [1, 2, 3], 1))),
    "two versions at once": ("I-ZKVER", (state(1, 0, [1, 2], 2),)),
    "a leader ahead of the state znode": (
        "I-ZKVER",
        (IsrExpanded(replica="t-0@b1", from_isr=(1,), to_isr=(1, 2), partition_epoch=5),),
    ),
    "a controller of the past writes": ("I-CTRL", (state_of_controller(2, 1), state_of_controller(1, 2))),
    "two controllers of one epoch": (
        "I-CTRL",
        (ControllerElected(broker=1, controller_epoch=1), ControllerElected(broker=2, controller_epoch=1)),
    ),
    "epochs that fall": ("I-EPOCHCACHE", (epochs(1, (0, 0), (2, 1), (1, 1)),)),
    "an epoch that begins before its records": ("I-EPOCHCACHE", (epochs(1, (1, 0)),)),
    "another record of the same epoch": ("I-LOGMATCH", (append(1, 1), append(2, 1, size=99))),
    "the same record behind another one": (
        "I-LOGMATCH",
        (append(1, 1), append(2, 1, epoch=-1), append(1, 2), append(2, 2)),
    ),
    "a truncation below the own high watermark": ("I-NOTRUNCBELOWHW", (truncate(2, 1, 0),)),
    "ZooKeeper's ISR has a member without the records": (
        "I-STRONGISR",
        (
            IsrExpanded(replica="t-0@b1", from_isr=(1, 2), to_isr=(1,), partition_epoch=0),
            append(1, 1),
            advance(1, 2, before=1),
        ),
    ),
    "a follower joins that lags": (
        "I-EXPAND",
        (
            IsrExpanded(replica="t-0@b1", from_isr=(1, 2), to_isr=(1,), partition_epoch=0),
            append(1, 1),
            advance(1, 2, before=1),
            IsrChangeProposed(replica="t-0@b1", isr=(1, 2)),
        ),
    ),
    "acks=all before it is committed": (
        "I-MINISR",
        (append(1, 1), produce("request", ("acks", -1)), produce("response", ("t-0", 1))),
    ),
    "a consumer reads what is not committed": ("I-CONSUME", (append(1, 1), consumed(2, 2, 0, 1))),
    "a consumer reads twice": ("I-CONSUME", (consumed(1, 1, 0), consumed(1, 1, 0))),
    "a partition is assigned to two members": ("I-GROUP", (*GROUP, assignment(("c-1", ("t-0",)), ("d-1", ("t-0",))))),
    "a generation without a number of its own": (
        "I-GROUP",
        (*GROUP, group("Stable", "PreparingRebalance", 1), group("PreparingRebalance", "Empty", 1)),
    ),
    "a new coordinator that does not know a stored generation": (
        "I-GROUP",
        (*GROUP, loaded(2, 1), group("", "Empty", 0, node=2)),
    ),
    "a commit of an earlier generation": ("I-GROUP", (*GROUP, commit(0))),
    "a partition that its owner has not given up": ("I-COOP", (*GROUP, owns("d", "t-0", "t-1"))),
    "a sequence number twice": ("I-SEQ", (numbered(0, 1), numbered(0, 2))),
    "a sequence number left out": ("I-SEQ", (numbered(0, 1), numbered(2, 2))),
    "a leader leaps over what it has compacted": ("I-SEQ", (numbered(0, 1), cleaned(1, 3), numbered(2, 3))),
    "a follower goes back over what was compacted": (
        "I-SEQ",
        (numbered(1, 1, node=2), cleaned(1, 3), numbered(0, 3, node=2)),
    ),
    "an epoch of a producer that falls": ("I-SEQ", (numbered(0, 1, epoch=1), numbered(1, 2))),
    "a last stable offset behind an open transaction": (
        "I-LSO",
        (numbered(0, 1, is_transactional=True), unstable(-1, 2)),
    ),
    "a marker that counts before it is replicated": (
        "I-LSO",
        (numbered(0, 1, is_transactional=True), unstable(-1, 1), COMMITTED, unstable(1, -1)),
    ),
    "an index entry inside of a batch": ("I-INDEX", (append(1, 1), indexed(1, 75))),
    "an index entry behind its batch": ("I-INDEX", (append(1, 1), indexed(0, 70))),
    "an index that falls": ("I-INDEX", (append(1, 1), indexed(1, 70), indexed(0, 0))),
    "a time index with too old a time": (
        "I-INDEX",
        (append(1, 1), TimeIndexEntryAdded(replica="t-0@b1", segment=0, timestamp=0, offset=1)),
    ),
    "a segment named below the log's end": ("I-SEGNAME", (rolled(0),)),
    "a batch in a segment that is closed": ("I-SEGNAME", (rolled(1), append(1, 1))),
    "a checkpoint above the high watermark": (
        "I-CKPT",
        (CheckpointWritten(broker="b1", file="replication-offset-checkpoint", entries=(("t-0", 2),)),),
    ),
    "a recovery point beyond the log": (
        "I-CKPT",
        (CheckpointWritten(broker="b2", file="recovery-point-offset-checkpoint", entries=(("t-0", 2),)),),
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
