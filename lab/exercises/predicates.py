"""Goals of exercises: named predicates over the view. Each answers with a sentence, whether it holds or not.

In `exercise.toml` a goal is a table whose `is` names the predicate and whose other keys are its arguments:

    { is = "high_watermark", replica = "orders-0@leader", equals = "log_end_offset(orders-0@leader)" }

Offsets are compared with one of `equals`, `at_least`, `below`. Of several replicas each one must comply.
"""

from typing import TypeAlias

from broker_core.partitions import replica_name
from lab.exercises.election_predicates import Offline
from lab.exercises.group_predicates import Committed, Group, Owns, ReadAhead
from lab.exercises.log_predicates import Believes, Dumped, Flushed, HighWatermark, LogEndOffset, Stored, Uncommitted
from lab.exercises.message_predicates import Acknowledged, HasRead, Parked, RpcInFlight
from lab.exercises.places import check_node, check_replica, leader_of, node_text, nodes_of
from lab.exercises.predicate import Answer, Moment, Predicate
from lab.exercises.texts import Text


class Paused(Predicate, frozen=True, kw_only=True, tag="paused"):
    """The simulation is paused."""

    def _look(self, moment: Moment) -> Answer:
        if moment.paused:
            return Answer(True, Text("time stands still", "时间静止"))
        return Answer(False, Text("Time is running: pause it.", "时间还在走：请先暂停。"))


class BrokersUp(Predicate, frozen=True, kw_only=True, tag="brokers_up"):
    """So many brokers run, at least."""

    at_least: int

    def _look(self, moment: Moment) -> Answer:
        nodes = moment.view["nodes"].values()
        count = sum(node["kind"] == "broker" and node["state"] == "up" for node in nodes)
        if count >= self.at_least:
            return Answer(True, Text(f"{count} brokers run", f"{count} 个代理在运行"))
        en = f"{count} brokers run; {self.at_least} are wanted."
        return Answer(False, Text(en, f"有 {count} 个代理在运行，需要 {self.at_least} 个。"))


class BrokerIs(Predicate, frozen=True, kw_only=True, tag="broker_is"):
    """A broker is up, or down."""

    broker: str
    state: str

    def __post_init__(self) -> None:
        if self.state not in _STATES:
            raise ValueError(f"{self.state!r} is no state: write {' or '.join(_STATES)}")
        check_node(self.broker)

    def _look(self, moment: Moment) -> Answer:
        name = nodes_of(moment.view, self.broker)[0]
        node, state = node_text(name), moment.view["nodes"][name]["state"]
        wanted = _STATES[self.state]
        if state == self.state:
            return Answer(True, Text(f"{node.en} {wanted.en}", f"{node.zh}{wanted.zh}"))
        en = f"{node.en[0].upper()}{node.en[1:]} {_STATES.get(state, _BETWEEN).en}: it should be {self.state}."
        return Answer(False, Text(en, f"{node.zh}{_STATES.get(state, _BETWEEN).zh}，它应该{wanted.zh}。"))


_STATES = {"up": Text("is up", "在运行"), "down": Text("is down", "已停")}
_BETWEEN = Text("is neither up nor down", "正在变化之中")


class Leader(Predicate, frozen=True, kw_only=True, tag="leader"):
    """The leader of a partition: this broker, or any but that one."""

    partition: str
    broker: str = ""
    other_than: str = ""

    def __post_init__(self) -> None:
        if bool(self.broker) == bool(self.other_than):
            raise ValueError("exactly one of broker, other_than is needed")
        check_replica(f"{self.partition}@leader")
        check_node(self.broker or self.other_than)

    def _look(self, moment: Moment) -> Answer:
        leader = leader_of(moment.view, self.partition)
        if leader == self.broker or (self.other_than and leader != self.other_than):
            return Answer(True, Text(f"{leader} leads {self.partition}", f"{leader} 是 {self.partition} 的首领"))
        node, wanted = node_text(leader), node_text(self.broker or self.other_than)
        zh = f"{self.partition} 的首领是{node.zh}"
        if self.broker:
            en = f"{self.partition} is led by {node.en}; {wanted.en} should lead it."
            return Answer(False, Text(en, f"{zh.strip()}，应该是{wanted.zh}。".replace(" 。", "。")))
        en = f"{self.partition} is still led by {node.en}; another broker should lead it."
        return Answer(False, Text(en, f"{zh.strip()}，应该换成别的代理。"))


class Isr(Predicate, frozen=True, kw_only=True, tag="isr"):
    """How many replicas are in sync, by ZooKeeper and by the leader itself."""

    partition: str
    size: int

    def __post_init__(self) -> None:
        check_replica(f"{self.partition}@leader")

    def _look(self, moment: Moment) -> Answer:
        leader = leader_of(moment.view, self.partition)
        known = moment.view["partitions"][self.partition]["isr"]
        believed = moment.view["replicas"][replica_name(self.partition, leader)]["isr"]
        shown = "{" + ", ".join(str(broker_id) for broker_id in known) + "}"
        if len(known) == len(believed) == self.size:
            return Answer(True, Text(f"ISR {shown}", f"ISR {shown}"))
        wanted = "1 replica in sync is wanted" if self.size == 1 else f"{self.size} replicas in sync are wanted"
        en = f"The ISR of {self.partition} is {shown}; {wanted}."
        return Answer(False, Text(en, f"{self.partition} 的 ISR 是 {shown}，应有 {self.size} 个同步副本。"))


Goal: TypeAlias = (
    Paused
    | LogEndOffset
    | HighWatermark
    | Flushed
    | Stored
    | Acknowledged
    | HasRead
    | Dumped
    | BrokerIs
    | Leader
    | Offline
    | Believes
    | RpcInFlight
    | Parked
    | Uncommitted
    | Isr
    | BrokersUp
    | Group
    | Owns
    | Committed
    | ReadAhead
)
"""Every predicate that content may name."""


def ask_all(goals: list[Goal], moment: Moment) -> Answer:
    """All of them: the first that is not met says why, and the last says what was found.

    That the simulation is paused is not a finding: a learner who paused knows it.
    """
    found = Answer(True, Text("done", "完成"))
    for goal in goals:
        answer = goal.answer(moment)
        if not answer.met:
            return answer
        if not isinstance(goal, Paused):
            found = answer
    return found
