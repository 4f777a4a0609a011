"""Requests that wait in a broker's purgatories (`DelayedFetch`, `DelayedProduce`), and appends of its coordinators."""

from typing import Any

import msgspec
from msgspec import structs

from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.wire.messages import FetchRequest, ProducePartitionResponse


class DelayedFetch(msgspec.Struct, gc=False):
    """A fetch that found too few bytes. `unknown`: the partitions that it does not wait for."""

    request: str
    message: Message
    body: FetchRequest
    partitions: tuple[str, ...]
    timer_id: int
    unknown: tuple[str, ...] = ()


class CoordinatorWait(msgspec.Struct):
    """What a coordinator does when its append is committed: when the high watermark has reached `required`. `timer_id`:
    the timer of its timeout.
    """

    waiting: Any
    required: int
    timer_id: int = 0


class DelayedProduce(msgspec.Struct, gc=False):
    """A produce with acks=all that was appended and waits to be committed. `required` maps a partition to the offset
    that the high watermark must reach, or in era 0.8 `acks` in-sync replicas; `answers` has the results known so far.
    """

    request: str
    message: Message
    partitions: tuple[str, ...]
    required: dict[str, int]
    answers: dict[str, ProducePartitionResponse]
    timer_id: int
    acks: int = -1

    def answer(self, partition: str, error: Errors) -> None:
        """Sets the result of this partition. The base offset is returned with an error as well."""
        del self.required[partition]
        if error is not Errors.NONE:
            self.answers[partition] = structs.replace(self.answers[partition], error=error)
