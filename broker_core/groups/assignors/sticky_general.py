"""The sticky assignors if members subscribe to different topics (`GeneralAssignmentBuilder`)."""

from collections.abc import Mapping

from broker_core.groups.assignors.assignor import Assignment
from broker_core.partitions import TopicPartition, topic_of


def assign_general(
    ids: list[str], partitions: list[str], owned: Mapping[str, list[str]], wants: Mapping[str, frozenset[str]]
) -> Assignment:
    """Keeps owned partitions, assigns the rest to the least-loaded members, then moves partitions to balance."""
    plan = _Plan(ids, partitions, owned, wants)
    plan.assign_unowned()
    plan.balance()
    return plan.assignment


class _Plan:
    def __init__(
        self, ids: list[str], partitions: list[str], owned: Mapping[str, list[str]], wants: Mapping[str, frozenset[str]]
    ) -> None:
        topics = {topic_of(name) for name in partitions}
        self.takers = {topic: [each for each in ids if topic in wants[each]] for topic in topics}
        self.wants = wants
        self.partitions = sorted(
            partitions, key=lambda name: (len(self.takers[topic_of(name)]), *TopicPartition.parse(name))
        )
        self.assignment: Assignment = {each: list(owned[each]) for each in ids}
        self.owner = {name: each for each in ids for name in owned[each]}
        self.before = dict(self.owner)
        self.ids = ids
        self.totals = {each: sum(1 for name in partitions if topic_of(name) in wants[each]) for each in ids}
        self.moves: list[tuple[str, str, str]] = []

    def _takers(self, name: str) -> list[str]:
        return self.takers[topic_of(name)]

    def _least(self, members: list[str]) -> str:
        return min(members, key=lambda each: (len(self.assignment[each]), each))

    def _set(self, name: str, member_id: str) -> None:
        old = self.owner.get(name)
        if old is not None:
            self.assignment[old].remove(name)
        self.assignment[member_id].append(name)
        self.owner[name] = member_id

    def assign_unowned(self) -> None:
        """Assigns the partitions without an owner."""
        for name in self.partitions:
            if name not in self.owner and self._takers(name):
                self._set(name, self._least(self._takers(name)))

    def balance(self) -> None:
        """Moves partitions with several candidates; reverts that if the balance is not better."""
        fresh = [name for name in self.partitions if name not in self.before]
        held = {each: list(names) for each, names in self.assignment.items()}
        movable = [name for name in self.partitions if len(self._takers(name)) > 1]
        members = [each for each in self.ids if any(each in self._takers(name) for name in movable)]
        score = self._score(members)
        if not any(self.before.values()):
            self._move(movable, members)
        else:
            self._move([name for name in movable if name in fresh], members)
            self._move(movable, members)
        if self.before and self._score(members) >= score and held != self.assignment:
            self.assignment = held

    def _score(self, members: list[str]) -> int:
        """The sum of the differences between any two members."""
        sizes = [len(self.assignment[each]) for each in members]
        return sum(abs(a - b) for index, a in enumerate(sizes) for b in sizes[index + 1 :])

    def _is_balanced(self, members: list[str]) -> bool:
        sizes = [len(self.assignment[each]) for each in members]
        if not sizes or max(sizes) - min(sizes) <= 1:
            return True
        for each in members:
            mine = len(self.assignment[each])
            if mine == self.totals[each]:
                continue
            for name in self.partitions:
                owner = self.owner.get(name)
                could_take = each in self._takers(name) and owner is not None and owner != each
                if could_take and len(self.assignment[owner or ""]) > mine + 1:
                    return False
        return True

    def _move(self, names: list[str], members: list[str]) -> None:
        has_moved = True
        while has_moved:
            has_moved = False
            for name in names:
                if self._is_balanced(members):
                    return
                owner = self.owner[name]
                mine = len(self.assignment[owner])
                previous = self.before.get(name)
                if previous is not None and previous != owner and mine > len(self.assignment[previous]) + 1:
                    self._transfer(name, previous)
                    has_moved = True
                elif any(mine > len(self.assignment[each]) + 1 for each in self._takers(name)):
                    self._transfer(name, self._least(self._takers(name)))
                    has_moved = True

    def _transfer(self, name: str, member_id: str) -> None:
        """Replaces two opposite moves of a topic's partitions by a reversal of one."""
        owner = self.owner[name]
        topic = topic_of(name)
        back = [move for move in self.moves if move[1:] == (member_id, owner)]
        opposite = next((move for move in back if topic_of(move[0]) == topic), None)
        if opposite is not None and self.owner[opposite[0]] == owner:
            self.moves.remove(opposite)
            self._set(opposite[0], member_id)
            return
        self.moves.append((name, owner, member_id))
        self._set(name, member_id)
