"""The interface of assignors."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from broker_core.groups.consumer_protocol import Subscription

Assignment = dict[str, list[str]]
"""Member id -> topic-partitions."""


class GroupMemberInfo(msgspec.Struct, frozen=True):
    """A member as seen by the leader."""

    member_id: str
    group_instance_id: str | None
    subscription: Subscription

    @property
    def order(self) -> tuple[bool, str]:
        """Static members first, by their instance ids; then the rest by member id (`MemberInfo.compareTo`)."""
        instance = self.group_instance_id
        return (instance is None, self.member_id if instance is None else instance)


class Assignor:
    """An assignor of one member. It may store the last assignment."""

    name: ClassVar[str]
    is_cooperative: ClassVar[bool] = False

    def user_data(self, owned: Sequence[str]) -> bytes | None:
        """The user data that a member sends to the leader's assignor."""
        return None

    def on_assignment(self, partitions: tuple[str, ...], generation_id: int) -> None:
        """Called with the member's new assignment."""

    def assign(self, partition_counts: Mapping[str, int], members: Sequence[GroupMemberInfo]) -> Assignment:
        """Assigns the partitions of the topics. Topics that do not exist are not in `partition_counts`."""
        raise NotImplementedError


def topics_of(members: Sequence[GroupMemberInfo], partition_counts: Mapping[str, int]) -> list[str]:
    """The existing topics with subscribers, sorted."""
    wanted = {topic for member in members for topic in member.subscription.topics}
    return sorted(topic for topic in wanted if partition_counts.get(topic, 0))
