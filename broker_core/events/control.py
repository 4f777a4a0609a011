"""The control plane: ZooKeeper and the controller."""

from broker_core.events.envelope import Event, kind


@kind("control", en="{owner} opened ZooKeeper session {session}", zh="{owner} 打开 ZooKeeper 会话 {session}")
class SessionOpened(Event):
    session: int
    owner: str


@kind(
    "control",
    en="ZooKeeper session {session} of {owner} ended: {why}",
    zh="{owner} 的 ZooKeeper 会话 {session} 结束：{why}",
)
class SessionClosed(Event):
    """`why`: closed or expired."""

    session: int
    owner: str
    why: str


@kind("control", en="znode {path} created", zh="创建 znode {path}")
class ZnodeCreated(Event):
    """`ephemeral_owner`: the node whose session owns it, empty when persistent."""

    path: str
    data: str
    zxid: int
    ephemeral_owner: str


@kind("control", en="znode {path} changed, version {version}", zh="znode {path} 变更，版本 {version}")
class ZnodeChanged(Event):
    path: str
    data: str
    version: int
    zxid: int


@kind("control", en="znode {path} deleted", zh="删除 znode {path}")
class ZnodeDeleted(Event):
    path: str
    zxid: int


@kind("control", en="{owner} watches {path} ({of})", zh="{owner} 监听 {path}（{of}）")
class WatchArmed(Event):
    """`of`: data, or children. A watch hears of one change; who wants to hear of the next arms it again."""

    owner: str
    path: str
    of: str


@kind("control", en="The watch of {owner} on {path} fires: {change}", zh="{owner} 对 {path} 的监听触发：{change}")
class WatchFired(Event):
    """`change`: created, changed, deleted or children. The message that says so is on its way, if the owner lives."""

    owner: str
    path: str
    change: str


@kind(
    "control",
    en="The controller of broker {broker} handles {name} {about}",
    zh="代理 {broker} 的控制器处理 {name} {about}",
)
class ControllerEventProcessed(Event):
    """The thread of a controller takes the next thing. `name`: the class of Kafka's `ControllerEvent`; `about`: the
    broker, topic or partitions that it concerns, empty for none.
    """

    broker: int
    name: str
    about: str


@kind(
    "control",
    en="Broker {broker} is the controller, epoch {controller_epoch}",
    zh="代理 {broker} 成为控制器，纪元 {controller_epoch}",
)
class ControllerElected(Event):
    broker: int
    controller_epoch: int


@kind("control", en="Broker {broker} is no longer the controller: {why}", zh="代理 {broker} 不再是控制器：{why}")
class ControllerResigned(Event):
    broker: int
    why: str


@kind("control", en="{partition} is {state}", zh="{partition} 状态为 {state}")
class PartitionStateChanged(Event):
    """The controller's own state machine: NewPartition, OnlinePartition, OfflinePartition, NonExistentPartition.

    `controller` is the node whose controller it is: for a moment an old one may not know yet that there is a new one.
    """

    partition: str
    from_state: str
    state: str
    controller: str


@kind("control", en="{replica} is {state} for the controller", zh="控制器视 {replica} 为 {state}")
class ReplicaStateChanged(Event):
    """The controller's own state machine: NewReplica, OnlineReplica, OfflineReplica, ReplicaDeletion...,
    NonExistentReplica.

    `controller` as in PartitionStateChanged.
    """

    replica: str
    from_state: str
    state: str
    controller: str


@kind(
    "control",
    en="{partition}: leader {leader} elected by {strategy}, epoch {leader_epoch}",
    zh="{partition}：按 {strategy} 选出首领 {leader}，纪元 {leader_epoch}",
)
class LeaderElected(Event):
    """`leader` -1 = none could be elected. `unclean`: it was not in the ISR."""

    partition: str
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    strategy: str
    unclean: bool


@kind("control", en="{broker} applies the configuration of {entity}", zh="{broker} 应用 {entity} 的配置")
class ConfigurationApplied(Event):
    """A broker has read the dynamic configuration of a topic (topics/orders), of itself (brokers/1), of all brokers
    (brokers/<default>) or of clients (users/alice/clients/c1, ips/<default>). `configs`: the whole of it, (name, value)
    sorted; () = all is as without it.
    """

    broker: str
    entity: str
    configs: tuple[tuple[str, str], ...]


@kind(
    "control",
    en="{broker} knows brokers {live_brokers}, controller {controller}",
    zh="{broker} 已知存活代理 {live_brokers}，控制器 {controller}",
)
class MetadataUpdated(Event):
    """A broker took an UpdateMetadata. `partitions`: how many partition states it carried."""

    broker: str
    controller: int
    live_brokers: tuple[int, ...]
    partitions: int
