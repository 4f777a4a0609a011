"""`RangeAssignor`: assigns a range of consecutive partitions of each topic to each member."""

from collections.abc import Mapping, Sequence

from broker_core.groups.assignors.assignor import Assignment, Assignor, GroupMemberInfo, topics_of
from broker_core.partitions import partition_name


class RangeAssignor(Assignor):
    """The first members get one partition more if the partitions of a topic do not divide evenly."""

    name = "range"

    def assign(self, partition_counts: Mapping[str, int], members: Sequence[GroupMemberInfo]) -> Assignment:
        assignment: Assignment = {member.member_id: [] for member in members}
        ordered = sorted(members, key=lambda member: member.order)
        for topic in topics_of(members, partition_counts):
            takers = [member for member in ordered if topic in member.subscription.topics]
            each, more = divmod(partition_counts[topic], len(takers))
            first = 0
            for index, member in enumerate(takers):
                count = each + (index < more)
                assignment[member.member_id] += [
                    partition_name(topic, number) for number in range(first, first + count)
                ]
                first += count
        return assignment
