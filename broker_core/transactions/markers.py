"""Sends transaction markers to the partitions of a transaction (`TransactionMarkerChannelManager`, WriteTxnMarkers).

Requests are retried until each leader has written the marker, because a decision in the log is final. A partition that
was deleted since needs no marker.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from broker_core.errors import Errors
from broker_core.sim.handlers import TimerHandler, Unpacked
from broker_core.transactions.metadata import TransactionMetadata
from broker_core.transactions.states import TransactionState
from broker_core.wire.messages import WritableTxnMarker, WriteTxnMarkersRequest, WriteTxnMarkersResponse

RETRY_TIMER = "transactions.markers_again"
RETRY_BACKOFF_US = 100_000

_DONE = frozenset({Errors.NONE, Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT})
_FENCED = frozenset({Errors.INVALID_PRODUCER_EPOCH, Errors.TRANSACTION_COORDINATOR_FENCED})

Context = tuple[str, int, tuple[str, ...]]
"""The context of a request: the transactional id, the coordinator epoch, the partitions."""


class Markers(msgspec.Struct):
    """The markers of one transaction that are not written yet. `asked`: partitions with a request in flight."""

    log_partition: str
    coordinator_epoch: int
    producer_id: int
    producer_epoch: int
    is_commit: bool
    left: dict[str, None]
    requested: dict[str, None] = {}
    is_waiting: bool = False


class MarkerHost(Protocol):
    """The broker of the coordinator."""

    def leader_of(self, partition: str) -> int | None:
        """The leader in this broker's metadata; -1 = none now, None = no such partition."""

    def request_markers(self, broker_id: int, request: WriteTxnMarkersRequest, label: str, context: Context) -> None:
        """Sends a request; the response, or None, is passed to `on_response`."""

    def markers_written(self, transactional_id: str, coordinator_epoch: int) -> None: ...

    def timer(self, delay_us: int, name: str, data: object = None) -> int: ...


class TransactionMarkers:
    """The pending markers of all transactions that a broker coordinates, by transactional id."""

    def __init__(self, host: MarkerHost) -> None:
        self._host = host
        self._pending: dict[str, Markers] = {}

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """What it does when each of its timers is due."""
        return {RETRY_TIMER: Unpacked(self._retry)}

    def send(self, metadata: TransactionMetadata, coordinator_epoch: int) -> None:
        """Starts writing the markers of a decided transaction."""
        now = metadata.current
        is_commit = now.state is TransactionState.PREPARE_COMMIT
        markers = self._pending[metadata.transactional_id] = Markers(
            metadata.log_partition,
            coordinator_epoch,
            now.producer_id,
            now.producer_epoch,
            is_commit,
            dict.fromkeys(now.partitions),
        )
        if markers.left:
            self._continue(metadata.transactional_id)
        else:
            self._later(metadata.transactional_id, markers, 0)

    def forget(self, log_partition: str) -> None:
        """Drops the markers of transactions that another broker coordinates now."""
        for transactional_id in [each for each, row in self._pending.items() if row.log_partition == log_partition]:
            del self._pending[transactional_id]

    def _continue(self, transactional_id: str) -> None:
        """Sends requests to the leaders of the remaining partitions; completes the transaction if there are none."""
        markers = self._pending[transactional_id]
        by_leader: dict[int, list[str]] = {}
        for name in [name for name in markers.left if name not in markers.requested]:
            leader = self._host.leader_of(name)
            if leader is None:
                del markers.left[name]
            elif leader < 0:
                self._later(transactional_id, markers)
            else:
                by_leader.setdefault(leader, []).append(name)
        for leader, names in by_leader.items():
            markers.requested.update(dict.fromkeys(names))
            marker = WritableTxnMarker(
                markers.producer_id, markers.producer_epoch, markers.is_commit, tuple(names), markers.coordinator_epoch
            )
            label = f"{'COMMIT' if markers.is_commit else 'ABORT'} {transactional_id}"
            context = (transactional_id, markers.coordinator_epoch, tuple(names))
            self._host.request_markers(leader, WriteTxnMarkersRequest((marker,)), label, context)
        if not markers.left:
            del self._pending[transactional_id]
            self._host.markers_written(transactional_id, markers.coordinator_epoch)

    def _later(self, transactional_id: str, markers: Markers, delay_us: int = RETRY_BACKOFF_US) -> None:
        if not markers.is_waiting:
            markers.is_waiting = True
            self._host.timer(delay_us, RETRY_TIMER, (transactional_id, markers.coordinator_epoch))

    def _find(self, transactional_id: str, coordinator_epoch: int) -> Markers | None:
        markers = self._pending.get(transactional_id)
        return markers if markers is not None and markers.coordinator_epoch == coordinator_epoch else None

    def _retry(self, transactional_id: str, coordinator_epoch: int) -> None:
        """Retries markers that a leader could not write."""
        markers = self._find(transactional_id, coordinator_epoch)
        if markers is not None and markers.is_waiting:
            markers.is_waiting = False
            self._continue(transactional_id)

    def on_metadata_changed(self, partitions: Sequence[str]) -> None:
        """Retries the markers of partitions with changed metadata at once.

        Kafka retries without a back-off, so a marker is written as soon as there are enough replicas.
        """
        for transactional_id, markers in list(self._pending.items()):
            if markers.is_waiting and any(name in markers.left for name in partitions):
                markers.is_waiting = False
                self._continue(transactional_id)

    def on_response(self, context: Context, response: WriteTxnMarkersResponse | None) -> None:
        """Handles a leader's response, or None for a lost one."""
        transactional_id, coordinator_epoch, names = context
        markers = self._find(transactional_id, coordinator_epoch)
        if markers is None:
            return
        errors = {} if response is None else dict(response.markers[0][1])
        for name in names:
            markers.requested.pop(name, None)
            error = errors.get(name)
            if error in _FENCED:
                # fenced by a newer coordinator or a newer producer
                del self._pending[transactional_id]
                return
            if error in _DONE:
                markers.left.pop(name, None)
        if any(name in markers.left for name in names):
            self._later(transactional_id, markers)
        if not markers.left:
            self._continue(transactional_id)
