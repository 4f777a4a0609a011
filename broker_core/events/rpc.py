"""Messages between nodes. Each has its place in time: sent, due, delivered."""

from broker_core.events.envelope import Event, kind

Fields = tuple[tuple[str, str | int], ...]


@kind("rpc", en="{source} sends {label} to {destination}", zh="{source} 向 {destination} 发送 {label}")
class RpcSent(Event):
    """`rpc` is unique in the branch (`r1187`); `kind` is request, response or watch; a response carries the
    `correlation` of its request. `fields` are what the message says, in order, for people.
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


@kind("rpc", en="{rpc} arrived at {destination}", zh="{rpc} 到达 {destination}")
class RpcDelivered(Event):
    rpc: str
    destination: str


@kind("rpc", en="{rpc} was lost: {why}", zh="{rpc} 丢失：{why}")
class RpcDropped(Event):
    rpc: str
    why: str


@kind("rpc", en="{rpc} is stuck: {why}", zh="{rpc} 滞留：{why}")
class RpcHeld(Event):
    """The message waits in a cut link or in the socket of a frozen node until that ends."""

    rpc: str
    why: str


@kind("rpc", en="{rpc} goes on, due at {due_us} us", zh="{rpc} 继续，预计 {due_us} 微秒到达")
class RpcRescheduled(Event):
    rpc: str
    due_us: int
