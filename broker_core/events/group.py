"""Consumer groups: what their coordinator decides, and what members learn."""

from broker_core.events.envelope import Event, kind


@kind("group")
class GroupsLoadStarted(Event):
    """The broker leads the partition. Until GroupsLoaded its groups answer COORDINATOR_LOAD_IN_PROGRESS."""

    broker: str
    partition: str
    leader_epoch: int


@kind("group")
class GroupsLoaded(Event):
    """The coordinator has replayed its partition of `__consumer_offsets`; what it found follows as events."""

    broker: str
    partition: str
    group_count: int
    offset_count: int
    leader_epoch: int = 0


@kind("group")
class GroupsUnloaded(Event):
    """`groups`: those that it forgets with the partition."""

    broker: str
    partition: str
    groups: tuple[str, ...]


@kind("group")
class GroupTransitioned(Event):
    """`from_state` empty: the coordinator has not known the group before. To `Dead`: it forgets it. `timestamp_ms`:
    since when it is in that state, -1 = not known. `due_us`: until when the state waits for members, 0 = it does not.
    """

    broker: str
    group: str
    partition: str
    from_state: str
    to_state: str
    generation_id: int
    protocol: str
    leader: str
    why: str
    protocol_type: str = ""
    timestamp_ms: int = -1
    due_us: int = 0


@kind("group")
class GroupMemberAdded(Event):
    """`protocols`: (assignor, the member's metadata for it in base64), the preferred one first. `instance`: of a static
    member; empty of others, and of one whose `group.instance.id` has no letters: `is_nameless`.
    """

    broker: str
    group: str
    member: str
    client: str
    instance: str
    client_host: str = ""
    protocol_type: str = ""
    rebalance_timeout_ms: int = 0
    session_timeout_ms: int = 0
    protocols: tuple[tuple[str, str], ...] = ()
    is_nameless: bool = False


@kind("group")
class GroupMemberUpdated(Event):
    """A member has joined again with other timeouts, topics or assignors."""

    broker: str
    group: str
    member: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[tuple[str, str], ...]


@kind("group")
class GroupMemberReplaced(Event):
    """A static member restarted (KIP-345): it inherits the assignment."""

    broker: str
    group: str
    old_member: str
    member: str
    client: str
    instance: str


@kind("group")
class GroupMemberRemoved(Event):
    broker: str
    group: str
    member: str
    why: str


@kind("group")
class GroupAssigned(Event):
    """`assignments`: (member, its topic-partitions); `data`: what each of them is given, in base64."""

    broker: str
    group: str
    generation_id: int
    assignments: tuple[tuple[str, tuple[str, ...]], ...]
    data: tuple[str, ...] = ()


@kind("group")
class OffsetCommitAccepted(Event):
    """The coordinator writes a commit; `OffsetCommitted` follows for each partition once it is replicated. `member`
    empty and `generation_id` -1: of a client that is not a member. `offsets`: (topic-partition, offset).
    """

    broker: str
    group: str
    member: str
    generation_id: int
    offsets: tuple[tuple[str, int], ...]


@kind("group")
class OffsetCommitted(Event):
    """`offset` is that of the next record to read. `expire_timestamp_ms` -1: it expires by the broker's settings."""

    broker: str
    group: str
    partition: str
    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp_ms: int = -1
    expire_timestamp_ms: int = -1


@kind("group")
class OffsetRemoved(Event):
    broker: str
    group: str
    partition: str
    why: str


@kind("group")
class PipelineStageChanged(Event):
    """A pipeline proceeds to the next step of its cycle. `state`: reading, committing, writing, sending offsets,
    ending, aborting. `in_hand`: records read and not written and committed; `handled`: those of the cycle that is
    complete. `rewinds`: it goes back to the committed offsets, for the reason `why`.
    """

    client: str
    state: str
    in_hand: int
    why: str = ""
    handled: int = 0
    rewinds: bool = False


@kind("group")
class ConsumerStateChanged(Event):
    """A member's own side. `state`: finding the coordinator, joining, syncing, stable, closing, failed."""

    client: str
    state: str
    member_id: str
    generation_id: int
    why: str


@kind("group")
class ConsumerAssigned(Event):
    """`revoked`: what it had to give up."""

    client: str
    partitions: tuple[str, ...]
    revoked: tuple[str, ...]


@kind("group")
class TransactionalOffsetPending(Event):
    broker: str
    group: str
    producer_id: int
    partition: str
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int


@kind("group")
class TransactionalOffsetsDecided(Event):
    """`result`: COMMIT or ABORT. What counts from now on has been stated as OffsetCommitted."""

    broker: str
    group: str
    producer_id: int
    result: str


@kind("group")
class AssignorDefined(Event):
    """A learner has written an assignor of his own. Members that run keep what they were started with."""

    assignor: str
    rules: str


@kind("group")
class AssignmentPlanned(Event):
    """The leader of a group has applied a custom assignor. Kafka does not validate such a plan: `twice` are partitions
    assigned to several members, `nobody` those assigned to none, `strangers` names that are not members.
    """

    client: str
    group: str
    assignor: str
    generation_id: int
    twice: tuple[str, ...]
    nobody: tuple[str, ...]
    strangers: tuple[str, ...]
