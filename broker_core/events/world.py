"""The world: the run itself, its nodes and links, and the alarms."""

from broker_core.events.envelope import Event, kind


@kind("world")
class RunStarted(Event):
    name: str
    seed: int
    era: str
    start_wall_ms: int


@kind("world")
class NodeAdded(Event):
    """A node was added. `node_kind`: broker, zookeeper, shell, producer, consumer, or client: an external connection
    over TCP. `broker_id` is -1 unless a broker.
    """

    node: str
    node_kind: str
    broker_id: int
    settings: tuple[tuple[str, str], ...] = ()


@kind("world")
class NodeRemoved(Event):
    node: str


@kind("world")
class ClientRefused(Event):
    """A client sent what cannot be read or answered; the connection is closed."""

    node: str
    broker: str
    why: str


@kind("world")
class ClientIdentified(Event):
    """The identity that a client sends: `client_id` in each request, its software in ApiVersions (KIP-511)."""

    node: str
    client_id: str
    software_name: str
    software_version: str


@kind("world")
class BrokerStarting(Event):
    broker: str
    clean_shutdown: bool


@kind("world")
class BrokerStarted(Event):
    broker: str
    broker_epoch: int


@kind("world")
class BrokerStopped(Event):
    """`how`: kill (SIGKILL), stop (clean), power loss, failure (its log directory cannot be used), or halt (it ended
    its process by itself, without cleaning up).
    """

    broker: str
    how: str


@kind("world")
class BrokerExiting(Event):
    """It has met what it would rather stop than do. Its connections are closed; that its process ends is another event,
    which may never come.
    """

    broker: str
    why: str


@kind("world")
class BrokerFrozen(Event):
    broker: str


@kind("world")
class BrokerThawed(Event):
    broker: str


@kind("world")
class ClientFrozen(Event):
    client: str


@kind("world")
class ClientThawed(Event):
    client: str


@kind("world")
class LinkCut(Event):
    a: str
    b: str


@kind("world")
class LinkCutOneWay(Event):
    """Until the link is restored."""

    source: str
    destination: str


@kind("world")
class LinkRestored(Event):
    a: str
    b: str


@kind("world")
class LinkQualityChanged(Event):
    """One direction of a link. All zero: it is as good as new."""

    source: str
    destination: str
    latency_us: int
    loss_percent: int
    reorder_percent: int


@kind("world")
class DiskSlowed(Event):
    """0: it is as fast as ever."""

    broker: str
    latency_us: int


@kind("world")
class FsyncSlowed(Event):
    """Each fsync that a handler waits for takes `latency_us` longer; 0 removes the delay."""

    broker: str
    latency_us: int


@kind("world")
class InvariantViolated(Event):
    """A guarantee does not hold any more.

    `explained_by`: what explains it (an unclean election, a lost tail, how the era truncates), empty when nothing does;
    `setting`: the settings that allow it, as in a configuration or as codes, with `; ` between them. `cause`: the event
    that probably led to it, 0 = unknown. `promise`: the acknowledgement that it breaks, if any.

    The texts for people are codes. Recordings of before have prose instead, and its Chinese in the fields `_zh`, which
    are empty otherwise.
    """

    invariant: str
    subject: str
    detail: str
    explained_by: str
    detail_zh: str = ""
    explained_by_zh: str = ""
    cause: int = 0
    promise: str = ""
    promise_zh: str = ""
    setting: str = ""


@kind("world")
class ForeignZnodeChanged(Event):
    """`change`: created, changed or deleted."""

    change: str
    path: str
    data: str
