"""I-ONELEADER, I-EPOCHMONO, I-EXPAND and the leader's part of I-ZKVER: leaders and their ISRs."""

from broker_core.events import log, replica
from broker_core.partitions import broker_node
from broker_core.sim.invariants.catalogue import (
    EARLY_JOIN,
    LATE_FETCH,
    LOST_TAIL,
    MISSED_EPOCH,
    SPLIT_EPOCH,
    Explanation,
    message,
)
from broker_core.sim.invariants.checker import Checker, watches
from broker_core.sim.invariants.log_rules import record_stale
from broker_core.sim.invariants.shadow import ShadowPartition, ShadowReplica
from broker_core.sim.invariants.watermark_rules import check_cut, check_led, check_weak
from broker_core.texts import text

_TWO_LEADERS = "violation.leader_two_leaders"
_EPOCH_BACK = "violation.leader_epoch_back"
_EPOCH_AHEAD = "violation.leader_epoch_ahead"
_VERSION_AHEAD = "violation.leader_version_ahead"
_JOINS_BEHIND = "violation.leader_joins_behind"
_JOINS_EARLY = "violation.leader_joins_early"
_JOINS_FROM_PAST = "violation.leader_joins_from_past"
_JOINED_EARLY = "cause.leader_joined_early"
_MISSED_EPOCH = "cause.leader_missed_epoch"
_SPLIT_EPOCH = "cause.leader_split_epoch"
_LATE_FETCH = "cause.leader_late_fetch"


def nodes(broker_ids: tuple[int, ...] | list[int]) -> tuple[str, ...]:
    """The names of brokers."""
    return tuple([broker_node(broker_id) for broker_id in broker_ids])


def _begin(checker: Checker, name: str) -> tuple[ShadowReplica, ShadowPartition]:
    shadow = checker.replicas[name]
    return shadow, checker.partition(shadow.partition)


@watches(replica.ReplicaBecameLeader)
def became_leader(checker: Checker, event: replica.ReplicaBecameLeader) -> None:
    shadow, partition = _begin(checker, event.replica)
    _record_missed_epoch(checker, partition, shadow, event.leader_epoch)
    _record_split_epoch(checker, partition, shadow, event.leader_epoch)
    _known_epoch(checker, partition, shadow, event.leader_epoch, checker.seq)
    shadow.role = "leader"
    shadow.following = ""
    shadow.pending_isr = ()
    shadow.epoch_start = event.leader_epoch_start_offset
    shadow.replica_count = len(event.remotes) + 1
    shadow.believed = believed = {
        broker_node(broker_id): log_end_offset for broker_id, log_end_offset, _ in event.remotes
    }
    # At the end of a reassignment the removing replicas leave the assignment before the ISR, without delay.
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
        check_led(checker, partition, shadow)


def _record_missed_epoch(
    checker: Checker, partition: ShadowPartition, shadow: ShadowReplica, leader_epoch: int
) -> None:
    """A leader's view of its followers is outdated if they have followed another leader since."""
    if shadow.role != "leader" or not checker.era.replication.reelection_keeps_followers:
        return
    for missed in range(shadow.leader_epoch + 1, leader_epoch):
        other = partition.leaders.get(missed, shadow.node)
        if other != shadow.node:
            words = message(_MISSED_EPOCH, node=shadow.node, epoch=leader_epoch, missed=missed, other=other)
            setting = text("setting.reelection")
            partition.excuses[MISSED_EPOCH] = Explanation(MISSED_EPOCH, words, setting, checker.seq)


def _record_split_epoch(checker: Checker, partition: ShadowPartition, shadow: ShadowReplica, leader_epoch: int) -> None:
    lost_tail = partition.excuses.get(LOST_TAIL)
    if lost_tail is None or partition.leaders.get(leader_epoch) != shadow.node:
        return
    if shadow.log.end < partition.held.get(shadow.node, -1):
        words = message(_SPLIT_EPOCH, node=shadow.node, epoch=leader_epoch)
        partition.excuses[SPLIT_EPOCH] = Explanation(SPLIT_EPOCH, words, lost_tail.setting, checker.seq)


@watches(replica.ReplicaBecameFollower)
def became_follower(checker: Checker, event: replica.ReplicaBecameFollower) -> None:
    shadow, partition = _begin(checker, event.replica)
    _known_epoch(checker, partition, shadow, event.leader_epoch, checker.seq)
    shadow.role = "follower"
    shadow.following = broker_node(event.leader)
    shadow.isr = shadow.pending_isr = ()
    if shadow.cut_seq:
        # It may have restarted with a shorter log.
        check_cut(checker, partition, shadow, shadow.log.end)


@watches(replica.ReplicaWentOffline, log.LogClosed)
def went_offline(checker: Checker, event: replica.ReplicaWentOffline | log.LogClosed) -> None:
    shadow, _ = _begin(checker, event.replica)
    shadow.role = "offline"
    shadow.isr = shadow.pending_isr = ()


def _known_epoch(
    checker: Checker, partition: ShadowPartition, shadow: ShadowReplica, leader_epoch: int, seq: int
) -> None:
    if shadow.is_stale:
        record_stale(partition, shadow, seq)
    if leader_epoch < shadow.leader_epoch:
        checker.violated("I-EPOCHMONO", shadow.key, _EPOCH_BACK, before=shadow.leader_epoch, epoch=leader_epoch)
    if leader_epoch > partition.leader_epoch:
        # Before this request about a topic deleted since, there was one to delete the replica.
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
    """I-EXPAND: the three conditions at the time of the leader's decision."""
    member = partition.replicas.get(node)
    if member is None:
        return
    end = member.log.end
    if not checker.era.replication.fetch_carries_epoch:
        _record_late_fetch(checker, partition, shadow, member)
    elif member.leader_epoch > shadow.leader_epoch:
        # It was as far as this leader knows when it sent the fetch, and has truncated for a newer leader since. The
        # proposal of this one, which was deposed and does not know it yet, will be refused.
        return
    if end < shadow.high_watermark:
        _joins_behind(checker, shadow, member)
    if end < shadow.epoch_start:
        start, epoch = shadow.epoch_start, shadow.leader_epoch
        if checker.era.isr.joins_from_epoch_start:
            checker.violated("I-EXPAND", shadow.key, _JOINS_EARLY, node=node, end=end, start=start, epoch=epoch)
        else:
            words = message(_JOINED_EARLY, node=node, end=end, start=start, epoch=epoch)
            partition.excuses[EARLY_JOIN] = Explanation(EARLY_JOIN, words, f"era={checker.era.name}", checker.seq)
    if checker.era.replication.fetch_carries_epoch and 0 <= member.leader_epoch < shadow.leader_epoch:
        checker.violated(
            "I-EXPAND",
            shadow.key,
            _JOINS_FROM_PAST,
            node=node,
            epoch=shadow.leader_epoch,
            known=member.leader_epoch,
        )


def _record_late_fetch(
    checker: Checker, partition: ShadowPartition, shadow: ShadowReplica, member: ShadowReplica
) -> None:
    told = shadow.believed.get(member.node, -1)
    if member.log.end < told <= partition.held.get(member.node, -1):
        words = message(_LATE_FETCH, leader=shadow.node, node=member.node, told=told)
        setting = text("setting.no_epoch_in_fetch", era=checker.era.name)
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
