"""I-SEQ and I-LSO: the sequences of producers in a log, and the last stable offset.

The producer state from before a log was opened, or after a truncation, is not known: nothing is checked there.
"""

from broker_core.events import log, replica, transaction
from broker_core.sim.invariants.checker import Checker, watches
from broker_core.sim.invariants.shadow import ProducerShadow

_SEQ = ("I-SEQ",)
_LSO = ("I-LSO",)
_BOTH = ("I-SEQ", "I-LSO")
_SEQUENCES = 1 << 31
_NONE = -1

_GAP = "violation.producer_gap"
_EPOCH_BACK = "violation.producer_epoch_back"
_WRONG_STABLE = "violation.producer_wrong_stable"


def _shadow(checker: Checker, key: str) -> ProducerShadow:
    shadow = checker.producer_logs.get(key)
    if shadow is None:
        shadow = checker.producer_logs[key] = ProducerShadow(False, 0, 0)
    return shadow


def _check_stable(checker: Checker, key: str, shadow: ProducerShadow) -> None:
    if shadow.is_complete and shadow.first_unstable != shadow.expected():
        checker.violated("I-LSO", key, _WRONG_STABLE, stated=shadow.first_unstable, expected=shadow.expected())


def _leaps_as_its_leader(checker: Checker, key: str, before_offset: int) -> bool:
    """Whether the leader may have accepted a gap after this offset: compaction removed the records between, or the
    producer was dropped with deleted records.
    """
    shadow = checker.replicas[key]
    partition = checker.partitions[shadow.partition]
    return shadow.role != "leader" and before_offset + 1 < max(
        partition.compared_from, partition.producers_forgotten_below + 1
    )


def _is_deleted_at_its_leader(checker: Checker, key: str, offset: int) -> bool:
    """Whether a follower holds a record that may differ from the one its leader has deleted: a leader whose epochs
    begin above it truncates the follower only down to its own start.
    """
    shadow = checker.replicas[key]
    leader = checker.partitions[shadow.partition].replicas.get(shadow.following)
    return shadow.role != "leader" and leader is not None and offset < leader.start


@watches(log.LogOpened, only_for=_BOTH)
def opened(checker: Checker, event: log.LogOpened) -> None:
    """The shadow of a log reopened without loss is kept; the first unstable offset is emitted again."""
    known = checker.producer_logs.get(event.replica)
    is_new = event.log_start_offset == event.log_end_offset
    if known is None or is_new or known.end > event.log_end_offset:
        known = ProducerShadow(is_new, event.log_start_offset, event.high_watermark)
        checker.producer_logs[event.replica] = known
    known.first_unstable = _NONE
    known.start = event.log_start_offset
    # Producers are loaded from the remaining log, and from snapshots above its start.
    known.last = {producer_id: last for producer_id, last in known.last.items() if last[2] >= known.start}
    partition = checker.partitions[checker.replicas[event.replica].partition]
    partition.producers_forgotten_below = max(partition.producers_forgotten_below, known.start)
    # it is not known which markers count as unreplicated again: the checkpointed high watermark is older
    known.is_complete = known.is_complete and not known.ended and event.high_watermark >= known.high_watermark
    known.high_watermark = event.high_watermark


@watches(log.LogDeleted, only_for=_BOTH)
def deleted(checker: Checker, event: log.LogDeleted) -> None:
    checker.producer_logs.pop(event.replica, None)


@watches(log.LogTruncated, only_for=_BOTH)
def truncated(checker: Checker, event: log.LogTruncated) -> None:
    shadow = _shadow(checker, event.replica)
    # a log restarted past its end has gaps, too: the leader had deleted the records that it lacked
    if shadow.end != event.to_offset:
        unstable = shadow.first_unstable
        checker.producer_logs[event.replica] = ProducerShadow(False, shadow.start, shadow.high_watermark)
        checker.producer_logs[event.replica].first_unstable = unstable


@watches(log.LogStartOffsetIncremented, only_for=_LSO)
def log_start(checker: Checker, event: log.LogStartOffsetIncremented) -> None:
    shadow = _shadow(checker, event.replica)
    shadow.start = event.to_offset
    shadow.replicated(event.to_offset)


@watches(transaction.ProducerBatchAppended, only_for=_BOTH)
def batch(checker: Checker, event: transaction.ProducerBatchAppended) -> None:
    """I-SEQ. Coordinators write without sequence numbers; a follower of a compacted log gets the remaining records."""
    shadow = _shadow(checker, event.replica)
    known = shadow.last.get(event.producer_id)
    if (
        known is not None
        and event.first_sequence >= 0
        and not _is_deleted_at_its_leader(checker, event.replica, known[2])
    ):
        epoch, before, before_offset = known
        expected = (before + 1) % _SEQUENCES if event.producer_epoch == epoch else 0
        if event.producer_epoch < epoch:
            checker.violated(
                "I-SEQ",
                event.replica,
                _EPOCH_BACK,
                producer=event.producer_id,
                epoch=event.producer_epoch,
                offset=event.base_offset,
                before=epoch,
            )
        elif (
            # a producer without an epoch may skip sequence numbers, as in Kafka (`ProducerAppendInfo.checkSequence`)
            epoch != _NONE
            and event.first_sequence != expected
            and not (
                _leaps_as_its_leader(checker, event.replica, before_offset)
                and (event.first_sequence - expected) % _SEQUENCES < _SEQUENCES // 2
            )
        ):
            checker.violated(
                "I-SEQ",
                event.replica,
                _GAP,
                producer=event.producer_id,
                epoch=event.producer_epoch,
                sequence=event.first_sequence,
                offset=event.base_offset,
                before=before,
            )
    shadow.last[event.producer_id] = (event.producer_epoch, event.last_sequence, event.last_offset)
    shadow.end = event.last_offset + 1
    if event.is_transactional:
        shadow.open.setdefault(event.producer_id, event.base_offset)


@watches(transaction.TransactionMarkerAppended, only_for=_BOTH)
def marker(checker: Checker, event: transaction.TransactionMarkerAppended) -> None:
    shadow = _shadow(checker, event.replica)
    shadow.end = event.offset + 1
    if event.producer_id in shadow.last:
        epoch, sequence, offset = shadow.last[event.producer_id]
        if epoch != event.producer_epoch:
            sequence = _NONE
        shadow.last[event.producer_id] = (event.producer_epoch, sequence, offset)
    # Until 2.4 a marker without a batch before it ends a transaction that begins with it.
    alone = event.offset if checker.era.log.ends_empty_transactions else None
    first = shadow.open.pop(event.producer_id, alone)
    if first is not None:
        shadow.ended.append((first, event.offset))


@watches(transaction.ProducersExpired, only_for=_SEQ)
def expired(checker: Checker, event: transaction.ProducersExpired) -> None:
    for producer_id in event.producer_ids:
        _shadow(checker, event.replica).last.pop(producer_id, None)


@watches(replica.HighWatermarkAdvanced, replica.HighWatermarkLowered, only_for=_LSO)
def high_watermark(checker: Checker, event: replica.HighWatermarkAdvanced | replica.HighWatermarkLowered) -> None:
    """I-LSO: when the high watermark moves, all events of an append have been emitted."""
    shadow = checker.producer_logs.get(event.replica)
    if shadow is not None and (shadow.open or shadow.ended or shadow.first_unstable != _NONE):
        _check_stable(checker, event.replica, shadow)
        shadow.replicated(event.to_offset)
    if shadow is not None:
        shadow.high_watermark = event.to_offset


@watches(transaction.FirstUnstableOffsetChanged, only_for=_LSO)
def first_unstable(checker: Checker, event: transaction.FirstUnstableOffsetChanged) -> None:
    """I-LSO: the emitted offset must match the transactions of the log."""
    shadow = _shadow(checker, event.replica)
    shadow.first_unstable = event.to_offset
    _check_stable(checker, event.replica, shadow)
