"""A preview of the assignment of each assignor for the current group."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from broker_core.groups.assignors import ASSIGNORS, Assignor, GroupMemberInfo, OwnAssignor
from broker_core.groups.assignors.assignor import Assignment
from broker_core.groups.assignors.own import RuleError as RuleError
from broker_core.groups.consumer_protocol import Subscription
from broker_core.partitions import sorted_partitions

MAX_ROUNDS = 4


class PreviewMember(msgspec.Struct, frozen=True):
    """The current state of a member: what it subscribes to, and what it owns."""

    id: str
    instance: str
    topics: tuple[str, ...]
    owned: tuple[str, ...]


class Preview(msgspec.Struct, frozen=True):
    """A plan. `rounds`: rebalances until it is stable; `moved`: partitions that get another owner; `stopped`: those
    without a reader during the rebalance, although their owner may keep them.
    """

    assignor: str
    assignment: Assignment
    rounds: int
    moved: list[str]
    stopped: list[str]


def previews(
    partition_counts: Mapping[str, int],
    members: Sequence[PreviewMember],
    generation_id: int,
    own: Mapping[str, str],
) -> list[Preview]:
    """A plan by each assignor, from the same current assignment. Assigned partitions of deleted topics do not count.
    `own`: rules of custom assignors, by name. Raises RuleError.
    """
    makers: dict[str, Callable[[], Assignor]] = {**ASSIGNORS}
    makers |= {name: partial(OwnAssignor, rules) for name, rules in own.items()}
    return [_preview(name, make, partition_counts, members, generation_id) for name, make in makers.items()]


def _preview(
    name: str,
    make: Callable[[], Assignor],
    partition_counts: Mapping[str, int],
    members: Sequence[PreviewMember],
    generation_id: int,
) -> Preview:
    is_cooperative = make().is_cooperative
    before = {partition: member.id for member in members for partition in member.owned}
    owned: Assignment = {member.id: list(member.owned) for member in members}
    rounds = 0
    if members:
        for rounds in range(1, MAX_ROUNDS + 1):
            plan = _round(make, partition_counts, members, owned, generation_id + rounds - 1)
            is_over = not is_cooperative or not _gives_up(owned, plan)
            owned = plan
            if is_over:
                break
    after = {partition: member_id for member_id, partitions in owned.items() for partition in partitions}
    moved = [partition for partition in before if after.get(partition) != before[partition]]
    stopped = moved if is_cooperative else list(before)
    return Preview(name, owned, rounds, sorted_partitions(moved), sorted_partitions(stopped))


def _round(
    make: Callable[[], Assignor],
    partition_counts: Mapping[str, int],
    members: Sequence[PreviewMember],
    owned: Assignment,
    generation_id: int,
) -> Assignment:
    leader = make()
    infos = []
    for member in members:
        held = tuple(sorted_partitions(owned[member.id]))
        own = make()
        own.on_assignment(held, generation_id)
        kept = held if own.is_cooperative else ()
        subscription = Subscription(member.topics, own.user_data(held), kept, generation_id if kept else -1)
        infos.append(GroupMemberInfo(member.id, member.instance or None, subscription))
    plan = leader.assign(partition_counts, infos)
    return {member.id: sorted_partitions(plan.get(member.id, [])) for member in members}


def _gives_up(owned: Assignment, plan: Assignment) -> bool:
    """Whether a member has to revoke partitions: then another rebalance follows immediately."""
    return any(set(owned[member_id]).difference(plan[member_id]) for member_id in owned)
