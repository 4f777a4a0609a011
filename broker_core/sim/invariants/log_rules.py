"""I-ORDER, I-LOGMONO, I-LOGMATCH, I-NOTRUNCBELOWHW, I-SEGNAME: the contents of the logs."""

from itertools import pairwise

from broker_core.events import log
from broker_core.partitions import ReplicaId, partition_of
from broker_core.sim.invariants.catalogue import COMPACTED_EPOCH, LOST_TAIL, STALE_LOG, Explanation, message
from broker_core.sim.invariants.checker import Checker, watches
from broker_core.sim.invariants.epoch_rules import check_batch_epoch, check_epochs, epoch_of
from broker_core.sim.invariants.shadow import (
    KEPT_BATCHES,
    SegmentIndex,
    ShadowBatch,
    ShadowLog,
    ShadowPartition,
    ShadowReplica,
)
from broker_core.sim.invariants.watermark_rules import check_cut
from broker_core.texts import Text, text

KEPT_HISTORY = 2 * KEPT_BATCHES

_ORDER = "violation.log_order"
_NOT_BEHIND = "violation.log_not_behind"
_EPOCH_BACK = "violation.log_epoch_back"
_OTHER_RECORD = "violation.log_other_record"
_OTHER_PREFIX = "violation.log_other_prefix"
_BELOW_OWN = "violation.log_below_own"
_COMPACTED_EPOCH = "cause.log_compacted_epoch"
_WRONG_SEGMENT = "violation.log_wrong_segment"
_WRONG_ROLL = "violation.log_wrong_roll"
_WRONG_SEGMENTS = "violation.log_wrong_segments"
_POWER_LOST = "cause.log_power_lost"
_CUT_BY_REPAIR = "cause.log_cut_by_repair"
_STALE = "cause.log_stale"
_FLUSH = "log.flush.interval.messages, log.flush.interval.ms"


def check_order(checker: Checker, shadow: ShadowReplica) -> None:
    """I-ORDER. In older eras a log truncated below its high watermark lowers that only with the next fetch response."""
    end = shadow.log.end if checker.era.replication.truncation_lowers_high_watermark else shadow.high_watermark
    if not 0 <= shadow.start <= shadow.high_watermark <= end:
        checker.violated(
            "I-ORDER",
            shadow.key,
            _ORDER,
            start=shadow.start,
            high_watermark=shadow.high_watermark,
            end=shadow.log.end,
        )


@watches(log.LogOpened)
def opened(checker: Checker, event: log.LogOpened) -> None:
    """Updates the shadow of an opened log: a known one may have lost its end, a new one starts from the event."""
    replica = ReplicaId.parse(event.replica)
    partition = checker.partition(replica.partition)
    known = checker.replicas.get(event.replica)
    active, size = event.segments[-1][:2]
    cut_seq = 0
    if known is not None and known.topic_id == event.topic_id and known.is_stale:
        record_stale(partition, known, checker.seq)
        known = None
    if known is not None and known.topic_id == event.topic_id and known.log.end >= event.log_end_offset:
        shadow_log, cut_seq = known.log, known.cut_seq
        if event.log_end_offset < shadow_log.end:
            partition.loses(replica.node, shadow_log.end)
            _cut(partition, shadow_log, event.log_end_offset)
            cut_seq = checker.seq
        if shadow_log.segment != active:
            shadow_log.max_timestamp = -1
        shadow_log.segment, shadow_log.next_position = active, size
    else:
        shadow_log = ShadowLog(event.log_end_offset, active, size)
        partition.highest_ever = max(partition.highest_ever, event.high_watermark)
    shadow = ShadowReplica(
        event.replica,
        replica.partition,
        replica.node,
        event.topic_id,
        shadow_log,
        event.log_start_offset,
        event.high_watermark,
    )
    shadow.cut_seq = cut_seq
    # The events do not list the index entries of a loaded log.
    shadow.indexes = {active: SegmentIndex(is_complete=not event.segments[-1][2])}
    checker.replicas[event.replica] = partition.replicas[replica.node] = shadow
    check_order(checker, shadow)
    _check_segments(checker, shadow, event.segments)
    check_epochs(checker, shadow, event.epochs)


@watches(log.LogDeleted)
def deleted(checker: Checker, event: log.LogDeleted) -> None:
    shadow = checker.replicas.pop(event.replica, None)
    if shadow is not None:
        partition = checker.partition(shadow.partition)
        partition.replicas.pop(shadow.node, None)
        partition.loses(shadow.node, shadow.log.end)


@watches(log.BatchAppended)
def appended(checker: Checker, event: log.BatchAppended) -> None:
    """Checks an append; nearly every batch passes with the comparisons of this function."""
    shadow = checker.replicas[event.replica]
    shadow_log = shadow.log
    base, last, epoch = event.base_offset, event.last_offset, event.leader_epoch
    segment, position = event.segment, event.position
    if base < shadow_log.end or last < base:
        checker.violated("I-LOGMONO", event.replica, _NOT_BEHIND, base=base, last=last, end=shadow_log.end)
    partition = checker.partitions[shadow.partition]
    if epoch < 0:
        written_in = _unwritten_epoch(partition, shadow, base)
    else:
        written_in = epoch
        if epoch < shadow_log.epoch:
            checker.violated("I-LOGMONO", event.replica, _EPOCH_BACK, base=base, epoch=epoch, before=shadow_log.epoch)
        epochs = shadow.epochs
        if not epochs or epochs[-1][0] != epoch or epochs[-1][1] > base:
            check_batch_epoch(checker, shadow, base, epoch)
    if segment != shadow_log.segment or position != shadow_log.next_position or base < segment:
        checker.violated(
            "I-SEGNAME",
            event.replica,
            _WRONG_SEGMENT,
            base=base,
            position=position,
            segment=segment,
            active=shadow_log.segment,
            next_position=shadow_log.next_position,
        )
    timestamp = event.max_timestamp
    identity = hash((base, last, epoch, event.crc, event.size, timestamp))
    before = shadow_log.chain
    chain = None if before is None else hash((before, identity))
    if timestamp < shadow_log.max_timestamp:
        timestamp = shadow_log.max_timestamp
    batch = ShadowBatch(chain, identity, written_in, segment, position, event.size, timestamp)
    # A broker not yet notified of a topic's deletion may still lead the old one: its log is not one of the new topic.
    if written_in >= 0 and not shadow.is_stale:
        history = partition.history
        first = history.setdefault((written_in, base), batch)
        if first is not batch and first == batch:
            # one object for all replicas
            batch = first
        shadow_log.append(base, last, batch)
        if first is batch:
            if len(history) > KEPT_HISTORY:
                for key in list(history)[: KEPT_HISTORY // 2]:
                    del history[key]
        elif first.chain != chain or chain is None:
            _match(checker, partition, shadow, base, first)
    else:
        shadow_log.append(base, last, batch)


@watches(log.RefusedAppendWritten)
def written_all_the_same(checker: Checker, event: log.RefusedAppendWritten) -> None:
    """Records a rejected append that is in the file: the next batch follows it; its index entries are not known."""
    shadow = checker.replicas[event.replica]
    shadow.log.next_position = event.size
    shadow.indexes[event.segment] = SegmentIndex()


def _unwritten_epoch(partition: ShadowPartition, shadow: ShadowReplica, base: int) -> int:
    """The leader epoch in which a message without an epoch field was written; -1 if unknown."""
    if shadow.role == "leader":
        return shadow.leader_epoch
    leader = partition.replicas.get(shadow.following)
    found = leader.log.batch_at(base) if leader is not None else None
    return found[1].epoch if found is not None else -1


def _match(checker: Checker, partition: ShadowPartition, shadow: ShadowReplica, base: int, first: ShadowBatch) -> None:
    """I-LOGMATCH for unequal chains: they differ, or the start of a log is not known."""
    if base < partition.compared_from:
        return
    shadow_log = shadow.log
    last, own = shadow_log.lasts[-1], shadow_log.batches[-1]
    if first.identity != own.identity:
        checker.violated("I-LOGMATCH", shadow.key, _OTHER_RECORD, base=base, epoch=own.epoch)
    elif own.chain is None:
        if first.chain is not None:
            shadow_log.batches[-1] = own._replace(chain=first.chain)
            shadow_log.chain = first.chain
    elif first.chain is None:
        partition.history[own.epoch, base] = own
    elif checker.is_news("I-LOGMATCH", shadow.key):
        for other in partition.replicas.values():
            found = other.log.batch_at(base) if other is not shadow else None
            if found is None or found[0] != last or found[1].identity != own.identity:
                continue
            differs = other.log.difference(shadow_log, max(other.start, shadow.start), base)
            if differs is not None:
                checker.violated(
                    "I-LOGMATCH",
                    shadow.key,
                    _OTHER_PREFIX,
                    base=base,
                    epoch=own.epoch,
                    other=other.key,
                    differs=differs,
                    cause=shadow.cut_seq,
                )
                return


@watches(log.SegmentRolled)
def rolled(checker: Checker, event: log.SegmentRolled) -> None:
    """I-SEGNAME: a segment is named after the offset of its first record."""
    shadow = checker.replicas[event.replica]
    shadow_log = shadow.log
    is_again = event.segment == event.previous_segment and event.previous_size == 0
    if event.segment < shadow_log.end or (event.segment <= event.previous_segment and not is_again):
        checker.violated(
            "I-SEGNAME",
            event.replica,
            _WRONG_ROLL,
            segment=event.segment,
            end=shadow_log.end,
            before=event.previous_segment,
        )
    shadow_log.rolled(event.segment)
    previous = shadow.indexes.get(event.previous_segment)
    shadow.indexes = {event.segment: SegmentIndex(is_complete=True)}
    if previous is not None and not is_again:
        # The roll adds a last entry to its time index.
        shadow.indexes[event.previous_segment] = previous


@watches(log.LogTruncated)
def truncated(checker: Checker, event: log.LogTruncated) -> None:
    shadow = checker.replicas[event.replica]
    partition = checker.partition(shadow.partition)
    to_offset = event.to_offset
    partition.loses(shadow.node, event.from_offset)
    if to_offset > event.from_offset:
        shadow.log = ShadowLog(to_offset, *event.segments[-1][:2])
        shadow.start = shadow.high_watermark = to_offset
    else:
        if to_offset < shadow.high_watermark and shadow.start < event.from_offset:
            _record_compacted_epoch(checker, partition, shadow, to_offset)
            checker.violated(
                "I-NOTRUNCBELOWHW",
                shadow.key,
                _BELOW_OWN,
                to_offset=to_offset,
                high_watermark=shadow.high_watermark,
            )
        if to_offset < shadow.high_watermark and checker.era.replication.truncation_lowers_high_watermark:
            # as reported by the next event
            shadow.high_watermark = to_offset
        _cut(partition, shadow.log, to_offset)
        shadow.start = min(shadow.start, to_offset)
        _check_segments(checker, shadow, event.segments)
        active, size = event.segments[-1][:2]
        if shadow.log.segment != active:
            shadow.log.max_timestamp = -1
        shadow.log.segment, shadow.log.next_position = active, size
    shadow.cut_seq = checker.seq
    check_order(checker, shadow)
    check_cut(checker, partition, shadow, to_offset)


def _record_compacted_epoch(
    checker: Checker, partition: ShadowPartition, shadow: ShadowReplica, to_offset: int
) -> None:
    """Records that the leader does not know the epoch of the first removed record, because all of its records that
    the leader could have copied had been compacted.
    """
    leader = partition.replicas.get(shadow.following)
    epoch = epoch_of(shadow.epochs, to_offset)
    if leader is None or shadow.high_watermark > partition.compared_from or epoch in dict(leader.epochs):
        return
    words = message(_COMPACTED_EPOCH, leader=leader.node, epoch=epoch)
    partition.excuses[COMPACTED_EPOCH] = Explanation(COMPACTED_EPOCH, words, "cleanup.policy=compact", checker.seq)


def _cut(partition: ShadowPartition, shadow_log: ShadowLog, offset: int) -> None:
    """Truncates the shadow, but keeps the committed log."""
    if shadow_log is partition.committed and offset < partition.highest:
        partition.committed = shadow_log.copy()
    shadow_log.truncate(offset)


def _check_segments(checker: Checker, shadow: ShadowReplica, rows: tuple[log.SegmentRow, ...]) -> None:
    """I-SEGNAME: after a start or a truncation the segments are still contiguous."""
    names = [row[0] for row in rows]
    if any(name >= behind for name, behind in pairwise(names)) or not (
        names[0] <= shadow.start and names[-1] <= shadow.log.end
    ):
        checker.violated(
            "I-SEGNAME", shadow.key, _WRONG_SEGMENTS, segments=names, start=shadow.start, end=shadow.log.end
        )


@watches(log.LogCleaned)
def cleaned(checker: Checker, event: log.LogCleaned) -> None:
    """Replicas are cleaned at different times, so offsets cleaned on any of them are no longer compared."""
    partition = checker.partition(checker.replicas[event.replica].partition)
    for shadow in partition.replicas.values():
        shadow.log.forget(event.to_offset)
    if partition.committed is not None:
        partition.committed.forget(event.to_offset)
    partition.compared_from = max(partition.compared_from, event.to_offset)


@watches(log.LogStartOffsetIncremented)
def log_start_moved(checker: Checker, event: log.LogStartOffsetIncremented) -> None:
    """Records below it are no longer checked."""
    shadow = checker.replicas[event.replica]
    shadow.start = event.to_offset
    shadow.log.delete(event.to_offset)
    check_order(checker, shadow)


@watches(log.PowerLost)
def power_lost(checker: Checker, event: log.PowerLost) -> None:
    """Records that were replicated but not fsynced may be lost if all replicas with them lost power."""
    for file, _, _, _ in event.cuts:
        if file.endswith(".log"):
            words = message(_POWER_LOST, broker=event.broker)
            _excuse_lost_tail(checker.partition(file.split("/")[-2]), words, checker.seq)


@watches(log.LogRepaired)
def repaired(checker: Checker, event: log.LogRepaired) -> None:
    if event.file.endswith(".log") and event.repair in ("cut", "deleted"):
        words = message(_CUT_BY_REPAIR, file=event.file, position=event.position)
        partition = checker.partition(partition_of(event.replica))
        if LOST_TAIL not in partition.excuses:
            # after a power loss a repair removes the damaged bytes
            _excuse_lost_tail(partition, words, checker.seq)


def _excuse_lost_tail(partition: ShadowPartition, words: Text, seq: int) -> None:
    partition.excuses[LOST_TAIL] = Explanation(LOST_TAIL, words, _FLUSH, seq)


def record_stale(partition: ShadowPartition, shadow: ShadowReplica, seq: int) -> None:
    """Marks the log of a deleted topic as reused by the new topic of that name."""
    shadow.is_stale = False
    words = message(_STALE, replica=shadow.key)
    partition.excuses[STALE_LOG] = Explanation(STALE_LOG, words, text("setting.no_topic_ids"), seq)
