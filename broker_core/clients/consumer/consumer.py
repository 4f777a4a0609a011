"""A simple consumer of the lab: it reads one partition, without a group (`KafkaConsumer.assign`, `Fetcher`)."""

from typing import Any

import msgspec

from broker_core.clients.consumer.manual_offsets import OFFSET_APIS, OFFSET_TIMERS, ManualOffsets
from broker_core.clients.consumer.read_replicas import ReadReplicas, rack_fields
from broker_core.clients.metadata import RETRY_BACKOFF_US, STALE_METADATA_ERRORS, ClientMetadata, backoff_us
from broker_core.clients.metadata_requests import METADATA_AGE_TIMER
from broker_core.errors import Errors
from broker_core.events.client import RECORDS_SHOWN, ConsumerPositionReset, RecordsConsumed
from broker_core.partitions import topic_of
from broker_core.records.control_record import ControlRecordType, read_marker
from broker_core.records.record_batch import Record, iterate_batches, iterate_records
from broker_core.sim.kernel import Kernel, Message, Subjects, applies
from broker_core.wire.messages import (
    FetchPartition,
    FetchPartitionResponse,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
)

EARLIEST_TIMESTAMP = -2
LATEST_TIMESTAMP = -1
TEXT_LENGTH_SHOWN = 200
REFRESH = "refresh"
"""The context of a Metadata request that only refreshes the metadata."""


class ConsumerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The consumer configurations in use: Kafka's names with `_` for `.`, Kafka's defaults; ms and bytes."""

    group_id: str = ""
    auto_offset_reset: str = "latest"
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    metadata_max_age_ms: int = 300_000
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    fetch_max_wait_ms: int = 500
    max_partition_fetch_bytes: int = 1_048_576
    request_timeout_ms: int = 30_000
    isolation_level: str = "read_uncommitted"
    client_rack: str = ""


def isolation_id(isolation_level: str) -> int:
    """Its code in requests (`IsolationLevel`)."""
    return 1 if isolation_level == "read_committed" else 0


def visible_records(
    data: bytes, from_offset: int, aborted: tuple[tuple[int, int], ...] | None = None
) -> tuple[list[Record], int]:
    """The records from `from_offset` on without control records and without those of the `aborted` transactions
    (producer id, first offset), and the position after them (`Fetcher.CompletedFetch`).
    """
    records: list[Record] = []
    position = from_offset
    to_come = sorted(aborted or (), key=lambda row: row[1], reverse=True)
    skipped: set[int] = set()
    for at, header in iterate_batches(data):
        while to_come and to_come[-1][1] <= header.last_offset:
            skipped.add(to_come.pop()[0])
        if header.is_control:
            marker = read_marker(data, header, at)
            if marker is not None and marker[0] is ControlRecordType.ABORT:
                skipped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in skipped):
            records += [record for record in iterate_records(data, header, at) if record.offset >= from_offset]
        position = max(position, header.next_offset)
    return records, position


def shown_text(data: bytes | None) -> str | None:
    """The text of a key or a value for the page."""
    return None if data is None else data.decode("utf-8", "backslashreplace")[:TEXT_LENGTH_SHOWN]


class Consumer:
    """A node. Position, high watermark and the records shown are changed only by events.

    `position` -1 until it is known: then it is asked for as `start` says (`earliest`, `latest` or an offset). With a
    group id a committed offset comes first, unless `start` is an offset, and positions are committed, without a member
    of the group (`KafkaConsumer.assign` with group.id).
    """

    def __init__(
        self,
        kernel: Kernel,
        name: str,
        partition: str,
        start: str,
        settings: ConsumerSettings,
        bootstrap: tuple[str, ...],
    ) -> None:
        self.kernel = kernel
        self.name = name
        self.partition = partition
        self.start = start
        self.settings = settings
        self.metadata = ClientMetadata(bootstrap)
        self.read_replicas = ReadReplicas(kernel, name, self.metadata, settings.metadata_max_age_ms)
        self.last_position = -1
        self.high_watermark = -1
        self.last_reset = ""
        self.records: list[tuple[int, int, str | None, str | None]] = []
        self.commits = ManualOffsets(self) if settings.group_id else None
        self._attempts = 0
        self._refreshed_us = 0
        self._is_aging = False
        self._reset_reason = f"reason.start_at?start={start}"
        self._reset_to = EARLIEST_TIMESTAMP if start == "earliest" else LATEST_TIMESTAMP

    @property
    def position(self) -> int:
        """The offset of the next record; -1 = not known yet."""
        return self.last_position

    def begin(self) -> None:
        """Starts reading."""
        if self.start not in ("earliest", "latest"):
            self._reset(int(self.start))
        self._continue()
        if self.commits is not None:
            self.commits.begin()

    def description(self) -> dict[str, object]:
        """This consumer as shown in the view; equals the result of folding its events."""
        return {
            "position": self.position,
            "high_watermark": self.high_watermark,
            "last_reset": self.last_reset,
            "records": [list(record) for record in self.records],
            "read_replicas": self.read_replicas.description(),
        }

    # The loop: metadata, position, fetch.

    def _continue(self) -> None:
        leader = self.metadata.leader_of(self.partition)
        if leader is None:
            self._request_metadata()
        elif self.position < 0 and self.commits is not None and self.commits.committed is None:
            self.commits.look_up()
        elif self.position < 0:
            self._request_position(leader)
        else:
            self._fetch(self.read_replicas.node_for(self.partition, leader))

    def _request_metadata(self, *, is_refresh: bool = False) -> None:
        node = self.metadata.node_for_request()
        topic = topic_of(self.partition)
        self.kernel.request(
            self.name,
            node,
            "Metadata",
            MetadataRequest((topic,), allow_auto_topic_creation=True),
            label=f"Metadata {topic}",
            context=(REFRESH, node) if is_refresh else node,
            timeout_us=self.settings.request_timeout_ms * 1000,
        )

    def _await_age(self) -> None:
        """Requests metadata when it is `metadata.max.age.ms` old."""
        if not self._is_aging:
            self._is_aging = True
            age_us = max(self.settings.metadata_max_age_ms * 1000, RETRY_BACKOFF_US)
            self.kernel.timer(self.name, self._refreshed_us + age_us, METADATA_AGE_TIMER)

    def _aged(self) -> None:
        self._is_aging = False
        if self.kernel.now_us - self._refreshed_us < self.settings.metadata_max_age_ms * 1000:
            self._await_age()
        else:
            self._request_metadata(is_refresh=True)

    def on_committed_offset(self, offset: int) -> None:
        """Handles the committed offset of the group, -1 for none."""
        if self.position < 0 and offset >= 0:
            self._reset_reason = f"reason.committed_offset?offset={offset}"
            self._reset(offset)
        self._continue()

    def _request_position(self, leader: str) -> None:
        info = self.metadata.partitions[self.partition]
        self.kernel.request(
            self.name,
            leader,
            "ListOffsets",
            ListOffsetsRequest(
                -1,
                ((self.partition, info.leader_epoch, self._reset_to),),
                isolation_level=isolation_id(self.settings.isolation_level),
            ),
            label=f"ListOffsets {self.partition}",
            fields=(("partition", self.partition), ("timestamp", self._reset_to)),
            context=leader,
            timeout_us=self.settings.request_timeout_ms * 1000,
        )

    def _fetch(self, node: str) -> None:
        settings = self.settings
        info = self.metadata.partitions[self.partition]
        self.kernel.request(
            self.name,
            node,
            "Fetch",
            FetchRequest(
                -1,
                settings.fetch_max_wait_ms,
                settings.fetch_min_bytes,
                settings.fetch_max_bytes,
                (
                    FetchPartition(
                        self.partition,
                        self.position,
                        current_leader_epoch=info.leader_epoch,
                        partition_max_bytes=settings.max_partition_fetch_bytes,
                    ),
                ),
                isolation_level=isolation_id(settings.isolation_level),
                from_follower=bool(settings.client_rack),
                rack_id=settings.client_rack,
            ),
            label=f"Fetch @{self.position}",
            fields=(
                (f"{self.partition} fetch_offset", self.position),
                ("max_wait_ms", settings.fetch_max_wait_ms),
                *rack_fields(settings.client_rack),
            ),
            context=node,
            timeout_us=settings.request_timeout_ms * 1000,
        )

    def _reset(self, to_offset: int) -> None:
        self.kernel.emit(
            ConsumerPositionReset(
                client=self.name,
                partition=self.partition,
                from_offset=self.position,
                to_offset=to_offset,
                why=self._reset_reason,
            ),
            self.name,
        )

    def _pause(self, *, stale_metadata: bool) -> None:
        if stale_metadata:
            self.metadata.partitions.pop(self.partition, None)
        self._attempts += 1
        self.kernel.timer(self.name, self.kernel.now_us + backoff_us(self._attempts), "again")

    # The node interface.

    def on_request(self, message: Message) -> None:
        """Clients receive no requests."""

    def on_response(self, api: str, body: Any, context: Any) -> None:
        """A broker answers."""
        if self.commits is not None and api in OFFSET_APIS:
            self.commits.on_response(api, body, context)
            return
        if api == "Metadata":
            self._refreshed_us = self.kernel.now_us
            self._await_age()
            self.metadata.update(body)
            if isinstance(context, tuple):
                return
            if self.metadata.leader_of(self.partition) is None:
                self._pause(stale_metadata=True)
                return
        elif api == "ListOffsets":
            if not self._on_position(body):
                return
        elif not self._fetched(body):
            return
        self._continue()

    def _on_position(self, response: ListOffsetsResponse) -> bool:
        (answer,) = response.partitions
        if answer.error is not Errors.NONE:
            self._pause(stale_metadata=answer.error in STALE_METADATA_ERRORS)
            return False
        self._attempts = 0
        self._reset(answer.offset)
        return True

    def _fetched(self, response: FetchResponse) -> bool:
        for answer in response.partitions:
            if self.read_replicas.failed(answer.partition, answer.error):
                continue
            if answer.error is Errors.OFFSET_OUT_OF_RANGE:
                return self._out_of_range()
            if answer.error is not Errors.NONE:
                self._pause(stale_metadata=answer.error in STALE_METADATA_ERRORS)
                return False
            if answer.preferred_read_replica >= 0:
                self.read_replicas.named(answer.partition, answer.preferred_read_replica)
            else:
                self._take_in(answer)
        self._attempts = 0
        return True

    def _out_of_range(self) -> bool:
        policy = self.settings.auto_offset_reset
        self._reset_to = EARLIEST_TIMESTAMP if policy == "earliest" else LATEST_TIMESTAMP
        self._reset_reason = f"reason.out_of_range?offset={self.position}&policy={policy}"
        leader = self.metadata.leader_of(self.partition)
        if leader is None:
            return True
        self._request_position(leader)
        return False

    def _take_in(self, answer: FetchPartitionResponse) -> None:
        records, position = visible_records(answer.records, self.position, answer.aborted_transactions)
        if position == self.position and answer.high_watermark == self.high_watermark:
            return
        self.kernel.emit(
            RecordsConsumed(
                client=self.name,
                partition=self.partition,
                position=position,
                high_watermark=answer.high_watermark,
                records=tuple(
                    (record.offset, record.timestamp, shown_text(record.key), shown_text(record.value))
                    for record in records[-RECORDS_SHOWN:]
                ),
            ),
            self.name,
        )

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        """Called when the broker has closed the connection, or did not respond in time."""
        if self.commits is not None and api in OFFSET_APIS:
            self.commits.on_disconnect(api, context)
        elif isinstance(context, tuple):
            self.metadata.unreachable(context[1])
            self._refreshed_us = self.kernel.now_us
            self._await_age()
        else:
            self.metadata.unreachable(context)
            if api == "Fetch":
                self.read_replicas.disconnected((self.partition,))
            self._pause(stale_metadata=True)

    def on_timer(self, name: str, data: Any) -> None:
        """Called when a backoff has ended, metadata is too old, or offsets have to be committed."""
        if name == METADATA_AGE_TIMER:
            self._aged()
        elif self.commits is not None and name in OFFSET_TIMERS:
            self.commits.on_timer(name)
        else:
            self._continue()

    def on_watch(self, kind: str, path: str) -> None:
        """Clients have no session at ZooKeeper."""


@applies(RecordsConsumed)
def _consumed(subjects: Subjects, event: RecordsConsumed, at_us: int) -> None:
    consumer = subjects[event.client]
    consumer.last_position = event.position
    consumer.high_watermark = event.high_watermark
    consumer.records = [*consumer.records, *event.records][-RECORDS_SHOWN:]


@applies(ConsumerPositionReset)
def _position_reset(subjects: Subjects, event: ConsumerPositionReset, at_us: int) -> None:
    consumer = subjects[event.client]
    consumer.last_position = event.to_offset
    consumer.last_reset = event.why
