"""Idempotent and transactional producers: what coordinators decide, what partitions hold, what the producer knows."""

from broker_core.events.envelope import Event, kind


@kind("transaction")
class ProducerIdsAllocated(Event):
    """A block of ids out of the znode `/latest_producer_id_block`."""

    broker: str
    first: int
    last: int


@kind("transaction")
class TransactionsLoadStarted(Event):
    """The broker leads the partition. Until TransactionsLoaded its transactional ids answer
    COORDINATOR_LOAD_IN_PROGRESS.
    """

    broker: str
    partition: str
    leader_epoch: int


@kind("transaction")
class TransactionsLoaded(Event):
    """The coordinator has replayed its partition of `__transaction_state`; what it found follows as events."""

    broker: str
    partition: str
    count: int
    leader_epoch: int = 0


@kind("transaction")
class TransactionsUnloaded(Event):
    """`transactional_ids`: those that it forgets with the partition."""

    broker: str
    partition: str
    transactional_ids: tuple[str, ...]


@kind("transaction")
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


@kind("transaction")
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


@kind("transaction")
class TransactionMarkerAppended(Event):
    """`result`: COMMIT or ABORT. `first_offset`: where the transaction began here; -1 = it has written nothing."""

    replica: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    offset: int
    result: str
    first_offset: int


@kind("transaction")
class FirstUnstableOffsetChanged(Event):
    """-1 = none. The last stable offset is the smaller one of this and the high watermark."""

    replica: str
    from_offset: int
    to_offset: int


@kind("transaction")
class ProducersExpired(Event):
    replica: str
    producer_ids: tuple[int, ...]


@kind("transaction")
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
