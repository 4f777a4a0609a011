"""I-ONELEADER, I-EPOCHMONO, I-EXPAND and the leader's part of I-ZKVER: who leads, and who is in its ISR."""

from broker_core.events import log, replica
from broker_core.partitions import broker_node
from broker_core.sim.invariants.catalogue import (
    EARLY_JOIN,
    LATE_FETCH,
    LOST_TAIL,
    MISSED_EPOCH,
    SPLIT_EPOCH,
    Explanation,
    Words,
)
from broker_core.sim.invariants.checker import Checker, watches
from broker_core.sim.invariants.log_rules import note_stale
from broker_core.sim.invariants.shadow import ShadowPartition, ShadowReplica
from broker_core.sim.invariants.watermark_rules import check_committed, check_cut, check_weak, count_lost

_TWO_LEADERS = Words(
    "in leader epoch {epoch} both {earlier} and {node} led", "在首领纪元 {epoch} 中 {earlier} 与 {node} 都当过首领"
)
_EPOCH_BACK = Words("its leader epoch went back from {before} to {epoch}", "其首领纪元从 {before} 退到了 {epoch}")
_EPOCH_AHEAD = Words(
    "its leader epoch {epoch} is ahead of ZooKeeper's {known}", "其首领纪元 {epoch} 超前于 ZooKeeper 的 {known}"
)
_VERSION_AHEAD = Words(
    "its partition epoch {epoch} is ahead of the state znode's version {version}",
    "其分区纪元 {epoch} 超前于状态 znode 的版本 {version}",
)
_JOINS_BEHIND = Words(
    "{node} joins its ISR with log end {end}, but the high watermark is {high_watermark}",
    "{node} 加入其 ISR 时日志末端为 {end}，而高水位为 {high_watermark}",
)
_JOINS_EARLY = Words(
    "{node} joins its ISR with log end {end}, before the start {start} of leader epoch {epoch}",
    "{node} 加入其 ISR 时日志末端为 {end}，早于首领纪元 {epoch} 的起始 {start}",
)
_JOINS_FROM_PAST = Words(
    "{node} joins its ISR in leader epoch {epoch}, but knows of epoch {known} only",
    "{node} 在首领纪元 {epoch} 加入其 ISR，却只知道纪元 {known}",
)
_JOINED_EARLY = Words(
    "{node} joined the ISR with log end {end}, before the start {start} of leader epoch {epoch} (cured by KAFKA-7128)",
    "{node} 加入 ISR 时日志末端为 {end}，早于首领纪元 {epoch} 的起始 {start}（KAFKA-7128 修正了这一点）",
)
_MISSED_EPOCH = Words(
    "{node} led again in leader epoch {epoch} without having heard of the epoch {missed} of {other}, and still counted "
    "what its followers had held before that",
    "{node} 在首领纪元 {epoch} 再次成为首领，却不知道 {other} 的纪元 {missed}，仍按此前跟随者持有的内容计算",
)
_SPLIT_EPOCH = Words(
    "{node} lost the end of its log and led on in leader epoch {epoch}: what it writes since is another history of "
    "that epoch",
    "{node} 丢失了日志末尾，却在首领纪元 {epoch} 继续当首领：此后写入的是同一纪元的另一段历史",
)
_LATE_FETCH = Words(
    "{leader} took a fetch at {told} for what {node} holds, but {node} sent it before its log was cut or replaced: a "
    "fetch did not say which leader epoch it was meant for (cured by KIP-320)",
    "{leader} 把 {node} 在其日志被截断或替换之前发出的、位于 {told} 的拉取请求当作它现有的内容：拉取请求不带首领纪元"
    "（KIP-320 修正了这一点）",
)


def nodes(broker_ids: tuple[int, ...] | list[int]) -> tuple[str, ...]:
    """The names of brokers."""
    return tuple([broker_node(broker_id) for broker_id in broker_ids])


def _begin(checker: Checker, name: str) -> tuple[ShadowReplica, ShadowPartition]:
    shadow = checker.replicas[name]
    return shadow, checker.partition(shadow.partition)


@watches(replica.ReplicaBecameLeader)
def became_leader(checker: Checker, event: replica.ReplicaBecameLeader) -> None:
    shadow, partition = _begin(checker, event.replica)
    _note_missed_epoch(checker, partition, shadow, event.leader_epoch)
    _note_split_epoch(checker, partition, shadow, event.leader_epoch)
    _told_epoch(checker, partition, shadow, event.leader_epoch, checker.seq)
    shadow.role = "leader"
    shadow.following = ""
    shadow.pending_isr = ()
    shadow.epoch_start = event.leader_epoch_start_offset
    shadow.replica_count = len(event.remotes) + 1
    shadow.believed = believed = {
        broker_node(broker_id): log_end_offset for broker_id, log_end_offset, _ in event.remotes
    }
    # At the end of a move the replicas that go are assigned no more before they leave the ISR: nobody waits for them.
    shadow.isr = tuple([node for node in nodes(event.isr) if node == shadow.node or node in believed])
    if shadow.is_stale:
        return
    _check_version(checker, partition, shadow, event.partition_epoch)
    earlier = partition.leaders.setdefault(event.leader_epoch, shadow.node)
    if earlier != shadow.node:
        checker.violated(
            "I-ONELEADER",
            shadow.partition,
            _TWO_LEADERS,
            epoch=event.leader_epoch,
            earlier=earlier,
            node=shadow.node,
        )
    check_weak(checker, shadow, shadow.isr)
    if event.leader_epoch >= partition.newest_epoch:
        partition.newest_epoch = event.leader_epoch
        count_lost(checker, partition, shadow)
        check_committed(checker, partition, shadow)


def _note_missed_epoch(checker: Checker, partition: ShadowPartition, shadow: ShadowReplica, leader_epoch: int) -> None:
    """What a leader knows of its followers is out of date if they have followed another one meanwhile."""
    if shadow.role != "leader" or not checker.era.reelection_keeps_followers:
        return
    for missed in range(shadow.leader_epoch + 1, leader_epoch):
        other = partition.leaders.get(missed, shadow.node)
        if other != shadow.node:
            words = _MISSED_EPOCH.filled(node=shadow.node, epoch=leader_epoch, missed=missed, other=other)
            setting = "a leader that is elected again keeps what its followers had"
            partition.excuses[MISSED_EPOCH] = Explanation(MISSED_EPOCH, words, setting, checker.seq)


def _note_split_epoch(checker: Checker, partition: ShadowPartition, shadow: ShadowReplica, leader_epoch: int) -> None:
    lost_tail = partition.excuses.get(LOST_TAIL)
    if lost_tail is None or partition.leaders.get(leader_epoch) != shadow.node:
        return
    if shadow.log.end < partition.held.get(shadow.node, -1):
        words = _SPLIT_EPOCH.filled(node=shadow.node, epoch=leader_epoch)
        partition.excuses[SPLIT_EPOCH] = Explanation(SPLIT_EPOCH, words, lost_tail.setting, checker.seq)


@watches(replica.ReplicaBecameFollower)
def became_follower(checker: Checker, event: replica.ReplicaBecameFollower) -> None:
    shadow, partition = _begin(checker, event.replica)
    _told_epoch(checker, partition, shadow, event.leader_epoch, checker.seq)
    shadow.role = "follower"
    shadow.following = broker_node(event.leader)
    shadow.isr = shadow.pending_isr = ()
    if shadow.cut_seq:
        # It may have come back with less than it had.
        check_cut(checker, partition, shadow, shadow.log.end)


@watches(replica.ReplicaWentOffline, log.LogClosed)
def went_offline(checker: Checker, event: replica.ReplicaWentOffline | log.LogClosed) -> None:
    shadow, _ = _begin(checker, event.replica)
    shadow.role = "offline"
    shadow.isr = shadow.pending_isr = ()


def _told_epoch(
    checker: Checker, partition: ShadowPartition, shadow: ShadowReplica, leader_epoch: int, seq: int
) -> None:
    if shadow.is_stale:
        note_stale(partition, shadow, seq)
    if leader_epoch < shadow.leader_epoch:
        checker.violated("I-EPOCHMONO", shadow.key, _EPOCH_BACK, before=shadow.leader_epoch, epoch=leader_epoch)
    if leader_epoch > partition.leader_epoch:
        # Before this order about a topic that was deleted meanwhile came one to delete the replica.
        shadow.is_stale = leader_epoch <= partition.deleted_epoch
        if not shadow.is_stale:
            checker.violated("I-EPOCHMONO", shadow.key, _EPOCH_AHEAD, epoch=leader_epoch, known=partition.leader_epoch)
    shadow.leader_epoch = leader_epoch


def _check_version(checker: Checker, partition: ShadowPartition, shadow: ShadowReplica, epoch: int) -> None:
    if epoch > partition.version:
        checker.violated("I-ZKVER", shadow.key, _VERSION_AHEAD, epoch=epoch, version=partition.version)


@watches(replica.IsrChangeProposed)
def isr_proposed(checker: Checker, event: replica.IsrChangeProposed) -> None:
    shadow, partition = _begin(checker, event.replica)
    shadow.pending_isr = proposed = nodes(event.isr)
    for node in proposed:
        if node not in shadow.isr:
            _check_joining(checker, partition, shadow, node)


@watches(replica.IsrShrunk, replica.IsrExpanded)
def isr_changed(checker: Checker, event: replica.IsrShrunk | replica.IsrExpanded) -> None:
    shadow, partition = _begin(checker, event.replica)
    before, pending = shadow.isr, shadow.pending_isr
    shadow.isr = nodes(event.to_isr)
    shadow.pending_isr = ()
    _check_version(checker, partition, shadow, event.partition_epoch)
    joining = tuple([node for node in shadow.isr if node not in before])
    for node in joining:
        member = partition.replicas.get(node)
        if node not in pending:
            _check_joining(checker, partition, shadow, node)
        elif member is not None and member.log.end < shadow.high_watermark:
            _joins_behind(checker, shadow, member)
    check_weak(checker, shadow, joining)


def _check_joining(checker: Checker, partition: ShadowPartition, shadow: ShadowReplica, node: str) -> None:
    """I-EXPAND: the three conditions as they are when the leader decides."""
    member = partition.replicas.get(node)
    if member is None:
        return
    end = member.log.end
    if not checker.era.fetch_carries_epoch:
        _note_late_fetch(checker, partition, shadow, member)
    if end < shadow.high_watermark:
        _joins_behind(checker, shadow, member)
    if end < shadow.epoch_start:
        start, epoch = shadow.epoch_start, shadow.leader_epoch
        if checker.era.joins_isr_from_epoch_start:
            checker.violated("I-EXPAND", shadow.key, _JOINS_EARLY, node=node, end=end, start=start, epoch=epoch)
        else:
            words = _JOINED_EARLY.filled(node=node, end=end, start=start, epoch=epoch)
            partition.excuses[EARLY_JOIN] = Explanation(EARLY_JOIN, words, f"era={checker.era.name}", checker.seq)
    if checker.era.fetch_carries_epoch and 0 <= member.leader_epoch < shadow.leader_epoch:
        checker.violated(
            "I-EXPAND",
            shadow.key,
            _JOINS_FROM_PAST,
            node=node,
            epoch=shadow.leader_epoch,
            known=member.leader_epoch,
        )


def _note_late_fetch(
    checker: Checker, partition: ShadowPartition, shadow: ShadowReplica, member: ShadowReplica
) -> None:
    told = shadow.believed.get(member.node, -1)
    if member.log.end < told <= partition.held.get(member.node, -1):
        words = _LATE_FETCH.filled(leader=shadow.node, node=member.node, told=told)
        setting = f"era={checker.era.name} (a fetch carries no leader epoch)"
        partition.excuses[LATE_FETCH] = Explanation(LATE_FETCH, words, setting, checker.envelope[3])


def _joins_behind(checker: Checker, shadow: ShadowReplica, member: ShadowReplica) -> None:
    checker.violated(
        "I-EXPAND",
        shadow.key,
        _JOINS_BEHIND,
        cause=member.cut_seq,
        node=member.node,
        end=member.log.end,
        high_watermark=shadow.high_watermark,
    )


@watches(replica.IsrChangeRefused)
def isr_refused(checker: Checker, event: replica.IsrChangeRefused) -> None:
    checker.replicas[event.replica].pending_isr = ()
