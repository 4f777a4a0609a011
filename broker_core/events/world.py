"""The world: the run itself, its nodes and links, and the alarms."""

from broker_core.events.envelope import Event, kind


@kind("world", en="Run {name} began: era {era}, seed {seed}", zh="运行 {name} 开始：Kafka 版本 {era}，种子 {seed}")
class RunStarted(Event):
    name: str
    seed: int
    era: str
    start_wall_ms: int


@kind("world", en="{node} joined the picture as {node_kind}", zh="{node} 作为 {node_kind} 加入")
class NodeAdded(Event):
    """A node exists from now on. `node_kind`: broker, zookeeper, shell, producer, consumer, or client: a connection
    of somebody outside, by TCP. `broker_id` is -1 unless a broker.
    """

    node: str
    node_kind: str
    broker_id: int
    settings: tuple[tuple[str, str], ...] = ()


@kind("world", en="{node} left the picture", zh="{node} 离开")
class NodeRemoved(Event):
    node: str


@kind("world", en="{broker} hangs up on {node}: {why}", zh="{broker} 断开 {node} 的连接：{why}")
class ClientRefused(Event):
    """A client sent what cannot be read or answered; the connection is closed."""

    node: str
    broker: str
    why: str


@kind(
    "world",
    en="{node} is {client_id}, {software_name} {software_version}",
    zh="{node} 是 {client_id}，{software_name} {software_version}",
)
class ClientIdentified(Event):
    """What a connection says of itself: `client_id` in each request, its software in ApiVersions (KIP-511)."""

    node: str
    client_id: str
    software_name: str
    software_version: str


@kind("world", en="Broker {broker} is starting", zh="代理 {broker} 正在启动")
class BrokerStarting(Event):
    broker: str
    clean_shutdown: bool


@kind(
    "world", en="Broker {broker} is up, broker epoch {broker_epoch}", zh="代理 {broker} 已启动，代理纪元 {broker_epoch}"
)
class BrokerStarted(Event):
    broker: str
    broker_epoch: int


@kind("world", en="Broker {broker} went down: {how}", zh="代理 {broker} 停止：{how}")
class BrokerStopped(Event):
    """`how`: kill (SIGKILL), stop (clean), power loss, failure (its log directory cannot be used), or halt (it ended
    its process by itself, without cleaning up)."""

    broker: str
    how: str


@kind("world", en="Broker {broker} begins to exit: {why}", zh="代理 {broker} 开始退出：{why}")
class BrokerExiting(Event):
    """It has met what it would rather stop than do. Its connections are closed; that its process ends is another event,
    which may never come.
    """

    broker: str
    why: str


@kind("world", en="Broker {broker} is frozen: it answers nobody", zh="代理 {broker} 被冻结，不再应答")
class BrokerFrozen(Event):
    broker: str


@kind("world", en="Broker {broker} runs again", zh="代理 {broker} 恢复运行")
class BrokerThawed(Event):
    broker: str


@kind("world", en="{client} is frozen: it asks nobody", zh="{client} 被冻结，不再发出请求")
class ClientFrozen(Event):
    client: str


@kind("world", en="{client} runs again", zh="{client} 恢复运行")
class ClientThawed(Event):
    client: str


@kind("world", en="The link {a} to {b} is cut", zh="{a} 与 {b} 之间的链路被切断")
class LinkCut(Event):
    a: str
    b: str


@kind(
    "world",
    en="Nothing passes from {source} to {destination}; the other way works",
    zh="{source} 到 {destination} 方向被切断，反方向正常",
)
class LinkCutOneWay(Event):
    """Until the link is restored."""

    source: str
    destination: str


@kind("world", en="The link {a} to {b} works again", zh="{a} 与 {b} 之间的链路恢复")
class LinkRestored(Event):
    a: str
    b: str


@kind(
    "world",
    en="From {source} to {destination}: {latency_us} us more, {loss_percent} % lost, {reorder_percent} % overtaken",
    zh="{source} 到 {destination}：增加 {latency_us} 微秒，丢失 {loss_percent}%，乱序 {reorder_percent}%",
)
class LinkQualityChanged(Event):
    """One direction of a link. All zero: it is as good as new."""

    source: str
    destination: str
    latency_us: int
    loss_percent: int
    reorder_percent: int


@kind(
    "world",
    en="The disk of {broker} takes {latency_us} us more for each append",
    zh="代理 {broker} 的磁盘每次追加多用 {latency_us} 微秒",
)
class DiskSlowed(Event):
    """0: it is as fast as ever."""

    broker: str
    latency_us: int


@kind("world", en="Alarm {invariant} on {subject}: {detail}", zh="告警 {invariant}（{subject}）：{detail_zh}")
class InvariantViolated(Event):
    """A guarantee does not hold any more.

    `explained_by`: what explains it (an unclean election, a lost tail, how the era truncates), empty when nothing does;
    `setting`: what gave it away, as one would write it down. `cause`: the event that probably led to it, 0 = unknown.
    `promise`: what a producer was told that turned out wrong, if it was. Texts for people are there in both languages.
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


@kind("world", en="Somebody outside {change} {path} in ZooKeeper", zh="外部对 ZooKeeper 节点 {path} 执行了 {change}")
class ForeignZnodeChanged(Event):
    """`change`: created, changed or deleted."""

    change: str
    path: str
    data: str
