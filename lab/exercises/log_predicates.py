"""Goals about the logs of replicas and their files."""

from broker_core.partitions import ReplicaId, broker_node, replica_name
from broker_core.view.tree import View
from lab.exercises.dumps import dumps, file_name, floor_segment
from lab.exercises.places import (
    WORDS,
    check_node,
    check_replica,
    leader_of,
    node_text,
    nodes_of,
    replicas_of,
    value_of,
)
from lab.exercises.predicate import Answer, Compared, Moment, Predicate
from lab.exercises.texts import Text


class LogEndOffset(Compared, frozen=True, kw_only=True, tag="log_end_offset"):
    """How far the logs of replicas reach."""

    replica: str

    def __post_init__(self) -> None:
        check_replica(self.replica)
        super().__post_init__()

    def _look(self, moment: Moment) -> Answer:
        return _all_replicas(self, moment.view, self.replica, "log_end_offset")


class HighWatermark(Compared, frozen=True, kw_only=True, tag="high_watermark"):
    """The high watermark that replicas themselves hold."""

    replica: str

    def __post_init__(self) -> None:
        check_replica(self.replica)
        super().__post_init__()

    def _look(self, moment: Moment) -> Answer:
        return _all_replicas(self, moment.view, self.replica, "high_watermark")


class Flushed(Compared, frozen=True, kw_only=True, tag="flushed"):
    """The recovery point of replicas: offsets below it were fsynced."""

    replica: str

    def __post_init__(self) -> None:
        check_replica(self.replica)
        super().__post_init__()

    def _look(self, moment: Moment) -> Answer:
        return _all_replicas(self, moment.view, self.replica, "flushed")


class Stored(Compared, frozen=True, kw_only=True, tag="stored"):
    """How far the batches in the files of replicas reach, whether their brokers run or not."""

    replica: str

    def __post_init__(self) -> None:
        check_replica(self.replica)
        super().__post_init__()

    def _look(self, moment: Moment) -> Answer:
        return _all_replicas(self, moment.view, self.replica, "stored")


def _all_replicas(goal: Compared, view: View, reference: str, what: str) -> Answer:
    word = WORDS[what]
    found = []
    for name in replicas_of(view, reference):
        value = value_of(view, what, name)
        node = node_text(ReplicaId.parse(name).node)
        complies, wanted = goal._complies(view, value)
        if not complies:
            en = f"The {word.en} of {node.en} is {value}; {wanted.en}."
            return Answer(False, Text(en, f"{node.zh}的{word.zh}是 {value}，{wanted.zh}。"))
        found.append(f"{ReplicaId.parse(name).node} {value}")
    return Answer(True, Text(f"{word.en}: {', '.join(found)}", f"{word.zh}：{'，'.join(found)}"))


class Uncommitted(Predicate, frozen=True, kw_only=True, tag="uncommitted"):
    """How many offsets of the leader's log lie at or above its high watermark."""

    partition: str
    equals: int

    def __post_init__(self) -> None:
        check_replica(f"{self.partition}@leader")

    def _look(self, moment: Moment) -> Answer:
        leader = leader_of(moment.view, self.partition)
        replica = moment.view["replicas"][replica_name(self.partition, leader)]
        end, high_watermark = replica["log_end_offset"], replica["high_watermark"]
        if end - high_watermark == self.equals:
            said = f"{leader}: LEO {end}, HW {high_watermark}"
            return Answer(True, Text(said, said))
        node, count = node_text(leader), end - high_watermark
        en = f"The leader, {node.en}, has {count} offsets of {self.partition} above its HW; {self.equals} wanted."
        zh = f"首领（{node.zh.strip()}）上 {self.partition} 的高水位之上有 {count} 个位移，应为 {self.equals} 个。"
        return Answer(False, Text(en, zh))


class Believes(Compared, frozen=True, kw_only=True, tag="believes"):
    """The remote log end offsets that the leader of a partition keeps of its followers; -1 while unknown."""

    partition: str
    follower: str

    def __post_init__(self) -> None:
        check_replica(f"{self.partition}@leader")
        check_node(self.follower)
        super().__post_init__()

    def _look(self, moment: Moment) -> Answer:
        view = moment.view
        leader = leader_of(view, self.partition)
        remotes = view["replicas"][replica_name(self.partition, leader)]["remotes"]
        says = node_text(leader)
        found = []
        for follower in nodes_of(view, self.follower):
            if follower not in remotes:
                en = f"{says.en} has no follower {follower}."
                return Answer(False, Text(en, f"{says.zh}没有跟随者 {follower}。"))
            value = remotes[follower]["log_end_offset"]
            complies, wanted = self._complies(view, value)
            if not complies:
                other = node_text(follower)
                en = f"The leader, {says.en}, believes that the log of {other.en} ends at {value}; {wanted.en}."
                zh = f"首领（{says.zh.strip()}）认为{other.zh}的日志末端为 {value}，{wanted.zh}。"
                return Answer(False, Text(en, zh))
            found.append(f"{follower} {value}")
        en = f"{leader} believes: {', '.join(found)}"
        return Answer(True, Text(en, f"{leader} 认为：{'，'.join(found)}"))


class Dumped(Predicate, frozen=True, kw_only=True, tag="dumped"):
    """The learner has dumped the file of a segment: that which holds an offset."""

    replica: str
    holds: int
    kind: str

    def __post_init__(self) -> None:
        if self.kind not in ("log", "index", "timeindex"):
            raise ValueError(f"{self.kind!r} is no kind of file: write log, index or timeindex")
        check_replica(self.replica)

    def _look(self, moment: Moment) -> Answer:
        replica = replicas_of(moment.view, self.replica)[0]
        segments = moment.view["replicas"][replica]["segments"]
        found = [dump for dump in dumps(moment.view) if dump.replica == replica and dump.kind == self.kind]
        floor = floor_segment(segments, self.holds)
        if any(dump.segment == floor for dump in found):
            return Answer(True, Text(file_name(floor, self.kind), file_name(floor, self.kind)))
        if not found:
            partition, broker_id = ReplicaId.parse(replica)
            node = node_text(broker_node(broker_id))
            en = f"No .{self.kind} of {partition} on {node.en} was dumped yet."
            return Answer(False, Text(en, f"还没有打印过{node.zh}上 {partition} 的 .{self.kind} 文件。"))
        name = file_name(found[0].segment, self.kind)
        if found[0].segment > self.holds:
            en = f"{name} begins above {self.holds}: it cannot hold it."
            return Answer(False, Text(en, f"{name} 的起点已经大于 {self.holds}，{self.holds} 不可能在里面。"))
        en = f"{name} begins below {self.holds}, but another segment that does so, too, comes after it."
        return Answer(False, Text(en, f"{name} 的起点不大于 {self.holds}，但它后面还有一个日志段也是如此。"))
