"""What is under way between nodes, and what they wait for. Plain data, so that a whole cluster pickles."""

from typing import Any, Protocol

import msgspec

FOLLOWING = frozenset({"Fetch", "OffsetForLeaderEpoch"})
"""The requests by which a broker follows another."""


class Message(msgspec.Struct, gc=False, eq=False):
    """An RPC under way. `kind` is request, response or watch. `incarnation` is that of the destination when it was
    sent, since a connection does not outlive the process at its end.
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
    """A timer of a node: what it is called and what it carries. `incarnation`: it dies with the process that set it."""

    name: str
    data: Any
    cause_seq: int
    incarnation: int


class Disconnect(msgspec.Struct, frozen=True, gc=False):
    """The sender of a request learns that the connection closed before an answer came."""

    correlation: int
    incarnation: int


class RequestTimeout(msgspec.Struct, frozen=True, gc=False):
    correlation: int
    incarnation: int


class Pending(msgspec.Struct, gc=False):
    """A request that waits for its answer at the node that sent it."""

    rpc: str
    api: str
    source: str
    destination: str
    context: Any
    timeout_id: int
    sent_us: int


class Node(Protocol):
    """What the kernel asks of a node."""

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
        """No node sends it requests."""
        raise ValueError(f"{self.name} answers no requests, but got {message.api} from {message.source}")

    def on_response(self, api: str, body: Any, context: Any) -> None:
        """It sends no requests."""

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        """It sends no requests."""

    def on_watch(self, kind: str, path: str) -> None:
        """It watches nothing."""


class Latency(msgspec.Struct, frozen=True):
    """How long a message takes: `base_us` plus up to `jitter_us`, drawn from the stream `network`."""

    base_us: int = 0
    jitter_us: int = 0
