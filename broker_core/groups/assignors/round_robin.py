"""`RoundRobinAssignor`: assigns all partitions of all topics in turn."""

from collections.abc import Mapping, Sequence

from broker_core.groups.assignors.assignor import Assignment, Assignor, GroupMemberInfo, topics_of
from broker_core.partitions import partition_name


class RoundRobinAssignor(Assignor):
    """Skips members that are not subscribed to a partition's topic."""

    name = "roundrobin"

    def assign(self, partition_counts: Mapping[str, int], members: Sequence[GroupMemberInfo]) -> Assignment:
        assignment: Assignment = {member.member_id: [] for member in members}
        ordered = sorted(members, key=lambda member: member.order)
        cursor = 0
        for topic in topics_of(members, partition_counts):
            for number in range(partition_counts[topic]):
                while topic not in ordered[cursor].subscription.topics:
                    cursor = (cursor + 1) % len(ordered)
                assignment[ordered[cursor].member_id].append(partition_name(topic, number))
                cursor = (cursor + 1) % len(ordered)
        return assignment
