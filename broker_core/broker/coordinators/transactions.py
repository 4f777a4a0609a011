"""The transaction parts of a broker's process, and the broker as they see it."""

from contextlib import suppress
from typing import Any, Protocol

from broker_core.broker.coordinators.transaction_verifier import TransactionVerifier, VerifierHost
from broker_core.controller.registration import MalformedZnode, take_producer_ids
from broker_core.errors import Errors
from broker_core.events.envelope import Event
from broker_core.log.unified_log import UnifiedLog
from broker_core.partitions import broker_node
from broker_core.sim.handlers import ResponseHandler, TimerHandler
from broker_core.sim.kernel import Kernel
from broker_core.sim.zookeeper import ZkClient
from broker_core.topics import TRANSACTION_TOPIC
from broker_core.transactions.coordinator import TransactionCoordinator
from broker_core.transactions.host import TransactionSettings, TransactionStore
from broker_core.transactions.markers import Context, TransactionMarkers
from broker_core.transactions.metadata import TransactionMetadata
from broker_core.transactions.producer_ids import ProducerIds
from broker_core.wire.messages import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    LeaderAndIsrPartition,
    WriteTxnMarkersRequest,
)

PRODUCER_IDS, MARKERS = "producer_ids", "markers"
"""The contexts of requests."""


class TransactionPartsHost(VerifierHost, Protocol):
    """What the parts need of their broker."""

    broker_id: int
    broker_epoch: int

    @property
    def now_us(self) -> int: ...

    @property
    def wall_ms(self) -> int: ...

    @property
    def zk(self) -> ZkClient: ...

    @property
    def reaches_zookeeper(self) -> bool: ...

    def known_controller(self) -> int: ...

    def append_for_coordinator(self, partition: str, data: bytes, waiting: object, timeout_ms: int) -> Errors:
        """Appends a batch as leader; `waiting` waits until it is committed."""

    def emit(self, event: Event) -> int: ...

    def timer(self, delay_us: int, name: str, data: object = None) -> int: ...


class TransactionParts:
    """The coordinator, its markers, the producer ids and the verifier of one broker."""

    def __init__(self, host: TransactionPartsHost) -> None:
        self._host = host
        self.kernel: Kernel = host.kernel
        self.name = host.name
        self.era = host.era
        self.producer_ids = ProducerIds(self)
        self.markers = TransactionMarkers(self)
        self.coordinator = TransactionCoordinator(self)
        self.verifier = TransactionVerifier(host, self.coordinator)

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {**self.coordinator.timers, **self.markers.timers}

    @property
    def responses(self) -> dict[str, ResponseHandler]:
        """The handlers of responses to its requests, by context."""
        return {
            PRODUCER_IDS: ResponseHandler(self._on_producer_ids, self._on_no_producer_ids),
            MARKERS: ResponseHandler(self.markers.on_response, self._on_no_markers),
            **self.verifier.responses,
        }

    def _on_producer_ids(self, _: None, response: AllocateProducerIdsResponse | None) -> None:
        self.producer_ids.on_response(response)

    def _on_no_producer_ids(self, _: None) -> None:
        self.producer_ids.on_response(None)

    def _on_no_markers(self, context: Context) -> None:
        self.markers.on_response(context, None)

    # What its parts need of the broker.

    @property
    def now_us(self) -> int:
        """Simulated time."""
        return self._host.now_us

    @property
    def wall_ms(self) -> int:
        """Calendar time in ms."""
        return self._host.wall_ms

    @property
    def transaction_settings(self) -> TransactionSettings:
        """The settings of transactions."""
        return self._host.config.transactions

    @property
    def transaction_partition_count(self) -> int:
        """How many partitions `__transaction_state` has, or will have."""
        count = self._host.metadata.partition_count(TRANSACTION_TOPIC)
        return count or self.transaction_settings.transaction_state_log_num_partitions

    def emit(self, event: Event) -> int:
        """Emits an event of the broker."""
        return self._host.emit(event)

    def timer(self, delay_us: int, name: str, data: object = None) -> int:
        """Calls `on_timer` after a delay."""
        return self._host.timer(delay_us, name, data)

    def leader_of(self, partition: str) -> int | None:
        """The leader according to this broker's metadata."""
        state = self._host.metadata.partitions.get(partition)
        return None if state is None else state.leader

    def transaction_log(self, partition: str) -> UnifiedLog:
        """The log of a partition of `__transaction_state` that this broker leads."""
        return self._host.replicas.partitions[partition].log

    def append_to_transaction_log(
        self, partition: str, data: bytes, store: TransactionStore | None, timeout_ms: int
    ) -> Errors:
        """Appends to a partition of `__transaction_state`; `store` waits until that is committed, with a timeout."""
        return self._host.append_for_coordinator(partition, data, store, timeout_ms)

    # producer ids

    def request_producer_ids(self) -> bool:
        """Requests a block from the controller; before that API existed, a broker allocated it itself."""
        host = self._host
        if host.era.transactions.producer_ids_at_start:
            if host.reaches_zookeeper:
                with suppress(MalformedZnode):
                    self.producer_ids.take(take_producer_ids(host.zk, host.broker_id))
            return False
        controller_id = host.known_controller()
        if controller_id < 0:
            return False
        self._request(
            controller_id,
            "AllocateProducerIds",
            AllocateProducerIdsRequest(host.broker_id, host.broker_epoch),
            "AllocateProducerIds",
            (PRODUCER_IDS, None),
        )
        return True

    # markers

    def send_markers(self, metadata: TransactionMetadata, coordinator_epoch: int) -> None:
        """Writes the markers of a decided transaction."""
        self.markers.send(metadata, coordinator_epoch)

    def forget_markers(self, log_partition: str) -> None:
        """Drops the markers, because another broker writes them."""
        self.markers.forget(log_partition)

    def request_markers(self, broker_id: int, request: WriteTxnMarkersRequest, label: str, context: Context) -> None:
        """Sends a WriteTxnMarkers."""
        self._request(broker_id, "WriteTxnMarkers", request, label, (MARKERS, context))

    def markers_written(self, transactional_id: str, coordinator_epoch: int) -> None:
        """All markers of a transaction are written."""
        self.coordinator.markers_written(transactional_id, coordinator_epoch)

    def _request(self, broker_id: int, api: str, body: object, label: str, context: tuple[str, Any]) -> None:
        self.kernel.request(
            self.name,
            broker_node(broker_id),
            api,
            body,
            label=label,
            context=context,
            timeout_us=self._host.config.request_timeout_ms * 1_000,
        )

    # Calls from outside.

    def partition_changed(self, state: LeaderAndIsrPartition) -> None:
        """This broker has become leader or follower of a partition of `__transaction_state`."""
        partition = self._host.replicas.partitions[state.partition]
        if partition.is_leader:
            self.coordinator.on_election(state.partition, state.leader_epoch)
        else:
            self.coordinator.on_resignation(state.partition)
