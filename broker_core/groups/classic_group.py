"""The coordinator's state of a group of the classic protocol (`kafka.coordinator.group.GroupMetadata`).

State, generation, protocol, leader, members, assignments and offsets change by events alone (see `facts` and `apply`);
pending requests and deadlines are not in events.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from broker_core.config_defs.java_text import old_scala_map_order, old_scala_set_order, scala_map_place
from broker_core.era_requests import GroupBehaviour
from broker_core.errors import Errors
from broker_core.groups.consumer_protocol import PROTOCOL_TYPE, ProtocolError, decode_subscribed_topics
from broker_core.groups.offsets import CommittedOffset, StoredGroup, StoredMember
from broker_core.groups.states import GroupState
from broker_core.sim.kernel import Message
from broker_core.wire.messages import DescribedGroup, DescribedGroupMember, JoinGroupRequest

JoinFields: TypeAlias = tuple[int, int, tuple[tuple[str, bytes], ...]]
"""A joining member's rebalance timeout and session timeout in ms, and (assignor, metadata) by preference."""

NULL_CLIENT = "null"
"""What Java writes for a client id that is null."""


def join_fields_of(request: JoinGroupRequest) -> JoinFields:
    """A join's fields about its member."""
    return request.rebalance_timeout_ms, request.session_timeout_ms, request.protocols


class ClassicGroupMember(msgspec.Struct):
    """A member. `joining`, `syncing`: its pending request; `deadline_us`: the end of its session; `timer_due_us`: when
    the coordinator checks that, 0 = never.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes = b""
    joining: Message | None = None
    syncing: Message | None = None
    is_new: bool = False
    deadline_us: int = 0
    timer_due_us: int = 0

    @property
    def is_static(self) -> bool:
        """Whether it has a group.instance.id (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def has_null_client(self) -> bool:
        """Whether its client id is null: its own id is the only one that begins like this without such a client id."""
        return not self.client_id and not self.is_static and self.member_id.startswith(f"{NULL_CLIENT}-")

    def metadata(self, protocol: str | None) -> bytes:
        """Its metadata for an assignor."""
        return next((data for name, data in self.protocols if name == protocol), b"")

    @property
    def join_fields(self) -> JoinFields:
        """The fields of its last join."""
        return self.rebalance_timeout_ms, self.session_timeout_ms, self.protocols

    def vote(self, candidates: Iterable[str]) -> str | None:
        """The first of its assignors that is a candidate, or None."""
        allowed = set(candidates)
        return next((name for name, _ in self.protocols if name in allowed), None)


class ClassicGroup:
    """See the module. `partition` is the one of `__consumer_offsets` that stores it; times in ms and us as named.
    `behaviour` is that of the era.
    """

    def __init__(self, group_id: str, partition: str, behaviour: GroupBehaviour) -> None:
        self.group_id = group_id
        self.partition = partition
        self._behaviour = behaviour
        self.state = GroupState.EMPTY
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader: str | None = None
        self.members: dict[str, ClassicGroupMember] = {}
        self.static_members: dict[str, str] = {}
        self.pending_members: dict[str, int] = {}
        self.pending_syncs: dict[str, None] = {}
        self.offsets: dict[str, CommittedOffset] = {}
        #: partition -> the numbers of records with its offset that are not committed yet
        self.pending_writes: dict[str, set[int]] = {}
        #: producer id -> partition -> offset pending the end of its transaction
        self.pending_transactional: dict[int, dict[str, CommittedOffset]] = {}
        #: the numbers of offsets in the order of their records: of committed and of pending ones
        self.commit_numbers: dict[str, int] = {}
        self.pending_numbers: dict[int, dict[str, int]] = {}
        self.current_state_timestamp: int | None = None
        self.new_member_added = False
        #: when the pending rebalance, and the sync of its generation, end at the latest
        self.join_due_us = 0
        self.sync_due_us = 0
        #: the number of the pending rebalance: timers of earlier ones are ignored
        self.rebalance = 0
        self.is_initial_rebalance = False
        self.remaining_initial_delay_ms = 0
        #: its members could not vote: as in Kafka, which fails there, its rebalance never completes
        self.is_stuck = False

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of the members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def has_all_members_joined(self) -> bool:
        """Whether all members have joined."""
        return not self.pending_members and all(member.joining is not None for member in self.members.values())

    @property
    def has_null_client(self) -> bool:
        """Whether a member's client id is null, which Kafka can neither describe nor store."""
        return any(member.has_null_client for member in self.members.values())

    @property
    def waiting_partitions(self) -> set[str]:
        """The partitions with pending transactional offsets."""
        return set(self.pending_writes).union(*self.pending_transactional.values())

    @property
    def has_offsets(self) -> bool:
        """Whether it has offsets or may get some: a transaction counts until its end, also if it has none any more."""
        return bool(self.offsets or self.pending_writes or self.pending_transactional)

    def begin_write(self, partitions: Iterable[str], number: int) -> int:
        """A record with offsets is about to be appended, of a number that no other record of the coordinator has: a
        group that was deleted may come again before the record is committed. Returns the number.
        """
        for name in partitions:
            self.pending_writes.setdefault(name, set()).add(number)
        return number

    def end_write(self, partition: str, number: int) -> bool:
        """A record is committed or has failed: whether its offset is still wanted. The topic may be gone."""
        numbers = self.pending_writes.get(partition, set())
        is_wanted = number in numbers
        numbers.discard(number)
        if not numbers:
            self.pending_writes.pop(partition, None)
        return is_wanted

    def is_newer(self, partition: str, number: int) -> bool:
        """Whether a record with this number is later than that of the committed offset, if there is one
        (`CommitRecordMetadataAndOffset.olderThan`).
        """
        return number > self.commit_numbers.get(partition, 0)

    def is_leader(self, member_id: str) -> bool:
        """Whether this member assigns."""
        return self.leader == member_id

    def member_error(self, member_id: str, instance: str | None, refuses_unknown_instances: bool = True) -> Errors:
        """The error for an id that is not a member's; NONE if it is."""
        if instance is not None:
            known = self.static_members.get(instance)
            if known is None and refuses_unknown_instances:
                return Errors.UNKNOWN_MEMBER_ID
            if known is not None and known != member_id:
                return Errors.FENCED_INSTANCE_ID
        return Errors.NONE if member_id in self.members else Errors.UNKNOWN_MEMBER_ID

    def candidate_protocols(self) -> list[str]:
        """The assignors that all members support: as in Kafka, those named as often as there are members."""
        counts: dict[str, int] = {}
        for member in self.members.values():
            names = [name for name, _ in member.protocols]
            for name in dict.fromkeys(names) if self._behaviour.counts_protocols_once else names:
                counts[name] = counts.get(name, 0) + 1
        return [name for name, count in counts.items() if count == len(self.members)]

    def supports(self, protocol_type: str, protocols: tuple[tuple[str, bytes], ...], checks_first: bool = True) -> bool:
        """Whether a member with these assignors may join. `checks_first`: the first member must name some."""
        if self.state is GroupState.EMPTY:
            return not checks_first or (bool(protocol_type) and bool(protocols))
        if protocol_type != self.protocol_type:
            return False
        if not self.members:
            # Its members left while it waited for others: any assignor is supported by all that are left.
            return bool(protocols) or self._behaviour.counts_protocols_once
        allowed = set(self.candidate_protocols())
        return any(name in allowed for name, _ in protocols)

    def select_protocol(self) -> str | None:
        """The assignor with the most votes; for a tie, the first one in Scala's map of the votes.

        None if a member cannot vote, because another named an assignor twice.
        """
        candidates = self.candidate_protocols()
        votes: dict[str, int] = {}
        for member in self.members.values():
            vote = member.vote(candidates)
            if vote is None:
                return None
            votes[vote] = votes.get(vote, 0) + 1
        most = max(votes.values())
        if self._behaviour.breaks_ties_in_mutable_map:
            return next(name for name in old_scala_set_order(old_scala_map_order(votes)) if votes[name] == most)
        return min((name for name in votes if votes[name] == most), key=scala_map_place)

    def add(self, member: ClassicGroupMember) -> None:
        """Adds a member; the first one is the leader."""
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id

    def remove(self, member_id: str) -> None:
        """Removes a member; the next one becomes leader if this one was."""
        member = self.members.pop(member_id)
        if member.group_instance_id is not None:
            self.static_members.pop(member.group_instance_id, None)
        self.pending_syncs.pop(member_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def replace_static(self, instance: str, old_id: str, new_id: str, client_id: str) -> None:
        """Replaces a static member by its new process."""
        member = self.members.pop(old_id)
        member.member_id = new_id
        member.client_id = client_id
        self.members[new_id] = member
        self.static_members[instance] = new_id
        if self.leader == old_id:
            self.leader = new_id

    def joined_leader(self) -> str | None:
        """The leader of the next generation: the leader, or if it has not rejoined the first that has, or None."""
        leader = self.members.get(self.leader or "")
        if leader is None or leader.joining is not None:
            return None if leader is None else leader.member_id
        return next((member.member_id for member in self.members.values() if member.joining is not None), None)

    def member_metadata(self) -> tuple[tuple[str, str | None, bytes], ...]:
        """The members' metadata for the leader's assignor."""
        return tuple(
            (member.member_id, member.group_instance_id, member.metadata(self.protocol_name))
            for member in self.members.values()
        )

    def subscribed_topics(self) -> set[str] | None:
        """The topics of all members; None if unknown."""
        if self.protocol_type != PROTOCOL_TYPE:
            return None
        if not self.members:
            return set()
        topics: set[str] = set()
        try:
            for member in self.members.values():
                topics.update(decode_subscribed_topics(member.metadata(self.protocol_name)))
        except ProtocolError:
            return None
        return topics

    def stored(self, assignments: Mapping[str, bytes]) -> StoredGroup:
        """The group as stored in its record."""
        members = tuple(
            StoredMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                member.session_timeout_ms,
                member.metadata(self.protocol_name),
                assignments.get(member.member_id, b""),
            )
            for member in self.members.values()
        )
        return StoredGroup(
            self.protocol_type or "",
            self.generation_id,
            self.protocol_name,
            self.leader,
            -1 if self.current_state_timestamp is None else self.current_state_timestamp,
            members,
        )

    def describe(self) -> DescribedGroup:
        """The group for DescribeGroups; members' metadata only while the group is stable."""
        is_stable = self.state is GroupState.STABLE
        members = tuple(
            DescribedGroupMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.metadata(self.protocol_name) if is_stable else b"",
                member.assignment if is_stable else b"",
            )
            for member in self.members.values()
        )
        protocol = self.protocol_name or "" if is_stable else ""
        return DescribedGroup(
            self.group_id,
            state=self.state.value,
            protocol_type=self.protocol_type or "",
            protocol=protocol,
            members=members,
        )
