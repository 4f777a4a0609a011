"""Transaction markers at the leaders of partitions (`KafkaApis.handleWriteTxnMarkersRequest`).

Each marker is a control batch, and the request is answered when all of them are committed, or cannot be.
"""

from typing import Protocol

import msgspec

from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.replicas.replica_manager import ReplicaManager
from broker_core.errors import Errors
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.partitions import topic_of
from broker_core.records.control_record import ControlRecordType, build_end_transaction_marker
from broker_core.sim.kernel import Kernel, Message
from broker_core.topics import OFFSETS_TOPIC
from broker_core.wire.messages import WritableTxnMarker, WriteTxnMarkersRequest, WriteTxnMarkersResponse


class MarkerAppendsHost(Protocol):
    """What the appends of markers need of their broker."""

    kernel: Kernel
    config: BrokerConfig
    replicas: ReplicaManager
    groups: GroupCoordinator

    @property
    def wall_ms(self) -> int: ...

    def append_for_coordinator(self, partition: str, data: bytes, waiting: object, timeout_ms: int) -> Errors:
        """Appends a batch as leader; `waiting` waits until it is committed."""


class MarkerRequest(msgspec.Struct):
    """A request whose markers are being written. `errors`: one dict per marker; `left`: how many are not decided."""

    message: Message
    errors: list[dict[str, Errors]]
    left: int


class MarkerAppend(msgspec.Struct, frozen=True):
    """One marker in one partition: the write that waits to be committed."""

    request: MarkerRequest
    number: int
    partition: str
    marker: WritableTxnMarker


def write_markers(host: MarkerAppendsHost, message: Message) -> None:
    """Appends all markers of a request."""
    body: WriteTxnMarkersRequest = message.body
    count = sum(len(marker.partitions) for marker in body.markers)
    request = MarkerRequest(message, [{} for _ in body.markers], count)
    if not count:
        _respond(host, request)
    for number, marker in enumerate(body.markers):
        for name in marker.partitions:
            append = MarkerAppend(request, number, name, marker)
            if -1 in (marker.producer_id, marker.producer_epoch) and name in host.replicas.partitions:
                # A transactional batch cannot have these values: Kafka fails on it.
                marker_decided(host, append, Errors.UNKNOWN_SERVER_ERROR)
            else:
                _append(host, append)


def _append(host: MarkerAppendsHost, append: MarkerAppend) -> None:
    marker = append.marker
    data = build_end_transaction_marker(
        ControlRecordType.COMMIT if marker.transaction_result else ControlRecordType.ABORT,
        timestamp=host.wall_ms,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
    )
    error = host.append_for_coordinator(append.partition, data, append, host.config.request_timeout_ms)
    if error is not Errors.NONE:
        marker_decided(host, append, error)


def marker_decided(host: MarkerAppendsHost, append: MarkerAppend, error: Errors) -> None:
    """A marker is committed, or cannot be committed any more. Offsets that a transaction has committed take effect
    now.
    """
    request, marker = append.request, append.marker
    request.errors[append.number][append.partition] = error
    if error is Errors.NONE and topic_of(append.partition) == OFFSETS_TOPIC:
        host.groups.transaction_completed(marker.producer_id, append.partition, marker.transaction_result)
    request.left -= 1
    if not request.left:
        _respond(host, request)


def _respond(host: MarkerAppendsHost, request: MarkerRequest) -> None:
    body: WriteTxnMarkersRequest = request.message.body
    results = tuple(
        (marker.producer_id, tuple((name, errors[name]) for name in marker.partitions))
        for marker, errors in zip(body.markers, request.errors, strict=True)
    )
    fields = tuple((name, error.name) for _, rows in results for name, error in rows)
    label = next((text for _, text in fields if text != "NONE"), "label.written")
    host.kernel.respond(request.message, WriteTxnMarkersResponse(results), label=label, fields=fields)
