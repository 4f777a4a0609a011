"""`StickyAssignor` and `CooperativeStickyAssignor` (`AbstractStickyAssignor`; KIP-54, KIP-429).

Balanced first, then as few moves as possible. Kafka iterates over a hash map of members; this uses the order of member
ids, so that the same group gives the same assignment.
"""

from collections.abc import Mapping, Sequence

from broker_core.groups.assignors.assignor import Assignment, Assignor, GroupMemberInfo, topics_of
from broker_core.groups.assignors.sticky_general import assign_general
from broker_core.groups.consumer_protocol import (
    DEFAULT_GENERATION,
    ProtocolError,
    ProtocolReader,
    encode_partitions,
    int32,
)
from broker_core.partitions import TopicPartition, partition_name, sorted_partitions


def _by_number(name: str) -> tuple[int, str]:
    topic, number = TopicPartition.parse(name)
    return number, topic


class StickyAssignor(Assignor):
    """Eager: a member's previous assignment is in its user data, because it has revoked everything when it joins."""

    name = "sticky"

    def __init__(self) -> None:
        self._held: tuple[str, ...] = ()
        self._generation_id = DEFAULT_GENERATION

    def user_data(self, owned: Sequence[str]) -> bytes | None:
        if not self._held and self._generation_id == DEFAULT_GENERATION:
            return None
        return encode_partitions(self._held) + int32(self._generation_id)

    def on_assignment(self, partitions: tuple[str, ...], generation_id: int) -> None:
        self._held = partitions
        self._generation_id = generation_id

    def held(self, member: GroupMemberInfo) -> tuple[tuple[str, ...], int]:
        """A member's previous partitions, and their generation."""
        data = member.subscription.user_data
        if not data:
            return (), DEFAULT_GENERATION
        reader = ProtocolReader(data)
        try:
            partitions = reader.partitions()
            return partitions, DEFAULT_GENERATION if reader.is_at_end else reader.int32()
        except ProtocolError:
            return (), DEFAULT_GENERATION

    def assign(self, partition_counts: Mapping[str, int], members: Sequence[GroupMemberInfo]) -> Assignment:
        topics = topics_of(members, partition_counts)
        owned = self._owned(partition_counts, members)
        subscriptions = {tuple(sorted(set(member.subscription.topics))) for member in members}
        ids = sorted(member.member_id for member in members)
        partitions = [partition_name(topic, number) for topic in topics for number in range(partition_counts[topic])]
        if len(subscriptions) == 1:
            return _assign_equal(ids, partitions, owned)
        wants = {member.member_id: frozenset(member.subscription.topics) for member in members}
        return assign_general(ids, partitions, owned, wants)

    def _owned(self, partition_counts: Mapping[str, int], members: Sequence[GroupMemberInfo]) -> dict[str, list[str]]:
        """The partitions that each member owned. The newer generation wins; two equal claims cancel each other."""
        claims: dict[str, tuple[int, str | None]] = {}
        for member in sorted(members, key=lambda each: each.member_id):
            partitions, generation_id = self.held(member)
            for name in partitions:
                topic, number = TopicPartition.parse(name)
                if topic not in member.subscription.topics or number >= partition_counts.get(topic, 0):
                    continue
                known = claims.get(name)
                if known is None or generation_id > known[0]:
                    claims[name] = (generation_id, member.member_id)
                elif generation_id == known[0]:
                    claims[name] = (generation_id, None)
        owned: dict[str, list[str]] = {member.member_id: [] for member in members}
        for name, (_, owner) in claims.items():
            if owner is not None:
                owned[owner].append(name)
        return owned


def _assign_equal(ids: list[str], partitions: list[str], owned: dict[str, list[str]]) -> Assignment:
    """Assigns if all members subscribe to the same topics (`ConstrainedAssignmentBuilder`)."""
    least, extra = divmod(len(partitions), len(ids))
    most = least + (1 if extra else 0)
    assignment: Assignment = {}
    under: list[str] = []
    exact: list[str] = []
    over = 0
    for member_id in ids:
        held = sorted(owned[member_id], key=_by_number)
        if len(held) < least:
            assignment[member_id] = held
            under.append(member_id)
        elif len(held) >= most and over < extra:
            assignment[member_id] = held[:most]
            over += 1
            if over == extra:
                exact.clear()
        else:
            assignment[member_id] = held[:least]
            if over < extra:
                exact.append(member_id)
    taken = {name for names in assignment.values() for name in names}
    cursor = 0
    for name in (name for name in partitions if name not in taken):
        if under:
            cursor %= len(under)
            member_id = under[cursor]
            assignment[member_id].append(name)
            if len(assignment[member_id]) >= least:
                under.pop(cursor)
                if over < extra:
                    exact.append(member_id)
            else:
                cursor += 1
        else:
            member_id = exact.pop(0)
            assignment[member_id].append(name)
            over += 1
    return assignment


class CooperativeStickyAssignor(StickyAssignor):
    """Members keep their partitions while they join.

    A partition that changes its owner is first only revoked, and assigned in the next rebalance.
    """

    name = "cooperative-sticky"
    is_cooperative = True

    def user_data(self, owned: Sequence[str]) -> bytes | None:
        return int32(self._generation_id)

    def held(self, member: GroupMemberInfo) -> tuple[tuple[str, ...], int]:
        subscription = member.subscription
        generation_id = subscription.generation_id
        if generation_id == DEFAULT_GENERATION and subscription.user_data and len(subscription.user_data) >= 4:
            generation_id = ProtocolReader(subscription.user_data).int32()
        return subscription.owned, generation_id

    def assign(self, partition_counts: Mapping[str, int], members: Sequence[GroupMemberInfo]) -> Assignment:
        target = super().assign(partition_counts, members)
        holder = {name: member.member_id for member in members for name in member.subscription.owned}
        return {
            member_id: [name for name in sorted_partitions(names) if holder.get(name, member_id) == member_id]
            for member_id, names in target.items()
        }
