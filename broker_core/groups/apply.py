"""The only code that changes groups, by events."""

from base64 import b64decode

from broker_core.events.group import (
    GroupAssigned,
    GroupMemberAdded,
    GroupMemberRemoved,
    GroupMemberReplaced,
    GroupMemberUpdated,
    GroupsLoaded,
    GroupsLoadStarted,
    GroupsUnloaded,
    GroupTransitioned,
    OffsetCommitted,
    OffsetRemoved,
    TransactionalOffsetPending,
    TransactionalOffsetsDecided,
)
from broker_core.groups.classic_group import ClassicGroup, ClassicGroupMember
from broker_core.groups.facts import Groups
from broker_core.groups.offsets import CommittedOffset
from broker_core.groups.states import GroupState
from broker_core.sim.kernel import Subjects, applies


def _groups(subjects: Subjects, broker: str) -> Groups:
    groups: Groups = subjects[f"groups@{broker}"]
    return groups


def _group(subjects: Subjects, broker: str, group: str) -> ClassicGroup:
    return _groups(subjects, broker).known[group]


def _to_bytes(protocols: tuple[tuple[str, str], ...]) -> tuple[tuple[str, bytes], ...]:
    return tuple((name, b64decode(metadata)) for name, metadata in protocols)


@applies(GroupsLoadStarted)
def _load_started(subjects: Subjects, event: GroupsLoadStarted, at_us: int) -> None:
    _groups(subjects, event.broker).loading[event.partition] = event.leader_epoch


@applies(GroupsLoaded)
def _loaded(subjects: Subjects, event: GroupsLoaded, at_us: int) -> None:
    groups = _groups(subjects, event.broker)
    groups.loading.pop(event.partition, None)
    groups.owned[event.partition] = event.leader_epoch


@applies(GroupsUnloaded)
def _unloaded(subjects: Subjects, event: GroupsUnloaded, at_us: int) -> None:
    groups = _groups(subjects, event.broker)
    groups.loading.pop(event.partition, None)
    groups.owned.pop(event.partition, None)
    for name in event.groups:
        del groups.known[name]


@applies(GroupTransitioned)
def _transitioned(subjects: Subjects, event: GroupTransitioned, at_us: int) -> None:
    groups = _groups(subjects, event.broker)
    known = groups.known
    group = known.get(event.group)
    if group is None:
        group = known[event.group] = ClassicGroup(event.group, event.partition, groups.host.era.groups)
    group.state = GroupState(event.to_state)
    group.generation_id = event.generation_id
    group.protocol_type = event.protocol_type or None
    group.protocol_name = event.protocol or None
    group.leader = event.leader or None
    group.current_state_timestamp = None if event.timestamp_ms < 0 else event.timestamp_ms
    if group.state is GroupState.DEAD:
        del known[event.group]


@applies(GroupMemberAdded)
def _member_added(subjects: Subjects, event: GroupMemberAdded, at_us: int) -> None:
    group = _group(subjects, event.broker, event.group)
    if not group.members:
        group.protocol_type = event.protocol_type or None
    group.add(
        ClassicGroupMember(
            event.member,
            event.instance if event.instance or event.is_nameless else None,
            event.client,
            event.client_host,
            event.rebalance_timeout_ms,
            event.session_timeout_ms,
            _to_bytes(event.protocols),
        )
    )


@applies(GroupMemberUpdated)
def _member_updated(subjects: Subjects, event: GroupMemberUpdated, at_us: int) -> None:
    member = _group(subjects, event.broker, event.group).members[event.member]
    member.rebalance_timeout_ms = event.rebalance_timeout_ms
    member.session_timeout_ms = event.session_timeout_ms
    member.protocols = _to_bytes(event.protocols)


@applies(GroupMemberReplaced)
def _member_replaced(subjects: Subjects, event: GroupMemberReplaced, at_us: int) -> None:
    group = _group(subjects, event.broker, event.group)
    group.replace_static(event.instance, event.old_member, event.member, event.client)


@applies(GroupMemberRemoved)
def _member_removed(subjects: Subjects, event: GroupMemberRemoved, at_us: int) -> None:
    _group(subjects, event.broker, event.group).remove(event.member)


@applies(GroupAssigned)
def _assigned(subjects: Subjects, event: GroupAssigned, at_us: int) -> None:
    members = _group(subjects, event.broker, event.group).members
    for (member_id, _), data in zip(event.assignments, event.data, strict=True):
        members[member_id].assignment = b64decode(data)


@applies(OffsetCommitted)
def _committed(subjects: Subjects, event: OffsetCommitted, at_us: int) -> None:
    group = _group(subjects, event.broker, event.group)
    group.offsets[event.partition] = CommittedOffset(
        event.offset, event.leader_epoch, event.metadata, event.commit_timestamp_ms, event.expire_timestamp_ms
    )


@applies(TransactionalOffsetPending)
def _pending(subjects: Subjects, event: TransactionalOffsetPending, at_us: int) -> None:
    group = _group(subjects, event.broker, event.group)
    committed = CommittedOffset(event.offset, event.leader_epoch, event.metadata, event.commit_timestamp_ms)
    group.pending_transactional.setdefault(event.producer_id, {})[event.partition] = committed


@applies(TransactionalOffsetsDecided)
def _decided(subjects: Subjects, event: TransactionalOffsetsDecided, at_us: int) -> None:
    _group(subjects, event.broker, event.group).pending_transactional.pop(event.producer_id, None)


@applies(OffsetRemoved)
def _offset_removed(subjects: Subjects, event: OffsetRemoved, at_us: int) -> None:
    group = _group(subjects, event.broker, event.group)
    group.offsets.pop(event.partition, None)
    for pending in group.pending_transactional.values():
        pending.pop(event.partition, None)
