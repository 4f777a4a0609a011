"""The shape of the view. Folds write it; keyframes, snapshots and the page hold it as JSON.

Every object is total=False, so that a change may name some of the fields; the fold that adds one sets all of them.
Keys of dicts are text, as in JSON: numbers too.
"""

from typing import Any, TypeAlias, TypedDict

Numbers: TypeAlias = list[int]
#: Values in the order given in the comment on the field.
Entry: TypeAlias = list[Any]


class Run(TypedDict, total=False):
    name: str
    seed: int
    era: str
    start_wall_ms: int


class ProducerBatch(TypedDict, total=False):
    """A batch of the accumulator, or one that was sent and has no response yet."""

    partition: str
    count: int
    size: int
    retries: int
    since_us: int
    error: str
    #: "sent", or why it waits.
    state: str
    due_us: int
    leader: str
    request: int
    producer_epoch: int
    base_sequence: int


class ProducerTransaction(TypedDict, total=False):
    """A producer's own view of its transaction."""

    state: str
    transactional_id: str
    producer_id: int
    producer_epoch: int
    why: str


class ConsumerMember(TypedDict, total=False):
    """A consumer's own view of its membership."""

    state: str
    member_id: str
    generation_id: int
    why: str


class Failure(TypedDict, total=False):
    """The file that keeps a broker from starting."""

    file: str
    position: int
    rule: str
    what: str


class PipelineStage(TypedDict, total=False):
    """The step of a pipeline's application; see the event."""

    state: str
    why: str
    in_hand: int
    handled: int
    rewinds: int


class ZooKeeperRequests(TypedDict, total=False):
    """The requests of one instant, as in the event."""

    at_us: int
    count: int
    #: operation, path, result
    requests: list[Entry]


class Node(TypedDict, total=False):
    """A broker, ZooKeeper, the shell, a producer, a consumer, or a client over TCP."""

    kind: str
    broker_id: int
    state: str
    since_us: int
    #: The number of requests that it has sent to ZooKeeper, and the last ones.
    zk_requests: int
    zk_last: ZooKeeperRequests | None
    settings: dict[str, str]
    # of a broker
    broker_epoch: int
    session: int | None
    live_brokers: list[int]
    failure: Failure | None
    disk_latency_us: int
    fsync_latency_us: int
    # of a producer; of a consumer `partition` too
    partition: str
    batches: dict[str, ProducerBatch]
    #: the last choices of the partitioner: partition, key, rule, hash of the key, number of partitions
    choices: list[Entry]
    #: partition -> producer epoch and next sequence number, -1 where batches have none
    sequences: dict[str, Numbers]
    blocked: str
    rate: int
    sent: int
    acknowledged: int
    failed: int
    retried: int
    last_offset: int
    last_error: str
    last_latency_us: int
    transaction: ProducerTransaction
    # of a consumer
    position: int
    positions: dict[str, int]
    high_watermark: int
    last_reset: str
    #: Partition -> the preferred read replica that its leader named.
    read_replicas: dict[str, str]
    #: the last records read: offset, timestamp, key, value
    records: list[Entry]
    member: ConsumerMember
    #: of a pipeline's consumer
    pipeline: PipelineStage
    assignment: list[str]


# "from" is a keyword of Python, hence the functional syntax.
Link = TypedDict("Link", {"state": str, "since_us": int, "from": str}, total=False)
Truncation = TypedDict("Truncation", {"from": int, "to": int, "at_us": int, "why": str}, total=False)


class LinkFaults(TypedDict, total=False):
    latency_us: int
    loss_percent: int
    reorder_percent: int


class Topic(TypedDict, total=False):
    topic_id: str
    partitions: int
    replication_factor: int


class Partition(TypedDict, total=False):
    """A partition as ZooKeeper has it. `leader` -1: none."""

    topic: str
    partition: int
    replicas: list[int]
    leader: int
    leader_epoch: int
    isr: list[int]
    controller_epoch: int
    partition_epoch: int


class RemoteReplica(TypedDict, total=False):
    log_end_offset: int
    last_caught_up_us: int


class CleanedSegment(TypedDict, total=False):
    segment: int
    bytes: int
    #: base offset and bytes of each
    sources: list[Numbers]


Cleaning = TypedDict(
    "Cleaning",
    {
        "at_us": int,
        "from": int,
        "to": int,
        "groups": list[CleanedSegment],
        "bytes": Numbers,
        "records": Numbers,
        "counts": dict[str, int],
        "fates": list[Entry],
        "delete_horizon_ms": int,
    },
    total=False,
)
"""The last pass of the cleaner; `bytes` and `records` before and after it."""


class Replica(TypedDict, total=False):
    partition: str
    node: str
    broker_id: int
    role: str
    leader: int
    leader_epoch: int
    leader_epoch_start_offset: int
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    first_unstable_offset: int
    #: the last markers of transactions: offset, result, producer id, producer epoch, first offset
    markers: list[Entry]
    isr: list[int]
    pending_isr: list[int] | None
    partition_epoch: int
    #: follower -> what the leader knows of it
    remotes: dict[str, RemoteReplica]
    #: leader epoch, start offset
    epochs: list[Numbers]
    #: base offset of one of the last batches -> last offset, leader epoch, segment, position, size, CRC
    tail: dict[str, Numbers]
    #: base offset -> bytes of the .log, entries of the .index and of the .timeindex
    segments: dict[str, Numbers]
    #: the same, as a power loss would leave it
    synced: dict[str, Numbers]
    cut: Truncation | None
    cleaned: Cleaning | None
    flushed: int
    #: name -> bytes, when it leaves the disk
    deleted_files: dict[str, Numbers]
    #: base offsets of the segments that recovery has read
    checked: list[int]
    #: file, repair, position, length, rule, digest
    repairs: list[Entry]


class DeletedLog(TypedDict, total=False):
    """`files`: name -> bytes."""

    node: str
    partition: str
    files: dict[str, int]
    due_us: int


class Rpc(TypedDict, total=False):
    """A message in flight. `held`: why it is not delivered when it is due; empty if it will be."""

    api: str
    kind: str
    source: str
    destination: str
    sent_us: int
    due_us: int
    correlation: int
    label: str
    fields: tuple[tuple[str, str | int], ...]
    held: str


class ParkedRequest(TypedDict, total=False):
    broker: str
    api: str
    client: str
    partitions: tuple[str, ...]
    needs: str
    since_us: int
    deadline_us: int


class Znode(TypedDict, total=False):
    data: str
    previous: str | None
    version: int
    ephemeral: str
    session: int | None
    czxid: int
    zxid: int
    at_us: int


class Controller(TypedDict, total=False):
    """`broker` -1: none."""

    broker: int
    controller_epoch: int


class ControllerEvent(TypedDict, total=False):
    seq: int
    at_us: int
    broker: int
    name: str
    about: str


class GroupMember(TypedDict, total=False):
    client: str
    instance: str
    assignment: list[str]
    topics: list[str]


class Group(TypedDict, total=False):
    group: str
    coordinator: str
    partition: str
    state: str
    since_us: int
    generation_id: int
    protocol: str
    leader: str
    why: str
    due_us: int
    members: dict[str, GroupMember]
    offsets: dict[str, int]
    #: partition -> offset, leader epoch, metadata, commit timestamp; None where the offset was removed
    commits: dict[str, Entry | None]
    #: partition -> the client that had it before
    previous: dict[str, str]
    #: producer id -> partition -> offset of a transaction that is not decided
    pending: dict[str, dict[str, int]]


class Transaction(TypedDict, total=False):
    transactional_id: str
    coordinator: str
    partition: str
    state: str
    since_us: int
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_ms: int
    partitions: list[str]
    why: str


class Checkpoint(TypedDict, total=False):
    """A checkpoint file. `entries`: topic-partition, offset. `rule`: what was broken in a file that was reset."""

    at_us: int
    entries: list[Entry]
    rule: str


class Alarm(TypedDict, total=False):
    """An invariant that does not hold any more, as in the event."""

    invariant: str
    subject: str
    detail: str
    explained_by: str
    detail_zh: str
    explained_by_zh: str
    cause: int
    promise: str
    promise_zh: str
    setting: str
    at_us: int


class Loss(TypedDict, total=False):
    """Acknowledged records that the leader does not hold, as in the event."""

    partition: str
    first_offset: int
    count: int
    leader: str
    leader_epoch: int
    acknowledged_by: str
    acknowledged_seq: int
    acks: int
    why: str
    committed: int
    at_us: int


class Command(TypedDict, total=False):
    line: str
    source: str
    state: str
    exit_code: int | None
    output: list[str]
    at_us: int


class View(TypedDict):
    run: Run
    nodes: dict[str, Node]
    #: A|B, in alphabetical order
    links: dict[str, Link]
    #: SOURCE>DESTINATION
    link_faults: dict[str, LinkFaults]
    topics: dict[str, Topic]
    partitions: dict[str, Partition]
    #: PARTITION@NODE
    replicas: dict[str, Replica]
    rpcs: dict[str, Rpc]
    #: by the rpc of the request
    parked: dict[str, ParkedRequest]
    #: by path
    zk: dict[str, Znode]
    #: path -> owner -> what it watches: children, data
    watches: dict[str, dict[str, list[str]]]
    controller: Controller
    controller_partitions: dict[str, str]
    controller_replicas: dict[str, str]
    controller_events: list[ControllerEvent]
    #: name of an assignor that was defined in the lab -> its rules
    assignors: dict[str, str]
    #: GROUP@BROKER
    groups: dict[str, Group]
    #: TRANSACTIONAL_ID@BROKER
    transactions: dict[str, Transaction]
    #: broker -> file
    checkpoints: dict[str, dict[str, Checkpoint]]
    #: by folder
    deleted_logs: dict[str, DeletedLog]
    #: by the event's sequence number
    alarms: dict[str, Alarm]
    losses: dict[str, Loss]
    #: by the command's number
    console: dict[str, Command]
