"""What happened in a run, worked out from the output of `kafka-dump-log.sh` alone: no Spark, no tables, no view.

Reads events one after the other and keeps plain dicts, so that it has nothing in common with what it is held against.
"""

import json
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

_PAYLOAD = " payload: "
_OFFSET = "| offset: "

Step = tuple[int, Any]
"""From this instant on it is so."""


def events(dump: str) -> Iterator[tuple[int, int, int, list[Any]]]:
    """seq, at_us, cause_seq and event of each record of a dumped log. Its first record is the recording's header."""
    for line in dump.split("\n"):
        if line.startswith(_OFFSET) and _PAYLOAD in line:
            seq = int(line.removeprefix(_OFFSET).split(" ", 1)[0])
            if seq:
                at_us, _, cause_seq, event = json.loads(line.partition(_PAYLOAD)[2])
                yield seq, at_us, cause_seq, event


class PlainReader:
    """The attributes correspond to the tables."""

    def __init__(self, dump: str) -> None:
        self.kinds: Counter[str] = Counter()
        self.records = self.size = self.truncated = self.unclean = 0
        #: acks -> latencies of batches that were committed
        self.latencies: dict[int, list[int]] = defaultdict(list)
        #: partition -> ISR in ZooKeeper
        self.isr: dict[str, list[Step]] = defaultdict(list)
        #: partition -> how long it had no leader
        self.leaderless: Counter[str] = Counter()
        #: (group, partition) -> lag
        self.lag: dict[tuple[str, str], list[Step]] = defaultdict(list)
        #: (group, partition) -> durations without an owner
        self.unowned: dict[tuple[str, str], list[int]] = defaultdict(list)
        self.end_us = 0
        self._sent: dict[str, list[Any]] = {}
        self._produced: dict[int, tuple[int, int]] = {}
        self._verifying: dict[int, tuple[int, int]] = {}
        self._waiting: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        self._leader: dict[str, int] = {}
        self._since: dict[str, int] = {}
        self._log_end: dict[str, int | None] = {}
        self._high_watermark: dict[str, int] = {}
        self._committed: dict[tuple[str, str], int] = {}
        self._group: dict[str, str] = {}
        self._owns: dict[str, set[str]] = {}
        self._free: dict[tuple[str, str], int] = {}
        for seq, at_us, cause_seq, event in events(dump):
            if at_us != self.end_us:
                self._at_the_end_of(self.end_us)
            self.kinds[event[0]] += 1
            self.end_us = at_us
            handle = getattr(self, f"_{event[0]}", None)
            if handle is not None:
                handle(seq, at_us, cause_seq, event)
        self._at_the_end_of(self.end_us)
        for partition, leader in self._leader.items():
            if leader < 0:
                self.leaderless[partition] += self.end_us - self._since[partition]

    def isr_sizes(self, partition: str, at_us: int) -> int:
        """How many replicas were in sync at an instant."""
        return len(at(self.isr[partition], at_us) or ())

    # messages

    def _RpcSent(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        _, rpc, api, kind, *_ = event
        self._sent[rpc] = [at_us, cause_seq, *event]
        if api == "AddPartitionsToTxn" and kind == "request" and cause_seq in self._produced:
            self._verifying[event[7]] = self._produced[cause_seq]

    def _RpcDelivered(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        sent_us, _, _, _, api, kind, _, _, _, correlation, _, fields = self._sent[event[1]]
        if (api, kind) == ("Produce", "request"):
            self._produced[seq] = (sent_us, next(value for name, value in fields if name == "acks"))
        elif (api, kind) == ("AddPartitionsToTxn", "response") and correlation in self._verifying:
            self._produced[seq] = self._verifying[correlation]

    # logs

    def _LogOpened(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        _, replica, _, _, log_end, high_watermark, *_ = event
        self._cut(replica, log_end)
        self._high_watermark[replica] = high_watermark

    def _BatchAppended(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        _, replica, base_offset, last_offset, _, _, _, size, *_ = event
        self.records += last_offset - base_offset + 1
        self.size += size
        self._log_end[replica] = last_offset + 1
        if cause_seq in self._produced:
            sent_us, acks = self._produced[cause_seq]
            self._waiting[replica].append((last_offset + 1, sent_us, acks))

    def _LogTruncated(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        _, replica, from_offset, to_offset, *_ = event
        self.truncated += from_offset - to_offset
        self._cut(replica, to_offset)

    def _LogDeleted(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        self._cut(event[1], 0)
        self._log_end[event[1]] = None

    def _LogClosed(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        self._log_end[event[1]] = None

    def _cut(self, replica: str, to_offset: int) -> None:
        self._log_end[replica] = to_offset
        self._waiting[replica] = [one for one in self._waiting[replica] if one[0] <= to_offset]

    def _HighWatermarkAdvanced(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        _, replica, _, to_offset = event
        self._high_watermark[replica] = to_offset
        for _, sent_us, acks in (one for one in self._waiting[replica] if one[0] <= to_offset):
            self.latencies[acks].append(at_us - sent_us)
        self._waiting[replica] = [one for one in self._waiting[replica] if one[0] > to_offset]

    def _HighWatermarkLowered(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        self._high_watermark[event[1]] = event[3]

    # ZooKeeper and the controller

    def _ZnodeCreated(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        self._znode(at_us, event[1], event[2])

    _ZnodeChanged = _ZnodeCreated

    def _ZnodeDeleted(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        self._znode(at_us, event[1], '{"leader":-1,"isr":[]}')

    def _znode(self, at_us: int, path: str, data: str) -> None:
        match path.split("/"):
            case ["", "brokers", "topics", topic, "partitions", number, "state"]:
                partition, said = f"{topic}-{number}", json.loads(data)
                if self._leader.get(partition, 0) < 0:
                    self.leaderless[partition] += at_us - self._since[partition]
                self._leader[partition], self._since[partition] = said["leader"], at_us
                if not said["isr"]:
                    del self._leader[partition]
                self.isr[partition].append((at_us, said["isr"]))

    def _LeaderElected(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        self.unclean += event[6]

    # groups

    def _NodeAdded(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        settings = dict(event[4])
        if event[2] == "consumer" and "group.id" in settings:
            self._group[event[1]] = settings["group.id"]

    def _NodeRemoved(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        self._own(event[1], at_us, [])

    def _ConsumerAssigned(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        self._own(event[1], at_us, event[2])

    def _own(self, client: str, at_us: int, partitions: list[str]) -> None:
        group = self._group.get(client, "")
        before = self._owns.get(client, set())
        self._owns[client] = set(partitions)
        owned = {name for other, names in self._owns.items() if self._group.get(other) == group for name in names}
        for name in before - owned:
            self._free[group, name] = at_us
        for name in set(partitions) - before:
            since_us = self._free.pop((group, name), at_us)
            if at_us > since_us:
                self.unowned[group, name].append(at_us - since_us)

    def _OffsetCommitted(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        self._committed[event[2], event[3]] = event[4]

    def _OffsetRemoved(self, seq: int, at_us: int, cause_seq: int, event: list[Any]) -> None:
        self._committed.pop((event[2], event[3]), None)

    def _at_the_end_of(self, at_us: int) -> None:
        """What counts at an instant is what holds when all of it has happened."""
        for (group, partition), committed in self._committed.items():
            replica = f"{partition}@b{self._leader.get(partition)}"
            known = self._high_watermark.get(replica)
            lag = None if known is None else known - committed
            steps = self.lag[group, partition]
            if not steps or steps[-1][1] != lag:
                steps.append((at_us, lag))


def at(steps: list[Step], at_us: int) -> Any:
    """What holds at an instant; None before the first step."""
    place = bisect_right(steps, at_us, key=lambda step: step[0])
    return steps[place - 1][1] if place else None
