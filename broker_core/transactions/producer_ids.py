"""Allocation of producer ids by a broker (`ProducerIdManager`, `RPCProducerIdManager`).

Ids are allocated from blocks of 1000, and each block only once: the znode `/latest_producer_id_block` has the last one.
Since 3.0 a broker requests its next block from the controller ahead of time; before, it wrote the znode itself.
"""

from typing import Protocol

from broker_core.errors import Errors
from broker_core.events.envelope import Event
from broker_core.events.transaction import ProducerIdsAllocated
from broker_core.wire.messages import AllocateProducerIdsResponse

BLOCK = 1_000
PREFETCH_AT = 900
RETRY_BACKOFF_US = 50_000


class ProducerIdHost(Protocol):
    """The broker interface that the allocation needs."""

    name: str

    @property
    def now_us(self) -> int: ...

    def emit(self, event: Event) -> int: ...

    def request_producer_ids(self) -> bool:
        """Requests the next block; the response is passed to `on_response`. False if there is no controller."""


class ProducerIds:
    """The blocks of one broker, as first ids; None = there is none."""

    def __init__(self, host: ProducerIdHost) -> None:
        self._host = host
        self._next_id = 0
        self._end = 0
        self._next_block: int | None = None
        self._is_asking = False
        self._not_before_us = 0

    def take(self, first: int, count: int = BLOCK) -> None:
        """Sets the current block of ids."""
        self._host.emit(ProducerIdsAllocated(broker=self._host.name, first=first, last=first + count - 1))
        if self._next_id < self._end:
            self._next_block = first
        else:
            self._next_id, self._end = first, first + count

    def generate(self) -> int | None:
        """The next id; None until the next block has arrived."""
        if self._next_id == self._end:
            if self._next_block is None:
                self._ask()
                return None
            self._next_id, self._end, self._next_block = self._next_block, self._next_block + BLOCK, None
        producer_id = self._next_id
        self._next_id += 1
        if self._next_block is None and self._next_id >= self._end - BLOCK + PREFETCH_AT:
            self._ask()
        return producer_id

    def _ask(self) -> None:
        if not self._is_asking and self._host.now_us >= self._not_before_us:
            self._not_before_us = self._host.now_us + RETRY_BACKOFF_US
            self._is_asking = self._host.request_producer_ids()

    def on_response(self, response: AllocateProducerIdsResponse | None) -> None:
        """Handles the controller's response, None for a lost one. Requests that need an id are retried."""
        self._is_asking = False
        if response is not None and response.error is Errors.NONE:
            self.take(response.producer_id_start, response.producer_id_len)
