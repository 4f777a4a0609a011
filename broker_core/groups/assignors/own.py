"""Custom assignors: a list of rules, which the leader of a group applies in turn.

Rules are data, so that a run's journal holds them and no user code runs in the lab; they always terminate. As in Kafka,
the assignment is not validated: a partition may have two owners or none, and a member may be unknown.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeAlias

import msgspec

from broker_core.groups.assignors.assignor import Assignment, GroupMemberInfo, topics_of
from broker_core.groups.assignors.sticky import StickyAssignor
from broker_core.partitions import TopicPartition, partition_name, sorted_partitions, topic_of
from broker_core.texts import Text, text

FORMS = (
    "give P[,P2] to MEMBER",
    "keep [N]",
    "members reversed",
    "members first M[,M2]",
    "partitions by topic|by number|reversed",
    "deal one by one|in runs|to the least",
)
"""What a rule may be; P is `orders-0`, `orders-0..3`, `orders-*` or `all`."""
MAX_RULES = 100
MAX_RANGE = 10_000

_UUID = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAMES = r"[A-Za-z0-9._-]+(?:,[A-Za-z0-9._-]+)*"
_PARTITION = r"[A-Za-z0-9._-]+-(?:\*|\d{1,6}(?:\.\.\d{1,6})?)"
_PLACES = rf"(?:all|{_PARTITION}(?:,{_PARTITION})*)"


class RuleError(ValueError):
    """The text is not a list of rules."""

    def __init__(self, message: Text) -> None:
        super().__init__(message)
        self.message = message


class AssignmentDraft:
    """The state of rules: the order of members and of partitions, and the assignment. `held`: previous owners."""

    def __init__(
        self,
        partition_counts: Mapping[str, int],
        members: Sequence[GroupMemberInfo],
        held: Mapping[str, Sequence[str]],
    ) -> None:
        self.members = sorted(members, key=lambda member: member.order)
        topics = topics_of(members, partition_counts)
        self.partitions = [
            partition_name(topic, number) for topic in topics for number in range(partition_counts[topic])
        ]
        self.held = held
        self.assignment: Assignment = {member.member_id: [] for member in members}
        self._taken: set[str] = set()

    def give(self, member_id: str, names: Sequence[str]) -> None:
        """Assigns partitions to a member; other owners also keep them."""
        self.assignment.setdefault(member_id, []).extend(names)
        self._taken.update(names)

    def named(self, word: str) -> list[GroupMemberInfo]:
        """The members named by a word: a client's name, a group.instance.id or a member id."""
        return [
            member
            for member in self.members
            if word in (member.group_instance_id, member.member_id, _UUID.sub("", member.member_id))
        ]

    def free(self) -> list[str]:
        """The unassigned partitions, in order."""
        return [name for name in self.partitions if name not in self._taken]

    def takers(self, name: str) -> list[GroupMemberInfo]:
        """The members that subscribe to a partition's topic."""
        topic = topic_of(name)
        return [member for member in self.members if topic in member.subscription.topics]


def _give(plan: AssignmentDraft, match: re.Match[str]) -> None:
    names: list[str] = []
    for place in match["what"].split(","):
        topic, _, number = place.rpartition("-")
        first, is_range, last = number.partition("..")
        if place == "all":
            names += plan.partitions
        elif number == "*":
            names += [name for name in plan.partitions if topic_of(name) == topic]
        elif is_range:
            names += [
                partition_name(topic, each) for each in range(int(first), min(int(last), int(first) + MAX_RANGE) + 1)
            ]
        else:
            names.append(partition_name(topic, int(number)))
    found = plan.named(match["whom"])
    for member_id in [member.member_id for member in found] or [match["whom"]]:
        plan.give(member_id, names)


def _keep(plan: AssignmentDraft, match: re.Match[str]) -> None:
    most = int(match["most"]) if match["most"] else len(plan.partitions)
    for member in plan.members:
        free = frozenset(plan.free())
        mine = [name for name in plan.held.get(member.member_id, ()) if name in free and member in plan.takers(name)]
        plan.give(member.member_id, mine[:most])


def _members(plan: AssignmentDraft, match: re.Match[str]) -> None:
    if not match["names"]:
        plan.members.reverse()
        return
    first = [member for word in match["names"].split(",") for member in plan.named(word)]
    plan.members = list(dict.fromkeys([*first, *plan.members]))


def _partitions(plan: AssignmentDraft, match: re.Match[str]) -> None:
    if match["by"] == "reversed":
        plan.partitions.reverse()
    elif match["by"] == "by topic":
        plan.partitions.sort(key=TopicPartition.parse)
    else:
        plan.partitions.sort(key=lambda name: TopicPartition.parse(name)[::-1])


def _deal(plan: AssignmentDraft, match: re.Match[str]) -> None:
    free = plan.free()
    if match["how"] == "to the least":
        for name in free:
            if takers := plan.takers(name):
                plan.give(min(takers, key=lambda member: len(plan.assignment[member.member_id])).member_id, [name])
    elif match["how"] == "one by one":
        turn = list(plan.members)
        for name in free:
            takers = plan.takers(name)
            if taker := next((member for member in turn if member in takers), None):
                plan.give(taker.member_id, [name])
                turn.remove(taker)
                turn.append(taker)
    else:
        alike: dict[tuple[str, ...], list[str]] = {}
        for name in free:
            alike.setdefault(tuple(member.member_id for member in plan.takers(name)), []).append(name)
        for ids, names in alike.items():
            each, more = divmod(len(names), max(1, len(ids)))
            for place, member_id in enumerate(ids):
                first = place * each + min(place, more)
                plan.give(member_id, names[first : first + each + (place < more)])


_RULES: tuple[tuple[re.Pattern[str], Callable[[AssignmentDraft, re.Match[str]], None]], ...] = (
    (re.compile(rf"give (?P<what>{_PLACES}) to (?P<whom>[A-Za-z0-9._-]+)"), _give),
    (re.compile(r"keep(?: (?P<most>\d{1,6}))?"), _keep),
    (re.compile(rf"members (?:reversed|first (?P<names>{_NAMES}))"), _members),
    (re.compile(r"partitions (?P<by>by topic|by number|reversed)"), _partitions),
    (re.compile(r"deal (?P<how>one by one|in runs|to the least)"), _deal),
)
Rule: TypeAlias = tuple[Callable[[AssignmentDraft, re.Match[str]], None], re.Match[str]]


def parse_rules(given: str) -> tuple[Rule, ...]:
    """The rules of a text, separated by semicolons. Raises RuleError."""
    rules: list[Rule] = []
    for part in given.split(";"):
        words = " ".join(part.split())
        match = next(((act, found) for pattern, act in _RULES if (found := pattern.fullmatch(words))), None)
        if match is None and words:
            raise RuleError(text("shell.assignor_rule", rule=words))
        if match is not None:
            rules.append(match)
    if not 0 < len(rules) <= MAX_RULES:
        raise RuleError(text("shell.assignor_rule_count", count=len(rules), max=MAX_RULES))
    return tuple(rules)


class Flaws(msgspec.Struct, frozen=True):
    """The flaws of an assignment: partitions with several owners, partitions with none, unknown members."""

    twice: tuple[str, ...]
    nobody: tuple[str, ...]
    strangers: tuple[str, ...]


class OwnAssignor(StickyAssignor):
    """Applies its rules; a member's previous assignment is in its user data, as with the sticky assignor. Raises
    RuleError for invalid rules.
    """

    name: ClassVar[str] = "own"

    def __init__(self, rules: str) -> None:
        super().__init__()
        parse_rules(rules)
        #: as text: a checkpoint of the cluster holds it
        self._rules = rules

    def assign(self, partition_counts: Mapping[str, int], members: Sequence[GroupMemberInfo]) -> Assignment:
        plan = AssignmentDraft(
            partition_counts, members, {member.member_id: self.held(member)[0] for member in members}
        )
        for act, match in parse_rules(self._rules):
            act(plan, match)
        return plan.assignment


def flaws_of(plan: Assignment, partition_counts: Mapping[str, int], members: Sequence[GroupMemberInfo]) -> Flaws:
    """The flaws of an assignment, which Kafka does not check."""
    ids = {member.member_id for member in members}
    had = Counter(name for member_id, names in plan.items() if member_id in ids for name in set(names))
    wanted = [
        partition_name(topic, n)
        for topic in topics_of(members, partition_counts)
        for n in range(partition_counts[topic])
    ]
    return Flaws(
        tuple(sorted_partitions(name for name, owners in had.items() if owners > 1)),
        tuple(name for name in wanted if name not in had),
        tuple(sorted(set(plan) - ids)),
    )
