"""Goals of exercises: named predicates over the view. Each answers with a sentence, whether it holds or not.

In `exercise.toml` a goal is a table whose `is` names the predicate and whose other keys are its arguments:

    { is = "high_watermark", replica = "orders-0@leader", equals = "log_end_offset(orders-0@leader)" }

Offsets are compared with one of `equals`, `at_least`, `below`. Of several replicas each one must comply.
"""

from typing import NamedTuple, TypeAlias

import msgspec

from lab.exercises.places import (
    Nowhere,
    Offset,
    View,
    check_node,
    check_offset,
    check_replica,
    leader_of,
    node_text,
    nodes_of,
    offset_of,
    replicas_of,
)
from lab.exercises.texts import Text


class Moment(NamedTuple):
    """What a learner has in front: the newest view, its instant, and whether time stands still."""

    view: View
    at_us: int
    paused: bool


class Answer(NamedTuple):
    """`says`: what is there when the goal is met, and what is missing when it is not."""

    met: bool
    says: Text


class Predicate(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", forbid_unknown_fields=True):
    """A goal with its arguments."""

    def answer(self, moment: Moment) -> Answer:
        """Whether it holds now, in a sentence."""
        try:
            return self._look(moment)
        except Nowhere as nowhere:
            return Answer(False, nowhere.why)

    def _look(self, moment: Moment) -> Answer:
        raise NotImplementedError


class Compared(Predicate, frozen=True, kw_only=True):
    """A goal that compares an offset."""

    equals: Offset | None = None
    at_least: Offset | None = None
    below: Offset | None = None

    def __post_init__(self) -> None:
        given = [bound for bound in (self.equals, self.at_least, self.below) if bound is not None]
        if len(given) != 1:
            raise ValueError("exactly one of equals, at_least, below is needed")
        check_offset(given[0])

    def _complies(self, view: View, value: int) -> tuple[bool, Text]:
        """Whether a value complies, and what it should be."""
        if self.equals is not None:
            bound = offset_of(view, self.equals)
            return value == bound, Text(f"{bound} is wanted", f"应为 {bound}")
        if self.at_least is not None:
            bound = offset_of(view, self.at_least)
            return value >= bound, Text(f"at least {bound} is wanted", f"至少应为 {bound}")
        assert self.below is not None
        bound = offset_of(view, self.below)
        return value < bound, Text(f"less than {bound} is wanted", f"应小于 {bound}")


class Paused(Predicate, frozen=True, kw_only=True, tag="paused"):
    """Time stands still."""

    def _look(self, moment: Moment) -> Answer:
        if moment.paused:
            return Answer(True, Text("time stands still", "时间静止"))
        return Answer(False, Text("Time is running: pause it.", "时间还在走：请先暂停。"))


class LogEndOffset(Compared, frozen=True, kw_only=True, tag="log_end_offset"):
    """How far the logs of replicas reach."""

    replica: str

    def __post_init__(self) -> None:
        check_replica(self.replica)
        super().__post_init__()

    def _look(self, moment: Moment) -> Answer:
        return _all_replicas(self, moment.view, self.replica, "log_end_offset", Text("log end offset", "日志末端位移"))


class HighWatermark(Compared, frozen=True, kw_only=True, tag="high_watermark"):
    """The high watermark that replicas themselves hold."""

    replica: str

    def __post_init__(self) -> None:
        check_replica(self.replica)
        super().__post_init__()

    def _look(self, moment: Moment) -> Answer:
        return _all_replicas(self, moment.view, self.replica, "high_watermark", Text("high watermark", "高水位"))


def _all_replicas(goal: Compared, view: View, reference: str, field: str, word: Text) -> Answer:
    found = []
    for name in replicas_of(view, reference):
        value = view["replicas"][name][field]
        node = node_text(name.rpartition("@")[2])
        complies, wanted = goal._complies(view, value)
        if not complies:
            en = f"The {word.en} of {node.en} is {value}; {wanted.en}."
            return Answer(False, Text(en, f"{node.zh}的{word.zh}是 {value}，{wanted.zh}。"))
        found.append(f"{name.rpartition('@')[2]} {value}")
    return Answer(True, Text(f"{word.en}: {', '.join(found)}", f"{word.zh}：{'，'.join(found)}"))


class Believes(Compared, frozen=True, kw_only=True, tag="believes"):
    """What the leader of a partition believes of its followers' log end offsets; -1 while it knows nothing."""

    partition: str
    follower: str

    def __post_init__(self) -> None:
        check_replica(f"{self.partition}@leader")
        check_node(self.follower)
        super().__post_init__()

    def _look(self, moment: Moment) -> Answer:
        view = moment.view
        leader = leader_of(view, self.partition)
        remotes = view["replicas"][f"{self.partition}@{leader}"]["remotes"]
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


class RpcInFlight(Predicate, frozen=True, kw_only=True, tag="rpc_in_flight"):
    """A message is under way. With several sources, one from each."""

    api: str
    kind: str
    source: str
    destination: str

    def __post_init__(self) -> None:
        if self.kind not in ("request", "response"):
            raise ValueError(f"{self.kind!r} is no kind of message: write request or response")
        check_node(self.source)
        check_node(self.destination)

    def under_way(self, view: View) -> dict[str, str]:
        """The messages of this kind that are under way: id and source. Raises Nowhere."""
        sources, destinations = nodes_of(view, self.source), nodes_of(view, self.destination)
        return {
            name: rpc["source"]
            for name, rpc in view["rpcs"].items()
            if (rpc["api"], rpc["kind"]) == (self.api, self.kind)
            and rpc["source"] in sources
            and rpc["destination"] in destinations
        }

    def _look(self, moment: Moment) -> Answer:
        view = moment.view
        under_way = self.under_way(view)
        labels = []
        for source in nodes_of(view, self.source):
            name = next((name for name, sender in under_way.items() if sender == source), None)
            if name is None:
                one, other = node_text(source), node_text(nodes_of(view, self.destination)[0])
                en = f"No {self.api} {self.kind} is under way from {one.en} to {other.en}."
                kind = {"request": "请求", "response": "响应"}[self.kind]
                return Answer(False, Text(en, f"{one.zh}到{other.zh}之间没有在途的 {self.api} {kind}。"))
            labels.append(f"{source} {view['rpcs'][name]['label']}")
        return Answer(True, Text(f"under way: {', '.join(labels)}", f"在途：{'，'.join(labels)}"))


class Parked(Predicate, frozen=True, kw_only=True, tag="parked"):
    """A request waits in the purgatory of a partition's leader."""

    api: str
    partition: str

    def __post_init__(self) -> None:
        if self.api not in ("Produce", "Fetch"):
            raise ValueError(f"{self.api!r} is never parked: write Produce or Fetch")
        check_replica(f"{self.partition}@leader")

    def _look(self, moment: Moment) -> Answer:
        view = moment.view
        leader = leader_of(view, self.partition)
        for request in view["parked"].values():
            if (request["broker"], request["api"]) == (leader, self.api) and self.partition in request["partitions"]:
                en = f"{self.api} of {request['client']} waits at {leader}: {request['needs']}"
                return Answer(True, Text(en, f"{request['client']} 的 {self.api} 在 {leader} 等待：{request['needs']}"))
        node = node_text(leader)
        en = f"No {self.api} for {self.partition} waits in the purgatory of {node.en}."
        return Answer(False, Text(en, f"{node.zh}的延迟请求区里没有 {self.partition} 的 {self.api}。"))


class Uncommitted(Predicate, frozen=True, kw_only=True, tag="uncommitted"):
    """How many offsets of the leader's log lie at or above its high watermark."""

    partition: str
    equals: int

    def __post_init__(self) -> None:
        check_replica(f"{self.partition}@leader")

    def _look(self, moment: Moment) -> Answer:
        leader = leader_of(moment.view, self.partition)
        replica = moment.view["replicas"][f"{self.partition}@{leader}"]
        end, high_watermark = replica["log_end_offset"], replica["high_watermark"]
        if end - high_watermark == self.equals:
            said = f"{leader}: LEO {end}, HW {high_watermark}"
            return Answer(True, Text(said, said))
        node, count = node_text(leader), end - high_watermark
        en = f"The leader, {node.en}, has {count} offsets of {self.partition} above its HW; {self.equals} wanted."
        zh = f"首领（{node.zh.strip()}）上 {self.partition} 的高水位之上有 {count} 个位移，应为 {self.equals} 个。"
        return Answer(False, Text(en, zh))


class Isr(Predicate, frozen=True, kw_only=True, tag="isr"):
    """How many replicas are in sync, by ZooKeeper and by the leader itself."""

    partition: str
    size: int

    def __post_init__(self) -> None:
        check_replica(f"{self.partition}@leader")

    def _look(self, moment: Moment) -> Answer:
        leader = leader_of(moment.view, self.partition)
        known = moment.view["partitions"][self.partition]["isr"]
        believed = moment.view["replicas"][f"{self.partition}@{leader}"]["isr"]
        shown = "{" + ", ".join(str(broker_id) for broker_id in known) + "}"
        if len(known) == len(believed) == self.size:
            return Answer(True, Text(f"ISR {shown}", f"ISR {shown}"))
        en = f"The ISR of {self.partition} is {shown}; {self.size} replicas in sync are wanted."
        return Answer(False, Text(en, f"{self.partition} 的 ISR 是 {shown}，应有 {self.size} 个同步副本。"))


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


Goal: TypeAlias = (
    Paused | LogEndOffset | HighWatermark | Believes | RpcInFlight | Parked | Uncommitted | Isr | BrokersUp
)
"""Every predicate that content may name."""


def ask_all(goals: list[Goal], moment: Moment) -> Answer:
    """All of them: the first that is not met says why, and the last says what was found."""
    answer = Answer(True, Text("done", "完成"))
    for goal in goals:
        answer = goal.answer(moment)
        if not answer.met:
            return answer
    return answer
