"""Messages between nodes. Each has its place in time: sent, due, delivered."""

from broker_core.events.envelope import Event, kind

Fields = tuple[tuple[str, str | int], ...]


@kind("rpc")
class RpcSent(Event):
    """`rpc` is unique in the branch (`r1187`); `kind` is request, response or watch; a response carries the
    `correlation` of its request. `fields` are the message's contents, in order, for display.
    """

    rpc: str
    api: str
    kind: str
    source: str
    destination: str
    due_us: int
    correlation: int
    label: str
    fields: Fields


@kind("rpc")
class RpcDelivered(Event):
    rpc: str
    destination: str


@kind("rpc")
class RpcDropped(Event):
    rpc: str
    why: str


@kind("rpc")
class RpcHeld(Event):
    """The message waits in a cut link or in the socket of a frozen node until that ends."""

    rpc: str
    why: str


@kind("rpc")
class RpcRescheduled(Event):
    rpc: str
    due_us: int
