"""Replication: watermarks, roles, what a leader believes of its followers, the ISR."""

from broker_core.events.envelope import Event, kind

Isr = tuple[int, ...]


@kind("replica", en="{replica} leads from epoch {leader_epoch}", zh="{replica} 自纪元 {leader_epoch} 起为首领")
class ReplicaBecameLeader(Event):
    """`remotes`: (broker id, log end offset, last caught-up time) of the other replicas."""

    replica: str
    leader_epoch: int
    leader_epoch_start_offset: int
    partition_epoch: int
    controller_epoch: int
    isr: Isr
    remotes: tuple[tuple[int, int, int], ...]


@kind(
    "replica",
    en="{replica} follows broker {leader} in epoch {leader_epoch}",
    zh="{replica} 在纪元 {leader_epoch} 跟随代理 {leader}",
)
class ReplicaBecameFollower(Event):
    replica: str
    leader: int
    leader_epoch: int
    partition_epoch: int
    controller_epoch: int


@kind("replica", en="{replica} is offline", zh="{replica} 离线")
class ReplicaWentOffline(Event):
    replica: str


@kind(
    "replica",
    en="{replica}: high watermark {from_offset} to {to_offset}",
    zh="{replica}：高水位 {from_offset} 升至 {to_offset}",
)
class HighWatermarkAdvanced(Event):
    replica: str
    from_offset: int
    to_offset: int


@kind(
    "replica",
    en="{replica}: high watermark back from {from_offset} to {to_offset}",
    zh="{replica}：高水位从 {from_offset} 退至 {to_offset}",
)
class HighWatermarkLowered(Event):
    replica: str
    from_offset: int
    to_offset: int


@kind(
    "replica",
    en="{replica} now believes that {follower} ends at {log_end_offset}",
    zh="{replica} 认为 {follower} 的日志末端为 {log_end_offset}",
)
class RemoteReplicaUpdated(Event):
    """The leader took note of a follower's fetch. `from_offset` -1 = it knew nothing before."""

    replica: str
    follower: str
    from_offset: int
    log_end_offset: int
    last_caught_up_us: int


@kind("replica", en="{replica} asks for the ISR {isr}", zh="{replica} 请求将 ISR 改为 {isr}")
class IsrChangeProposed(Event):
    """The leader asked for another ISR and has no answer yet (KIP-497)."""

    replica: str
    isr: Isr


@kind("replica", en="{replica}: ISR {from_isr} to {to_isr}", zh="{replica}：ISR 由 {from_isr} 变为 {to_isr}")
class IsrShrunk(Event):
    replica: str
    from_isr: Isr
    to_isr: Isr
    partition_epoch: int


@kind("replica", en="{replica}: ISR {from_isr} to {to_isr}", zh="{replica}：ISR 由 {from_isr} 变为 {to_isr}")
class IsrExpanded(Event):
    replica: str
    from_isr: Isr
    to_isr: Isr
    partition_epoch: int


@kind(
    "replica",
    en="{replica}: the ISR change was refused ({error}); the ISR stays {isr}",
    zh="{replica}：ISR 变更被拒绝（{error}），仍为 {isr}",
)
class IsrChangeRefused(Event):
    """`isr` is the committed ISR that holds again. `error` is Kafka's name of it."""

    replica: str
    isr: Isr
    error: str


@kind(
    "replica",
    en="{replica}: fetching from broker {leader} stopped, {why}",
    zh="{replica}：停止从代理 {leader} 拉取，{why}",
)
class FetcherFailed(Event):
    replica: str
    leader: int
    why: str
