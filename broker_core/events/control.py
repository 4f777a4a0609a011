"""The control plane: ZooKeeper and the controller."""

from broker_core.events.envelope import Event, kind


@kind("control")
class SessionOpened(Event):
    session: int
    owner: str


@kind("control")
class SessionClosed(Event):
    """`why`: closed or expired."""

    session: int
    owner: str
    why: str


ZooKeeperRequestRow = tuple[str, str, str]
"""(operation, path, result): ZooKeeper's names of the operation, and of the error if the result is not ok."""

REQUESTS_SHOWN = 8
"""Maximum number of the requests of one instant in a ZooKeeperAsked."""


@kind("control")
class ZooKeeperAsked(Event):
    """A node sent `count` requests to ZooKeeper at one instant, after which they were answered: an operation takes no
    simulated time. `requests`: the first of them. Pings are not requests here.
    """

    client: str
    count: int
    requests: tuple[ZooKeeperRequestRow, ...]


@kind("control")
class ZnodeCreated(Event):
    """`ephemeral_owner`: the node whose session owns it, empty when persistent."""

    path: str
    data: str
    zxid: int
    ephemeral_owner: str


@kind("control")
class ZnodeChanged(Event):
    path: str
    data: str
    version: int
    zxid: int


@kind("control")
class ZnodeDeleted(Event):
    path: str
    zxid: int


@kind("control")
class WatchArmed(Event):
    """`of`: data, or children. A watch fires for one change and has to be set again for the next."""

    owner: str
    path: str
    of: str


@kind("control")
class WatchFired(Event):
    """`change`: created, changed, deleted or children. Its notification is in flight, if the owner is running."""

    owner: str
    path: str
    change: str


@kind("control")
class ControllerEventProcessed(Event):
    """The thread of a controller takes the next thing. `name`: the class of Kafka's `ControllerEvent`; `about`: the
    broker, topic or partitions that it concerns, empty for none.
    """

    broker: int
    name: str
    about: str


@kind("control")
class ControllerElected(Event):
    broker: int
    controller_epoch: int


@kind("control")
class ControllerResigned(Event):
    broker: int
    why: str


@kind("control")
class PartitionStateChanged(Event):
    """The controller's own state machine: NewPartition, OnlinePartition, OfflinePartition, NonExistentPartition.

    `controller` is the node whose controller it is: for a moment an old one may not know yet that there is a new one.
    """

    partition: str
    from_state: str
    state: str
    controller: str


@kind("control")
class ReplicaStateChanged(Event):
    """The controller's own state machine: NewReplica, OnlineReplica, OfflineReplica, ReplicaDeletion...,
    NonExistentReplica.

    `controller` as in PartitionStateChanged.
    """

    replica: str
    from_state: str
    state: str
    controller: str


@kind("control")
class LeaderElected(Event):
    """`leader` -1 = none could be elected. `unclean`: it was not in the ISR."""

    partition: str
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    strategy: str
    unclean: bool


@kind("control")
class ConfigurationApplied(Event):
    """A broker has read the dynamic configuration of a topic (topics/orders), of itself (brokers/1), of all brokers
    (brokers/<default>) or of clients (users/alice/clients/c1, ips/<default>). `configs`: the whole of it, (name, value)
    sorted; () = all is as without it.
    """

    broker: str
    entity: str
    configs: tuple[tuple[str, str], ...]


@kind("control")
class MetadataUpdated(Event):
    """A broker took an UpdateMetadata. `partitions`: how many partition states it carried."""

    broker: str
    controller: int
    live_brokers: tuple[int, ...]
    partitions: int
