"""Event observers for the judges of trials: promises to producers, alarms, latencies, partition owners."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from broker_core.events import Envelope
from broker_core.events.client import AcknowledgedRecordsLost, ProduceAcknowledged, RecordsConsumed
from broker_core.events.group import ConsumerAssigned
from broker_core.events.log import BatchAppended
from broker_core.events.rpc import RpcSent
from broker_core.events.world import InvariantViolated
from broker_core.partitions import replica_name
from broker_core.records.record_batch import iterate_batches, iterate_records
from broker_core.sim.disk import Disk
from broker_core.view.tree import View
from lab.trials.trial import leader_id


class Promise(msgspec.Struct, frozen=True):
    """A batch that was acknowledged with acks=all, and its CRC in the log of the leader that did so."""

    client: str
    partition: str
    base_offset: int
    records: int
    crc: int
    at_us: int


class Promises:
    """The acknowledgements of acks=all, and at the end the lost records."""

    def __init__(self) -> None:
        self.made: list[Promise] = []
        #: every acknowledgement: instant, latency, records
        self.latencies: list[tuple[int, int, int]] = []
        self._crcs: dict[tuple[str, int], int] = {}
        #: partition -> the instants at which a leader without acknowledged records was elected
        self._losses: dict[str, list[int]] = {}
        self._answered_by: dict[tuple[str, str, int], str] = {}

    def see(self, envelope: Envelope) -> None:
        """Takes note of an event."""
        _, at_us, _, _, event = envelope
        if isinstance(event, BatchAppended):
            self._crcs[event.replica, event.base_offset] = event.crc
        elif isinstance(event, AcknowledgedRecordsLost):
            self._losses.setdefault(event.partition, []).append(at_us)
        elif isinstance(event, RpcSent) and event.api == "Produce" and event.kind == "response":
            for name, offset in event.fields:
                if isinstance(offset, int):
                    self._answered_by[event.destination, str(name), offset] = event.source
        elif isinstance(event, ProduceAcknowledged):
            self.latencies.append((at_us, event.latency_us, event.count))
            leader = self._answered_by.get((event.client, event.partition, event.base_offset))
            if event.acks == -1 and leader is not None:
                crc = self._crcs.get((replica_name(event.partition, leader), event.base_offset), 0)
                made = Promise(event.client, event.partition, event.base_offset, event.count, crc, at_us)
                self.made.append(made)

    def lost_us(self, promise: Promise) -> int:
        """The instant at which a record was lost, or of its acknowledgement if there is no such event."""
        losses = self._losses.get(promise.partition, ())
        return next((at_us for at_us in losses if at_us >= promise.at_us), promise.at_us)

    @property
    def first_loss_us(self) -> int:
        """The first instant at which an acknowledged record was lost; 0 if there is none."""
        return min((at_us for losses in self._losses.values() for at_us in losses), default=0)

    def lost(self, view: View, disk: Disk) -> list[Promise]:
        """The promises that the current leaders do not keep. A partition without a leader has not lost records yet."""
        logs = {partition: log_of(view, disk, partition) for partition in {each.partition for each in self.made}}
        return [
            each
            for each in self.made
            if (log := logs[each.partition]) is not None and log.get(each.base_offset) != each.crc
        ]


def log_of(view: View, disk: Disk, partition: str) -> dict[int, int] | None:
    """Base offset -> CRC of the batches in the leader's log; None without a leader."""
    leader = leader_id(view, partition)
    if leader is None:
        return None
    found = _files(disk, leader, partition)
    return {header.base_offset: header.crc for data in found for _, header in iterate_batches(data)}


def values_of(view: View, disk: Disk, partition: str) -> list[bytes | None]:
    """The values of the records in the leader's log, control records left out; none without a leader."""
    leader = leader_id(view, partition)
    found: list[bytes | None] = []
    for data in () if leader is None else _files(disk, leader, partition):
        for position, header in iterate_batches(data):
            if not header.is_control:
                found += [record.value for record in iterate_records(data, header, position)]
    return found


def _files(disk: Disk, broker_id: int, partition: str) -> Iterable[bytes]:
    folder = f"broker-{broker_id}/{partition}"
    for name in disk.list(folder):
        if name.endswith(".log"):
            file = disk.open(f"{folder}/{name}", create=False)
            yield file.read(0, file.size)


class Alarms:
    """The violated invariants: those that nothing explains, and all of them."""

    def __init__(self) -> None:
        self.all: list[tuple[int, InvariantViolated]] = []

    def see(self, envelope: Envelope) -> None:
        """Takes note of an event."""
        if isinstance(envelope[4], InvariantViolated):
            self.all.append((envelope[1], envelope[4]))

    @property
    def unexplained(self) -> str:
        """The first invariant with an unexplained violation; empty if there is none."""
        return next((event.invariant for _, event in self.all if not event.explained_by), "")


class Handling:
    """Records read and partitions owned by members, from their own view.

    `twice`: records read by two members that both considered themselves the partition's owner.
    """

    def __init__(self) -> None:
        self.owned: dict[str, frozenset[str]] = {}
        self.twice = 0
        self.records = 0
        #: (client, partition) -> the position, and partition -> offsets by the client that read them
        self._positions: dict[tuple[str, str], int] = {}
        self._read: dict[str, dict[int, str]] = defaultdict(dict)

    def see(self, envelope: Envelope) -> None:
        """Takes note of an event."""
        event = envelope[4]
        if isinstance(event, ConsumerAssigned):
            self.owned[event.client] = frozenset(event.partitions)
        elif isinstance(event, RecordsConsumed):
            owners = [name for name, owned in self.owned.items() if event.partition in owned]
            for offset, *_ in event.records:
                before = self._read[event.partition].setdefault(offset, event.client)
                if before != event.client and before in owners and event.client in owners:
                    self.twice += 1
                self.records += 1
