"""Where a broker's producer ids come from (`ProducerIdManager`, `RPCProducerIdManager`).

Ids are given out of a block of 1000, and each block only once: the znode `/latest_producer_id_block` says which was the
last. Since 3.0 a broker asks the controller for its next block, in good time; before, it wrote the znode itself.
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
    """The broker."""

    name: str

    @property
    def now_us(self) -> int: ...

    def emit(self, event: Event) -> int: ...

    def request_producer_ids(self) -> bool:
        """Asks for the next block; the answer comes to `on_response`. False where nobody can be asked."""


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
        """A block of ids is this broker's."""
        self._host.emit(ProducerIdsAllocated(broker=self._host.name, first=first, last=first + count - 1))
        if self._next_id < self._end:
            self._next_block = first
        else:
            self._next_id, self._end = first, first + count

    def generate(self) -> int | None:
        """The next id; None while the next block has not come."""
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
        """The controller has answered, or nobody (None). Who needs an id asks again."""
        self._is_asking = False
        if response is not None and response.error is Errors.NONE:
            self.take(response.producer_id_start, response.producer_id_len)
