"""Idempotent and transactional producers: what coordinators decide, what partitions hold, what the producer knows."""

from broker_core.events.envelope import Event, kind


@kind(
    "transaction",
    en="{broker} may give out producer ids {first} to {last}",
    zh="{broker} 可分配生产者 ID {first} 至 {last}",
)
class ProducerIdsAllocated(Event):
    """A block of ids out of the znode `/latest_producer_id_block`."""

    broker: str
    first: int
    last: int


@kind(
    "transaction",
    en="{broker} reads {partition}, and answers for its transactional ids when it has",
    zh="{broker} 正在读取 {partition}，读完后才为其中的事务 ID 应答",
)
class TransactionsLoadStarted(Event):
    """The broker leads the partition. Until TransactionsLoaded its transactional ids answer
    COORDINATOR_LOAD_IN_PROGRESS.
    """

    broker: str
    partition: str
    leader_epoch: int


@kind(
    "transaction",
    en="{broker} coordinates {partition}: {count} transactional ids read",
    zh="{broker} 成为 {partition} 的事务协调者：读取了 {count} 个事务 ID",
)
class TransactionsLoaded(Event):
    """The coordinator has replayed its partition of `__transaction_state`; what it found follows as events."""

    broker: str
    partition: str
    count: int
    leader_epoch: int = 0


@kind(
    "transaction",
    en="{broker} no longer coordinates {partition}",
    zh="{broker} 不再是 {partition} 的事务协调者",
)
class TransactionsUnloaded(Event):
    """`transactional_ids`: those that it forgets with the partition."""

    broker: str
    partition: str
    transactional_ids: tuple[str, ...]


@kind(
    "transaction",
    en="Transaction {transactional_id}: {from_state} to {to_state}, epoch {producer_epoch}, {why}",
    zh="事务 {transactional_id}：{from_state} 变为 {to_state}，纪元 {producer_epoch}，{why}",
)
class TransactionTransitioned(Event):
    """The step is committed in the coordinator's log. `from_state` empty: the coordinator has not known the id before.
    To `Dead`: it forgets it. `start_ms`, `update_ms`: calendar time in ms, -1 = none.
    """

    broker: str
    transactional_id: str
    log_partition: str
    from_state: str
    to_state: str
    producer_id: int
    producer_epoch: int
    last_producer_epoch: int
    previous_producer_id: int
    timeout_ms: int
    partitions: tuple[str, ...]
    start_ms: int
    update_ms: int
    why: str


@kind(
    "transaction",
    en="{replica}: producer {producer_id} epoch {producer_epoch}, sequence {first_sequence} to {last_sequence}",
    zh="{replica}：生产者 {producer_id} 纪元 {producer_epoch}，序列号 {first_sequence} 至 {last_sequence}",
)
class ProducerBatchAppended(Event):
    """What a log notes of a batch whose producer has an id; it follows the batch's own BatchAppended."""

    replica: str
    producer_id: int
    producer_epoch: int
    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    is_transactional: bool


@kind(
    "transaction",
    en="{replica}: {result} of producer {producer_id} at {offset}",
    zh="{replica}：生产者 {producer_id} 在 {offset} 处的 {result}",
)
class TransactionMarkerAppended(Event):
    """`result`: COMMIT or ABORT. `first_offset`: where the transaction began here; -1 = it has written nothing."""

    replica: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    offset: int
    result: str
    first_offset: int


@kind(
    "transaction",
    en="{replica}: the first unstable offset goes from {from_offset} to {to_offset}",
    zh="{replica}：首个不稳定位移由 {from_offset} 变为 {to_offset}",
)
class FirstUnstableOffsetChanged(Event):
    """-1 = none. The last stable offset is the smaller one of this and the high watermark."""

    replica: str
    from_offset: int
    to_offset: int


@kind(
    "transaction",
    en="{replica}: producers {producer_ids} have not written for too long and are forgotten",
    zh="{replica}：生产者 {producer_ids} 长时间未写入，已被遗忘",
)
class ProducersExpired(Event):
    replica: str
    producer_ids: tuple[int, ...]


@kind("transaction", en="{client}: {state}, {why}", zh="{client}：{state}，{why}")
class ProducerStateChanged(Event):
    """A producer's own side. `state`: initializing, ready, in transaction, committing, aborting, abortable error,
    fatal error. `producer_id`, `producer_epoch` -1 = none yet.
    """

    client: str
    state: str
    transactional_id: str
    producer_id: int
    producer_epoch: int
    why: str
