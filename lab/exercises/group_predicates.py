"""Goals about consumer groups."""

from lab.exercises.places import check_committed, check_node, committed, group_of, owned, read
from lab.exercises.predicate import Answer, Compared, Moment, Predicate
from lab.exercises.texts import Text


class Group(Predicate, frozen=True, kw_only=True, tag="group"):
    """A group has this number of members and is stable: Stable, or Empty (or unknown) for none."""

    group: str
    members: int

    def _look(self, moment: Moment) -> Answer:
        found = group_of(moment.view, self.group)
        state, count = ("Empty", 0) if found is None else (found["state"], len(found["members"]))
        if count == self.members and state == ("Stable" if count else "Empty"):
            return Answer(
                True, Text(f"{self.group}: {state}, {count} members", f"{self.group}：{state}，{count} 个成员")
            )
        en = f"Group {self.group} is {state} with {count} members; {self.members} at rest are wanted."
        return Answer(
            False, Text(en, f"组 {self.group} 处于 {state}，有 {count} 个成员；应有 {self.members} 个且已稳定。")
        )


class Owns(Predicate, frozen=True, kw_only=True, tag="owns"):
    """A member has this number of partitions."""

    client: str
    partitions: int

    def __post_init__(self) -> None:
        check_node(self.client)

    def _look(self, moment: Moment) -> Answer:
        count = owned(moment.view, self.client)
        if count == self.partitions:
            return Answer(True, Text(f"{self.client} owns {count}", f"{self.client} 拥有 {count} 个"))
        en = f"{self.client} owns {count} partitions; {self.partitions} are wanted."
        return Answer(False, Text(en, f"{self.client} 拥有 {count} 个分区，应为 {self.partitions} 个。"))


class Committed(Compared, frozen=True, kw_only=True, tag="committed"):
    """What a group has committed, as `desk@orders-0`."""

    of: str

    def __post_init__(self) -> None:
        check_committed(self.of)
        super().__post_init__()

    def _look(self, moment: Moment) -> Answer:
        name, partition = self.of.split("@")
        value = committed(moment.view, name, partition)
        complies, wanted = self._complies(moment.view, value)
        if complies:
            return Answer(
                True, Text(f"{name}: {partition} committed at {value}", f"{name}：{partition} 已提交 {value}")
            )
        if value < 0:
            en = f"{name} has committed nothing of {partition} yet."
            return Answer(False, Text(en, f"{name} 还没有提交 {partition} 的位移。"))
        en = f"{name} has committed {partition} at {value}; {wanted.en}."
        return Answer(False, Text(en, f"{name} 在 {partition} 上已提交 {value}，{wanted.zh}。"))


class ReadAhead(Predicate, frozen=True, kw_only=True, tag="read_ahead"):
    """A consumer has read further than its group has committed."""

    client: str
    of: str

    def __post_init__(self) -> None:
        check_node(self.client)
        check_committed(self.of)

    def _look(self, moment: Moment) -> Answer:
        position = read(moment.view, "position", self.client)
        value = committed(moment.view, *self.of.split("@"))
        if position > value:
            return Answer(True, Text(f"position {position}, committed {value}", f"消费位置 {position}，已提交 {value}"))
        en = f"{self.client} stands at {position}, and {value} is committed: it should be ahead."
        return Answer(False, Text(en, f"{self.client} 的消费位置是 {position}，已提交 {value}：位置应在前面。"))
