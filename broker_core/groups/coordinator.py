"""The group coordinator of a broker (`kafka.coordinator.group.GroupCoordinator`), classic protocol.

It keeps the groups whose partition of `__consumer_offsets` this broker leads. What it must not forget it writes there;
an answer that depends on such a record waits until the record is committed. Groups come and go with the leadership:
becoming leader replays the log, resigning forgets.
"""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from broker_core.errors import Errors, KafkaError
from broker_core.events.envelope import Event
from broker_core.events.group import (
    GroupAssigned,
    GroupMemberAdded,
    GroupMemberRemoved,
    GroupsLoaded,
    GroupsUnloaded,
    GroupTransitioned,
    OffsetCommitted,
    OffsetRemoved,
)
from broker_core.groups.classic_group import ClassicGroup, GroupMember
from broker_core.groups.consumer_protocol import (
    PROTOCOL_TYPE,
    ProtocolError,
    decode_assignment,
    sorted_partitions,
    split_partition,
)
from broker_core.groups.offset_log import LoadedLog, replay
from broker_core.groups.offsets import (
    OFFSETS_TOPIC,
    CommittedOffset,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
    partition_for,
)
from broker_core.groups.states import CAN_REBALANCE, VALID_PREVIOUS_STATES, GroupState
from broker_core.log.unified_log import UnifiedLog
from broker_core.records.record_batch import build_batch
from broker_core.sim.kernel import Kernel, Message, Subjects, applies
from broker_core.wire.messages import (
    DescribedGroup,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
MEMBER_ID_REQUIRED_VERSION = 4
CLIENT_HOST = "/127.0.0.1"
TIMER_PREFIX = "groups."

_TRANSLATED = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_LEADER_OR_FOLLOWER: Errors.NOT_COORDINATOR,
    Errors.KAFKA_STORAGE_ERROR: Errors.NOT_COORDINATOR,
    Errors.MESSAGE_TOO_LARGE: Errors.INVALID_COMMIT_OFFSET_SIZE,
    Errors.RECORD_LIST_TOO_LARGE: Errors.INVALID_COMMIT_OFFSET_SIZE,
    Errors.INVALID_FETCH_SIZE: Errors.INVALID_COMMIT_OFFSET_SIZE,
}
_TRANSLATED_FOR_GROUP = {
    **_TRANSLATED,
    Errors.REQUEST_TIMED_OUT: Errors.REBALANCE_IN_PROGRESS,
    Errors.MESSAGE_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.RECORD_LIST_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.INVALID_FETCH_SIZE: Errors.UNKNOWN_SERVER_ERROR,
}


class GroupSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The broker's settings that act here; Kafka's names with `_` for `.`."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = 2_147_483_647
    group_initial_rebalance_delay_ms: int = 3_000
    offset_metadata_max_bytes: int = 4_096
    offsets_commit_timeout_ms: int = 5_000
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000


class Assignment(msgspec.Struct, frozen=True):
    """A write of a generation's assignment; its syncs wait for it."""

    group: str
    generation_id: int
    assignments: dict[str, bytes]


class StaticRejoin(msgspec.Struct, frozen=True):
    """A write of a static member's new id; its join waits for it."""

    group: str
    member_id: str
    old_member_id: str
    message: Message


class Commit(msgspec.Struct, frozen=True):
    """A write of offsets; the request waits for it. `refused`: what was not written, in the order of the request."""

    group: str
    message: Message
    offsets: dict[str, CommittedOffset]
    order: tuple[tuple[str, KafkaError], ...]


class EmptyGroup(msgspec.Struct, frozen=True):
    """A write that a group has no members any more; nobody waits."""

    group: str


Store = Assignment | StaticRejoin | Commit | EmptyGroup


class CoordinatorHost(Protocol):
    """What the coordinator needs of its broker."""

    kernel: Kernel
    name: str

    @property
    def wall_ms(self) -> int: ...

    @property
    def group_settings(self) -> GroupSettings: ...

    def append_to_group_log(self, partition: str, data: bytes, store: Store | None) -> KafkaError:
        """Appends a batch as leader. When it is committed (or can no longer be) `stored(store, error)` is called,
        unless the append fails at once: then this returns why.
        """

    def timer(self, delay_us: int, name: str, data: object = None) -> int: ...

    @property
    def offsets_partition_count(self) -> int:
        """How many partitions `__consumer_offsets` has, or would have."""

    def has_partition(self, partition: str) -> bool: ...


class GroupCoordinator:
    """See the module. `owned`: the partitions that it coordinates, with their leader epochs."""

    def __init__(self, host: CoordinatorHost) -> None:
        self.host = host
        self.groups: dict[str, ClassicGroup] = {}
        self.owned: dict[str, int] = {}
        self._is_cleaning = False

    # partitions come and go

    def on_election(self, partition: str, leader_epoch: int, log: UnifiedLog) -> None:
        """Leads a partition of `__consumer_offsets` from now on: replays its log."""
        if self.owned.get(partition) == leader_epoch:
            return
        if partition in self.owned:
            self.owned[partition] = leader_epoch
            return
        loaded = replay(log)
        self.owned[partition] = leader_epoch
        self._emit(
            GroupsLoaded(
                broker=self.host.name,
                partition=partition,
                group_count=len(loaded.names()),
                offset_count=sum(len(offsets) for offsets in loaded.offsets.values()),
            )
        )
        self._take_in(partition, loaded)
        if not self._is_cleaning:
            self._is_cleaning = True
            self._expire_later()

    def _take_in(self, partition: str, loaded: LoadedLog) -> None:
        for name in loaded.names():
            stored = loaded.groups.get(name)
            group = self.groups[name] = ClassicGroup(name, partition)
            state = GroupState.EMPTY
            if stored is not None:
                group.protocol_type = stored.protocol_type or None
                group.current_state_timestamp = (
                    None if stored.current_state_timestamp < 0 else stored.current_state_timestamp
                )
                state = GroupState.STABLE if stored.members else GroupState.EMPTY
            self._state(
                group,
                state,
                "read from its log",
                generation_id=0 if stored is None else stored.generation_id,
                protocol=None if stored is None else stored.protocol_name,
                known=False,
            )
            for row in () if stored is None else stored.members:
                protocols = ((stored.protocol_name or "", row.subscription),) if stored is not None else ()
                member = GroupMember(
                    row.member_id,
                    row.group_instance_id,
                    row.client_id,
                    row.client_host,
                    row.rebalance_timeout_ms,
                    row.session_timeout_ms,
                    protocols,
                )
                self._add(group, member)
                self._touch(group, member)
            if stored is not None:
                group.leader = stored.leader
                if stored.members:
                    self._assigned(group, {row.member_id: row.assignment for row in stored.members})
            for name_of_partition, committed in loaded.offsets.get(name, {}).items():
                self._committed(group, name_of_partition, committed)

    def on_resignation(self, partition: str) -> None:
        """Leads it no longer: forgets its groups, and says so to all who wait."""
        if self.owned.pop(partition, None) is None:
            return
        gone = [group for group in self.groups.values() if group.partition == partition]
        for group in gone:
            for member in list(group.members.values()):
                self._answer_join(member, JoinGroupResponse(Errors.NOT_COORDINATOR, member_id=member.member_id))
                self._answer_sync(member, SyncGroupResponse(Errors.NOT_COORDINATOR))
        self._emit(
            GroupsUnloaded(broker=self.host.name, partition=partition, groups=tuple(group.group_id for group in gone))
        )

    def partition_of(self, group_id: str) -> str:
        """The partition that keeps a group, whether it exists or not."""
        return f"{OFFSETS_TOPIC}-{partition_for(group_id, self.host.offsets_partition_count)}"

    def status(self, group_id: str, allows_empty_id: bool = False) -> KafkaError:
        """Why a request for a group is refused whatever it asks; NONE when it is not."""
        if not group_id and not allows_empty_id:
            return Errors.INVALID_GROUP_ID
        if self.partition_of(group_id) not in self.owned:
            return Errors.NOT_COORDINATOR
        return Errors.NONE

    # joining

    def join(self, message: Message, request: JoinGroupRequest) -> None:
        """JoinGroup: answered when all have joined, or at once when there is nothing to wait for."""
        settings = self.host.group_settings
        error = self.status(request.group_id)
        shortest, longest = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
        if error is Errors.NONE and not shortest <= request.session_timeout_ms <= longest:
            error = Errors.INVALID_SESSION_TIMEOUT
        group = self.groups.get(request.group_id)
        if error is Errors.NONE and group is None and request.member_id:
            error = Errors.UNKNOWN_MEMBER_ID
        if error is not Errors.NONE:
            self._respond_join(message, JoinGroupResponse(error, member_id=request.member_id))
            return
        if group is None:
            group = self._create(request.group_id)
        if not self._has_room(group, request.member_id):
            if request.member_id in group.members:
                self._remove(group, request.member_id, "group.max.size is reached")
            self._respond_join(message, JoinGroupResponse(Errors.GROUP_MAX_SIZE_REACHED))
        elif not group.supports(request.protocol_type, request.protocols):
            self._respond_join(
                message, JoinGroupResponse(Errors.INCONSISTENT_GROUP_PROTOCOL, member_id=request.member_id)
            )
        elif not request.member_id:
            self._join_new(group, message, request)
        else:
            self._join_known(group, message, request)
        if group.state is GroupState.PREPARING_REBALANCE:
            self._try_complete_join(group)

    def _create(self, group_id: str) -> ClassicGroup:
        group = self.groups[group_id] = ClassicGroup(group_id, self.partition_of(group_id))
        self._state(group, GroupState.EMPTY, "somebody speaks of it", known=False)
        return group

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        limit = self.host.group_settings.group_max_size
        if group.state is GroupState.PREPARING_REBALANCE:
            member = group.members.get(member_id)
            waiting = sum(1 for each in group.members.values() if each.joining is not None)
            return (member is not None and member.joining is not None) or waiting < limit
        if group.state in (GroupState.EMPTY, GroupState.DEAD):
            return True
        return member_id in group.members or len(group.members) < limit

    def _new_member_id(self, prefix: str) -> str:
        drawn = bytearray(self.host.kernel.streams["groups"].bytes(16))
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        text = drawn.hex()
        return f"{prefix}-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def _join_new(self, group: ClassicGroup, message: Message, request: JoinGroupRequest) -> None:
        instance = request.group_instance_id
        member_id = self._new_member_id(message.source if instance is None else instance)
        if instance is not None:
            old_id = group.static_members.get(instance)
            if old_id is None:
                self._add_and_rebalance(group, message, request, member_id)
            else:
                self._replace_static(group, message, request, old_id, member_id)
        elif request.version >= MEMBER_ID_REQUIRED_VERSION:
            due_us = self.host.kernel.now_us + request.session_timeout_ms * 1_000
            group.pending_members[member_id] = due_us
            self._timer(request.session_timeout_ms, "pending_expired", (group.group_id, member_id))
            self._respond_join(message, JoinGroupResponse(Errors.MEMBER_ID_REQUIRED, member_id=member_id))
        else:
            self._add_and_rebalance(group, message, request, member_id)

    def _join_known(self, group: ClassicGroup, message: Message, request: JoinGroupRequest) -> None:
        member_id = request.member_id
        if group.pending_members.pop(member_id, None) is not None:
            self._add_and_rebalance(group, message, request, member_id)
            return
        error = self._member_error(group, member_id, request.group_instance_id)
        if error is not Errors.NONE:
            self._respond_join(message, JoinGroupResponse(error, member_id=member_id))
            return
        member = group.members[member_id]
        is_same = member.protocols == request.protocols
        if group.state is GroupState.PREPARING_REBALANCE:
            self._update_and_rebalance(group, member, message, request, "a member rejoins")
        elif group.state is GroupState.COMPLETING_REBALANCE:
            if is_same:
                members = group.member_metadata() if group.is_leader(member_id) else ()
                self._respond_join(message, self._joined(group, member_id, members))
            else:
                self._update_and_rebalance(group, member, message, request, f"{member_id} has changed what it wants")
        elif group.state is not GroupState.STABLE:
            self._respond_join(message, JoinGroupResponse(Errors.UNKNOWN_MEMBER_ID, member_id=member_id))
        elif group.is_leader(member_id):
            self._update_and_rebalance(group, member, message, request, f"the leader {member_id} rejoins")
        elif not is_same:
            self._update_and_rebalance(group, member, message, request, f"{member_id} has changed what it wants")
        else:
            self._respond_join(message, self._joined(group, member_id, ()))

    def _joined(
        self,
        group: ClassicGroup,
        member_id: str,
        members: tuple[tuple[str, str | None, bytes], ...],
        skip_assignment: bool = False,
    ) -> JoinGroupResponse:
        return JoinGroupResponse(
            Errors.NONE,
            group.generation_id,
            group.protocol_type,
            group.protocol_name,
            group.leader or "",
            skip_assignment,
            member_id,
            members,
        )

    def _add_and_rebalance(
        self, group: ClassicGroup, message: Message, request: JoinGroupRequest, member_id: str
    ) -> None:
        member = GroupMember(
            member_id,
            request.group_instance_id,
            message.source,
            CLIENT_HOST,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocols,
            joining=message,
            is_new=True,
        )
        if group.state is GroupState.PREPARING_REBALANCE and group.generation_id == 0:
            group.new_member_added = True
        if not group.members:
            group.protocol_type = request.protocol_type
        self._add(group, member)
        self._touch(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._maybe_rebalance(group, f"{member_id} joins")

    def _update_and_rebalance(
        self, group: ClassicGroup, member: GroupMember, message: Message, request: JoinGroupRequest, why: str
    ) -> None:
        member.update(request)
        if member.joining is not None and member.joining is not message:
            self._respond_join(member.joining, JoinGroupResponse(Errors.UNKNOWN_MEMBER_ID, member_id=member.member_id))
        member.joining = message
        self._maybe_rebalance(group, why)

    def _replace_static(
        self, group: ClassicGroup, message: Message, request: JoinGroupRequest, old_id: str, new_id: str
    ) -> None:
        """A static member's process was started anew (KIP-345): it takes the place of the old one, whose requests
        are fenced.
        """
        instance = request.group_instance_id or ""
        old_leader = group.leader or ""
        old = group.members[old_id]
        self._answer_join(old, JoinGroupResponse(Errors.FENCED_INSTANCE_ID, member_id=old_id))
        self._answer_sync(old, SyncGroupResponse(Errors.FENCED_INSTANCE_ID))
        member = group.replace_static(instance, old_id, new_id)
        why = f"another process has joined as {instance}"
        self._emit(GroupMemberRemoved(broker=self.host.name, group=group.group_id, member=old_id, why=why))
        member.timer_due_us = 0
        self._emit(
            GroupMemberAdded(
                broker=self.host.name,
                group=group.group_id,
                member=new_id,
                client=message.source,
                instance=instance,
            )
        )
        member.client_id = message.source
        self._touch(group, member)
        old_assignment = member.assignment
        member.update(request)
        if group.state is GroupState.STABLE:
            self._assigned(group, {each.member_id: each.assignment for each in group.members.values()})
            if group.select_protocol() == group.protocol_name:
                assignments = {each.member_id: each.assignment for each in group.members.values()}
                assignments[new_id] = old_assignment
                store = StaticRejoin(group.group_id, new_id, old_leader, message)
                error = self._write_group(group, assignments, store)
                if error is not Errors.NONE:
                    self.stored(store, error)
                return
        elif group.state in (GroupState.EMPTY, GroupState.DEAD):
            self._respond_join(message, JoinGroupResponse(Errors.UNKNOWN_MEMBER_ID, member_id=new_id))
            return
        member.joining = message
        self._maybe_rebalance(group, f"the static member {instance} joins again")

    # the rebalance

    def _maybe_rebalance(self, group: ClassicGroup, why: str) -> None:
        if group.state in CAN_REBALANCE:
            self._rebalance(group, why)

    def _rebalance(self, group: ClassicGroup, why: str) -> None:
        if group.state is GroupState.COMPLETING_REBALANCE:
            self._propagate(group, Errors.REBALANCE_IN_PROGRESS)
        group.pending_syncs.clear()
        group.rebalance += 1
        group.is_initial_rebalance = group.state is GroupState.EMPTY
        self._state(group, GroupState.PREPARING_REBALANCE, why)
        if group.is_initial_rebalance:
            delay_ms = self.host.group_settings.group_initial_rebalance_delay_ms
            group.initial_delay_left_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
            group.new_member_added = False
            self._timer(delay_ms, "join_due", (group.group_id, group.rebalance))
        else:
            self._timer(group.rebalance_timeout_ms, "join_due", (group.group_id, group.rebalance))
            self._try_complete_join(group)

    def _try_complete_join(self, group: ClassicGroup) -> None:
        if (
            group.state is GroupState.PREPARING_REBALANCE
            and not group.is_initial_rebalance
            and group.has_all_members_joined
        ):
            self._complete_join(group)

    def _join_due(self, group_id: str, rebalance: int) -> None:
        group = self.groups.get(group_id)
        if group is None or group.rebalance != rebalance or group.state is not GroupState.PREPARING_REBALANCE:
            return
        if group.is_initial_rebalance and group.new_member_added and group.initial_delay_left_ms > 0:
            group.new_member_added = False
            delay_ms = min(self.host.group_settings.group_initial_rebalance_delay_ms, group.initial_delay_left_ms)
            group.initial_delay_left_ms -= delay_ms
            self._timer(delay_ms, "join_due", (group_id, rebalance))
            return
        self._complete_join(group)

    def _complete_join(self, group: ClassicGroup) -> None:
        for member in list(group.members.values()):
            if member.joining is None and not member.is_static:
                self._remove_member(group, member, "it did not rejoin in time")
        if group.members and not group.elect_joined_leader():
            group.rebalance += 1
            group.is_initial_rebalance = False
            self._timer(group.rebalance_timeout_ms, "join_due", (group.group_id, group.rebalance))
            return
        group.rebalance += 1
        group.is_initial_rebalance = False
        group.pending_syncs.clear()
        generation_id = group.generation_id + 1
        if not group.members:
            self._state(group, GroupState.EMPTY, "no members are left", generation_id=generation_id, protocol=None)
            self._write_group(group, {}, EmptyGroup(group.group_id))
            return
        protocol = group.select_protocol()
        self._state(
            group,
            GroupState.COMPLETING_REBALANCE,
            f"{len(group.members)} members, assignor {protocol}",
            generation_id=generation_id,
            protocol=protocol,
        )
        for member in list(group.members.values()):
            members = group.member_metadata() if group.is_leader(member.member_id) else ()
            self._answer_join(member, self._joined(group, member.member_id, members))
            self._touch(group, member)
            member.is_new = False
            group.pending_syncs[member.member_id] = None
        self._timer(group.rebalance_timeout_ms, "sync_due", (group.group_id, group.generation_id))

    def _sync_due(self, group_id: str, generation_id: int) -> None:
        group = self.groups.get(group_id)
        if group is None or group.generation_id != generation_id or not group.pending_syncs:
            return
        if group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
            return
        for member_id in list(group.pending_syncs):
            member = group.members.get(member_id)
            if member is not None:
                self._remove_member(group, member, "it did not sync in time")
        group.pending_syncs.clear()
        self._rebalance(group, "members did not sync in time")

    # syncing

    def sync(self, message: Message, request: SyncGroupRequest) -> None:
        """SyncGroup: answered with the member's assignment once the leader has sent it and it is stored."""
        error = self.status(request.group_id)
        group = self.groups.get(request.group_id)
        if error is Errors.NONE:
            error = Errors.UNKNOWN_MEMBER_ID if group is None else self._sync_error(group, request)
        if group is None or error is not Errors.NONE:
            self._respond_sync(message, SyncGroupResponse(error))
            return
        member = group.members[request.member_id]
        group.pending_syncs.pop(request.member_id, None)
        if group.state is GroupState.STABLE:
            self._respond_sync(message, self._synced(group, member))
            self._touch(group, member)
            return
        member.syncing = message
        if group.is_leader(request.member_id):
            given = dict(request.assignments)
            assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
            store = Assignment(group.group_id, group.generation_id, assignments)
            error = self._write_group(group, assignments, store)
            if error is not Errors.NONE:
                self.stored(store, error)

    def _sync_error(self, group: ClassicGroup, request: SyncGroupRequest) -> KafkaError:
        error = self._member_error(group, request.member_id, request.group_instance_id)
        if error is not Errors.NONE:
            return error
        if request.generation_id != group.generation_id:
            return Errors.ILLEGAL_GENERATION
        if request.protocol_type is not None and request.protocol_type != group.protocol_type:
            return Errors.INCONSISTENT_GROUP_PROTOCOL
        if request.protocol_name is not None and request.protocol_name != group.protocol_name:
            return Errors.INCONSISTENT_GROUP_PROTOCOL
        if group.state is GroupState.EMPTY:
            return Errors.UNKNOWN_MEMBER_ID
        if group.state is GroupState.PREPARING_REBALANCE:
            return Errors.REBALANCE_IN_PROGRESS
        return Errors.NONE

    def _synced(self, group: ClassicGroup, member: GroupMember) -> SyncGroupResponse:
        return SyncGroupResponse(Errors.NONE, group.protocol_type, group.protocol_name, member.assignment)

    def _propagate(self, group: ClassicGroup, error: KafkaError) -> None:
        """Answers all syncs that wait, with the assignments or an error."""
        for member in list(group.members.values()):
            waiting = member.syncing is not None
            response = self._synced(group, member) if error is Errors.NONE else SyncGroupResponse(error)
            self._answer_sync(member, response)
            if waiting:
                self._touch(group, member)

    # heartbeats and leaving

    def heartbeat(self, request: HeartbeatRequest) -> KafkaError:
        """Heartbeat: keeps a session alive; REBALANCE_IN_PROGRESS tells the member to join again."""
        error = self.status(request.group_id)
        if error is not Errors.NONE:
            return error
        group = self.groups.get(request.group_id)
        if group is None:
            return Errors.UNKNOWN_MEMBER_ID
        error = self._member_error(group, request.member_id, request.group_instance_id)
        if error is not Errors.NONE:
            return error
        if request.generation_id != group.generation_id:
            return Errors.ILLEGAL_GENERATION
        if group.state is GroupState.EMPTY:
            return Errors.UNKNOWN_MEMBER_ID
        self._touch(group, group.members[request.member_id])
        return Errors.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING_REBALANCE else Errors.NONE

    def leave(self, request: LeaveGroupRequest) -> tuple[KafkaError, tuple[tuple[str, str | None, KafkaError], ...]]:
        """LeaveGroup: the error of the whole, or one for each member."""
        error = self.status(request.group_id)
        if error is not Errors.NONE:
            return error, ()
        group = self.groups.get(request.group_id)
        results = []
        for member_id, instance in request.members:
            if group is None:
                results.append((member_id, instance, Errors.UNKNOWN_MEMBER_ID))
                continue
            known = member_id
            if instance is not None and not member_id:
                known = group.static_members.get(instance, "")
            if group.pending_members.pop(known, None) is not None:
                self._try_complete_join(group)
                error = Errors.NONE
            else:
                error = self._member_error(group, known, instance)
            if error is Errors.NONE and known in group.members:
                self._remove(group, known, "it leaves")
            results.append((member_id, instance, error))
        return Errors.NONE, tuple(results)

    def _remove(self, group: ClassicGroup, member_id: str, why: str) -> None:
        member = group.members[member_id]
        self._remove_member(group, member, why)
        if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            self._rebalance(group, f"{member_id} is gone: {why}")
        else:
            self._try_complete_join(group)

    def _remove_member(self, group: ClassicGroup, member: GroupMember, why: str) -> None:
        self._answer_join(member, JoinGroupResponse(Errors.UNKNOWN_MEMBER_ID, member_id=member.member_id))
        self._answer_sync(member, SyncGroupResponse(Errors.UNKNOWN_MEMBER_ID))
        self._emit(GroupMemberRemoved(broker=self.host.name, group=group.group_id, member=member.member_id, why=why))

    def _member_error(self, group: ClassicGroup, member_id: str, instance: str | None) -> KafkaError:
        if group.state is GroupState.DEAD:
            return Errors.COORDINATOR_NOT_AVAILABLE
        if instance is not None:
            known = group.static_members.get(instance)
            if known is None:
                return Errors.UNKNOWN_MEMBER_ID
            if known != member_id:
                return Errors.FENCED_INSTANCE_ID
        return Errors.NONE if member_id in group.members else Errors.UNKNOWN_MEMBER_ID

    # sessions

    def _touch(self, group: ClassicGroup, member: GroupMember, timeout_ms: int | None = None) -> None:
        """The member lives: its session begins anew. One timer a member looks again when it ends."""
        timeout_us = (member.session_timeout_ms if timeout_ms is None else timeout_ms) * 1_000
        member.deadline_us = self.host.kernel.now_us + timeout_us
        if not member.timer_due_us or member.deadline_us < member.timer_due_us:
            self._watch_session(group, member)

    def _watch_session(self, group: ClassicGroup, member: GroupMember) -> None:
        due_us = member.timer_due_us = member.deadline_us
        self.host.timer(
            due_us - self.host.kernel.now_us, TIMER_PREFIX + "session_due", (group.group_id, member.member_id, due_us)
        )

    def _session_due(self, group_id: str, member_id: str, due_us: int) -> None:
        group = self.groups.get(group_id)
        member = None if group is None else group.members.get(member_id)
        if group is None or member is None or member.timer_due_us != due_us:
            return
        member.timer_due_us = 0
        if due_us < member.deadline_us:
            self._watch_session(group, member)
        elif member.is_new and member.joining is not None:
            self._remove(group, member_id, "it has waited too long for the others")
        elif member.joining is None and member.syncing is None:
            self._remove(group, member_id, "its session has ended")

    def _pending_expired(self, group_id: str, member_id: str) -> None:
        group = self.groups.get(group_id)
        if group is None or group.pending_members.get(member_id, self.host.kernel.now_us + 1) > self.host.kernel.now_us:
            return
        del group.pending_members[member_id]
        self._try_complete_join(group)

    # offsets

    def commit(self, message: Message, request: OffsetCommitRequest) -> None:
        """OffsetCommit: answered when the records are committed."""
        error = self.status(request.group_id, allows_empty_id=True)
        group = self.groups.get(request.group_id)
        if error is Errors.NONE and group is None:
            if request.generation_id < 0:
                group = self._create(request.group_id)
            else:
                error = Errors.ILLEGAL_GENERATION
        if error is Errors.NONE and group is not None:
            error = self._commit_error(group, request)
        if group is None or error is not Errors.NONE:
            self._respond_commit(message, tuple((name, error) for name, *_ in request.partitions))
            return
        self._store_offsets(group, message, request)

    def _commit_error(self, group: ClassicGroup, request: OffsetCommitRequest) -> KafkaError:
        if group.state is GroupState.DEAD:
            return Errors.COORDINATOR_NOT_AVAILABLE
        if request.generation_id < 0 and group.state is GroupState.EMPTY:
            return Errors.NONE
        if request.generation_id < 0 and not request.member_id and request.group_instance_id is None:
            return Errors.UNKNOWN_MEMBER_ID
        error = self._member_error(group, request.member_id, request.group_instance_id)
        if error is not Errors.NONE:
            return error
        if request.generation_id != group.generation_id:
            return Errors.ILLEGAL_GENERATION
        self._touch(group, group.members[request.member_id])
        return Errors.REBALANCE_IN_PROGRESS if group.state is GroupState.COMPLETING_REBALANCE else Errors.NONE

    def _store_offsets(self, group: ClassicGroup, message: Message, request: OffsetCommitRequest) -> None:
        now_ms = self.host.wall_ms
        order: list[tuple[str, KafkaError]] = []
        offsets: dict[str, CommittedOffset] = {}
        limit = self.host.group_settings.offset_metadata_max_bytes
        for name, offset, leader_epoch, metadata in request.partitions:
            if not self.host.has_partition(name):
                order.append((name, Errors.UNKNOWN_TOPIC_OR_PARTITION))
            elif len(metadata.encode()) > limit:
                order.append((name, Errors.OFFSET_METADATA_TOO_LARGE))
            else:
                order.append((name, Errors.NONE))
                offsets[name] = CommittedOffset(offset, leader_epoch, metadata, now_ms)
        if not offsets:
            self._respond_commit(message, tuple(order))
            return
        records = [
            (now_ms, encode_offset_key(group.group_id, name), encode_offset_value(committed), ())
            for name, committed in offsets.items()
        ]
        store = Commit(group.group_id, message, offsets, tuple(order))
        for name in offsets:
            group.pending_commits[name] = group.pending_commits.get(name, 0) + 1
        error = self.host.append_to_group_log(group.partition, build_batch(records, base_sequence=0), store)
        if error is not Errors.NONE:
            self.stored(store, error)

    def fetch_offsets(
        self, group_id: str, partitions: tuple[str, ...] | None
    ) -> tuple[KafkaError, tuple[tuple[str, int, int, str], ...]]:
        """OffsetFetch: (topic-partition, offset or -1, leader epoch, metadata)."""
        error = self.status(group_id, allows_empty_id=True)
        if error is not Errors.NONE:
            return error, ()
        group = self.groups.get(group_id)
        offsets = {} if group is None else group.offsets
        none = CommittedOffset(-1)
        names = sorted_partitions(offsets) if partitions is None else partitions
        rows = [(name, offsets.get(name, none)) for name in names]
        return Errors.NONE, tuple((name, row.offset, row.leader_epoch, row.metadata) for name, row in rows)

    def delete_offsets(
        self, group_id: str, partitions: tuple[str, ...]
    ) -> tuple[KafkaError, tuple[tuple[str, KafkaError], ...]]:
        """OffsetDelete: the error of the whole, or one for each partition."""
        error = self.status(group_id)
        group = self.groups.get(group_id)
        if error is Errors.NONE and group is None:
            error = Errors.GROUP_ID_NOT_FOUND
        if group is None or error is not Errors.NONE:
            return error, ()
        subscribed: set[str] = set()
        if group.state is not GroupState.EMPTY:
            if group.protocol_type != PROTOCOL_TYPE:
                return Errors.NON_EMPTY_GROUP, ()
            topics = group.subscribed_topics()
            subscribed = {split_partition(name)[0] for name in partitions} if topics is None else topics
        results = []
        gone = []
        for name in partitions:
            if split_partition(name)[0] in subscribed:
                results.append((name, Errors.GROUP_SUBSCRIBED_TO_TOPIC))
            else:
                results.append((name, Errors.NONE))
                gone.append(name)
        self._forget_offsets(group, [name for name in gone if name in group.offsets], "it was deleted")
        return Errors.NONE, tuple(results)

    def delete_group(self, group_id: str) -> KafkaError:
        """DeleteGroups, of one group: only an empty one."""
        error = self.status(group_id)
        if error is not Errors.NONE:
            return error
        group = self.groups.get(group_id)
        if group is None:
            return Errors.GROUP_ID_NOT_FOUND
        if group.state is not GroupState.EMPTY:
            return Errors.NON_EMPTY_GROUP
        self._forget_offsets(group, list(group.offsets), "the group was deleted", removes_group=True)
        return Errors.NONE

    def topics_deleted(self, is_gone: Callable[[str], bool]) -> None:
        """Topics are deleted: their offsets go."""
        for group in list(self.groups.values()):
            gone = [name for name in group.offsets if is_gone(split_partition(name)[0])]
            if gone:
                self._forget_offsets(group, gone, "the topic was deleted")

    def _forget_offsets(self, group: ClassicGroup, names: list[str], why: str, *, removes_group: bool = False) -> None:
        """Writes tombstones for offsets, and one for a group that has nothing left (`cleanupGroupMetadata`)."""
        now_ms = self.host.wall_ms
        records: list[tuple[int, bytes, bytes | None, tuple[Any, ...]]] = [
            (now_ms, encode_offset_key(group.group_id, name), None, ()) for name in names
        ]
        has_left = len(names) < len(group.offsets) or bool(group.pending_commits)
        is_dead = removes_group or (group.state is GroupState.EMPTY and not has_left)
        if is_dead and group.generation_id > 0:
            records.append((now_ms, encode_group_key(group.group_id), None, ()))
        if records:
            self.host.append_to_group_log(group.partition, build_batch(records), None)
        for name in names:
            self._emit(OffsetRemoved(broker=self.host.name, group=group.group_id, partition=name, why=why))
        if is_dead:
            self._state(group, GroupState.DEAD, why)

    def _expire_later(self) -> None:
        self._timer(self.host.group_settings.offsets_retention_check_interval_ms, "expire_offsets", None)

    def _expire_offsets(self) -> None:
        now_ms = self.host.wall_ms
        retention_ms = self.host.group_settings.offsets_retention_minutes * 60_000
        for group in list(self.groups.values()):
            expired = [name for name, begun_ms in self._expirable(group).items() if now_ms - begun_ms >= retention_ms]
            is_unused = group.state is GroupState.EMPTY and not group.offsets and not group.pending_commits
            if expired or is_unused:
                self._forget_offsets(group, expired, "offsets.retention.minutes is over")
        if self.owned:
            self._expire_later()
        else:
            self._is_cleaning = False

    def _expirable(self, group: ClassicGroup) -> dict[str, int]:
        """Offsets that may expire, with the time from which their retention counts, in ms."""
        waiting = group.pending_commits
        if group.state is GroupState.EMPTY and group.protocol_type is not None:
            begun_ms = group.current_state_timestamp
            return {
                name: committed.commit_timestamp if begun_ms is None else begun_ms
                for name, committed in group.offsets.items()
                if name not in waiting
            }
        if group.state is GroupState.STABLE and group.protocol_type == PROTOCOL_TYPE:
            topics = group.subscribed_topics()
            return {
                name: committed.commit_timestamp
                for name, committed in group.offsets.items()
                if topics is not None and split_partition(name)[0] not in topics and name not in waiting
            }
        if group.protocol_type is None:
            return {
                name: committed.commit_timestamp for name, committed in group.offsets.items() if name not in waiting
            }
        return {}

    # groups

    def list_groups(self, states: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
        """ListGroups: (group, protocol type, state) of those that this broker coordinates."""
        wanted = {state.lower() for state in states}
        return tuple(
            (group.group_id, group.protocol_type or "", group.state.value)
            for group in self.groups.values()
            if not wanted or group.state.value.lower() in wanted
        )

    def describe_group(self, group_id: str) -> DescribedGroup:
        """DescribeGroups, of one group; an unknown one is Dead."""
        error = self.status(group_id)
        if error is not Errors.NONE:
            return DescribedGroup(group_id, error)
        group = self.groups.get(group_id)
        return DescribedGroup(group_id, state=GroupState.DEAD.value) if group is None else group.describe()

    def description(self) -> dict[str, dict[str, Any]]:
        """All groups as the view shows them; what folding the events must give."""
        return {
            f"{group.group_id}@{self.host.name}": {
                "state": group.state.value,
                "generation_id": group.generation_id,
                "protocol": group.protocol_name or "",
                "members": {
                    member.member_id: list(_partitions(member.assignment)) for member in group.members.values()
                },
                "offsets": {name: committed.offset for name, committed in group.offsets.items()},
            }
            for group in self.groups.values()
        }

    # the log

    def _write_group(self, group: ClassicGroup, assignments: dict[str, bytes], store: Store) -> KafkaError:
        value = encode_group_value(group.stored(assignments))
        records = [(self.host.wall_ms, encode_group_key(group.group_id), value, ())]
        return self.host.append_to_group_log(group.partition, build_batch(records), store)

    def stored(self, store: Store, error: KafkaError) -> None:
        """A write is committed, or will not be: goes on with what waited for it."""
        group = self.groups.get(store.group)
        if isinstance(store, Commit):
            self._offsets_stored(group, store, _TRANSLATED.get(error, error))
            return
        translated = _TRANSLATED_FOR_GROUP.get(error, error)
        if group is None:
            if isinstance(store, StaticRejoin):
                self._respond_join(store.message, JoinGroupResponse(Errors.NOT_COORDINATOR, member_id=store.member_id))
        elif isinstance(store, StaticRejoin):
            self._static_rejoined(group, store, translated)
        elif isinstance(store, Assignment):
            is_current = group.generation_id == store.generation_id
            if group.state is not GroupState.COMPLETING_REBALANCE or not is_current:
                return
            if translated is not Errors.NONE:
                self._propagate(group, translated)
                self._maybe_rebalance(group, "the assignment could not be stored")
                return
            self._assigned(group, store.assignments)
            self._state(group, GroupState.STABLE, "the assignment is stored")
            self._propagate(group, Errors.NONE)

    def _static_rejoined(self, group: ClassicGroup, store: StaticRejoin, error: KafkaError) -> None:
        if error is not Errors.NONE:
            self._respond_join(store.message, JoinGroupResponse(error, member_id=store.member_id))
            return
        is_leader = group.is_leader(store.member_id)
        members = group.member_metadata() if is_leader else ()
        self._respond_join(store.message, self._joined(group, store.member_id, members, skip_assignment=is_leader))

    def _offsets_stored(self, group: ClassicGroup | None, store: Commit, error: KafkaError) -> None:
        if group is not None:
            for name in store.offsets:
                left = group.pending_commits.get(name, 1) - 1
                if left:
                    group.pending_commits[name] = left
                else:
                    group.pending_commits.pop(name, None)
            if error is Errors.NONE:
                for name, committed in store.offsets.items():
                    self._committed(group, name, committed)
        self._respond_commit(
            store.message, tuple((name, error if own is Errors.NONE else own) for name, own in store.order)
        )

    # facts

    def _emit(self, event: Event) -> None:
        self.host.kernel.emit(event, self.host.name)

    def _state(
        self,
        group: ClassicGroup,
        state: GroupState,
        why: str,
        *,
        generation_id: int | None = None,
        protocol: str | None = "",
        known: bool = True,
    ) -> None:
        if known:
            if group.state not in VALID_PREVIOUS_STATES[state]:
                raise ValueError(f"group {group.group_id} cannot go from {group.state} to {state}")
            group.current_state_timestamp = self.host.wall_ms
        self._emit(
            GroupTransitioned(
                broker=self.host.name,
                group=group.group_id,
                partition=group.partition,
                from_state=group.state.value if known else "",
                to_state=state.value,
                generation_id=group.generation_id if generation_id is None else generation_id,
                protocol=(group.protocol_name if protocol == "" else protocol) or "",
                leader=group.leader or "",
                why=why,
            )
        )

    def _add(self, group: ClassicGroup, member: GroupMember) -> None:
        group.add(member)
        self._emit(
            GroupMemberAdded(
                broker=self.host.name,
                group=group.group_id,
                member=member.member_id,
                client=member.client_id,
                instance=member.group_instance_id or "",
            )
        )

    def _assigned(self, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
        for member_id, data in assignments.items():
            if member_id in group.members:
                group.members[member_id].assignment = data
        self._emit(
            GroupAssigned(
                broker=self.host.name,
                group=group.group_id,
                generation_id=group.generation_id,
                assignments=tuple(
                    (member.member_id, _partitions(member.assignment)) for member in group.members.values()
                ),
            )
        )

    def _committed(self, group: ClassicGroup, name: str, committed: CommittedOffset) -> None:
        group.offsets[name] = committed
        self._emit(
            OffsetCommitted(broker=self.host.name, group=group.group_id, partition=name, offset=committed.offset)
        )

    # answers

    def _answer_join(self, member: GroupMember, response: JoinGroupResponse) -> None:
        message, member.joining = member.joining, None
        if message is not None:
            self._respond_join(message, response)

    def _answer_sync(self, member: GroupMember, response: SyncGroupResponse) -> None:
        message, member.syncing = member.syncing, None
        if message is not None:
            self._respond_sync(message, response)

    def _respond_join(self, message: Message, response: JoinGroupResponse) -> None:
        good = response.error is Errors.NONE
        label = f"generation {response.generation_id}" if good else response.error.name
        fields = (("member_id", response.member_id), ("leader", response.leader)) if good else ()
        self.host.kernel.respond(message, response, label=label, fields=fields)

    def _respond_sync(self, message: Message, response: SyncGroupResponse) -> None:
        good = response.error is Errors.NONE
        partitions = ", ".join(_partitions(response.assignment)) if good else ""
        label = "assignment" if good else response.error.name
        self.host.kernel.respond(message, response, label=label, fields=(("assignment", partitions),) if good else ())

    def _respond_commit(self, message: Message, results: tuple[tuple[str, KafkaError], ...]) -> None:
        error = next((error for _, error in results if error is not Errors.NONE), Errors.NONE)
        label = "committed" if error is Errors.NONE else error.name
        self.host.kernel.respond(message, OffsetCommitResponse(results), label=label)

    # time

    def _timer(self, delay_ms: int, name: str, data: object) -> None:
        self.host.timer(delay_ms * 1_000, TIMER_PREFIX + name, data)

    def on_timer(self, name: str, data: Any) -> None:
        """One of the coordinator's timers, whose names begin with TIMER_PREFIX."""
        what = name.removeprefix(TIMER_PREFIX)
        if what == "join_due":
            self._join_due(*data)
        elif what == "sync_due":
            self._sync_due(*data)
        elif what == "session_due":
            self._session_due(*data)
        elif what == "pending_expired":
            self._pending_expired(*data)
        elif what == "expire_offsets":
            self._expire_offsets()
        else:
            raise ValueError(f"the group coordinator knows no timer {name!r}")


def _partitions(assignment: bytes) -> tuple[str, ...]:
    try:
        return decode_assignment(assignment)
    except ProtocolError:
        return ()


def _group(subjects: Subjects, broker: str, group: str) -> ClassicGroup:
    coordinator: GroupCoordinator = subjects[f"groups@{broker}"]
    return coordinator.groups[group]


@applies(GroupTransitioned)
def _transitioned(subjects: Subjects, event: GroupTransitioned, at_us: int) -> None:
    group = _group(subjects, event.broker, event.group)
    group.state = GroupState(event.to_state)
    group.generation_id = event.generation_id
    group.protocol_name = event.protocol or None
    if group.state is GroupState.DEAD:
        del subjects[f"groups@{event.broker}"].groups[event.group]


@applies(GroupMemberRemoved)
def _member_removed(subjects: Subjects, event: GroupMemberRemoved, at_us: int) -> None:
    group = _group(subjects, event.broker, event.group)
    if event.member in group.members:
        group.remove(event.member)


@applies(OffsetRemoved)
def _offset_removed(subjects: Subjects, event: OffsetRemoved, at_us: int) -> None:
    _group(subjects, event.broker, event.group).offsets.pop(event.partition, None)


@applies(GroupsUnloaded)
def _unloaded(subjects: Subjects, event: GroupsUnloaded, at_us: int) -> None:
    coordinator: GroupCoordinator = subjects[f"groups@{event.broker}"]
    for group in event.groups:
        coordinator.groups.pop(group, None)
