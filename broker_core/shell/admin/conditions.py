"""The conditions of `wait` and scripts.

A condition on the cluster's state holds when it is so in ZooKeeper and the metadata of every live broker agrees.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from broker_core.partitions import TopicPartition
from broker_core.shell.admin import znodes
from broker_core.shell.admin.zookeeper_groups import old_committed_offset, old_group
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.parser import ShellError
from broker_core.shell.grammar.process import up_brokers
from broker_core.shell.grammar.registry import PARTITION, TOPIC
from broker_core.wire.messages import MetadataResponse

Condition: TypeAlias = Callable[[ClusterApi], bool]

FORMS = (
    "leader T-P == N|none",
    "isr T-P == [1,2]",
    "replicas T-P == [1,2]",
    "controller == N",
    "controller != N",
    "brokers == [1,2,3]",
    "topic T exists|gone",
    "znode PATH exists|gone",
    "start|end|hw T-P broker N == X",
    "committed G T-P == X",
    "group G == STATE [MEMBERS]",
)
STABLE_HOLDS_US = 1_200_000
_OF_GROUP = re.compile(r"(?:group|committed) (\S+) .*")


def group_of(text: str) -> str | None:
    """The group of a condition."""
    match = _OF_GROUP.fullmatch(text.strip())
    return None if match is None else match[1]


def parse_condition(text: str) -> Condition:
    """Parses a condition. Raises ShellError."""
    for pattern, make in _CONDITIONS:
        match = pattern.fullmatch(text.strip())
        if match is not None:
            return make(*match.groups())
    raise ShellError("shell.invalid_condition", condition=text, forms="; ".join(FORMS))


def _ids(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.replace(" ", "").split(",") if word)


def _metadata(cluster: ClusterApi) -> list[MetadataResponse] | None:
    """The metadata of the live brokers; None while one of them is starting and does not respond."""
    if any(cluster.broker_state(broker_id) == "starting" for broker_id in cluster.broker_ids):
        return None
    return [cluster.metadata_of(broker_id) for broker_id in up_brokers(cluster)]


def _agreed_state(cluster: ClusterApi, partition: str) -> tuple[int, tuple[int, ...]] | None:
    """Leader and ISR on which the live brokers and ZooKeeper agree."""
    known = _metadata(cluster)
    if known is None:
        return None
    seen = [
        next(((leader, isr) for name, leader, _, _, isr, _ in each.partitions if name == partition), None)
        for each in known
    ]
    topic, number = TopicPartition.parse(partition)
    state = znodes.json_of(cluster, f"/brokers/topics/{topic}/partitions/{number}/state")
    if state is None:
        return None
    truth = (state["leader"], tuple(state["isr"]))
    era = cluster.era
    if era.isr.change == "zookeeper" and not era.isr.notifies_controller:
        # Leaders change the ISR without a notification.
        return truth if all(each is not None and each[0] == truth[0] for each in seen) else None
    return truth if all(each == truth for each in seen) else None


def _leader(partition: str, wanted: str) -> Condition:
    leader = -1 if wanted == "none" else int(wanted)
    return lambda cluster: (seen := _agreed_state(cluster, partition)) is not None and seen[0] == leader


def _isr(partition: str, wanted: str) -> Condition:
    isr = _ids(wanted)
    return lambda cluster: (seen := _agreed_state(cluster, partition)) is not None and seen[1] == isr


def _replicas(partition: str, wanted: str) -> Condition:
    replicas = _ids(wanted)
    topic, index = TopicPartition.parse(partition)
    number = str(index)

    def holds(cluster: ClusterApi) -> bool:
        known = _metadata(cluster)
        state = znodes.json_of(cluster, f"/brokers/topics/{topic}")
        if known is None or state is None:
            return False
        moving = state.get("adding_replicas", {}).get(number) or state.get("removing_replicas", {}).get(number)
        agreed = all(
            any(name == partition and assigned == replicas for name, _, _, assigned, _, _ in each.partitions)
            for each in known
        )
        return tuple(state["partitions"].get(number, ())) == replicas and not moving and agreed

    return holds


def _controller(sign: str, wanted: str) -> Condition:
    def holds(cluster: ClusterApi) -> bool:
        known = _metadata(cluster)
        controller = (znodes.json_of(cluster, "/controller") or {}).get("brokerid")
        if known is None or controller is None or (controller == int(wanted)) != (sign == "=="):
            return False
        return all(each.controller == controller for each in known)

    return holds


def brokers_are(wanted: tuple[int, ...]) -> Condition:
    """Whether exactly these brokers are registered, and every live one knows them."""

    def holds(cluster: ClusterApi) -> bool:
        known = _metadata(cluster)
        if known is None or any(tuple(sorted(each.brokers)) != wanted for each in known):
            return False
        return znodes.registered_brokers(cluster) == wanted

    return holds


def _topic(topic: str, what: str) -> Condition:
    def holds(cluster: ClusterApi) -> bool:
        known = _metadata(cluster)
        if known is None:
            return False
        listed = [any(name == topic for name, *_ in each.topics) for each in known]
        there = znodes.exists(cluster, f"/brokers/topics/{topic}")
        if what == "exists":
            return there and all(listed)
        return not (there or any(listed) or znodes.exists(cluster, f"/admin/delete_topics/{topic}"))

    return holds


def _znode(path: str, what: str) -> Condition:
    return lambda cluster: znodes.exists(cluster, path) == (what == "exists")


def _offset(which: str, partition: str, broker: str, wanted: str) -> Condition:
    def holds(cluster: ClusterApi) -> bool:
        broker_id = int(broker)
        if broker_id not in up_brokers(cluster):
            return False
        replica = cluster.live_replica(partition, broker_id)
        if replica is None:
            return False
        held = {"start": replica.log_start_offset, "end": replica.log_end_offset, "hw": replica.high_watermark}
        return held[which] == int(wanted)

    return holds


def _committed(group: str, partition: str, wanted: str) -> Condition:
    def holds(cluster: ClusterApi) -> bool:
        if not cluster.era.coordinates_consumers:
            return old_committed_offset(cluster, group, partition) == int(wanted)
        return cluster.committed_offset(group, partition) == int(wanted)

    return holds


def _group(group: str, state: str, members: str | None) -> Condition:
    """Stable must hold for a while without a change, because a rebalance often follows another."""
    seen: list[tuple[object, int]] = []

    def holds(cluster: ClusterApi) -> bool:
        is_coordinated = cluster.era.coordinates_consumers
        described = cluster.described_group(group) if is_coordinated else old_group(cluster, group)
        now_us = cluster.kernel.now_us
        if (
            described is None
            or described.state != state
            or (members is not None and len(described.members) != int(members))
        ):
            seen.clear()
            return False
        if not seen or seen[0][0] != described:
            seen[:] = [(described, now_us)]
        return now_us - seen[0][1] > (STABLE_HOLDS_US if state == "Stable" else -1)

    return holds


_NUMBER = r"\d{1,18}"
_PATH = r"/|(?:/(?!\.\.?(?:[/\s]))[^/\s]+)+"
_LIST = r"\[([\d, ]{0,200})\]"
_CONDITIONS: tuple[tuple[re.Pattern[str], Callable[..., Condition]], ...] = (
    (re.compile(rf"leader ({PARTITION}) == ({_NUMBER}|none)"), _leader),
    (re.compile(rf"isr ({PARTITION}) == {_LIST}"), _isr),
    (re.compile(rf"replicas ({PARTITION}) == {_LIST}"), _replicas),
    (re.compile(rf"controller (==|!=) ({_NUMBER})"), _controller),
    (re.compile(rf"brokers == {_LIST}"), lambda wanted: brokers_are(_ids(wanted))),
    (re.compile(rf"topic ({TOPIC}) (exists|gone)"), _topic),
    (re.compile(rf"znode ({_PATH}) (exists|gone)"), _znode),
    (re.compile(rf"(start|end|hw) ({PARTITION}) broker ({_NUMBER}) == ({_NUMBER})"), _offset),
    (re.compile(rf"committed (\S+) ({PARTITION}) == ({_NUMBER})"), _committed),
    (re.compile(rf"group (\S+) == (\w+)(?: ({_NUMBER}))?"), _group),
)
