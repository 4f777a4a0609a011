"""Messages in flight, timers and pending requests of nodes. Plain data, so that a whole cluster pickles."""

from typing import Any, Protocol

import msgspec

FOLLOWING = frozenset({"Fetch", "OffsetForLeaderEpoch"})
"""The requests of a follower to its leader."""


class Message(msgspec.Struct, gc=False, eq=False):
    """An RPC in flight. `kind` is request, response or watch. `incarnation` is that of the destination when it was
    sent, because a connection ends with the destination's process.
    """

    rpc: str
    api: str
    kind: str
    source: str
    destination: str
    correlation: int
    body: Any
    due_us: int
    cause_seq: int
    incarnation: int
    label: str
    timer_id: int = 0
    held: bool = False


class Timer(msgspec.Struct, frozen=True, gc=False):
    """A timer of a node: its name and its data. `incarnation`: that of the process that set it, with which it ends."""

    name: str
    data: Any
    cause_seq: int
    incarnation: int


class Disconnect(msgspec.Struct, frozen=True, gc=False):
    """Notifies the sender of a request that the connection closed before a response arrived."""

    correlation: int
    incarnation: int


class RequestTimeout(msgspec.Struct, frozen=True, gc=False):
    correlation: int
    incarnation: int


class Pending(msgspec.Struct, gc=False):
    """A request that awaits its response at the node that sent it."""

    rpc: str
    api: str
    source: str
    destination: str
    context: Any
    timeout_id: int
    sent_us: int
    #: its response does not leave before: the handler waits for an fsync until then
    respond_from_us: int = 0


class Node(Protocol):
    """The node interface that the kernel uses."""

    name: str

    def on_request(self, message: Message) -> None: ...

    def on_response(self, api: str, body: Any, context: Any) -> None: ...

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        """`why`: refused, closed or timed out."""

    def on_timer(self, name: str, data: Any) -> None: ...

    def on_watch(self, kind: str, path: str) -> None: ...


class PassiveNode:
    """Base class of nodes that neither send nor receive requests."""

    name: str

    def on_request(self, message: Message) -> None:
        """Ignores requests: no node sends it any."""
        raise ValueError(f"{self.name} answers no requests, but got {message.api} from {message.source}")

    def on_response(self, api: str, body: Any, context: Any) -> None:
        """It sends no requests."""

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        """It sends no requests."""

    def on_watch(self, kind: str, path: str) -> None:
        """Ignores watches: it sets none."""


class Latency(msgspec.Struct, frozen=True):
    """The latency of a message: `base_us` plus up to `jitter_us`, drawn from the stream `network`."""

    base_us: int = 0
    jitter_us: int = 0
