"""The lab's own clients: producers and simple consumers."""

from broker_core.events.envelope import Event, kind


@kind(
    "client",
    en="{client}: {count} for {partition} wait in a batch, {size} B",
    zh="{client}：发往 {partition} 的 {count} 条在批次中等待，{size} 字节",
)
class RecordsGathered(Event):
    """A batch of the accumulator stays there and goes on filling. `size` in bytes, before compression; `why` it waits:
    "in flight" (as many requests as allowed are under way) or "metadata" (no leader is known).
    """

    client: str
    partition: str
    sequence: int
    count: int
    size: int
    why: str


@kind(
    "client",
    en="{client} sends {count} to {partition}, acks={acks}",
    zh="{client} 向 {partition} 发送 {count} 条，acks={acks}",
)
class ProduceStarted(Event):
    client: str
    partition: str
    sequence: int
    count: int
    acks: int
    size: int = 0


@kind(
    "client",
    en="{client}: {count} to {partition} acknowledged at {base_offset} after {latency_us} us",
    zh="{client}：发往 {partition} 的 {count} 条在 {base_offset} 得到确认，耗时 {latency_us} 微秒",
)
class ProduceAcknowledged(Event):
    """`base_offset` -1 with acks=0: nobody said. `sequence` is that of ProduceStarted."""

    client: str
    partition: str
    sequence: int
    base_offset: int
    count: int
    acks: int
    latency_us: int


@kind(
    "client",
    en="{client}: {count} to {partition} failed, {error}",
    zh="{client}：发往 {partition} 的 {count} 条失败，{error}",
)
class ProduceFailed(Event):
    client: str
    partition: str
    sequence: int
    count: int
    acks: int
    error: str
    message: str


@kind("client", en="{client}: retries {partition}, {error}", zh="{client}：重试 {partition}，{error}")
class ProduceRetried(Event):
    client: str
    partition: str
    sequence: int
    error: str


@kind(
    "client", en="{client} streams {rate} records/s to {partition}", zh="{client} 以每秒 {rate} 条持续写入 {partition}"
)
class ProducerStreamChanged(Event):
    """`rate` in records a second; 0 = the stream stopped."""

    client: str
    partition: str
    rate: int


@kind("client", en="{client} read {partition} up to {position}", zh="{client} 读取 {partition} 至 {position}")
class RecordsConsumed(Event):
    """`records`: (offset, timestamp, key, value); keys and values as text, null as None, long ones cut at 200
    characters.
    """

    client: str
    partition: str
    position: int
    high_watermark: int
    records: tuple[tuple[int, int, str | None, str | None], ...]


@kind(
    "client",
    en="{client}: position of {partition} reset from {from_offset} to {to_offset}, {why}",
    zh="{client}：{partition} 的位置由 {from_offset} 重置为 {to_offset}，{why}",
)
class ConsumerPositionReset(Event):
    client: str
    partition: str
    from_offset: int
    to_offset: int
    why: str


@kind(
    "client",
    en="{partition}: {count} records from {first_offset} on, acknowledged with acks=1, are lost: nobody promised more",
    zh="{partition}：自 {first_offset} 起有 {count} 条以 acks=1 确认的记录丢失，这并未违反承诺",
)
class AcknowledgedRecordsLost(Event):
    """A new leader does not hold records that an earlier one had acknowledged by itself. No invariant is broken.

    `leader` is the new one, by node; `acknowledged_by` the one that answered first, with the event `acknowledged_seq`.
    """

    partition: str
    first_offset: int
    count: int
    leader: str
    leader_epoch: int
    acknowledged_by: str
    acknowledged_seq: int
