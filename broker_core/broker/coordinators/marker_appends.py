"""Transaction markers at the leaders of partitions (`KafkaApis.handleWriteTxnMarkersRequest`).

Each marker is a control batch, and the request is answered when all of them are committed, or cannot be.
"""

from typing import TYPE_CHECKING

import msgspec

from broker_core.errors import Errors
from broker_core.groups.offsets import OFFSETS_TOPIC
from broker_core.records.control_record import ControlRecordType, build_end_transaction_marker
from broker_core.sim.kernel import Message
from broker_core.wire.messages import WritableTxnMarker, WriteTxnMarkersRequest, WriteTxnMarkersResponse

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


class MarkerRequest(msgspec.Struct):
    """A request whose markers are being written. `errors`: one dict a marker; `left`: how many are not decided."""

    message: Message
    errors: list[dict[str, Errors]]
    left: int


class MarkerAppend(msgspec.Struct, frozen=True):
    """One marker in one partition; the write that waits to be committed."""

    request: MarkerRequest
    number: int
    partition: str
    marker: WritableTxnMarker


def write_markers(broker: "Broker", message: Message) -> None:
    """Appends all markers of a request."""
    body: WriteTxnMarkersRequest = message.body
    count = sum(len(marker.partitions) for marker in body.markers)
    request = MarkerRequest(message, [{} for _ in body.markers], count)
    if not count:
        _respond(broker, request)
    for number, marker in enumerate(body.markers):
        for name in marker.partitions:
            append = MarkerAppend(request, number, name, marker)
            if -1 in (marker.producer_id, marker.producer_epoch) and name in broker.replicas.partitions:
                # no batch of a transaction can say so: Kafka fails on it
                marker_decided(broker, append, Errors.UNKNOWN_SERVER_ERROR)
            else:
                _append(broker, append)


def _append(broker: "Broker", append: MarkerAppend) -> None:
    marker = append.marker
    data = build_end_transaction_marker(
        ControlRecordType.COMMIT if marker.transaction_result else ControlRecordType.ABORT,
        timestamp=broker.wall_ms,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
    )
    error = broker.coordinator_appends.append(append.partition, data, append, broker.config.request_timeout_ms)
    if error is not Errors.NONE:
        marker_decided(broker, append, error)


def marker_decided(broker: "Broker", append: MarkerAppend, error: Errors) -> None:
    """A marker is committed, or will not be. Offsets that a transaction has committed count from then on."""
    request, marker = append.request, append.marker
    request.errors[append.number][append.partition] = error
    if error is Errors.NONE and append.partition.rpartition("-")[0] == OFFSETS_TOPIC:
        broker.groups.transaction_completed(marker.producer_id, append.partition, marker.transaction_result)
    request.left -= 1
    if not request.left:
        _respond(broker, request)


def _respond(broker: "Broker", request: MarkerRequest) -> None:
    body: WriteTxnMarkersRequest = request.message.body
    results = tuple(
        (marker.producer_id, tuple((name, errors[name]) for name in marker.partitions))
        for marker, errors in zip(body.markers, request.errors, strict=True)
    )
    fields = tuple((name, error.name) for _, rows in results for name, error in rows)
    label = next((text for _, text in fields if text != "NONE"), "written")
    broker.kernel.respond(request.message, WriteTxnMarkersResponse(results), label=label, fields=fields)
