"""The groups that a broker coordinates, and their events: they are emitted and applied only here."""

from base64 import b64encode
from collections.abc import Mapping

from broker_core.errors import Errors
from broker_core.events.envelope import Event
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
    OffsetCommitAccepted,
    OffsetCommitted,
    OffsetRemoved,
    TransactionalOffsetPending,
    TransactionalOffsetsDecided,
)
from broker_core.groups.answers import partitions_of
from broker_core.groups.classic_group import ClassicGroup, ClassicGroupMember, JoinFields
from broker_core.groups.host import CoordinatorHost
from broker_core.groups.offsets import CommittedOffset, partition_for
from broker_core.groups.states import VALID_PREVIOUS_STATES, GroupState
from broker_core.groups.waiting import WaitingRequests
from broker_core.partitions import partition_name
from broker_core.topics import OFFSETS_TOPIC


class Groups:
    """`known`: the groups by name. `owned`: the partitions of `__consumer_offsets` that the broker coordinates, with
    the leader epochs in which it loaded them; `loading`: those that it is still loading; `taking_in`: the owned ones
    of which only some groups are known yet. `waiting`: requests without a response. Its name among the kernel's
    subjects is "groups@b1".
    """

    def __init__(self, host: CoordinatorHost) -> None:
        self.host = host
        self.known: dict[str, ClassicGroup] = {}
        self.owned: dict[str, int] = {}
        self.loading: dict[str, int] = {}
        self.taking_in: set[str] = set()
        self._last_commit_number = 0
        self.waiting = WaitingRequests(host)

    def next_commit_number(self) -> int:
        """The number of the next record with offsets."""
        self._last_commit_number += 1
        return self._last_commit_number

    def partition_of(self, group_id: str) -> str:
        """The partition of a group, whether the group exists or not."""
        return partition_name(OFFSETS_TOPIC, partition_for(group_id, self.host.offsets_partition_count))

    def status(self, group_id: str, allows_empty_id: bool = False) -> Errors:
        """The error for any request for a group; NONE if it is coordinated here."""
        if not group_id and not allows_empty_id:
            return Errors.INVALID_GROUP_ID
        partition = self.partition_of(group_id)
        if partition in self.loading or partition in self.taking_in:
            names_loading = self.host.era.groups.names_loading
            return Errors.COORDINATOR_LOAD_IN_PROGRESS if names_loading else Errors.NOT_COORDINATOR
        return Errors.NONE if partition in self.owned else Errors.NOT_COORDINATOR

    def status_for_member(self, group_id: str) -> Errors:
        """The error for a request of a member that has joined."""
        return self.status(group_id, allows_empty_id=not self.host.era.groups.checks_group_ids_of_members)

    def member_error(self, group: ClassicGroup, member_id: str, instance: str | None) -> Errors:
        """The error for an id that is not a member's; NONE if it is."""
        return group.member_error(member_id, instance, self.host.era.groups.refuses_unknown_instances)

    def _emit(self, event: Event) -> None:
        self.host.kernel.emit(event, self.host.name)

    # Partitions.

    def load_started(self, partition: str, leader_epoch: int) -> None:
        """The broker leads a partition, and starts loading it."""
        self._emit(GroupsLoadStarted(broker=self.host.name, partition=partition, leader_epoch=leader_epoch))

    def loaded(self, partition: str, leader_epoch: int, group_count: int, offset_count: int) -> None:
        """The broker has loaded a partition and coordinates its groups, whose events follow."""
        self._emit(
            GroupsLoaded(
                broker=self.host.name,
                partition=partition,
                group_count=group_count,
                offset_count=offset_count,
                leader_epoch=leader_epoch,
            )
        )

    def unloaded(self, partition: str, groups: list[ClassicGroup]) -> None:
        """The broker no longer coordinates a partition."""
        names = tuple(group.group_id for group in groups)
        self._emit(GroupsUnloaded(broker=self.host.name, partition=partition, groups=names))

    # Groups.

    def create(self, group_id: str) -> ClassicGroup:
        """Creates the group of a request."""
        return self.introduce(group_id, self.partition_of(group_id), GroupState.EMPTY, "reason.group_introduced")

    def introduce(
        self,
        group_id: str,
        partition: str,
        state: GroupState,
        why: str,
        *,
        generation_id: int = 0,
        protocol_type: str = "",
        protocol: str = "",
        leader: str = "",
        timestamp_ms: int = -1,
    ) -> ClassicGroup:
        """Adds a group that the coordinator knows from now on."""
        self._emit(
            GroupTransitioned(
                broker=self.host.name,
                group=group_id,
                partition=partition,
                from_state="",
                to_state=state.value,
                generation_id=generation_id,
                protocol=protocol,
                leader=leader,
                why=why,
                protocol_type=protocol_type,
                timestamp_ms=timestamp_ms,
            )
        )
        return self.known[group_id]

    def transition(self, group: ClassicGroup, state: GroupState, why: str, wait_ms: int = 0) -> None:
        """Changes the state of a group within its generation. Raises ValueError for an invalid transition."""
        self._transition(group, state, why, group.generation_id, group.protocol_name, group.leader, wait_ms)

    def new_generation(
        self,
        group: ClassicGroup,
        state: GroupState,
        why: str,
        *,
        protocol: str | None,
        leader: str | None,
        wait_ms: int = 0,
    ) -> None:
        """A rebalance is complete: starts a generation with a protocol and a leader."""
        self._transition(group, state, why, group.generation_id + 1, protocol, leader, wait_ms)

    def _transition(
        self,
        group: ClassicGroup,
        state: GroupState,
        why: str,
        generation_id: int,
        protocol: str | None,
        leader: str | None,
        wait_ms: int,
    ) -> None:
        if group.state not in VALID_PREVIOUS_STATES[state]:
            raise ValueError(f"group {group.group_id} cannot go from {group.state} to {state}")
        self._emit(
            GroupTransitioned(
                broker=self.host.name,
                group=group.group_id,
                partition=group.partition,
                from_state=group.state.value,
                to_state=state.value,
                generation_id=generation_id,
                protocol=protocol or "",
                leader=leader or "",
                why=why,
                protocol_type=group.protocol_type or "",
                timestamp_ms=self.host.wall_ms,
                due_us=self.host.kernel.now_us + wait_ms * 1_000 if wait_ms else 0,
            )
        )

    # Members.

    def add(self, group: ClassicGroup, member: ClassicGroupMember, protocol_type: str) -> ClassicGroupMember:
        """Adds a member. Returns it."""
        self._emit(
            GroupMemberAdded(
                broker=self.host.name,
                group=group.group_id,
                member=member.member_id,
                client=member.client_id,
                instance=member.group_instance_id or "",
                client_host=member.client_host,
                protocol_type=protocol_type,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                session_timeout_ms=member.session_timeout_ms,
                protocols=_to_text(member.protocols),
                is_nameless=member.group_instance_id == "",
            )
        )
        return group.members[member.member_id]

    def update(self, group: ClassicGroup, member: ClassicGroupMember, join_fields: JoinFields) -> None:
        """Updates a member that rejoins: emits an event if its data has changed."""
        if join_fields == member.join_fields:
            return
        rebalance_timeout_ms, session_timeout_ms, protocols = join_fields
        self._emit(
            GroupMemberUpdated(
                broker=self.host.name,
                group=group.group_id,
                member=member.member_id,
                rebalance_timeout_ms=rebalance_timeout_ms,
                session_timeout_ms=session_timeout_ms,
                protocols=_to_text(protocols),
            )
        )

    def replace(self, group: ClassicGroup, instance: str, old_id: str, new_id: str, client: str) -> ClassicGroupMember:
        """Replaces a static member by its new process. Returns the member."""
        self._emit(
            GroupMemberReplaced(
                broker=self.host.name,
                group=group.group_id,
                old_member=old_id,
                member=new_id,
                client=client,
                instance=instance,
            )
        )
        return group.members[new_id]

    def remove(self, group: ClassicGroup, member: ClassicGroupMember, why: str) -> None:
        """Removes a member."""
        self._emit(GroupMemberRemoved(broker=self.host.name, group=group.group_id, member=member.member_id, why=why))

    def assign(self, group: ClassicGroup, assignments: Mapping[str, bytes]) -> None:
        """Stores the generation's assignment; a member that is not in it has an empty one."""
        given = {member_id: assignments.get(member_id, b"") for member_id in group.members}
        self._emit(
            GroupAssigned(
                broker=self.host.name,
                group=group.group_id,
                generation_id=group.generation_id,
                assignments=tuple((member_id, partitions_of(data)) for member_id, data in given.items()),
                data=tuple(b64encode(data).decode() for data in given.values()),
            )
        )

    # Offsets.

    def accept(
        self, group: ClassicGroup, member: str, generation_id: int, offsets: Mapping[str, CommittedOffset]
    ) -> None:
        """Accepts a commit that is about to be written."""
        self._emit(
            OffsetCommitAccepted(
                broker=self.host.name,
                group=group.group_id,
                member=member,
                generation_id=generation_id,
                offsets=tuple((name, committed.offset) for name, committed in offsets.items()),
            )
        )

    def commit(self, group: ClassicGroup, partition: str, committed: CommittedOffset, number: int) -> None:
        """Stores a committed offset; `number` of its record."""
        group.commit_numbers[partition] = number
        self._emit(
            OffsetCommitted(
                broker=self.host.name,
                group=group.group_id,
                partition=partition,
                offset=committed.offset,
                leader_epoch=committed.leader_epoch,
                metadata=committed.metadata,
                commit_timestamp_ms=committed.commit_timestamp,
                expire_timestamp_ms=committed.expire_timestamp,
            )
        )

    def suspend(
        self, group: ClassicGroup, producer_id: int, partition: str, committed: CommittedOffset, number: int
    ) -> None:
        """Stores an offset that is pending the end of its transaction; `number` of its record."""
        group.pending_numbers.setdefault(producer_id, {})[partition] = number
        self._emit(
            TransactionalOffsetPending(
                broker=self.host.name,
                group=group.group_id,
                producer_id=producer_id,
                partition=partition,
                offset=committed.offset,
                leader_epoch=committed.leader_epoch,
                metadata=committed.metadata,
                commit_timestamp_ms=committed.commit_timestamp,
            )
        )

    def decide(self, group: ClassicGroup, producer_id: int, is_commit: bool) -> None:
        """Ends a transaction; none of its offsets is pending any more."""
        group.pending_numbers.pop(producer_id, None)
        result = "COMMIT" if is_commit else "ABORT"
        self._emit(
            TransactionalOffsetsDecided(
                broker=self.host.name, group=group.group_id, producer_id=producer_id, result=result
            )
        )

    def forget_offset(self, group: ClassicGroup, partition: str, why: str) -> None:
        """Removes an offset, and those that are pending for the partition."""
        group.commit_numbers.pop(partition, None)
        self._emit(OffsetRemoved(broker=self.host.name, group=group.group_id, partition=partition, why=why))


def _to_text(protocols: tuple[tuple[str, bytes], ...]) -> tuple[tuple[str, str], ...]:
    """An event holds no bytes."""
    return tuple((name, b64encode(metadata).decode()) for name, metadata in protocols)
