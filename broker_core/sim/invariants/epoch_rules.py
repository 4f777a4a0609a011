"""I-EPOCHCACHE: the leader epochs of a log, as its cache has them, are those of its records."""

from bisect import bisect_right
from itertools import pairwise

from broker_core.events import log
from broker_core.sim.invariants.catalogue import KEPT_EPOCH, REFUSED_APPEND, Explanation, Words
from broker_core.sim.invariants.checker import Checker, watches
from broker_core.sim.invariants.shadow import ShadowReplica

Entries = tuple[tuple[int, int], ...]

_NOT_RISING = Words("its leader epochs {entries} do not rise in both columns", "其首领纪元 {entries} 未在两列上都递增")
_OTHER_EPOCH = Words(
    "the record at {offset} is of leader epoch {epoch}, its epoch cache says {cached}",
    "{offset} 处记录的首领纪元为 {epoch}，而其纪元缓存为 {cached}",
)
_AHEAD = Words(
    "its epoch cache knows epoch {epoch}, but the controller has only told it of epoch {leader_epoch}",
    "其纪元缓存已有纪元 {epoch}，而控制器只告知过纪元 {leader_epoch}",
)

_KEPT_EPOCH = Words(
    "{node} had led in epoch {led} from offset {start} on without a record, and cut its log just there: its epoch "
    "cache kept that epoch until the first record of epoch {epoch} took it away, and with it where its own begins "
    "(cured by KAFKA-10706)",
    "{node} 曾自位移 {start} 起以纪元 {led} 担任首领却未写入记录，并恰在此处截断日志：其纪元缓存保留了该纪元，"
    "直到纪元 {epoch} 的第一条记录把它连同自己纪元的起点一并去掉（KAFKA-10706 修正了这一点）",
)

_REFUSED_APPEND = Words(
    "{node} refused an append that no segment can hold after its epoch cache had been told of epoch {ahead} in it, and "
    "was given it again: what it is told of epoch {epoch} then takes away where that begins",
    "{node} 拒绝了任何日志段都容不下的追加，而其纪元缓存已记下其中的纪元 {ahead}；再次收到时，关于纪元 {epoch} 的记录"
    "又去掉了该纪元的起点",
)


def epoch_of(entries: Entries, offset: int) -> int:
    """The epoch of the floor entry, -1 without one."""
    slot = bisect_right(entries, offset, key=_start_offset)
    return entries[slot - 1][0] if slot else -1


def check_batch_epoch(checker: Checker, shadow: ShadowReplica, base: int, epoch: int) -> None:
    """A batch that is not of the newest epoch that the cache has. The cache is told first, then the batches."""
    cached = epoch_of(shadow.epochs, base)
    if cached != epoch:
        checker.violated("I-EPOCHCACHE", shadow.key, _OTHER_EPOCH, offset=base, epoch=epoch, cached=cached)


def check_epochs(checker: Checker, shadow: ShadowReplica, entries: Entries) -> None:
    """Takes in a cache. Where entries came or went, the record that lies there is looked at."""
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
    _note_lost_beginning(checker, shadow, event.entries)
    check_epochs(checker, shadow, event.entries)
    # Before fetches carried an epoch, a follower could get records of a leader that it had not been told of.
    if checker.era.fetch_carries_epoch and event.entries and 0 <= shadow.leader_epoch < event.entries[-1][0]:
        checker.violated(
            "I-EPOCHCACHE",
            shadow.key,
            _AHEAD,
            epoch=event.entries[-1][0],
            leader_epoch=shadow.leader_epoch,
        )


def _note_lost_beginning(checker: Checker, shadow: ShadowReplica, entries: Entries) -> None:
    """Where an epoch without a record goes because the cache is told of an older one, its beginning goes, too."""
    end = shadow.log.end
    if not entries or all(begin >= end for _, begin in set(shadow.epochs).difference(entries)):
        return
    (last, start), (epoch, begins) = shadow.epochs[-1], entries[-1]
    excuses, node = checker.partition(shadow.partition).excuses, shadow.node
    if start > end:
        words = _REFUSED_APPEND.filled(node=node, ahead=last, epoch=epoch_of(entries, end))
        setting = "a fetch may bring more than segment.bytes"
        excuses[REFUSED_APPEND] = Explanation(REFUSED_APPEND, words, setting, checker.seq)
    elif start == begins == end and epoch < last and not checker.era.truncation_at_end_drops_epochs:
        words = _KEPT_EPOCH.filled(node=node, led=last, start=start, epoch=epoch)
        setting = f"era={checker.era.name} (a truncation at the log's end keeps epochs)"
        excuses[KEPT_EPOCH] = Explanation(KEPT_EPOCH, words, setting, checker.seq)


def _start_offset(entry: tuple[int, int]) -> int:
    return entry[1]
