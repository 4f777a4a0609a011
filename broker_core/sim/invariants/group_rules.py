"""I-GROUP and I-COOP: the owners of partitions in a consumer group, by generation.

The state of a group is that of its newest coordinator: events of a fenced one that is not aware of it are ignored,
because it can no longer store anything.
"""

from collections import Counter

from broker_core.events import group, world
from broker_core.sim.invariants.catalogue import OWN_ASSIGNOR, Explanation, message
from broker_core.sim.invariants.checker import Checker, watches
from broker_core.sim.invariants.shadow import ShadowClient, ShadowGroup, ShadowMember

_TWO_OWNERS = "violation.group_two_owners"
_NOT_NEXT = "violation.group_not_next"
_WENT_BACK = "violation.group_went_back"
_STRANGE_COMMIT = "violation.group_strange_commit"
_OWNED_TWICE = "violation.group_owned_twice"


_OWN_ASSIGNOR = "cause.group_own_assignor"


@watches(group.AssignmentPlanned)
def planned(checker: Checker, event: group.AssignmentPlanned) -> None:
    shadow = checker.groups.get(event.group)
    if shadow is None or not event.twice:
        return
    words = message(_OWN_ASSIGNOR, group=event.group, assignor=event.assignor, partitions=", ".join(event.twice))
    setting = f"partition.assignment.strategy={event.assignor}"
    for name in (shadow.partition, *event.twice):
        excuses = checker.partition(name).excuses
        excuses[OWN_ASSIGNOR] = Explanation(OWN_ASSIGNOR, words, setting, checker.seq)


@watches(group.GroupsLoaded)
def loaded(checker: Checker, event: group.GroupsLoaded) -> None:
    known = checker.coordinators.get(event.partition, (-1, ""))
    checker.coordinators[event.partition] = max(known, (event.leader_epoch, event.broker))


def _known(checker: Checker, name: str, broker: str) -> ShadowGroup | None:
    """The group, if this broker is its newest coordinator."""
    shadow = checker.groups.get(name)
    return shadow if shadow is not None and _is_newest(checker, shadow.partition, broker) else None


def _is_newest(checker: Checker, partition: str, broker: str) -> bool:
    return checker.coordinators.get(partition, (-1, broker))[1] == broker


@watches(group.GroupTransitioned)
def transitioned(checker: Checker, event: group.GroupTransitioned) -> None:
    """I-GROUP: generations."""
    if not _is_newest(checker, event.partition, event.broker):
        return
    generation = event.generation_id
    known = checker.groups.get(event.group)
    if not event.from_state:
        stored = 0 if known is None else known.stable_generation
        shadow = checker.groups[event.group] = ShadowGroup(event.partition, generation, stored)
        if generation < stored:
            _generation_decreased(checker, event.group, shadow)
        return
    if known is None:
        return
    before, known.generation_id = known.generation_id, generation
    if event.to_state == "Dead":
        del checker.groups[event.group]
    elif event.to_state in ("CompletingRebalance", "Empty"):
        if generation != before + 1:
            checker.violated(
                "I-GROUP", event.partition, _NOT_NEXT, group=event.group, generation=generation, before=before
            )
    elif event.to_state == "Stable":
        if generation <= known.stable_generation:
            _generation_decreased(checker, event.group, known)
        known.stable_generation = generation


def _generation_decreased(checker: Checker, name: str, shadow: ShadowGroup) -> None:
    checker.violated(
        "I-GROUP",
        shadow.partition,
        _WENT_BACK,
        group=name,
        generation=shadow.generation_id,
        before=shadow.stable_generation,
    )


@watches(group.GroupMemberAdded)
def member_added(checker: Checker, event: group.GroupMemberAdded) -> None:
    shadow = _known(checker, event.group, event.broker)
    if shadow is not None:
        shadow.members[event.member] = ShadowMember(event.client, bool(event.instance) or event.is_nameless)


@watches(group.GroupMemberReplaced)
def member_replaced(checker: Checker, event: group.GroupMemberReplaced) -> None:
    shadow = _known(checker, event.group, event.broker)
    if shadow is not None:
        shadow.members.pop(event.old_member, None)
        shadow.members[event.member] = ShadowMember(event.client, True)


@watches(group.GroupMemberRemoved)
def member_removed(checker: Checker, event: group.GroupMemberRemoved) -> None:
    shadow = _known(checker, event.group, event.broker)
    if shadow is not None:
        shadow.members.pop(event.member, None)


@watches(group.GroupAssigned)
def assigned(checker: Checker, event: group.GroupAssigned) -> None:
    """I-GROUP: one owner for each partition."""
    shadow = _known(checker, event.group, event.broker)
    if shadow is None:
        return
    owners = Counter(partition for _, partitions in event.assignments for partition in partitions)
    for partition, count in owners.items():
        if count > 1:
            checker.violated(
                "I-GROUP",
                shadow.partition,
                _TWO_OWNERS,
                group=event.group,
                generation=event.generation_id,
                partition=partition,
            )


@watches(group.OffsetCommitAccepted)
def commit_accepted(checker: Checker, event: group.OffsetCommitAccepted) -> None:
    """I-GROUP: only the current generation commits; a commit without membership has a negative generation."""
    shadow = _known(checker, event.group, event.broker)
    if shadow is not None and 0 <= event.generation_id != shadow.generation_id:
        checker.violated(
            "I-GROUP",
            shadow.partition,
            _STRANGE_COMMIT,
            group=event.group,
            generation=shadow.generation_id,
            committed=event.generation_id,
        )


@watches(group.ConsumerStateChanged)
def consumer_changed(checker: Checker, event: group.ConsumerStateChanged) -> None:
    client = checker.members.setdefault(event.client, ShadowClient())
    client.member_id, client.generation_id = event.member_id, event.generation_id


@watches(group.ConsumerAssigned)
def consumer_assigned(checker: Checker, event: group.ConsumerAssigned) -> None:
    """I-COOP: partitions assigned to a member are not owned by another member of its generation."""
    for name in event.revoked:
        checker.positions.pop((event.client, name), None)
    client = checker.members.setdefault(event.client, ShadowClient())
    taken = [name for name in event.partitions if name not in client.owned]
    client.owned = event.partitions
    for name, shadow in checker.groups.items():
        if taken and client.member_id in shadow.members:
            for other, partition in _others_with(checker, shadow, event.client, taken):
                checker.violated(
                    "I-COOP", partition, _OWNED_TWICE, group=name, client=event.client, other=other, partition=partition
                )


def _others_with(checker: Checker, shadow: ShadowGroup, client: str, taken: list[str]) -> list[tuple[str, str]]:
    """(client, partition) of the group's other members that own one of these.

    A static member that has not rejoined keeps its membership and may not know the generation yet.
    """
    found = []
    for member_id, member in shadow.members.items():
        other = checker.members.get(member.client)
        if other is None or member.client == client or other.member_id != member_id:
            continue
        if member.is_static and other.generation_id != shadow.generation_id:
            continue
        found += [(member.client, partition) for partition in taken if partition in other.owned]
    return found


@watches(world.NodeRemoved)
def node_removed(checker: Checker, event: world.NodeRemoved) -> None:
    """Removes the ownership of a dead process."""
    checker.members.pop(event.node, None)
