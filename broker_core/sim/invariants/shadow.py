"""What the checker remembers: of each replica its log and watermarks, of each partition what is committed."""

from bisect import bisect_left

import msgspec

#: identifies the records of a batch: (leader epoch, bytes, newest timestamp)
Identity = tuple[int, int, int]

KEPT_BATCHES = 4096


class ShadowLog:
    """The batches of a replica by their events. Old ones are dropped: `known_from` is the first offset that is
    remembered.
    """

    __slots__ = ("bases", "end", "identities", "known_from", "lasts")

    def __init__(self, start: int) -> None:
        self.bases: list[int] = []
        self.lasts: list[int] = []
        self.identities: list[Identity] = []
        self.known_from = start
        self.end = start

    def append(self, base: int, last: int, identity: Identity) -> None:
        """One batch more."""
        self.bases.append(base)
        self.lasts.append(last)
        self.identities.append(identity)
        self.end = last + 1
        if len(self.bases) > 2 * KEPT_BATCHES:
            del self.bases[:KEPT_BATCHES], self.lasts[:KEPT_BATCHES], self.identities[:KEPT_BATCHES]
            self.known_from = self.bases[0]

    def truncate(self, offset: int) -> None:
        """Drops everything from `offset` on."""
        keep = bisect_left(self.lasts, offset)
        del self.bases[keep:], self.lasts[keep:], self.identities[keep:]
        self.end = offset
        self.known_from = min(self.known_from, offset)

    def forget(self, offset: int) -> None:
        """No longer knows what lies below `offset`."""
        self.known_from = max(self.known_from, offset)

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last batch that is remembered, -1 without one."""
        return self.identities[-1][0] if self.identities else -1

    def difference(self, other: "ShadowLog", start: int, end: int) -> int | None:
        """The first offset in `[start, end)` at which the other log lacks this log's record, or has another; None
        without one. Offsets that either has forgotten are taken as equal.
        """
        if start < self.known_from:
            start = self.known_from
        if start < other.known_from:
            start = other.known_from
        if start >= end:
            return None
        bases, other_bases = self.bases, other.bases
        count, other_count = len(bases), len(other_bases)
        index = bisect_left(self.lasts, start)
        at = bisect_left(other_bases, bases[index]) if index < count else 0
        while index < count and bases[index] < end:
            if at >= other_count or other_bases[at] != bases[index] or other.identities[at] != self.identities[index]:
                return max(bases[index], start)
            index += 1
            at += 1
        return None


class ShadowReplica(msgspec.Struct):
    """A replica as its events tell it. `believed`: what a leader knows of the others' ends, by node."""

    key: str
    partition: str
    node: str
    topic_id: str
    log: ShadowLog
    start: int
    high_watermark: int
    role: str = "offline"
    leader_epoch: int = -1
    isr: tuple[str, ...] = ()
    pending_isr: tuple[str, ...] = ()
    believed: dict[str, int] = {}


class ShadowPartition(msgspec.Struct):
    """What ZooKeeper says of a partition, and what was once committed. `highest` is the greatest high watermark that
    any leader of it had; `committed` holds the records below it. `leaders`: the node that led in each leader epoch;
    `replicas`: by node. `excused`: what explains that a guarantee was broken.
    """

    leader: int = -1
    leader_epoch: int = -1
    highest: int = 0
    committed: ShadowLog | None = None
    leaders: dict[int, str] = {}
    replicas: dict[str, ShadowReplica] = {}
    excused: str = ""
