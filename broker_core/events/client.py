"""The lab's own clients: producers and simple consumers."""

from broker_core.events.envelope import Event, kind

RECORDS_SHOWN = 20
"""Maximum number of the records read last in an event and in the view."""


@kind("client")
class RecordsGathered(Event):
    """A batch of the accumulator is not sent yet and keeps filling. `size` in bytes, before compression. `why` it
    waits:

    "linger" (until `due_us`, when linger.ms has passed, or it is full), "pause" (an earlier one of its partition failed
    and is retried at `due_us`), "in flight" (the maximum number of requests is in flight), "metadata" (no leader is
    known), "producer id", "transaction" (its partition is not in it yet), "numbers" (the outcome of an earlier batch is
    not known yet). `due_us` 0: no time is known.
    """

    client: str
    partition: str
    sequence: int
    count: int
    size: int
    why: str
    due_us: int = 0


@kind("client")
class RecordPartitioned(Event):
    """The producer's partitioner has chosen. `rule`: "key" (`key_hash` of it, over `partition_count` partitions), or of
    records without a key "new", "stays" (sticky), "next" (round robin), "random". `key` as text, None without one.
    """

    client: str
    partition: str
    key: str | None
    rule: str
    key_hash: int | None
    partition_count: int


@kind("client")
class ProducerBlocked(Event):
    """The application waits in send(). `why`: "memory" (buffer.memory is used up)."""

    client: str
    why: str


@kind("client")
class ProducerUnblocked(Event):
    """The application waits in send() no longer: what it waited for has come, or it gives up."""

    client: str


@kind("client")
class ProduceStarted(Event):
    """A batch is closed and sent. `request` counts the producer's requests: batches of one request share it. `leader`:
    its destination, empty when it expires unsent. `producer_id`, `producer_epoch`, `base_sequence`: -1 = the producer
    does not number its batches.
    """

    client: str
    partition: str
    sequence: int
    count: int
    acks: int
    size: int = 0
    leader: str = ""
    request: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1


@kind("client")
class ProduceRepeated(Event):
    """A batch is sent again, with the fields of its ProduceStarted; `attempt` 2 = the first retry."""

    client: str
    partition: str
    sequence: int
    count: int
    attempt: int
    leader: str
    request: int
    producer_id: int
    producer_epoch: int
    base_sequence: int


@kind("client")
class ProduceAcknowledged(Event):
    """`base_offset` -1 with acks=0: there is no response. `sequence` is that of ProduceStarted."""

    client: str
    partition: str
    sequence: int
    base_offset: int
    count: int
    acks: int
    latency_us: int


@kind("client")
class ProduceFailed(Event):
    """`sequence` 0: `send` refused a record that joined no batch; then `partition` may be a topic."""

    client: str
    partition: str
    sequence: int
    count: int
    acks: int
    error: str
    message: str


@kind("client")
class ProduceRetried(Event):
    """An attempt has failed; the batch waits in its queue until `due_us`, the end of the pause before the next one."""

    client: str
    partition: str
    sequence: int
    error: str
    due_us: int = 0


@kind("client")
class BatchSplit(Event):
    """A broker answered MESSAGE_TOO_LARGE to a batch of several records. They were not sent, but go again as `parts`:
    (sequence, count, size in bytes) of batches in its place. A single part: it could not be made smaller.
    """

    client: str
    partition: str
    sequence: int
    count: int
    size: int
    parts: tuple[tuple[int, int, int], ...]


@kind("client")
class ProducerStreamChanged(Event):
    """`rate` in records a second; 0 = the stream stopped. `is_topic`: `partition` is a topic, a partitioner chooses."""

    client: str
    partition: str
    rate: int
    is_topic: bool = False


@kind("client")
class RecordsConsumed(Event):
    """`records`: (offset, timestamp, key, value); keys and values as text, null as None, long ones cut at 200
    characters.
    """

    client: str
    partition: str
    position: int
    high_watermark: int
    records: tuple[tuple[int, int, str | None, str | None], ...]


@kind("client")
class ConsumerPositionReset(Event):
    client: str
    partition: str
    from_offset: int
    to_offset: int
    why: str


@kind("client")
class ReadReplicaNamed(Event):
    """A consumer fetches a partition from `replica`, a node, because `leader` named it in `leader_epoch` (KIP-392).
    After `due_us` it asks the leader again.
    """

    client: str
    partition: str
    replica: str
    leader: str
    leader_epoch: int
    due_us: int


@kind("client")
class ReadReplicaCleared(Event):
    """A consumer fetches a partition from the leader again."""

    client: str
    partition: str
    replica: str
    why: str


@kind("client")
class AcknowledgedRecordsLost(Event):
    """The partition's leader does not hold records that were acknowledged.

    `why`: "election" (a new leader lacks them), "restart" (the leader that acknowledged them leads again without them),
    or "deposed leader" (acknowledged by an earlier leader after `leader` had taken over). `leader`, by node, leads in
    `leader_epoch`; `acknowledged_by` sent the first of these responses, with the event `acknowledged_seq`. `acks` of
    the strongest of them; -1 = all. `committed`: how many of the records were committed, which violates I-COMMIT too.
    """

    partition: str
    first_offset: int
    count: int
    leader: str
    leader_epoch: int
    acknowledged_by: str
    acknowledged_seq: int
    acks: int = 1
    why: str = "election"
    committed: int = 0
