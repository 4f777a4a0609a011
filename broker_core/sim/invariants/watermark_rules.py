"""I-HWLEAD, I-HWFOLL, I-WEAKISR, I-STRONGISR, I-COMMIT, I-COMPLETE: the guarantees of high watermarks."""

from collections.abc import Iterable, Sequence

from broker_core.events import control, replica
from broker_core.events.client import AcknowledgedRecordsLost
from broker_core.partitions import broker_node
from broker_core.sim.invariants.catalogue import UNCLEAN, Explanation, message
from broker_core.sim.invariants.checker import Checker, watches
from broker_core.sim.invariants.shadow import AcknowledgedProduce, ShadowPartition, ShadowReplica

_ORDER = "violation.watermark_order"
_BACK = "violation.watermark_back"
_NOT_REACHED = "violation.watermark_not_reached"
_NEVER_A_LEADERS = "violation.watermark_never_a_leaders"
_OWN_MEMBER = "violation.watermark_own_member"
_ZK_MEMBER = "violation.watermark_zk_member"
_LOST = "violation.watermark_lost"
_INCOMPLETE = "violation.watermark_incomplete"
_UNCLEAN = "cause.watermark_unclean"


@watches(replica.HighWatermarkAdvanced, replica.HighWatermarkLowered)
def high_watermark_moved(checker: Checker, event: replica.HighWatermarkAdvanced | replica.HighWatermarkLowered) -> None:
    shadow = checker.replicas[event.replica]
    before = shadow.high_watermark
    shadow.high_watermark = reached = event.to_offset
    if not 0 <= shadow.start <= reached <= shadow.log.end:
        checker.violated("I-ORDER", event.replica, _ORDER, reached=reached, start=shadow.start, end=shadow.log.end)
    role = shadow.role
    if role == "leader":
        _leader_high_watermark(checker, shadow, before, reached)
    elif role == "follower" and not shadow.is_stale:
        # The response to a fetch in flight when the topic was deleted is from a leader that is no longer tracked.
        highest = checker.partitions[shadow.partition].highest_ever
        if reached > highest:
            checker.violated("I-HWFOLL", event.replica, _NEVER_A_LEADERS, reached=reached, highest=highest)


def _leader_high_watermark(checker: Checker, shadow: ShadowReplica, before: int, reached: int) -> None:
    if reached < before:
        checker.violated("I-HWLEAD", shadow.key, _BACK, before=before, reached=reached)
    partition = checker.partitions[shadow.partition]
    believed, own, shadow_log, isr = shadow.believed, shadow.node, shadow.log, shadow.isr
    members = isr if not shadow.pending_isr else dict.fromkeys(isr + shadow.pending_isr)
    for node in members:
        if node != own:
            end = believed.get(node, -1)
            if end < reached:
                checker.violated("I-HWLEAD", shadow.key, _NOT_REACHED, reached=reached, node=node, end=end)
    replicas = partition.replicas
    chain = shadow_log.chain_below(reached)
    for node in isr:
        if node != own:
            member = replicas.get(node)
            if member is not None:
                log = member.log
                if log.end < reached or chain is None or log.chain_below(reached) != chain:
                    _compare_logs(checker, "I-WEAKISR", shadow, member, before, reached)
    if partition.isr != isr:
        _check_strong(checker, partition, shadow, before)
    if reached > partition.highest:
        partition.highest = reached
        partition.committed = shadow_log
        if reached > partition.highest_ever:
            partition.highest_ever = reached
        unsafe = partition.unsafe
        while unsafe and unsafe[0].last < reached:
            unsafe.popleft()


def _compare_logs(
    checker: Checker, invariant: str, leader: ShadowReplica, member: ShadowReplica, start: int, end: int
) -> None:
    """Compares two logs that may differ below `end`. Offsets below `start` have been compared before."""
    if not checker.is_news(invariant, leader.key):
        return
    start = max(start, member.log.deleted_below)
    differs = leader.log.difference(member.log, start, end)
    if differs is None and member.log.end < end:
        differs = max(member.log.end, start)
    if differs is not None and leader.start <= differs < end:
        checker.violated(
            invariant,
            leader.key,
            _OWN_MEMBER if invariant == "I-WEAKISR" else _ZK_MEMBER,
            differs=differs,
            end=end,
            node=member.node,
            cause=member.cut_seq,
        )


def check_weak(checker: Checker, leader: ShadowReplica, nodes: tuple[str, ...]) -> None:
    """I-WEAKISR for some members of a leader's own ISR, for the whole log."""
    replicas = checker.partitions[leader.partition].replicas
    for node in nodes:
        member = replicas.get(node) if node != leader.node else None
        if member is not None and not leader.log.agrees(member.log, leader.high_watermark):
            _compare_logs(checker, "I-WEAKISR", leader, member, leader.start, leader.high_watermark)


def _check_strong(checker: Checker, partition: ShadowPartition, leader: ShadowReplica, start: int) -> None:
    """I-STRONGISR for a replica that acts as leader."""
    for node in partition.isr:
        member = partition.replicas.get(node) if node != leader.node else None
        if member is not None and not leader.log.agrees(member.log, leader.high_watermark):
            _compare_logs(checker, "I-STRONGISR", leader, member, start, leader.high_watermark)


def check_all_strong(checker: Checker, partition: ShadowPartition) -> None:
    """I-STRONGISR after the ISR in ZooKeeper changed."""
    for leader in partition.replicas.values():
        if leader.role == "leader" and not leader.is_stale:
            _check_strong(checker, partition, leader, leader.start)


def check_cut(checker: Checker, partition: ShadowPartition, shadow: ShadowReplica, end: int) -> None:
    """Checks whether a log truncated to `end` has lost records that its leader or the committed log relies on."""
    for leader in partition.replicas.values():
        if leader is shadow or leader.role != "leader" or leader.is_stale or end >= leader.high_watermark:
            continue
        if shadow.node in leader.isr:
            _compare_logs(checker, "I-WEAKISR", leader, shadow, end, leader.high_watermark)
        if shadow.node in partition.isr:
            _compare_logs(checker, "I-STRONGISR", leader, shadow, end, leader.high_watermark)
    if shadow.role == "leader":
        check_committed(checker, partition, shadow)


@watches(replica.RemoteReplicaUpdated)
def believed(checker: Checker, event: replica.RemoteReplicaUpdated) -> None:
    checker.replicas[event.replica].believed[event.follower] = event.log_end_offset


def _lost_offset(partition: ShadowPartition, shadow: ShadowReplica) -> int | None:
    """The first committed offset that a log does not hold; None if it has all."""
    committed, highest = partition.committed, partition.highest
    if committed is None or committed is shadow.log or committed.agrees(shadow.log, highest):
        return None
    lost = committed.difference(shadow.log, shadow.start, highest)
    if lost is None:
        # Records deleted since by the log that held them are not lost to a log that ends before them.
        lost = max(shadow.log.end, committed.deleted_below)
    return lost if lost < highest else None


def check_committed(
    checker: Checker,
    partition: ShadowPartition,
    shadow: ShadowReplica,
    lost_answers: Sequence[AcknowledgedProduce] = (),
) -> None:
    """I-COMMIT: the leader in ZooKeeper must hold all committed records. `lost_answers`: what was taken out of the
    partition's, because it lacks them.
    """
    lost = _lost_offset(partition, shadow)
    if lost is None:
        if shadow.log.end < partition.highest:
            # All records that it lacks were deleted: from here on its log is the committed one.
            partition.highest, partition.committed = shadow.log.end, shadow.log
        return
    checker.violated(
        "I-COMMIT",
        shadow.partition,
        _LOST,
        cause=shadow.cut_seq,
        taken_by_cut=shadow.log.lowest_cut <= lost,
        promise=_promise((*partition.answered, *lost_answers), lost),
        lost=lost,
        highest=partition.highest,
        node=shadow.node,
        epoch=shadow.leader_epoch,
    )
    # After a loss the new leader's log is the committed one.
    partition.highest = min(partition.highest, shadow.log.end)
    partition.committed = shadow.log


def _promise(answered: Iterable[AcknowledgedProduce], offset: int) -> AcknowledgedProduce | None:
    """The response that acknowledged an offset, the strongest acks first."""
    answers = [answer for answer in answered if answer.base <= offset <= answer.last]
    return min(answers, key=lambda answer: answer.acks, default=None)


def check_led(checker: Checker, partition: ShadowPartition, shadow: ShadowReplica) -> None:
    """Checks that a new leader holds all committed records, and counts the acknowledged ones that it lacks."""
    highest = partition.highest
    lost = _take_lost(partition, shadow)
    check_committed(checker, partition, shadow, lost)
    if lost:
        why = "restart" if lost[0].leader == shadow.node else "election"
        _count_lost(checker, shadow, lost, highest, why)


def _take_lost(partition: ShadowPartition, shadow: ShadowReplica) -> list[AcknowledgedProduce]:
    """Takes out the acknowledged batches that a new leader lacks, ascending; the latest response to each."""
    deleted_below = shadow.log.deleted_below
    if partition.committed is not None:
        deleted_below = max(deleted_below, partition.committed.deleted_below)
    lost = {
        answer.base: answer
        for answer in (*partition.answered, *partition.unsafe)
        if answer.last >= deleted_below and shadow.log.lacks(answer.base, answer.last, answer.identity)
    }
    if lost:
        for answers in (partition.answered, partition.unsafe):
            kept = [answer for answer in answers if answer.base not in lost]
            answers.clear()
            answers.extend(kept)
    return [lost[base] for base in sorted(lost)]


def lost_by_deposed(
    checker: Checker, partition: ShadowPartition, deposed: ShadowReplica, answer: AcknowledgedProduce
) -> bool:
    """Counts records that a broker acknowledges after another one has become the leader, which lacks them."""
    leader = partition.replicas.get(partition.leaders.get(partition.newest_epoch, ""))
    if leader is None or not leader.log.lacks(answer.base, answer.last, answer.identity):
        return False
    _count_lost(checker, leader, [answer], deposed.high_watermark, "deposed leader")
    return True


def _count_lost(
    checker: Checker, leader: ShadowReplica, lost: list[AcknowledgedProduce], committed_end: int, why: str
) -> None:
    """`committed_end`: records below it were committed."""
    checker.state(
        AcknowledgedRecordsLost(
            partition=leader.partition,
            first_offset=lost[0].base,
            count=sum(answer.last - answer.base + 1 for answer in lost),
            leader=leader.node,
            leader_epoch=leader.leader_epoch,
            acknowledged_by=lost[0].leader,
            acknowledged_seq=lost[0].seq,
            acks=min(answer.acks for answer in lost),
            why=why,
            committed=sum(answer.last - answer.base + 1 for answer in lost if answer.last < committed_end),
        )
    )


@watches(control.LeaderElected)
def elected(checker: Checker, event: control.LeaderElected) -> None:
    """I-COMPLETE, unless the leader was elected from outside of the ISR."""
    partition = checker.partition(event.partition)
    if event.unclean:
        words = message(_UNCLEAN, leader=event.leader, leader_epoch=event.leader_epoch)
        setting = "unclean.leader.election.enable=true"
        partition.excuses[UNCLEAN] = Explanation(UNCLEAN, words, setting, checker.seq)
    check_all_strong(checker, partition)
    shadow = partition.replicas.get(broker_node(event.leader))
    if event.unclean or shadow is None or event.leader < 0:
        return
    lost = _lost_offset(partition, shadow)
    if lost is not None:
        checker.violated(
            "I-COMPLETE",
            event.partition,
            _INCOMPLETE,
            cause=shadow.cut_seq,
            taken_by_cut=shadow.log.lowest_cut <= lost,
            promise=_promise(partition.answered, lost),
            node=shadow.node,
            epoch=event.leader_epoch,
            lost=lost,
            highest=partition.highest,
        )
