"""Consumer groups: what their coordinator decides, and what members learn."""

from broker_core.events.envelope import Event, kind


@kind(
    "group",
    en="{broker} coordinates {partition}: {group_count} groups, {offset_count} offsets read",
    zh="{broker} 成为 {partition} 的协调者：读取了 {group_count} 个组、{offset_count} 个位移",
)
class GroupsLoaded(Event):
    """The coordinator has replayed its partition of `__consumer_offsets`; what it found follows as events."""

    broker: str
    partition: str
    group_count: int
    offset_count: int


@kind("group", en="{broker} no longer coordinates {partition}", zh="{broker} 不再是 {partition} 的协调者")
class GroupsUnloaded(Event):
    """`groups`: those that it forgets with the partition."""

    broker: str
    partition: str
    groups: tuple[str, ...]


@kind(
    "group",
    en="Group {group}: {from_state} to {to_state}, generation {generation_id}, {why}",
    zh="组 {group}：{from_state} 变为 {to_state}，第 {generation_id} 代，{why}",
)
class GroupTransitioned(Event):
    """`from_state` empty: the coordinator has not known the group before. To `Dead`: it forgets it."""

    broker: str
    group: str
    partition: str
    from_state: str
    to_state: str
    generation_id: int
    protocol: str
    leader: str
    why: str


@kind("group", en="Group {group}: {member} joined", zh="组 {group}：{member} 加入")
class GroupMemberAdded(Event):
    broker: str
    group: str
    member: str
    client: str
    instance: str


@kind("group", en="Group {group}: {member} is gone, {why}", zh="组 {group}：{member} 离开，{why}")
class GroupMemberRemoved(Event):
    broker: str
    group: str
    member: str
    why: str


@kind(
    "group", en="Group {group}: generation {generation_id} is assigned", zh="组 {group}：第 {generation_id} 代完成分配"
)
class GroupAssigned(Event):
    """`assignments`: (member, its topic-partitions)."""

    broker: str
    group: str
    generation_id: int
    assignments: tuple[tuple[str, tuple[str, ...]], ...]


@kind("group", en="Group {group} committed {partition} at {offset}", zh="组 {group} 提交 {partition} 的位移 {offset}")
class OffsetCommitted(Event):
    broker: str
    group: str
    partition: str
    offset: int


@kind(
    "group",
    en="Group {group}: the offset of {partition} is gone, {why}",
    zh="组 {group}：{partition} 的位移被移除，{why}",
)
class OffsetRemoved(Event):
    broker: str
    group: str
    partition: str
    why: str


@kind("group", en="{client}: {state}, {why}", zh="{client}：{state}，{why}")
class ConsumerStateChanged(Event):
    """A member's own side. `state`: finding the coordinator, joining, syncing, stable, closing, failed."""

    client: str
    state: str
    member_id: str
    generation_id: int
    why: str


@kind("group", en="{client} owns {partitions}", zh="{client} 拥有 {partitions}")
class ConsumerAssigned(Event):
    """`revoked`: what it had to give up."""

    client: str
    partitions: tuple[str, ...]
    revoked: tuple[str, ...]
