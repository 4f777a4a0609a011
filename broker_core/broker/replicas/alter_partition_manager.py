"""Carries ISR changes from leaders to the controller (`kafka.server.AlterPartitionManager`, KIP-497).

At most one request is in flight, with one change for each partition; later changes wait for the next request.
"""

from typing import Protocol

from broker_core.errors import Errors
from broker_core.partitions import broker_node
from broker_core.sim.handlers import ResponseHandler, TimerHandler
from broker_core.sim.kernel import Kernel
from broker_core.wire.messages import (
    AlterPartitionItem,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResult,
)

RETRY_TIMER = "alter_partition_retry"
CONTEXT = "alter_partition"
RETRY_US = 50_000
REQUEST_TIMEOUT_US = 30_000_000


class AlterPartitionHost(Protocol):
    """What the manager needs of its broker."""

    kernel: Kernel
    name: str
    broker_id: int

    @property
    def broker_epoch(self) -> int: ...

    def known_controller(self) -> int: ...

    def isr_change_answered(self, requested: AlterPartitionItem, result: AlterPartitionResult) -> None: ...


class AlterPartitionManager:
    """The proposed ISR changes of a broker: see the module."""

    def __init__(self, host: AlterPartitionHost) -> None:
        self.host = host
        self.unsent: dict[str, AlterPartitionItem] = {}
        self.in_flight: dict[str, AlterPartitionItem] = {}
        self._retry_pending = False

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {RETRY_TIMER: self._on_retry}

    @property
    def responses(self) -> dict[str, ResponseHandler]:
        """The handlers of responses to its requests, by context."""
        return {CONTEXT: ResponseHandler(self._on_response, self._on_disconnect)}

    def submit(self, item: AlterPartitionItem) -> None:
        """Queues a change and sends it when no request is in flight."""
        self.unsent[item.partition] = item
        self._send()

    def forget(self, partition: str) -> None:
        """Drops the change of a partition that has another leader now."""
        self.unsent.pop(partition, None)

    def _send(self) -> None:
        if self.in_flight or not self.unsent or self._retry_pending:
            return
        host = self.host
        controller_id = host.known_controller()
        if controller_id < 0:
            self._retry_later()
            return
        self.in_flight, self.unsent = self.unsent, {}
        items = tuple(self.in_flight.values())
        host.kernel.request(
            host.name,
            broker_node(controller_id),
            "AlterPartition",
            AlterPartitionRequest(host.broker_id, host.broker_epoch, items),
            label=f"AlterPartition {items[0].partition}"
            if len(items) == 1
            else f"label.api_partitions?api=AlterPartition&n={len(items)}",
            fields=tuple((item.partition, f"ISR {[broker_id for broker_id, _ in item.new_isr]}") for item in items),
            context=(CONTEXT, None),
            timeout_us=REQUEST_TIMEOUT_US,
        )

    def _on_response(self, _: None, response: AlterPartitionResponse) -> None:
        """Passes each result to its partition; after a request-level error everything is sent again after 50 ms."""
        requested, self.in_flight = self.in_flight, {}
        if response.error is not Errors.NONE:
            self._again(requested)
            return
        for result in response.partitions:
            if result.partition in requested:
                self.host.isr_change_answered(requested[result.partition], result)
        self._send()

    def _on_disconnect(self, _: None) -> None:
        """The controller did not respond."""
        requested, self.in_flight = self.in_flight, {}
        self._again(requested)

    def _on_retry(self, _: None) -> None:
        """The 50 ms have passed."""
        self._retry_pending = False
        self._send()

    def _again(self, requested: dict[str, AlterPartitionItem]) -> None:
        self.unsent = {**requested, **self.unsent}
        self._retry_later()

    def _retry_later(self) -> None:
        if not self._retry_pending:
            self._retry_pending = True
            host = self.host
            host.kernel.timer(host.name, host.kernel.now_us + RETRY_US, RETRY_TIMER)
