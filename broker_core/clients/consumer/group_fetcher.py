"""The fetcher of a group member: positions, offset resets, Fetch requests, records (`Fetcher`)."""

from typing import Any, Protocol

from broker_core.clients.consumer.consumer import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    isolation_id,
    shown_text,
    visible_records,
)
from broker_core.clients.consumer.group_consumer_settings import GroupConsumerSettings, Work
from broker_core.clients.consumer.read_replicas import ReadReplicas, rack_fields
from broker_core.clients.metadata import STALE_METADATA_ERRORS, ClientMetadata
from broker_core.config_defs.java_text import hash_map_order, partition_code
from broker_core.errors import Errors
from broker_core.events.client import RECORDS_SHOWN, ConsumerPositionReset, RecordsConsumed
from broker_core.events.rpc import Fields
from broker_core.partitions import sorted_partitions
from broker_core.records.record_batch import Record, iterate_batches
from broker_core.sim.kernel import Kernel
from broker_core.wire.messages import (
    FetchPartition,
    FetchPartitionResponse,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
)

RECORDS_KEPT = 10_000
UNKNOWN_POSITION = -1


class FetchingMember(Protocol):
    """The member as its fetcher sees it."""

    kernel: Kernel
    name: str
    settings: GroupConsumerSettings
    metadata: ClientMetadata
    read_replicas: ReadReplicas
    owned: tuple[str, ...]
    work: Work

    @property
    def may_fetch(self) -> bool: ...

    def send_request(
        self,
        node: str,
        api: str,
        body: Any,
        what: str,
        label: str,
        timeout_ms: int | None = None,
        data: Any = None,
        fields: Fields = (),
    ) -> None: ...

    def give_up(self, why: str) -> None: ...

    def request_metadata_later(self) -> None: ...

    def poll_returned(self) -> None: ...


class GroupFetcher:
    """See the module. `positions`: partition -> (offset of the next record, leader epoch of the last one or -1); an
    offset of UNKNOWN_POSITION must be looked up first. `output`: (partition, record) of the records read last.
    """

    def __init__(self, member: FetchingMember) -> None:
        self.member = member
        self.positions: dict[str, tuple[int, int]] = {}
        self.output: list[tuple[str, Record]] = []
        self._fetching: set[str] = set()
        self._lookups: set[str] = set()

    def request_failed(self, what: str, node: str, data: Any) -> None:
        """Called when a request to a leader has ended: the next one may be sent."""
        if what == "fetch":
            self._fetching.discard(node)
        elif what == "reset":
            self._lookups.difference_update(data)

    def reset_answered(self, response: ListOffsetsResponse) -> None:
        """Handles the log start or end offset of a partition."""
        is_stale = False
        for answer in response.partitions:
            self._lookups.discard(answer.partition)
            if answer.error is Errors.NONE:
                known = self.positions.get(answer.partition)
                if known is not None and known[0] == UNKNOWN_POSITION:
                    self._reset(answer.partition, answer.offset, answer.leader_epoch)
            else:
                is_stale = True
        if is_stale:
            self.member.request_metadata_later()
        self.fetch_all()

    def seek(self, name: str, offset: int) -> None:
        """The application sets another position; responses for the old one are dropped."""
        self._move(name, offset, -1, "reason.seek_called")
        self.fetch_all()

    def _reset(self, name: str, offset: int, leader_epoch: int) -> None:
        policy = self.member.settings.auto_offset_reset
        self._move(name, offset, leader_epoch, f"reason.no_committed_offset?policy={policy}")

    def _move(self, name: str, offset: int, leader_epoch: int, why: str) -> None:
        before, _ = self.positions.get(name, (UNKNOWN_POSITION, -1))
        self.positions[name] = (offset, leader_epoch)
        self.member.kernel.emit(
            ConsumerPositionReset(
                client=self.member.name, partition=name, from_offset=before, to_offset=offset, why=why
            ),
            self.member.name,
        )

    def fetch_all(self) -> None:
        """Sends a fetch to each leader, or the preferred read replica, for owned partitions, unless one is in
        flight.
        """
        if not self.member.may_fetch:
            return
        by_node: dict[str, list[str]] = {}
        lookups: dict[str, list[str]] = {}
        for name in self.member.owned:
            if name not in self.positions:
                continue
            leader = self.member.metadata.leader_of(name)
            if leader is None:
                self.member.request_metadata_later()
                continue
            if self.positions[name][0] == UNKNOWN_POSITION:
                if name not in self._lookups:
                    lookups.setdefault(leader, []).append(name)
            else:
                node = self.member.read_replicas.node_for(name, leader)
                if node not in self._fetching:
                    by_node.setdefault(node, []).append(name)
        if lookups and self.member.settings.auto_offset_reset == "none":
            # In the order of the set in Java's client.
            asked_for = sorted_partitions(name for names in lookups.values() for name in names)
            without = ", ".join(hash_map_order(asked_for, code=partition_code))
            self.member.give_up(
                f"NoOffsetForPartitionException: Undefined offset with no reset policy for partitions: [{without}]"
            )
            return
        timestamp = EARLIEST_TIMESTAMP if self.member.settings.auto_offset_reset == "earliest" else LATEST_TIMESTAMP
        for leader, names in lookups.items():
            self._lookups.update(names)
            epochs = self.member.metadata.partitions
            rows = tuple((name, epochs[name].leader_epoch, timestamp) for name in names)
            requested = ListOffsetsRequest(-1, rows, isolation_level=isolation_id(self.member.settings.isolation_level))
            self.member.send_request(
                leader, "ListOffsets", requested, "reset", "ListOffsets " + ", ".join(names), data=tuple(names)
            )
        for node, names in by_node.items():
            self._fetch(node, names)

    def _fetch(self, node: str, names: list[str]) -> None:
        self._fetching.add(node)
        settings = self.member.settings
        partitions = tuple(
            FetchPartition(
                name,
                self.positions[name][0],
                current_leader_epoch=self.member.metadata.partitions[name].leader_epoch,
                partition_max_bytes=settings.max_partition_fetch_bytes,
            )
            for name in names
        )
        request = FetchRequest(
            -1,
            settings.fetch_max_wait_ms,
            settings.fetch_min_bytes,
            settings.fetch_max_bytes,
            partitions,
            isolation_level=isolation_id(settings.isolation_level),
            from_follower=bool(settings.client_rack),
            rack_id=settings.client_rack,
        )
        label = "Fetch " + ", ".join(f"{name}@{self.positions[name][0]}" for name in names[:3])
        requested = {name: self.positions[name][0] for name in names}
        fields = rack_fields(settings.client_rack)
        self.member.send_request(node, "Fetch", request, "fetch", label, data=requested, fields=fields)

    def fetched(self, response: FetchResponse, requested: dict[str, int]) -> None:
        """Handles the response to a fetch; `asked` are the requested positions by partition."""
        if self.member.work.is_busy:
            return
        is_stale = False
        for answer in response.partitions:
            name = answer.partition
            if name not in self.member.owned or self.positions.get(name, (UNKNOWN_POSITION, -1))[0] != requested[name]:
                continue
            if self.member.read_replicas.failed(name, answer.error):
                continue
            if answer.error is Errors.OFFSET_OUT_OF_RANGE and self.member.settings.auto_offset_reset == "none":
                where = f"offset {requested[name]} is out of range for partition {name}"
                self.member.give_up(f"OffsetOutOfRangeException: Fetch {where}, and no reset policy is configured")
                return
            if answer.error is Errors.OFFSET_OUT_OF_RANGE:
                self.positions[name] = (UNKNOWN_POSITION, -1)
            elif answer.error is not Errors.NONE:
                is_stale = is_stale or answer.error in STALE_METADATA_ERRORS
            elif answer.preferred_read_replica >= 0:
                self.member.read_replicas.named(name, answer.preferred_read_replica)
            else:
                self._take_in(answer)
        if is_stale:
            self.member.request_metadata_later()
        else:
            self.member.poll_returned()
            self.fetch_all()

    def _take_in(self, answer: FetchPartitionResponse) -> None:
        name = answer.partition
        position, leader_epoch = self.positions[name]
        start = position
        records, position = visible_records(answer.records, start, answer.aborted_transactions)
        for _, header in iterate_batches(answer.records):
            leader_epoch = header.partition_leader_epoch
        if self.member.settings.processing_ms:
            room = self.member.settings.max_poll_records - self.member.work.records
            if len(records) > room:
                position = records[room].offset
                records = records[:room]
            self.member.work.records += len(records)
        if position == start:
            return
        self.positions[name] = (position, leader_epoch)
        self.output = [*self.output, *((name, record) for record in records)][-RECORDS_KEPT:]
        self.member.kernel.emit(
            RecordsConsumed(
                client=self.member.name,
                partition=name,
                position=position,
                high_watermark=answer.high_watermark,
                records=tuple(
                    (record.offset, record.timestamp, shown_text(record.key), shown_text(record.value))
                    for record in records[-RECORDS_SHOWN:]
                ),
            ),
            self.member.name,
        )
