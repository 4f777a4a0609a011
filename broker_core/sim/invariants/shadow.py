"""The checker's state: the log and watermarks of each replica, the committed records of each partition."""

from array import array
from bisect import bisect_left
from collections import deque
from typing import Any, NamedTuple

import msgspec

from broker_core.sim.invariants.catalogue import Explanation

KEPT_BATCHES = 512
"""Minimum number of batches kept for each replica, the maximum is twice that. A replica that is farther behind is
compared by its chain.
"""
KEPT_ANSWERS = 512
KEPT_INDEX_ENTRIES = 1024


class ShadowBatch(NamedTuple):
    """One batch of a log.

    `chain` identifies the whole log up to here: two logs with the same chain hold the same batches. None = the start of
    the log is not known. `epoch` is the leader epoch in which it was written, even if the message format has no epoch.
    `max_timestamp` is the newest of its segment up to here.
    """

    chain: int | None
    identity: int
    epoch: int
    segment: int
    position: int
    size: int
    max_timestamp: int


class History(dict[tuple[int, int], ShadowBatch]):
    """`(leader epoch, base offset)` -> the first batch written at that offset."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpack_history, (_pack(list(self.items())),)


def _unpack_history(packed: bytes) -> History:
    return History(_history_decoder.decode(packed))


# A checkpoint pickles all of it. Pickling thousands of batches one by one takes ten times as long.
_pack = msgspec.msgpack.Encoder().encode
_history_decoder = msgspec.msgpack.Decoder(list[tuple[tuple[int, int], ShadowBatch]])
_log_decoder = msgspec.msgpack.Decoder(tuple[list[int], list[int], list[ShadowBatch]])


class ShadowLog:
    """The batches of a replica by their events. Old ones are dropped: `known_from` is the first known offset. Records
    below `deleted_below` were deleted by retention or DeleteRecords: their absence is not a loss, even if a restarted
    log starts below it.

    `chain`, `epoch`, `segment`, `next_position` and `max_timestamp` are those of the end of the log.
    """

    __slots__ = (
        "_start_chain",
        "bases",
        "batches",
        "chain",
        "deleted_below",
        "end",
        "epoch",
        "known_from",
        "lasts",
        "lowest_cut",
        "max_timestamp",
        "next_position",
        "segment",
    )

    def __init__(self, start: int, segment: int = -1, next_position: int = -1) -> None:
        self.bases = array("q")
        self.lasts = array("q")
        self.batches: list[ShadowBatch] = []
        self.known_from = self.deleted_below = start
        self.end = start
        #: the lowest offset of any truncation
        self.lowest_cut = 1 << 62
        self._start_chain: int | None = None if start else 0
        self.chain = self._start_chain
        self.epoch = -1
        self.segment = segment
        self.next_position = next_position
        self.max_timestamp = -1

    def __getstate__(self) -> tuple[bytes, dict[str, Any]]:
        rest = {name: getattr(self, name) for name in self.__slots__ if name not in ("bases", "lasts", "batches")}
        return _pack((self.bases.tolist(), self.lasts.tolist(), self.batches)), rest

    def __setstate__(self, state: tuple[bytes, dict[str, Any]]) -> None:
        packed, rest = state
        bases, lasts, self.batches = _log_decoder.decode(packed)
        self.bases, self.lasts = array("q", bases), array("q", lasts)
        for name, value in rest.items():
            setattr(self, name, value)

    def append(self, base: int, last: int, batch: ShadowBatch) -> None:
        """Appends a batch."""
        self.bases.append(base)
        self.lasts.append(last)
        self.batches.append(batch)
        self.end = last + 1
        self.chain, _, self.epoch, self.segment, position, size, self.max_timestamp = batch
        self.next_position = position + size
        if len(self.bases) > 2 * KEPT_BATCHES:
            self._start_chain = self.batches[KEPT_BATCHES - 1].chain
            del self.bases[:KEPT_BATCHES], self.lasts[:KEPT_BATCHES], self.batches[:KEPT_BATCHES]
            self.known_from = max(self.known_from, self.bases[0])

    def rolled(self, segment: int) -> None:
        """Records that the next batch begins a new segment."""
        self.segment = segment
        self.next_position = 0
        self.max_timestamp = -1

    def truncate(self, offset: int) -> None:
        """Drops everything from `offset` on."""
        keep = bisect_left(self.lasts, offset)
        del self.bases[keep:], self.lasts[keep:], self.batches[keep:]
        self.end = offset
        self.lowest_cut = min(self.lowest_cut, offset)
        if offset < self.known_from:
            self.known_from = offset
            self._start_chain = None if offset else 0
        if self.batches:
            self.chain, _, self.epoch, self.segment, position, size, self.max_timestamp = self.batches[-1]
            self.next_position = position + size
        else:
            self.chain, self.epoch = self._start_chain, -1
            self.segment = self.next_position = self.max_timestamp = -1

    def forget(self, offset: int) -> None:
        """Drops the batches below `offset`."""
        self.known_from = max(self.known_from, offset)

    def delete(self, offset: int) -> None:
        """Sets the start of the log to `offset`."""
        self.deleted_below = max(self.deleted_below, offset)
        self.forget(offset)

    def copy(self) -> "ShadowLog":
        """An independent copy."""
        other = ShadowLog(self.end)
        other.bases, other.lasts, other.batches = self.bases[:], self.lasts[:], self.batches[:]
        other.known_from, other.deleted_below = self.known_from, self.deleted_below
        other._start_chain, other.chain = self._start_chain, self.chain
        return other

    def chain_below(self, offset: int) -> int | None:
        """The chain of the last batch that begins below `offset`."""
        if offset >= self.end:
            return self.chain
        index = bisect_left(self.bases, offset) - 1
        return self.batches[index].chain if index >= 0 else self._start_chain

    def agrees(self, other: "ShadowLog", end: int) -> bool:
        """Whether both certainly hold the same batches below `end`; if False, `difference` compares them."""
        if self.end < end or other.end < end:
            return False
        chain = self.chain_below(end)
        return chain is not None and chain == other.chain_below(end)

    def batch_at(self, base: int) -> tuple[int, ShadowBatch] | None:
        """`(last offset, batch)` of the batch that begins at `base`."""
        bases = self.bases
        index = bisect_left(bases, base)
        if index < len(bases) and bases[index] == base:
            return self.lasts[index], self.batches[index]
        return None

    def lacks(self, base: int, last: int, identity: int) -> bool:
        """Whether it certainly does not hold this batch."""
        if self.end <= last:
            return True
        found = self.batch_at(base)
        return base >= self.known_from and (found is None or found[1].identity != identity)

    def epoch_at(self, offset: int) -> int | None:
        """The leader epoch of the record at `offset`; None if it is not known."""
        index = bisect_left(self.lasts, offset)
        if offset < self.known_from or index == len(self.lasts) or self.bases[index] > offset:
            return None
        return self.batches[index].epoch

    def difference(self, other: "ShadowLog", start: int, end: int) -> int | None:
        """The first offset in `[start, end)` at which the other log lacks this log's record, or has another; None if
        equal.

        Offsets that either has dropped count as equal.
        """
        start = max(start, self.known_from, other.known_from)
        if start >= end:
            return None
        bases, other_bases = self.bases, other.bases
        count, other_count = len(bases), len(other_bases)
        index = bisect_left(self.lasts, start)
        at = bisect_left(other_bases, bases[index]) if index < count else 0
        while index < count and bases[index] < end:
            if (
                at >= other_count
                or other_bases[at] != bases[index]
                or other.batches[at].identity != self.batches[index].identity
            ):
                return max(bases[index], start)
            index += 1
            at += 1
        return None


class SegmentIndex(msgspec.Struct):
    """The entries of a segment's indexes: the latest ones of `.index`, as offsets and positions; the last of
    `.timeindex`. `is_complete`: the first entries are included. `is_max_timestamp_unknown`: its broker may not know its
    newest timestamp.
    """

    is_complete: bool = False
    offsets: list[int] = []
    positions: list[int] = []
    last_timestamp: int = -1
    last_timestamp_offset: int = -1
    is_max_timestamp_unknown: bool = False


class ShadowReplica(msgspec.Struct):
    """The state of a replica by its events. `believed`: a leader's remote log end offsets, by node.

    Attributes:
        following: the node that it follows.
        epoch_start: the offset at which a leader's epoch began.
        epochs: its leader-epoch cache, (epoch, start offset).
        is_stale: its topic was deleted and its broker was not notified.
        cut_seq: the last event that truncated its log, 0 = none.
    """

    key: str
    partition: str
    node: str
    topic_id: str
    log: ShadowLog
    start: int
    high_watermark: int
    role: str = "offline"
    leader_epoch: int = -1
    epoch_start: int = -1
    following: str = ""
    replica_count: int = 0
    isr: tuple[str, ...] = ()
    pending_isr: tuple[str, ...] = ()
    believed: dict[str, int] = {}
    epochs: tuple[tuple[int, int], ...] = ()
    indexes: dict[int, SegmentIndex] = {}
    is_stale: bool = False
    cut_seq: int = 0


class AcknowledgedProduce(NamedTuple):
    """A successful response to a producer. `identity` is that of the batch."""

    base: int
    last: int
    identity: int
    acks: int
    leader: str
    client: str
    seq: int


class ShadowPartition(msgspec.Struct):
    """A partition's state in ZooKeeper, and its committed records.

    Attributes:
        version: that of the state znode, -1 = there is none.
        isr, assigned: the nodes in ZooKeeper's ISR, and those that the topic's znode assigns.
        leaders: the leader of each leader epoch; `newest_epoch` the highest of these.
        highest: the committed records end here; `committed` is the log that holds them.
        highest_ever: the greatest high watermark of any of its leaders.
        history: the first batch written at each offset of an epoch.
        compared_from: batches below it are not compared, because a replica was compacted up to there.
        producers_forgotten_below: a replica had deleted its records below it when it was opened: it may not know
        producers that have not written since, and accepts any sequence number of them as leader. answered: the latest
        responses to producers, except for lost records; `unsafe`: those with acks=1 whose records are not committed
        yet. deleted_epoch: the last
        leader epoch of the deleted topic of this name, whose requests may still be in flight. held: by node, the
        greatest log end offset that it lost, by a truncation or with the whole log. excuses: explanations of
        violations, by kind.
    """

    leader: int = -1
    leader_epoch: int = -1
    controller_epoch: int = -1
    version: int = -1
    isr: tuple[str, ...] = ()
    assigned: tuple[str, ...] = ()
    leaders: dict[int, str] = {}
    newest_epoch: int = -1
    highest: int = 0
    highest_ever: int = 0
    committed: ShadowLog | None = None
    replicas: dict[str, ShadowReplica] = {}
    history: History = msgspec.field(default_factory=History)
    compared_from: int = 0
    producers_forgotten_below: int = 0
    answered: deque[AcknowledgedProduce] = msgspec.field(default_factory=lambda: deque(maxlen=KEPT_ANSWERS))
    unsafe: deque[AcknowledgedProduce] = msgspec.field(default_factory=deque)
    deleted_epoch: int = -1
    held: dict[str, int] = {}
    excuses: dict[str, Explanation] = {}

    def loses(self, node: str, end: int) -> None:
        """Records that a replica lost its records up to this offset."""
        self.held[node] = max(end, self.held.get(node, -1))


class ShadowMember(NamedTuple):
    """A member as seen by its coordinator."""

    client: str
    is_static: bool


class ShadowGroup(msgspec.Struct):
    """A group by the events of its coordinator. `stable_generation`: the last one whose assignment was stored."""

    partition: str
    generation_id: int
    stable_generation: int = 0
    members: dict[str, ShadowMember] = {}


class ShadowClient(msgspec.Struct):
    """A consumer's own view: its id, its generation, and the partitions that it owns."""

    member_id: str = ""
    generation_id: int = -1
    owned: tuple[str, ...] = ()


class ProducerShadow(msgspec.Struct):
    """The producer state of a replica's log.

    Attributes:
        last: producer id -> (epoch, last sequence number or -1, last offset of data).
        open: producer id -> first offset of its transaction.
        ended: (first offset, offset of the marker) of transactions whose marker may not be replicated yet.
        end: the offset after the last recorded batch.
        is_complete: whether all transactions of the log are known.
    """

    is_complete: bool
    start: int
    high_watermark: int
    last: dict[int, tuple[int, int, int]] = {}
    open: dict[int, int] = {}
    ended: list[tuple[int, int]] = []
    end: int = 0
    first_unstable: int = -1

    def expected(self) -> int:
        """The first offset whose transaction has not ended, or whose marker is not replicated."""
        waiting = [*self.open.values(), *(first for first, _ in self.ended)]
        return max(min(waiting), self.start) if waiting else -1

    def replicated(self, offset: int) -> None:
        """Marks transactions whose marker is below `offset` as replicated."""
        self.ended = [row for row in self.ended if row[1] >= offset]
