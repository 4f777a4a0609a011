"""Draws what members of consumer groups do, beside all else that a schedule holds.

They use a random stream of their own, so that the faults of a seed are the same with and without them.
"""

from typing import Protocol

from broker_core.sim.rng import RandomStream

WITH_GROUPS_PERCENT = 25
MAX_MEMBERS = 5
ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky", "cooperative-sticky")
OFFSETS_TOPIC_CONFIG = {
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "3",
    "group.initial.rebalance.delay.ms": "500",
}


class Drawing(Protocol):
    """What it adds to: lines that are typed at an instant, in ms; `topic_names`: those there are in the end."""

    seed: int
    now_ms: int

    @property
    def topic_names(self) -> list[str]: ...

    def type_at(self, at_ms: int, line: str) -> None: ...

    def configure_brokers(self, config: dict[str, str]) -> None: ...


def draw_members(drawing: Drawing) -> None:
    """In some seeds a few consumers join one or two groups, leave, die, and come back."""
    stream = RandomStream(drawing.seed, "members")
    if stream.below(100) >= WITH_GROUPS_PERCENT or not drawing.topic_names:
        return
    drawing.configure_brokers(OFFSETS_TOPIC_CONFIG)
    assignor = ASSIGNORS[stream.below(len(ASSIGNORS))]
    group_count = stream.between(1, 2)
    for number in range(stream.between(2, MAX_MEMBERS)):
        name, at_ms = f"m{number}", stream.between(0, drawing.now_ms)
        topics = ",".join(drawing.topic_names[: stream.between(1, 2)])
        line = f"consumer start {name} --group g{number % group_count} --topic {topics} --assignor {assignor}"
        if stream.below(100) < 30:
            line += f" --instance i{number}"
        drawing.type_at(at_ms, line)
        ends_ms = at_ms + stream.between(1, 12_000)
        if stream.below(100) < 50:
            drawing.type_at(ends_ms, f"consumer {('stop', 'kill')[stream.below(2)]} {name}")
            if stream.below(100) < 60:
                drawing.type_at(ends_ms + stream.between(100, 9_000), line)
