"""I-EPOCHCACHE: the leader epochs of a log, as its cache has them, are those of its records."""

from bisect import bisect_right
from itertools import pairwise

from broker_core.events import log
from broker_core.sim.invariants.catalogue import KEPT_EPOCH, REFUSED_APPEND, Explanation, message
from broker_core.sim.invariants.checker import Checker, watches
from broker_core.sim.invariants.shadow import ShadowReplica
from broker_core.texts import text

Entries = tuple[tuple[int, int], ...]

_NOT_RISING = "violation.epoch_not_rising"
_OTHER_EPOCH = "violation.epoch_other_epoch"
_AHEAD = "violation.epoch_ahead"

_KEPT_EPOCH = "cause.epoch_kept_epoch"

_REFUSED_APPEND = "cause.epoch_refused_append"


def epoch_of(entries: Entries, offset: int) -> int:
    """The epoch of the floor entry, -1 without one."""
    slot = bisect_right(entries, offset, key=_start_offset)
    return entries[slot - 1][0] if slot else -1


def check_batch_epoch(checker: Checker, shadow: ShadowReplica, base: int, epoch: int) -> None:
    """Checks a batch that is not of the newest epoch in the cache. The cache is updated before the batches are
    appended.
    """
    cached = epoch_of(shadow.epochs, base)
    if cached != epoch:
        checker.violated("I-EPOCHCACHE", shadow.key, _OTHER_EPOCH, offset=base, epoch=epoch, cached=cached)


def check_epochs(checker: Checker, shadow: ShadowReplica, entries: Entries) -> None:
    """Compares a cache with the known one; checks the record at each entry that was added or removed."""
    before, shadow.epochs = shadow.epochs, entries
    if any(one[0] >= two[0] or one[1] >= two[1] for one, two in pairwise(entries)):
        checker.violated("I-EPOCHCACHE", shadow.key, _NOT_RISING, entries=list(entries))
    if not entries:
        # Formats without epochs drop the cache, whatever older records say.
        return
    for _, offset in sorted(set(before).symmetric_difference(entries)):
        epoch = shadow.log.epoch_at(offset) if offset >= shadow.start else None
        if epoch is not None and epoch != epoch_of(entries, offset):
            checker.violated(
                "I-EPOCHCACHE",
                shadow.key,
                _OTHER_EPOCH,
                offset=offset,
                epoch=epoch,
                cached=epoch_of(entries, offset),
            )


@watches(log.LeaderEpochsChanged)
def epochs_changed(checker: Checker, event: log.LeaderEpochsChanged) -> None:
    shadow = checker.replicas[event.replica]
    _record_lost_beginning(checker, shadow, event.entries)
    check_epochs(checker, shadow, event.entries)
    # Before fetches carried an epoch, a follower could get records of a leader that it did not know yet.
    if (
        checker.era.replication.fetch_carries_epoch
        and event.entries
        and 0 <= shadow.leader_epoch < event.entries[-1][0]
    ):
        checker.violated(
            "I-EPOCHCACHE",
            shadow.key,
            _AHEAD,
            epoch=event.entries[-1][0],
            leader_epoch=shadow.leader_epoch,
        )


def _record_lost_beginning(checker: Checker, shadow: ShadowReplica, entries: Entries) -> None:
    """Records that an older epoch removed an epoch without a record from the cache, and with it its own start."""
    end = shadow.log.end
    if not entries or all(begin >= end for _, begin in set(shadow.epochs).difference(entries)):
        return
    (last, start), (epoch, begins) = shadow.epochs[-1], entries[-1]
    excuses, node = checker.partition(shadow.partition).excuses, shadow.node
    if start > end:
        words = message(_REFUSED_APPEND, node=node, ahead=last, epoch=epoch_of(entries, end))
        setting = text("setting.large_fetch")
        excuses[REFUSED_APPEND] = Explanation(REFUSED_APPEND, words, setting, checker.seq)
    elif start == begins == end and epoch < last and not checker.era.replication.truncation_at_end_drops_epochs:
        words = message(_KEPT_EPOCH, node=node, led=last, start=start, epoch=epoch)
        setting = text("setting.epochs_kept", era=checker.era.name)
        excuses[KEPT_EPOCH] = Explanation(KEPT_EPOCH, words, setting, checker.seq)


def _start_offset(entry: tuple[int, int]) -> int:
    return entry[1]
